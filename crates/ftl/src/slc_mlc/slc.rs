//! The SLC flash: filter, throttle, table and log together (Chang, Sec. 3.2 to 3.4).

use base::prefetch::prefetch;
use base::units::SuperblockId;
use flash::nand::Geometry;

use super::filter::Filter;
use super::log::CircularLog;
use super::spec::SlcMlcSpec;
use super::table::{EntryLookup, SectorTable};
use super::throttle::{Throttle, Wear, wears_faster};
use super::valve::Valve;

/// The decision whether a write goes to the SLC flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SlcDecision {
    /// The write goes to the SLC flash.
    Accepted,
    /// The write is larger than the threshold, or the SLC flash takes no data now.
    Large,
    /// The throttle has rejected the write.
    Throttled,
    /// The write is rejected because a sector finds no entry in the hash table.
    Unplaced,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SectorSlot {
    pub(super) sector: u32,
    pub(super) place: u32,
}

/// The state of the SLC flash.
#[derive(Clone, Debug)]
pub(super) struct Slc {
    pub(super) geometry: Geometry,
    /// Slots of a page, each of one sector.
    pub(super) slots: u32,
    pub(super) table: SectorTable,
    pub(super) log: CircularLog,
    pub(super) filter: Filter,
    pub(super) throttle: Throttle,
    pub(super) valve: Valve,
    throttled: bool,
    /// True if the throttle was active at the last small write.
    pub(super) is_throttling: bool,
    /// The number of sectors of each mapping unit that are in the SLC flash.
    pub(super) held: Vec<u8>,
    /// Sectors that a mount found and that have no entry in the table. They go to the MLC flash before anything else.
    pub(super) unplaced: Vec<SectorSlot>,
    /// True if the MLC flash has refused sectors of the tail: the log is no longer cleaned.
    pub(super) is_stuck: bool,
    /// For each slot, true if its sector was copied from the tail. A power cut loses this.
    copied: Vec<bool>,
    /// The slot of the sector that was written last.
    latest: u32,
    pub(super) wear: Wear,
}

impl Slc {
    /// Bytes of an SLC flash in front of `units` mapping units: the table, a byte for each mapping unit and for each
    /// slot, and wear.
    pub(super) fn memory(spec: &SlcMlcSpec, geometry: &Geometry, units: u64) -> u64 {
        let (blocks, slots) = (u64::from(geometry.superblock_count()), u64::from(geometry.slot_count()));
        SectorTable::memory(u64::from(spec.entries(geometry)), blocks, slots) + units + slots + 4 * blocks
    }

    pub(super) fn new(
        spec: &SlcMlcSpec,
        geometry: Geometry,
        endurance: u32,
        units: u32,
        erases: u64,
        log: CircularLog,
    ) -> Self {
        let blocks = (geometry.superblock_count(), geometry.superblock_slots());
        Self {
            slots: geometry.slots,
            table: SectorTable::new(spec.entries(&geometry), spec.probing, spec.probes, blocks),
            filter: Filter::new(spec.threshold, spec.recluster_every),
            // At least one block is always erased before the head reaches it.
            throttle: Throttle::new(log.blocks() - 1, spec.throttle_step, spec.throttle_every),
            valve: Valve::new(spec.safety_valve.get()),
            throttled: spec.throttle,
            is_throttling: false,
            held: vec![0; units as usize],
            unplaced: Vec::new(),
            is_stuck: false,
            copied: vec![false; geometry.slot_count() as usize],
            latest: log.head().get() * geometry.superblock_slots(),
            wear: Wear { erases, blocks: geometry.superblock_count(), endurance },
            log,
            geometry,
        }
    }

    /// The number of blocks that the log may have: the throttle's k, but one block always stays erased.
    pub(super) fn most_used(&self) -> u32 {
        self.throttle.k().min(self.log.blocks() - 1).max(1)
    }

    /// Prefetches the number of a mapping unit's sectors in the SLC flash.
    #[inline]
    pub(super) fn prefetch(&self, unit: usize) {
        prefetch(self.held.get(unit));
    }

    /// Decides on a write of `count` sectors, which the filter has counted. If the write is accepted, every sector has
    /// an entry in the table.
    pub(super) fn judge(&mut self, count: u32, mlc: Wear, sectors: impl Iterator<Item = u32> + Clone) -> SlcDecision {
        if count > self.filter.threshold() || !self.unplaced.is_empty() || self.log.blocks() < 2 {
            return SlcDecision::Large;
        }
        self.is_throttling = self.throttled && wears_faster(self.wear, mlc);
        if self.is_throttling {
            let found = sectors.clone().all(|sector| self.table.find(sector).is_some());
            let Self { throttle, table, latest, .. } = self;
            if !throttle.active(found, || sectors.clone().for_each(|sector| table.note(sector, *latest))) {
                return SlcDecision::Throttled;
            }
        } else {
            self.throttle.inactive();
        }
        if self.reserve(sectors) { SlcDecision::Accepted } else { SlcDecision::Unplaced }
    }

    /// Gives each of these sectors an entry. If that is impossible, gives a new entry to none of them.
    pub(super) fn reserve(&mut self, sectors: impl Iterator<Item = u32> + Clone) -> bool {
        for (i, sector) in sectors.clone().enumerate() {
            if !self.table.reserve(sector) {
                sectors.take(i).for_each(|sector| self.table.unreserve(sector));
                return false;
            }
        }
        true
    }

    /// The slot of a sector in the SLC flash.
    pub(super) fn place_of(&self, sector: u32) -> Option<u32> {
        if !self.unplaced.is_empty()
            && let Ok(at) = self.unplaced.binary_search_by_key(&sector, |found| found.sector)
        {
            return Some(self.unplaced[at].place);
        }
        self.table.regular(sector)
    }

    /// Adds an unplaced sector that a mount has found. The sectors come in order.
    pub(super) fn take_unplaced(&mut self, sector: u32, unit: u32, place: u32) {
        self.unplaced.push(SectorSlot { sector, place });
        self.held[unit as usize] += 1;
    }

    /// True if the sector in this slot was copied there from the tail.
    pub(super) fn is_copied(&self, place: u32) -> bool {
        self.copied[place as usize]
    }

    /// Sets the slot of a sector, which was written or `copied` there.
    pub(super) fn set(&mut self, SectorSlot { sector, place }: SectorSlot, unit: u32, copied: bool) {
        let new = self.table.set(sector, place);
        let new = new.unwrap_or_else(|| panic!("sector {sector} has lost its entry"));
        self.held[unit as usize] += u8::from(new);
        self.copied[place as usize] = copied;
        self.latest = place;
    }

    /// Removes a sector from the SLC flash; `forced` is true if it had to leave.
    pub(super) fn drop_sector(&mut self, sector: u32, unit: u32, forced: bool) {
        if let Ok(at) = self.unplaced.binary_search_by_key(&sector, |found| found.sector) {
            self.unplaced.remove(at);
            self.held[unit as usize] -= 1;
            return;
        }
        match self.table.find(sector) {
            Some(EntryLookup::Regular(_)) if forced => self.table.make_virtual(sector),
            Some(EntryLookup::Regular(_)) => self.table.remove(sector),
            // A virtual entry ends with an accepted write to the MLC flash; a reserved one belongs to a write under
            // way.
            Some(EntryLookup::Virtual(_) | EntryLookup::Reserved) | None => return,
        }
        self.held[unit as usize] -= 1;
    }

    /// Moves the tail on, because it has been erased or is bad.
    pub(super) fn tail_is_gone(&mut self, bad: bool) {
        self.table.forget_virtual(self.log.tail().get());
        self.log.tail_is_gone(bad);
        self.wear.erases += 1;
        self.wear.blocks -= u32::from(bad);
    }

    pub(super) fn block_of(&self, place: u32) -> SuperblockId {
        self.geometry.locate(base::units::Psn::new(place)).0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_tail_block_leaves_the_wear_average() {
        let geometry = Geometry::new(1, 1, 1, 1, 1, 4, 8, 4, 1).expect("a small array");
        let mut log = CircularLog::new(vec![false; 4], 8).expect("four blocks");
        assert!(log.advance() && log.advance());
        let mut slc = Slc::new(&SlcMlcSpec::default(), geometry, 100, 16, 5, log);
        slc.tail_is_gone(false);
        assert_eq!((slc.wear.erases, slc.wear.blocks, slc.log.blocks()), (6, 4, 4));
        slc.tail_is_gone(true);
        assert_eq!((slc.wear.erases, slc.wear.blocks, slc.log.blocks()), (7, 3, 3));
    }
}
