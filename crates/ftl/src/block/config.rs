//! The configuration of the block-mapped FTL.

use std::fmt::Display;

use base::memory::growing;
use base::units::{Span, SuperblockId};
use flash::backend::Timing;
use flash::nand::{BlockBirth, Geometry, Media};

use super::{BlockFtl, BlockSpec, Lbn};
use crate::family::Config;
use crate::port::{Ftl, Mount};
use crate::toolkit::{ENTRY, WearSpec};

/// The configuration of a block-mapped FTL on an array.
#[derive(Clone, Debug)]
pub struct BlockConfig {
    pub(super) geometry: Geometry,
    pub(super) timing: Timing,
    pub(super) spare_transfer: Span,
    pub(super) units: u32,
    pub(super) spec: BlockSpec,
    pub(super) wear: WearSpec,
}

impl BlockConfig {
    pub(super) const fn logical(&self) -> u32 {
        self.units.div_ceil(self.geometry.superblock_slots())
    }
}

impl Config for BlockConfig {
    fn mount(&self, from: &Mount<'_>) -> Box<dyn Ftl> {
        Box::new(BlockFtl::mount(self, from))
    }

    fn scan_time(&self, media: &Media, _: Option<&Media>) -> Span {
        crate::toolkit::scan_time(&self.timing, self.spare_transfer, media)
    }

    fn units(&self) -> u32 {
        self.units
    }

    /// Four bytes for the newest block of each logical block, and four for the next older block of each block.
    fn table_ram(&self) -> u64 {
        (u64::from(self.logical()) + u64::from(self.geometry.superblock_count())) * ENTRY
    }

    fn memory(&self) -> u64 {
        BlockFtl::memory(self)
    }

    /// The age of every programmed block, and the versions of the pages of a chain.
    fn memory_of_mount(&self) -> u64 {
        let blocks = u64::from(self.geometry.superblock_count());
        growing(blocks, size_of::<(Lbn, BlockBirth, SuperblockId)>()) + u64::from(self.geometry.superblock_slots()) * 4
    }

    /// No key decides the layout on flash. A drive may be mounted with a smaller limit on replacement blocks: the next
    /// write to a chain beyond the limit merges the chain.
    fn format(&self, _: &mut dyn FnMut(&'static str, &dyn Display)) {}
}
