//! Host writes.

use base::units::SuperblockId;
use flash::backend::{Cause, Class};
use flash::nand::{Stream, Target};

use super::address::Lbn;
use super::awaited::Awaited;
use super::heap::Entry;
use super::logs::{LogId, Role};
use super::policy::Choice;
use super::{Kind, LogBlockFtl, Use};
use crate::port::{Flash, Owners, PageWrite};
use crate::toolkit::{push_unit, read_rest};

impl LogBlockFtl {
    pub(crate) fn begin_write(&mut self) {
        self.request_dies.clear();
    }

    /// Takes a mapping unit of the request.
    pub(crate) fn write(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, unit: PageWrite) {
        // Pages of a logical block stay in order: a waiting first page must not break a sequence.
        let (lbn, _) = self.address.split(unit.lpn);
        let behind = self.waiting.has(lbn);
        let placed = if behind { Err(Awaited::Nothing) } else { self.place(flash, owners, &unit) };
        if let Err(awaited) = placed {
            self.waiting.push(lbn, unit, awaited);
        }
    }

    /// Submits the programs of a complete request.
    pub(crate) fn end_write(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners) {
        self.send(flash);
        self.advance_merges(flash, owners);
    }

    /// Submits the lists of programs, one for each die.
    pub(super) fn send(&mut self, flash: &mut Flash<'_>) {
        while let Some(list) = self.programming.pop_first() {
            self.submit(flash, list);
        }
    }

    /// Places the waiting writes for which there is room now.
    pub(super) fn resume(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners) {
        let mut last = 0;
        while let Some(Entry { number, lbn }) = self.next_waiting() {
            debug_assert!(last < number, "a pass goes from old to young");
            last = number;
            let unit = self.waiting.take(lbn);
            self.request_dies.clear();
            match self.place(flash, owners, &unit) {
                Ok(()) => self.waiting.placed(lbn),
                Err(awaited) => self.waiting.refuse(lbn, awaited),
            }
        }
        self.waiting.end_pass();
        self.send(flash);
    }

    /// The logical block with the oldest waiting write that is worth an attempt. Within a pass a heap that is not worth
    /// one stays so: writes and queued merges only take room.
    fn next_waiting(&self) -> Option<Entry> {
        let oldest = |awaited| self.waiting.oldest_in(awaited);
        let mut next = oldest(Awaited::Nothing);
        for awaited in [Awaited::Log, Awaited::Sequential, Awaited::DataBlock] {
            let older = oldest(awaited).filter(|entry| next.is_none_or(|next| *entry < next));
            next = older.filter(|entry| self.is_worth_trying(awaited, entry.lbn)).or(next);
        }
        next
    }

    /// True if an attempt to place the oldest write of a logical block could do anything.
    pub(super) fn is_worth_trying(&self, awaited: Awaited, lbn: Lbn) -> bool {
        match awaited {
            Awaited::Nothing | Awaited::DataBlock => true,
            Awaited::Merge => false,
            Awaited::Log | Awaited::Sequential => {
                let (_, offset) = self.address.split(self.waiting.first(lbn).lpn);
                self.could_follow(self.policy.place(&self.logs, self.pages, lbn, offset))
            }
        }
    }

    /// True if a choice of the policy leads to a place, or queues a merge.
    pub(super) fn could_follow(&self, choice: Choice) -> bool {
        match choice {
            Choice::Append(_) | Choice::Merge(_) => true,
            Choice::Open(_) => self.host_may_take(false) || self.could_want_any_merge(),
            Choice::Wait => false,
        }
    }

    /// Finds a page for a mapping unit, and adds its program to the list of the die. If there is none now, returns what
    /// the unit waits for.
    fn place(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, unit: &PageWrite) -> Result<(), Awaited> {
        let (lbn, offset) = self.address.split(unit.lpn);
        let partly = !unit.is_whole(self.geometry.sectors);
        if partly && self.is_in_buffer(lbn) {
            return Err(Awaited::Merge);
        }
        let Some(target) = self.in_place(flash, lbn, offset).or_else(|| self.in_log(flash, lbn, offset)) else {
            let has_block = self.data[lbn as usize].is_some() || self.is_folding(lbn);
            let in_log = self.policy.awaited(&self.logs, lbn, offset);
            return Err(if has_block { in_log } else { Awaited::DataBlock });
        };
        let die = self.geometry.die_of(target.superblock);
        let list = self.programming.list(flash.backend, die, (Class::Other, Kind::Write.tag(0)));
        let command = flash.backend.add_program(list, Cause::Host, target, Stream::HOST);
        owners.charge(unit.owner);
        let to = push_unit(flash, owners, command, unit);
        if let Some(gate) = self.gates.of(target.superblock) {
            flash.backend.depend(gate, command);
            self.gates.set(target.superblock, command);
        }
        if partly && let Some(psn) = self.place_of(flash.backend.media(), unit.lpn) {
            // The controller of the source's die reads the old sectors; another controller may program.
            let (superblock, _) = self.geometry.locate(psn);
            self.block(superblock).pins += 1;
            let list = flash.backend.open_list(Class::Other, Kind::OldPlace.tag(0));
            read_rest(flash, owners, list, (unit, psn), (command, to));
            self.gates.set(target.superblock, command);
            self.submit(flash, list);
        }
        Ok(())
    }

    /// The page at the same offset of the data block, if it can still be programmed. The first write of a logical block
    /// allocates its data block.
    fn in_place(&mut self, flash: &Flash<'_>, lbn: Lbn, offset: u32) -> Option<Target> {
        if self.is_folding(lbn) {
            return None;
        }
        let superblock = match self.data[lbn as usize] {
            Some(superblock) => superblock,
            None => self.new_data_block(flash, lbn)?,
        };
        self.request_dies.push(self.geometry.die_of(superblock));
        let block = self.block(superblock);
        if block.failing || offset < block.next {
            return None;
        }
        block.next = offset + 1;
        block.programs += 1;
        Some(Target { superblock, offset })
    }

    fn new_data_block(&mut self, flash: &Flash<'_>, lbn: Lbn) -> Option<SuperblockId> {
        if !self.host_may_take(!self.logs.is_empty(lbn)) {
            return None;
        }
        // On another bus or chip than the request's other data blocks (Sung, Sec. 4.2).
        self.allocator.begin();
        self.request_dies.iter().for_each(|die| self.allocator.avoid(*die, true));
        let superblock = self.take_block(flash, Use::Data, None)?;
        self.with_orphans(lbn, |ftl| ftl.data[lbn as usize] = Some(superblock));
        Some(superblock)
    }

    /// True if one more free block can go to the host, and merges and orphans still have enough. An orphan has a block
    /// of its own.
    fn host_may_take(&self, orphan: bool) -> bool {
        let kept = self.orphans - u32::from(orphan) + self.spec.reserve() - 1;
        self.allocator.count() + self.destinations() > kept
    }

    /// The next page of the log block that the policy chooses.
    fn in_log(&mut self, flash: &Flash<'_>, lbn: Lbn, offset: u32) -> Option<Target> {
        let id = match self.policy.place(&self.logs, self.pages, lbn, offset) {
            Choice::Append(id) => id,
            Choice::Open(role) => match self.new_log_block(flash, lbn, role) {
                Some(id) => id,
                None => {
                    // Too many blocks have failed: there is no room for all log blocks.
                    self.want_any_merge();
                    return None;
                }
            },
            Choice::Merge(id) => {
                self.want_merge(id);
                return None;
            }
            Choice::Wait => return None,
        };
        let page = self.logs.take_page(id, lbn, offset);
        Some(Target { superblock: self.logs.log(id).superblock, offset: page })
    }

    fn new_log_block(&mut self, flash: &Flash<'_>, lbn: Lbn, role: Role) -> Option<LogId> {
        if !self.host_may_take(false) {
            return None;
        }
        let beside = self.data[lbn as usize].map(|superblock| self.geometry.die_of(superblock));
        self.allocator.begin();
        self.request_dies.iter().for_each(|die| self.allocator.avoid(*die, false));
        if let Some(die) = beside {
            self.allocator.avoid(die, true);
        }
        let superblock = self.take_block(flash, Use::Log, beside)?;
        let id = self.logs.open(superblock, role);
        self.block(superblock).log = Some(id);
        Some(id)
    }
}

#[cfg(test)]
mod tests {
    use base::engine::Rng;

    use super::*;
    use crate::rig::Rig;

    #[test]
    fn the_host_takes_a_reserved_block_only_for_an_orphan() {
        let mut rig = Rig::new(
            "flash = { part = 'K9K8G08U0M', channels = 1, chips = 2, blocks = 40, pages = 16, planes = 1 }\n\
             [ftl]\nkind = 'bast'\nover-provisioning = '60%'",
        );
        let ftl = rig.ftl.downcast_mut::<LogBlockFtl>().expect("log blocks");
        // One for the merge, one to replace a failing block, and one so that there is always a next.
        assert_eq!(ftl.spec.reserve(), 3);
        while ftl.allocator.count() > 3 {
            assert!(ftl.host_may_take(false), "{} are free", ftl.allocator.count());
            ftl.allocator.take(Use::Data, None, |_| 0).expect("a free block");
        }
        assert!(ftl.host_may_take(false), "it leaves the others");
        ftl.orphans = 1;
        assert_eq!([true, false].map(|orphan| ftl.host_may_take(orphan)), [true, false], "an orphan has its own");
        ftl.orphans = 0;
        ftl.allocator.take(Use::Data, None, |_| 0).expect("a free block");
        assert!(!ftl.host_may_take(false), "merges need them");
    }

    /// Checks after each event that no waiting write has missed what it waited for.
    #[test]
    fn writes_that_wait_for_merges_have_a_place_in_the_end() {
        for kind in ["bast", "fast"] {
            let mut rig = Rig::new(&format!(
                "flash = {{ part = 'K9K8G08U0M', channels = 1, chips = 2, blocks = 40, pages = 8, planes = 1 }}\n\
                 [ftl]\nkind = '{kind}'\nover-provisioning = '60%'\nlog = {{ blocks = 3, parallel = 2 }}",
            ));
            let mut rng = Rng::stream(1, kind);
            let fill = (0..48).map(|lpn| (lpn, 1));
            let overwrites: Vec<_> = (0..400).map(|_| (rng.below(48) as u32, 16)).collect();
            let mut waited = 0;
            for (written, (lpn, at_once)) in (1..).zip(fill.chain(overwrites)) {
                rig.write(&[lpn], None);
                while rig.host.written + at_once <= written && rig.step() {
                    rig.ftl.check(rig.backend.media(), None);
                }
                let ftl = rig.ftl.downcast_ref::<LogBlockFtl>().expect("log blocks");
                waited += u32::from(!ftl.waiting.is_empty());
            }
            rig.run_until_idle();
            assert_eq!((rig.host.written, rig.host.refused), (448, 0), "{kind}");
            assert!(waited > 100, "{kind}: {waited} writes left others waiting");
        }
    }
}
