//! The lists that copy valid mapping units of victims.
//!
//! A list reads the mapping units and programs them elsewhere; or it copies whole pages inside the chip, if the part
//! can.

use base::engine::Handle;
use base::units::{Psn, Span};
use flash::backend::{Cause, Class, List, Slot};
use flash::nand::{Spare, Stream, Target};

use super::Collector;
use crate::page::ListPurpose;
use crate::port::Flash;
use crate::sabotage::Sabotage;

impl Collector<'_> {
    /// Submits a list that copies the mapping units gathered for a stream. Returns false if the pool has no superblock to
    /// copy to.
    pub(in crate::page) fn copy(&mut self, flash: &mut Flash<'_>, pool: u32, stream: Stream) -> bool {
        self.writer.yield_log(self.blocks, flash, pool);
        if self.blocks.pools[pool as usize].open(stream).is_none() {
            if self.blocks.pools[pool as usize].free.is_empty() {
                return false;
            }
            let worn = std::mem::take(&mut self.blocks.pools[pool as usize].gc.levelling.want_worn);
            self.blocks.open_superblock(pool, stream, worn);
        }
        self.copy_to(flash, pool, (pool, stream));
        true
    }

    /// Submits a list that copies the mapping units that a pool has gathered for a stream. They go to that stream's
    /// open superblock in pool `to`, which may be the same pool.
    pub(in crate::page) fn copy_to(&mut self, flash: &mut Flash<'_>, pool: u32, (to, stream): (u32, Stream)) {
        // Taken out of the pool while `self` is in use, and put back so that its memory is kept.
        let mut all = std::mem::take(self.blocks.pools[pool as usize].gathered_for(stream));
        let joins = self.blocks.planted.is(Sabotage::CopyJoinsHost)
            && self.blocks.pools[to as usize].open[Stream::HOST].is_some();
        let (gathered_for, stream) = (stream, if joins { Stream::HOST } else { stream });
        let room = self.blocks.copy_room(to, stream) as usize;
        let open = self.blocks.pools[to as usize].open[stream].expect("the caller has opened one");
        let gathered = room.min(all.len());
        let gathered = &mut all[..gathered];
        let folds_back = pool == to && self.blocks.folds_in_planes() && self.align_fold(gathered, open.next);
        let gathered = &*gathered;
        self.prefetch_for_copies(flash, gathered);
        let chosen = &mut self.blocks.pools[pool as usize];
        let last = self.blocks.layout.locate(*gathered.last().expect("something to copy")).0;
        let cause = chosen.gc.victims.iter().find(|v| v.superblock == last).map_or(Cause::Gc, |v| v.cause);
        let cause = if self.blocks.planted.is(Sabotage::CopyCharged) { Cause::Host } else { cause };
        chosen.gc.copies += 1;
        let list = flash.backend.open_list(Class::Other, ListPurpose::Copy as u32);
        let target = Target { superblock: open.superblock, offset: open.next };
        let covered = if folds_back || pool == to && self.copies_back(gathered, open.next) {
            self.copy_back_list(flash, list, cause, (target, stream), gathered)
        } else {
            self.copy_list(flash, list, cause, (target, stream), gathered)
        };
        self.blocks.table.begin_program(open.superblock);
        self.blocks.advance(to, stream, covered);
        all.drain(..room.min(all.len()));
        *self.blocks.pools[pool as usize].gathered_for(gathered_for) = all;
        self.writer.firmware.dispatch_after(flash, list, Span::ZERO);
        self.writer.store_parity(self.blocks, flash);
    }

    /// Adds the reads and one program for each row, or one for all rows of a one-shot program. Returns the offset
    /// behind the programs.
    pub(in crate::page) fn copy_list(
        &mut self,
        flash: &mut Flash<'_>,
        list: Handle<List>,
        cause: Cause,
        (target, stream): (Target, Stream),
        gathered: &[Psn],
    ) -> u32 {
        let rows = (self.blocks.layout.shape.row_slots() * self.blocks.shape.one_shot) as usize;
        let (mut target, mut rest) = (target, gathered);
        loop {
            let (now, behind) = rest.split_at(rows.min(rest.len()));
            let next = self.copy_rows(flash, list, cause, (target, stream), now);
            if behind.is_empty() {
                return next;
            }
            self.blocks.table.begin_program(target.superblock);
            (target.offset, rest) = (target.offset + rows as u32, behind);
        }
    }

    /// Adds one program of copies and its reads. Returns the offset behind the program, or behind its word line.
    pub(in crate::page) fn copy_rows(
        &mut self,
        flash: &mut Flash<'_>,
        list: Handle<List>,
        cause: Cause,
        (target, stream): (Target, Stream),
        gathered: &[Psn],
    ) -> u32 {
        let place = self.blocks.layout.target(target.superblock, target.offset);
        let program = flash.backend.add_program(list, cause, place, stream);
        let pool = self.blocks.pool_of(target.superblock);
        self.blocks.pass_gate(flash, pool, program);
        let newer = self.blocks.planted.is(Sabotage::CopyLooksNewer).then(|| self.mapping.versions.next());
        let mut read = None;
        for psn in gathered {
            let mut copy = Slot { psn: *psn, ..Slot::default() };
            if let Some(version) = newer
                && let Spare::Data { lpn, .. } = flash.backend.media().spare(*psn)
            {
                copy = Slot { lpn, version, expected: true, ..copy };
            }
            let to = flash.backend.push_slot(program, copy);
            if self.blocks.is_rebuilt(flash.backend.media(), *psn) {
                self.blocks.rebuild_into(flash, list, *psn, (program, to));
                continue;
            }
            let row = self.blocks.layout.array.row_of(*psn);
            let command = match read {
                Some((command, last)) if last == row => command,
                _ => {
                    let command = flash.backend.add_read(list, cause, self.blocks.layout.member_at(*psn));
                    flash.backend.depend(command, program);
                    command
                }
            };
            read = Some((command, row));
            flash.backend.push_slot(command, Slot { psn: *psn, forward: Some(to), ..Slot::default() });
        }
        self.blocks.set_gate(flash, pool, program);
        let slots = self.blocks.layout.shape.slots;
        let covered = target.offset + (gathered.len() as u32).div_ceil(slots) * slots;
        let rows = self.blocks.layout.shape.row_slots() * self.blocks.shape.one_shot;
        let end = if self.blocks.shape.whole_rows { (target.offset / rows + 1) * rows } else { covered };
        flash.backend.set_padding(program, end - covered);
        self.blocks.cover(flash, program);
        if self.blocks.shape.whole_rows { self.blocks.program_end(target.offset) } else { covered }
    }

    /// True if the gathered mapping units can be copied without the bus: whole pages, each to a page of its own plane.
    #[inline]
    pub(in crate::page) fn copies_back(&self, gathered: &[Psn], offset: u32) -> bool {
        let slots = self.blocks.layout.shape.slots as usize;
        self.state.copy_back
            && !self.blocks.shape.whole_rows
            && gathered.len().is_multiple_of(slots)
            && gathered.chunks(slots).enumerate().all(|(i, page)| {
                let first = self.blocks.layout.locate(page[0]).1;
                let to = offset + (i * slots) as u32;
                first.is_multiple_of(self.blocks.layout.shape.slots)
                    && self.is_page(page)
                    && self.blocks.layout.array.page_and_plane(first).1 == self.blocks.layout.array.page_and_plane(to).1
            })
    }

    /// True if slots are consecutive in a superblock.
    #[inline]
    pub(super) fn is_page(&self, slots: &[Psn]) -> bool {
        let (superblock, first) = self.blocks.layout.locate(slots[0]);
        (first..).zip(slots).all(|(offset, psn)| *psn == self.blocks.layout.slot(superblock, offset))
    }

    /// Adds one copy-back. Returns the offset behind its page.
    pub(in crate::page) fn copy_back_list(
        &mut self,
        flash: &mut Flash<'_>,
        list: Handle<List>,
        cause: Cause,
        (target, stream): (Target, Stream),
        gathered: &[Psn],
    ) -> u32 {
        let place = self.blocks.layout.target(target.superblock, target.offset);
        let command = flash.backend.add_copy_back(list, cause, place, stream);
        let pool = self.blocks.pool_of(target.superblock);
        self.blocks.pass_gate(flash, pool, command);
        for psn in gathered {
            flash.backend.push_slot(command, Slot { psn: *psn, ..Slot::default() });
        }
        target.offset + gathered.len() as u32
    }

    /// Prefetches for the end of the program of gathered copies, if time is off: only then does the end come soon
    /// enough.
    pub(in crate::page) fn prefetch_for_copies(&self, flash: &Flash<'_>, gathered: &[Psn]) {
        if flash.backend.is_timed() {
            return;
        }
        let media = flash.backend.media();
        for psn in gathered {
            if let Spare::Data { lpn, .. } = media.spare(*psn) {
                self.mapping.prefetch(lpn.index(), media);
            }
        }
    }
}
