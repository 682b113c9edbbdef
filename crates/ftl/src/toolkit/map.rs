//! A map from logical to physical: four bytes for each mapping unit.

use base::prefetch::prefetch;
use base::units::{Lpn, Psn};

use crate::map_unit::{decode, encode};

/// The place of each mapping unit.
#[derive(Clone, Debug)]
pub(crate) struct Map {
    /// The complement of each unit's word in a translation page. A unit without a place has zero, so that a map without
    /// places is memory that the system has not touched yet.
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

    /// Lets the system provide the memory of the whole map at once, because most mapping units will get a place.
    /// Otherwise the first read of a page of the map would map a page of zeros, and the first write would replace it,
    /// at several times the cost.
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

    /// The entries of a range of mapping units, encoded as in a translation page.
    pub(crate) fn entries(&self, units: std::ops::Range<usize>) -> impl ExactSizeIterator<Item = u32> + '_ {
        self.inverse[units].iter().map(|inverse| !inverse)
    }

    /// The mapping units that have a place, each with its place.
    #[inline]
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Lpn, Psn)> + '_ {
        self.first(self.inverse.len())
    }

    /// Lists the mapping units below `count` that have a place, each with its place.
    #[inline]
    pub(crate) fn first(&self, count: usize) -> impl Iterator<Item = (Lpn, Psn)> + '_ {
        let words = self.inverse[..count].iter().enumerate();
        words.filter_map(|(unit, word)| place(*word).map(|psn| (Lpn::new(unit as u32), psn)))
    }

    /// True if the map has this place for a mapping unit; false for units outside the map.
    pub(crate) fn leads(&self, lpn: Lpn, psn: Psn) -> bool {
        self.inverse.get(lpn.index()) == Some(&word(Some(psn)))
    }

    #[inline]
    pub(crate) fn get(&self, lpn: Lpn) -> Option<Psn> {
        place(self.inverse[lpn.index()])
    }

    /// The place of a mapping unit; none for units outside the map.
    #[inline]
    pub(crate) fn peek(&self, unit: usize) -> Option<Psn> {
        self.inverse.get(unit).copied().and_then(place)
    }

    /// Prefetches the entry of a mapping unit for a lookup that will follow: the map is far larger than any cache.
    #[inline]
    pub(crate) fn prefetch(&self, unit: usize) {
        prefetch(self.inverse.get(unit));
    }

    /// Sets the place of a mapping unit and returns the old one.
    #[inline]
    pub(crate) fn set(&mut self, lpn: Lpn, psn: Option<Psn>) -> Option<Psn> {
        place(std::mem::replace(&mut self.inverse[lpn.index()], word(psn)))
    }
}
