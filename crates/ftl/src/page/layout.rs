//! The layout of this FTL's superblocks in the flash array.
//!
//! A superblock has a *member* in each die of a group: a superblock of the array. The slots of a superblock go over its
//! members in turn, a *unit* of slots to each: those of a word line. A *stripe* is one unit of every member. With
//! parity the last unit of a stripe holds the parity of the other units instead of slots, and the member that has it
//! changes from stripe to stripe.
//!
//! ```text
//! stripe   die 0   die 1   die 2   die 3
//!      0   P       0       1       2        units of slots, in the order in which they are written
//!      1   5       P       3       4
//!      2   7       8       P       6
//! ```
//!
//! In most drives a superblock lies in one die, and is its only member. A superblock in several dies goes on without a
//! bad member, if a stripe of the other members still holds data. The offsets of its slots stay; offsets in a missing
//! unit hold no data. If the missing unit is that of parity, the last unit of data holds the parity instead.

use base::units::{DieId, Divisor, Psn, SuperblockId};
use flash::nand::{Geometry, Media, Mode, Spare, Target};

use crate::sabotage::{PlantedBug, Sabotage};
use crate::toolkit::recovery::{self, MountState};

/// The array, and the assignment of its blocks to the superblocks of the FTL.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub(crate) array: Geometry,
    /// The array as the FTL divides it: a die of `shape` is a group of dies, and its superblocks have only slots for
    /// data.
    pub(crate) shape: Geometry,
    /// The division of superblocks over several dies; none if each lies in one die.
    pub(crate) striping: Option<Box<Striping>>,
}

/// The division of superblocks over the dies of a group.
#[derive(Clone, Debug)]
pub(crate) struct Striping {
    pub(crate) dies: Divisor,
    /// The number of units of data in a stripe, without parity.
    pub(crate) data_units: Divisor,
    pub(crate) unit: Divisor,
    blocks: Divisor,
    /// The dies, group by group. The dies of a group are on as many channels as possible.
    order: Vec<DieId>,
    /// The index of each die in `order`.
    places: Vec<u32>,
}

/// The place of a slot in the stripes of its superblock: stripe, unit and slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StripePlace {
    pub(crate) superblock: SuperblockId,
    pub(crate) stripe: u32,
    /// Position of the unit in the stripe, from 0.
    pub(crate) unit: u32,
    pub(crate) slot: u32,
}

impl Layout {
    /// A layout in which each superblock lies in one die.
    pub(crate) fn in_one_die(array: Geometry) -> Self {
        Self { shape: array.clone(), array, striping: None }
    }

    /// A layout of superblocks in groups of `dies` dies, with units of `unit` slots, and with a unit of parity in each
    /// stripe if `parity`. `None` if the dies do not form groups, or if a superblock of the array is no whole number of
    /// units.
    pub(crate) fn striped(array: Geometry, dies: u32, unit: u32, parity: bool) -> Option<Self> {
        let data_units = dies.checked_sub(u32::from(parity))?;
        let fits =
            data_units > 0 && array.die_count().is_multiple_of(dies) && array.superblock_slots().is_multiple_of(unit);
        if !fits {
            return None;
        }
        if dies == 1 {
            return Some(Self::in_one_die(array));
        }
        let &Geometry { planes, stripe, blocks, pages, slots, sectors, planes_per_unit, .. } = &array;
        let groups = array.die_count() / dies;
        let shape = Geometry::new(1, 1, groups, planes, stripe, blocks, pages * data_units, slots, sectors);
        let shape = shape.ok()?.with_planes_per_unit(planes_per_unit);
        let of_channel = array.die_count() / array.channels;
        let order = (0..array.die_count()).map(|n| DieId::new(n % array.channels * of_channel + n / array.channels));
        let order: Vec<DieId> = order.collect();
        let mut places = vec![0; order.len()];
        (0..).zip(&order).for_each(|(place, die)| places[die.index()] = place);
        let striping = Striping {
            dies: Divisor::new(dies),
            data_units: Divisor::new(data_units),
            unit: Divisor::new(unit),
            blocks: Divisor::new(blocks),
            order,
            places,
        };
        Some(Self { array, shape, striping: Some(Box::new(striping)) })
    }

    /// The number of dies that a superblock lies in.
    pub(crate) fn dies(&self) -> u32 {
        self.striping.as_deref().map_or(1, |striping| striping.dies.get())
    }

    /// Units of data in a stripe.
    pub(crate) fn data_units(&self) -> u32 {
        self.striping.as_deref().map_or(1, |striping| striping.data_units.get())
    }

    /// The superblock of a slot, and the slot's offset in it. The slot must not be one of parity.
    #[inline]
    pub(crate) fn locate(&self, psn: Psn) -> (SuperblockId, u32) {
        match &self.striping {
            None => self.array.locate(psn),
            Some(striping) => {
                let StripePlace { superblock, stripe, unit, slot } = striping.place(&self.array, psn);
                debug_assert!(unit < striping.data_units.get(), "{psn} holds parity");
                (superblock, (stripe * striping.data_units.get() + unit) * striping.unit.get() + slot)
            }
        }
    }

    /// The superblock of a slot, which may be one of parity.
    pub(crate) fn locate_any(&self, psn: Psn) -> SuperblockId {
        self.superblock_of(self.member_at(psn))
    }

    #[inline]
    pub(crate) fn slot(&self, superblock: SuperblockId, offset: u32) -> Psn {
        match &self.striping {
            None => self.array.slot(superblock, offset),
            Some(striping) => striping.slot(&self.array, striping.place_of(superblock, offset)),
        }
    }

    /// The place in the array of the slots of a unit, from an offset of a superblock on.
    #[inline]
    pub(crate) fn target(&self, superblock: SuperblockId, offset: u32) -> Target {
        match &self.striping {
            None => Target { superblock, offset },
            Some(_) => {
                let (superblock, offset) = self.array.locate(self.slot(superblock, offset));
                Target { superblock, offset }
            }
        }
    }

    #[inline]
    pub(crate) fn superblock_of(&self, member: SuperblockId) -> SuperblockId {
        match &self.striping {
            None => member,
            Some(striping) => striping.superblock_of(&self.array, member).0,
        }
    }

    /// The member in which a slot lies.
    #[inline]
    pub(crate) fn member_at(&self, psn: Psn) -> SuperblockId {
        self.array.locate(psn).0
    }

    pub(crate) fn members(&self, superblock: SuperblockId) -> impl Iterator<Item = SuperblockId> + Clone + '_ {
        let (striping, dies) = (self.striping.as_deref(), self.dies());
        (0..dies).map(move |member| match striping {
            None => superblock,
            Some(striping) => striping.member(&self.array, superblock, member),
        })
    }

    /// The number of the bad member that a superblock goes on without, if there is one.
    pub(crate) fn missing(&self, media: &Media, superblock: SuperblockId) -> Option<u32> {
        self.striping.as_ref().filter(|striping| striping.can_miss())?;
        let mut bad = (0..).zip(self.members(superblock)).filter(|(_, member)| media.is_bad(*member));
        let (missing, _) = bad.next()?;
        bad.next().is_none().then_some(missing)
    }

    /// The members of a superblock, except a missing one.
    pub(crate) fn present<'a>(
        &'a self,
        media: &Media,
        superblock: SuperblockId,
    ) -> impl Iterator<Item = SuperblockId> + Clone + 'a {
        let missing = self.missing(media, superblock);
        (0..).zip(self.members(superblock)).filter(move |(n, _)| Some(*n) != missing).map(|(_, member)| member)
    }

    /// The member that is written first.
    pub(crate) fn first_member(&self, media: &Media, superblock: SuperblockId) -> SuperblockId {
        let missing = self.missing(media, superblock);
        let skipped = self.striping.as_ref().filter(|striping| striping.skips(missing, 0));
        self.member_at(self.slot(superblock, skipped.map_or(0, |striping| striping.unit.get())))
    }

    /// True if a superblock was being erased when the power was cut: its content had been moved.
    fn was_being_erased(&self, media: &Media, superblock: SuperblockId) -> bool {
        let first = self.first_member(media, superblock);
        let mut slots = (0..self.array.superblock_slots()).map(|offset| self.array.slot(first, offset));
        self.striping.is_some()
            && !media.is_failing(first)
            && slots.all(|psn| !matches!(media.spare(psn), Spare::Data { .. }))
    }

    /// The members of a superblock whose content recovery uses: none if the superblock was being erased.
    pub(crate) fn believed<'a>(
        &'a self,
        media: &Media,
        superblock: SuperblockId,
        planted: PlantedBug,
    ) -> impl Iterator<Item = SuperblockId> + Clone + 'a {
        let moved = self.was_being_erased(media, superblock) && !planted.is(Sabotage::HalfErasedBelieved);
        self.present(media, superblock).filter(move |_| !moved)
    }

    /// The dies of a group, as `shape` numbers them.
    pub(crate) fn dies_of(&self, group: DieId) -> impl Iterator<Item = DieId> + '_ {
        let (striping, dies) = (self.striping.as_deref(), self.dies());
        (0..dies).map(move |member| match striping {
            None => group,
            Some(striping) => striping.order[(group.get() * dies + member) as usize],
        })
    }

    /// The group of a die, as `shape` numbers it, if superblocks lie in several dies.
    pub(crate) fn group_with(&self, die: DieId) -> Option<DieId> {
        let striping = self.striping.as_ref()?;
        Some(DieId::new(striping.dies.quotient(striping.places[die.index()])))
    }

    /// The groups of some dies, as `shape` numbers them; `None` if `dies` has only a part of some group.
    pub(crate) fn groups_of(&self, dies: &[DieId]) -> Option<Vec<DieId>> {
        let Some(striping) = &self.striping else { return Some(dies.to_vec()) };
        let mut groups: Vec<DieId> =
            dies.iter().map(|die| DieId::new(striping.dies.quotient(striping.places[die.index()]))).collect();
        groups.sort_unstable();
        groups.dedup();
        let whole = |group: &DieId| self.dies_of(*group).all(|die| dies.contains(&die));
        groups.iter().all(whole).then_some(groups)
    }

    /// The offset behind the last slot of a unit, or of the superblock if it lies in one die.
    pub(crate) fn unit_end(&self, offset: u32) -> u32 {
        match &self.striping {
            None => self.shape.superblock_slots(),
            Some(striping) => (striping.unit.quotient(offset) + 1) * striping.unit.get(),
        }
    }

    /// Program/erase cycles of the most worn member of a superblock.
    pub(crate) fn erases(&self, media: &Media, superblock: SuperblockId) -> u32 {
        match &self.striping {
            None => media.erases(superblock),
            Some(_) => self.present(media, superblock).map(|member| media.erases(member)).max().unwrap_or(0),
        }
    }

    /// True if no member has been programmed since its last erase.
    pub(crate) fn is_erased(&self, media: &Media, superblock: SuperblockId) -> bool {
        self.present(media, superblock).all(|member| media.is_erased(member))
    }

    /// True if a program has failed in a member since its last erase.
    pub(crate) fn is_failing(&self, media: &Media, superblock: SuperblockId) -> bool {
        self.present(media, superblock).any(|member| media.is_failing(member))
    }

    /// The state of a superblock. It is erased if all its members are, and out of use if it cannot go on without a bad
    /// member.
    pub(crate) fn state_of(&self, media: &Media, superblock: SuperblockId, planted: PlantedBug) -> MountState {
        let mut members = self.present(media, superblock).map(|member| recovery::state_of(media, member, planted));
        let first = members.next().unwrap_or(MountState::Bad);
        members.fold(first, MountState::with)
    }

    /// The mode in which a superblock was opened.
    pub(crate) fn mode(&self, media: &Media, superblock: SuperblockId) -> Mode {
        let programmed = self.present(media, superblock).find(|member| !media.is_erased(*member));
        media.mode(programmed.unwrap_or(superblock))
    }
}

impl Striping {
    /// Slots of data in a stripe, if no member is missing.
    pub(crate) const fn stripe_slots(&self) -> u32 {
        self.data_units.get() * self.unit.get()
    }

    /// True if a superblock may lack a member: a stripe then still has a unit of data.
    pub(crate) const fn can_miss(&self) -> bool {
        self.data_units.get() > 1
    }

    /// The number of the unit of a stripe that lies in a member, whose number in the group is given.
    fn unit_in(&self, stripe: u32, member: u32) -> u32 {
        // The last unit of stripe n lies in member n.
        self.dies.split(member + self.dies.get() - self.dies.split(stripe).1 + self.dies.get() - 1).1
    }

    /// The unit of a stripe that lies in the missing member.
    pub(crate) fn missing_unit(&self, stripe: u32, missing: Option<u32>) -> Option<u32> {
        missing.map(|missing| self.unit_in(stripe, missing))
    }

    pub(crate) fn parity_unit(&self, stripe: u32, missing: Option<u32>) -> u32 {
        let last = self.data_units.get();
        if self.missing_unit(stripe, missing) == Some(last) { last - 1 } else { last }
    }

    /// The units of a stripe that hold data.
    pub(crate) fn units_of_data(&self, stripe: u32, missing: Option<u32>) -> impl Iterator<Item = u32> + Clone {
        let skipped = self.skipped_unit(stripe, missing);
        (0..self.data_units.get()).filter(move |unit| Some(*unit) != skipped)
    }

    /// The unit of a stripe that holds no data because a member is missing: the missing unit, or the unit that has the
    /// parity instead.
    fn skipped_unit(&self, stripe: u32, missing: Option<u32>) -> Option<u32> {
        self.missing_unit(stripe, missing).map(|gone| gone.min(self.data_units.get() - 1))
    }

    /// True if the unit that begins at an offset holds no data because a member is missing.
    #[inline]
    pub(crate) fn skips(&self, missing: Option<u32>, offset: u32) -> bool {
        if missing.is_none() {
            return false;
        }
        let (units, slot) = self.unit.split(offset);
        let (stripe, unit) = self.data_units.split(units);
        slot == 0 && self.skipped_unit(stripe, missing) == Some(unit)
    }

    /// The slots of data of a superblock that lie before an offset.
    pub(crate) fn slots_before(&self, missing: Option<u32>, offset: u32) -> u32 {
        let (stripe, slot) = (offset / self.stripe_slots(), offset % self.stripe_slots());
        let skipped = self.skipped_unit(stripe, missing).is_some_and(|unit| unit * self.unit.get() < slot);
        let skipped = u32::from(skipped) + if missing.is_some() { stripe } else { 0 };
        offset - skipped * self.unit.get()
    }

    /// The member with a number in the group, for a superblock of `shape`.
    fn member(&self, array: &Geometry, superblock: SuperblockId, member: u32) -> SuperblockId {
        let (pool, block) = self.blocks.split(superblock.get());
        let (group, planes) = (pool / array.groups(), pool % array.groups());
        let die = self.order[(group * self.dies.get() + member) as usize];
        SuperblockId::new((die.get() * array.groups() + planes) * self.blocks.get() + block)
    }

    /// The superblock of a member, and the member's number.
    pub(crate) fn superblock_of(&self, array: &Geometry, member: SuperblockId) -> (SuperblockId, u32) {
        let (pool, block) = self.blocks.split(member.get());
        let (die, planes) = (pool / array.groups(), pool % array.groups());
        let (group, number) = self.dies.split(self.places[die as usize]);
        (SuperblockId::new((group * array.groups() + planes) * self.blocks.get() + block), number)
    }

    /// The place in its stripes of the slot at an offset of a superblock.
    pub(crate) fn place_of(&self, superblock: SuperblockId, offset: u32) -> StripePlace {
        let (units, slot) = self.unit.split(offset);
        let (stripe, unit) = self.data_units.split(units);
        StripePlace { superblock, stripe, unit, slot }
    }

    /// The place of a slot in the stripes of its superblock.
    pub(crate) fn place(&self, array: &Geometry, psn: Psn) -> StripePlace {
        let (member, offset) = array.locate(psn);
        let (superblock, number) = self.superblock_of(array, member);
        let (stripe, slot) = self.unit.split(offset);
        StripePlace { superblock, stripe, unit: self.unit_in(stripe, number), slot }
    }

    pub(crate) fn slot(&self, array: &Geometry, place: StripePlace) -> Psn {
        let StripePlace { superblock, stripe, unit, slot } = place;
        let member = self.member(array, superblock, self.dies.split(unit + stripe + 1).1);
        array.slot(member, stripe * self.unit.get() + slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn layout() -> impl Strategy<Value = Layout> {
        let shape = (1..4u32, 1..4u32, 1..3u32, 1..3u32, 1..4u32, 1..4u32, 1..4u32);
        (shape, any::<prop::sample::Index>(), any::<bool>()).prop_map(
            |((channels, chips, groups, planes, blocks, word_line, slots), pick, parity)| {
                let array = Geometry::new(channels, chips, 2, groups * planes, planes, blocks, 3 * word_line, slots, 8);
                let array = array.expect("small");
                let dies: Vec<u32> =
                    (2..=array.die_count()).filter(|dies| array.die_count().is_multiple_of(*dies)).collect();
                let dies = dies[pick.index(dies.len())];
                let unit = word_line * array.row_slots();
                Layout::striped(array, dies, unit, parity).expect("a divisor of the dies")
            },
        )
    }

    proptest! {
        /// Checks that every slot of the array is a slot of one superblock, or holds parity.
        #[test]
        fn slots_are_found_where_they_lie(layout in layout()) {
            let mut used = vec![false; layout.array.slot_count() as usize];
            for superblock in (0..layout.shape.superblock_count()).map(SuperblockId::new) {
                for offset in 0..layout.shape.superblock_slots() {
                    let psn = layout.slot(superblock, offset);
                    prop_assert!(!std::mem::replace(&mut used[psn.index()], true));
                    prop_assert_eq!(layout.locate(psn), (superblock, offset));
                    let Target { superblock: member, offset: at } = layout.target(superblock, offset);
                    prop_assert_eq!(layout.array.slot(member, at), psn);
                    prop_assert_eq!(layout.superblock_of(member), superblock);
                    prop_assert!(layout.members(superblock).any(|other| other == member));
                    let die = layout.array.die_of(member);
                    prop_assert!(layout.dies_of(layout.shape.die_of(superblock)).any(|other| other == die));
                }
            }
            let striping = layout.striping.as_ref().expect("several dies");
            let parity = striping.dies.get() - striping.data_units.get();
            let held = used.iter().filter(|used| !**used).count() as u32;
            prop_assert_eq!(held, layout.array.slot_count() / striping.dies.get() * parity);
        }

        /// Checks that a superblock without a member has the slots of the other members, with parity in one of them.
        #[test]
        fn a_superblock_goes_on_without_any_member(layout in layout(), pick in any::<prop::sample::Index>()) {
            let striping = layout.striping.as_deref().expect("several dies");
            if !striping.can_miss() {
                return Ok(());
            }
            let missing = pick.index(striping.dies.get() as usize) as u32;
            let (superblock, unit) = (SuperblockId::new(0), striping.unit.get());
            let gone = layout.members(superblock).nth(missing as usize).expect("a member");
            let mut held = 0;
            for offset in (0..layout.shape.superblock_slots()).step_by(unit as usize) {
                prop_assert_eq!(striping.slots_before(Some(missing), offset), held);
                prop_assert_eq!(striping.slots_before(None, offset), offset);
                if !striping.skips(Some(missing), offset) {
                    prop_assert_ne!(layout.member_at(layout.slot(superblock, offset)), gone);
                    held += unit;
                }
            }
            prop_assert_eq!(held, layout.shape.superblock_slots() - layout.array.superblock_slots());
            prop_assert_eq!(striping.slots_before(Some(missing), layout.shape.superblock_slots()), held);
            let has_parity = striping.data_units.get() < striping.dies.get();
            for stripe in (0..layout.array.superblock_slots() / unit).filter(|_| has_parity) {
                let parity = striping.parity_unit(stripe, Some(missing));
                let place = StripePlace { superblock, stripe, unit: parity, slot: 0 };
                prop_assert_ne!(layout.member_at(striping.slot(&layout.array, place)), gone);
                prop_assert!(striping.units_of_data(stripe, Some(missing)).all(|unit| unit != parity));
                prop_assert_eq!(striping.units_of_data(stripe, Some(missing)).count() as u32 + 2, striping.dies.get());
            }
        }

        /// Checks that the units of a stripe lie in different dies.
        #[test]
        fn no_die_has_two_units_of_a_stripe(layout in layout(), pick in any::<u32>()) {
            let striping = layout.striping.as_ref().expect("several dies");
            let superblock = SuperblockId::new(pick % layout.shape.superblock_count());
            let stripe = pick % (layout.array.superblock_slots() / striping.unit.get());
            let units = (0..striping.dies.get()).map(|unit| StripePlace { superblock, stripe, unit, slot: 0 });
            let dies: std::collections::BTreeSet<_> = units
                .map(|place| layout.array.die_of(layout.member_at(striping.slot(&layout.array, place))))
                .collect();
            prop_assert_eq!(dies.len() as u32, striping.dies.get());
        }
    }

    #[test]
    fn parity_moves_from_die_to_die() {
        let array = Geometry::new(4, 1, 1, 1, 1, 1, 4, 1, 8).expect("small");
        let layout = Layout::striped(array, 4, 1, true).expect("four dies");
        let layout = &layout;
        let places = |die: u32| {
            (0..3).map(move |stripe| {
                let psn = layout.array.slot(SuperblockId::new(die), stripe);
                let striping = layout.striping.as_ref().expect("several dies");
                let StripePlace { stripe, unit, .. } = striping.place(&layout.array, psn);
                (unit < 3).then(|| stripe * 3 + unit)
            })
        };
        assert_eq!(places(0).collect::<Vec<_>>(), [None, Some(5), Some(7)]);
        assert_eq!(places(1).collect::<Vec<_>>(), [Some(0), None, Some(8)]);
        assert_eq!(places(2).collect::<Vec<_>>(), [Some(1), Some(3), None]);
        assert_eq!(places(3).collect::<Vec<_>>(), [Some(2), Some(4), Some(6)]);
    }
}
