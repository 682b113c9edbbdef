//! Flushes wait for all units that were dirty when the flush came, until these units are in their place on flash, or in
//! a log.
//!
//! Logged content is durable, although its unit stays dirty. From the moment at which a unit joins a batch of the log,
//! a flush counts the batch in the unit's place. If the log fails, the units of the batch count again.

use std::num::NonZeroU32;

use base::engine::Handle;
use base::units::Lpn;
use flash::nand::{Sector, SectorMask};

use super::{Batch, Buffer, BufferEntry};
use ftl::Sabotage;

impl Buffer {
    /// Notes that a unit, a batch or a discard of an epoch has become durable.
    pub(crate) fn written(&mut self, epoch: u64) {
        *self.count(epoch) -= 1;
        while self.outstanding.len() > 1 && self.outstanding[0] == 0 {
            self.outstanding.pop_front();
        }
    }

    /// Begins a flush. Returns the epoch that it waits for.
    pub(crate) fn begin_flush(&mut self) -> u64 {
        self.outstanding.push_back(0);
        self.epoch += 1;
        if self.outstanding[0] == 0 {
            self.outstanding.pop_front();
        }
        self.epoch.saturating_sub(1 + u64::from(self.planted.is(Sabotage::FlushOneBehind)))
    }

    /// True if all units of an epoch and of earlier epochs are durable.
    pub(crate) fn is_durable(&self, epoch: u64) -> bool {
        self.epoch + 1 - self.outstanding.len() as u64 > epoch
    }

    /// The units that a flush waits for, because their content is neither on flash nor in the log.
    pub(crate) fn unlogged(&self, epoch: u64) -> impl Iterator<Item = Handle<BufferEntry>> + '_ {
        let all = (1..=self.entries.places() as u32).filter_map(NonZeroU32::new).map(Handle::from_number);
        all.filter(move |handle| self.entries[*handle].is_awaited(epoch))
    }

    /// The version of a unit's content in the buffer, if a merge has taken exactly this content.
    pub(crate) fn version_under_way(&self, handle: Handle<BufferEntry>) -> Option<u32> {
        self.entries[handle].version_under_way()
    }

    /// Sets the version of a unit that is on its way to flash.
    pub(crate) fn set_version(&mut self, handle: Handle<BufferEntry>, version: u32) {
        self.entries[handle].set_version(version);
    }

    /// Begins a batch of the log, which may serve several flushes.
    pub(crate) fn begin_log(&mut self) {
        debug_assert!(self.batch.is_none(), "one thing after another");
        self.batches += 1;
        let epoch = self.epoch + 1 - self.outstanding.len() as u64;
        self.batch = Some(Batch { number: self.batches, epoch });
        *self.count(epoch) += 1;
    }

    /// Adds a unit to the batch, with its present content.
    pub(crate) fn log(&mut self, handle: Handle<BufferEntry>) {
        let replaced = self.entries[handle].log(self.batches);
        replaced.into_iter().flatten().for_each(|epoch| self.written(epoch));
    }

    /// Ends the batch: it is durable if the log was written `well`, otherwise its units must be logged again.
    pub(crate) fn logged(&mut self, well: bool) {
        let Some(Batch { number, epoch }) = self.batch.take() else { return };
        if !well {
            for place in 1..=self.entries.places() as u32 {
                let handle = Handle::from_number(NonZeroU32::new(place).expect("above zero"));
                if self.entries[handle].is_in(number) {
                    self.count_again(handle, epoch);
                }
            }
        }
        self.written(epoch);
    }

    /// Makes the flushes of this epoch wait for a unit again.
    fn count_again(&mut self, handle: Handle<BufferEntry>, epoch: u64) {
        let entry = &mut self.entries[handle];
        let (lpn, waits, before) = (entry.lpn, entry.is_dirty(), entry.recount(epoch));
        *self.count(epoch) += 1;
        if let Some(before) = before {
            self.written(before);
        }
        if let Some(superblocks) = self.superblocks.as_mut().filter(|_| waits) {
            superblocks.urge(lpn.get(), epoch);
        }
    }

    /// Makes the next flush count only units in their place on flash as durable, and none that only a log has.
    pub(crate) fn distrust_log(&mut self) {
        for place in 1..=self.entries.places() as u32 {
            let handle = Handle::from_number(NonZeroU32::new(place).expect("above zero"));
            if self.entries[handle].is_logged() {
                self.count_again(handle, self.epoch);
            }
        }
    }

    /// Puts a logged unit back into the buffer at power-on. The unit is durable, and must still be merged.
    pub(crate) fn restore<S: Sector>(&mut self, lpn: Lpn, mask: SectorMask, sector: impl Fn(usize) -> S) {
        let handle = self.insert_entry(BufferEntry::restored(lpn, mask, self.epoch));
        self.held += self.count_sectors(mask);
        if self.data.is_present() {
            let mut data = self.data.slot_mut(handle.index());
            (0..self.sectors).filter(|i| mask >> i & 1 != 0).for_each(|i| data.put_sector(i, sector(i)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::InsertionResult;
    use crate::spec::{ResolvedBuffer, ResolvedSuperblocks};
    use flash::nand::{SectorKind, Stamp};
    use ftl::Origin;

    fn buffer() -> Buffer {
        let superblocks = ResolvedSuperblocks { units: 4, most: 3, sectors: 64, high: 48 };
        Buffer::new(
            ResolvedBuffer { superblocks: Some(superblocks), ..ResolvedBuffer::default() },
            SectorKind::Stamp,
            4,
            1,
        )
    }

    fn take(buffer: &mut Buffer, unit: u32, mask: SectorMask) -> InsertionResult {
        buffer.put(
            Lpn::new(unit),
            0,
            mask,
            (&[0, 1, 2, 3].map(|i| Stamp(u64::from(unit) * 10 + i)), 0),
            Origin::default(),
        )
    }

    fn units(buffer: &Buffer, epoch: u64) -> Vec<u32> {
        buffer.unlogged(epoch).map(|handle| buffer.entry(handle).lpn.get()).collect()
    }

    /// Logs all mapping units that a flush waits for.
    fn log(buffer: &mut Buffer, epoch: u64) {
        let all: Vec<_> = buffer.unlogged(epoch).collect();
        buffer.begin_log();
        all.into_iter().for_each(|handle| buffer.log(handle));
    }

    #[test]
    fn a_flush_waits_for_the_log_and_its_mapping_units_stay_dirty() {
        let mut b = buffer();
        take(&mut b, 0, 0b1);
        let first = b.begin_flush();
        take(&mut b, 4, 0b1);
        let second = b.begin_flush();
        take(&mut b, 8, 0b1);
        assert_eq!((units(&b, first), units(&b, second)), (vec![0], vec![0, 4]));
        log(&mut b, second);
        assert!(!b.is_durable(first) && !b.is_durable(second), "the log is not on flash yet");
        b.logged(true);
        assert!(b.is_durable(first) && b.is_durable(second));
        assert_eq!((b.len(), b.dirty), (3, 3));
        assert_eq!(units(&b, b.epoch), [8]);
    }

    #[test]
    fn a_rewritten_mapping_unit_is_logged_again() {
        let mut b = buffer();
        take(&mut b, 0, 0b1);
        let flush = b.begin_flush();
        log(&mut b, flush);
        // A rewrite while the log is being written, so the batch does not have it.
        assert_eq!(take(&mut b, 0, 0b10), InsertionResult::Absorbed);
        b.logged(true);
        assert!(b.is_durable(flush));
        let again = b.begin_flush();
        assert!(!b.is_durable(again));
        assert_eq!(units(&b, again), [0]);
        log(&mut b, again);
        b.logged(true);
        assert!(b.is_durable(again));
    }

    #[test]
    fn a_mapping_unit_under_program_is_logged_by_its_version() {
        let mut b = buffer();
        take(&mut b, 0, 0b1);
        take(&mut b, 1, 0b1);
        let out: Vec<_> = std::iter::from_fn(|| b.next_to_write(0)).collect();
        out.iter().for_each(|handle| b.set_version(*handle, 7));
        take(&mut b, 0, 0b10);
        let flush = b.begin_flush();
        let of = |b: &Buffer, unit| b.version_under_way(b.find(Lpn::new(unit)).expect("there").entry);
        assert_eq!((of(&b, 0), of(&b, 1)), (None, Some(7)), "the first has newer sectors");
        log(&mut b, flush);
        b.logged(true);
        assert!(b.is_durable(flush), "the merge has yet to end");
        out.into_iter().for_each(|handle| assert_eq!(b.flushed(handle), None));
        assert_eq!((b.len(), units(&b, flush)), (1, vec![]), "the newer sectors are dirty, and in the log");
        assert_eq!(b.is_due(1, Some(flush), false, |_, _| true), Some(0));
    }

    #[test]
    fn a_failed_log_makes_nothing_durable() {
        let mut b = buffer();
        (0..4).for_each(|unit| _ = take(&mut b, unit * 4, 0b1));
        let out: Vec<_> = std::iter::from_fn(|| b.next_to_write(0)).collect();
        let flush = b.begin_flush();
        log(&mut b, flush);
        take(&mut b, 4, 0b10);
        assert_eq!(b.discard(Lpn::new(8)), None);
        b.logged(false);
        assert_eq!(units(&b, flush), [0, 4, 12]);
        assert!(!b.is_durable(flush));
        out.into_iter().for_each(|handle| assert_eq!(b.flushed(handle), None));
        log(&mut b, flush);
        b.logged(true);
        assert!(b.is_durable(flush));
    }

    #[test]
    fn power_off_programs_logged_mapping_units_too() {
        let mut b = buffer();
        take(&mut b, 0, 0b1);
        let flush = b.begin_flush();
        log(&mut b, flush);
        b.logged(true);
        b.distrust_log();
        let end = b.begin_flush();
        assert!(b.is_durable(flush) && !b.is_durable(end));
        assert_eq!(b.is_due(1, Some(end), false, |_, _| true), Some(0));
        let handle = b.next_to_write(0).expect("it is dirty");
        b.flushed(handle);
        assert!(b.is_durable(end) && b.len() == 0);
    }

    #[test]
    fn restored_data_is_durable_and_dirty() {
        let mut b = buffer();
        b.restore(Lpn::new(5), 0b1010, |i| Stamp(50 + i as u64));
        let found = b.find(Lpn::new(5)).expect("there");
        assert_eq!(
            (found.mask, b.data(found.entry).sector(1), b.data(found.entry).sector(3)),
            (0b1010, Stamp(51), Stamp(53))
        );
        let flush = b.begin_flush();
        assert!(b.is_durable(flush));
        assert_eq!((b.dirty, b.held), (1, 2));
        assert_eq!(take(&mut b, 5, 0b1), InsertionResult::Absorbed);
        let flush = b.begin_flush();
        assert!(!b.is_durable(flush), "the new data is not durable");
    }
}
