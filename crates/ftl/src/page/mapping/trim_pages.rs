//! The number of trim pages, and the number of mapping units that each records.

use flash::nand::Geometry;

use crate::page::DiscardSpec;

/// The trim pages of a device; none if discards are volatile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TrimPages {
    pub(crate) count: u32,
    /// Mapping units of each trim page.
    pub(super) units: u32,
    /// Words of four bytes of each trim page: one half are bits, the other half versions of writes in progress.
    pub(crate) words: u32,
}

impl TrimPages {
    pub(crate) const fn of(discard: DiscardSpec, geometry: &Geometry, units: u32) -> Self {
        let words = geometry.sectors * 128;
        match discard {
            DiscardSpec::Volatile => Self { count: 0, units: 0, words: 0 },
            DiscardSpec::Durable => Self { count: units.div_ceil(words * 16), units: words * 16, words },
        }
    }

    /// Bytes of RAM that a real drive needs: a bit for each mapping unit.
    pub(crate) const fn ram(&self) -> u64 {
        self.count as u64 * self.units as u64 / 8
    }

    /// Bytes of the simulator's memory, including the images in the media; `page` is the size of the FTL's state of a
    /// page.
    pub(crate) const fn memory(&self, page: usize) -> u64 {
        self.ram() + self.count as u64 * (page + size_of::<u32>()) as u64
    }

    /// The most writes in progress that a page lists.
    pub(super) const fn listed(&self) -> usize {
        self.words as usize / 4
    }
}
