//! A map from logical to physical: four bytes for each mapping unit.

use base::prefetch::prefetch;
use base::units::{Lpn, Psn};

use crate::map_unit::{decode, encode};

/// The place of each mapping unit.
#[derive(Clone, Debug)]
pub(crate) struct Map {
    entries: Vec<u32>,
}

impl Map {
    pub(crate) fn new(units: u32) -> Self {
        Self { entries: vec![encode(None); units as usize] }
    }

    /// Bytes of memory of a map of `units` mapping units.
    pub(crate) const fn memory(units: u64) -> u64 {
        units * size_of::<u32>() as u64
    }

    pub(crate) const fn len(&self) -> u32 {
        self.entries.len() as u32
    }

    /// Leaves out all mapping units from `units` on.
    pub(crate) fn truncate(&mut self, units: u32) {
        self.entries.truncate(units as usize);
    }

    /// The entries of some mapping units, as a translation page has them.
    pub(crate) fn entries(&self, units: std::ops::Range<usize>) -> &[u32] {
        &self.entries[units]
    }

    /// The mapping units that have a place, with the place.
    #[inline]
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Lpn, Psn)> + '_ {
        let entries = self.entries.iter().enumerate();
        entries.filter_map(|(unit, entry)| decode(*entry).map(|psn| (Lpn::new(unit as u32), psn)))
    }

    /// True if a mapping unit has this place; one outside the map has none.
    pub(crate) fn leads(&self, lpn: Lpn, psn: Psn) -> bool {
        self.entries.get(lpn.index()) == Some(&encode(Some(psn)))
    }

    #[inline]
    pub(crate) fn get(&self, lpn: Lpn) -> Option<Psn> {
        decode(self.entries[lpn.index()])
    }

    /// The place of a mapping unit that may be outside the map.
    #[inline]
    pub(crate) fn peek(&self, unit: usize) -> Option<Psn> {
        self.entries.get(unit).copied().and_then(decode)
    }

    /// Prefetches the entry of a mapping unit for a lookup that will follow: the map is far larger than any cache.
    #[inline]
    pub(crate) fn fetch(&self, unit: usize) {
        prefetch(self.entries.get(unit));
    }

    /// Sets the place of a mapping unit and returns the old one.
    #[inline]
    pub(crate) fn set(&mut self, lpn: Lpn, psn: Option<Psn>) -> Option<Psn> {
        decode(std::mem::replace(&mut self.entries[lpn.index()], encode(psn)))
    }
}
