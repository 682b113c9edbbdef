//! The configuration of the FTL of a drive with zones.

use std::fmt::Display;

use base::units::{Bytes, SECTOR, Span};
use flash::backend::Timing;
use flash::nand::Media;

use super::ZnsFtl;
use super::layout::Layout;
use super::power::SavedRow;
use crate::family::Config;
use crate::port::{Ftl, Mount};
use crate::toolkit::{ENTRY, WearSpec};
use crate::zone::ZoneShape;

/// The configuration of the FTL of a drive with zones, on an array.
#[derive(Clone, Debug)]
pub struct ZnsConfig {
    pub(super) layout: Layout,
    pub(super) timing: Timing,
    pub(super) spare_transfer: Span,
    /// Programs that a die works on at once, at most.
    pub(super) programs: u32,
    /// Superblocks of each die that no zone takes.
    pub(super) reserve: u32,
    pub(super) dies: u32,
    pub(super) wear: WearSpec,
}

impl ZnsConfig {
    /// Superblocks of each die that take the rows of active zones when the power fails.
    pub(super) const fn reserve(max_active: u32, superblock_rows: u32, dies: u32) -> u32 {
        let superblocks = max_active.div_ceil(superblock_rows).div_ceil(dies);
        // A saved row may be one of a failed program, too.
        superblocks.saturating_add(1)
    }

    fn bytes(&self, units: u32) -> Bytes {
        SECTOR * (u64::from(units) * u64::from(self.layout.geometry.sectors))
    }
}

impl Config for ZnsConfig {
    fn mount(&self, from: &Mount<'_>) -> Box<dyn Ftl> {
        Box::new(ZnsFtl::mount(self, from))
    }

    fn scan_time(&self, media: &Media, _: Option<&Media>) -> Span {
        crate::toolkit::scan_time(&self.timing, self.spare_transfer, media)
    }

    fn units(&self) -> u32 {
        self.layout.shape.zones * self.layout.shape.size
    }

    fn zones(&self) -> Option<ZoneShape> {
        Some(self.layout.shape)
    }

    /// The superblocks of each zone, and its write pointer.
    fn table_ram(&self) -> u64 {
        u64::from(self.layout.shape.zones) * (u64::from(self.layout.members()) + 1) * ENTRY
    }

    fn memory(&self) -> u64 {
        ZnsFtl::memory(self)
    }

    /// The saved rows, and which zones have padding.
    fn memory_of_mount(&self) -> u64 {
        u64::from(self.layout.shape.max_active) * 2 * size_of::<SavedRow>() as u64 + u64::from(self.layout.shape.zones)
    }

    fn format(&self, say: &mut dyn FnMut(&'static str, &dyn Display)) {
        let shape = self.layout.shape;
        say("ftl.zns.dies", &self.dies);
        say("ftl.zns.capacity", &self.bytes(shape.capacity));
        say("ftl.zns.size", &self.bytes(shape.size));
    }

    fn no_closed_form(&self) -> Option<&'static str> {
        Some("a drive with zones copies nothing")
    }

    fn no_steady_state(&self) -> Option<&'static str> {
        Some("a drive with zones has no garbage collection, so it has no steady state")
    }

    fn notes(&self) -> Vec<(&'static str, String)> {
        let ZoneShape { zones, size, capacity, max_active, max_open } = self.layout.shape;
        let row = self.bytes(self.layout.row_units());
        vec![
            ("zones", format!("{zones} of {}, {} of each can be written", self.bytes(size), self.bytes(capacity))),
            (
                "zone rows",
                format!("programs of {row} in turn over {} {}", self.dies, if self.dies == 1 { "die" } else { "dies" }),
            ),
            ("zone limits", format!("{max_active} active, {max_open} open")),
        ]
    }
}
