//! The write buffer with the requests that wait for it.

use std::collections::VecDeque;

use base::engine::Handle;
use base::units::Lpn;
use flash::nand::SectorKind;

use crate::buffer::{Buffer, BufferEntry};
use crate::spec::ResolvedDevice;

use super::active::Active;

/// The write buffer of a device, and the requests that wait for it.
#[derive(Clone, Debug)]
pub(crate) struct WriteBuffer<S> {
    pub(crate) units: Buffer,
    /// Writes that wait for a place, in the order of their arrival.
    pub(crate) writes: VecDeque<Handle<Active<S>>>,
    /// True if the buffer was filled as far as there was room, nothing in it was due, and no write has come in since.
    pub(crate) is_filled: bool,
    /// Flushes that wait, each with its epoch.
    pub(crate) flushes: VecDeque<(u64, Handle<Active<S>>)>,
    /// Entries that a flush is about to log; a scratch list.
    pub(crate) logging: Vec<Handle<BufferEntry>>,
    /// Mapping units that were discarded on their way to flash, and that the FTL must discard now.
    dropped: Vec<Lpn>,
    /// Discards under way that took content from the buffer, each with the epoch whose flushes waited for this content and now
    /// wait for the discard.
    discards: Vec<(Handle<Active<S>>, u64)>,
    /// True if a flush may be done, or a write may come in.
    has_changed: bool,
    /// True if a unit could not be written back, because too many blocks of the device are bad.
    has_no_room: bool,
}

impl<S> WriteBuffer<S> {
    /// The empty buffer of a device; `None` if the device has no buffer.
    pub(super) fn new(resolved: &ResolvedDevice, kind: SectorKind) -> Option<Self> {
        let (sectors, sets) = (resolved.geometry.sectors, resolved.host.queues.sets.len());
        let units = Buffer::new(resolved.buffer?, kind, sectors, sets).with(resolved.planted);
        Some(Self {
            units,
            writes: VecDeque::new(),
            is_filled: false,
            flushes: VecDeque::new(),
            logging: Vec::new(),
            dropped: Vec::new(),
            discards: Vec::new(),
            has_changed: false,
            has_no_room: false,
        })
    }

    /// Notes that a flush may be done, or a write may come in.
    pub(crate) const fn note_change(&mut self) {
        self.has_changed = true;
    }

    /// True if a change has been noted and not yet taken.
    pub(crate) const fn has_changed(&self) -> bool {
        self.has_changed
    }

    /// Takes the note of a change. Returns false if nothing has changed.
    pub(super) const fn take_change(&mut self) -> bool {
        std::mem::replace(&mut self.has_changed, false)
    }

    /// Notes that flash has no room for a unit, which stays in the buffer.
    pub(super) const fn note_no_room(&mut self) {
        self.has_no_room = true;
        self.note_change();
    }

    /// True if the buffer holds units that flash has no room for.
    pub(crate) const fn has_no_room(&self) -> bool {
        self.has_no_room
    }

    /// Notes that the write of an entry to flash has ended.
    pub(super) fn end_write(&mut self, entry: Handle<BufferEntry>) {
        self.dropped.extend(self.units.flushed(entry));
        self.note_change();
    }

    /// Takes a unit that was discarded on its way to flash, and that the FTL must discard now.
    pub(crate) fn next_dropped(&mut self) -> Option<Lpn> {
        self.dropped.pop()
    }

    /// Discards a mapping unit, for a request.
    pub(super) fn discard(&mut self, discard: Handle<Active<S>>, lpn: Lpn) {
        if let Some(mut awaited) = self.units.discard(lpn) {
            if let Some((_, first)) = self.discards.last_mut().filter(|(handle, _)| *handle == discard) {
                // Flushes of later epochs wait for earlier epochs, too.
                (*first, awaited) = (awaited.min(*first), awaited.max(*first));
                self.units.written(awaited);
            } else {
                self.discards.push((discard, awaited));
            }
        }
        self.note_change();
    }

    /// Ends the hold of a mapping unit after the FTL has answered its discard.
    pub(super) fn answer_discard(&mut self, lpn: Lpn, is_done: bool) {
        self.units.answer_discard(lpn, is_done);
        self.note_change();
    }

    /// Notes that the discards of a request have taken effect, for the flushes that wait for them.
    pub(super) fn end_discard(&mut self, discard: Handle<Active<S>>) {
        let Some(place) = self.discards.iter().position(|(handle, _)| *handle == discard) else { return };
        let (_, epoch) = self.discards.swap_remove(place);
        self.units.written(epoch);
        self.note_change();
    }
}
