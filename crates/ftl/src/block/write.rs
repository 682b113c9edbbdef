//! Host writes.

use base::engine::Handle;
use flash::backend::{Cause, Class, Command, List};
use flash::nand::{Stream, Target};

use super::{BlockFtl, Kind};
use crate::port::{Flash, Owners, PageWrite};
use crate::toolkit::{push_unit, read_rest};

impl BlockFtl {
    /// Takes a mapping unit of the request.
    pub(super) fn write(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, unit: PageWrite) {
        let (lbn, _) = self.split(unit.lpn);
        let die = self.home(lbn);
        // Pages of a logical block stay in order: a waiting first page must not break a sequence.
        let behind = self.dies[die].waiting_for(lbn).is_some();
        if behind || !self.place(flash, owners, &unit) {
            self.dies[die].wait(lbn, unit, false);
            if !self.stalled.contains(&die) {
                self.stalled.push(die);
            }
        }
    }

    /// Submits the programs of a complete request, and starts the dies at which writes wait.
    pub(super) fn end_write(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners) {
        self.send(flash);
        while let Some(die) = self.stalled.pop() {
            self.start_next(flash, owners, die);
        }
    }

    /// Submits the lists of programs, one for each die.
    pub(super) fn send(&mut self, flash: &mut Flash<'_>) {
        while let Some(list) = self.writing.pop_first() {
            let die = self.die_of(flash, list);
            self.submit(flash, die, list);
        }
    }

    /// The die of a list's commands.
    pub(super) fn die_of(&self, flash: &Flash<'_>, list: Handle<List>) -> usize {
        let first = flash.backend.list(list).first().expect("a list of commands");
        self.geometry.die_of(flash.backend.command(first).target.superblock).index()
    }

    /// Adds the program of a mapping unit to the list of its die. Returns false if there is no page for it now.
    pub(super) fn place(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, unit: &PageWrite) -> bool {
        let (lbn, offset) = self.split(unit.lpn);
        if self.dies[self.home(lbn)].merge.is_some_and(|merge| merge.lbn == lbn) {
            return false;
        }
        // Pages are programmed in order: the youngest block takes the page if it has nothing at or behind its offset.
        let fits = |block: &base::units::SuperblockId| self.blocks[block.index()].next <= offset;
        let Some(superblock) = self.chains[lbn as usize].newest.filter(fits).or_else(|| self.open(lbn)) else {
            return false;
        };
        let die = self.geometry.die_of(superblock);
        let list = self.writing.list(flash.backend, die, (Class::Other, Kind::Write as u32));
        let (program, reads) = self.add_program(flash, owners, list, Target { superblock, offset }, unit);
        // The programs of a chain run in order, across blocks too: the order of the blocks is that of their first
        // pages.
        if let Some(gate) = self.gates.of(lbn) {
            flash.backend.depend(gate, program);
        }
        if reads || self.gates.of(lbn).is_some() {
            self.gates.set(lbn, program);
        }
        self.block(superblock).next = offset + 1;
        self.chains[lbn as usize].programs += 1;
        true
    }

    /// Adds the program of a mapping unit. A partial write takes its other sectors from the old copy: returns true if
    /// that must be read.
    pub(super) fn add_program(
        &self,
        flash: &mut Flash<'_>,
        owners: &mut dyn Owners,
        list: Handle<List>,
        target: Target,
        unit: &PageWrite,
    ) -> (Handle<Command>, bool) {
        let (lbn, offset) = self.split(unit.lpn);
        let partly = !unit.is_whole(self.geometry.sectors);
        let rest = if partly { self.place_of(flash.backend.media(), lbn, offset) } else { None };
        let program = flash.backend.add_program(list, Cause::Host, target, Stream::HOST);
        owners.charge(unit.owner);
        let to = push_unit(flash, owners, program, unit);
        if let Some(psn) = rest {
            read_rest(flash, owners, list, (unit, psn), (program, to));
        }
        (program, rest.is_some())
    }
}
