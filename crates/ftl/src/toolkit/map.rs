//! A map from logical to physical: four bytes for each mapping unit.

use base::prefetch::prefetch;
use base::units::{Lpn, Psn};

use crate::map_unit::{decode, encode};

/// The place of each mapping unit.
#[derive(Clone, Debug)]
pub(crate) struct Map {
    /// The inverse of each unit's word in a translation page. Without a place it is zero, so that a map without places is
    /// memory that the system has not touched yet.
    inverse: Vec<u32>,
}

#[inline]
const fn word(place: Option<Psn>) -> u32 {
    !encode(place)
}

#[inline]
fn place(word: u32) -> Option<Psn> {
    decode(!word)
}

impl Map {
    pub(crate) fn new(units: u32) -> Self {
        Self { inverse: vec![word(None); units as usize] }
    }

    /// Most mapping units will get a place: lets the system provide the memory. Otherwise a look at a unit without a place
    /// does so in part, and its place does it again, at several times the cost.
    pub(crate) fn touch(&mut self) {
        const PAGE: usize = 4096 / size_of::<u32>();
        self.inverse.iter_mut().step_by(PAGE).for_each(|inverse| *inverse = std::hint::black_box(word(None)));
    }

    /// Bytes of memory of a map of `units` mapping units.
    pub(crate) const fn memory(units: u64) -> u64 {
        units * size_of::<u32>() as u64
    }

    pub(crate) const fn len(&self) -> u32 {
        self.inverse.len() as u32
    }

    /// Leaves out all mapping units from `units` on.
    pub(crate) fn truncate(&mut self, units: u32) {
        self.inverse.truncate(units as usize);
    }

    /// The entries of some mapping units, as a translation page has them.
    pub(crate) fn entries(&self, units: std::ops::Range<usize>) -> impl ExactSizeIterator<Item = u32> + '_ {
        self.inverse[units].iter().map(|inverse| !inverse)
    }

    /// The mapping units that have a place, with the place.
    #[inline]
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Lpn, Psn)> + '_ {
        self.first(self.inverse.len())
    }

    /// The same of the first `count` units.
    #[inline]
    pub(crate) fn first(&self, count: usize) -> impl Iterator<Item = (Lpn, Psn)> + '_ {
        let words = self.inverse[..count].iter().enumerate();
        words.filter_map(|(unit, word)| place(*word).map(|psn| (Lpn::new(unit as u32), psn)))
    }

    /// True if a mapping unit has this place; one outside the map has none.
    pub(crate) fn leads(&self, lpn: Lpn, psn: Psn) -> bool {
        self.inverse.get(lpn.index()) == Some(&word(Some(psn)))
    }

    #[inline]
    pub(crate) fn get(&self, lpn: Lpn) -> Option<Psn> {
        place(self.inverse[lpn.index()])
    }

    /// The place of a mapping unit that may be outside the map.
    #[inline]
    pub(crate) fn peek(&self, unit: usize) -> Option<Psn> {
        self.inverse.get(unit).copied().and_then(place)
    }

    /// Prefetches the entry of a mapping unit for a lookup that will follow: the map is far larger than any cache.
    #[inline]
    pub(crate) fn fetch(&self, unit: usize) {
        prefetch(self.inverse.get(unit));
    }

    /// Sets the place of a mapping unit and returns the old one.
    #[inline]
    pub(crate) fn set(&mut self, lpn: Lpn, psn: Option<Psn>) -> Option<Psn> {
        place(std::mem::replace(&mut self.inverse[lpn.index()], word(psn)))
    }
}
