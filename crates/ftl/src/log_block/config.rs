//! The configuration of the log-block FTLs.

use std::fmt::Display;

use base::memory::growing;
use base::units::Span;
use flash::backend::{Controllers, Timing};
use flash::nand::{Geometry, Media};

use super::address::Address;
use super::{LogBlockFtl, LogSpec, Policy, Striping};
use crate::family::Config;
use crate::port::{Ftl, Mount};
use crate::toolkit::{ENTRY, Map, WearSpec};

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

impl LogBlockConfig {
    /// The logical blocks of the drive.
    pub(super) fn address(&self) -> Address {
        Address::new(self.units, self.geometry.superblock_slots(), self.spec.width(&self.geometry))
    }
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

    /// Four bytes for each entry of the map of blocks and of the map of the pages in log blocks.
    fn table_ram(&self) -> u64 {
        let pages = u64::from(self.geometry.superblock_slots());
        let logical = u64::from(self.units).div_ceil(pages);
        (logical + u64::from(self.spec.blocks) * pages) * ENTRY
    }

    fn memory(&self) -> u64 {
        LogBlockFtl::memory(self)
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
