//! What a map unit counts.

use flash::units::Span;

/// Counts since the map unit was built, and how long its parts were busy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Questions answered.
    pub questions: u64,
    /// Questions whose block was in the CMT, or all if there is the full table.
    pub cmt_hits: u64,
    /// Questions whose block was not, or was still being loaded.
    pub cmt_misses: u64,
    /// Requests to the CTP whose translation page was there.
    pub ctp_hits: u64,
    /// Requests to the CTP whose page was not, or was still being loaded.
    pub ctp_misses: u64,
    /// Translation pages loaded from flash.
    pub loads: u64,
    /// Translation pages stored.
    pub stores: u64,
    /// Flushes of the CMT: each takes all dirty blocks of one translation page.
    pub flushes: u64,
    /// Blocks that were written back by them.
    pub flushed_blocks: u64,
    /// Miss status registers in use at once, at most: in the CMT and in the CTP. Software has one for each question
    /// that waits.
    pub mshrs_at_most: [u64; 2],
    /// Loads from flash under way at once, at most.
    pub loads_at_most: u64,
    /// Busy time of each core, or of the CMT and the CTP.
    pub busy: Vec<Span>,
}

impl Counters {
    /// With so many cores or machines.
    pub(super) fn new(machines: usize) -> Self {
        Self { busy: vec![Span::ZERO; machines], ..Self::default() }
    }

    /// Adds what another counted; the maxima become sums, as the parts work side by side.
    pub(super) fn add(&mut self, other: &Self) {
        self.questions += other.questions;
        self.cmt_hits += other.cmt_hits;
        self.cmt_misses += other.cmt_misses;
        self.ctp_hits += other.ctp_hits;
        self.ctp_misses += other.ctp_misses;
        self.loads += other.loads;
        self.stores += other.stores;
        self.flushes += other.flushes;
        self.flushed_blocks += other.flushed_blocks;
        self.mshrs_at_most[0] += other.mshrs_at_most[0];
        self.mshrs_at_most[1] += other.mshrs_at_most[1];
        self.loads_at_most += other.loads_at_most;
        self.busy.extend_from_slice(&other.busy);
    }
}
