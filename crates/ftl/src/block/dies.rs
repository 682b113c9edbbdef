//! The state of a die: its free blocks, its waiting writes, and at most one merge.

use std::collections::VecDeque;

use base::units::SuperblockId;
use flash::backend::{Cause, Class};

use super::chains::State;
use super::{BlockFtl, Kind, Lbn, RESERVE};
use crate::port::{Flash, Owners, PageWrite};
use crate::toolkit::FreeList;

/// The writes of a logical block that wait for its merge or for a free block.
#[derive(Clone, Debug)]
pub(super) struct Waiting {
    pub(super) lbn: Lbn,
    pub(super) units: VecDeque<PageWrite>,
}

/// The merge of a logical block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Merge {
    pub(super) lbn: Lbn,
    /// The new data block. If none, the youngest block of the chain becomes the data block.
    pub(super) destination: Option<SuperblockId>,
}

/// The state of a die.
#[derive(Clone, Debug)]
pub(super) struct Die {
    pub(super) free: FreeList,
    /// One entry for each logical block with waiting writes, the one that has waited longest first.
    pub(super) waiting: VecDeque<Waiting>,
    /// The queues of removed entries, kept for reuse.
    pub(super) over: Vec<VecDeque<PageWrite>>,
    pub(super) merge: Option<Merge>,
    /// Logical blocks with replacement blocks, in the order of their first replacements.
    pub(super) replaced: VecDeque<Lbn>,
    /// Blocks that are being erased, or will be after the last read of them.
    pub(super) leaving: u32,
    /// Submitted lists that have not finished.
    pub(super) under_way: u32,
}

impl Die {
    pub(super) fn new(free: FreeList) -> Self {
        Self {
            free,
            waiting: VecDeque::new(),
            over: Vec::new(),
            merge: None,
            replaced: VecDeque::new(),
            leaving: 0,
            under_way: 0,
        }
    }

    /// The entry of a logical block with waiting writes.
    pub(super) fn waiting_for(&mut self, lbn: Lbn) -> Option<&mut Waiting> {
        self.waiting.iter_mut().find(|waiting| waiting.lbn == lbn)
    }

    /// Queues a write of a logical block, at the front or at the back.
    pub(super) fn wait(&mut self, lbn: Lbn, unit: PageWrite, first: bool) {
        match (self.waiting_for(lbn), first) {
            (Some(waiting), true) => waiting.units.push_front(unit),
            (Some(waiting), false) => waiting.units.push_back(unit),
            (None, _) => {
                let mut units = self.over.pop().unwrap_or_default();
                units.push_back(unit);
                self.waiting.push_back(Waiting { lbn, units });
            }
        }
    }
}

impl BlockFtl {
    /// Starts the waiting writes and merges of a die. Refuses writes only if nothing under way there could make room.
    pub(super) fn start_next(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, die: usize) {
        for superblock in std::mem::take(&mut self.useless) {
            self.give_up(flash, superblock, Cause::Recovery);
        }
        loop {
            if self.dies[die].waiting.is_empty() {
                return;
            }
            self.place_waiting(flash, owners, die);
            let Some(victim) = self.next_merge(die) else { break };
            if !self.merge(flash, owners, victim) {
                break;
            }
        }
        if self.dies[die].under_way == 0 {
            for unit in std::mem::take(&mut self.dies[die].waiting).into_iter().flat_map(|waiting| waiting.units) {
                owners.write_refused(unit.owner);
            }
        }
    }

    /// Programs the waiting writes of a die that have a place now.
    fn place_waiting(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, die: usize) {
        let mut all = std::mem::take(&mut self.dies[die].waiting);
        all.retain_mut(|waiting| {
            while let Some(unit) = waiting.units.front() {
                if !self.place(flash, owners, unit) {
                    return true;
                }
                waiting.units.pop_front();
            }
            self.dies[die].over.push(std::mem::take(&mut waiting.units));
            false
        });
        self.dies[die].waiting = all;
        self.send(flash);
    }

    /// The logical block that the die merges next. None if no write waits for a merge, or if a block is still being
    /// erased: that one may be room enough.
    fn next_merge(&self, die: usize) -> Option<Lbn> {
        let here = &self.dies[die];
        if here.merge.is_some() || here.leaving > 0 {
            return None;
        }
        let idle = |lbn: &Lbn| self.chains[*lbn as usize].programs == 0;
        // A power cut during a merge has cost a block, so that merge comes first.
        let is_short = here.free.len() < RESERVE;
        here.waiting.iter().find_map(|Waiting { lbn, .. }| {
            let length = self.chains[*lbn as usize].length;
            if !here.replaced.is_empty() && (is_short || length <= self.replacements) {
                // It needs a free block.
                here.replaced.iter().copied().find(idle)
            } else {
                // Its chain has reached its limit, or there is no block for a longer one.
                Some(*lbn).filter(|lbn| length > 0 && idle(lbn))
            }
        })
    }

    /// Takes a block out of use: it is erased or retired as soon as no read of it is under way.
    pub(super) fn give_up(&mut self, flash: &mut Flash<'_>, superblock: SuperblockId, cause: Cause) {
        let die = self.geometry.die_of(superblock).index();
        self.dies[die].leaving += 1;
        self.block(superblock).state = State::Leaving;
        self.erase_unread(flash, superblock, cause);
    }

    /// Erases or retires a block that is out of use, unless it is being read.
    pub(super) fn erase_unread(&mut self, flash: &mut Flash<'_>, superblock: SuperblockId, cause: Cause) {
        let block = self.block(superblock);
        if block.pins > 0 || block.state != State::Leaving {
            return;
        }
        if block.failing {
            return self.retire(flash, superblock);
        }
        block.state = State::Erasing;
        let list = flash.backend.open_list(Class::Other, Kind::Erase as u32);
        flash.backend.add_erase(list, cause, superblock);
        let die = self.geometry.die_of(superblock).index();
        self.submit(flash, die, list);
    }

    /// Retires a block that is out of use.
    pub(super) fn retire(&mut self, flash: &mut Flash<'_>, superblock: SuperblockId) {
        flash.backend.media_mut().retire(superblock);
        self.block(superblock).state = State::Bad;
        let die = self.geometry.die_of(superblock).index();
        self.dies[die].leaving -= 1;
    }
}
