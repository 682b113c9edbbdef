//! The content of the slots of commands.
//!
//! The stamps of one write follow each other. Of a slot whose first sector determines the others, only that one is kept
//! until somebody looks at the rest. So the copies of a collection or a merge move a word for each slot.

use std::ops::Range;

use crate::nand::{Contents, Sector, ranges};

#[derive(Clone, Debug)]
pub(super) struct Payload<S> {
    /// Sectors of a slot; 0 without content.
    sectors: usize,
    all: Vec<S>,
    /// The first sector of each slot that it determines: the slots marked in `runs`.
    firsts: Vec<S>,
    runs: Vec<bool>,
}

impl<S: Sector> Payload<S> {
    pub(super) const fn new(sectors: u32) -> Self {
        let sectors = if S::PRESENT { sectors as usize } else { 0 };
        Self { sectors, all: Vec::new(), firsts: Vec::new(), runs: Vec::new() }
    }

    /// Bytes of the content of a slot.
    pub(super) const fn memory(sectors: u32) -> u64 {
        let run = if S::FOLLOWS { size_of::<S>() + size_of::<bool>() } else { 0 };
        sectors as u64 * size_of::<S>() as u64 + run as u64
    }

    /// Bytes of the content of all slots.
    #[cfg(test)]
    pub(super) fn taken(&self) -> usize {
        size_of_val(&*self.all) + size_of_val(&*self.firsts) + size_of_val(&*self.runs)
    }

    /// Makes room for so many slots.
    pub(super) fn resize(&mut self, slots: usize) {
        self.all.resize(slots * self.sectors, S::default());
        if S::FOLLOWS {
            self.firsts.resize(slots, S::default());
            self.runs.resize(slots, false);
        }
    }

    pub(super) fn clear(&mut self) {
        self.all.clear();
        self.firsts.clear();
        self.runs.clear();
    }

    const fn range(&self, place: usize) -> Range<usize> {
        place * self.sectors..(place + 1) * self.sectors
    }

    /// The first sector of a slot, if it is known to determine the others.
    #[inline]
    fn run(&self, place: usize) -> Option<S> {
        (S::FOLLOWS && self.runs[place]).then(|| self.firsts[place])
    }

    /// Puts a sector and those that follow it into a slot.
    #[inline]
    pub(super) fn put_run(&mut self, place: usize, first: S) {
        debug_assert!(S::FOLLOWS, "no sector follows another");
        (self.firsts[place], self.runs[place]) = (first, true);
    }

    /// Empties a slot.
    #[inline]
    pub(super) fn empty(&mut self, place: usize) {
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
        self.to_fill(place).copy_from_slice(content);
    }

    /// The sectors of a slot, all of which the caller replaces.
    #[inline]
    pub(super) fn to_fill(&mut self, place: usize) -> &mut [S] {
        if S::FOLLOWS {
            self.runs[place] = false;
        }
        let range = self.range(place);
        &mut self.all[range]
    }

    /// The sectors of a slot.
    #[inline]
    pub(super) fn of(&mut self, place: usize) -> &mut [S] {
        let run = self.run(place);
        let content = self.to_fill(place);
        if let Some(first) = run {
            (0..).zip(&mut *content).for_each(|(i, sector)| *sector = first.following(i));
        }
        content
    }

    /// Copies the sectors of a mask from one slot to another.
    #[inline]
    pub(super) fn copy(&mut self, [from, into]: [usize; 2], mask: u64) {
        let mut missing = ranges(!mask, self.sectors);
        match self.run(from) {
            Some(first) if missing.next().is_none() => self.put_run(into, first),
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
        if S::FOLLOWS && whole {
            places.clone().for_each(|place| _ = self.of(place));
        }
        let all = &self.all[places.start * self.sectors..places.end * self.sectors];
        if S::FOLLOWS { Contents::new(all, &self.firsts[places.clone()], &self.runs[places]) } else { all.into() }
    }
}
