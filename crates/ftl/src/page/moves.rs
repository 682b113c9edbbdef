//! The mapping units of a program of copies, entered into the map together.
//!
//! Nearly all come from one superblock, so its counts change once for all of them. Everything is then as if
//! [`PageFtl::enter_copy`] had entered each.

use base::engine::Handle;
use base::units::{Psn, SuperblockId};
use flash::backend::{Command, Observer};
use flash::nand::Sector;

use super::PageFtl;
use super::blocks::State;
use super::mapping::Mapping;
use crate::port::Flash;
use crate::sabotage::Sabotage;

/// A superblock that copies have left.
#[derive(Clone, Copy, Debug)]
pub(super) struct Left {
    pub(super) superblock: SuperblockId,
    /// The slots that were copied.
    pub(super) slots: u32,
    /// Those among them that have become invalid with the copy, and still count as valid.
    valid: u32,
}

impl Left {
    /// The superblock of a slot that was copied alone.
    pub(super) const fn alone(superblock: SuperblockId) -> Self {
        Self { superblock, slots: 1, valid: 0 }
    }
}

impl PageFtl {
    /// Enters the mapping units of a program of copies in a pool, of which no page has failed, and adds what they leave
    /// to `left`. False if more than the map in RAM knows them: then it enters none.
    pub(super) fn enter_copies<S: Sector, O: Observer>(
        &mut self,
        flash: &Flash<'_, S, O>,
        program: Handle<Command>,
        pool: u32,
        left: &mut Vec<Left>,
    ) -> bool {
        let planted = self.planted.is(Sabotage::CopyOverrules) || self.planted.is(Sabotage::StaleMapping);
        let Mapping::Ram(map) = &mut self.mapping else { return false };
        if planted || self.trims.is_some() || self.checkpoints.is_some() {
            return false;
        }
        let target = flash.backend.command(program).target;
        let copies = self.geometry.slot(target.superblock, target.offset).get()..;
        // An empty range holds no slot.
        let mut slots = 0..0;
        for (to, (_, slot)) in copies.map(Psn::new).zip(flash.backend.slots(program)) {
            if !slots.contains(&slot.psn.get()) {
                let (superblock, _) = self.geometry.locate(slot.psn);
                slots = self.geometry.slots_of(superblock);
                left.push(Left { superblock, slots: 0, valid: 0 });
            }
            let Some(source) = left.last_mut() else { continue };
            source.slots += 1;
            // The host has neither written nor discarded it meanwhile.
            if map.leads(slot.lpn, slot.psn) {
                map.set(slot.lpn, Some(to));
                self.blocks.move_valid(slot.psn, to);
                source.valid += 1;
            }
        }
        let mut entered = 0;
        for Left { superblock, valid, .. } in left.iter().copied() {
            let of = self.pool_of(superblock);
            self.blocks.take_valid(superblock, valid);
            self.pools[of as usize].live -= valid;
            if self.blocks.state(superblock) == State::Closed {
                let kind = self.kind_in(of);
                (0..valid).for_each(|_| self.victims[kind].invalidated(of, superblock));
            }
            entered += valid;
        }
        self.blocks.add_valid(target.superblock, entered);
        self.pools[pool as usize].live += entered;
        true
    }
}
