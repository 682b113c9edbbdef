//! The effect of a command on the media, with time on or off.

use std::ops::Range;

use crate::nand::{SlotRead, Spare, Target};
use base::engine::Handle;
use base::units::{Lpn, Span, Time};

use super::{Backend, Cause, Command, Op, Primitive, Slot, SlotRef};

/// True for one mapping unit in sixteen. Without content in sectors, a read of such a unit is checked against its spare
/// area, and a read of any other unit only against the state of its page.
#[inline]
pub(super) const fn is_compared(lpn: Lpn) -> bool {
    lpn.get().is_multiple_of(16)
}

impl Backend {
    /// Applies a command to the media.
    #[inline]
    pub(super) fn take_effect(&mut self, handle: Handle<Command>) {
        self.table.commands[handle].effected = true;
        let op = self.table.commands[handle].op;
        if matches!(op, Op::Program | Op::CopyBack) && self.is_refused(handle) {
            (self.table.commands[handle].failed, self.table.commands[handle].refused) = (true, true);
            return;
        }
        match op {
            Op::Read => self.read(handle),
            Op::Program => self.program(handle),
            Op::Erase => {
                let superblock = self.table.commands[handle].target.superblock;
                let well = self.media.erase(superblock);
                self.table.commands[handle].failed = !well;
            }
            Op::CopyBack => self.copy_back(handle),
        }
    }

    /// Applies a command to the media of an array with bit errors: the first attempt of a read draws its errors, and a
    /// retry changes nothing. Returns the command's work for the array.
    #[cold]
    #[inline(never)]
    pub(super) fn take_effect_with_errors(
        &mut self,
        now: Time,
        handle: Handle<Command>,
        (time, primitive): (Span, Primitive),
    ) -> (Span, Primitive) {
        let command = &self.table.commands[handle];
        if command.op != Op::Read {
            self.media.set_clock(now);
            self.take_effect(handle);
            return (time, primitive);
        }
        if !self.table.attempts.of(handle).is_retry() {
            self.take_effect(handle);
            self.draw_errors(now, handle);
        }
        (time + self.retry_time(handle), self.read_primitive(handle))
    }

    /// True if the backend must not begin a program, because an earlier program of its block has failed since its list
    /// was opened.
    #[inline]
    fn is_refused(&self, handle: Handle<Command>) -> bool {
        let command = &self.table.commands[handle];
        self.media.refuses(command.target, command.count) && self.table.has_unheard_failure(handle)
    }

    #[inline(never)]
    fn copy_back(&mut self, handle: Handle<Command>) {
        self.judge_copy_back(handle);
        if self.table.commands[handle].sectors > 0 {
            self.merge(handle);
        } else {
            self.read(handle);
        }
        self.program(handle);
    }

    #[inline(always)]
    #[allow(clippy::inline_always)] // One caller for reads on their short way, and rare ones.
    pub(super) fn read(&mut self, handle: Handle<Command>) {
        let command = &self.table.commands[handle];
        let place = self.table.first_slot(handle);
        if command.blank {
            return self.read_blank(handle, place);
        }
        // Most reads are of one slot.
        if command.count == 1 && command.op == Op::Read {
            self.media.read_page(self.table.slots[place].psn);
            return self.read_slot(place, true);
        }
        self.read_row(handle, place);
    }

    /// Clears the slots of a blank read, which does not read the media.
    #[cold]
    fn read_blank(&mut self, handle: Handle<Command>, first: usize) {
        let &Command { count, op, .. } = &self.table.commands[handle];
        assert!(op == Op::Read && count > 0, "only a read of slots leaves the media alone");
        if self.payload.is_present() {
            (first..first + count as usize).for_each(|place| self.payload.empty(place));
        }
    }

    /// Reads the slots of a command, from one row of pages.
    #[inline(never)]
    fn read_row(&mut self, handle: Handle<Command>, first: usize) {
        let &Command { count, op, .. } = &self.table.commands[handle];
        assert!(count > 0, "a read of nothing");
        let copy_back = op == Op::CopyBack;
        let first_psn = self.table.slots[first].psn;
        let (mut place, end) = (first, first + count as usize);
        while place < end {
            let psn = self.table.slots[place].psn;
            let geometry = self.media.geometry();
            assert!(
                copy_back || geometry.row_of(psn) == geometry.row_of(first_psn),
                "one read command over {first_psn} and {psn}: more than a row"
            );
            // The slots of one page are read together.
            let page = geometry.page_of(psn);
            let others = self.table.slots[place..end].iter().position(|slot| geometry.page_of(slot.psn) != page);
            let behind = others.map_or(end, |others| place + others);
            self.media.read_page(psn);
            if !self.take_runs(place..behind) {
                (place..behind).for_each(|place| self.read_slot(place, !copy_back));
            }
            place = behind;
        }
    }

    /// Reads a slot. A plain read of a slot need not check the spare area each time; a copy always needs the version
    /// there.
    #[inline(always)]
    #[allow(clippy::inline_always)] // Two callers, of which one serves each read.
    fn read_slot(&mut self, place: usize, only_read: bool) {
        let slot = &mut self.table.slots[place];
        let only_read = only_read && slot.expected && slot.forward.is_none();
        if !self.payload.is_present() && only_read && !is_compared(slot.lpn) {
            slot.lost = !self.media.is_readable_at(slot.psn);
            return;
        }
        if self.take_runs(place..place + 1) {
            return;
        }
        let slot = &mut self.table.slots[place];
        let read = self.media.read(slot.psn, self.payload.overwrite(place));
        Self::note_read(slot, read);
    }

    /// Reads slots of one page of which the media keep only the content of the first sectors. Returns false if the
    /// media keep the content of all sectors.
    #[inline]
    fn take_runs(&mut self, places: Range<usize>) -> bool {
        if !self.payload.kind().is_stamp() {
            return false;
        }
        let Some(runs) = self.media.runs(self.table.slots[places.start].psn) else { return false };
        let slots = &mut self.table.slots[places.clone()];
        for (slot, into) in slots.iter_mut().zip(self.payload.runs_of(places)) {
            let (read, first) = runs.read(slot.psn);
            *into = Some(first);
            Self::note_read(slot, read);
        }
        true
    }

    #[inline]
    fn note_read(slot: &mut Slot, read: SlotRead) {
        assert!(
            !slot.expected || read.lpn == slot.lpn,
            "{} was read from {}, which holds {}: the map is wrong",
            slot.lpn,
            slot.psn,
            read.lpn
        );
        slot.lpn = read.lpn;
        slot.version = read.version;
        slot.lost = !read.readable;
    }

    /// Reads the source pages of a copy-back and keeps the sectors that come in over the channel.
    fn merge(&mut self, handle: Handle<Command>) {
        self.table.commands[handle].begun = true;
        let command = &self.table.commands[handle];
        assert!(command.count > 0, "a copy-back of nothing");
        let first = self.table.first_slot(handle);
        let (mut page, mut given) = (None, 0);
        for place in first..first + command.count as usize {
            let slot = &mut self.table.slots[place];
            if page.replace(self.media.geometry().page_of(slot.psn)) != Some(self.media.geometry().page_of(slot.psn)) {
                self.media.read_page(slot.psn);
            }
            given += slot.mask.count_ones();
            let read = self.media.read(slot.psn, &mut self.payload.scratch);
            self.payload.fill_from_scratch(place, !slot.mask);
            if slot.expected {
                assert!(
                    read.lpn == slot.lpn,
                    "{} was copied from {}, which holds {}: the map is wrong",
                    slot.lpn,
                    slot.psn,
                    read.lpn
                );
            } else {
                (slot.lpn, slot.version) = (read.lpn, read.version);
            }
            slot.lost = !read.readable;
        }
        assert!(given <= command.sectors, "{given} sectors of a copy-back are new and {} cross", command.sectors);
    }

    #[inline]
    fn program(&mut self, handle: Handle<Command>) {
        let command = &self.table.commands[handle];
        let first = self.table.first_slot(handle);
        let slots: &[Slot] = &self.table.slots[first..first + command.count as usize];
        let payload = self.payload.contents(first..first + slots.len(), self.media.has_store());
        let spare = |i: usize| (Spare::Data { lpn: slots[i].lpn, version: slots[i].version }, slots[i].lost);
        let well =
            self.media.program_slots(command.target, command.count, (command.stream, command.mode), spare, payload);
        self.table.commands[handle].failed = !well;
        if !well {
            self.table.note_failure(handle);
        }
    }

    /// Checks that a copy-back stays in its plane.
    fn judge_copy_back(&self, handle: Handle<Command>) {
        let geometry = self.media.geometry();
        let command = &self.table.commands[handle];
        for (i, (_, slot)) in self.slots(handle).enumerate() {
            let Target { superblock, offset } = command.target;
            let (source, source_offset) = geometry.locate(slot.psn);
            let plane = |superblock, offset| (geometry.group_of(superblock), geometry.page_and_plane(offset).1);
            assert!(
                plane(source, source_offset) == plane(superblock, offset + i as u32),
                "copy-back from {source} to {superblock} leaves its plane"
            );
            assert!(
                source_offset % geometry.slots == (offset + i as u32) % geometry.slots,
                "copy-back moves a mapping unit inside its page"
            );
        }
    }

    /// Forwards the data of a read to the programs that wait for it.
    #[inline(always)]
    #[allow(clippy::inline_always)] // Every copy passes here; its other callers are rare.
    pub(super) fn pass_on(&mut self, handle: Handle<Command>) {
        let first = self.table.first_slot(handle);
        for place in first..first + self.table.commands[handle].count as usize {
            let &Slot { lpn, version, lost, forward, .. } = &self.table.slots[place];
            let Some(to) = forward else { continue };
            let into = &mut self.table.slots[to.0 as usize];
            if !into.expected {
                (into.lpn, into.version) = (lpn, version);
            }
            // A sector that the host writes replaces the lost data.
            into.lost |= lost;
            let mask = into.mask;
            self.copy_payload(SlotRef(place as u32), to, !mask);
        }
    }

    /// Counts a finished command, unless it was refused. Its times were charged as its phases ended.
    #[inline(always)]
    #[allow(clippy::inline_always)] // Every command passes here once; two rare callers.
    pub(super) fn count(&mut self, handle: Handle<Command>) {
        let slots = self.media.geometry().slots;
        let command = &self.table.commands[handle];
        if command.refused {
            return;
        }
        if command.scanned > 0 {
            let pages = u64::from(command.scanned);
            let tally = self.account.at(command.op, command.cause);
            tally.commands += pages;
            tally.pages += pages;
            tally.slots += pages * u64::from(slots);
            return;
        }
        let pages = match command.op {
            Op::Erase => u64::from(self.media.geometry().stripe),
            // The common case comes first, because a division costs as much as the rest of the count.
            _ if command.count == 1 => 1,
            Op::Program | Op::CopyBack => u64::from(command.count.div_ceil(slots)),
            Op::Read => self.pages_read(handle),
        };
        let tally = self.account.at(command.op, command.cause);
        tally.commands += 1;
        tally.pages += pages;
        tally.slots += u64::from(command.count);
        if command.op == Op::Program {
            let unused = pages * u64::from(slots) - u64::from(command.count) + u64::from(command.padding);
            if unused > 0 {
                self.account.at(Op::Program, Cause::Pad).slots += unused;
            }
        }
    }

    /// The number of pages of a read's slots.
    pub(super) fn pages_read(&self, handle: Handle<Command>) -> u64 {
        let mut pages = 0;
        let mut last = None;
        for (_, slot) in self.slots(handle) {
            let page = Some(self.media.geometry().page_of(slot.psn));
            pages += u64::from(page != last);
            last = page;
        }
        pages
    }
}
