//! The planes that read by themselves, as units of an array.

use std::ops::Range;

use super::{Config, ReadScope};
use crate::nand::Geometry;

/// The units of single planes in an array.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlaneReads {
    pub(super) at_once: u32,
    pub(super) all_reads: bool,
    pub(super) planes: u32,
    pub(super) dies: u32,
}

impl PlaneReads {
    pub(super) fn new(config: &Config, geometry: &Geometry) -> Option<Self> {
        let spec = config.plane_reads?;
        Some(Self {
            at_once: spec.at_once.unwrap_or(geometry.planes),
            all_reads: spec.reads == ReadScope::All,
            planes: geometry.planes,
            dies: geometry.die_count(),
        })
    }

    /// The units of the planes of a die.
    pub(super) fn of_die(&self, die: u32) -> Range<u32> {
        let first = self.dies + die * self.planes;
        first..first + self.planes
    }

    pub(super) const fn die_of(&self, unit: u32) -> u32 {
        if unit < self.dies { unit } else { (unit - self.dies) / self.planes }
    }
}
