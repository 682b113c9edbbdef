//! The end of a list, from which the FTL learns. Only here the map changes.

use base::engine::Handle;
use base::units::SuperblockId;
use flash::backend::{Command, List, Op};

use super::block_manager::rebuild::LostReads;
use super::block_manager::table::SuperblockState;
use super::{ListPurpose, PageFtl};
use crate::port::{Flash, Owners, PageWrite, Service};
use crate::sabotage::Sabotage;
use crate::toolkit::{Commands, ProgramSlot};

impl PageFtl {
    pub(crate) fn finished(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, list: Handle<List>) {
        if self.blocks.may_meet_dead_die(flash) {
            return self.finished_in_unknown_dies(flash, owners, list);
        }
        match self.blocks.parity.is_some() {
            true => self.rebuild_or_process(flash, owners, list),
            false => self.process(flash, owners, list),
        }
    }

    /// Processes a finished list, or begins to rebuild the slots that it could not read.
    pub(super) fn rebuild_or_process(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, list: Handle<List>) {
        let kind = ListPurpose::of(flash.backend.list(list));
        let reads = matches!(kind, ListPurpose::Read | ListPurpose::Load | ListPurpose::Patrol);
        if !(reads && self.blocks.parity.is_some() && self.begin_rebuild(flash, list)) {
            self.process(flash, owners, list);
        }
    }

    /// Processes a finished list. Slots that could not be read have been rebuilt if their stripe allows it.
    pub(super) fn process(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, list: Handle<List>) {
        match ListPurpose::of(flash.backend.list(list)) {
            ListPurpose::Read => self.read_finished(flash, owners, list),
            ListPurpose::Write => self.write_finished(flash, owners, list),
            ListPurpose::Copy => self.copy_finished(flash, owners, list),
            ListPurpose::Erase => self.erase_finished(flash, owners, list),
            ListPurpose::Load => self.load_finished(flash, owners, list),
            ListPurpose::Patrol => self.patrol_finished(flash, owners, list),
            ListPurpose::Parity => self.parity_finished(flash, owners, list),
            ListPurpose::Rebuild => self.rebuild_finished(flash, owners, list),
        }
        // A program that has failed ends its stripe, so parity may be due.
        self.writer.store_parity(&mut self.blocks, flash);
        if self.blocks.takes_refresh() {
            self.refresh_due(flash, owners);
        }
    }

    #[inline(never)]
    fn load_finished(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, list: Handle<List>) {
        let command = flash.backend.list(list).first().expect("a read");
        let (_, slot) = flash.backend.slot(command, 0);
        flash.backend.release(list);
        self.mapping.page_loaded(flash, slot.lpn);
        self.blocks.judge(flash, slot.psn);
        self.unpin(flash, owners, self.blocks.layout.locate(slot.psn).0);
    }

    #[inline(never)]
    fn patrol_finished(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, list: Handle<List>) {
        let command = flash.backend.list(list).first().expect("a read");
        let (_, slot) = flash.backend.slot(command, 0);
        flash.backend.release(list);
        self.blocks.judge(flash, slot.psn);
        self.unpin(flash, owners, self.blocks.layout.locate(slot.psn).0);
    }

    #[inline(never)]
    fn parity_finished(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, list: Handle<List>) {
        let mut pool = None;
        self.blocks.lose_parity_of_lost(flash, list);
        let mut commands = Commands::of(flash.backend, list);
        while let Some((handle, command)) = commands.next(flash.backend) {
            if command.op == Op::Read {
                let (_, slot) = flash.backend.slot(handle, 0);
                self.unpin(flash, owners, self.blocks.layout.locate_any(slot.psn));
                continue;
            }
            let superblock = self.blocks.layout.superblock_of(command.target.superblock);
            let here = *pool.get_or_insert(self.blocks.pool_of(superblock));
            if command.failed {
                self.blocks.withdraw(flash, superblock, handle);
                self.blocks.fail(here, superblock);
            }
            let stripe = command.target.offset / self.blocks.program_slots();
            self.blocks.program_done(here, handle, superblock);
            if let Some(parity) = &mut self.blocks.parity {
                parity.note_stored(superblock, stripe);
            }
            self.blocks.erase_if_empty(flash, superblock);
        }
        flash.backend.release(list);
        let Some(pool) = pool else { return };
        self.blocks.pools[pool as usize].parities -= 1;
        self.writer.resume(&mut self.blocks, &mut self.mapping, flash, owners, pool);
        self.start_gc(flash, owners, pool);
        self.place_unplaced(flash, owners);
    }

    /// Starts the refresh of superblocks that are due, as many as may be refreshed at the same time.
    #[inline(never)]
    fn refresh_due(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners) {
        for _ in 0..self.blocks.pools.len() {
            if !self.blocks.takes_refresh() {
                return;
            }
            let pool = self.blocks.next_pool_to_refresh();
            if self.blocks.may_refresh(pool) {
                self.start_gc(flash, owners, pool);
            }
        }
    }

    #[inline]
    fn read_finished(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, list: Handle<List>) {
        let service = Service::of(flash.backend.list(list));
        let mut commands = Commands::of(flash.backend, list);
        while let Some((handle, command)) = commands.next(flash.backend) {
            let (count, is_blank) = (command.count(), command.is_blank());
            for i in 0..count {
                let (place, slot) = flash.backend.slot(handle, i);
                owners.read_done(&slot, flash.backend.content_of(place), service);
                if !is_blank {
                    self.blocks.judge(flash, slot.psn);
                    self.unpin(flash, owners, self.blocks.layout.locate(slot.psn).0);
                }
            }
        }
        flash.backend.release(list);
    }

    #[inline(never)]
    fn write_finished(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, list: Handle<List>) {
        let service = Service::of(flash.backend.list(list));
        let lost = self.blocks.lost_reads(flash, list);
        let rewrites = self.mapping.is_rewriting();
        let mut pool = None;
        let mut commands = Commands::of(flash.backend, list);
        while let Some((handle, command)) = commands.next(flash.backend) {
            if command.op == Op::Read {
                let (_, slot) = flash.backend.slot(handle, 0);
                self.unpin(flash, owners, self.blocks.layout.locate_any(slot.psn));
            } else {
                pool = Some(self.program_finished(flash, owners, handle, &lost, service));
            }
        }
        flash.backend.release(list);
        let Some(pool) = pool else { return };
        self.blocks.pools[pool as usize].queue.under_way -= 1;
        self.writer.count_ended(&mut self.blocks, pool);
        self.writer.note_load(&self.blocks, pool);
        self.writer.resume(&mut self.blocks, &mut self.mapping, flash, owners, pool);
        self.start_gc(flash, owners, pool);
        self.place_unplaced(flash, owners);
        if self.writer.ends_store(&self.blocks, pool) {
            self.end_write(flash, owners);
        }
        self.end_hold(flash, owners, pool);
        self.writer.announce_room(owners);
        if rewrites && !self.mapping.is_rewriting() {
            // Data that lost its parity is moved now that the map unit, which must answer for copies of data, has started.
            self.move_unprotected(flash, owners);
        }
    }

    /// Ends a program: enters its mapping units into the map, or hands those that failed to the pool again. Returns the
    /// pool.
    #[inline]
    fn program_finished(
        &mut self,
        flash: &mut Flash<'_>,
        owners: &mut dyn Owners,
        handle: Handle<Command>,
        lost: &LostReads,
        service: Service,
    ) -> u32 {
        let command = flash.backend.command(handle);
        let (target, count, failed) = (command.target, command.count(), command.failed);
        let superblock = self.blocks.layout.superblock_of(target.superblock);
        let pool = self.blocks.pool_of(superblock);
        if failed {
            self.blocks.withdraw(flash, superblock, handle);
            self.blocks.fail(pool, superblock);
        }
        self.prefetch_for_end(flash, owners, handle);
        for i in 0..count {
            let (at, _) = flash.backend.slot(handle, i);
            let ProgramSlot { slot, psn, torn } = ProgramSlot::of(flash.backend, handle, (target, failed), i);
            if lost.is_again(at) || (torn && !self.blocks.planted.is(Sabotage::FailureIgnored)) {
                // The owner still has the data: the pool writes it again, to another superblock.
                let again = PageWrite { stream: Some(self.blocks.table.stream(superblock)), ..PageWrite::again(&slot) };
                self.writer.write_again(&mut self.blocks, &self.mapping, pool, again);
                continue;
            }
            self.blocks.pools[pool as usize].in_flight -= 1;
            if self.mapping.is_trim(slot.lpn) {
                self.mapping.trim_stored(&mut self.blocks, flash, owners, (&slot, psn));
                continue;
            }
            if self.mapping.is_checkpoint(slot.lpn) {
                self.mapping.checkpoint_stored(&mut self.blocks, flash.backend.media_mut(), &slot, psn);
                continue;
            }
            if lost.is_lost(at) {
                flash.backend.media_mut().lose(psn);
            }
            if self.mapping.is_outdated(&slot) {
                self.blocks.pools[pool as usize].live -= 1;
                owners.write_done(slot.owner, service);
                continue;
            }
            self.mapping.note_written(slot.lpn, slot.version, true);
            let of_host = u32::from(slot.lpn.get() < self.mapping.units);
            self.collector.programmed = self.collector.programmed.wrapping_add(of_host);
            if self.blocks.planted.is(Sabotage::LostUpdate) && psn.get() % 16 == 5 {
                self.blocks.pools[pool as usize].live -= 1;
                owners.write_done(slot.owner, service);
            } else if self.mapping.enter(&mut self.blocks, flash, &slot, (psn, superblock), service) {
                owners.write_done(slot.owner, service);
            }
        }
        self.blocks.program_done(pool, handle, superblock);
        self.writer.count_in_stream(&self.blocks, superblock, count);
        self.blocks.count_in_cache(superblock, count);
        pool
    }

    /// Unpins a superblock. A victim without pins may be erased.
    #[inline]
    pub(super) fn unpin(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, superblock: SuperblockId) {
        if self.blocks.table.unpin(superblock) && self.blocks.table.state(superblock) == SuperblockState::Victim {
            self.blocks.erase_if_empty(flash, superblock);
            self.collect(flash, owners, self.blocks.pool_of(superblock));
            // A failing victim is retired without an erase, whose end would wake the writes that wait for space.
            if self.blocks.table.state(superblock) == SuperblockState::Bad
                && self.writer.forgotten(&self.blocks, &self.mapping)
            {
                self.place_unplaced(flash, owners);
            }
        }
    }
}
