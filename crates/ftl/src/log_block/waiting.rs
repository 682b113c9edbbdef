//! Writes that have no place yet, grouped by the event that they wait for.
//!
//! * The writes of a logical block stay in order: its oldest write keeps the others waiting. So each logical block is
//!   in one [`Heap`], that of the event its oldest write waits for.
//! * A pass tries the writes of a heap only if its event may have happened.
//! * A pass takes writes from all these heaps by age. So writes get the places that a pass over all waiting writes
//!   would give them.

use base::engine::{Handle, Slab};

use super::address::Lbn;
use super::awaited::AwaitedEvent;
use super::heap::{Heap, HeapEntry, Number};
use crate::port::PageWrite;

#[derive(Clone, Debug)]
struct Write {
    unit: PageWrite,
    number: Number,
    /// The next younger write of the same logical block.
    next: Option<Handle<Write>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct BlockQueue {
    /// The oldest and the youngest write; none if no write of the logical block waits.
    ends: Option<(Handle<Write>, Handle<Write>)>,
    /// The heap that the logical block is in, and its index there.
    awaited: AwaitedEvent,
    place: u32,
}

#[derive(Clone, Debug)]
pub(super) struct WaitingWrites {
    writes: Slab<Write>,
    blocks: Vec<BlockQueue>,
    heaps: [Heap; AwaitedEvent::EVERY.len()],
    /// Logical blocks that this pass has refused: they are in no heap until the pass ends.
    refused: Vec<(Lbn, AwaitedEvent)>,
    /// The number of the youngest write.
    number: Number,
    /// True if a block or a log block has become free, or a merge has moved on: waiting writes may have a place now.
    pub(super) room_changed: bool,
}

impl WaitingWrites {
    pub(super) fn new(blocks: u32) -> Self {
        Self {
            writes: Slab::default(),
            blocks: vec![BlockQueue::default(); blocks as usize],
            heaps: Default::default(),
            refused: Vec::new(),
            number: 0,
            room_changed: false,
        }
    }

    /// Bytes of the table for `blocks` logical blocks.
    pub(super) const fn memory(blocks: u64) -> u64 {
        blocks * size_of::<BlockQueue>() as u64
    }

    pub(super) fn is_empty(&self) -> bool {
        self.writes.is_empty()
    }

    /// True if a write of this logical block waits.
    #[inline]
    pub(super) fn has(&self, lbn: Lbn) -> bool {
        self.blocks[lbn as usize].ends.is_some()
    }

    /// Adds a write. `awaited` is the event that the write waits for if it is the only waiting write of its logical
    /// block.
    pub(super) fn push(&mut self, lbn: Lbn, unit: PageWrite, awaited: AwaitedEvent) {
        self.number += 1;
        let write = self.writes.insert(Write { unit, number: self.number, next: None });
        let ends = &mut self.blocks[lbn as usize].ends;
        match *ends {
            Some((first, last)) => {
                *ends = Some((first, write));
                self.writes[last].next = Some(write);
            }
            None => {
                *ends = Some((write, write));
                self.enter(lbn, awaited);
            }
        }
    }

    /// A fold of a logical block, or the merge of its own log block, has ended.
    pub(super) fn merge_ended(&mut self, lbn: Lbn) {
        if self.has(lbn) && self.blocks[lbn as usize].awaited != AwaitedEvent::Nothing {
            self.leave(lbn);
            self.enter(lbn, AwaitedEvent::Nothing);
        }
    }

    /// The logical block with the oldest write of a heap.
    #[inline]
    pub(super) fn oldest_in(&self, awaited: AwaitedEvent) -> Option<HeapEntry> {
        self.heaps[awaited as usize].oldest()
    }

    /// The logical block with the oldest write of all.
    pub(super) fn oldest(&self) -> Option<HeapEntry> {
        self.heaps.iter().filter_map(Heap::oldest).min()
    }

    /// The oldest write of a logical block.
    pub(super) fn first(&self, lbn: Lbn) -> &PageWrite {
        let (first, _) = self.blocks[lbn as usize].ends.expect("a write of it waits");
        &self.writes[first].unit
    }

    /// Takes the oldest write of a logical block, to try it. [`placed`](Self::placed) or [`refuse`](Self::refuse)
    /// follows.
    pub(super) fn take(&mut self, lbn: Lbn) -> PageWrite {
        self.leave(lbn);
        *self.first(lbn)
    }

    /// Puts the taken write back, to wait for `awaited`. This pass tries no more writes of its logical block.
    pub(super) fn refuse(&mut self, lbn: Lbn, awaited: AwaitedEvent) {
        self.refused.push((lbn, awaited));
    }

    /// Forgets the taken write, which has a place. The next write of its logical block can be tried.
    pub(super) fn placed(&mut self, lbn: Lbn) {
        let ends = &mut self.blocks[lbn as usize].ends;
        let (first, last) = ends.expect("it was taken");
        let next = self.writes[first].next;
        *ends = next.map(|next| (next, last));
        self.writes.remove(first);
        if next.is_some() {
            self.enter(lbn, AwaitedEvent::Nothing);
        }
    }

    pub(super) fn end_pass(&mut self) {
        let mut refused = std::mem::take(&mut self.refused);
        for (lbn, awaited) in refused.drain(..) {
            self.enter(lbn, awaited);
        }
        self.refused = refused;
    }

    /// Adds a logical block to a heap.
    fn enter(&mut self, lbn: Lbn, awaited: AwaitedEvent) {
        let (first, _) = self.blocks[lbn as usize].ends.expect("a write of it waits");
        self.blocks[lbn as usize].awaited = awaited;
        let entry = HeapEntry { number: self.writes[first].number, lbn };
        let blocks = &mut self.blocks;
        self.heaps[awaited as usize].insert(entry, |lbn, place| blocks[lbn as usize].place = place);
    }

    /// Removes a logical block from its heap.
    fn leave(&mut self, lbn: Lbn) {
        let BlockQueue { awaited, place, .. } = self.blocks[lbn as usize];
        let blocks = &mut self.blocks;
        self.heaps[awaited as usize].remove(place, |lbn, place| blocks[lbn as usize].place = place);
    }

    /// The logical blocks with waiting writes, and the event that each waits for.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Lbn, AwaitedEvent)> {
        let heap = |awaited: AwaitedEvent| self.heaps[awaited as usize].iter().map(move |entry| (entry.lbn, awaited));
        AwaitedEvent::EVERY.into_iter().flat_map(heap)
    }

    /// Checks that each waiting write can be found, by age; `of` gives the logical block of a write.
    pub(super) fn check(&self, of: impl Fn(&PageWrite) -> Lbn) {
        assert!(self.refused.is_empty(), "a pass over the waiting writes has not ended");
        let mut found = 0;
        for (lbn, awaited) in self.iter() {
            assert_eq!(self.blocks[lbn as usize].awaited, awaited, "the heap of logical block {lbn}");
            let (first, last) = self.blocks[lbn as usize].ends.expect("a write of it waits");
            let (mut at, mut before) = (first, 0);
            loop {
                let write = &self.writes[at];
                assert!(write.number > before && of(&write.unit) == lbn, "waiting writes of logical block {lbn}");
                (before, found) = (write.number, found + 1);
                match write.next {
                    Some(next) => at = next,
                    None => break,
                }
            }
            assert_eq!(at, last, "the youngest waiting write of logical block {lbn}");
        }
        assert_eq!(found, self.writes.len(), "waiting writes");
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use base::units::Lpn;
    use proptest::prelude::*;

    use super::*;
    use crate::port::OldPlace;

    fn awaited() -> impl Strategy<Value = AwaitedEvent> {
        (0..AwaitedEvent::EVERY.len()).prop_map(|i| AwaitedEvent::EVERY[i])
    }

    fn of(unit: &PageWrite) -> Lbn {
        unit.lpn.get()
    }

    proptest! {
        /// Compares the heaps with one queue that each pass goes through from end to end.
        #[test]
        fn a_pass_tries_the_writes_that_one_over_all_would_try_and_in_its_order(
            steps in prop::collection::vec((0..4u32, 0..6u32, awaited(), any::<u8>()), 0..80),
        ) {
            let (mut waiting, mut queue, mut pushed) = (WaitingWrites::new(6), Vec::<PageWrite>::new(), 0);
            let mut awaits = [AwaitedEvent::Nothing; 6];
            for (step, lbn, awaited, random) in steps {
                let waits = queue.iter().any(|unit| of(unit) == lbn);
                match step {
                    0 | 1 => {
                        pushed += 1;
                        let (lpn, old_place) = (Lpn::new(lbn), OldPlace::Unasked);
                        let unit = PageWrite { lpn, owner: None, at: 0, mask: 1, version: pushed, old_place, stream: None };
                        queue.push(unit);
                        waiting.push(lbn, unit, awaited);
                        if !waits {
                            awaits[lbn as usize] = awaited;
                        }
                    }
                    2 => {
                        waiting.merge_ended(lbn);
                        awaits[lbn as usize] = AwaitedEvent::Nothing;
                    }
                    _ => {
                        let is_tried = |of: &AwaitedEvent| *of == AwaitedEvent::Nothing || random >> (*of as u8) & 1 == 1;
                        let has_place = |unit: &PageWrite| !(unit.version + u32::from(random)).is_multiple_of(3);
                        let (mut expected, mut refused) = (Vec::new(), BTreeSet::new());
                        queue.retain(|unit| {
                            let awaits = &mut awaits[of(unit) as usize];
                            if refused.contains(&of(unit)) || !is_tried(awaits) {
                                return true;
                            }
                            expected.push(unit.version);
                            *awaits = if has_place(unit) { AwaitedEvent::Nothing } else { awaited };
                            !has_place(unit) && refused.insert(of(unit))
                        });
                        let mut tried = Vec::new();
                        let oldest = |waiting: &WaitingWrites| {
                            AwaitedEvent::EVERY.into_iter().filter(is_tried).filter_map(|of| waiting.oldest_in(of)).min()
                        };
                        while let Some(HeapEntry { lbn, .. }) = oldest(&waiting) {
                            let unit = waiting.take(lbn);
                            tried.push(unit.version);
                            match has_place(&unit) {
                                true => waiting.placed(lbn),
                                false => waiting.refuse(lbn, awaited),
                            }
                        }
                        waiting.end_pass();
                        prop_assert_eq!(tried, expected);
                    }
                }
                waiting.check(of);
                let oldest = queue.first().map(|unit| Number::from(unit.version));
                prop_assert_eq!(waiting.oldest().map(|entry| entry.number), oldest);
                prop_assert_eq!(waiting.has(lbn), queue.iter().any(|unit| of(unit) == lbn));
            }
        }
    }
}
