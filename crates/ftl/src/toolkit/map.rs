//! A map from logical to physical: four bytes a unit.

use base::units::{Lpn, Psn};

use crate::map_unit::{decode, encode};

/// Where each unit is.
#[derive(Clone, Debug)]
pub(crate) struct Map {
    entries: Vec<u32>,
}

impl Map {
    pub(crate) fn new(units: u32) -> Self {
        Self { entries: vec![encode(None); units as usize] }
    }

    /// Bytes of a map of so many units.
    pub(crate) const fn memory(units: u64) -> u64 {
        units * size_of::<u32>() as u64
    }

    pub(crate) const fn len(&self) -> u32 {
        self.entries.len() as u32
    }

    /// The entries of some units, as a translation page has them.
    pub(crate) fn entries(&self, units: std::ops::Range<usize>) -> &[u32] {
        &self.entries[units]
    }

    /// The units that are somewhere, and where.
    #[inline]
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Lpn, Psn)> + '_ {
        let entries = self.entries.iter().enumerate();
        entries.filter_map(|(unit, entry)| decode(*entry).map(|psn| (Lpn::new(unit as u32), psn)))
    }

    /// True if it leads a unit to this place; a unit that it does not know is nowhere.
    pub(crate) fn leads(&self, lpn: Lpn, psn: Psn) -> bool {
        self.entries.get(lpn.index()) == Some(&encode(Some(psn)))
    }

    #[inline]
    pub(crate) fn get(&self, lpn: Lpn) -> Option<Psn> {
        decode(self.entries[lpn.index()])
    }

    /// Starts to fetch the entry of a unit that will be looked up soon: the map is far larger than any cache,
    /// and the processor waits while it does something else.
    #[inline]
    pub(crate) fn fetch(&self, unit: usize) {
        std::hint::black_box(self.entries.get(unit).copied());
    }

    /// Sets the place of a unit and returns the old one.
    #[inline]
    pub(crate) fn set(&mut self, lpn: Lpn, psn: Option<Psn>) -> Option<Psn> {
        decode(std::mem::replace(&mut self.entries[lpn.index()], encode(psn)))
    }
}
