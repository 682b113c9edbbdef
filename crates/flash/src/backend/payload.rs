//! The content of slots: slots of commands, and mapping units in a write buffer.
//!
//! The stamps of one write follow each other. If the first sector of a slot determines the others, only the first is
//! kept until the others are asked for. So the copies of a collection or a merge move a word for each slot.

use std::ops::Range;

use crate::nand::{
    Contents, Sector, SectorKind, SectorMask, Stamp, copy_between_units, copy_from_unit, copy_into_unit, encode,
    is_whole_unit, ranges, run_into_list,
};

/// The content of numbered slots.
#[derive(Clone, Debug)]
pub struct Payload {
    kind: SectorKind,
    sectors: usize,
    all: Vec<u8>,
    /// For stamps only: the first sector of each slot in short form. The other sectors follow from the first, and are
    /// computed when a caller asks for them.
    runs: Vec<Option<Stamp>>,
    /// A further slot: the target of a read whose sectors are merged into another slot.
    pub(super) scratch: Vec<u8>,
}

/// The content of a slot, in one of two forms.
#[derive(Clone, Copy, Debug)]
pub enum SlotContent<'a> {
    /// The bytes of all sectors.
    Sectors(&'a [u8]),
    /// The first sector, which determines the others ([`Stamp::following`]).
    Run(Stamp),
}

impl SlotContent<'_> {
    /// Reads the content of sector `i` of the slot.
    #[must_use]
    pub fn sector<S: Sector>(self, i: usize) -> S {
        let bytes = S::KIND.bytes();
        match self {
            Self::Sectors(all) => S::decode(&all[i * bytes..][..bytes]),
            Self::Run(first) => S::decode(&first.following(i as u32).0.to_le_bytes()),
        }
    }

    /// Copies the sectors of a mask into a list in which the slot, of `sectors` sectors, begins at index `at`.
    #[inline]
    pub fn copy_into_list<S: Sector>(self, mask: SectorMask, sectors: u32, (list, at): (&mut [S], i32)) {
        match self {
            Self::Sectors(all) => copy_from_unit(mask, all, (list, at)),
            Self::Run(first) => run_into_list(mask, (first, sectors as usize), (list, at)),
        }
    }
}

/// A slot of a [`Payload`], to be changed.
#[derive(Debug)]
pub struct SlotMut<'a> {
    payload: &'a mut Payload,
    place: usize,
}

impl SlotMut<'_> {
    /// Writes the sectors of a mask, from a list in which the slot begins at index `at`.
    #[inline]
    pub fn put_part<S: Sector>(self, mask: SectorMask, (list, at): (&[S], i32)) {
        self.payload.put_part(self.place, mask, (list, at));
    }

    /// Writes the sectors of a mask from another slot's content, from its sector `at` on; the other sectors stay.
    #[inline]
    pub fn put_content(self, mask: SectorMask, (content, at): (SlotContent<'_>, u32)) {
        let Self { payload, place } = self;
        let bytes = payload.kind.bytes();
        let is_whole = is_whole_unit(mask, payload.sectors);
        match content {
            SlotContent::Run(first) if is_whole => payload.put_run(place, first.following(at)),
            SlotContent::Run(first) => {
                let into = payload.of(place);
                for i in ranges(mask, into.len() / bytes).flatten() {
                    first.following(at + i as u32).encode(&mut into[i * bytes..][..bytes]);
                }
            }
            SlotContent::Sectors(all) if is_whole => payload.put(place, &all[at as usize * bytes..][..payload.bytes()]),
            SlotContent::Sectors(all) => {
                copy_between_units(mask, &all[at as usize * bytes..], payload.of(place), bytes)
            }
        }
    }

    /// Writes the sector with index `i`.
    #[inline]
    pub fn put_sector<S: Sector>(&mut self, i: usize, sector: S) {
        let bytes = S::KIND.bytes();
        sector.encode(&mut self.payload.of(self.place)[i * bytes..][..bytes]);
    }

    /// Writes the first sector of another slot's content to sector `i`.
    pub fn put_first_as(self, i: usize, content: SlotContent<'_>) {
        let bytes = self.payload.kind.bytes();
        let into = &mut self.payload.of(self.place)[i * bytes..][..bytes];
        match content {
            SlotContent::Sectors(all) => into.copy_from_slice(&all[..bytes]),
            SlotContent::Run(first) => first.encode(into),
        }
    }

    /// The number of sectors that a slot holds, which is equal for all slots of the array.
    #[must_use]
    #[inline]
    pub const fn sectors(&self) -> usize {
        self.payload.sectors
    }
}

impl Payload {
    /// A payload without slots, for slots of `sectors` sectors of this kind.
    #[must_use]
    pub const fn new(kind: SectorKind, sectors: u32) -> Self {
        Self { kind, sectors: sectors as usize, all: Vec::new(), runs: Vec::new(), scratch: Vec::new() }
    }

    /// A payload with only a scratch slot.
    pub(super) fn with_scratch(kind: SectorKind, sectors: u32) -> Self {
        let payload = Self::new(kind, sectors);
        Self { scratch: vec![0; payload.bytes()], ..payload }
    }

    /// Bytes of the content of a slot.
    #[must_use]
    pub const fn memory(kind: SectorKind, sectors: u32) -> u64 {
        let run = if kind.is_stamp() { size_of::<Option<Stamp>>() } else { 0 };
        (sectors as usize * kind.bytes() + run) as u64
    }

    /// Bytes of the content of all slots at present.
    #[cfg(test)]
    pub(super) fn taken(&self) -> usize {
        size_of_val(&*self.all) + size_of_val(&*self.runs)
    }

    /// True if slots have content.
    #[must_use]
    #[inline]
    pub const fn is_present(&self) -> bool {
        self.kind.is_present()
    }

    /// The kind of the content.
    #[must_use]
    #[inline]
    pub const fn kind(&self) -> SectorKind {
        self.kind
    }

    #[inline]
    const fn bytes(&self) -> usize {
        self.sectors * self.kind.bytes()
    }

    /// The number of slots for which there is room.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.all.len() / self.bytes().max(1)
    }

    /// Makes room for `slots` slots.
    pub fn resize(&mut self, slots: usize) {
        self.all.resize(slots * self.bytes(), 0);
        if self.kind.is_stamp() {
            self.runs.resize(slots, None);
        }
    }

    pub(super) fn clear(&mut self) {
        self.all.clear();
        self.runs.clear();
    }

    const fn range(&self, place: usize) -> Range<usize> {
        place * self.bytes()..(place + 1) * self.bytes()
    }

    /// The first sector of a slot, if the other sectors are known to follow from it.
    #[inline]
    fn run(&self, place: usize) -> Option<Stamp> {
        if self.kind.is_stamp() { self.runs[place] } else { None }
    }

    /// The content of a slot; no bytes if sectors have no content.
    #[must_use]
    #[inline]
    pub fn get(&self, place: usize) -> SlotContent<'_> {
        if !self.is_present() {
            return SlotContent::Sectors(&[]);
        }
        self.run(place).map_or_else(|| SlotContent::Sectors(&self.all[self.range(place)]), SlotContent::Run)
    }

    /// A slot, to be changed.
    #[inline]
    pub const fn slot_mut(&mut self, place: usize) -> SlotMut<'_> {
        SlotMut { payload: self, place }
    }

    /// Writes the sectors of a mask to a slot, from a list in which the slot begins at index `at`.
    #[inline]
    pub fn put_part<S: Sector>(&mut self, place: usize, mask: SectorMask, (list, at): (&[S], i32)) {
        if !self.is_present() {
            return;
        }
        if !is_whole_unit(mask, self.sectors) {
            return copy_into_unit(mask, (list, at), self.of(place));
        }
        let list = &list[at as usize..][..self.sectors];
        match S::run(list) {
            Some(first) => self.put_run(place, first),
            None => encode(list, self.overwrite(place)),
        }
    }

    /// Writes a stamp and those that follow it to a slot.
    #[inline]
    pub(super) fn put_run(&mut self, place: usize, first: Stamp) {
        debug_assert!(self.kind.is_stamp(), "no sector follows another");
        self.runs[place] = Some(first);
    }

    /// The first sectors of the given slots. The caller sets them, and the other sectors of these slots then follow
    /// from them.
    #[inline]
    pub(super) fn runs_of(&mut self, places: Range<usize>) -> &mut [Option<Stamp>] {
        debug_assert!(self.kind.is_stamp(), "no sector follows another");
        &mut self.runs[places]
    }

    /// Clears a slot.
    #[inline]
    pub fn empty(&mut self, place: usize) {
        if self.kind.is_stamp() {
            return self.put_run(place, Stamp::default());
        }
        let range = self.range(place);
        self.all[range].fill(0);
    }

    /// Writes all sectors of a slot.
    #[inline]
    pub(super) fn put(&mut self, place: usize, content: &[u8]) {
        if let Some(first) = self.kind.run(content) {
            return self.put_run(place, first);
        }
        self.overwrite(place).copy_from_slice(content);
    }

    /// The bytes of a slot, all of which the caller replaces.
    #[inline]
    pub(super) fn overwrite(&mut self, place: usize) -> &mut [u8] {
        if !self.is_present() {
            return &mut [];
        }
        if self.kind.is_stamp() {
            self.runs[place] = None;
        }
        let range = self.range(place);
        &mut self.all[range]
    }

    /// The bytes of a slot, to be changed.
    #[inline]
    pub fn of(&mut self, place: usize) -> &mut [u8] {
        let run = self.run(place);
        let content = self.overwrite(place);
        if let Some(first) = run {
            first.fill_run(content);
        }
        content
    }

    /// Copies the sectors of a mask from the scratch slot to another.
    pub(super) fn fill_from_scratch(&mut self, place: usize, mask: SectorMask) {
        let (scratch, bytes) = (std::mem::take(&mut self.scratch), self.kind.bytes());
        copy_between_units(mask, &scratch, self.of(place), bytes);
        self.scratch = scratch;
    }

    /// Copies the sectors of a mask from one slot to another.
    #[inline]
    pub(super) fn copy(&mut self, [from, into]: [usize; 2], mask: SectorMask) {
        // Most slots are copied whole.
        match self.run(from) {
            Some(first) if mask == SectorMask::MAX => self.put_run(into, first),
            _ => self.copy_sectors([from, into], mask),
        }
    }

    fn copy_sectors(&mut self, [from, into]: [usize; 2], mask: SectorMask) {
        [from, into].into_iter().for_each(|place| _ = self.of(place));
        let (from, into, bytes) = (self.range(from), self.range(into), self.kind.bytes());
        for Range { start, end } in ranges(mask, self.sectors) {
            let from = from.start + start * bytes..from.start + end * bytes;
            self.all.copy_within(from, into.start + start * bytes);
        }
    }

    /// The content that a program stores from these slots. If `whole`, all sectors, for media that do not store first
    /// sectors alone.
    #[inline]
    pub(super) fn contents(&mut self, places: Range<usize>, whole: bool) -> Contents<'_> {
        if !self.is_present() {
            return Contents::new(self.kind, &[], &[]);
        }
        if self.kind.is_stamp() && whole {
            places.clone().for_each(|place| _ = self.of(place));
        }
        let all = &self.all[places.start * self.bytes()..places.end * self.bytes()];
        Contents::new(self.kind, all, if self.kind.is_stamp() { &self.runs[places] } else { &[] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nand::Bytes512;
    use proptest::prelude::*;

    const SLOTS: usize = 5;
    const SECTORS: usize = 4;

    #[derive(Clone, Debug)]
    enum PayloadEdit {
        Empty(usize),
        /// Writes all sectors of a slot, from one write or from two.
        Put(usize, u8, bool),
        Copy([usize; 2], SectorMask),
        /// One sector of a slot.
        Change(usize, usize, u8),
    }

    fn step() -> impl Strategy<Value = PayloadEdit> {
        let slot = || 0..SLOTS;
        prop_oneof![
            slot().prop_map(PayloadEdit::Empty),
            (slot(), 1_u8.., any::<bool>()).prop_map(|(slot, first, run)| PayloadEdit::Put(slot, first, run)),
            ([slot(), slot()], prop_oneof![Just(SectorMask::MAX), 0..16 as SectorMask])
                .prop_map(|(slots, mask)| PayloadEdit::Copy(slots, mask)),
            (slot(), 0..SECTORS, any::<u8>()).prop_map(|(slot, sector, to)| PayloadEdit::Change(slot, sector, to)),
        ]
    }

    /// Compares the payload with a list of all sectors.
    fn agrees<S: Sector>(steps: &[PayloadEdit], of: impl Fn(u8, u32) -> S) {
        let mut payload = Payload::new(S::KIND, SECTORS as u32);
        let (bytes, whole) = (S::KIND.bytes(), SectorMask::MAX >> (128 - SECTORS));
        payload.resize(SLOTS);
        let mut list = vec![vec![S::default(); SECTORS]; SLOTS];
        (0..SLOTS).for_each(|slot| payload.empty(slot));
        for step in steps {
            match *step {
                PayloadEdit::Empty(slot) => {
                    payload.empty(slot);
                    list[slot].fill(S::default());
                }
                PayloadEdit::Put(slot, first, run) => {
                    (0..).zip(&mut list[slot]).for_each(|(i, sector)| *sector = of(first, i));
                    list[slot][2] = if run { list[slot][2] } else { of(0, 0) };
                    payload.put_part(slot, whole, (&list[slot], 0));
                }
                PayloadEdit::Copy([from, into], mask) => {
                    for i in (0..SECTORS).filter(|i| mask >> i & 1 != 0) {
                        list[into][i] = list[from][i];
                    }
                    payload.copy([from, into], mask);
                }
                PayloadEdit::Change(slot, sector, to) => {
                    payload.slot_mut(slot).put_sector(sector, of(to, 0));
                    list[slot][sector] = of(to, 0);
                }
            }
        }
        let mut looked_at = payload.clone();
        let encoded = |sectors: &[S]| {
            let mut all = vec![0; sectors.len() * bytes];
            encode(sectors, &mut all);
            all
        };
        assert_eq!(looked_at.contents(1..3, true).all(), encoded(&list[1..3].concat()), "what a store takes");
        for (slot, sectors) in list.iter().enumerate() {
            assert_eq!(payload.of(slot), encoded(sectors), "slot {slot}");
        }
    }

    proptest! {
        #[test]
        fn slots_hold_what_was_put_into_them(steps in prop::collection::vec(step(), 0..40)) {
            agrees(&steps, |first, i| Stamp(u64::from(first) << 24).following(i));
            agrees(&steps, |byte, _| Bytes512([byte; 512]));
        }
    }

    #[test]
    fn a_slot_of_one_write_goes_to_its_program_as_its_first_sector() {
        let mut payload = Payload::new(SectorKind::Stamp, SECTORS as u32);
        payload.resize(SLOTS);
        payload.put_part(0, 0xf, (&[4, 5, 6, 7].map(Stamp), 0));
        payload.put_part(1, 0xf, (&[4, 5, 6, 8].map(Stamp), 0));
        payload.copy([0, 2], SectorMask::MAX);
        assert_eq!(payload.runs, [Some(Stamp(4)), None, Some(Stamp(4)), None, None]);
    }
}
