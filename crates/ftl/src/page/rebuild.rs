//! Reads whose slots are rebuilt: a finished read of the host or the map waits until the others of the stripe have been read. And the
//! moment at which the drive learns that a die has failed.

use std::collections::{BTreeMap, BTreeSet};

use base::engine::Handle;
use base::units::{DieId, Psn};
use flash::backend::{List, Op, Slot, SlotRef};

use super::block_manager::rebuild::Others;
use super::{Kind, PageFtl};
use crate::port::{Flash, Owners};
use crate::sabotage::Sabotage;
use crate::toolkit::Commands;

/// A finished list that waits for slots to be rebuilt.
#[derive(Clone, Debug)]
pub(super) struct Rebuild {
    list: Handle<List>,
    /// The list that reads what they are rebuilt from.
    reads: Handle<List>,
    slots: Vec<LostSlot>,
}

/// A slot that could not be read.
#[derive(Clone, Debug)]
struct LostSlot {
    at: SlotRef,
    psn: Psn,
    others: Others,
}

impl PageFtl {
    /// Processes a finished list while dies have failed that the drive has not met: the list may have met one.
    #[cold]
    #[inline(never)]
    pub(super) fn finished_in_unknown_dies(
        &mut self,
        flash: &mut Flash<'_>,
        owners: &mut dyn Owners,
        list: Handle<List>,
    ) {
        let dies = self.dead_dies_of(flash, list);
        self.rebuild_or_process(flash, owners, list);
        if !dies.is_empty() {
            self.meet_dead_dies(flash, owners, dies);
        }
    }

    /// The failed dies, not known yet, to which commands of a list went.
    fn dead_dies_of(&self, flash: &Flash<'_>, list: Handle<List>) -> Vec<DieId> {
        let mut met = Vec::new();
        let unknown = self.blocks.unknown_dead_dies(flash);
        let mut commands = Commands::of(flash.backend, list);
        while let Some((handle, command)) = commands.next(flash.backend) {
            let array = &self.blocks.layout.array;
            let member = match command.op {
                Op::Read => self.blocks.layout.member_at(flash.backend.slot(handle, 0).1.psn),
                _ => command.target.superblock,
            };
            let die = array.die_of(member);
            if unknown.contains(&die) && !met.contains(&die) {
                met.push(die);
            }
        }
        met
    }

    /// The drive learns of failed dies.
    fn meet_dead_dies(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, dies: Vec<DieId>) {
        for die in dies {
            self.blocks.note_dead_die(flash, die);
        }
        self.writer.store_parity(&mut self.blocks, flash);
        (0..self.blocks.pools.len() as u32).for_each(|pool| self.start_gc(flash, owners, pool));
    }

    /// Reads what the slots of a finished list that could not be read are rebuilt from. Returns false if there are none, or the list
    /// cannot be helped.
    pub(super) fn begin_rebuild(&mut self, flash: &mut Flash<'_>, list: Handle<List>) -> bool {
        let mut lost = Vec::new();
        let mut owner = None;
        let mut commands = Commands::of(flash.backend, list);
        while let Some((handle, command)) = commands.next(flash.backend) {
            if command.op != Op::Read || command.is_blank() {
                continue;
            }
            for (at, slot) in flash.backend.slots(handle).filter(|(_, slot)| slot.lost) {
                match self.blocks.others_of(flash.backend.media(), slot.psn) {
                    Some(others) => {
                        owner = owner.or(slot.owner);
                        lost.push(LostSlot { at, psn: slot.psn, others });
                    }
                    None => self.blocks.rebuilds.counters.lost += 1,
                }
            }
        }
        if lost.is_empty() || self.blocks.planted.is(Sabotage::NeverRebuilt) {
            return false;
        }
        let wanted: BTreeSet<Psn> = lost.iter().flat_map(|slot| slot.others.slots.iter().copied()).collect();
        if wanted.is_empty() {
            // The parity in RAM is all that is needed.
            lost.iter().for_each(|slot| flash.backend.mend(slot.at));
            self.blocks.rebuilds.counters.rebuilt += lost.len() as u64;
            return false;
        }
        let reads = flash.backend.open_list(flash.backend.list(list).class(), Kind::Rebuild as u32);
        self.blocks.add_reads(flash, reads, wanted, |read| Slot { owner, ..read });
        self.rebuilding.push(Rebuild { list, reads, slots: lost });
        flash.submit(reads);
        true
    }

    /// The slots from which others are rebuilt have been read: the list that waits for them goes on.
    pub(super) fn rebuild_finished(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, reads: Handle<List>) {
        let at = self.rebuilding.iter().position(|rebuild| rebuild.reads == reads).expect("a list waits for it");
        let Rebuild { list, slots, .. } = self.rebuilding.swap_remove(at);
        let read = Self::slots_read(flash, reads);
        flash.backend.release(reads);
        for LostSlot { at, psn, others } in slots {
            let is_read = |psn: &Psn| read.get(psn).is_some_and(|slot| !slot.lost);
            let well = others.slots.iter().all(|psn| is_read(psn) || flash.backend.media().is_tentative(*psn));
            if well {
                flash.backend.mend(at);
                self.blocks.check_rebuilt(flash.backend.media(), psn, &others);
            }
            self.blocks.rebuilds.counters.note(well);
        }
        self.process(flash, owners, list);
    }

    /// The slots of the reads of a list, by their places.
    fn slots_read(flash: &Flash<'_>, list: Handle<List>) -> BTreeMap<Psn, Slot> {
        let mut read = BTreeMap::new();
        let mut commands = Commands::of(flash.backend, list);
        while let Some((handle, _)) = commands.next(flash.backend) {
            read.extend(flash.backend.slots(handle).map(|(_, slot)| (slot.psn, slot)));
        }
        read
    }
}
