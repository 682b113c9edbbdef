//! Writes that have no place yet, oldest first.
//!
//! The writes of a logical block stay in order: one that waits keeps those behind it waiting. A pass over all of them
//! is due only if something has changed on which the choice of a place depends, because a pass over unchanged state
//! would refuse all of them again.

use std::collections::VecDeque;

use base::steps;

use super::address::Lbn;
use crate::port::PageWrite;

/// The waiting writes of a logical block.
#[derive(Clone, Copy, Debug, Default)]
struct Block {
    writes: u32,
    /// A write of it was refused in this pass.
    refused: bool,
}

/// All waiting writes.
#[derive(Clone, Debug)]
pub(super) struct Waiting {
    queue: VecDeque<PageWrite>,
    blocks: Vec<Block>,
    /// The logical blocks of the writes refused in this pass.
    refused: Vec<Lbn>,
    /// The changes of the log blocks (`Logs::changes`) that the last pass knew.
    known: u64,
    /// A pass is due whatever the log blocks: a write has been placed or added since the last one began, or a logical
    /// block with waiting writes is no longer being folded.
    due: bool,
    /// A write waits for a free block. Many things decide when it may have one, so every pass tries it again.
    for_block: bool,
}

impl Waiting {
    pub(super) fn new(blocks: u32) -> Self {
        Self {
            queue: VecDeque::new(),
            blocks: vec![Block::default(); blocks as usize],
            refused: Vec::new(),
            known: 0,
            due: false,
            for_block: false,
        }
    }

    /// Bytes of the table for `blocks` logical blocks.
    pub(super) const fn memory(blocks: u64) -> u64 {
        blocks * size_of::<Block>() as u64
    }

    pub(super) fn len(&self) -> usize {
        self.queue.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// True if a write of this logical block waits.
    #[inline]
    pub(super) fn has(&self, lbn: Lbn) -> bool {
        self.blocks[lbn as usize].writes > 0
    }

    /// Adds a write that was refused, or waits behind others of its logical block.
    pub(super) fn push(&mut self, lbn: Lbn, unit: PageWrite) {
        self.blocks[lbn as usize].writes += 1;
        self.queue.push_back(unit);
    }

    /// Adds a write that has not been tried yet.
    pub(super) fn push_untried(&mut self, lbn: Lbn, unit: PageWrite) {
        self.push(lbn, unit);
        self.due = true;
    }

    /// The fold of a logical block has ended.
    pub(super) fn fold_ended(&mut self, lbn: Lbn) {
        self.due |= self.has(lbn);
    }

    /// A write was refused because the host may have no free block now.
    pub(super) const fn wants_block(&mut self) {
        self.for_block = true;
    }

    /// True if a pass could place a write, or merge a log block for one.
    pub(super) const fn is_due(&self, changes: u64) -> bool {
        self.due || self.for_block || self.known != changes
    }

    pub(super) const fn begin_pass(&mut self, changes: u64) {
        (self.known, self.due, self.for_block) = (changes, false, false);
    }

    /// Takes the oldest write.
    pub(super) fn pop(&mut self) -> Option<PageWrite> {
        steps::count();
        self.queue.pop_front()
    }

    /// True if this pass has refused a write of this logical block. It is at the back of the queue then, behind those
    /// not tried yet.
    pub(super) fn was_refused(&self, lbn: Lbn) -> bool {
        self.blocks[lbn as usize].refused
    }

    /// A write that was taken stays.
    pub(super) fn refuse(&mut self, lbn: Lbn, unit: PageWrite) {
        if !std::mem::replace(&mut self.blocks[lbn as usize].refused, true) {
            self.refused.push(lbn);
        }
        self.queue.push_back(unit);
    }

    /// A write that was taken has a place.
    pub(super) fn placed(&mut self, lbn: Lbn) {
        self.blocks[lbn as usize].writes -= 1;
        self.due = true;
    }

    pub(super) fn end_pass(&mut self) {
        for lbn in self.refused.drain(..) {
            self.blocks[lbn as usize].refused = false;
        }
    }

    /// The writes, oldest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = &PageWrite> {
        self.queue.iter()
    }

    /// Checks the counts against the writes, whose logical blocks `of` gives.
    pub(super) fn check(&self, of: impl Fn(&PageWrite) -> Lbn) {
        let mut counts = vec![0; self.blocks.len()];
        self.queue.iter().for_each(|unit| counts[of(unit) as usize] += 1);
        for (lbn, (block, count)) in self.blocks.iter().zip(counts).enumerate() {
            assert_eq!((block.writes, block.refused), (count, false), "waiting writes of logical block {lbn}");
        }
    }
}
