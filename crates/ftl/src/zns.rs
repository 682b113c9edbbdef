//! Zones (NVM Express Zoned Namespace Command Set Specification 1.1): the host decides where data goes and when flash
//! is erased.
//!
//! The address space consists of zones. A zone is written from its beginning to its capacity, at its write pointer, and
//! given back as a whole by a reset. So the FTL has no map beyond the superblocks of each zone ([`layout`]), and no
//! garbage collection.
//!
//! The life of a write:
//!
//! 1. [`Zones::admit`] checks the write against the state and the write pointer of its zone ([`zone`](crate::zone),
//!    [`states`]), and moves the write pointer. An append gets its address there.
//! 2. Its mapping units go into *rows* in RAM, and are acknowledged. A row is the data of one program.
//! 3. A complete row is programmed. The number of programs that a die works on is limited; if the next row of a zone
//!    waits for its die, the writes behind it wait.
//!
//! The RAM is protected (assumed, as of data-centre drives): when the power fails, capacitors carry programs and erases
//! through, and write the rows that are not complete to superblocks of no zone ([`power`]). A mount reads them back. So
//! an acknowledged write is durable, and a flush has nothing to do.
//!
//! A zone with a *random write area* ([`zrwa`]) has a window in RAM behind its write pointer, in which units come in
//! any order and are overwritten. Units that the write pointer passes go into rows.
//!
//! No superblock is pinned while the host reads it: only a reset erases, and the device lets no request to a zone
//! overlap its reset.

mod blocks;
mod check;
mod config;
mod counters;
mod family;
mod layout;
mod manage;
mod mount;
mod power;
mod read;
mod spec;
mod states;
#[cfg(test)]
mod tests;
mod window;
mod write;
mod zone;
mod zrwa;

use std::collections::VecDeque;

use base::engine::Handle;
use base::units::{Lpn, Time};
use flash::backend::{Command, List, Slot, SlotRef};
use flash::nand::Media;

use crate::counters::Counters;
use crate::port::{
    Background, Flash, Ftl, Owner, Owners, PageRead, PageWrite, PowerCycle, Service, ZoneReport, ZoneWrite, Zones,
};
use crate::sabotage::PlantedBug;
use crate::toolkit::{DieLists, Versions};
use crate::zone::{ZoneAction, ZoneError, ZoneState};

use blocks::Blocks;
use layout::Layout;
use power::SavedAreas;
use states::ZoneStates;
use window::Windows;
use zone::Zone;

pub use config::ZnsConfig;
pub use counters::{ZoneCounters, ZrwaCounters};
pub(crate) use family::ZnsFamily;
pub use spec::{ZnsSpec, ZrwaSpec};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ListPurpose {
    Read,
    /// The program of a row of this zone.
    Row(u32),
    /// The erase of a superblock of this zone.
    Erase(u32),
    /// The program of a row that capacitors would write if the power failed.
    Save,
    /// The erase of a superblock with rows that were saved in this way.
    Unsave,
}

impl ListPurpose {
    /// Encodes the kind of a list in the tag that comes back at its end.
    const fn tag(self) -> u32 {
        match self {
            Self::Read => 0,
            Self::Save => 1,
            Self::Unsave => 2,
            Self::Row(zone) => 3 + 2 * zone,
            Self::Erase(zone) => 4 + 2 * zone,
        }
    }

    const fn of(list: &List) -> Self {
        match list.tag() {
            0 => Self::Read,
            1 => Self::Save,
            2 => Self::Unsave,
            tag if tag % 2 == 1 => Self::Row((tag - 3) / 2),
            tag => Self::Erase((tag - 4) / 2),
        }
    }
}

#[derive(Clone, Debug, Default)]
struct DiePrograms {
    /// Programs submitted to the die that have not ended.
    under_way: u32,
    /// Zones with a complete row that waits for the die.
    ready: VecDeque<u32>,
}

/// The FTL of a drive with zones.
#[derive(Clone, Debug)]
pub struct ZnsFtl {
    layout: Layout,
    states: ZoneStates,
    zones: Vec<Zone>,
    blocks: Blocks,
    dies: Vec<DiePrograms>,
    /// The most programs that a die works on at once.
    programs: u32,
    /// Superblocks of each die that no zone may take.
    reserve: u32,
    versions: Versions,
    /// For each die that the present read touches, its open list and the last read of that list.
    reading: DieLists<(Handle<List>, Handle<Command>)>,
    /// Reads of rows in RAM that have not been reported to their owners.
    ram_reads: Vec<(Slot, SlotRef)>,
    /// Erases of resets under way.
    erasing: Vec<Handle<List>>,
    saved: SavedAreas,
    windows: Windows,
    counters: ZoneCounters,
    /// Mapping units for which the mount found data.
    found: u32,
    planted: PlantedBug,
}

impl ZnsFtl {
    /// Bytes of the simulator's memory that the FTL of a drive with this configuration takes.
    fn memory(config: &ZnsConfig) -> u64 {
        let layout = &config.layout;
        let (zones, dies) = (u64::from(layout.shape.zones), u64::from(layout.geometry.die_count()));
        Layout::memory(&layout.geometry)
            + ZoneStates::memory(zones)
            + zones * size_of::<Zone>() as u64
            + Blocks::memory(layout)
            + dies * size_of::<DiePrograms>() as u64
            + Windows::memory(layout)
            + DieLists::<(Handle<List>, Handle<Command>)>::memory(dies)
    }

    /// Reports the reads of rows in RAM. It is called before anything that may take a row out of RAM.
    fn report_ram_reads(&mut self, flash: &Flash<'_>, owners: &mut dyn Owners) {
        for (slot, place) in self.ram_reads.drain(..) {
            owners.read_done(&slot, flash.backend.content_of(place), Service::NONE);
        }
    }
}

impl Ftl for ZnsFtl {
    fn boxed(&self) -> Box<dyn Ftl> {
        Box::new(self.clone())
    }

    fn units(&self) -> u32 {
        self.layout.shape.zones * self.layout.shape.size
    }

    fn free_blocks(&self) -> u64 {
        self.blocks.free_count()
    }

    fn latest_version(&self) -> u32 {
        self.versions.latest()
    }

    fn next_version(&mut self) -> u32 {
        self.versions.next()
    }

    #[inline]
    fn read(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, wanted: PageRead, lpn: Lpn) -> bool {
        self.read_unit(flash, owners, wanted, lpn)
    }

    #[inline]
    fn end_read(&mut self, flash: &mut Flash<'_>) {
        while let Some((list, _)) = self.reading.pop_first() {
            flash.submit(list);
        }
    }

    #[inline]
    fn write(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, unit: PageWrite) {
        self.write_unit(flash, owners, unit);
    }

    /// Never called: a drive with zones refuses discards before they reach its FTL.
    fn discard(&mut self, _: Time, _: Owner, _: Lpn) -> bool {
        false
    }

    #[inline]
    fn finished(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, list: Handle<List>) {
        self.report_ram_reads(flash, owners);
        match ListPurpose::of(flash.backend.list(list)) {
            ListPurpose::Read => self.read_finished(flash, owners, list),
            ListPurpose::Row(zone) => self.row_finished(flash, owners, zone, list),
            ListPurpose::Erase(zone) => self.erase_finished(flash, owners, zone, list),
            ListPurpose::Save => self.save_finished(flash, list),
            ListPurpose::Unsave => self.unsave_finished(flash, list),
        }
    }

    fn may_hold(&self, lpn: Lpn, _: &Media, _: Option<&Media>) -> bool {
        let (zone, unit) = self.layout.split(lpn);
        let of = &self.zones[zone as usize];
        unit < of.data || of.window.is_some() || self.saved.units.iter().any(|saved| saved.lpn == lpn)
    }

    #[inline]
    fn is_due(&self, _: bool) -> bool {
        !self.ram_reads.is_empty() || self.saved.is_due
    }

    fn check(&self, media: &Media, _: Option<&Media>) {
        self.check(media);
    }

    fn counters(&self, _: Time) -> Counters {
        let [active, open] = self.states.counts();
        let zrwa = self.counters.zrwa.map(|zrwa| ZrwaCounters { zones: self.windows.held(), ..zrwa });
        Counters { zones: Some(ZoneCounters { active, open, zrwa, ..self.counters }), ..Counters::default() }
    }

    fn reset_counters(&mut self) {
        self.counters = ZoneCounters::new(self.layout.shape);
    }

    fn background(&mut self) -> Option<&mut dyn Background> {
        Some(self)
    }

    fn power_cycle(&mut self) -> Option<&mut dyn PowerCycle> {
        Some(self)
    }

    fn zones(&mut self) -> Option<&mut dyn Zones> {
        Some(self)
    }

    fn zone_report(&self, lpn: Lpn) -> Option<ZoneReport> {
        let (zone, _) = self.layout.split(lpn);
        let (state, of) = (self.states.of(zone), &self.zones[zone as usize]);
        Some(ZoneReport { state, write_pointer: self.layout.unit(zone, of.write_pointer) })
    }
}

impl Background for ZnsFtl {
    fn run_due(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners) {
        self.report_ram_reads(flash, owners);
        if self.saved.is_due {
            self.save_rows(flash);
        }
    }
}

impl Zones for ZnsFtl {
    fn admit(&mut self, write: ZoneWrite) -> Result<Lpn, ZoneError> {
        self.admit_write(write)
    }

    fn check_read(&self, first: Lpn, end: Lpn) -> Result<(), ZoneError> {
        let last = Lpn::new(end.get().saturating_sub(1)).max(first);
        let (first, last) = (self.layout.split(first).0, self.layout.split(last).0);
        match (first..=last).any(|zone| self.states.of(zone) == ZoneState::Offline) {
            true => Err(ZoneError::Offline),
            false => Ok(()),
        }
    }

    fn manage(
        &mut self,
        flash: &mut Flash<'_>,
        (owner, first): (Owner, Lpn),
        action: ZoneAction,
    ) -> Result<bool, ZoneError> {
        self.manage_zone(flash, (owner, first), action)
    }
}
