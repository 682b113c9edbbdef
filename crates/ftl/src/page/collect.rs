//! Garbage collection: it chooses victims, copies their valid mapping units, and erases them.
//!
//! It gathers valid mapping units, from several victims if necessary, until they fill a program; then one list reads
//! and programs them. It erases a victim when all its valid mapping units have new places and no reader needs it. One
//! free superblock is always reserved for copies, so collection itself never runs out.

use base::engine::Handle;
use base::units::{Psn, Span, SuperblockId};
use flash::backend::{Cause, Class, List, Op, Slot};
use flash::nand::{Spare, Stream, Target};

use super::blocks::State;
use super::mapping::Mapping;
use super::moves::Left;
use super::pool::{Holds, Victim};
use super::prefetch::fetch_gathered;
use super::victim::Moment;
use super::{Kind, PageFtl};
use crate::map_unit::MapUnit;
use crate::port::{Flash, Owners};
use crate::sabotage::Sabotage;
use crate::toolkit::{Commands, Programmed};

impl PageFtl {
    /// Starts garbage collection in a pool with few free superblocks, or continues it.
    pub(super) fn start_gc(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, pool: u32) {
        if !self.pools[pool as usize].gc.active {
            self.pools[pool as usize].gc.active = self.is_low(pool);
        }
        let chosen = &mut self.pools[pool as usize];
        // Most calls find that as many copies are under way as there may be.
        if chosen.gc.copies >= self.gc.parallel && !chosen.gc.is_stale {
            if chosen.gc.active && self.has_enough(pool, 0) {
                self.pools[pool as usize].gc.active = false;
            }
            return;
        }
        if chosen.gc.active || !chosen.gc.victims.is_empty() || !chosen.gc.failing.is_empty() {
            self.collect(flash, owners, pool);
        }
    }

    /// Continues collection until it has to wait for an event.
    pub(super) fn collect(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, pool: u32) {
        self.drop_stale(flash, pool);
        let mut no_room = false;
        let most = self.copies_allowed(flash, pool);
        while self.pools[pool as usize].gc.copies < most {
            let Some(stream) = self.gather_program(flash, pool) else { break };
            if !self.copy(flash, pool, stream) {
                no_room = true;
                break;
            }
        }
        let enough = self.has_enough(pool, 0);
        let chosen = &mut self.pools[pool as usize];
        if chosen.gc.active && enough {
            chosen.gc.active = false;
        }
        // Nearly every call ends here.
        let idle = !chosen.is_moving() && chosen.in_flight == chosen.waiting.len() as u32;
        if idle && !chosen.waiting.is_empty() && chosen.free.len() > 1 && chosen.kept_for_copies() > 0 {
            chosen.gc.waives = true;
            return self.resume(flash, owners, pool);
        }
        if !idle || chosen.waiting.is_empty() || chosen.free.len() > 1 {
            return;
        }
        let empty_soon = chosen.gc.victims.iter().any(|victim| self.blocks.valid(victim.superblock) == 0);
        let last = (no_room || chosen.gc.victims.is_empty()) && !empty_soon;
        // Answers still to come may leave garbage here. Translation pages must not wait for them.
        let last = last && (self.kind_in(pool) == Holds::Pages || !self.awaits_answers());
        if last && self.kind_in(pool) == Holds::Pages && self.lend_block(pool - self.groups, 0) {
            self.resume(flash, owners, pool);
            return self.collect(flash, owners, pool);
        }
        let last = last && !(self.kind_in(pool) == Holds::Pages && self.will_lend(flash, pool - self.groups));
        if last && !self.rescue(flash, pool, false) {
            self.give_up(flash, owners, pool);
        }
    }

    /// True if the gathered mapping units must be copied although they do not fill a program: a write waits for the
    /// space, a block is failing, or wear is levelled among translation pages or in one of several streams, which may
    /// never gain more. Otherwise they wait until there are more.
    pub(super) fn must_pad(&self, pool: u32) -> bool {
        let chosen = &self.pools[pool as usize];
        let stalled = !chosen.is_moving();
        let now = |victim: &Victim| match victim.cause {
            Cause::Wear => self.kind_in(pool) == Holds::Pages || !chosen.gc.sorted.is_empty(),
            cause => cause == Cause::Recovery,
        };
        let urgent = chosen.gc.victims.iter().any(now) || self.is_awaited(pool);
        stalled && chosen.gc.has_gathered() && urgent
    }

    /// Slots in the next program of copies to a stream.
    pub(super) fn copy_room(&self, pool: u32, stream: Stream) -> u32 {
        match self.pools[pool as usize].open[stream] {
            Some(open) => self.program_end(open.next) - open.next,
            None => self.program_slots(),
        }
    }

    /// Gathers the copies of a program. Returns their stream; none if they do not fill a program and need not go before
    /// they do.
    fn gather_program(&mut self, flash: &mut Flash<'_>, pool: u32) -> Option<Stream> {
        if !self.pools[pool as usize].gc.sorted.is_empty() {
            return self.gather_sorted(flash, pool);
        }
        let copies = self.pools[pool as usize].copies;
        let room = self.copy_room(pool, copies);
        let filled = self.gather(flash, pool, room);
        (filled || self.must_pad(pool)).then_some(copies)
    }

    /// Gathers valid slots until there are `room` of them. Returns false if there are fewer.
    pub(super) fn gather(&mut self, flash: &mut Flash<'_>, pool: u32, room: u32) -> bool {
        loop {
            let gc = &mut self.pools[pool as usize].gc;
            if gc.gathered.len() >= room as usize {
                return true;
            }
            let end = self.geometry.superblock_slots();
            let Some(i) = gc.victims.iter().position(|victim| victim.cursor < end) else {
                if self.begin_victim(flash, pool, true) {
                    continue;
                }
                return false;
            };
            let (superblock, before) = (gc.victims[i].superblock, gc.gathered.len());
            let mut valid = self.blocks.valid_slots(superblock, gc.victims[i].cursor);
            while gc.gathered.len() < room as usize
                && let Some(psn) = valid.next()
            {
                fetch_gathered(flash, (gc.gathered.last().copied(), psn), &valid, room == 1);
                gc.gathered.push(psn);
            }
            let gathered = gc.gathered.len() - before;
            self.blocks.pin_times(superblock, gathered as u32);
            if let Some(last) = gc.gathered[before..].last() {
                gc.victims[i].cursor = self.geometry.locate(*last).1 + 1;
            }
            if gc.gathered.len() < room as usize {
                gc.victims[i].cursor = end;
                self.erase_if_empty(flash, superblock);
            }
            if self.planted.is(Sabotage::CollectionDrops) {
                self.drop_gathered(flash, pool, gathered);
            }
        }
    }

    /// Drops some of the valid mapping units that were gathered last, for [`Sabotage::CollectionDrops`].
    fn drop_gathered(&mut self, flash: &mut Flash<'_>, pool: u32, gathered: usize) {
        let all = &mut self.pools[pool as usize].gc.gathered;
        let dropped: Vec<Psn> = all.split_off(all.len() - gathered);
        for psn in dropped {
            if psn.get() % 16 == 5 {
                self.blocks.unpin(self.geometry.locate(psn).0);
                self.drop_unit(flash, psn);
            } else {
                self.pools[pool as usize].gc.gathered.push(psn);
            }
        }
    }

    /// Takes another victim if one is needed and available. Its mapping units may fill up the program of copies that are
    /// gathered already, if that takes copies of any class. Returns false if it took none.
    pub(super) fn begin_victim(&mut self, flash: &Flash<'_>, pool: u32, fills_up: bool) -> bool {
        // The map unit, which must answer for copies of data, has not started.
        if self.kind_in(pool) == Holds::Data && self.is_rewriting() {
            return false;
        }
        let chosen = &mut self.pools[pool as usize];
        if let Some(failing) = chosen.gc.failing.last().copied() {
            let gone = self.blocks.state(failing) != State::Closed;
            if gone || self.copies_fit(pool, self.pools[pool as usize].free.len(), self.blocks.valid(failing)) {
                self.pools[pool as usize].gc.failing.pop();
                if !gone {
                    self.take_victim(pool, failing, Cause::Recovery);
                }
                return true;
            }
        }
        let chosen = &self.pools[pool as usize];
        let gc = &chosen.gc;
        let free = chosen.free.len();
        let coming = gc.erases + gc.victims.len() as u32;
        let stalled = !chosen.is_moving() && gc.has_gathered();
        let fills = stalled && !self.pads_cheaply(pool);
        let enough = self.has_enough(pool, 0) || (!fills && self.has_enough(pool, coming));
        // While a write waits, mapping units of another victim fill the program better than padding.
        let worthwhile = self.victims[self.kind_in(pool)].is_worthwhile(pool)
            || ((stalled || self.gc.shared_log) && self.is_awaited(pool));
        if !gc.active || enough || !worthwhile {
            return false;
        }
        self.note_unit_ages(flash, pool);
        let chosen = &self.pools[pool as usize];
        // Without a free superblock only the cheapest victim is safe.
        let dry = free == 0 && chosen.open[chosen.copies].is_none();
        let victims = &self.victims[self.kind_in(pool)];
        let media = flash.backend.media();
        let moment = Moment {
            now: flash.now,
            free,
            latest: self.versions.latest(),
            erases: &|superblock| media.erases(superblock),
            stream: &|superblock| self.blocks.stream(superblock),
        };
        let victim = if dry { victims.cheapest(pool) } else { victims.pick(pool, moment, &mut self.rng) };
        // Filling up a program costs nothing; otherwise all gathered mapping units must find a place.
        let free_of_charge = stalled && fills_up;
        let fits = |victim: &SuperblockId| free_of_charge || self.copies_fit(pool, free, self.blocks.valid(*victim));
        // With nothing free and nothing under way, the policy's choice may never fit where the cheapest does.
        let last = || victims.cheapest(pool).filter(|_| free == 0 && !chosen.is_moving()).filter(fits);
        let Some(victim) = victim.filter(fits).or_else(last) else { return false };
        self.take_victim(pool, victim, Cause::Gc);
        true
    }

    pub(super) fn take_victim(&mut self, pool: u32, superblock: SuperblockId, cause: Cause) {
        let kind = self.kind_in(pool);
        self.victims[kind].remove(pool, superblock);
        self.blocks.set_state(superblock, State::Victim);
        let valid = self.blocks.valid(superblock);
        let gc = &mut self.pools[pool as usize].gc;
        gc.victims.push(Victim { superblock, valid, cursor: 0, cause });
        gc.is_stale |= valid == 0;
        // The more valid mapping units a victim has, the more turns the collector needs (Woo and Min, Sec. 4.6); of
        // several victims the latest sets the weight. Copies of translation pages ask the map unit nothing.
        if let Mapping::MapUnit(map_client) = &mut self.mapping
            && pool < self.groups
        {
            map_client.unit.set_collector_weight(valid, self.geometry.superblock_slots());
        }
    }

    /// Submits a list that copies the mapping units gathered for a stream. Returns false if the pool has no superblock to
    /// copy to.
    fn copy(&mut self, flash: &mut Flash<'_>, pool: u32, stream: Stream) -> bool {
        self.yield_log(flash, pool);
        if self.pools[pool as usize].open(stream).is_none() {
            if self.pools[pool as usize].free.is_empty() {
                return false;
            }
            let worn = std::mem::take(&mut self.pools[pool as usize].gc.want_worn);
            self.open_superblock(pool, stream, worn);
        }
        self.copy_to(flash, pool, (pool, stream));
        true
    }

    /// Submits the programs of a shared log that the present request has gathered: copies come behind them.
    pub(super) fn yield_log(&mut self, flash: &mut Flash<'_>, pool: u32) {
        if self.gc.shared_log && self.pools[pool as usize].list.is_some() {
            self.send(flash, pool);
        }
    }

    /// Submits a list that copies the mapping units that a pool has gathered for a stream to the open superblock of that
    /// stream in pool `to`, which may be the same.
    pub(super) fn copy_to(&mut self, flash: &mut Flash<'_>, pool: u32, (to, stream): (u32, Stream)) {
        // Taken out while `self` is in use, and put back to keep its memory.
        let mut all = std::mem::take(self.pools[pool as usize].gathered_for(stream));
        let joins = self.planted.is(Sabotage::CopyJoinsHost) && self.pools[to as usize].open[Stream::HOST].is_some();
        let (gathered_for, stream) = (stream, if joins { Stream::HOST } else { stream });
        let room = self.copy_room(to, stream) as usize;
        let open = self.pools[to as usize].open[stream].expect("the caller has opened one");
        let gathered = &all[..room.min(all.len())];
        self.fetch_for_copies(flash, gathered);
        let chosen = &mut self.pools[pool as usize];
        let last = self.geometry.locate(*gathered.last().expect("something to copy")).0;
        let cause = chosen.gc.victims.iter().find(|v| v.superblock == last).map_or(Cause::Gc, |v| v.cause);
        let cause = if self.planted.is(Sabotage::CopyCharged) { Cause::Host } else { cause };
        chosen.gc.copies += 1;
        let list = flash.backend.open_list(Class::Other, Kind::Copy as u32);
        let target = Target { superblock: open.superblock, offset: open.next };
        let covered = if pool == to && self.copies_back(gathered, open.next) {
            self.copy_back_list(flash, list, cause, (target, stream), gathered)
        } else {
            self.copy_list(flash, list, cause, (target, stream), gathered)
        };
        self.blocks.begin_program(open.superblock);
        self.advance(to, stream, covered);
        all.drain(..room.min(all.len()));
        *self.pools[pool as usize].gathered_for(gathered_for) = all;
        self.dispatch_after(flash, list, Span::ZERO);
    }

    /// Adds the reads and one program for each row, or for all rows of a one-shot program. Returns the offset behind
    /// them.
    fn copy_list(
        &mut self,
        flash: &mut Flash<'_>,
        list: Handle<List>,
        cause: Cause,
        (target, stream): (Target, Stream),
        gathered: &[Psn],
    ) -> u32 {
        let rows = (self.geometry.row_slots() * self.one_shot) as usize;
        let (mut target, mut rest) = (target, gathered);
        loop {
            let (now, behind) = rest.split_at(rows.min(rest.len()));
            let next = self.copy_rows(flash, list, cause, (target, stream), now);
            if behind.is_empty() {
                return next;
            }
            self.blocks.begin_program(target.superblock);
            (target.offset, rest) = (target.offset + rows as u32, behind);
        }
    }

    /// Adds one program of copies and its reads. Returns the offset behind the word line, or behind the program.
    fn copy_rows(
        &mut self,
        flash: &mut Flash<'_>,
        list: Handle<List>,
        cause: Cause,
        (target, stream): (Target, Stream),
        gathered: &[Psn],
    ) -> u32 {
        let program = flash.backend.add_program(list, cause, target, stream);
        let pool = self.pool_of(target.superblock);
        self.pass_gate(flash, pool, stream, program);
        let newer = self.planted.is(Sabotage::CopyLooksNewer).then(|| self.versions.next());
        let mut read = None;
        for psn in gathered {
            let mut copy = Slot { psn: *psn, ..Slot::default() };
            if let Some(version) = newer
                && let Spare::Data { lpn, .. } = flash.backend.media().spare(*psn)
            {
                copy = Slot { lpn, version, expected: true, ..copy };
            }
            let to = flash.backend.push_slot(program, copy);
            let row = self.geometry.row_of(*psn);
            let command = match read {
                Some((command, last)) if last == row => command,
                _ => {
                    let command = flash.backend.add_read(list, cause, self.geometry.locate(*psn).0);
                    flash.backend.depend(command, program);
                    command
                }
            };
            read = Some((command, row));
            flash.backend.push_slot(command, Slot { psn: *psn, forward: Some(to), ..Slot::default() });
        }
        if let Some(open) = self.pools[pool as usize].open(stream) {
            open.gate = Some(program);
        }
        let slots = self.geometry.slots;
        let covered = target.offset + (gathered.len() as u32).div_ceil(slots) * slots;
        let rows = self.geometry.row_slots() * self.one_shot;
        let end = if self.whole_rows { (target.offset / rows + 1) * rows } else { covered };
        flash.backend.set_padding(program, end - covered);
        if self.whole_rows { self.program_end(target.offset) } else { covered }
    }

    /// Erases a victim whose slots have all been scanned and that nothing pins. Scans it again if a copy failed.
    pub(super) fn erase_if_empty(&mut self, flash: &mut Flash<'_>, superblock: SuperblockId) {
        let pool = self.pool_of(superblock);
        let end = self.geometry.superblock_slots();
        let gc = &mut self.pools[pool as usize].gc;
        let Some(i) = gc.victims.iter().position(|victim| victim.superblock == superblock) else { return };
        let looked_at = gc.victims[i].cursor == end || self.blocks.valid(superblock) == 0;
        if !looked_at || self.blocks.is_pinned(superblock) || self.blocks.has_programs(superblock) {
            return;
        }
        if self.blocks.valid(superblock) > 0 {
            gc.victims[i].cursor = 0;
            return;
        }
        let cause = gc.victims.remove(i).cause;
        if self.blocks.is_failing(superblock) && !self.planted.is(Sabotage::RetiredFreed) {
            return self.retire(flash, pool, superblock);
        }
        gc.erases += 1;
        self.blocks.set_state(superblock, State::Erasing);
        let list = flash.backend.open_list(Class::Other, Kind::Erase as u32);
        flash.backend.add_erase(list, cause, superblock);
        flash.submit(list);
    }

    fn retire(&mut self, flash: &mut Flash<'_>, pool: u32, superblock: SuperblockId) {
        flash.backend.media_mut().retire(superblock);
        self.blocks.set_state(superblock, State::Bad);
        self.pools[pool as usize].usable -= 1;
    }

    pub(super) fn copy_finished(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, list: Handle<List>) {
        let mut pools = None;
        let mut commands = Commands::of(flash.backend, list);
        while let Some((handle, command)) = commands.next(flash.backend) {
            if command.op == Op::Read {
                continue;
            }
            let (target, count, failed) = (command.target, command.count(), command.failed);
            let here = self.pool_of(target.superblock);
            // Copies stay in their pool, unless another pool rescued it.
            let (_, first) = flash.backend.slot(handle, 0);
            let source = self.pool_at(first.psn);
            // A word line takes several programs.
            if pools.replace((here, source)).is_none() {
                self.pools[source as usize].gc.copies -= 1;
            }
            if source != here {
                self.end_move_to_helper(here, count);
            }
            if failed {
                self.fail(here, target.superblock);
            }
            self.fetch_for_end(flash, owners, handle);
            // Mapping units that the map unit is asked for stay pinned until its answer.
            let mut moved = std::mem::take(&mut self.moved);
            if failed || !self.enter_copies(flash, handle, here, &mut moved) {
                for i in 0..count {
                    let Programmed { slot, psn, torn } = Programmed::of(flash.backend, handle, (target, failed), i);
                    if torn || self.enter_copy(flash.now, slot.lpn, [slot.psn, psn], (target.superblock, here)) {
                        moved.push(Left::alone(self.geometry.locate(slot.psn).0));
                    }
                }
            }
            self.program_done(here, handle, target.superblock);
            self.count_in_stream(target.superblock, count);
            for Left { superblock, slots, .. } in moved.drain(..) {
                if self.blocks.unpin_times(superblock, slots) {
                    self.erase_if_empty(flash, superblock);
                }
            }
            self.moved = moved;
        }
        flash.backend.release(list);
        if let Some((pool, source)) = pools {
            self.resume(flash, owners, pool);
            self.start_gc(flash, owners, pool);
            if source != pool {
                self.resume(flash, owners, source);
                self.start_gc(flash, owners, source);
            }
            self.place_unplaced(flash, owners);
        }
    }

    pub(super) fn erase_finished(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, list: Handle<List>) {
        let handle = flash.backend.list(list).first().expect("an erase");
        let command = flash.backend.command(handle);
        let (superblock, failed) = (command.target.superblock, command.failed);
        flash.backend.release(list);
        let pool = self.pool_of(superblock);
        let group = self.geometry.group_of(superblock);
        let gc = &mut self.pools[pool as usize].gc;
        (gc.erases, gc.waives) = (gc.erases - 1, false);
        if failed {
            self.retire(flash, pool, superblock);
        } else {
            let erases = flash.backend.media().erases(superblock);
            self.blocks.set_state(superblock, State::Free);
            if pool != group {
                // The pool of translation pages gets the least worn free superblock in exchange.
                self.blocks.set_map(superblock, false);
                self.pools[pool as usize].usable -= 1;
                self.pools[group as usize].usable += 1;
            }
            self.pools[group as usize].free.push(superblock, erases);
            if pool != group {
                self.hand_over(group);
            }
            self.pools[pool as usize].stuck = false;
            if !self.is_rewriting() {
                self.level_wear(flash, group);
            }
        }
        // Data may wait for translation pages, but not the other way round.
        let keep = u32::from(!self.wants_block(group));
        self.lend_block(group, keep);
        self.resume(flash, owners, pool);
        self.start_gc(flash, owners, pool);
        if pool == group && self.pools.len() > self.groups as usize {
            self.resume(flash, owners, self.groups + group);
            self.start_gc(flash, owners, self.groups + group);
        }
        // Nearly always no pool has.
        if self.gave_up {
            self.retry_stuck(flash, owners, None);
            self.gave_up = self.pools.iter().any(|pool| pool.stuck);
        }
        // No other event would wake writes that wait for space.
        if self.forgotten() {
            self.place_unplaced(flash, owners);
        }
    }
}

#[cfg(test)]
mod tests {
    use base::units::Lpn;

    use super::*;
    use crate::PageConfig;
    use crate::port::{OldPlace, PageWrite, full_mask};
    use crate::rig::{Rig, describe};

    #[test]
    fn copies_to_a_shared_log_come_behind_the_full_programs_of_the_present_request() {
        let (config, array, _) = describe(
            "flash = { part = 'K9K8G08U0M', channels = 1, chips = 1, blocks = 16, pages = 8, planes = 1 }\n\
             ftl = { capacity = '128KiB', gc = { shared-log = true } }",
        );
        let config = config.downcast_ref::<PageConfig>().expect("a page-mapped drive").clone();
        let mut rig: Rig<PageFtl> = Rig::with(config, &array);
        let slots = rig.ftl.geometry.superblock_slots();
        (0..slots).chain([0]).for_each(|lpn| rig.write(&[lpn], None));
        rig.run_until_idle();
        let mask = full_mask(rig.ftl.geometry.sectors);
        rig.with_ftl(|ftl, flash, host| {
            ftl.begin_write(0);
            for lpn in (slots..).take(ftl.program_slots() as usize).map(Lpn::new) {
                let unit = PageWrite {
                    lpn,
                    owner: None,
                    at: 0,
                    mask,
                    version: 99,
                    old_place: OldPlace::Unasked,
                    stream: None,
                };
                ftl.write(flash, host, unit);
            }
            assert!(ftl.pools[0].program.is_none() && ftl.pools[0].list.is_some(), "the request has filled a program");
            let closed = ftl.victims[Holds::Data].cheapest(0).expect("the first superblock is full and has garbage");
            ftl.take_victim(0, closed, Cause::Gc);
            let room = ftl.copy_room(0, Stream::HOST);
            assert!(ftl.gather(flash, 0, room) && ftl.copy(flash, 0, Stream::HOST));
            ftl.end_write(flash, host);
        });
        // The media refuse a program of a page behind an erased one.
        rig.run_until_idle();
    }

    #[test]
    fn the_weight_of_the_collector_follows_the_valid_units_of_each_victim() {
        for map in ["dftl", "cdftl", "fmmu"] {
            let mut rig = Rig::new(&format!(
                "flash = {{ part = 'dirik-2009', channels = 1, chips = 1, blocks = 40, pages = 16 }}\n\
                 ftl = {{ map-unit = '1KiB', over-provisioning = '60%', map = {{ kind = '{map}' }} }}"
            ));
            let units = rig.units();
            rig.backend.set_timed(false);
            (0..units).for_each(|lpn| rig.write(&[lpn], None));
            (0..units / 2).for_each(|i| rig.write(&[i * 7919 % units], None));
            rig.run_until_idle();
            let ftl = rig.ftl.downcast_mut::<PageFtl>().expect("a page-mapped drive");
            let slots = ftl.geometry.superblock_slots();
            let mut closed: Vec<SuperblockId> = (0..ftl.geometry.superblock_count()).map(SuperblockId::new).collect();
            closed.retain(|superblock| {
                ftl.blocks.state(*superblock) == State::Closed && ftl.pool_of(*superblock) < ftl.groups
            });
            closed.sort_by_key(|superblock| ftl.blocks.valid(*superblock));
            let (emptiest, fullest) = (closed[0], closed[closed.len() - 1]);
            assert!(ftl.blocks.valid(fullest) - ftl.blocks.valid(emptiest) >= slots / 4, "two that differ");
            for victim in [fullest, emptiest] {
                let Mapping::MapUnit(map_client) = &ftl.mapping else { panic!("it has a map unit") };
                let before = format!("{:?}", map_client.unit);
                let mut told = map_client.unit.clone();
                told.set_collector_weight(ftl.blocks.valid(victim), slots);
                ftl.take_victim(ftl.pool_of(victim), victim, Cause::Gc);
                let Mapping::MapUnit(map_client) = &ftl.mapping else { panic!("it has a map unit") };
                let after = format!("{:?}", map_client.unit);
                assert!(after == format!("{told:?}") && after != before, "{map} was not notified of {victim}");
            }
        }
    }
}
