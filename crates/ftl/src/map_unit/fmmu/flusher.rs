//! The choice of the blocks that the CMT flushes (Sec. 4.4 and 4.5).

use std::collections::VecDeque;

use super::super::Counters;
use super::super::dtl::Dtl;
use super::sizes::Sizes;

/// The dirty pages, and the flush under way.
#[derive(Clone, Debug)]
pub(super) struct Flusher {
    pub(super) dtl: Dtl,
    /// Numbers of clean blocks: a flush begins at `low`, and ends at `high`.
    low: u32,
    high: u32,
    batch: u32,
    window: u32,
    /// True while flushing: from the moment with `low` clean blocks until there are `high`.
    is_low: bool,
    draining: bool,
    /// Pages whose blocks must be flushed for a question to proceed.
    forced: VecDeque<u32>,
    /// The next block of the page being flushed.
    chain: Option<u32>,
    /// Blocks flushed since the last packet was taken.
    flushed: u32,
}

impl Flusher {
    pub(super) fn new(sizes: &Sizes) -> Self {
        Self {
            dtl: Dtl::new(sizes.layout.pages(), sizes.cmt_blocks),
            low: sizes.low,
            high: sizes.high,
            batch: sizes.batch,
            window: sizes.window,
            is_low: false,
            draining: false,
            forced: VecDeque::new(),
            chain: None,
            flushed: 0,
        }
    }

    /// Chooses between flushing all dirty blocks, and flushing as `low` and `high` ask for.
    pub(super) fn drain(&mut self, everything: bool) {
        self.draining = everything;
    }

    /// Takes the present number of clean blocks of the cache.
    #[inline]
    pub(super) fn update(&mut self, clean: u32) {
        self.is_low = clean <= self.low || self.is_low && clean < self.high;
    }

    /// True if another block may be flushed before the next packet is taken.
    #[inline]
    pub(super) fn has_turn(&self) -> bool {
        self.flushed < self.batch
    }

    /// Notes that a packet has been taken: a new batch of blocks may be flushed.
    #[inline]
    pub(super) fn packet_taken(&mut self) {
        self.flushed = 0;
    }

    /// Forces the flush of a page's blocks, because a question can proceed only after it.
    pub(super) fn force(&mut self, page: u32) {
        if !self.forced.contains(&page) {
            self.forced.push_back(page);
        }
    }

    /// True if some block is to be flushed.
    #[inline]
    pub(super) fn has_work(&self) -> bool {
        self.chain.is_some() || !self.forced.is_empty() || self.is_low || self.draining
    }

    /// The next block to flush, and the number of pages that the choice looked at.
    pub(super) fn next_block(&mut self, counters: &mut Counters) -> Option<(u32, u64)> {
        let mut looked = 0;
        if self.chain.is_none() {
            self.chain = std::iter::from_fn(|| self.forced.pop_front()).find_map(|tvpn| self.dtl.take(tvpn));
            if self.chain.is_none() && (self.is_low || self.draining) {
                let (tvpn, pages) = self.dtl.choose(self.window);
                looked = pages;
                self.chain = self.dtl.take(tvpn?);
            }
            counters.flushes += u64::from(self.chain.is_some());
        }
        let block = self.chain?;
        self.chain = self.dtl.after(block);
        self.flushed += 1;
        counters.flushed_blocks += 1;
        Some((block, looked))
    }
}
