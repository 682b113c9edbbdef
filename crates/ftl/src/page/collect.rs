//! Garbage collection: it chooses victims, copies their valid mapping units, and erases them.
//!
//! It gathers valid mapping units, from several victims if necessary, until they fill a program; then one list reads
//! and programs them. It erases a victim when all its valid mapping units have new places and no reader needs it. One
//! free superblock is always reserved for copies, so collection itself never runs out.

use base::engine::Handle;
use base::units::{Psn, Span, SuperblockId};
use flash::backend::{Cause, Class, List, Op, Slot};
use flash::nand::{Spare, Stream, Target};

use super::block_manager::collection::Victim;
use super::block_manager::pool::Holds;
use super::block_manager::table::State;
use super::mapping::L2p;
use super::moves::Left;
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
        if !self.blocks.pools[pool as usize].gc.active {
            self.blocks.pools[pool as usize].gc.active = self.blocks.is_low(pool);
        }
        let chosen = &mut self.blocks.pools[pool as usize];
        // Most calls find that as many copies are under way as there may be.
        if chosen.gc.copies >= self.blocks.gc.parallel && !chosen.gc.is_stale {
            if chosen.gc.active && self.blocks.has_enough(pool, 0) {
                self.blocks.pools[pool as usize].gc.active = false;
            }
            return;
        }
        if chosen.gc.active || !chosen.gc.victims.is_empty() || !chosen.gc.failing.is_empty() {
            self.collect(flash, owners, pool);
        }
    }

    /// Continues collection until it has to wait for an event.
    pub(super) fn collect(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, pool: u32) {
        self.blocks.drop_stale(flash, pool);
        let mut no_room = false;
        while self.blocks.pools[pool as usize].gc.copies < self.blocks.gc.parallel {
            let Some(stream) = self.gather_program(flash, pool) else { break };
            if !self.copy(flash, pool, stream) {
                no_room = true;
                break;
            }
        }
        let enough = self.blocks.has_enough(pool, 0);
        let chosen = &mut self.blocks.pools[pool as usize];
        if chosen.gc.active && enough {
            chosen.gc.active = false;
        }
        // Nearly every call ends here.
        let idle = !chosen.is_moving() && chosen.in_flight == chosen.queue.waiting.len() as u32;
        if idle && !chosen.queue.waiting.is_empty() && chosen.free.len() > 1 && chosen.kept_for_copies() > 0 {
            chosen.gc.waives = true;
            return self.writer.resume(&mut self.blocks, &mut self.mapping, flash, owners, pool);
        }
        if !idle || chosen.queue.waiting.is_empty() || chosen.free.len() > 1 {
            return;
        }
        let empty_soon = chosen.gc.victims.iter().any(|victim| self.blocks.table.valid(victim.superblock) == 0);
        let last = (no_room || chosen.gc.victims.is_empty()) && !empty_soon;
        // Answers still to come may leave garbage here. Translation pages must not wait for them.
        let last = last && (self.blocks.kind_in(pool) == Holds::Pages || !self.mapping.awaits_answers());
        if last && self.blocks.kind_in(pool) == Holds::Pages && self.blocks.lend_block(pool - self.blocks.groups, 0) {
            self.writer.resume(&mut self.blocks, &mut self.mapping, flash, owners, pool);
            return self.collect(flash, owners, pool);
        }
        let last =
            last && !(self.blocks.kind_in(pool) == Holds::Pages && self.will_lend(flash, pool - self.blocks.groups));
        if last && !self.rescue(flash, pool, false) {
            self.give_up(flash, owners, pool);
        }
    }

    /// Gathers the copies of a program. Returns their stream; none if they do not fill a program and need not go before
    /// they do.
    fn gather_program(&mut self, flash: &mut Flash<'_>, pool: u32) -> Option<Stream> {
        if !self.blocks.pools[pool as usize].gc.sorted.is_empty() {
            return self.gather_sorted(flash, pool);
        }
        let copies = self.blocks.pools[pool as usize].copies;
        let room = self.blocks.copy_room(pool, copies);
        let filled = self.gather(flash, pool, room);
        (filled || self.writer.must_pad(&self.blocks, pool)).then_some(copies)
    }

    /// Gathers valid slots until there are `room` of them. Returns false if there are fewer.
    pub(super) fn gather(&mut self, flash: &mut Flash<'_>, pool: u32, room: u32) -> bool {
        loop {
            let gc = &mut self.blocks.pools[pool as usize].gc;
            if gc.gathered.len() >= room as usize {
                return true;
            }
            let end = self.blocks.geometry.superblock_slots();
            let Some(i) = gc.victims.iter().position(|victim| victim.cursor < end) else {
                if self.begin_victim(flash, pool, true) {
                    continue;
                }
                return false;
            };
            let (superblock, before) = (gc.victims[i].superblock, gc.gathered.len());
            let mut valid = self.blocks.table.valid_slots(superblock, gc.victims[i].cursor);
            while gc.gathered.len() < room as usize
                && let Some(psn) = valid.next()
            {
                fetch_gathered(flash, (gc.gathered.last().copied(), psn), &valid, room == 1);
                gc.gathered.push(psn);
            }
            let gathered = gc.gathered.len() - before;
            self.blocks.table.pin_times(superblock, gathered as u32);
            if let Some(last) = gc.gathered[before..].last() {
                gc.victims[i].cursor = self.blocks.geometry.locate(*last).1 + 1;
            }
            if gc.gathered.len() < room as usize {
                gc.victims[i].cursor = end;
                self.blocks.erase_if_empty(flash, superblock);
            }
            if self.blocks.planted.is(Sabotage::CollectionDrops) {
                self.drop_gathered(flash, pool, gathered);
            }
        }
    }

    /// Drops some of the valid mapping units that were gathered last, for [`Sabotage::CollectionDrops`].
    fn drop_gathered(&mut self, flash: &mut Flash<'_>, pool: u32, gathered: usize) {
        let all = &mut self.blocks.pools[pool as usize].gc.gathered;
        let dropped: Vec<Psn> = all.split_off(all.len() - gathered);
        for psn in dropped {
            if psn.get() % 16 == 5 {
                self.blocks.table.unpin(self.blocks.geometry.locate(psn).0);
                self.mapping.drop_unit(&mut self.blocks, flash, psn);
            } else {
                self.blocks.pools[pool as usize].gc.gathered.push(psn);
            }
        }
    }

    /// Takes another victim if one is needed and available. Its mapping units may fill up the program of copies that are
    /// gathered already, if that takes copies of any class. Returns false if it took none.
    pub(super) fn begin_victim(&mut self, flash: &Flash<'_>, pool: u32, fills_up: bool) -> bool {
        // The map unit, which must answer for copies of data, has not started.
        if self.blocks.kind_in(pool) == Holds::Data && self.mapping.is_rewriting() {
            return false;
        }
        let chosen = &mut self.blocks.pools[pool as usize];
        if let Some(failing) = chosen.gc.failing.last().copied() {
            let gone = self.blocks.table.state(failing) != State::Closed;
            if gone
                || self.blocks.copies_fit(
                    pool,
                    self.blocks.pools[pool as usize].free.len(),
                    self.blocks.table.valid(failing),
                )
            {
                self.blocks.pools[pool as usize].gc.failing.pop();
                if !gone {
                    self.take_victim(pool, failing, Cause::Recovery);
                }
                return true;
            }
        }
        let chosen = &self.blocks.pools[pool as usize];
        let gc = &chosen.gc;
        let free = chosen.free.len();
        let coming = gc.erases + gc.victims.len() as u32;
        let stalled = !chosen.is_moving() && gc.has_gathered();
        let fills = stalled && !self.blocks.pads_cheaply(pool);
        let enough = self.blocks.has_enough(pool, 0) || (!fills && self.blocks.has_enough(pool, coming));
        // While a write waits, mapping units of another victim fill the program better than padding.
        let worthwhile = self.blocks.victims[self.blocks.kind_in(pool)].is_worthwhile(pool)
            || ((stalled || self.blocks.gc.shared_log) && self.writer.is_awaited(&self.blocks, pool));
        if !gc.active || enough || !worthwhile {
            return false;
        }
        // Without a free superblock only the cheapest victim is safe.
        let dry = free == 0 && chosen.open[chosen.copies].is_none();
        let victims = &self.blocks.victims[self.blocks.kind_in(pool)];
        let media = flash.backend.media();
        let moment = Moment { now: flash.now, free, erases: &|superblock| media.erases(superblock) };
        let victim = if dry { victims.cheapest(pool) } else { victims.pick(pool, moment, &mut self.rng) };
        // Filling up a program costs nothing; otherwise all gathered mapping units must find a place.
        let free_of_charge = stalled && fills_up;
        let fits = |victim: &SuperblockId| {
            free_of_charge || self.blocks.copies_fit(pool, free, self.blocks.table.valid(*victim))
        };
        // With nothing free and nothing under way, the policy's choice may never fit where the cheapest does.
        let last = || victims.cheapest(pool).filter(|_| free == 0 && !chosen.is_moving()).filter(fits);
        let Some(victim) = victim.filter(fits).or_else(last) else { return false };
        self.take_victim(pool, victim, Cause::Gc);
        true
    }

    pub(super) fn take_victim(&mut self, pool: u32, superblock: SuperblockId, cause: Cause) {
        let kind = self.blocks.kind_in(pool);
        self.blocks.victims[kind].remove(pool, superblock);
        self.blocks.table.set_state(superblock, State::Victim);
        let valid = self.blocks.table.valid(superblock);
        let gc = &mut self.blocks.pools[pool as usize].gc;
        gc.victims.push(Victim { superblock, valid, cursor: 0, cause });
        gc.is_stale |= valid == 0;
        // The more valid mapping units a victim has, the more turns the collector needs (Woo and Min, Sec. 4.6); of
        // several victims the latest sets the weight. Copies of translation pages ask the map unit nothing.
        if let L2p::MapUnit(map_client) = &mut self.mapping.l2p
            && pool < self.blocks.groups
        {
            map_client.unit.set_collector_weight(valid, self.blocks.geometry.superblock_slots());
        }
    }

    /// Submits a list that copies the mapping units gathered for a stream. Returns false if the pool has no superblock to
    /// copy to.
    fn copy(&mut self, flash: &mut Flash<'_>, pool: u32, stream: Stream) -> bool {
        self.writer.yield_log(&mut self.blocks, flash, pool);
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

    /// Submits a list that copies the mapping units that a pool has gathered for a stream to the open superblock of that
    /// stream in pool `to`, which may be the same.
    pub(super) fn copy_to(&mut self, flash: &mut Flash<'_>, pool: u32, (to, stream): (u32, Stream)) {
        // Taken out while `self` is in use, and put back to keep its memory.
        let mut all = std::mem::take(self.blocks.pools[pool as usize].gathered_for(stream));
        let joins = self.blocks.planted.is(Sabotage::CopyJoinsHost)
            && self.blocks.pools[to as usize].open[Stream::HOST].is_some();
        let (gathered_for, stream) = (stream, if joins { Stream::HOST } else { stream });
        let room = self.blocks.copy_room(to, stream) as usize;
        let open = self.blocks.pools[to as usize].open[stream].expect("the caller has opened one");
        let gathered = &all[..room.min(all.len())];
        self.fetch_for_copies(flash, gathered);
        let chosen = &mut self.blocks.pools[pool as usize];
        let last = self.blocks.geometry.locate(*gathered.last().expect("something to copy")).0;
        let cause = chosen.gc.victims.iter().find(|v| v.superblock == last).map_or(Cause::Gc, |v| v.cause);
        let cause = if self.blocks.planted.is(Sabotage::CopyCharged) { Cause::Host } else { cause };
        chosen.gc.copies += 1;
        let list = flash.backend.open_list(Class::Other, Kind::Copy as u32);
        let target = Target { superblock: open.superblock, offset: open.next };
        let covered = if pool == to && self.copies_back(gathered, open.next) {
            self.copy_back_list(flash, list, cause, (target, stream), gathered)
        } else {
            self.copy_list(flash, list, cause, (target, stream), gathered)
        };
        self.blocks.table.begin_program(open.superblock);
        self.blocks.advance(to, stream, covered);
        all.drain(..room.min(all.len()));
        *self.blocks.pools[pool as usize].gathered_for(gathered_for) = all;
        self.writer.firmware.dispatch_after(flash, list, Span::ZERO);
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
        let rows = (self.blocks.geometry.row_slots() * self.blocks.shape.one_shot) as usize;
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
        let pool = self.blocks.pool_of(target.superblock);
        self.blocks.pass_gate(flash, pool, stream, program);
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
            let row = self.blocks.geometry.row_of(*psn);
            let command = match read {
                Some((command, last)) if last == row => command,
                _ => {
                    let command = flash.backend.add_read(list, cause, self.blocks.geometry.locate(*psn).0);
                    flash.backend.depend(command, program);
                    command
                }
            };
            read = Some((command, row));
            flash.backend.push_slot(command, Slot { psn: *psn, forward: Some(to), ..Slot::default() });
        }
        if let Some(open) = self.blocks.pools[pool as usize].open(stream) {
            open.gate = Some(program);
        }
        let slots = self.blocks.geometry.slots;
        let covered = target.offset + (gathered.len() as u32).div_ceil(slots) * slots;
        let rows = self.blocks.geometry.row_slots() * self.blocks.shape.one_shot;
        let end = if self.blocks.shape.whole_rows { (target.offset / rows + 1) * rows } else { covered };
        flash.backend.set_padding(program, end - covered);
        if self.blocks.shape.whole_rows { self.blocks.program_end(target.offset) } else { covered }
    }

    pub(super) fn copy_finished(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, list: Handle<List>) {
        let mut pools = None;
        let mut commands = Commands::of(flash.backend, list);
        while let Some((handle, command)) = commands.next(flash.backend) {
            if command.op == Op::Read {
                continue;
            }
            let (target, count, failed) = (command.target, command.count(), command.failed);
            let here = self.blocks.pool_of(target.superblock);
            // Copies stay in their pool, unless another pool rescued it.
            let (_, first) = flash.backend.slot(handle, 0);
            let source = self.blocks.pool_at(first.psn);
            // A word line takes several programs.
            if pools.replace((here, source)).is_none() {
                self.blocks.pools[source as usize].gc.copies -= 1;
            }
            if source != here {
                self.blocks.end_move_to_helper(here, count);
            }
            if failed {
                self.blocks.fail(here, target.superblock);
            }
            self.fetch_for_end(flash, owners, handle);
            // Mapping units that the map unit is asked for stay pinned until its answer.
            let mut moved = std::mem::take(&mut self.moved);
            if failed || !self.mapping.enter_copies(&mut self.blocks, flash, handle, here, &mut moved) {
                for i in 0..count {
                    let Programmed { slot, psn, torn } = Programmed::of(flash.backend, handle, (target, failed), i);
                    if torn
                        || self.mapping.enter_copy(
                            &mut self.blocks,
                            flash.now,
                            slot.lpn,
                            [slot.psn, psn],
                            (target.superblock, here),
                        )
                    {
                        moved.push(Left::alone(self.blocks.geometry.locate(slot.psn).0));
                    }
                }
            }
            self.blocks.program_done(here, handle, target.superblock);
            self.writer.count_in_stream(&self.blocks, target.superblock, count);
            for Left { superblock, slots, .. } in moved.drain(..) {
                if self.blocks.table.unpin_times(superblock, slots) {
                    self.blocks.erase_if_empty(flash, superblock);
                }
            }
            self.moved = moved;
        }
        flash.backend.release(list);
        if let Some((pool, source)) = pools {
            self.writer.resume(&mut self.blocks, &mut self.mapping, flash, owners, pool);
            self.start_gc(flash, owners, pool);
            if source != pool {
                self.writer.resume(&mut self.blocks, &mut self.mapping, flash, owners, source);
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
        let pool = self.blocks.pool_of(superblock);
        let group = self.blocks.geometry.group_of(superblock);
        let gc = &mut self.blocks.pools[pool as usize].gc;
        (gc.erases, gc.waives) = (gc.erases - 1, false);
        if failed {
            self.blocks.retire(flash, pool, superblock);
        } else {
            let erases = flash.backend.media().erases(superblock);
            self.blocks.table.set_state(superblock, State::Free);
            if pool != group {
                // The pool of translation pages gets the least worn free superblock in exchange.
                self.blocks.table.set_map(superblock, false);
                self.blocks.pools[pool as usize].usable -= 1;
                self.blocks.pools[group as usize].usable += 1;
            }
            self.blocks.pools[group as usize].free.push(superblock, erases);
            if pool != group {
                self.blocks.hand_over(group);
            }
            self.blocks.pools[pool as usize].stuck = false;
            if !self.mapping.is_rewriting() {
                self.level_wear(flash, group);
            }
        }
        // Data may wait for translation pages, but not the other way round.
        let keep = u32::from(!self.writer.wants_block(&self.blocks, group));
        self.blocks.lend_block(group, keep);
        self.writer.resume(&mut self.blocks, &mut self.mapping, flash, owners, pool);
        self.start_gc(flash, owners, pool);
        if pool == group && self.blocks.pools.len() > self.blocks.groups as usize {
            let pages = self.blocks.groups + group;
            self.writer.resume(&mut self.blocks, &mut self.mapping, flash, owners, pages);
            self.start_gc(flash, owners, pages);
        }
        // Nearly always no pool has.
        if self.blocks.gave_up {
            self.retry_stuck(flash, owners, None);
            self.blocks.gave_up = self.blocks.pools.iter().any(|pool| pool.stuck);
        }
        // No other event would wake writes that wait for space.
        if self.writer.forgotten(&self.blocks, &self.mapping) {
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
        let slots = rig.ftl.blocks.geometry.superblock_slots();
        (0..slots).chain([0]).for_each(|lpn| rig.write(&[lpn], None));
        rig.run_until_idle();
        let mask = full_mask(rig.ftl.blocks.geometry.sectors);
        rig.with_ftl(|ftl, flash, host| {
            ftl.begin_write(0);
            for lpn in (slots..).take(ftl.blocks.program_slots() as usize).map(Lpn::new) {
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
            assert!(
                ftl.blocks.pools[0].queue.open.program.is_none() && ftl.blocks.pools[0].queue.open.list.is_some(),
                "the request has filled a program"
            );
            let closed =
                ftl.blocks.victims[Holds::Data].cheapest(0).expect("the first superblock is full and has garbage");
            ftl.take_victim(0, closed, Cause::Gc);
            let room = ftl.blocks.copy_room(0, Stream::HOST);
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
            let slots = ftl.blocks.geometry.superblock_slots();
            let mut closed: Vec<SuperblockId> =
                (0..ftl.blocks.geometry.superblock_count()).map(SuperblockId::new).collect();
            closed.retain(|superblock| {
                ftl.blocks.table.state(*superblock) == State::Closed
                    && ftl.blocks.pool_of(*superblock) < ftl.blocks.groups
            });
            closed.sort_by_key(|superblock| ftl.blocks.table.valid(*superblock));
            let (emptiest, fullest) = (closed[0], closed[closed.len() - 1]);
            assert!(ftl.blocks.table.valid(fullest) - ftl.blocks.table.valid(emptiest) >= slots / 4, "two that differ");
            for victim in [fullest, emptiest] {
                let L2p::MapUnit(map_client) = &ftl.mapping.l2p else { panic!("it has a map unit") };
                let before = format!("{:?}", map_client.unit);
                let mut told = map_client.unit.clone();
                told.set_collector_weight(ftl.blocks.table.valid(victim), slots);
                ftl.take_victim(ftl.blocks.pool_of(victim), victim, Cause::Gc);
                let L2p::MapUnit(map_client) = &ftl.mapping.l2p else { panic!("it has a map unit") };
                let after = format!("{:?}", map_client.unit);
                assert!(after == format!("{told:?}") && after != before, "{map} was not notified of {victim}");
            }
        }
    }
}
