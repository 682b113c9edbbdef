//! The content of slots: of those of commands, and of mapping units in a write buffer.
//!
//! The stamps of one write follow each other. Of a slot whose first sector determines the others, only that one is kept
//! until somebody looks at the rest. So the copies of a collection or a merge move a word for each slot.

use std::ops::Range;

use crate::nand::{Contents, Sector, copy_from_unit, copy_into_unit, is_whole_unit, ranges, run_into_list};

/// The content of numbered slots, one entry for each sector.
#[derive(Clone, Debug)]
pub struct Payload<S> {
    /// Sectors of a slot; 0 without content.
    sectors: usize,
    all: Vec<S>,
    /// The first sector of each slot of which nobody has needed the others.
    runs: Vec<Option<S>>,
    /// One slot more: the target of a read whose sectors merge with those of another.
    pub(super) scratch: Vec<S>,
}

/// The content of a slot.
#[derive(Clone, Copy, Debug)]
pub enum SlotContent<'a, S> {
    /// All sectors.
    Sectors(&'a [S]),
    /// The first sector, which determines the others ([`Sector::following`]).
    Run(S),
}

impl<S: Sector> SlotContent<'_, S> {
    /// A sector of the slot.
    #[must_use]
    pub fn sector(self, i: usize) -> S {
        match self {
            Self::Sectors(all) => all[i],
            Self::Run(first) => first.following(i as u32),
        }
    }

    /// Copies the sectors of a mask into a list in which the slot, of `sectors` sectors, begins at `at`.
    #[inline]
    pub fn copy_into_list(self, mask: u64, sectors: u32, (list, at): (&mut [S], i32)) {
        match self {
            Self::Sectors(all) => copy_from_unit(mask, all, (list, at)),
            Self::Run(first) => run_into_list(mask, (first, sectors as usize), (list, at)),
        }
    }
}

impl<S: Sector> Payload<S> {
    /// No slots yet, each of this many sectors.
    #[must_use]
    pub const fn new(sectors: u32) -> Self {
        let sectors = if S::PRESENT { sectors as usize } else { 0 };
        Self { sectors, all: Vec::new(), runs: Vec::new(), scratch: Vec::new() }
    }

    /// No slots yet, but a scratch slot.
    pub(super) fn with_scratch(sectors: u32) -> Self {
        let payload = Self::new(sectors);
        Self { scratch: vec![S::default(); payload.sectors], ..payload }
    }

    /// Bytes of the content of a slot.
    #[must_use]
    pub const fn memory(sectors: u32) -> u64 {
        let run = if S::FOLLOWS { size_of::<Option<S>>() } else { 0 };
        sectors as u64 * size_of::<S>() as u64 + run as u64
    }

    /// Bytes of the content of all slots.
    #[cfg(test)]
    pub(super) fn taken(&self) -> usize {
        size_of_val(&*self.all) + size_of_val(&*self.runs)
    }

    /// The slots that there is room for.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.all.len() / self.sectors.max(1)
    }

    /// Makes room for so many slots.
    pub fn resize(&mut self, slots: usize) {
        self.all.resize(slots * self.sectors, S::default());
        if S::FOLLOWS {
            self.runs.resize(slots, None);
        }
    }

    pub(super) fn clear(&mut self) {
        self.all.clear();
        self.runs.clear();
    }

    const fn range(&self, place: usize) -> Range<usize> {
        place * self.sectors..(place + 1) * self.sectors
    }

    /// The first sector of a slot, if it is known to determine the others.
    #[inline]
    fn run(&self, place: usize) -> Option<S> {
        if S::FOLLOWS { self.runs[place] } else { None }
    }

    /// The content of a slot; nothing without content.
    #[must_use]
    #[inline]
    pub fn get(&self, place: usize) -> SlotContent<'_, S> {
        if !S::PRESENT {
            return SlotContent::Sectors(&[]);
        }
        self.run(place).map_or_else(|| SlotContent::Sectors(&self.all[self.range(place)]), SlotContent::Run)
    }

    /// Puts the sectors of a mask into a slot, from a list in which the slot begins at `at`.
    #[inline]
    pub fn put_part(&mut self, place: usize, mask: u64, (list, at): (&[S], i32)) {
        if is_whole_unit(mask, self.sectors) {
            return self.put(place, &list[at as usize..][..self.sectors]);
        }
        copy_into_unit(mask, (list, at), self.of(place));
    }

    /// Puts a sector and those that follow it into a slot.
    #[inline]
    pub(super) fn put_run(&mut self, place: usize, first: S) {
        debug_assert!(S::FOLLOWS, "no sector follows another");
        self.runs[place] = Some(first);
    }

    /// The first sectors of slots whose content the caller replaces by what follows them.
    #[inline]
    pub(super) fn runs_of(&mut self, places: Range<usize>) -> &mut [Option<S>] {
        debug_assert!(S::FOLLOWS, "no sector follows another");
        &mut self.runs[places]
    }

    /// Empties a slot.
    #[inline]
    pub fn empty(&mut self, place: usize) {
        if S::FOLLOWS {
            return self.put_run(place, S::default());
        }
        let range = self.range(place);
        self.all[range].fill(S::default());
    }

    /// Puts all sectors of a slot.
    #[inline]
    pub(super) fn put(&mut self, place: usize, content: &[S]) {
        if S::FOLLOWS && S::is_run(content) {
            return self.put_run(place, content[0]);
        }
        self.overwrite(place).copy_from_slice(content);
    }

    /// The sectors of a slot, all of which the caller replaces.
    #[inline]
    pub(super) fn overwrite(&mut self, place: usize) -> &mut [S] {
        if !S::PRESENT {
            return &mut [];
        }
        if S::FOLLOWS {
            self.runs[place] = None;
        }
        let range = self.range(place);
        &mut self.all[range]
    }

    /// The sectors of a slot, for changes.
    #[inline]
    pub fn of(&mut self, place: usize) -> &mut [S] {
        let run = self.run(place);
        let content = self.overwrite(place);
        if let Some(first) = run {
            first.fill_run(content);
        }
        content
    }

    /// Copies the sectors of a mask from the scratch slot to another.
    pub(super) fn fill_from_scratch(&mut self, place: usize, mask: u64) {
        let scratch = std::mem::take(&mut self.scratch);
        copy_into_unit(mask, (&scratch, 0), self.of(place));
        self.scratch = scratch;
    }

    /// Copies the sectors of a mask from one slot to another.
    #[inline]
    pub(super) fn copy(&mut self, [from, into]: [usize; 2], mask: u64) {
        // Most slots are copied whole.
        match self.run(from) {
            Some(first) if mask == u64::MAX => self.put_run(into, first),
            _ => self.copy_sectors([from, into], mask),
        }
    }

    fn copy_sectors(&mut self, [from, into]: [usize; 2], mask: u64) {
        [from, into].into_iter().for_each(|place| _ = self.of(place));
        let (from, into) = (self.range(from), self.range(into));
        for Range { start, end } in ranges(mask, self.sectors) {
            self.all.copy_within(from.start + start..from.start + end, into.start + start);
        }
    }

    /// What a program takes from these slots; all their sectors if somebody keeps them who knows no runs.
    #[inline]
    pub(super) fn contents(&mut self, places: Range<usize>, whole: bool) -> Contents<'_, S> {
        if !S::PRESENT {
            return Contents::new(&[], &[]);
        }
        if S::FOLLOWS && whole {
            places.clone().for_each(|place| _ = self.of(place));
        }
        let all = &self.all[places.start * self.sectors..places.end * self.sectors];
        if S::FOLLOWS { Contents::new(all, &self.runs[places]) } else { all.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nand::{Bytes512, Stamp};
    use proptest::prelude::*;

    const SLOTS: usize = 5;
    const SECTORS: usize = 4;

    #[derive(Clone, Debug)]
    enum Step {
        Empty(usize),
        /// All sectors of a slot, of one write or of two.
        Put(usize, u8, bool),
        Copy([usize; 2], u64),
        /// One sector of a slot.
        Change(usize, usize, u8),
    }

    fn step() -> impl Strategy<Value = Step> {
        let slot = || 0..SLOTS;
        prop_oneof![
            slot().prop_map(Step::Empty),
            (slot(), 1_u8.., any::<bool>()).prop_map(|(slot, first, run)| Step::Put(slot, first, run)),
            ([slot(), slot()], prop_oneof![Just(u64::MAX), 0..16_u64])
                .prop_map(|(slots, mask)| Step::Copy(slots, mask)),
            (slot(), 0..SECTORS, any::<u8>()).prop_map(|(slot, sector, to)| Step::Change(slot, sector, to)),
        ]
    }

    /// Compares the payload with a list of all sectors.
    fn agrees<S: Sector>(steps: &[Step], of: impl Fn(u8) -> S) {
        let mut payload = Payload::new(SECTORS as u32);
        payload.resize(SLOTS);
        let mut list = vec![vec![S::default(); SECTORS]; SLOTS];
        (0..SLOTS).for_each(|slot| payload.empty(slot));
        for step in steps {
            match *step {
                Step::Empty(slot) => {
                    payload.empty(slot);
                    list[slot].fill(S::default());
                }
                Step::Put(slot, first, run) => {
                    (0..).zip(&mut list[slot]).for_each(|(i, sector)| *sector = of(first).following(i));
                    list[slot][2] = if run { list[slot][2] } else { of(0) };
                    payload.put(slot, &list[slot]);
                }
                Step::Copy([from, into], mask) => {
                    for i in (0..SECTORS).filter(|i| mask >> i & 1 != 0) {
                        list[into][i] = list[from][i];
                    }
                    payload.copy([from, into], mask);
                }
                Step::Change(slot, sector, to) => {
                    payload.of(slot)[sector] = of(to);
                    list[slot][sector] = of(to);
                }
            }
        }
        let mut looked_at = payload.clone();
        assert_eq!(looked_at.contents(1..3, true).all(), list[1..3].concat(), "what a store takes");
        for (slot, sectors) in list.iter().enumerate() {
            assert_eq!(payload.of(slot), sectors, "slot {slot}");
        }
    }

    proptest! {
        #[test]
        fn slots_hold_what_was_put_into_them(steps in prop::collection::vec(step(), 0..40)) {
            agrees(&steps, |first| Stamp(u64::from(first) << 24));
            agrees(&steps, |byte| Bytes512([byte; 512]));
        }
    }

    #[test]
    fn a_slot_of_one_write_goes_to_its_program_as_its_first_sector() {
        let mut payload = Payload::new(SECTORS as u32);
        payload.resize(SLOTS);
        payload.put(0, &[4, 5, 6, 7].map(Stamp));
        payload.put(1, &[4, 5, 6, 8].map(Stamp));
        payload.copy([0, 2], u64::MAX);
        assert_eq!(payload.runs, [Some(Stamp(4)), None, Some(Stamp(4)), None, None]);
        assert_eq!(payload.all[..SECTORS], [Stamp(0); SECTORS], "nobody has looked at them");
    }
}
