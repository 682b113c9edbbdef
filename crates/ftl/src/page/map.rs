//! The map from logical to physical: four bytes a unit.

use base::units::{Lpn, Psn};

use crate::map_unit::{decode, encode};

/// The full map in RAM.
#[derive(Clone, Debug)]
pub(super) struct Map {
    entries: Vec<u32>,
}

impl Map {
    pub(super) fn new(units: u32) -> Self {
        Self { entries: vec![encode(None); units as usize] }
    }

    /// Bytes of a map of so many units.
    pub(super) const fn memory(units: u64) -> u64 {
        units * size_of::<u32>() as u64
    }

    pub(super) fn len(&self) -> u32 {
        self.entries.len() as u32
    }

    /// The entries of some units, as a translation page has them.
    pub(super) fn entries(&self, units: std::ops::Range<usize>) -> &[u32] {
        &self.entries[units]
    }

    #[inline]
    pub(super) fn get(&self, lpn: Lpn) -> Option<Psn> {
        decode(self.entries[lpn.index()])
    }

    /// Starts to fetch the entry of a unit that will be looked up soon: the map is far larger than any cache,
    /// and the processor waits while it does something else.
    #[inline]
    pub(super) fn fetch(&self, unit: usize) {
        std::hint::black_box(self.entries.get(unit).copied());
    }

    /// Sets the place of a unit and returns the old one.
    #[inline]
    pub(super) fn set(&mut self, lpn: Lpn, psn: Psn) -> Option<Psn> {
        decode(std::mem::replace(&mut self.entries[lpn.index()], encode(Some(psn))))
    }

    pub(super) fn clear(&mut self, lpn: Lpn) -> Option<Psn> {
        decode(std::mem::replace(&mut self.entries[lpn.index()], encode(None)))
    }
}
