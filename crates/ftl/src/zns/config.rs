//! The configuration of the FTL of a drive with zones.

use std::fmt::Display;

use base::units::{Bytes, SECTOR, Span};
use flash::backend::Timing;
use flash::nand::{Geometry, Media};

use super::ZnsFtl;
use super::layout::Layout;
use super::power::{SavedRow, SavedUnit};
use crate::family::Config;
use crate::port::{Ftl, Mount};
use crate::toolkit::{ENTRY, WearSpec};
use crate::zone::{ZoneShape, ZrwaShape};

/// The configuration of the FTL of a drive with zones, on an array.
#[derive(Clone, Debug)]
pub struct ZnsConfig {
    pub(super) layout: Layout,
    pub(super) timing: Timing,
    pub(super) spare_transfer: Span,
    /// The most programs that a die works on at once.
    pub(super) programs: u32,
    /// Superblocks of each die that no zone may take.
    pub(super) reserve: u32,
    pub(super) dies: u32,
    pub(super) wear: WearSpec,
}

impl ZnsConfig {
    /// Superblocks of each die that take the rows of active zones, and their random write areas, when the power fails.
    /// A saved area takes one slot more than it has mapping units, for its name.
    pub(super) fn reserve((max_active, zrwa): (u32, Option<ZrwaShape>), geometry: &Geometry, row: u32) -> u32 {
        let windows = zrwa.map_or(0, |zrwa| u64::from(zrwa.zones) * (u64::from(zrwa.size) + 1));
        let rows = u64::from(max_active) + windows.div_ceil(u64::from(row));
        let in_superblock = u64::from(geometry.superblock_slots() / row);
        let superblocks = rows.div_ceil(in_superblock).div_ceil(u64::from(geometry.die_count()));
        // One more, because the row of a failed program may be saved, too.
        u32::try_from(superblocks).unwrap_or(u32::MAX).saturating_add(1)
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

    /// Four bytes for each superblock of each zone, and for each write pointer.
    fn table_ram(&self) -> u64 {
        u64::from(self.layout.shape.zones) * (u64::from(self.layout.members()) + 1) * ENTRY
    }

    fn memory(&self) -> u64 {
        ZnsFtl::memory(self)
    }

    /// Bytes of the lists of saved rows and random write areas, and of the zones with padding.
    fn memory_of_mount(&self) -> u64 {
        let ZoneShape { zones, max_active, zrwa, .. } = self.layout.shape;
        let units = zrwa.map_or(0, |zrwa| u64::from(zrwa.zones) * u64::from(zrwa.size));
        u64::from(max_active) * 2 * size_of::<SavedRow>() as u64
            + units * 2 * size_of::<SavedUnit>() as u64
            + u64::from(zones)
    }

    /// In the worst case every unit opens a zone, and its row is saved when the power fails.
    fn blocks_written(&self, units: u64) -> Option<u64> {
        let geometry = &self.layout.geometry;
        let all = u64::from(geometry.superblock_count());
        let saved = if units == 0 { 0 } else { self.reserve * geometry.die_count() };
        let superblocks = units.saturating_mul(self.layout.members().into()).saturating_add(saved.into()).min(all);
        Some(superblocks * u64::from(geometry.block_count()) / all.max(1))
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
        let ZoneShape { zones, size, capacity, max_active, max_open, zrwa } = self.layout.shape;
        let row = self.bytes(self.layout.row_units());
        let mut notes = vec![
            ("zones", format!("{zones} of {}, {} of each can be written", self.bytes(size), self.bytes(capacity))),
            (
                "zone rows",
                format!("programs of {row} in turn over {} {}", self.dies, if self.dies == 1 { "die" } else { "dies" }),
            ),
            ("zone limits", format!("{max_active} active, {max_open} open")),
        ];
        notes.extend(zrwa.map(|ZrwaShape { size, granularity, zones }| {
            let [size, granularity] = [size, granularity].map(|units| self.bytes(units));
            ("ZRWA", format!("{size} for each of {zones} zones, flushed by {granularity}"))
        }));
        notes
    }
}
