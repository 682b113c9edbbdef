//! The counters of the FTL of Chang's disk.

use std::ops::Sub;

use base::units::{Bytes, SECTOR, Span};
use flash::backend::Timing;
use flash::nand::Geometry;

use super::model::{PageTimes, WriteCost};

/// Counts since the last reset or power-on. Fields that are not sums have present values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlcMlcCounters {
    /// Write requests.
    pub writes: u64,
    /// Writes not larger than the threshold.
    pub small: u64,
    /// Small writes that the SLC flash took.
    pub accepted: u64,
    /// Small writes that the throttle rejected.
    pub throttled: u64,
    /// Small writes with a sector that found no entry in the hash table.
    pub unplaced: u64,
    /// Accepted writes whose sectors were all in the SLC flash already.
    pub updates: u64,
    /// Sectors that the host wrote, to either flash.
    pub sectors: u64,
    /// Sectors written to the SLC flash.
    pub slc_sectors: u64,
    /// Cleaned tail blocks of the SLC flash.
    pub cleaned: u64,
    /// Pages with valid data in cleaned tail blocks.
    pub tail_pages: u64,
    /// Pages copied from cleaned tail blocks to the head.
    pub copied_back: u64,
    /// Sectors that cleaning wrote to the MLC flash.
    pub written_back: u64,
    /// Sectors of the SLC flash that folds took along.
    pub assisted: u64,
    /// Pages written to the MLC flash, without pages of folds.
    pub mlc_pages: u64,
    /// Pages written to the MLC flash whose logical block was not in the mapping cache.
    pub misses: u64,
    /// Pages whose spare areas were scanned because of such misses.
    pub scanned: u64,
    /// Scans of spare areas, including those for reads.
    pub scans: u64,
    /// Chains folded by garbage collection.
    pub folds: u64,
    /// Chains whose last log block became the data block.
    pub switches: u64,
    /// Blocks erased by folds and switches.
    pub fold_erases: u64,
    /// Chains moved by wear levelling.
    pub levelled: u64,
    /// Folds that changed a logical block to SLC mode.
    pub to_slc_mode: u64,
    /// Folds that changed a logical block back from SLC mode.
    pub from_slc_mode: u64,
    /// Pages of the MLC flash programmed in SLC mode, including pages of folds.
    pub slc_mode_pages: u64,
    /// Logical blocks in SLC mode now.
    pub slc_mode: u32,
    /// The present threshold of small writes, in sectors; 0 without SLC flash.
    pub threshold: u32,
    /// The number of blocks that the SLC log may have now (the paper's k).
    pub k: u32,
    /// The shape of the MLC flash.
    pub mlc: ArrayShape,
    /// The shape of the SLC flash, if the disk has one.
    pub slc: Option<ArrayShape>,
    /// Bytes of RAM of the tables, with entries as large as the paper's (Sec. 4.2): two bytes for a block in L2P and in
    /// LB, five for an entry of the hash table.
    pub table_bytes: u64,
}

/// The shape of one of the two arrays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArrayShape {
    /// Operation times, and pages of a block.
    pub times: PageTimes,
    /// The number of physical blocks of the array.
    pub blocks: u32,
    /// Data bytes of a page.
    pub page: Bytes,
}

impl ArrayShape {
    pub(super) fn new(geometry: &Geometry, timing: &Timing) -> Self {
        let page = SECTOR * u64::from(geometry.slots * geometry.sectors);
        let mean = |times: &[Span]| times.iter().copied().sum::<Span>() / times.len() as u64;
        let times = PageTimes {
            read: mean(&timing.read),
            write: mean(&timing.program),
            erase: timing.erase,
            pages: geometry.pages,
        };
        Self { times, blocks: geometry.superblock_count(), page }
    }

    /// The bytes of data that fit into the array.
    #[must_use]
    pub fn bytes(&self) -> Bytes {
        self.page * u64::from(self.times.pages) * u64::from(self.blocks)
    }
}

fn mean(sum: u64, count: u64) -> f64 {
    if count == 0 { 0.0 } else { sum as f64 / count as f64 }
}

impl SlcMlcCounters {
    /// The inputs of the closed form (Sec. 4.1, Table 3), from these counts.
    #[must_use]
    pub fn write_cost(&self) -> WriteCost {
        WriteCost {
            alpha: mean(self.slc_sectors, self.sectors),
            n1: mean(self.tail_pages, self.cleaned),
            n2: mean(self.copied_back, self.cleaned),
            n3: mean(self.scanned, self.scans),
            n4: mean(self.fold_erases, self.folds + self.switches),
            p1: mean(self.misses, self.mlc_pages),
            p2: mean(self.folds, self.mlc_pages),
        }
    }
}

impl Sub for SlcMlcCounters {
    type Output = Self;
    /// The counts between two moments; if a power cut reset the counts in between, the counts since the reset.
    fn sub(self, from: Self) -> Self {
        let since = |now: u64, then: u64| if self.writes < from.writes { now } else { now.saturating_sub(then) };
        Self {
            writes: since(self.writes, from.writes),
            small: since(self.small, from.small),
            accepted: since(self.accepted, from.accepted),
            throttled: since(self.throttled, from.throttled),
            unplaced: since(self.unplaced, from.unplaced),
            updates: since(self.updates, from.updates),
            sectors: since(self.sectors, from.sectors),
            slc_sectors: since(self.slc_sectors, from.slc_sectors),
            cleaned: since(self.cleaned, from.cleaned),
            tail_pages: since(self.tail_pages, from.tail_pages),
            copied_back: since(self.copied_back, from.copied_back),
            written_back: since(self.written_back, from.written_back),
            assisted: since(self.assisted, from.assisted),
            mlc_pages: since(self.mlc_pages, from.mlc_pages),
            misses: since(self.misses, from.misses),
            scanned: since(self.scanned, from.scanned),
            scans: since(self.scans, from.scans),
            folds: since(self.folds, from.folds),
            switches: since(self.switches, from.switches),
            fold_erases: since(self.fold_erases, from.fold_erases),
            levelled: since(self.levelled, from.levelled),
            to_slc_mode: since(self.to_slc_mode, from.to_slc_mode),
            from_slc_mode: since(self.from_slc_mode, from.from_slc_mode),
            slc_mode_pages: since(self.slc_mode_pages, from.slc_mode_pages),
            slc_mode: self.slc_mode,
            threshold: self.threshold,
            k: self.k,
            mlc: self.mlc,
            slc: self.slc,
            table_bytes: self.table_bytes,
        }
    }
}
