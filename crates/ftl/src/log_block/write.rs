//! Host writes.

use base::units::SuperblockId;
use flash::backend::{Cause, Class, Observer};
use flash::nand::{Sector, Stream, Target};

use super::address::Lbn;
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
    pub(crate) fn write<S: Sector, O: Observer>(
        &mut self,
        flash: &mut Flash<'_, S, O>,
        owners: &mut impl Owners<S>,
        unit: PageWrite,
    ) {
        // Pages of a logical block stay in order: a waiting first page must not break a sequence.
        let (lbn, _) = self.address.split(unit.lpn);
        if self.waiting.has(lbn) || !self.place(flash, owners, &unit) {
            self.waiting.push(lbn, unit);
        }
    }

    /// Submits the programs of a complete request.
    pub(crate) fn end_write<S: Sector, O: Observer>(
        &mut self,
        flash: &mut Flash<'_, S, O>,
        owners: &mut impl Owners<S>,
    ) {
        self.send(flash);
        self.advance_merges(flash, owners);
    }

    /// Submits the lists of programs, one for each die.
    pub(super) fn send<S: Sector, O: Observer>(&mut self, flash: &mut Flash<'_, S, O>) {
        while let Some(list) = self.programming.pop_first() {
            self.submit(flash, list);
        }
    }

    /// Places the waiting writes for which there is room now.
    pub(super) fn resume<S: Sector, O: Observer>(&mut self, flash: &mut Flash<'_, S, O>, owners: &mut impl Owners<S>) {
        if !self.waiting.is_due(self.logs.changes()) {
            return;
        }
        self.waiting.begin_pass(self.logs.changes());
        for _ in 0..self.waiting.len() {
            let Some(unit) = self.waiting.pop() else { break };
            self.request_dies.clear();
            let (lbn, _) = self.address.split(unit.lpn);
            if self.waiting.was_refused(lbn) || !self.place(flash, owners, &unit) {
                self.waiting.refuse(lbn, unit);
            } else {
                self.waiting.placed(lbn);
            }
        }
        self.waiting.end_pass();
        self.send(flash);
    }

    /// Finds a page for a mapping unit, and adds its program to the list of the die. Returns false if there is none
    /// now.
    fn place<S: Sector, O: Observer>(
        &mut self,
        flash: &mut Flash<'_, S, O>,
        owners: &mut impl Owners<S>,
        unit: &PageWrite,
    ) -> bool {
        let (lbn, offset) = self.address.split(unit.lpn);
        let partly = !unit.is_whole(self.geometry.sectors);
        if partly && self.is_in_buffer(lbn) {
            return false;
        }
        let Some(target) = self.in_place(flash, lbn, offset).or_else(|| self.in_log(flash, lbn, offset)) else {
            return false;
        };
        let die = self.geometry.die_of(target.superblock);
        let list = self.programming.list(flash.backend, die, (Class::Other, Kind::Write.tag(0)));
        let command = flash.backend.add_program(list, Cause::Host, target, Stream::Host);
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
        true
    }

    /// The page at the same offset of the data block, if it can still be programmed. The first write of a logical block
    /// allocates its data block.
    fn in_place<S: Sector, O: Observer>(&mut self, flash: &Flash<'_, S, O>, lbn: Lbn, offset: u32) -> Option<Target> {
        if self.is_folding(lbn) {
            return None;
        }
        let superblock = match self.data[lbn as usize] {
            Some(superblock) => superblock,
            None => match self.new_data_block(flash, lbn) {
                Some(superblock) => superblock,
                None => {
                    self.waiting.wants_block();
                    return None;
                }
            },
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

    fn new_data_block<S: Sector, O: Observer>(&mut self, flash: &Flash<'_, S, O>, lbn: Lbn) -> Option<SuperblockId> {
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
    fn in_log<S: Sector, O: Observer>(&mut self, flash: &Flash<'_, S, O>, lbn: Lbn, offset: u32) -> Option<Target> {
        let id = match self.policy.place(&self.logs, self.pages, lbn, offset) {
            Choice::Append(id) => id,
            Choice::Open(role) => match self.new_log_block(flash, lbn, role) {
                Some(id) => id,
                None => {
                    // Too many blocks have failed: there is no room for all log blocks.
                    self.waiting.wants_block();
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

    fn new_log_block<S: Sector, O: Observer>(
        &mut self,
        flash: &Flash<'_, S, O>,
        lbn: Lbn,
        role: Role,
    ) -> Option<LogId> {
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
    use super::*;
    use crate::AnyFtl;
    use crate::rig::Rig;

    #[test]
    fn the_host_takes_a_reserved_block_only_for_an_orphan() {
        let mut rig = Rig::new(
            "flash = { part = 'K9K8G08U0M', channels = 1, chips = 2, blocks = 40, pages = 16, planes = 1 }\n\
             [ftl]\nkind = 'bast'\nover-provisioning = '60%'",
        );
        let AnyFtl::LogBlock(ftl) = &mut rig.ftl else { panic!("log blocks") };
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
}
