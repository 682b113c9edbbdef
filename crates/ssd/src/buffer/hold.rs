//! Units whose discard the FTL may still refuse. The buffer holds their content, because a refused discard must leave the
//! acknowledged data in place.
//!
//! No program of a held unit begins: the FTL would take it for a write after the discard. Flushes wait for a held unit as
//! for a dirty one. The unit keeps its place in the buffer until the FTL has answered.

use base::engine::Handle;
use base::units::Lpn;

use super::{Buffer, BufferEntry};

impl Buffer {
    /// Holds a unit until the FTL has answered a discard of it. [`Self::answer_discard`] follows.
    pub(crate) fn hold(&mut self, lpn: Lpn) {
        let Some(handle) = self.index.get(&self.entries, lpn) else { return };
        if self.entries[handle].is_dirty() {
            self.withdraw(handle);
        }
        self.entries[handle].hold();
        self.holds += 1;
    }

    /// True if any unit is held.
    pub(crate) const fn holds_any(&self) -> bool {
        self.holds > 0
    }

    /// Ends the hold of a unit after the FTL has answered its discard: the buffer drops the content if the discard
    /// `is_done`, and keeps it otherwise. Without effect on a unit that is not held.
    pub(crate) fn answer_discard(&mut self, lpn: Lpn, is_done: bool) {
        let Some(handle) = self.index.get(&self.entries, lpn) else { return };
        let entry = &mut self.entries[handle];
        if !entry.release() {
            return;
        }
        self.holds -= 1;
        let awaited = match (is_done, entry.is_on_its_way()) {
            (true, true) => entry.discard(),
            (true, false) => {
                let awaited = entry.awaited();
                self.free(handle);
                awaited
            }
            (false, true) => return self.send_again(handle),
            (false, false) => return self.enqueue(handle),
        };
        // The discard is durable, so flushes need not wait for the unit.
        if let Some(epoch) = awaited {
            self.written(epoch);
        }
    }

    /// Sends the content of a unit to flash once more. A request may be refused after the FTL has discarded some of its
    /// units, and the FTL drops programs that are older than a discard, so the first program cannot be relied on.
    fn send_again(&mut self, handle: Handle<BufferEntry>) {
        let now = self.epoch;
        let entry = &mut self.entries[handle];
        if !entry.is_discarded() && entry.rewrite(entry.set, now).counts {
            *self.count(now) += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::InsertionResult;
    use crate::spec::ResolvedBuffer;
    use flash::nand::{SectorKind, Stamp};
    use ftl::Origin;

    const UNIT: Lpn = Lpn::new(5);

    fn buffer() -> Buffer {
        Buffer::new(ResolvedBuffer { units: 4, high: 2, low: 1, ..ResolvedBuffer::default() }, SectorKind::Stamp, 4, 1)
    }

    fn take(buffer: &mut Buffer, stamp: u64) {
        assert_eq!(buffer.put(UNIT, 0, 0b1111, (&[Stamp(stamp); 4], 0), Origin::default()), InsertionResult::New);
    }

    fn send(buffer: &mut Buffer) -> Option<Handle<BufferEntry>> {
        buffer.next_to_write(0)
    }

    fn content(buffer: &Buffer) -> Option<(u64, bool)> {
        let found = buffer.find(UNIT)?;
        Some((buffer.data(found.entry).sector::<Stamp>(0).0, found.zeros))
    }

    #[test]
    fn a_refused_discard_leaves_a_dirty_unit_to_be_written_back() {
        let mut b = buffer();
        take(&mut b, 7);
        let flush = b.begin_flush();
        b.hold(UNIT);
        assert!(b.holds_any());
        assert_eq!((send(&mut b), content(&b)), (None, Some((7, false))), "no program begins, and reads find it");
        assert!(!b.is_durable(flush));
        b.answer_discard(UNIT, false);
        assert!(!b.holds_any());
        let handle = send(&mut b).expect("it is dirty again");
        assert_eq!(send(&mut b), None, "it is queued once");
        assert_eq!(b.flushed(handle), None);
        assert!(b.is_durable(flush) && b.len() == 0);
    }

    #[test]
    fn an_accepted_discard_takes_a_dirty_unit_out_and_ends_the_flush() {
        let mut b = buffer();
        take(&mut b, 7);
        let flush = b.begin_flush();
        b.hold(UNIT);
        b.answer_discard(UNIT, true);
        assert!(!b.holds_any() && b.len() == 0 && b.is_durable(flush));
        assert_eq!(send(&mut b), None);
        // Another unit reuses the entry.
        take(&mut b, 8);
        assert!(send(&mut b).is_some());
    }

    #[test]
    fn a_unit_on_its_way_may_arrive_before_the_answer_or_after_it() {
        for (arrives_first, is_done) in [(true, true), (true, false), (false, true), (false, false)] {
            let mut b = buffer();
            take(&mut b, 7);
            let handle = send(&mut b).expect("dirty");
            b.hold(UNIT);
            if arrives_first {
                assert_eq!(b.flushed(handle), None);
                assert_eq!((content(&b), b.holds_any()), (None, false), "flash has it");
            }
            b.answer_discard(UNIT, is_done);
            assert!(!b.holds_any());
            if !arrives_first {
                assert_eq!(content(&b), Some((7, is_done)));
                let flush = b.begin_flush();
                assert_eq!(b.flushed(handle), is_done.then_some(UNIT));
                if !is_done {
                    // The FTL may have dropped the program.
                    assert_eq!((content(&b), b.is_durable(flush)), (Some((7, false)), false));
                    let handle = send(&mut b).expect("dirty again");
                    assert_eq!(b.flushed(handle), None);
                }
                assert!(b.is_durable(flush));
            }
            assert_eq!(b.len(), 0);
        }
    }

    #[test]
    fn newer_data_of_a_unit_on_its_way_is_held_after_the_arrival() {
        for is_done in [true, false] {
            let mut b = buffer();
            take(&mut b, 7);
            let handle = send(&mut b).expect("dirty");
            take(&mut b, 8);
            b.hold(UNIT);
            assert_eq!(b.flushed(handle), None);
            assert_eq!((send(&mut b), content(&b)), (None, Some((8, false))));
            b.answer_discard(UNIT, is_done);
            let kept = (!is_done).then_some((8, false));
            assert_eq!((content(&b), send(&mut b).is_some()), (kept, !is_done));
        }
    }
}
