//! Parity of the stripes of superblocks in several dies.
//!
//! The parity of a stripe gathers in RAM as programs are issued, and is programmed behind the last of them, in the same
//! stripe. A parity slot has a spare area like a mapping unit: the XOR of the numbers and of the versions of the slots
//! that it covers, with a mark that no mapping unit has.

use std::collections::BTreeMap;

use base::engine::Handle;
use base::units::{Lpn, Psn, SuperblockId};
use flash::backend::{Cause, Class, Command, List, Op, Slot};
use flash::nand::{Media, Spare, Target};

use super::BlockManager;
use super::table::SuperblockState;
use crate::page::ListPurpose;
use crate::page::layout::StripePlace;
use crate::port::Flash;
use crate::sabotage::Sabotage;
use crate::toolkit::{Commands, Slots};

/// The parity of the stripes that are not yet complete on flash.
#[derive(Clone, Debug, Default)]
pub(in crate::page) struct Parity {
    /// The stripes under way, one for each open superblock.
    open: BTreeMap<SuperblockId, OpenStripe>,
    /// Superblocks whose stripe is complete, each with the number of the stripe: the parity is to be programmed.
    complete: Vec<(SuperblockId, u32)>,
    /// Stripes whose parity is being programmed, as superblock and number.
    stored: Vec<(SuperblockId, u32)>,
}

/// A stripe that is being written.
#[derive(Clone, Debug)]
struct OpenStripe {
    number: u32,
    /// The XOR of the stripe's units so far, slot by slot.
    content: Vec<SlotParity>,
    /// The stripe's programs in progress.
    programs: Vec<Handle<Command>>,
}

/// The XOR of the spare areas of slots, as parity holds it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::page) struct SlotParity {
    pub(in crate::page) lpn: u32,
    pub(in crate::page) version: u32,
}

impl SlotParity {
    /// The XOR with a spare area. A spare area without data changes nothing.
    pub(in crate::page) const fn with(self, spare: Spare) -> Self {
        match spare {
            Spare::Data { lpn, version } => {
                Self { lpn: self.lpn ^ (lpn.get() & !Spare::PARITY), version: self.version ^ version }
            }
            Spare::Empty | Spare::Torn => self,
        }
    }
}

impl Parity {
    /// Adds a program to the stripe of a superblock.
    fn add(
        &mut self,
        superblock: SuperblockId,
        (number, slots): (u32, u32),
        program: Handle<Command>,
    ) -> &mut OpenStripe {
        let new = || OpenStripe { number, content: vec![SlotParity::default(); slots as usize], programs: Vec::new() };
        let stripe = self.open.entry(superblock).or_insert_with(new);
        debug_assert_eq!(stripe.number, number, "a stripe of {superblock} without parity");
        stripe.programs.push(program);
        stripe
    }

    /// True if the parity of a stripe is in RAM: the stripe or its parity is being written.
    pub(in crate::page) fn is_in_ram(&self, superblock: SuperblockId, stripe: u32) -> bool {
        self.open.get(&superblock).is_some_and(|open| open.number == stripe)
            || self.stored.contains(&(superblock, stripe))
    }

    /// Forgets the parity of a stripe, which has been programmed.
    pub(in crate::page) fn note_stored(&mut self, superblock: SuperblockId, stripe: u32) {
        self.stored.retain(|other| *other != (superblock, stripe));
    }

    /// Removes an ended program from the stripe of its superblock.
    pub(super) fn program_done(&mut self, superblock: SuperblockId, program: Handle<Command>) {
        if let Some(stripe) = self.open.get_mut(&superblock) {
            stripe.programs.retain(|other| *other != program);
        }
    }

    /// Ends the stripe of a superblock that is closed before the stripe is complete. Returns false if no stripe is
    /// open.
    pub(super) fn complete_early(&mut self, superblock: SuperblockId) -> bool {
        let number = self.open.get(&superblock).map(|stripe| stripe.number);
        self.complete.extend(number.map(|number| (superblock, number)));
        number.is_some()
    }
}

/// The spare area that a slot of a program will have; a copy has its source's.
fn spare_of(slot: &Slot, media: &Media) -> Spare {
    if slot.expected { Spare::Data { lpn: slot.lpn, version: slot.version } } else { media.spare(slot.psn) }
}

impl BlockManager {
    /// Adds the slots of a program to the parity of its stripe, if superblocks have parity. The content of the slots is
    /// known when this is called.
    #[inline]
    pub(in crate::page) fn cover(&mut self, flash: &Flash<'_>, program: Handle<Command>) {
        if self.parity.is_some() {
            self.cover_in_stripe(flash, program);
        }
    }

    /// Adds the slots of a program to the parity of its stripe. In a failing superblock the program is the last of its
    /// stripe.
    #[inline(never)]
    fn cover_in_stripe(&mut self, flash: &Flash<'_>, program: Handle<Command>) {
        let (Some(parity), Some(striping)) = (&mut self.parity, &self.layout.striping) else { return };
        let Target { superblock: member, offset } = flash.backend.command(program).target;
        let (number, first) = striping.unit.split(offset);
        let superblock = self.layout.superblock_of(member);
        let stripe = parity.add(superblock, (number, striping.unit.get()), program);
        for (i, (_, slot)) in (first as usize..).zip(flash.backend.slots(program)) {
            if !slot.expected && self.planted.is(Sabotage::CopiesUncovered) {
                continue;
            }
            stripe.content[i] = stripe.content[i].with(spare_of(&slot, flash.backend.media()));
        }
        if self.table.is_failing(superblock) {
            parity.complete_early(superblock);
        }
    }

    /// Withdraws a failed program from the parity of its stripe, if that parity is still in RAM: it then covers only
    /// data that is on flash. The stripe ends with its programs that are under way.
    #[cold]
    pub(in crate::page) fn withdraw(&mut self, flash: &Flash<'_>, superblock: SuperblockId, program: Handle<Command>) {
        let assembles = self.is_under_assembly(flash, superblock);
        let (Some(parity), Some(striping)) = (&mut self.parity, &self.layout.striping) else { return };
        let Some(stripe) = parity.open.get_mut(&superblock) else { return };
        let (media, command) = (flash.backend.media(), flash.backend.command(program));
        let Target { superblock: member, offset } = command.target;
        let (number, first) = striping.unit.split(offset);
        if command.cause != Cause::Parity && stripe.number == number {
            for (i, (_, slot)) in (0..).zip(flash.backend.slots(program)) {
                let sum = &mut stripe.content[(first + i) as usize];
                if !media.holds_data(self.layout.array.slot(member, offset + i)) {
                    *sum = sum.with(spare_of(&slot, media));
                }
            }
        }
        if !assembles {
            parity.complete_early(superblock);
        }
    }

    /// True if a program of a superblock is under assembly.
    fn is_under_assembly(&self, flash: &Flash<'_>, superblock: SuperblockId) -> bool {
        let queue = &self.pools[self.pool_of(superblock) as usize].queue;
        let target = |program| flash.backend.command(program).target.superblock;
        let mut programs = queue.each_list().filter_map(|list| list.program);
        programs.any(|assembly| self.layout.superblock_of(target(assembly.command)) == superblock)
    }

    /// Marks the stripe of a superblock as complete, if the next program at `next` is behind it.
    pub(super) fn note_advance(&mut self, superblock: SuperblockId, next: u32) {
        let (Some(parity), Some(striping)) = (&mut self.parity, &self.layout.striping) else { return };
        let (stripes, slots) = (next / striping.stripe_slots(), next % striping.stripe_slots());
        if slots == 0 && stripes > 0 {
            parity.complete.push((superblock, stripes - 1));
        }
    }

    /// The list that programs the parity of a complete stripe, if there is one.
    #[inline]
    pub(in crate::page) fn next_parity(&mut self, flash: &mut Flash<'_>) -> Option<Handle<List>> {
        while let Some((superblock, stripe)) = self.parity.as_mut()?.complete.pop() {
            let list = self.parity_of(flash, superblock, stripe);
            if list.is_some() {
                return list;
            }
        }
        None
    }

    #[inline(never)]
    fn parity_of(&mut self, flash: &mut Flash<'_>, superblock: SuperblockId, number: u32) -> Option<Handle<List>> {
        let open = &mut self.parity.as_mut()?.open;
        open.get(&superblock).filter(|stripe| stripe.number == number)?;
        let stripe = open.remove(&superblock)?;
        let (member, _) = self.place_of_parity(superblock, number)?;
        // A failed superblock or member may have nothing left to protect. A stripe whose parity finds no place is moved
        // with its superblock.
        let is_gone = matches!(
            self.table.state(superblock),
            SuperblockState::Erasing | SuperblockState::Bad | SuperblockState::Free
        );
        if is_gone || flash.backend.media().is_failing(member) {
            return None;
        }
        let list = flash.backend.open_list(Class::Other, ListPurpose::Parity as u32);
        // The programs of the first stripe already run one after the other.
        let before = if number > 0 { &stripe.programs[..] } else { &[] };
        self.program_parity(flash, list, (superblock, number), &stripe.content, before);
        Some(list)
    }

    /// The member that holds the parity of a stripe, and the offset there.
    fn place_of_parity(&self, superblock: SuperblockId, stripe: u32) -> Option<(SuperblockId, u32)> {
        let striping = self.layout.striping.as_ref()?;
        let unit = striping.parity_unit(stripe, self.table.missing(superblock));
        let psn = striping.slot(&self.layout.array, StripePlace { superblock, stripe, unit, slot: 0 });
        Some(self.layout.array.locate(psn))
    }

    /// Adds the programs of the parity of a stripe to a list, behind other commands.
    fn program_parity(
        &mut self,
        flash: &mut Flash<'_>,
        list: Handle<List>,
        (superblock, number): (SuperblockId, u32),
        content: &[SlotParity],
        behind: &[Handle<Command>],
    ) {
        let Some((member, offset)) = self.place_of_parity(superblock, number) else { return };
        let Some(parity) = &mut self.parity else { return };
        parity.stored.push((superblock, number));
        let (pool, stream) = (self.pool_of(superblock), self.table.stream(superblock));
        let rows = self.layout.array.row_slots() * self.shape.one_shot;
        for (from, slots) in (offset..).step_by(rows as usize).zip(content.chunks(rows as usize)) {
            let target = Target { superblock: member, offset: from };
            let program = flash.backend.add_program(list, Cause::Parity, target, stream);
            for SlotParity { lpn, version } in slots {
                let lpn = Lpn::new(lpn | Spare::PARITY);
                flash.backend.push_slot(program, Slot { lpn, version: *version, expected: true, ..Slot::default() });
            }
            self.pass_gate(flash, pool, program);
            if from == offset {
                behind.iter().for_each(|before| flash.backend.depend(*before, program));
            }
            self.table.begin_program(superblock);
        }
        self.pools[pool as usize].parities += 1;
    }

    /// At a mount: completes the stripes that a power cut has left without parity. The data of such a stripe is read,
    /// and its parity is programmed. A superblock with a torn page of parity is moved.
    pub(in crate::page) fn complete_stripes(&mut self, flash: &mut Flash<'_>) {
        if self.parity.is_none() || self.planted.is(Sabotage::StripesLeftOpen) {
            return;
        }
        for superblock in (0..self.layout.shape.superblock_count()).map(SuperblockId::new) {
            // The data of a superblock with a member in a failed die is moved anyway.
            let is_dead =
                self.layout.present(flash.backend.media(), superblock).any(|of| flash.backend.media().is_dead(of));
            if self.table.state(superblock) == SuperblockState::Closed && !self.table.is_failing(superblock) && !is_dead
            {
                self.complete_stripes_of(flash, superblock);
            }
        }
    }

    /// Marks the parity that a mount has programmed as lost, if a slot that it covers could not be read.
    pub(in crate::page) fn lose_parity_of_lost(&self, flash: &mut Flash<'_>, list: Handle<List>) {
        let mut slots = Slots::of(flash.backend, list);
        let mut lost = false;
        while let Some((_, slot)) = slots.next(flash.backend) {
            lost |= slot.lost && !flash.backend.media().is_tentative(slot.psn);
        }
        let mut commands = Commands::of(flash.backend, list);
        while let Some((_, command)) = commands.next(flash.backend) {
            if lost && command.op == Op::Program {
                let first = self.layout.array.slot(command.target.superblock, command.target.offset).get();
                let slots = first..first + command.count();
                slots.map(Psn::new).for_each(|psn| flash.backend.media_mut().lose(psn));
            }
        }
    }

    /// The superblock of a pool that is moved next because a stripe of it has no parity, if its data finds a place.
    pub(in crate::page) fn next_unprotected(&mut self, pool: u32) -> Option<SuperblockId> {
        while let Some(superblock) = self.pools[pool as usize].gc.unprotected.last().copied() {
            let is_closed = self.table.state(superblock) == SuperblockState::Closed;
            let free = self.pools[pool as usize].free.len();
            if is_closed && !self.copies_fit(pool, free, self.table.valid(superblock)) {
                return None;
            }
            self.pools[pool as usize].gc.unprotected.pop();
            if is_closed {
                return Some(superblock);
            }
        }
        None
    }

    fn complete_stripes_of(&mut self, flash: &mut Flash<'_>, superblock: SuperblockId) {
        let Some(striping) = self.layout.striping.clone() else { return };
        let (array, media) = (self.layout.array.clone(), flash.backend.media());
        let slot_at = |place| striping.slot(&array, place);
        let is_data = |psn: &Psn| matches!(media.spare(*psn), Spare::Data { .. });
        let mut incomplete = Vec::new();
        for stripe in 0..array.superblock_slots() / striping.unit.get() {
            let missing = self.table.missing(superblock);
            let place = StripePlace { superblock, stripe, unit: striping.parity_unit(stripe, missing), slot: 0 };
            let parity = media.spare(slot_at(place));
            if matches!(parity, Spare::Data { .. }) {
                continue;
            }
            let units = striping
                .units_of_data(stripe, missing)
                .flat_map(|unit| (0..striping.unit.get()).map(move |slot| StripePlace { unit, slot, ..place }));
            let held: Vec<(u32, Psn)> =
                units.map(|place| (place.slot, slot_at(place))).filter(|(_, psn)| is_data(psn)).collect();
            if held.iter().any(|(_, psn)| self.table.is_valid(*psn)) {
                if parity == Spare::Torn {
                    let pool = self.pool_of(superblock);
                    self.pools[pool as usize].gc.unprotected.push(superblock);
                    return;
                }
                incomplete.push((stripe, held));
            }
        }
        for (stripe, held) in incomplete {
            let mut content = vec![SlotParity::default(); striping.unit.get() as usize];
            for (slot, psn) in &held {
                content[*slot as usize] = content[*slot as usize].with(flash.backend.media().spare(*psn));
            }
            let list = flash.backend.open_list(Class::Other, ListPurpose::Parity as u32);
            let reads = self.add_reads(flash, list, held.into_iter().map(|(_, psn)| psn), |read| read);
            self.table.pin_times(superblock, reads.len() as u32);
            self.program_parity(flash, list, (superblock, stripe), &content, &reads);
            flash.submit(list);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::PageFtl;
    use crate::rig::{Rig, describe};
    use crate::{PageConfig, PowerCycle};

    /// A drive of four dies after a power cut behind the first program of a stripe. Also returns the slots of the data
    /// and of the parity that the mount has programmed.
    fn completed(data_is_lost: bool) -> (Rig<PageFtl>, [Psn; 2]) {
        let (config, array, _) = describe(
            r"flash = { part = 'K9K8G08U0M', channels = 4, chips = 1, blocks = 16, pages = 8, planes = 1, controllers = 'none' }
ftl = { capacity = '256KiB', superblock-dies = 4, parity = true }",
        );
        let config = config.downcast_ref::<PageConfig>().expect("a page-mapped drive").clone();
        let mut rig: Rig<PageFtl> = Rig::with(config, &array);
        rig.write(&[0], None);
        let holds = |rig: &Rig<PageFtl>, slot: &Psn| matches!(rig.backend.media().spare(*slot), Spare::Data { .. });
        let all: Vec<Psn> = (0..rig.ftl.blocks.layout.array.slot_count()).map(Psn::new).collect();
        rig.run_until_idle();
        let data = *all.iter().find(|psn| holds(&rig, psn)).expect("one program");
        rig.cut_power();
        if data_is_lost {
            rig.backend.media_mut().lose(data);
        }
        rig.with_ftl(|ftl, flash, host| PowerCycle::recover(ftl, flash, host));
        rig.run_until_idle();
        let parity = *all.iter().find(|psn| **psn != data && holds(&rig, psn)).expect("the mount has programmed it");
        (rig, [data, parity])
    }

    #[test]
    fn a_mount_completes_a_stripe_that_it_can_read() {
        let (rig, [data, parity]) = completed(false);
        let media = rig.backend.media();
        let sum = SlotParity::default().with(media.spare(data)).with(media.spare(parity));
        assert_eq!(sum, SlotParity::default());
        assert!(!media.is_unreadable(parity));
    }

    #[test]
    fn parity_of_a_slot_that_could_not_be_read_is_lost() {
        let (rig, [_, parity]) = completed(true);
        assert!(rig.backend.media().is_unreadable(parity));
    }
}
