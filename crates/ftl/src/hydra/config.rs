//! The configuration of Hydra's FTL.

use std::fmt::Display;

use base::units::{Bytes, SECTOR, Span};
use flash::backend::Timing;
use flash::nand::Media;

use super::superblocks::Superblocks;
use super::{Areas, HydraFtl, Layout, mount};
use crate::family::Config;
use crate::port::{Ftl, Mount};
use crate::toolkit::{ENTRY, WearSpec};

/// The configuration of Hydra's FTL on an array of superchips.
#[derive(Clone, Debug)]
pub struct HydraConfig {
    pub(crate) layout: Layout,
    pub(crate) areas: Areas,
    /// The most merges at once: the number of controllers, or of superchips if it is not given.
    pub(crate) at_once: u32,
    /// Processor time of a read request, and of a merge.
    pub(crate) cpu_time: [Span; 2],
    /// Rows the host can address.
    pub(crate) units: u32,
    pub(crate) wear: WearSpec,
    pub(crate) timing: Timing,
    pub(crate) replicate: bool,
    /// True if flushes of the write buffer are logged.
    pub(crate) logs_flushes: bool,
}

impl HydraConfig {
    /// Physical superblocks of all superchips.
    #[must_use]
    pub const fn superblocks(&self) -> u32 {
        self.layout.physical()
    }

    /// Data blocks of each die, from block 0. The blocks after them are spares, or hold the map and the logs.
    #[must_use]
    pub const fn data_blocks(&self) -> u32 {
        self.layout.superblocks
    }

    /// The number of superchips of the drive.
    #[must_use]
    pub const fn superchips(&self) -> u32 {
        self.layout.superchips
    }

    /// The number of dies (gangs of chips) that a superchip interleaves.
    #[must_use]
    pub const fn chips(&self) -> u32 {
        self.layout.chips
    }

    /// Rows in a superblock, each a mapping unit.
    #[must_use]
    pub const fn rows(&self) -> u32 {
        self.layout.rows()
    }
}

impl Config for HydraConfig {
    fn mount(&self, from: &Mount<'_>) -> Box<dyn Ftl> {
        Box::new(HydraFtl::mount(self, from))
    }

    fn scan_time(&self, media: &Media, _: Option<&Media>) -> Span {
        mount::scan_time(self, media)
    }

    fn units(&self) -> u32 {
        self.units
    }

    /// The place and the erase count of each superblock (Seong et al., Sec. 3.3.1).
    fn table_ram(&self) -> u64 {
        u64::from(self.superblocks()) * 2 * ENTRY
    }

    fn memory(&self) -> u64 {
        let layout = &self.layout;
        let map = u64::from(layout.logical) * size_of::<u32>() as u64;
        Superblocks::memory(layout) + map + u64::from(layout.chips) * 8 + u64::from(layout.superchips) * 64
    }

    /// The map that a mount reads.
    fn memory_of_mount(&self) -> u64 {
        u64::from(self.layout.logical) * 2 * size_of::<u32>() as u64
    }

    fn format(&self, say: &mut dyn FnMut(&'static str, &dyn Display)) {
        say("flash.gang", &self.layout.buses);
        say("ftl.hydra.chips", &self.chips());
        say("ftl.hydra.spare-blocks", &self.layout.spares);
        say("ftl.hydra.replicate", &self.replicate);
        say("buffer.flush", &if self.logs_flushes { "log" } else { "no log" });
        say("ftl.hydra (blocks of a die that hold data)", &self.data_blocks());
    }

    fn notes(&self) -> Vec<(&'static str, String)> {
        let many = |count: u32, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
        let superblock = Bytes::new(SECTOR.get() * u64::from(self.layout.sectors) * u64::from(self.rows()));
        let (superchips, dies) = (many(self.superchips(), "superchip"), many(self.chips(), "die"));
        vec![("ftl", format!("block-mapped: {superchips} of {dies}, superblocks of {superblock}"))]
    }
}
