//! What the FTL of a hybrid disk has counted.

use std::ops::Sub;

use base::units::{Bytes, SECTOR, Span};
use flash::backend::Timing;
use flash::nand::Geometry;

use super::model::{PageTimes, WriteCost};

/// Counts since the counters were last reset or the power came; what is not a sum is as it is now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlcMlcCounters {
    /// Write requests.
    pub writes: u64,
    /// Of them, those that were not larger than the threshold.
    pub small: u64,
    /// Of these, those that the SLC flash took.
    pub accepted: u64,
    /// Small writes that the throttle turned away.
    pub throttled: u64,
    /// Small writes some sector of which found no entry in the hash table.
    pub unplaced: u64,
    /// Accepted writes all of whose sectors were in the SLC flash.
    pub updates: u64,
    /// Sectors written.
    pub sectors: u64,
    /// Of them, those written to the SLC flash.
    pub slc_sectors: u64,
    /// Tail blocks of the SLC flash that were cleaned.
    pub cleaned: u64,
    /// Pages with valid data that were found in them.
    pub tail_pages: u64,
    /// Pages written to the head in their place.
    pub copied_back: u64,
    /// Sectors that went to the MLC flash when a tail block was cleaned.
    pub written_back: u64,
    /// Sectors that a fold took along.
    pub assisted: u64,
    /// Pages written to the MLC flash, those of folds not counted.
    pub mlc_pages: u64,
    /// Of them, those whose logical block the mapping cache did not have.
    pub misses: u64,
    /// Pages looked at for it.
    pub scanned: u64,
    /// Looks, those for reads included.
    pub scans: u64,
    /// Chains folded by garbage collection.
    pub folds: u64,
    /// Chains whose last log block became the data block.
    pub switches: u64,
    /// Blocks erased by both.
    pub fold_erases: u64,
    /// Chains moved by wear levelling.
    pub levelled: u64,
    /// Logical blocks that folds took to SLC mode, and back.
    pub to_slc_mode: u64,
    /// See there.
    pub from_slc_mode: u64,
    /// Pages of the MLC flash programmed in SLC mode, those of folds counted.
    pub slc_mode_pages: u64,
    /// Logical blocks in SLC mode now.
    pub slc_mode: u32,
    /// The threshold now, in sectors; zero without SLC flash.
    pub threshold: u32,
    /// Blocks that the SLC log may have now.
    pub k: u32,
    /// The MLC flash.
    pub mlc: ArrayShape,
    /// The SLC flash, if there is any.
    pub slc: Option<ArrayShape>,
    /// Bytes of RAM of the tables, entries as large as the paper's (Sec. 4.2): two bytes for a block in L2P and in LB, five
    /// for an entry of the hash table.
    pub table_bytes: u64,
}

/// What one of the two arrays is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArrayShape {
    /// Its times.
    pub times: PageTimes,
    /// Its blocks.
    pub blocks: u32,
    /// A page of it.
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

    /// Its data bytes.
    #[must_use]
    pub fn bytes(&self) -> Bytes {
        self.page * u64::from(self.times.pages) * u64::from(self.blocks)
    }
}

/// A mean, or 0 of nothing.
fn mean(sum: u64, count: u64) -> f64 {
    if count == 0 { 0.0 } else { sum as f64 / count as f64 }
}

impl SlcMlcCounters {
    /// What the closed form needs (Sec. 4.1, Table 3).
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
    /// What happened in between; everything, if the power went meanwhile.
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
