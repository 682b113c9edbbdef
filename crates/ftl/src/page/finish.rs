//! The end of a list, from which the FTL learns. Only here the map changes.

use base::engine::Handle;
use base::units::SuperblockId;
use flash::backend::{Command, List, Op};

use super::blocks::State;
use super::{Kind, PageFtl};
use crate::port::{Flash, Owners, PageWrite, Service};
use crate::sabotage::Sabotage;
use crate::toolkit::{Commands, Programmed};

impl PageFtl {
    pub(crate) fn finished(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, list: Handle<List>) {
        match Kind::of(flash.backend.list(list)) {
            Kind::Read => self.read_finished(flash, owners, list),
            Kind::Write => self.write_finished(flash, owners, list),
            Kind::Copy => self.copy_finished(flash, owners, list),
            Kind::Erase => self.erase_finished(flash, owners, list),
            Kind::Load => self.load_finished(flash, owners, list),
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
                    self.unpin(flash, owners, self.geometry.locate(slot.psn).0);
                }
            }
        }
        flash.backend.release(list);
    }

    fn write_finished(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, list: Handle<List>) {
        let service = Service::of(flash.backend.list(list));
        let mut pool = None;
        let mut commands = Commands::of(flash.backend, list);
        while let Some((handle, command)) = commands.next(flash.backend) {
            if command.op == Op::Read {
                let (_, slot) = flash.backend.slot(handle, 0);
                self.unpin(flash, owners, self.geometry.locate(slot.psn).0);
                continue;
            }
            let (target, count, failed) = (command.target, command.count(), command.failed);
            let here = self.pool_of(target.superblock);
            pool = Some(here);
            if failed {
                self.fail(here, target.superblock);
            }
            self.fetch_for_end(flash, owners, handle);
            for i in 0..count {
                let Programmed { slot, psn, torn } = Programmed::of(flash.backend, handle, (target, failed), i);
                if torn && !self.planted.is(Sabotage::FailureIgnored) {
                    // The owner still has the data: the pool writes it again, to another superblock.
                    let stream = self.blocks.stream(target.superblock);
                    self.write_again(here, PageWrite { stream: Some(stream), ..PageWrite::again(&slot) });
                    continue;
                }
                self.pools[here as usize].in_flight -= 1;
                if self.is_trim(slot.lpn) {
                    self.trim_stored(flash, owners, &slot, psn);
                    continue;
                }
                if self.is_checkpoint(slot.lpn) {
                    self.checkpoint_stored(flash, &slot, psn);
                    continue;
                }
                if self.is_outdated(&slot) {
                    self.pools[here as usize].live -= 1;
                    owners.write_done(slot.owner, service);
                    continue;
                }
                self.note_written(slot.lpn, slot.version, true);
                self.programmed = self.programmed.wrapping_add(u32::from(slot.lpn.get() < self.units));
                if self.planted.is(Sabotage::LostUpdate) && psn.get() % 16 == 5 {
                    self.pools[here as usize].live -= 1;
                    owners.write_done(slot.owner, service);
                } else if self.enter(flash, &slot, (psn, target.superblock), service) {
                    owners.write_done(slot.owner, service);
                }
            }
            self.program_done(here, handle, target.superblock);
            self.count_in_stream(target.superblock, count);
        }
        flash.backend.release(list);
        if let Some(pool) = pool {
            self.pools[pool as usize].writes -= 1;
            self.count_ended(pool);
            self.note_load(pool);
            self.resume(flash, owners, pool);
            self.start_gc(flash, owners, pool);
            self.place_unplaced(flash, owners);
            if self.ends_store(pool) {
                self.end_write(flash, owners);
            }
            self.end_hold(flash, owners, pool);
            self.announce_room(owners);
        }
    }

    /// Lets a mapping unit of a failed program wait in its pool. A translation page in a data pool must not wait there.
    fn write_again(&mut self, pool: u32, unit: PageWrite) {
        let at_home = self.kind_of(unit.lpn) == self.kind_in(pool);
        if at_home {
            return self.let_wait(pool, unit);
        }
        let waits = &mut self.pools[pool as usize];
        waits.live -= 1;
        waits.in_flight -= 1;
        if let Some(pages) = self.unplaced.last_mut() {
            pages.push_back(unit);
        }
    }

    /// A program to a superblock has ended.
    pub(super) fn program_done(&mut self, pool: u32, command: Handle<Command>, superblock: SuperblockId) {
        for open in self.pools[pool as usize].open.each_mut().flatten() {
            if open.gate == Some(command) {
                open.gate = None;
            }
        }
        self.release(superblock);
    }

    /// A full superblock becomes a candidate for garbage collection.
    pub(super) fn close(&mut self, superblock: SuperblockId) {
        let pool = self.pool_of(superblock);
        self.blocks.set_state(superblock, State::Closed);
        let kind = self.kind_in(pool);
        self.victims[kind].close(self.now, pool, superblock, self.blocks.valid(superblock));
        if self.blocks.is_failing(superblock) && !self.planted.is(Sabotage::FailingForgotten) {
            self.pools[pool as usize].gc.failing.push(superblock);
        }
    }

    /// A program failed: the pool writes nothing more to the superblock, empties it and retires it.
    pub(super) fn fail(&mut self, pool: u32, superblock: SuperblockId) {
        self.blocks.set_failing(superblock);
        let streams = if self.planted.is(Sabotage::CopiesGoOn) { 1 } else { usize::MAX };
        for open in self.pools[pool as usize].open.each_mut().take(streams) {
            if open.take_if(|open| open.superblock == superblock).is_some() {
                self.blocks.set_state(superblock, State::Full);
            }
        }
        if self.blocks.state(superblock) == State::Closed {
            self.pools[pool as usize].gc.failing.push(superblock);
        }
    }

    /// Unpins a superblock. A victim without pins may be erased.
    #[inline]
    pub(super) fn unpin(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, superblock: SuperblockId) {
        if self.blocks.unpin(superblock) && self.blocks.state(superblock) == State::Victim {
            self.erase_if_empty(flash, superblock);
            self.collect(flash, owners, self.pool_of(superblock));
            // A failing victim is retired without an erase, whose end would wake the writes that wait for space.
            if self.blocks.state(superblock) == State::Bad && self.forgotten() {
                self.place_unplaced(flash, owners);
            }
        }
    }
}
