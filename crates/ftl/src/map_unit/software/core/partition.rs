//! A core's part of the map: each core has every n-th translation page.

use base::units::Divisor;

use super::super::super::layout::MapLayout;

/// The translation pages that belong to a core.
#[derive(Clone, Debug)]
pub(super) struct Partition {
    pub(super) layout: MapLayout,
    /// The number of this core, and the number of all cores.
    index: u32,
    pub(super) cores: u32,
    by_cores: Divisor,
}

impl Partition {
    pub(super) const fn new(layout: MapLayout, index: u32, cores: u32) -> Self {
        Self { layout, index, cores, by_cores: Divisor::new(cores) }
    }

    /// The number of a block among the blocks of this core: consecutive numbers use all sets of the core's cache.
    #[inline]
    pub(super) fn key(&self, block: u32) -> u32 {
        let (tvpn, number) = self.layout.split(block);
        self.by_cores.quotient(tvpn) * self.layout.blocks() + number
    }

    /// The number of a page among the pages of this core.
    #[inline]
    pub(super) fn own_number(&self, tvpn: u32) -> u32 {
        self.by_cores.quotient(tvpn)
    }

    /// The page of a cached block, and the block's offset in it.
    #[inline]
    pub(super) fn page_of(&self, key: u32) -> (u32, usize) {
        let (page, at) = self.layout.page_of(key);
        (page * self.cores + self.index, at)
    }
}
