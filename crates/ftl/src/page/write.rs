//! Host writes, up to their programs.

use std::collections::VecDeque;

use base::engine::Handle;
use base::units::SuperblockId;
use flash::backend::{Cause, Class, Command, SlotRef};
use flash::nand::{Stream, Target};

use super::blocks::State;
use super::pool::{Assembly, Holds, Open};
use super::{Kind, PageFtl};
use crate::port::{Flash, Owners, PageWrite, Service};
use crate::sabotage::Sabotage;
use crate::toolkit::{push_unit, read_rest};

impl PageFtl {
    /// Begins a write request of an owner in an NVM set; its mapping units follow.
    pub(crate) fn begin_write(&mut self, set: u32) {
        self.begin_request(set);
        self.charge_request();
    }

    /// Accepts one mapping unit of the request.
    pub(crate) fn write(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, unit: PageWrite) {
        self.note_write(&unit);
        let unit = self.with_stream(owners, unit);
        let set = self.set_of(owners, &unit);
        if set != self.set_of_pages() && self.is_out_of_pages() {
            return self.refuse(owners, &unit);
        }
        let drops = self.planted.is(Sabotage::UntimedDropped) && unit.version % 3 == 2 && unit.lpn.get() < self.units;
        if drops && !flash.backend.is_timed() {
            return owners.write_done(unit.owner, Service::NONE);
        }
        if self.asks_place(flash, &unit) {
            return;
        }
        self.fetch_for_write(flash, unit.lpn);
        let unplaced = &mut self.unplaced[set as usize];
        if !unplaced.is_empty() {
            self.stalled = true;
            return unplaced.push_back(unit);
        }
        match self.place(flash, owners, set, &unit) {
            Some(pool) => self.accept(flash, owners, pool, unit),
            None if self.makes_room(set) => {
                self.stalled = true;
                self.unplaced[set as usize].push_back(unit);
            }
            None => {
                self.stalled = true;
                self.unplaced[set as usize].push_back(unit);
                self.place_unplaced(flash, owners);
            }
        }
    }

    const fn set_of_pages(&self) -> u32 {
        self.unplaced.len() as u32 - 1
    }

    #[inline]
    fn set_of(&self, owners: &dyn Owners, unit: &PageWrite) -> u32 {
        if self.kind_of(unit.lpn) == Holds::Data { owners.set(unit.owner) } else { self.set_of_pages() }
    }

    /// True if work in progress may leave garbage in the pools of a set. Translation pages wait neither for data nor
    /// for the map unit, because both may wait for them.
    fn makes_room(&self, set: u32) -> bool {
        let programming =
            |set: u32| self.sets[set as usize].iter().any(|pool| self.pools[*pool as usize].in_flight > 0);
        let pages = self.set_of_pages();
        programming(set) || (set != pages && (programming(pages) || self.awaits_answers()))
    }

    /// True if writes of a set wait for space while no work in progress would wake them.
    pub(super) fn forgotten(&self) -> bool {
        let waits = |set: &u32| !self.unplaced[*set as usize].is_empty() && !self.makes_room(*set);
        (0..self.unplaced.len() as u32).any(|set| waits(&set))
    }

    /// Puts a write into the program of its pool, or lets it wait there.
    #[inline(always)]
    #[allow(clippy::inline_always)] // One caller for new writes and a rare one.
    fn accept(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, pool: u32, unit: PageWrite) {
        let set = owners.set(unit.owner);
        let chosen = &mut self.pools[pool as usize];
        chosen.live += 1;
        chosen.in_flight += 1;
        if !chosen.waiting.is_empty() || !self.append(flash, owners, pool, &unit) {
            self.let_wait(pool, unit);
            self.stalled = true;
            if self.kind_in(pool) == Holds::Pages {
                self.end_gathering(pool);
                return self.start_gc(flash, owners, pool);
            }
            // A waiting write counts as programmed: the next write goes where it would then have gone. Otherwise all
            // writes would meet in one queue.
            self.waited += 1;
            if self.waited == self.program_slots() {
                self.waited = 0;
                self.placer.program_filled(set, false);
            }
            self.waited_set = set;
            self.start_gc(flash, owners, pool);
        }
    }

    /// Lets a write wait for space in its pool.
    pub(super) fn let_wait(&mut self, pool: u32, unit: PageWrite) {
        self.pools[pool as usize].waiting.push_back(unit);
        if self.kind_in(pool) == Holds::Data {
            self.with_waiting.insert(pool);
            self.note_load(pool);
        }
    }

    /// The first data pool with waiting writes, from `pool` on.
    pub(super) fn first_with_waiting(&mut self, pool: u32) -> Option<u32> {
        loop {
            let found = self.with_waiting.first_from(pool)?;
            if !self.pools[found as usize].waiting.is_empty() {
                return Some(found);
            }
            self.with_waiting.remove(found);
        }
    }

    /// Places the unplaced writes again, after older copies have become garbage. Refuses one only if no work in
    /// progress can free space.
    pub(super) fn place_unplaced(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners) {
        if self.unplaced.iter().all(VecDeque::is_empty) {
            return;
        }
        // Translation pages first, because data may wait for them.
        for set in (0..self.unplaced.len() as u32).rev() {
            self.place_unplaced_of_set(flash, owners, set);
        }
        self.end_write(flash, owners);
        self.announce_room(owners);
    }

    fn place_unplaced_of_set(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, set: u32) {
        let pages = set == self.set_of_pages();
        while let Some(unit) = self.unplaced[set as usize].front().copied() {
            if self.asks_place(flash, &unit) {
                self.unplaced[set as usize].pop_front();
                continue;
            }
            match self.place(flash, owners, set, &unit) {
                Some(pool) => {
                    self.unplaced[set as usize].pop_front();
                    self.accept(flash, owners, pool, unit);
                }
                None if self.makes_room(set) => break,
                None if !pages && self.retry_stuck(flash, owners, Some(set)) => break,
                None if pages && self.make_room_for_pages(unit.lpn) => {}
                None if pages && self.will_have_pages(flash) => break,
                None if pages && self.store_anywhere(flash, owners, &unit) => {
                    self.unplaced[set as usize].pop_front();
                }
                None => {
                    self.unplaced[set as usize].pop_front();
                    if pages {
                        self.keep_page(flash, unit.lpn.get() - self.units);
                    } else {
                        self.refuse(owners, &unit);
                    }
                }
            }
        }
    }

    /// Writes a translation page to any log with room beside the copies that it needs. Returns false if none has.
    fn store_anywhere(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, unit: &PageWrite) -> bool {
        let Some(pool) = self.pool_for_last_page() else { return false };
        // A program of its own, which waits for nothing.
        self.pools[pool as usize].turn_to(Stream::HOST);
        self.send(flash, pool);
        let chosen = &mut self.pools[pool as usize];
        chosen.live += 1;
        chosen.in_flight += 1;
        self.begin_program(flash, pool, true).expect("it has room");
        self.append(flash, owners, pool, unit);
        self.send(flash, pool);
        true
    }

    /// Ends a write request: submits the programs under assembly, except those that wait for more data.
    pub(crate) fn end_write(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners) {
        if std::mem::take(&mut self.waited) > 0 {
            self.placer.program_filled(self.waited_set, false);
        }
        // With time off, no program in progress makes space for a write that waits.
        let hurries = std::mem::take(&mut self.stalled) && !flash.backend.is_timed();
        // A collection that this write makes due goes first, too, and the write waits for it.
        let collects_first = flash.backend.is_timed() && flash.backend.collects_first();
        let mut touched = std::mem::take(&mut self.touched);
        touched.retain(|pool| {
            let held = self.is_held(*pool);
            if !held {
                if collects_first {
                    self.start_gc(flash, owners, *pool);
                }
                self.end_lists(flash, *pool, hurries);
                self.start_gc(flash, owners, *pool);
            }
            held
        });
        self.touched = touched;
        if hurries {
            self.close_programs(flash, owners);
        }
    }

    pub(super) fn program_slots(&self) -> u32 {
        self.geometry.row_slots() * self.word_line
    }

    /// The end of the rows that are written at once from `offset` on: of its row, or of its word line's rows.
    pub(super) fn program_end(&self, offset: u32) -> u32 {
        (self.by_program_slots.quotient(offset) + 1) * self.program_slots()
    }

    /// Adds a write to the program under assembly in a pool. Returns false if the pool has no free superblock for it
    /// now.
    #[inline(always)]
    #[allow(clippy::inline_always)] // Most writes go into a program that has room: a call would cost them 25 instructions.
    pub(super) fn append(
        &mut self,
        flash: &mut Flash<'_>,
        owners: &mut dyn Owners,
        pool: u32,
        unit: &PageWrite,
    ) -> bool {
        self.pools[pool as usize].turn_to(unit.stream.unwrap_or_default());
        // Most units are whole, and do not fill their program.
        if let Some(assembly) = self.pools[pool as usize].program
            && takes_more(flash, assembly)
            && unit.is_whole(self.geometry.sectors)
            && self.kind_in(pool) == Holds::Data
            && self.checkpoints.is_none()
        {
            self.pools[pool as usize].set = owners.set(unit.owner);
            push_unit(flash, owners, assembly.command, unit);
            return true;
        }
        self.append_to_next(flash, owners, pool, unit)
    }

    /// The same where a program begins, ends, or takes a part of a mapping unit.
    #[inline(never)]
    fn append_to_next(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, pool: u32, unit: &PageWrite) -> bool {
        self.part_programs(flash, pool, unit);
        let assembly = match self.open_program(flash, pool) {
            Some(assembly) if !is_full(flash, assembly) => assembly,
            // The next row of the word line.
            Some(assembly) => {
                self.advance(pool, self.pools[pool as usize].stream, assembly.end);
                owners.charge(unit.owner);
                self.add_program(flash, pool, false)
            }
            None => {
                let Some(assembly) = self.begin_program(flash, pool, false) else { return false };
                owners.charge(unit.owner);
                assembly
            }
        };
        self.pools[pool as usize].set = owners.set(unit.owner);
        let to = push_unit(flash, owners, assembly.command, unit);
        let missed = self.planted.is(Sabotage::RestUnread) && unit.is_whole(self.geometry.sectors - 1);
        if !unit.is_whole(self.geometry.sectors) && !missed {
            self.read_rest(flash, owners, pool, unit, (assembly.command, to));
        }
        let count = flash.backend.command(assembly.command).count();
        let last_row = || assembly.end == self.program_end(assembly.start);
        if (is_full(flash, assembly) && last_row()) || self.is_gathered(pool, count) {
            self.end_program(flash, pool);
            if self.pools[pool as usize].held {
                self.send(flash, pool);
            }
        }
        true
    }

    /// The program under assembly in a pool. A full one ends here if an earlier program has failed in its superblock:
    /// the word line does not go on.
    fn open_program(&mut self, flash: &mut Flash<'_>, pool: u32) -> Option<Assembly> {
        let chosen = &self.pools[pool as usize];
        let ended = chosen.open[chosen.stream].is_none();
        if self.pools[pool as usize].program.is_some_and(|assembly| ended && is_full(flash, assembly)) {
            self.end_program(flash, pool);
        }
        self.pools[pool as usize].program
    }

    /// Reads the other sectors of a partly written mapping unit. Later programs to the superblock wait for this one.
    fn read_rest(
        &mut self,
        flash: &mut Flash<'_>,
        owners: &mut dyn Owners,
        pool: u32,
        unit: &PageWrite,
        program: (Handle<Command>, SlotRef),
    ) {
        let Some(psn) = self.rest_of(unit) else { return };
        let list = self.pools[pool as usize].list.expect("a program is in a list");
        let (superblock, _) = self.geometry.locate(psn);
        if !self.planted.is(Sabotage::PinForgotten) {
            self.blocks.pin(superblock);
        }
        read_rest(flash, owners, list, (unit, psn), program);
        let stream = self.pools[pool as usize].stream;
        if let Some(open) = self.pools[pool as usize].open(stream) {
            open.gate = (!self.planted.is(Sabotage::GateForgotten)).then_some(program.0);
        }
    }

    /// Begins a program in the log of a pool; or as a `last` resort, without regard to its reserve, one of translation
    /// pages.
    fn begin_program(&mut self, flash: &mut Flash<'_>, pool: u32, last: bool) -> Option<Assembly> {
        let free = self.pools[pool as usize].free.len();
        let stream = self.pools[pool as usize].stream;
        let opens = self.pools[pool as usize].open(stream).is_none();
        if self.gc.shared_log && !last && !self.shares_room(pool, free, opens) {
            return None;
        }
        if opens {
            // One free superblock is reserved for copies of garbage collection, more during a collection.
            let least = 1 + self.pools[pool as usize].kept_for_copies();
            let kept = !self.gc.shared_log && (free <= least || !self.copies_fit(pool, free - 1, 0));
            if kept && (free == 0 || !self.planted.is(Sabotage::ReserveTaken)) {
                return None;
            }
            // Copies of wear levelling may be on their way to it.
            let worn = self.gc.shared_log && std::mem::take(&mut self.pools[pool as usize].gc.want_worn);
            self.open_superblock(pool, stream, worn);
        }
        Some(self.add_program(flash, pool, last))
    }

    /// Adds a program of the next row, or rows, of the open superblock to the list of a pool.
    fn add_program(&mut self, flash: &mut Flash<'_>, pool: u32, last: bool) -> Assembly {
        let chosen = &mut self.pools[pool as usize];
        let list = match chosen.list {
            Some(list) => list,
            None => {
                let list = flash.backend.open_list(Class::Other, Kind::Write as u32);
                chosen.list = Some(list);
                self.touched.push(pool);
                list
            }
        };
        let stream = chosen.stream;
        let open = chosen.open[stream].expect("just opened");
        let target = Target { superblock: open.superblock, offset: open.next };
        let cause = match self.kind_in(pool) {
            Holds::Data if self.stores_checkpoint => Cause::Map,
            Holds::Data if !last => Cause::Host,
            _ if self.is_rewriting() => Cause::Recovery,
            _ => Cause::Map,
        };
        let command = flash.backend.add_program(list, cause, target, stream);
        self.pass_gate(flash, pool, stream, command);
        self.blocks.begin_program(open.superblock);
        let rows = self.geometry.row_slots() * self.one_shot;
        let assembly = Assembly { command, start: open.next, end: (open.next / rows + 1) * rows };
        self.pools[pool as usize].program = Some(assembly);
        assembly
    }

    /// True if a write of the host may go to the open superblock that it shares with copies, or to a new one.
    ///
    /// While no superblock is free, the open one takes nothing but copies, so that a power cut leaves it empty: the
    /// originals are all there, and the mount can erase it. Otherwise each power cut would cost a superblock.
    fn shares_room(&self, pool: u32, free: u32, opens: bool) -> bool {
        let planted = free >= u32::from(opens) && self.planted.is(Sabotage::ReserveTaken);
        planted || (free > u32::from(opens) && self.copies_fit(pool, free, self.program_slots()))
    }

    /// Lets a program wait for the program before it, if that one waits for a read.
    pub(super) fn pass_gate(&mut self, flash: &mut Flash<'_>, pool: u32, stream: Stream, command: Handle<Command>) {
        let Some(open) = self.pools[pool as usize].open(stream) else { return };
        if let Some(gate) = open.gate {
            flash.backend.depend(gate, command);
            open.gate = Some(command);
        }
    }

    /// Takes a free superblock for a stream.
    ///
    /// # Panics
    /// If there is none: the caller has checked.
    pub(super) fn open_superblock(&mut self, pool: u32, stream: Stream, worn: bool) -> SuperblockId {
        let chosen = &mut self.pools[pool as usize];
        let free = if worn { chosen.free.pop_most_worn() } else { chosen.free.pop() };
        let superblock = free.expect("a free superblock");
        *chosen.open(stream) = Some(Open { superblock, next: 0, gate: None });
        self.blocks.set_state(superblock, State::Open);
        self.blocks.set_stream(superblock, stream);
        self.count_opening();
        superblock
    }

    /// Closes the program under assembly.
    fn end_program(&mut self, flash: &mut Flash<'_>, pool: u32) {
        let Some(assembly) = self.pools[pool as usize].program.take() else { return };
        self.end_gathering(pool);
        let count = flash.backend.command(assembly.command).count();
        let slots = self.geometry.slots;
        let covered = assembly.start + count.div_ceil(slots) * slots;
        let whole_rows = self.whole_rows && !self.planted.is(Sabotage::RowsUnfilled);
        let end = if whole_rows { assembly.end } else { covered };
        flash.backend.set_padding(assembly.command, end - covered);
        // Further rows of a word line stay erased.
        let next = if whole_rows { self.program_end(assembly.start) } else { covered };
        let full = self.advance(pool, self.pools[pool as usize].stream, next);
        if self.kind_in(pool) == Holds::Data {
            self.placer.program_filled(self.pools[pool as usize].set, full);
        }
    }

    /// Moves the next offset of a stream. Returns true if the superblock is now full.
    pub(super) fn advance(&mut self, pool: u32, stream: Stream, next: u32) -> bool {
        let open = self.pools[pool as usize].open(stream);
        let Some(current) = open else { return false };
        current.next = next;
        let full = next == self.geometry.superblock_slots();
        if full {
            let superblock = current.superblock;
            *open = None;
            self.blocks.set_state(superblock, State::Full);
        }
        full
    }

    pub(super) fn send(&mut self, flash: &mut Flash<'_>, pool: u32) {
        self.pools[pool as usize].held = false;
        self.end_program(flash, pool);
        if self.kind_in(pool) == Holds::Data {
            self.placer.take_turns(self.pools[pool as usize].set);
        }
        if let Some(list) = self.pools[pool as usize].list.take() {
            self.pools[pool as usize].writes += 1;
            self.count_begun(pool);
            self.note_load(pool);
            self.count_store(pool);
            self.dispatch(flash, list);
        }
    }

    /// Continues the waiting writes of a pool while it has space.
    #[inline]
    pub(super) fn resume(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, pool: u32) {
        if !self.pools[pool as usize].waiting.is_empty() {
            self.write_waiting(flash, owners, pool);
        }
    }

    #[inline(never)]
    fn write_waiting(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, pool: u32) {
        while let Some(unit) = self.pools[pool as usize].waiting.front().copied() {
            if self.asks_place(flash, &unit) {
                let chosen = &mut self.pools[pool as usize];
                chosen.waiting.pop_front();
                chosen.live -= 1;
                chosen.in_flight -= 1;
                continue;
            }
            if !self.append(flash, owners, pool, &unit) {
                break;
            }
            self.pools[pool as usize].waiting.pop_front();
        }
        self.touched.retain(|touched| *touched != pool);
        self.note_load(pool);
        // With several streams, what does not fill a program goes on waiting where it may.
        let all = self.streams.is_none() || !flash.backend.is_timed();
        self.end_lists(flash, pool, all);
        self.announce_room(owners);
    }
}

/// True if a program under assembly takes a mapping unit and is not full then.
#[inline]
fn takes_more(flash: &Flash<'_>, assembly: Assembly) -> bool {
    flash.backend.command(assembly.command).count() + 1 < assembly.end - assembly.start
}

/// True if a program under assembly takes no more mapping units.
fn is_full(flash: &Flash<'_>, assembly: Assembly) -> bool {
    flash.backend.command(assembly.command).count() == assembly.end - assembly.start
}

#[cfg(test)]
mod tests {
    use crate::PageFtl;
    use base::units::Lpn;

    use crate::port::{OldPlace, PageWrite};
    use crate::rig::Rig;

    #[test]
    fn unplaced_units_are_forgotten_if_no_program_is_in_flight() {
        let mut rig = Rig::new(
            "flash = { part = 'K9K8G08U0M', channels = 1, chips = 2, blocks = 40, pages = 16, planes = 1 }\n\
             [ftl]\nkind = 'page'\nover-provisioning = '60%'",
        );
        let ftl = rig.ftl.downcast_mut::<PageFtl>().expect("a page map");
        assert!(!ftl.forgotten(), "none waits");
        let unit = PageWrite {
            lpn: Lpn::new(0),
            owner: None,
            at: 0,
            mask: 1,
            version: 1,
            old_place: OldPlace::Unasked,
            stream: None,
        };
        ftl.unplaced[0].push_back(unit);
        assert!(ftl.forgotten());
        ftl.pools[1].in_flight = 1;
        assert!(!ftl.forgotten(), "a program's end will place it");
    }
}
