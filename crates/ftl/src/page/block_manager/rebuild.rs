//! Slots that cannot be read, and the other slots of their stripe from which they are rebuilt.
//!
//! A program whose source could not be read is made again, with reads of the other slots in place of its source.

use std::collections::BTreeSet;

use base::engine::Handle;
use base::units::{Psn, SuperblockId};
use flash::backend::{Cause, Command, List, Op, Slot, SlotRef};
use flash::nand::{Media, Spare};

use super::BlockManager;
use super::parity::SlotParity;
use crate::page::ParityCounters;
use crate::page::layout::StripePlace;
use crate::port::Flash;
use crate::sabotage::Sabotage;
use crate::toolkit::Commands;

/// The state of rebuilding slots from parity.
#[derive(Clone, Debug, Default)]
pub(in crate::page) struct Rebuilds {
    /// Slots that a copy, or the write of a part of a mapping unit, has failed to read.
    unreadable: BTreeSet<Psn>,
    /// Slots of programs in progress whose content is rebuilt from other slots.
    targets: Vec<SlotRef>,
    pub(in crate::page) counters: ParityCounters,
}

impl Rebuilds {
    /// True if some program has failed to read a slot.
    pub(super) fn are_any(&self) -> bool {
        !self.unreadable.is_empty()
    }
}

/// The other slots of a stripe, from which a slot is rebuilt.
#[derive(Clone, Debug)]
pub(in crate::page) struct SurvivingSlots {
    pub(in crate::page) slots: Vec<Psn>,
    /// True if the slot of the parity is among `slots`. Otherwise the parity is in RAM.
    with_parity: bool,
}

/// The outcome of a list of programs with uncorrectable reads.
#[derive(Clone, Debug, Default)]
pub(in crate::page) struct LostReads {
    /// The slots of programs that are made again, now that their sources are known to be unreadable.
    again: Vec<SlotRef>,
    /// The slots of programs that were rebuilt from other slots.
    rebuilt: Vec<SlotRef>,
    /// True if a read of these other slots was uncorrectable.
    others: bool,
    /// The superblocks of the reads that rebuilt slots, each once.
    pub(in crate::page) pinned: Vec<SuperblockId>,
}

impl LostReads {
    /// True if a slot of a program did not get its data from its source.
    pub(in crate::page) fn are_any(&self) -> bool {
        self.others || !self.again.is_empty()
    }

    /// True if a slot of a program was to be rebuilt, and its data is lost.
    pub(in crate::page) fn is_lost(&self, slot: SlotRef) -> bool {
        self.others && self.rebuilt.contains(&slot)
    }

    /// True if a slot of a program is made again.
    pub(in crate::page) fn is_again(&self, slot: SlotRef) -> bool {
        !self.again.is_empty() && self.again.contains(&slot)
    }
}

impl BlockManager {
    /// True if a read of a slot has failed before, so that the slot is rebuilt from the other slots of its stripe.
    #[inline]
    pub(in crate::page) fn is_rebuilt(&self, media: &Media, psn: Psn) -> bool {
        let known = (self.rebuilds.are_any() && self.rebuilds.unreadable.contains(&psn)) || self.is_in_dead_die(psn);
        // A later failure of a program has removed the parity of an open stripe.
        known && self.others_of(media, psn).is_some()
    }

    /// Finds the reads of a list of programs that were uncorrectable, if there is parity to rebuild slots from.
    #[inline]
    pub(in crate::page) fn lost_reads(&mut self, flash: &mut Flash<'_>, list: Handle<List>) -> LostReads {
        if self.parity.is_none() { LostReads::default() } else { self.find_lost_reads(flash, list) }
    }

    #[inline(never)]
    fn find_lost_reads(&mut self, flash: &mut Flash<'_>, list: Handle<List>) -> LostReads {
        let mut lost = LostReads::default();
        let mut commands = Commands::of(flash.backend, list);
        while let Some((handle, command)) = commands.next(flash.backend) {
            if command.op != Op::Read {
                let places = flash.backend.slots(handle).map(|(at, _)| at);
                lost.rebuilt.extend(places.filter(|at| self.rebuilds.targets.contains(at)));
                continue;
            }
            if command.cause == Cause::Parity {
                let (_, first) = flash.backend.slot(handle, 0);
                lost.pinned.push(self.layout.locate_any(first.psn));
            }
            for (_, slot) in flash.backend.slots(handle).filter(|(_, slot)| slot.lost) {
                if command.cause == Cause::Parity {
                    lost.others |= !flash.backend.media().is_tentative(slot.psn);
                } else if let Some(to) = slot.forward {
                    self.note_unreadable(flash.backend.media(), slot.psn, to, &mut lost);
                }
            }
        }
        self.rebuilds.targets.retain(|at| !lost.rebuilt.contains(at));
        lost.rebuilt.iter().for_each(|_| self.rebuilds.counters.note(!lost.others));
        self.settle_copies(flash, list, &lost);
        lost
    }

    /// Marks the slots that were programmed with unreadable data. A slot that is made again does not count as a copy of
    /// unreadable data; any other slot stays lost. A program that failed has copied nothing.
    fn settle_copies(&self, flash: &mut Flash<'_>, list: Handle<List>, lost: &LostReads) {
        let mut commands = Commands::of(flash.backend, list);
        while let Some((handle, command)) = commands.next(flash.backend) {
            if command.op == Op::Read || command.failed {
                continue;
            }
            let first = self.layout.array.slot(command.target.superblock, command.target.offset).get();
            let slots = (first..).map(Psn::new).zip(flash.backend.slots(handle)).filter(|(_, (_, slot))| slot.lost);
            let slots: Vec<(Psn, bool)> = slots.map(|(psn, (at, _))| (psn, lost.is_again(at))).collect();
            for (psn, is_again) in slots {
                if is_again {
                    flash.backend.media_mut().make_again(psn);
                } else {
                    flash.backend.media_mut().keep_lost(psn);
                }
            }
        }
    }

    /// Notes a slot that a program could not read. The program of `to` is made again if the slot can be rebuilt.
    fn note_unreadable(&mut self, media: &Media, psn: Psn, to: SlotRef, lost: &mut LostReads) {
        if self.others_of(media, psn).is_some() && !self.planted.is(Sabotage::NeverRebuilt) {
            self.rebuilds.unreadable.insert(psn);
            lost.again.push(to);
        } else {
            self.rebuilds.counters.lost += 1;
        }
    }

    /// Adds to a list the reads of the slots from which `psn` is rebuilt, and marks the slot of the program that gets
    /// the result.
    pub(in crate::page) fn rebuild_into(
        &mut self,
        flash: &mut Flash<'_>,
        list: Handle<List>,
        psn: Psn,
        (program, to): (Handle<Command>, SlotRef),
    ) {
        let others = self.others_of(flash.backend.media(), psn).expect("the caller has asked");
        self.check_rebuilt(flash.backend.media(), psn, &others);
        let superblock = self.layout.locate_any(psn);
        for read in self.add_reads(flash, list, others.slots, |read| read) {
            self.table.pin(superblock);
            flash.backend.depend(read, program);
        }
        flash.backend.recall(psn, to);
        self.rebuilds.targets.push(to);
    }

    /// Adds reads of some slots, one for each row of pages.
    pub(in crate::page) fn add_reads(
        &self,
        flash: &mut Flash<'_>,
        list: Handle<List>,
        slots: impl IntoIterator<Item = Psn>,
        with: impl Fn(Slot) -> Slot,
    ) -> Vec<Handle<Command>> {
        let mut reads: Vec<Handle<Command>> = Vec::new();
        let mut row = None;
        for psn in slots {
            let here = self.layout.array.row_of(psn);
            if row.replace(here) != Some(here) {
                reads.push(flash.backend.add_read(list, Cause::Parity, self.layout.member_at(psn)));
            }
            if let Some(read) = reads.last() {
                flash.backend.push_slot(*read, with(Slot { psn, ..Slot::default() }));
            }
        }
        reads
    }

    /// The other slots of a slot's stripe, if the slot can be rebuilt from them: the parity of the stripe is on flash,
    /// or still in RAM.
    pub(in crate::page) fn others_of(&self, media: &Media, psn: Psn) -> Option<SurvivingSlots> {
        let (parity, striping) = (self.parity.as_ref()?, self.layout.striping.as_ref()?);
        let place = striping.place(&self.layout.array, psn);
        let slot_of = |unit| striping.slot(&self.layout.array, StripePlace { unit, ..place });
        let missing = self.table.missing(place.superblock);
        let parity_unit = striping.parity_unit(place.stripe, missing);
        let with_parity = matches!(media.spare(slot_of(parity_unit)), Spare::Data { .. });
        if !with_parity && !parity.is_in_ram(place.superblock, place.stripe) {
            return None;
        }
        let units = striping.units_of_data(place.stripe, missing).chain(with_parity.then_some(parity_unit));
        let others = units.filter(|unit| *unit != place.unit).map(slot_of);
        // Parity may cover a program that has failed since, but never one that a power cut has torn.
        let has_failed = |other: Psn| !media.holds_data(other) && media.is_failing(self.layout.member_at(other));
        if self.table.is_failing(place.superblock) && others.clone().any(has_failed) {
            return None;
        }
        // Padding holds no data, and a slot that is not programmed yet is in RAM.
        let slots = others.filter(|other| matches!(media.spare(*other), Spare::Data { .. })).collect();
        Some(SurvivingSlots { slots, with_parity })
    }

    /// Checks that a slot and the other slots of its stripe have the spare areas that their parity was made of.
    ///
    /// # Panics
    ///
    /// If a spare area differs: the slot would be rebuilt wrongly.
    pub(in crate::page) fn check_rebuilt(&self, media: &Media, psn: Psn, others: &SurvivingSlots) {
        if others.with_parity {
            let slots = others.slots.iter().chain([&psn]);
            let sum = slots.fold(SlotParity::default(), |sum, psn| sum.with(media.spare(*psn)));
            assert_eq!(sum, SlotParity::default(), "the parity of the stripe of {psn} is not that of its slots");
        }
    }

    /// Forgets the unreadable slots of a superblock that has been erased or retired.
    pub(in crate::page) fn forget_unreadable(&mut self, superblock: SuperblockId) {
        let layout = &self.layout;
        self.rebuilds.unreadable.retain(|psn| layout.locate(*psn).0 != superblock);
    }

    /// Counters of parity since the power came on, if superblocks have it.
    pub(in crate::page) fn parity_counters(&self) -> Option<ParityCounters> {
        self.parity.is_some().then_some(ParityCounters {
            rebuilt_superblocks: self.dead_dies.begun,
            waiting_superblocks: self.dead_dies.waiting(),
            ..self.rebuilds.counters
        })
    }
}

#[cfg(test)]
mod tests {
    use base::engine::Rng;
    use base::units::Lpn;

    use super::*;
    use crate::PageConfig;
    use crate::page::PageFtl;
    use crate::page::layout::StripePlace;
    use crate::page::mapping::L2p;
    use crate::rig::{Rig, describe};

    /// The counters after collection has moved a unit that cannot be read, from two dies, with a parity that can be
    /// read or cannot.
    fn counters(parity_is_lost: bool) -> ParityCounters {
        let (config, array, _) = describe(
            r"flash = { part = 'K9K8G08U0M', channels = 2, chips = 1, blocks = 16, pages = 8, planes = 1, controllers = 'none' }
ftl = { capacity = '128KiB', superblock-dies = 2, parity = true }",
        );
        let config = config.downcast_ref::<PageConfig>().expect("a page-mapped drive").clone();
        let mut rig: Rig<PageFtl> = Rig::with(config, &array);
        let units = rig.units();
        (0..units).for_each(|lpn| rig.write(&[lpn], None));
        rig.run_until_idle();
        let place = |rig: &Rig<PageFtl>| match &rig.ftl.mapping.l2p {
            L2p::Ram(map) => map.get(Lpn::new(0)).expect("it is written"),
            L2p::MapUnit(_) => panic!("the map is in RAM"),
        };
        let psn = place(&rig);
        let layout = rig.ftl.blocks.layout.clone();
        let striping = layout.striping.as_ref().expect("two dies");
        let of_parity = StripePlace { unit: 1, ..striping.place(&layout.array, psn) };
        rig.backend.media_mut().lose(psn);
        if parity_is_lost {
            rig.backend.media_mut().lose(striping.slot(&layout.array, of_parity));
        }
        let mut rng = Rng::stream(3, "rebuild");
        while place(&rig) == psn {
            rig.write(&[1 + rng.below(u64::from(units) - 1) as u32], None);
            rig.run_until_idle();
        }
        assert_eq!(rig.backend.media().is_unreadable(place(&rig)), parity_is_lost);
        rig.ftl.blocks.parity_counters().expect("parity")
    }

    #[test]
    fn a_copy_counts_as_rebuilt_only_if_the_other_dies_could_be_read() {
        assert_eq!(counters(false), ParityCounters { rebuilt: 1, ..ParityCounters::default() });
        assert_eq!(counters(true), ParityCounters { lost: 1, ..ParityCounters::default() });
    }
}
