//! Parity of the stripes of superblocks in several dies.
//!
//! The parity of a stripe gathers in RAM as programs are issued, and is programmed behind the last of them, in the same stripe. A
//! parity slot has a mapping unit's spare area: the numbers and versions of the slots that it covers, XORed, with a mark that
//! tells it from all mapping units.

use std::collections::BTreeMap;

use base::engine::Handle;
use base::units::{Lpn, SuperblockId};
use flash::backend::{Cause, Class, Command, Slot};
use flash::nand::{Spare, Target};

use super::BlockManager;
use crate::page::Kind;
use crate::page::layout::StripePlace;
use crate::port::Flash;

/// The parity that gathers.
#[derive(Clone, Debug, Default)]
pub(in crate::page) struct Parity {
    /// The stripes under way, one for each open superblock.
    open: BTreeMap<SuperblockId, OpenStripe>,
    /// Superblocks whose stripe is complete, and its number.
    complete: Vec<(SuperblockId, u32)>,
}

/// A stripe that is being written.
#[derive(Clone, Debug)]
struct OpenStripe {
    number: u32,
    /// The XOR of its units so far, slot by slot.
    content: Vec<SlotParity>,
    /// Its programs in progress.
    programs: Vec<Handle<Command>>,
}

/// What parity knows of slots: the XOR of their spare areas.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::page) struct SlotParity {
    pub(in crate::page) lpn: u32,
    pub(in crate::page) version: u32,
}

impl SlotParity {
    /// The XOR with what a spare area tells. Nothing without data there.
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
    fn add(&mut self, superblock: SuperblockId, (number, slots): (u32, u32), program: Handle<Command>) -> &mut OpenStripe {
        let new = || OpenStripe { number, content: vec![SlotParity::default(); slots as usize], programs: Vec::new() };
        let stripe = self.open.entry(superblock).or_insert_with(new);
        debug_assert_eq!(stripe.number, number, "a stripe of {superblock} without parity");
        stripe.programs.push(program);
        stripe
    }

    /// A program of a superblock has ended.
    pub(super) fn program_done(&mut self, superblock: SuperblockId, program: Handle<Command>) {
        if let Some(stripe) = self.open.get_mut(&superblock) {
            stripe.programs.retain(|other| *other != program);
        }
    }

    /// A superblock has been closed, or a program of it has failed: its last stripe has no parity.
    pub(super) fn give_up(&mut self, superblock: SuperblockId) {
        self.open.remove(&superblock);
        self.complete.retain(|(other, _)| *other != superblock);
    }
}

impl BlockManager {
    /// Adds the slots of a program, which are known now, to the parity of its stripe.
    pub(in crate::page) fn cover(&mut self, flash: &Flash<'_>, program: Handle<Command>) {
        let (Some(parity), Some(striping)) = (&mut self.parity, &self.layout.striping) else { return };
        let Target { superblock: member, offset } = flash.backend.command(program).target;
        let (number, first) = striping.unit.split(offset);
        let superblock = self.layout.superblock_of(member);
        if self.table.is_failing(superblock) {
            return;
        }
        let stripe = parity.add(superblock, (number, striping.unit.get()), program);
        for (i, (_, slot)) in (first as usize..).zip(flash.backend.slots(program)) {
            let media = flash.backend.media();
            // The spare area of a copy is that of its source.
            let known = Spare::Data { lpn: slot.lpn, version: slot.version };
            let spare = if slot.expected { known } else { media.spare(slot.psn) };
            stripe.content[i] = stripe.content[i].with(spare);
        }
    }

    /// The next program of a superblock begins at this offset: its stripe may be complete.
    pub(super) fn note_advance(&mut self, superblock: SuperblockId, next: u32) {
        let (Some(parity), Some(striping)) = (&mut self.parity, &self.layout.striping) else { return };
        let (stripes, slots) = (next / striping.stripe_slots(), next % striping.stripe_slots());
        if slots == 0 && stripes > 0 {
            parity.complete.push((superblock, stripes - 1));
        }
    }

    /// Programs the parity of the stripes that are complete.
    #[inline]
    pub(in crate::page) fn store_parity(&mut self, flash: &mut Flash<'_>) {
        while let Some((superblock, stripe)) = self.parity.as_mut().and_then(|parity| parity.complete.pop()) {
            self.store_parity_of(flash, superblock, stripe);
        }
    }

    #[inline(never)]
    fn store_parity_of(&mut self, flash: &mut Flash<'_>, superblock: SuperblockId, number: u32) {
        let (Some(parity), Some(striping)) = (&mut self.parity, &self.layout.striping) else { return };
        let Some(stripe) = parity.open.remove(&superblock) else { return };
        let place = StripePlace { superblock, stripe: number, unit: striping.data_units.get(), slot: 0 };
        let (member, offset) = self.layout.array.locate(striping.slot(&self.layout.array, place));
        let (pool, stream) = (self.pool_of(superblock), self.table.stream(superblock));
        let list = flash.backend.open_list(Class::Other, Kind::Parity as u32);
        let rows = self.layout.array.row_slots() * self.shape.one_shot;
        for (from, slots) in (offset..).step_by(rows as usize).zip(stripe.content.chunks(rows as usize)) {
            let target = Target { superblock: member, offset: from };
            let program = flash.backend.add_program(list, Cause::Parity, target, stream);
            for SlotParity { lpn, version } in slots {
                let lpn = Lpn::new(lpn | Spare::PARITY);
                flash.backend.push_slot(program, Slot { lpn, version: *version, expected: true, ..Slot::default() });
            }
            self.pass_gate(flash, pool, program);
            // The programs of the first stripe run one after the other anyway.
            if from == offset && number > 0 {
                stripe.programs.iter().for_each(|before| flash.backend.depend(*before, program));
            }
            self.table.begin_program(superblock);
        }
        self.pools[pool as usize].parities += 1;
        flash.submit(list);
    }
}
