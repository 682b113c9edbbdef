//! The pages of the CTP that are to be stored, or are being stored (Sec. 4.1 and 4.5).

use std::collections::VecDeque;

use super::super::cache::Cache;
use super::super::write_buffers::WriteBuffers;
use super::dirty_order::DirtyOrder;
use super::sizes::Sizes;

/// The dirty pages of the CTP, and their stores.
#[derive(Clone, Debug)]
pub(super) struct Stores {
    /// Pages that the block manager has taken and not yet programmed (Sec. 4.1).
    pub(super) buffers: WriteBuffers,
    pub(super) dirty: DirtyOrder,
    /// The number of dirty pages above which the CTP stores one.
    threshold: usize,
    draining: bool,
    /// Blocks that must be stored for a request to proceed, and for each block whether it is in that list.
    forced: VecDeque<u32>,
    is_forced: Vec<bool>,
    /// Pages whose store has ended, in the order in which the CTP handles the ends.
    pub(super) responses: VecDeque<u32>,
}

impl Stores {
    pub(super) fn new(sizes: &Sizes) -> Self {
        Self {
            buffers: WriteBuffers::new(sizes.buffers),
            dirty: DirtyOrder::new(sizes.ctp_blocks),
            threshold: sizes.ctp_dirty as usize,
            draining: false,
            forced: VecDeque::new(),
            is_forced: vec![false; sizes.ctp_blocks as usize],
            responses: VecDeque::new(),
        }
    }

    /// Chooses between storing all dirty pages and only those above the threshold.
    pub(super) fn drain(&mut self, everything: bool) {
        self.draining = everything;
    }

    const fn threshold(&self) -> usize {
        if self.draining { 0 } else { self.threshold }
    }

    /// True if some page is to be stored.
    #[inline]
    pub(super) fn has_work(&self) -> bool {
        !self.forced.is_empty() || self.dirty.len() > self.threshold()
    }

    /// Of these dirty blocks, forces the store of the block that became dirty first.
    pub(super) fn force_oldest(&mut self, blocks: impl Iterator<Item = usize>) {
        if let Some(block) = self.dirty.oldest_of(blocks.map(|block| block as u32))
            && !std::mem::replace(&mut self.is_forced[block as usize], true)
        {
            self.forced.push_back(block);
        }
    }

    /// The block to store next: a forced block, or the block that has been dirty longest, if too many are dirty.
    /// `tried` is called with each forced block that is no longer forced.
    pub(super) fn next_block(&mut self, cache: &Cache, mut tried: impl FnMut(usize)) -> Option<u32> {
        let threshold = self.threshold();
        // A page has one store at a time: a page that is updated during its store stays dirty.
        let free = |block: &u32| self.buffers.get(cache.key(*block as usize)).is_none();
        // A forced page that cannot be stored now is forced again after a store has ended.
        let mut forced = std::iter::from_fn(|| {
            let block = self.forced.pop_front();
            block.inspect(|block| {
                self.is_forced[*block as usize] = false;
                tried(*block as usize);
            })
        });
        match forced.find(|block| cache.block(*block as usize).dirty && free(block)) {
            None if self.dirty.len() > threshold => self.dirty.iter().find(free),
            forced => forced,
        }
    }
}
