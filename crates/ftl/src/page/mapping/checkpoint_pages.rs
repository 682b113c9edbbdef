//! The shape of checkpoints: how many pages they have, and how often they come.

use base::units::SECTOR;
use flash::nand::Geometry;

use super::checkpoint::record::CheckpointRecord;
use crate::page::CheckpointSpec;
use crate::toolkit::{ENTRY, Map};

/// Bytes of a superblock in the record: its erase count, and its opening with its state.
const SUPERBLOCK: u64 = 8;

/// The sizes of a device's checkpoints; all zero if it makes none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CheckpointPages {
    /// Pages of one checkpoint: the pages of the map, then the pages of the record.
    pub(in crate::page) each: u32,
    pub(in crate::page) maps: u32,
    pub(in crate::page) entries: u32,
    /// Superblocks opened from one checkpoint to the next.
    pub(in crate::page) every: u32,
    /// Entries of the map: mapping units and trim pages.
    pub(in crate::page) covered: u32,
    pub(in crate::page) superblocks: u32,
    pub(in crate::page) slots: u32,
}

impl CheckpointPages {
    /// The checkpoints of a device with `covered` mapping units and trim pages.
    pub(crate) fn of(spec: Option<CheckpointSpec>, geometry: &Geometry, covered: u32) -> Self {
        let Some(spec) = spec else { return Self::default() };
        let unit = u64::from(geometry.sectors) * SECTOR.get();
        let entries = (unit / ENTRY) as u32;
        let superblocks = geometry.superblock_count();
        let records = (u64::from(superblocks) * SUPERBLOCK).div_ceil(unit) as u32;
        let maps = covered.div_ceil(entries);
        let opened = spec.every.get().div_ceil(unit * u64::from(geometry.superblock_slots()));
        Self {
            each: maps + records,
            maps,
            entries,
            every: u32::try_from(opened).unwrap_or(u32::MAX),
            covered,
            superblocks,
            slots: geometry.slot_count(),
        }
    }

    /// Mapping units that the drive keeps for two checkpoints.
    pub(crate) const fn count(&self) -> u32 {
        2 * self.each
    }

    /// Mapping units of one checkpoint.
    pub(crate) const fn each(&self) -> u32 {
        self.each
    }

    /// Bytes of the simulator's memory, including two records in the media.
    pub(crate) fn memory(&self) -> u64 {
        2 * CheckpointRecord::memory(self.superblocks, self.slots) + Map::memory(u64::from(self.count()))
    }
}
