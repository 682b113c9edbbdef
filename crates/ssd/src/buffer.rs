//! The volatile write buffer: the newest data of mapping units (here: units), until flash has it.
//!
//! Units leave in the order in which they became dirty. A unit that is written again on its way to flash stays, and
//! goes again when the first program is done; so two programs of one unit are never under way together. A flush waits
//! for all units that were dirty when it came. For that, entries carry the number of flushes before them (their
//! epoch).
//!
//! A unit is written back to the NVM set of the request that wrote it last. Each set has its own queue, so that a
//! program gets units of one set. With the superblock policy, all units of a superblock go together
//! ([`superblocks`]).

mod entry;
mod flush;
mod hold;
mod index;
mod memory;
mod multiply;
mod superblocks;
mod write_back;

use std::collections::VecDeque;

use base::engine::{Handle, Slab};
use base::units::Lpn;
use flash::backend::{Payload, SlotContent};
use flash::nand::{Sector, SectorKind, SectorMask};

use ftl::{Origin, PlantedBug, Sabotage};

use crate::spec::ResolvedBuffer;
use ftl::full_mask;

use entry::{ArrivalResult, RewriteResult};
pub(crate) use entry::{BufferEntry, InsertionResult};
use index::Index;
pub(crate) use memory::memory;
use superblocks::Superblocks;

/// The sectors of a unit that the buffer can give to a read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BufferHit {
    pub(crate) entry: Handle<BufferEntry>,
    /// Sectors that the buffer has; all of them if the unit was discarded.
    pub(crate) mask: SectorMask,
    pub(crate) zeros: bool,
}

/// The dirty units of one NVM set.
#[derive(Clone, Debug, Default)]
struct Queue {
    /// Dirty entries, oldest first, each with its epoch and its number of moves. Stale references (to entries that were
    /// discarded, moved to another set, or are not dirty any more) are skipped.
    entries: VecDeque<(Handle<BufferEntry>, u64, u32)>,
    dirty: u32,
    /// Units on their way to flash.
    flushing: u32,
}

/// A batch of units that the log is writing.
#[derive(Clone, Copy, Debug)]
struct Batch {
    number: u64,
    /// The oldest epoch that is not durable: flushes of this epoch and of later epochs wait for the batch.
    epoch: u64,
}

/// The volatile write buffer of a device.
#[derive(Clone, Debug)]
pub(crate) struct Buffer {
    size: ResolvedBuffer,
    /// The number of sectors of a unit, and the mask of all of them.
    sectors: usize,
    full: SectorMask,
    held: u64,
    entries: Slab<BufferEntry>,
    data: Payload,
    /// The request that wrote each entry last; empty if the FTL does not ask.
    origins: Vec<Origin>,
    index: Index,
    queues: Vec<Queue>,
    /// The superblock policy's lists, instead of the queues.
    superblocks: Option<Superblocks>,
    dirty: u32,
    /// The number of units on their way to flash.
    flushing: u32,
    /// The number of units that are held ([`hold`]).
    holds: u32,
    draining: bool,
    /// The epoch of new entries, and the number of unwritten entries of each open epoch.
    epoch: u64,
    outstanding: VecDeque<u64>,
    /// The batch that the log is writing, and the number of batches so far.
    batch: Option<Batch>,
    batches: u64,
    planted: PlantedBug,
}

impl Buffer {
    pub(crate) fn new(size: ResolvedBuffer, kind: SectorKind, sectors: u32, sets: usize) -> Self {
        Self {
            size,
            sectors: sectors as usize,
            full: full_mask(sectors),
            held: 0,
            entries: Slab::default(),
            data: Payload::new(kind, sectors),
            origins: Vec::new(),
            index: Index::new(size.units),
            queues: vec![Queue::default(); sets],
            superblocks: size.superblocks.map(|of| Superblocks::new(of.units, of.most)),
            dirty: 0,
            flushing: 0,
            holds: 0,
            draining: false,
            epoch: 0,
            outstanding: VecDeque::from([0]),
            batch: None,
            batches: 0,
            planted: PlantedBug::default(),
        }
    }

    /// Makes the buffer of a device with a planted bug, for tests of the checkers.
    pub(crate) const fn with(mut self, planted: PlantedBug) -> Self {
        self.planted = planted;
        self
    }

    fn count(&mut self, epoch: u64) -> &mut u64 {
        let base = self.epoch + 1 - self.outstanding.len() as u64;
        &mut self.outstanding[(epoch - base) as usize]
    }

    #[inline]
    pub(crate) fn data(&self, entry: Handle<BufferEntry>) -> SlotContent<'_> {
        self.data.get(entry.index())
    }

    pub(crate) fn entry(&self, entry: Handle<BufferEntry>) -> &BufferEntry {
        &self.entries[entry]
    }

    /// Prefetches an entry, and the chain of its unit in the index.
    #[inline]
    pub(crate) fn prefetch(&self, entry: Handle<BufferEntry>, lpn: Lpn) {
        self.entries.prefetch(entry);
        self.index.prefetch(lpn);
    }

    /// Prefetches the chain of a unit in the index.
    #[inline]
    pub(crate) fn prefetch_chain(&self, lpn: Lpn) {
        self.index.prefetch(lpn);
    }

    /// Takes sectors of a unit for a set. `at` is the position of the unit's first sector in the data of the request;
    /// negative if the request begins inside the unit.
    #[inline(always)]
    #[allow(clippy::inline_always)] // One caller.
    pub(crate) fn put<S: Sector>(
        &mut self,
        lpn: Lpn,
        set: u32,
        mask: SectorMask,
        (data, at): (&[S], i32),
        origin: Origin,
    ) -> InsertionResult {
        let known = self.index.get(&self.entries, lpn);
        if let Some(of) = self.size.superblocks {
            let before = known.map_or(0, |handle| self.entries[handle].mask);
            if self.held + self.count_sectors(mask & !before) > of.sectors {
                return InsertionResult::Full;
            }
        } else if known.is_none() && self.entries.len() >= self.size.units as usize {
            return InsertionResult::Full;
        }
        let (handle, before, taken) = match known {
            Some(handle) => (handle, self.entries[handle].mask, self.rewrite(handle, set)),
            None => (self.insert(lpn, set), 0, InsertionResult::New),
        };
        let now = self.entries[handle].mask | mask;
        self.entries[handle].mask = now;
        if self.size.origins {
            self.set_origin(handle, origin);
        }
        self.held += self.count_sectors(now & !before);
        if let Some(superblocks) = &mut self.superblocks {
            superblocks.touch(lpn.get());
        }
        if self.data.is_present() {
            self.data.put_part(handle.index(), mask, (data, at));
        }
        taken
    }

    #[inline(never)]
    fn set_origin(&mut self, handle: Handle<BufferEntry>, origin: Origin) {
        let index = handle.index();
        if self.origins.len() <= index {
            self.origins.resize(index + 1, Origin::default());
        }
        self.origins[index] = origin;
    }

    /// The request that wrote an entry last, if the buffer remembers it.
    pub(crate) fn origin(&self, entry: Handle<BufferEntry>) -> Origin {
        self.origins.get(entry.index()).copied().unwrap_or_default()
    }

    /// The number of sectors in a mask. Nearly all masks are whole or empty.
    #[inline]
    fn count_sectors(&self, mask: SectorMask) -> u64 {
        match mask & self.full {
            0 => 0,
            whole if whole == self.full => self.sectors as u64,
            part => u64::from(part.count_ones()),
        }
    }

    fn insert(&mut self, lpn: Lpn, set: u32) -> Handle<BufferEntry> {
        let epoch = self.epoch;
        let handle = self.insert_entry(BufferEntry::new(lpn, set, epoch));
        *self.count(epoch) += 1;
        handle
    }

    /// Stores a dirty entry.
    #[inline(always)]
    #[allow(clippy::inline_always)] // One caller that every new unit passes.
    fn insert_entry(&mut self, entry: BufferEntry) -> Handle<BufferEntry> {
        let handle = self.entries.insert(entry);
        if self.data.is_present() && self.data.slots() < self.entries.places() {
            self.data.resize(self.entries.places());
        }
        self.index.insert(&mut self.entries, handle);
        self.enqueue(handle);
        handle
    }

    /// Puts a dirty entry into the queue of its set, behind all entries of its epoch. Entries of newer epochs may be in
    /// the queue already, so the place need not be the end.
    #[inline(always)]
    #[allow(clippy::inline_always)] // Two callers: a new unit, and a unit that becomes dirty again.
    fn enqueue(&mut self, handle: Handle<BufferEntry>) {
        let BufferEntry { lpn, set, moves, .. } = self.entries[handle];
        let epoch = self.entries[handle].epoch();
        if let Some(superblocks) = &mut self.superblocks {
            superblocks.add(lpn.get(), handle, epoch);
            self.dirty += 1;
            return;
        }
        let queue = &mut self.queues[set as usize];
        match queue.entries.back() {
            Some((_, last, _)) if *last > epoch => {
                let place = queue.entries.partition_point(|(_, other, _)| *other <= epoch);
                queue.entries.insert(place, (handle, epoch, moves));
            }
            _ => queue.entries.push_back((handle, epoch, moves)),
        }
        queue.dirty += 1;
        self.dirty += 1;
    }

    /// Moves a dirty entry to the queue of another set.
    fn requeue(&mut self, handle: Handle<BufferEntry>, set: u32) {
        let entry = &mut self.entries[handle];
        let old = std::mem::replace(&mut entry.set, set);
        entry.moves = entry.moves.wrapping_add(1);
        self.dequeue(old);
        // Bounds the stale entries of a unit that moves to and fro.
        let (entries, queue) = (&self.entries, &mut self.queues[old as usize]);
        if queue.entries.len() > 2 * queue.dirty as usize + 16 {
            queue.entries.retain(|(handle, epoch, moves)| entries[*handle].is_queued(old, *epoch, *moves));
        }
        self.enqueue(handle);
    }

    fn dequeue(&mut self, set: u32) {
        self.queues[set as usize].dirty -= 1;
        self.dirty -= 1;
    }

    fn rewrite(&mut self, handle: Handle<BufferEntry>, set: u32) -> InsertionResult {
        let now = self.epoch;
        let RewriteResult { taken, counts, zeroed } = self.entries[handle].rewrite(set, now);
        if zeroed {
            // A discarded unit reads as zeros around the new sectors.
            if self.data.is_present() {
                self.data.empty(handle.index());
            }
            self.entries[handle].mask = SectorMask::MAX;
        }
        if counts {
            *self.count(now) += 1;
        }
        let entry = &self.entries[handle];
        if entry.is_dirty() && entry.set != set && self.superblocks.is_none() {
            self.requeue(handle, set);
        }
        taken
    }

    /// The sectors that the buffer has of a unit; `None` if the unit is not in the buffer.
    pub(crate) fn find(&self, lpn: Lpn) -> Option<BufferHit> {
        let entry = self.index.get(&self.entries, lpn)?;
        let (mask, zeros) = (self.entries[entry].mask, self.entries[entry].is_discarded());
        Some(BufferHit { entry, mask: if zeros { SectorMask::MAX } else { mask }, zeros })
    }

    /// Discards a unit. If flushes were to wait for its content, returns their epoch: they go on waiting until the
    /// caller says with [`Self::written`] that the discard is durable. Without that wait, a power cut could bring back
    /// the content on flash, which may be older than a flush has promised.
    #[must_use]
    pub(crate) fn discard(&mut self, lpn: Lpn) -> Option<u64> {
        let handle = self.index.get(&self.entries, lpn)?;
        let entry = &mut self.entries[handle];
        if entry.is_dirty() {
            let awaited = entry.awaited();
            self.withdraw(handle);
            self.free(handle);
            awaited
        } else {
            entry.discard()
        }
    }

    /// Takes a dirty entry out of its queue.
    fn withdraw(&mut self, handle: Handle<BufferEntry>) {
        let BufferEntry { lpn, set, .. } = self.entries[handle];
        match &mut self.superblocks {
            Some(superblocks) => {
                superblocks.remove(lpn.get(), handle);
                self.dirty -= 1;
            }
            None => self.dequeue(set),
        }
    }

    fn free(&mut self, handle: Handle<BufferEntry>) {
        self.index.remove(&mut self.entries, handle);
        self.held -= self.count_sectors(self.entries[handle].mask);
        // The queue may still hold a stale reference to the entry.
        self.holds -= u32::from(self.entries[handle].release());
        self.entries[handle].leave();
        self.entries.remove(handle);
    }

    /// Notes that a unit is on flash. Returns it if it was discarded meanwhile, so that the FTL must discard it too.
    pub(crate) fn flushed(&mut self, handle: Handle<BufferEntry>) -> Option<Lpn> {
        let entry = &mut self.entries[handle];
        let (lpn, set, awaited) = (entry.lpn, entry.set, entry.awaited());
        let arrived = entry.arrive();
        self.flushing -= 1;
        self.queues[set as usize].flushing -= 1;
        if let Some(superblocks) = &mut self.superblocks {
            superblocks.flushed(lpn.get());
        }
        match arrived {
            ArrivalResult::Dirty if self.entries[handle].is_dirty() => self.enqueue(handle),
            // The unit is held: it stays until the FTL has answered the discard.
            ArrivalResult::Dirty => {}
            ArrivalResult::Clean | ArrivalResult::Discarded => self.free(handle),
        }
        if let Some(epoch) = awaited {
            self.written(epoch);
        }
        (arrived == ArrivalResult::Discarded && !self.planted.is(Sabotage::DroppedStays)).then_some(lpn)
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flash::nand::Stamp;

    pub(super) fn buffer() -> Buffer {
        Buffer::new(ResolvedBuffer { units: 4, high: 2, low: 1, ..ResolvedBuffer::default() }, SectorKind::Stamp, 4, 2)
    }

    pub(super) fn take(buffer: &mut Buffer, lpn: u32, mask: SectorMask, stamp: u64) -> InsertionResult {
        buffer.put(Lpn::new(lpn), 0, mask, (&[0, 1, 2, 3].map(|i| Stamp(stamp * 10 + i)), 0), Origin::default())
    }

    fn stamps(buffer: &Buffer, lpn: u32) -> Vec<u64> {
        let found = buffer.find(Lpn::new(lpn)).expect("in the buffer");
        (0..buffer.sectors).map(|i| buffer.data(found.entry).sector::<Stamp>(i).0).collect()
    }

    #[test]
    fn the_buffer_returns_the_newest_sectors() {
        let mut b = buffer();
        assert_eq!(take(&mut b, 7, 0b0011, 1), InsertionResult::New);
        assert_eq!(take(&mut b, 7, 0b0110, 2), InsertionResult::Absorbed);
        assert_eq!(b.find(Lpn::new(7)).expect("found").mask, 0b0111);
        assert_eq!(stamps(&b, 7)[..3], [10, 21, 22]);
    }

    #[test]
    fn a_mapping_unit_rewritten_during_its_program_is_programmed_again() {
        let mut b = buffer();
        take(&mut b, 5, 0b1, 1);
        let flush = b.begin_flush();
        assert!(b.is_due(9, Some(flush), false, |_, _| true).is_some());
        let h = b.next_to_write(0).expect("urgent");
        assert_eq!(take(&mut b, 5, 0b1, 2), InsertionResult::New);
        assert_eq!(b.next_to_write(0), None, "never two programs of a mapping unit at once");
        b.flushed(h);
        assert!(b.is_durable(flush), "the flush came before the second write");
        let second = b.begin_flush();
        assert!(!b.is_durable(second));
        let h = b.next_to_write(0).expect("dirty again");
        b.flushed(h);
        assert!(b.is_durable(second) && b.len() == 0);
    }

    #[test]
    fn a_discard_reaches_mapping_units_under_program() {
        let mut b = buffer();
        take(&mut b, 5, 0b1, 1);
        take(&mut b, 6, 0b1, 1);
        let flush = b.begin_flush();
        assert!(b.is_due(9, Some(flush), false, |_, _| true).is_some());
        let h = b.next_to_write(0).expect("urgent");
        assert_eq!(b.discard(Lpn::new(5)), None, "the flush waits for its program");
        let awaited = b.discard(Lpn::new(6)).expect("the flush waits for it");
        assert!(b.find(Lpn::new(5)).expect("still known").zeros);
        assert!(b.find(Lpn::new(6)).is_none());
        assert_eq!(b.flushed(h), Some(Lpn::new(5)), "the copy on flash must be discarded");
        assert!(!b.is_durable(flush), "a discard is not durable");
        b.written(awaited);
        assert!(b.is_durable(flush));
        // A write after the discard, during the program: zeros surround the new sector.
        take(&mut b, 8, 0b1111, 3);
        let flush = b.begin_flush();
        assert!(b.is_due(9, Some(flush), false, |_, _| true).is_some());
        let h = b.next_to_write(0).expect("urgent");
        assert_eq!(b.discard(Lpn::new(8)), None);
        take(&mut b, 8, 0b10, 4);
        assert_eq!(stamps(&b, 8), [0, 41, 0, 0]);
        assert_eq!(b.flushed(h), None);
    }

    #[test]
    fn an_empty_buffer_is_durable_at_once() {
        let mut b = buffer();
        let flush = b.begin_flush();
        assert!(b.is_durable(flush));
    }
}
