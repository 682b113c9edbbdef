//! The FTL of Chang's hybrid disk: a small SLC flash in front of a large MLC flash (Chang, "A Hybrid Approach to
//! NAND-Flash-Based Solid-State Disks", IEEE Trans. Computers 59(10), 2010).
//!
//! Small writes go to the SLC flash as long as they are updated often enough, all others go to the [chains] of the MLC
//! flash. Without SLC flash the FTL is that of the paper's conventional SSD. The MLC flash may also have a [map of
//! pages](page_map) instead of chains; the paper does not have that combination.
//!
//! The FTL runs one command list at a time (Sec. 5.1; but see [`MappingSpec::Pages`]). Volatile memory holds only
//! tables, which mount rebuilds from the spare areas (Sec. 3.1). So the FTL serves requests one after another, each
//! after the cleaning, folding and spare-area scans that it needs. A step is one command list on one of the two arrays.
//! A [stack of tasks](task) holds the work under way on both arrays ([disk]); waiting [requests] begin tasks.
//!
//! Rules that keep the newest data:
//!
//! * A page written to the MLC flash takes along its sectors in the SLC flash, so nothing there is older than the page. The page's version
//!   is the host's, or the newest of its sectors. At a mount an SLC sector counts unless its page is newer.
//! * One version has one content. If the tail is cleaned between two appends of a write, the page that leaves the SLC flash has the
//!   write's version, and also takes the sectors that the write has yet to append (`Disk::interrupted`).
//! * Every place in the log is older than those nearer to the head, and the tail is erased first, so no older copy of a sector outlives a
//!   newer one.
//! * Three spare blocks are kept for folds: one to copy into, and two in its place if it fails. A fold to SLC mode has two targets; with
//!   too few spare blocks it has one, in full mode.

mod blocks;
mod cache;
mod chains;
mod check;
mod clean;
mod collect;
mod config;
mod counters;
mod density;
mod disk;
mod due;
mod family;
mod filter;
mod fold;
mod free_list;
mod gather;
mod log;
mod mapping;
mod mlc;
mod model;
mod mount;
mod next;
mod page_map;
mod pages;
mod place;
mod read;
mod recency;
mod reclaim;
mod requests;
mod scrub;
mod slc;
mod spec;
mod table;
mod task;
mod throttle;
mod valve;
mod wear;
mod write;

use base::engine::Handle;
use base::units::{Lpn, Time};
use flash::backend::{CauseSet, List};
use flash::nand::Media;

use crate::counters::Counters;
use crate::port::{Background, Flash, Ftl, Owner, Owners, PageRead, PageWrite, PowerCycle, Service};
use crate::toolkit::Versions;

use disk::Disk;
use mapping::SlcMlcMapping;
use mlc::Mlc;
use next::ArrayKind;
use read::Read;
use requests::{NextRequest, PendingRead, Requests};
use scrub::Scrub;
use task::{Task, Tasks};
use write::Write;

pub use config::SlcMlcConfig;
pub use counters::{ArrayShape, SlcMlcCounters};
pub use density::DensitySpec;
pub(crate) use family::SlcMlcFamily;
pub use filter::ClusterMethod;
pub use mapping::MappingSpec;
pub use model::{PageTimes, WriteCost};
pub use spec::SlcMlcSpec;
pub use table::ProbeSequence;

/// The FTL of Chang's disk: MLC flash, with or without SLC flash in front.
#[derive(Clone, Debug)]
pub struct SlcMlcFtl {
    /// The MLC flash, the SLC flash, and the counters.
    disk: Disk,
    /// Requests that have not begun a task.
    requests: Requests,
    /// The stack of tasks under way.
    tasks: Tasks,
    versions: Versions,
    /// Mapping units for which the mount found data.
    found: u32,
}

impl SlcMlcFtl {
    pub(crate) fn counters(&self) -> SlcMlcCounters {
        let Disk { mlc, slc, counts, .. } = &self.disk;
        let (threshold, k) = slc.as_ref().map_or((0, 0), |slc| (slc.filter.threshold(), slc.throttle.k()));
        let slc_mode = mlc.density.as_ref().map_or(0, |density| density.count);
        SlcMlcCounters { threshold, k, slc_mode, ..*counts }
    }

    /// Begins requests until a list is under way or no request waits.
    pub(crate) fn begin_due(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners) {
        while self.is_due(true) {
            if let Some(task) = self.next_task(flash.now, owners) {
                self.tasks.begin(&mut self.disk, flash, owners, task);
            }
        }
    }

    /// The next task: first those that the recovery has left, then the oldest request. A discard takes effect at once
    /// and needs no task.
    fn next_task(&mut self, now: Time, owners: &mut dyn Owners) -> Option<Task> {
        let disk = &mut self.disk;
        if !disk.mlc.useless.is_empty() {
            return Some(Scrub.into());
        }
        if let Some(store) = clean::take_in_unplaced(disk) {
            return Some(store.into());
        }
        let service = |since| {
            let wait = now.saturating_since(since);
            Service { wait, start_wait: wait, waited_for: CauseSet::EMPTY }
        };
        match self.requests.next()? {
            NextRequest::Read { units, since } => Some(Read::new(disk, units, service(since)).into()),
            NextRequest::Write { units, since } => Some(Write::new(disk, units, service(since)).into()),
            NextRequest::Discard { owner, lpn } => {
                disk.forget(lpn);
                owners.discard_done(owner);
                None
            }
        }
    }
}

impl Ftl for SlcMlcFtl {
    fn boxed(&self) -> Box<dyn Ftl> {
        Box::new(self.clone())
    }

    fn units(&self) -> u32 {
        self.disk.mlc.units()
    }

    fn free_blocks(&self) -> u64 {
        self.disk.mlc.mapping.blocks().spare() as u64
    }

    fn latest_version(&self) -> u32 {
        self.versions.latest()
    }

    fn next_version(&mut self) -> u32 {
        self.versions.next()
    }

    fn read(
        &mut self,
        _: &mut Flash<'_>,
        _: &mut dyn Owners,
        PageRead { owner, at, mask }: PageRead,
        lpn: Lpn,
    ) -> bool {
        let is_there = self.disk.holds(lpn.get());
        if is_there {
            self.requests.read(PendingRead { owner, at, mask, lpn: lpn.get(), slc: 0, from_mlc: false });
        }
        is_there
    }

    fn end_read(&mut self, flash: &mut Flash<'_>) {
        self.requests.end_read(flash.now);
    }

    fn write(&mut self, _: &mut Flash<'_>, _: &mut dyn Owners, unit: PageWrite) {
        self.requests.write(unit);
    }

    fn end_write(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners) {
        self.requests.end_write(flash.now);
        self.begin_due(flash, owners);
    }

    fn discard(&mut self, _: Time, owner: Owner, lpn: Lpn) -> bool {
        let waits = !self.tasks.is_empty() || !self.requests.is_empty();
        if waits {
            self.requests.discard(owner, lpn);
        } else {
            self.disk.forget(lpn);
        }
        waits
    }

    fn finished(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, list: Handle<List>) {
        self.tasks.finished(&mut self.disk, flash, owners, (ArrayKind::Mlc, list));
        self.begin_due(flash, owners);
    }

    fn check(&self, media: &Media, slc_array: Option<&Media>) {
        self.check(media, slc_array);
    }

    fn may_hold(&self, lpn: Lpn, _: &Media, _: Option<&Media>) -> bool {
        self.disk.holds(lpn.get())
    }

    #[inline]
    fn prefetch(&self, unit: usize, _: &Media) {
        let Mlc { map, mapping, cache, pages, .. } = &self.disk.mlc;
        map.prefetch(unit);
        if let Some(slc) = &self.disk.slc {
            slc.prefetch(unit);
        }
        if let SlcMlcMapping::Chains(chains) = mapping {
            let lba = unit / *pages as usize;
            chains.prefetch(lba);
            cache.prefetch(lba);
        }
    }

    fn batch(&self, _: u32) -> u32 {
        self.disk.mlc.pages
    }

    /// Takes two writes from a buffer: one under way, and one behind it.
    fn takes_writes(&self, _: u32, under_way: u32) -> bool {
        under_way < 2
    }

    fn discards_in_order(&self) -> bool {
        true
    }

    fn is_due(&self, _: bool) -> bool {
        self.tasks.is_empty() && !self.requests.is_empty()
    }

    fn counters(&self, _: Time) -> Counters {
        Counters { slc_mlc: Some(Box::new(self.counters())), ..Counters::default() }
    }

    fn reset_counters(&mut self) {
        let SlcMlcCounters { mlc, slc, table_bytes, .. } = self.disk.counts;
        self.disk.counts = SlcMlcCounters { mlc, slc, table_bytes, ..SlcMlcCounters::default() };
    }

    fn background(&mut self) -> Option<&mut dyn Background> {
        Some(self)
    }

    fn power_cycle(&mut self) -> Option<&mut dyn PowerCycle> {
        Some(self)
    }
}

impl Background for SlcMlcFtl {
    fn run_due(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners) {
        self.begin_due(flash, owners);
    }

    fn finished_slc(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, list: Handle<List>) {
        self.tasks.finished(&mut self.disk, flash, owners, (ArrayKind::Slc, list));
        self.begin_due(flash, owners);
    }
}

impl PowerCycle for SlcMlcFtl {
    fn found(&self) -> u32 {
        self.found
    }
}
