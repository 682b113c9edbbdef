//! The configuration of the log-block FTLs.

use std::fmt::Display;

use base::engine::Handle;
use base::memory::growing;
use base::units::{Psn, Span, SuperblockId};
use flash::backend::{Controllers, List, Timing};
use flash::nand::{Geometry, Media};

use super::address::Address;
use super::allocate::Allocator;
use super::blocks::Block;
use super::logs::Logs;
use super::waiting::Waiting;
use super::{LogBlockFtl, LogSpec, Policy, Striping};
use crate::family::Config;
use crate::port::{Ftl, Mount};
use crate::toolkit::{DieLists, ENTRY, Holes, Map, WearSpec};

/// The configuration of a log-block FTL on an array.
#[derive(Clone, Debug)]
pub struct LogBlockConfig {
    pub(crate) policy: Policy,
    pub(crate) geometry: Geometry,
    pub(crate) timing: Timing,
    pub(crate) controllers: Controllers,
    pub(crate) spare_transfer: Span,
    pub(crate) units: u32,
    pub(crate) spec: LogSpec,
    pub(crate) wear: WearSpec,
}

impl Config for LogBlockConfig {
    fn mount(&self, from: &Mount<'_>) -> Box<dyn Ftl> {
        Box::new(LogBlockFtl::mount(self, from))
    }

    fn scan_time(&self, media: &Media, _: Option<&Media>) -> Span {
        crate::toolkit::scan_time(&self.timing, self.spare_transfer, media)
    }

    fn units(&self) -> u32 {
        self.units
    }

    /// The map of blocks, and the map of the pages in log blocks.
    fn table_ram(&self) -> u64 {
        let pages = u64::from(self.geometry.superblock_slots());
        let logical = u64::from(self.units).div_ceil(pages);
        (logical + u64::from(self.spec.blocks) * pages) * ENTRY
    }

    fn memory(&self) -> u64 {
        let (geometry, spec) = (&self.geometry, &self.spec);
        let pages = geometry.superblock_slots();
        let blocks = u64::from(Address::new(self.units, pages, spec.width(geometry)).blocks());
        let dies = u64::from(geometry.die_count());
        u64::from(geometry.superblock_count()) * size_of::<Block>() as u64
            + blocks * size_of::<Option<SuperblockId>>() as u64
            + Holes::memory(blocks, pages)
            + Logs::memory(blocks, pages, spec.blocks, spec.parallel)
            + Waiting::memory(blocks)
            + Allocator::memory(geometry)
            + 2 * DieLists::<Handle<List>>::memory(dies)
            + u64::from(pages) * size_of::<Option<Psn>>() as u64
    }

    /// The newest copy of every mapping unit, and the contents of each block.
    fn memory_of_mount(&self) -> u64 {
        let blocks = u64::from(self.geometry.superblock_count());
        Map::memory(u64::from(self.units)) + growing(blocks, 64)
    }

    fn format(&self, say: &mut dyn FnMut(&'static str, &dyn Display)) {
        say("ftl.log.blocks", &self.spec.blocks);
        let striping = match self.spec.striping {
            Striping::Block => "block",
            Striping::Page => "page",
        };
        say("ftl.log.striping", &striping);
        say("ftl.log.parallel", &self.spec.parallel);
    }
}
