//! The choice of the units that leave the buffer: which set's turn it is, and its oldest units.

use base::engine::Handle;

use super::{Buffer, BufferEntry};

/// Entries are prefetched this many places in the queue ahead of their turn.
const AHEAD: usize = 8;

impl Buffer {
    /// The most units to write back at once: the units of a program, or no limit for a superblock.
    pub(crate) fn at_once(&self, program: u32) -> Option<u32> {
        self.size.superblocks.is_none().then_some(program)
    }

    /// The set, or the superblock, whose turn it is to be written back. Reasons: the buffer is above its watermark, a
    /// flush waits, or a write `waits` for room. A program is left unfilled only for a flush, or if nothing else makes
    /// room.
    ///
    /// `takes` says whether the FTL takes another write to a set with this number of units under way. Units that the
    /// FTL does not take stay dirty, so that newer writes to them are still absorbed.
    pub(crate) fn is_due(
        &mut self,
        program: u32,
        flush: Option<u64>,
        waits: bool,
        takes: impl Fn(u32, u32) -> bool,
    ) -> Option<u32> {
        if let (Some(of), Some(superblocks)) = (self.size.superblocks, &mut self.superblocks) {
            if !takes(0, self.flushing) {
                return None;
            }
            return superblocks.due(self.held > of.high, flush, waits && self.flushing == 0);
        }
        self.draining = self.dirty > if self.draining { self.size.low } else { self.size.high };
        if let Some(epoch) = flush {
            let sets = 0..self.queues.len() as u32;
            let urgent = sets.filter_map(|set| {
                let takes = takes(set, self.queues[set as usize].flushing);
                takes.then(|| self.oldest(set)).flatten().map(|oldest| (oldest, set))
            });
            let urgent = urgent.min();
            if let Some((_, set)) = urgent.filter(|(oldest, _)| *oldest <= epoch) {
                return Some(set);
            }
        }
        if !self.draining && !waits {
            return None;
        }
        // The set with the most dirty units, so that no set is left behind.
        let sets = (0u32..).zip(&self.queues).filter(|(set, queue)| takes(*set, queue.flushing));
        let (dirty, std::cmp::Reverse(set)) = sets.map(|(set, queue)| (queue.dirty, std::cmp::Reverse(set))).max()?;
        (dirty >= program || (waits && self.flushing == 0 && dirty > 0)).then_some(set)
    }

    /// The epoch of the oldest dirty unit of a set.
    fn oldest(&mut self, set: u32) -> Option<u64> {
        let (handle, epoch, moves) = self.pop_oldest(set)?;
        self.queues[set as usize].entries.push_front((handle, epoch, moves));
        Some(epoch)
    }

    /// Takes the oldest dirty unit of a set out of its queue.
    #[inline]
    fn pop_oldest(&mut self, set: u32) -> Option<(Handle<BufferEntry>, u64, u32)> {
        let queue = &mut self.queues[set as usize].entries;
        loop {
            let (handle, epoch, moves) = queue.pop_front()?;
            if self.entries[handle].is_queued(set, epoch, moves) {
                return Some((handle, epoch, moves));
            }
        }
    }

    /// Takes the oldest dirty unit of a set, or any dirty unit of a superblock, to write it back. `of` is the number of
    /// the set or of the superblock.
    #[inline(always)]
    #[allow(clippy::inline_always)] // One caller.
    pub(crate) fn next_to_write(&mut self, of: u32) -> Option<Handle<BufferEntry>> {
        let handle = if let Some(superblocks) = &mut self.superblocks {
            let handle = superblocks.next(of)?;
            self.dirty -= 1;
            handle
        } else {
            let (handle, ..) = self.pop_oldest(of)?;
            // The entry came in long ago, so it is in no cache.
            if let Some((later, ..)) = self.queues[of as usize].entries.get(AHEAD) {
                self.entries.prefetch(*later);
            }
            self.dequeue(of);
            handle
        };
        self.flushing += 1;
        self.queues[self.entries[handle].set as usize].flushing += 1;
        self.entries[handle].send();
        Some(handle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::InsertionResult;
    use crate::buffer::tests::{buffer, take};
    use crate::spec::ResolvedBuffer;
    use base::units::Lpn;
    use flash::nand::{SectorKind, Stamp};
    use ftl::Origin;

    #[test]
    fn write_back_starts_at_the_high_watermark_and_stops_at_the_low_one() {
        let mut b = buffer();
        (0..4).for_each(|lpn| assert_eq!(take(&mut b, lpn, 1, 1), InsertionResult::New));
        assert_eq!(take(&mut b, 9, 1, 1), InsertionResult::Full);
        let out: Vec<_> =
            std::iter::from_fn(|| b.is_due(1, None, false, |_, _| true).and_then(|set| b.next_to_write(set))).collect();
        assert_eq!(out.iter().map(|h| b.entry(*h).lpn.get()).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(b.len(), 4, "a mapping unit stays until its program ends");
        out.iter().for_each(|h| assert_eq!(b.flushed(*h), None));
        assert_eq!(b.len(), 1);
    }

    #[test]
    fn a_partial_program_is_sent_only_if_nothing_else_would_make_room() {
        let mut b = Buffer::new(
            ResolvedBuffer { units: 4, high: 4, low: 0, ..ResolvedBuffer::default() },
            SectorKind::Stamp,
            4,
            2,
        );
        (0..3).for_each(|lpn| assert_eq!(take(&mut b, lpn, 1, 1), InsertionResult::New));
        assert!(b.is_due(4, None, false, |_, _| true).is_none());
        assert!(b.is_due(4, None, true, |_, _| true).is_some(), "nothing else would make room");
        let first = b.next_to_write(0).expect("dirty");
        assert!(b.is_due(4, None, true, |_, _| true).is_none(), "room comes soon");
        assert!(b.is_due(2, None, true, |_, _| true).is_some());
        b.flushed(first);
        assert!(b.is_due(4, None, true, |_, _| true).is_some());
    }

    #[test]
    fn units_that_the_ftl_does_not_take_stay_and_absorb() {
        let mut b = Buffer::new(
            ResolvedBuffer { units: 8, high: 2, low: 1, ..ResolvedBuffer::default() },
            SectorKind::Stamp,
            4,
            2,
        );
        (0..8).for_each(|lpn| assert_eq!(take(&mut b, lpn, 1, 1), InsertionResult::New));
        // The FTL takes at most two programs of two units each at once.
        let takes = |_: u32, under_way: u32| under_way < 4;
        let mut out = Vec::new();
        while let Some(set) = b.is_due(2, None, true, takes) {
            out.extend((0..2).filter_map(|_| b.next_to_write(set)));
        }
        assert_eq!(out.iter().map(|h| b.entry(*h).lpn.get()).collect::<Vec<_>>(), [0, 1, 2, 3]);
        let flush = b.begin_flush();
        assert_eq!(b.is_due(2, Some(flush), true, takes), None, "a flush waits for the dies, too");
        let again: Vec<_> = (0..8).map(|lpn| take(&mut b, lpn, 1, 2)).collect();
        assert_eq!(again, [[InsertionResult::New; 4], [InsertionResult::Absorbed; 4]].concat());
        assert_eq!(b.flushed(out[0]), None);
        assert_eq!(b.is_due(2, Some(flush), false, takes), Some(0), "one has arrived");
        assert_eq!(b.next_to_write(0).map(|h| b.entry(h).lpn.get()), Some(4), "the oldest, with its newest data");
    }

    #[test]
    fn a_set_that_takes_nothing_does_not_keep_another_waiting() {
        let mut b = Buffer::new(
            ResolvedBuffer { units: 8, high: 8, low: 0, ..ResolvedBuffer::default() },
            SectorKind::Stamp,
            4,
            2,
        );
        let take = |b: &mut Buffer, lpn, set| b.put(Lpn::new(lpn), set, 1, (&[Stamp(1)], 0), Origin::default());
        [(0, 0), (1, 0), (2, 0), (3, 1)].into_iter().for_each(|(lpn, set)| _ = take(&mut b, lpn, set));
        let only_second = |set: u32, _: u32| set == 1;
        assert_eq!(b.is_due(1, None, true, only_second), Some(1));
        let flush = b.begin_flush();
        assert_eq!(b.is_due(9, Some(flush), false, only_second), Some(1));
        assert_eq!(b.is_due(9, Some(flush), false, |_, _| true), Some(0), "of equals the first");
    }

    #[test]
    fn a_mapping_unit_goes_to_the_dies_of_its_last_writer() {
        let mut b = Buffer::new(
            ResolvedBuffer { units: 4, high: 4, low: 0, ..ResolvedBuffer::default() },
            SectorKind::Stamp,
            4,
            3,
        );
        let take = |b: &mut Buffer, lpn, set| b.put(Lpn::new(lpn), set, 1, (&[Stamp(1)], 0), Origin::default());
        for (lpn, set) in [(0, 1), (1, 2), (2, 2), (3, 1)] {
            assert_eq!(take(&mut b, lpn, set), InsertionResult::New);
        }
        assert_eq!(b.is_due(2, None, true, |_, _| true), Some(1), "of equals the first");
        // The unit is rewritten through another queue and back again, many times.
        for set in [2, 1].repeat(100).into_iter().chain([2]) {
            assert_eq!(take(&mut b, 0, set), InsertionResult::Absorbed);
        }
        assert!(b.queues.iter().all(|queue| queue.entries.len() < 30), "nothing piles up");
        assert_eq!(b.is_due(2, None, true, |_, _| true), Some(2), "the one with the most");
        let out: Vec<_> = std::iter::from_fn(|| b.next_to_write(2)).collect();
        assert_eq!(out.iter().map(|h| b.entry(*h).lpn.get()).collect::<Vec<_>>(), [1, 2, 0]);
        // A rewrite during the program: that program stays in its set, the next goes to the other.
        assert_eq!(take(&mut b, 1, 1), InsertionResult::New);
        assert_eq!(b.entry(out[0]).set, 2);
        b.flushed(out[0]);
        assert_eq!(b.entry(out[0]).set, 1);
        let rest: Vec<_> = std::iter::from_fn(|| b.next_to_write(1)).collect();
        assert_eq!(rest.iter().map(|h| b.entry(*h).lpn.get()).collect::<Vec<_>>(), [3, 1]);
        assert_eq!(b.dirty, 0);
    }

    #[test]
    fn a_stale_queue_entry_of_one_set_does_not_name_a_mapping_unit_of_another() {
        // A mapping unit of the other set and of the same epoch reuses the place of the discarded one.
        let mut b = Buffer::new(
            ResolvedBuffer { units: 4, high: 4, low: 0, ..ResolvedBuffer::default() },
            SectorKind::Stamp,
            4,
            2,
        );
        b.put(Lpn::new(7), 0, 1, (&[Stamp(1)], 0), Origin::default());
        b.discard(Lpn::new(7)).into_iter().for_each(|epoch| b.written(epoch));
        b.put(Lpn::new(8), 1, 1, (&[Stamp(1)], 0), Origin::default());
        assert_eq!(b.next_to_write(0), None);
        assert!(b.next_to_write(1).is_some());
    }
}
