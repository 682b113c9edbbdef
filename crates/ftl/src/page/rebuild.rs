//! Host and map reads whose slots are rebuilt: the finished read waits until the other slots of the stripe have been
//! read. Also the discovery that a die has failed.

use std::collections::{BTreeMap, BTreeSet};

use base::engine::Handle;
use base::units::{DieId, Psn};
use flash::backend::{List, Op, Slot, SlotRef};

use super::block_manager::rebuild::SurvivingSlots;
use super::{ListPurpose, PageFtl};
use crate::port::{Flash, Owners};
use crate::sabotage::Sabotage;
use crate::toolkit::Commands;

/// A finished list of reads that waits until its lost slots are rebuilt.
#[derive(Clone, Debug)]
pub(super) struct Rebuild {
    list: Handle<List>,
    /// The list that reads the other slots of the stripes.
    reads: Handle<List>,
    slots: Vec<LostSlot>,
}

/// A slot that could not be read.
#[derive(Clone, Debug)]
struct LostSlot {
    at: SlotRef,
    psn: Psn,
    others: SurvivingSlots,
}

impl PageFtl {
    /// Processes a finished list while dies have failed that the drive does not know: the list may have had a command
    /// for such a die.
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

    /// The failed dies that the drive does not know and to which commands of a list went.
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

    /// Makes failed dies known to the drive, and starts the moves of their data.
    fn meet_dead_dies(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, dies: Vec<DieId>) {
        for die in dies {
            self.blocks.note_dead_die(flash, die);
        }
        self.writer.store_parity(&mut self.blocks, flash);
        (0..self.blocks.pools.len() as u32).for_each(|pool| self.start_gc(flash, owners, pool));
    }

    /// Reads the slots from which the lost slots of a finished list are rebuilt. Returns false if no slot is lost, or
    /// if one of them cannot be rebuilt.
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
            // No read is needed, because the parity in RAM is enough.
            lost.iter().for_each(|slot| flash.backend.mend(slot.at));
            self.blocks.rebuilds.counters.rebuilt += lost.len() as u64;
            return false;
        }
        let reads = flash.backend.open_list(flash.backend.list(list).class(), ListPurpose::Rebuild as u32);
        self.blocks.add_reads(flash, reads, wanted, |read| Slot { owner, ..read });
        self.rebuilding.push(Rebuild { list, reads, slots: lost });
        flash.submit(reads);
        true
    }

    /// Continues the list that waits for these reads: the slots from which its lost slots are rebuilt have been read.
    #[inline(never)]
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

    /// The slots of the reads of a list, by their physical numbers.
    fn slots_read(flash: &Flash<'_>, list: Handle<List>) -> BTreeMap<Psn, Slot> {
        let mut read = BTreeMap::new();
        let mut commands = Commands::of(flash.backend, list);
        while let Some((handle, _)) = commands.next(flash.backend) {
            read.extend(flash.backend.slots(handle).map(|(_, slot)| (slot.psn, slot)));
        }
        read
    }
}
