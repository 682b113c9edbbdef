//! Writes of the host: waits for a block or a merge, places and programs.

use base::engine::Handle;
use base::units::SuperblockId;
use flash::backend::{Cause, Class, Command, List};
use flash::nand::{Stream, Target};

use super::block_manager::WaitingWrites;
use super::{BlockFtl, Lbn, ListTag, RESERVE};
use crate::port::{Flash, Owners, PageWrite};
use crate::toolkit::{push_unit, read_rest};

impl BlockFtl {
    /// Submits the lists of programs, one for each die.
    pub(super) fn send(&mut self, flash: &mut Flash<'_>) {
        while let Some(list) = self.writing.pop_first() {
            let die = self.blocks.die_of(flash, list);
            self.blocks.submit(flash, die, list);
        }
    }

    /// Starts the waiting writes and merges of a die. Refuses writes only if nothing under way there could make room.
    pub(super) fn start_next(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, die: usize) {
        for superblock in std::mem::take(&mut self.blocks.useless) {
            self.blocks.give_up(flash, superblock, Cause::Recovery);
        }
        loop {
            if self.blocks.dies[die].waiting.is_empty() {
                return;
            }
            self.place_waiting(flash, owners, die);
            let Some(victim) = self.next_merge(die) else { break };
            if !self.merge(flash, owners, victim) {
                break;
            }
        }
        if self.blocks.dies[die].under_way == 0 {
            for unit in std::mem::take(&mut self.blocks.dies[die].waiting).into_iter().flat_map(|waiting| waiting.units)
            {
                owners.write_refused(unit.owner);
            }
        }
    }

    /// Programs the waiting writes of a die that have a place now.
    fn place_waiting(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, die: usize) {
        let mut all = std::mem::take(&mut self.blocks.dies[die].waiting);
        all.retain_mut(|waiting| {
            while let Some(unit) = waiting.units.front() {
                if !self.place(flash, owners, unit) {
                    return true;
                }
                waiting.units.pop_front();
            }
            self.blocks.dies[die].over.push(std::mem::take(&mut waiting.units));
            false
        });
        self.blocks.dies[die].waiting = all;
        self.send(flash);
    }

    /// The logical block that the die merges next. None if no write waits for a merge, or while a block of the die is
    /// being erased, because the erased block may be room enough.
    fn next_merge(&self, die: usize) -> Option<Lbn> {
        let here = &self.blocks.dies[die];
        if here.merge.is_some() || here.leaving > 0 {
            return None;
        }
        let idle = |lbn: &Lbn| self.mapping.chains[*lbn as usize].programs == 0;
        // A power cut during a merge has cost a block, so that merge comes first.
        let is_short = here.free.len() < RESERVE;
        here.waiting.iter().find_map(|WaitingWrites { lbn, .. }| {
            let length = self.mapping.chains[*lbn as usize].length;
            if !here.replaced.is_empty() && (is_short || length <= self.mapping.replacements) {
                // The waiting write needs a free block: the merge of a chain with replacement blocks frees one.
                here.replaced.iter().copied().find(idle)
            } else {
                // The chain of the waiting write has reached its limit, or no merge of another chain can free a block
                // for it.
                Some(*lbn).filter(|lbn| length > 0 && idle(lbn))
            }
        })
    }

    /// Adds the program of a mapping unit to the list of its die. Returns false if there is no page for it now.
    pub(super) fn place(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, unit: &PageWrite) -> bool {
        let (lbn, offset) = self.mapping.split(unit.lpn);
        if self.blocks.dies[self.blocks.home(lbn)].merge.is_some_and(|merge| merge.lbn == lbn) {
            return false;
        }
        // Pages are programmed in order: the youngest block takes the page if it has nothing at or behind its offset.
        let fits = |block: &SuperblockId| self.blocks[*block].next <= offset;
        let Some(superblock) =
            self.mapping.chains[lbn as usize].newest.filter(fits).or_else(|| self.mapping.open(&mut self.blocks, lbn))
        else {
            return false;
        };
        let die = self.blocks.geometry.die_of(superblock);
        let list = self.writing.list(flash.backend, die, (Class::Other, ListTag::Write as u32));
        let (program, reads) = self.add_program(flash, owners, list, Target { superblock, offset }, unit);
        // The programs of a chain run in order, across blocks too: the order of the blocks is that of their first
        // pages.
        if let Some(gate) = self.gates.of(lbn) {
            flash.backend.depend(gate, program);
        }
        if reads || self.gates.of(lbn).is_some() {
            self.gates.set(lbn, program);
        }
        self.blocks[superblock].next = offset + 1;
        self.mapping.chains[lbn as usize].programs += 1;
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
        let (lbn, offset) = self.mapping.split(unit.lpn);
        let partly = !unit.is_whole(self.blocks.geometry.sectors);
        let rest = if partly { self.mapping.place_of(&self.blocks, flash.backend.media(), lbn, offset) } else { None };
        let program = flash.backend.add_program(list, Cause::Host, target, Stream::HOST);
        owners.charge(unit.owner);
        let to = push_unit(flash, owners, program, unit);
        if let Some(psn) = rest {
            read_rest(flash, owners, list, (unit, psn), (program, to));
        }
        (program, rest.is_some())
    }
}
