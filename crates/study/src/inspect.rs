//! The state of a drive that is no counter, read before and after a run.

use base::units::{Energy, Span, Time};
use flash::backend::{Account, Op};
use flash::nand::{Geometry, Sector};
use raid::Raid;
use ssd::{Counters, History, PowerDraw, Ssd};
use translation::Translation;

use crate::watch::Watch;
use crate::watch::explain::KindBands;
use crate::watch::timeline::Timeline;

/// A drive whose state can be inspected.
pub trait Inspect {
    /// The history of preconditioning, if the drive noted it.
    fn history(&self) -> Option<&History> {
        None
    }

    /// Tells the observers that the run begins. They forget earlier events, for example preconditioning.
    fn begin(&mut self, _at: Time) {}

    /// Tells the observers that the warm-up is over. They keep requests in flight and forget earlier events.
    fn end_warm_up(&mut self, _at: Time) {}

    /// Removes and returns the observer with its records, if there is one.
    fn take_watch(&mut self) -> Option<Watch> {
        None
    }

    /// Checks all invariants of the drive.
    ///
    /// # Panics
    ///
    /// If an invariant is broken.
    fn check(&self) {}

    /// The timeline of a window of the run, if an observer recorded it.
    fn timeline(&self) -> Option<&Timeline> {
        None
    }

    /// The parts of the requests' time since the previous call, if an observer attributed it.
    fn explained(&mut self) -> Vec<KindBands> {
        Vec::new()
    }

    /// The erase count of every block.
    fn erase_counts(&self) -> Vec<u32>;

    /// The number of bad blocks, without the blocks of the SLC array.
    fn bad_blocks(&self) -> u64 {
        0
    }

    /// The erase count of every block of the SLC array, if the drive has one.
    fn slc_erase_counts(&self) -> Vec<u32> {
        Vec::new()
    }

    /// The shape of the main flash array, if the drive has one.
    fn geometry(&self) -> Option<Geometry> {
        None
    }

    /// The electrical figures of the flash, if they are known.
    fn power_draw(&self) -> Option<PowerDraw> {
        None
    }

    /// The time that a mount would take if the power failed now, if the drive needs a mount.
    fn mount_time(&self) -> Option<Span> {
        None
    }

    /// The energy of the counted commands, by operation and array, without zeros.
    fn energy(&self, counted: &Counters) -> Vec<(String, Energy)>;
}

impl<S: Sector> Inspect for Ssd<S> {
    fn history(&self) -> Option<&History> {
        self.history()
    }

    fn begin(&mut self, at: Time) {
        if let Some(watch) = self.observer_mut::<Watch>() {
            watch.begin(at);
        }
    }

    fn end_warm_up(&mut self, at: Time) {
        if let Some(watch) = self.observer_mut::<Watch>() {
            watch.end_warm_up(at);
        }
    }

    fn take_watch(&mut self) -> Option<Watch> {
        self.observer_mut::<Watch>().map(std::mem::take)
    }

    fn check(&self) {
        self.check();
    }

    fn timeline(&self) -> Option<&Timeline> {
        self.observer::<Watch>()?.seen()
    }

    fn explained(&mut self) -> Vec<KindBands> {
        self.observer_mut::<Watch>().map_or_else(Vec::new, Watch::explained)
    }

    fn erase_counts(&self) -> Vec<u32> {
        self.erase_counts()
    }

    fn bad_blocks(&self) -> u64 {
        self.media().bad_blocks()
    }

    fn slc_erase_counts(&self) -> Vec<u32> {
        self.slc_erase_counts()
    }

    fn geometry(&self) -> Option<Geometry> {
        Some(self.geometry().clone())
    }

    fn power_draw(&self) -> Option<PowerDraw> {
        Some(self.power_draw())
    }

    fn mount_time(&self) -> Option<Span> {
        Some(self.recovery_time())
    }

    fn energy(&self, counted: &Counters) -> Vec<(String, Energy)> {
        let alone = |account: &Account, op: Op| {
            let mut alone = Account::default();
            account.rows().filter(|row| row.0 == op).for_each(|(op, cause, tally)| *alone.at(op, cause) = tally);
            alone
        };
        let first = Op::ALL.into_iter().map(|op| (op.name().to_owned(), self.energy(&alone(&counted.flash, op))));
        let second = counted.slc_array.iter().flat_map(|second| {
            let of = move |op| self.slc_energy(&alone(&second.flash, op));
            Op::ALL.into_iter().map(move |op| (format!("SLC {}", op.name()), of(op)))
        });
        let draw = self.power_draw();
        let beside = counted.power.iter().flat_map(|power| draw.beside_arrays(power));
        let beside = beside.map(|(name, energy)| (name.to_owned(), energy));
        first.chain(second).chain(beside).filter(|(_, energy)| energy.as_joules() > 0.0).collect()
    }
}

impl<S: Sector> Inspect for Raid<S> {
    fn check(&self) {
        self.check();
    }

    fn erase_counts(&self) -> Vec<u32> {
        self.drives().iter().flat_map(Ssd::erase_counts).collect()
    }

    fn bad_blocks(&self) -> u64 {
        self.drives().iter().map(|drive| drive.media().bad_blocks()).sum()
    }

    fn slc_erase_counts(&self) -> Vec<u32> {
        self.drives().iter().flat_map(Ssd::slc_erase_counts).collect()
    }

    fn mount_time(&self) -> Option<Span> {
        self.drives().iter().map(Ssd::recovery_time).max()
    }

    fn energy(&self, counted: &Counters) -> Vec<(String, Energy)> {
        let first = &self.drives()[0];
        // The power of several controllers is not added up, and the energy of the arrays alone would be too small.
        if first.resolved().spec.power.is_some() {
            return Vec::new();
        }
        // Commands are not counted by drive, so with several kinds of parts their energy is unknown.
        if self.drives().iter().any(|drive| drive.resolved().part != first.resolved().part) {
            return Vec::new();
        }
        Inspect::energy(first, counted)
    }
}

impl<S: Sector> Inspect for Translation<S> {
    fn check(&self) {
        self.check();
    }

    fn erase_counts(&self) -> Vec<u32> {
        self.drive().erase_counts()
    }

    fn bad_blocks(&self) -> u64 {
        self.drive().media().bad_blocks()
    }

    fn geometry(&self) -> Option<Geometry> {
        Some(self.drive().geometry().clone())
    }

    fn power_draw(&self) -> Option<PowerDraw> {
        Some(self.drive().power_draw())
    }

    fn energy(&self, counted: &Counters) -> Vec<(String, Energy)> {
        Inspect::energy(self.drive(), counted)
    }
}
