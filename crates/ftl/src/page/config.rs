//! The configuration of the page-mapped FTL.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::Arc;

use base::engine::Rng;
use base::memory::growing;
use base::units::{DieId, Lpn, Rate, Span};
use flash::backend::Timing;
use flash::nand::{Geometry, Media};

use super::layout::Layout;
use super::{
    CheckpointPages, FdpSpec, FirmwareSpec, GcSpec, HostStreamsSpec, MapPages, PageFtl, PlacementSpec, RefreshSpec,
    SlcCacheSpec, StreamsSpec, TrimPages, UnmappedReads,
};
use crate::MapSpec;
use crate::family::{Config, MapImages, WorkingSpace};
use crate::foresight::Foresight;
use crate::map_unit::cached_pages;
use crate::port::{Ftl, Mount};
use crate::sabotage::PlantedBug;
use crate::toolkit::{ENTRY, WearSpec};

/// The configuration of a page-mapped FTL on an array.
#[derive(Clone, Debug)]
pub struct PageConfig {
    pub(crate) layout: Layout,
    /// The array in superblocks of this FTL, see [`Layout::shape`].
    pub(crate) geometry: Geometry,
    pub(crate) timing: Timing,
    pub(crate) spare_transfer: Span,
    /// True if a program always covers whole rows, because the chips are ganged, programs are one-shot or pages are
    /// paired.
    pub(crate) whole_rows: bool,
    /// True if the FTL itself gathers writes into programs, because no write buffer does.
    pub(crate) gathers: bool,
    pub(crate) firmware: Option<FirmwareSpec>,
    pub(crate) sets: Vec<Vec<DieId>>,
    pub(crate) units: u32,
    pub(crate) gc: GcSpec,
    pub(crate) slc_cache: Option<SlcCacheSpec>,
    pub(crate) refresh: Option<RefreshSpec>,
    /// The rate at which the data of a failed die is moved; if missing, as fast as collection.
    pub(crate) rebuild_rate: Option<Rate>,
    /// The streams of `ftl.streams`, or a stream for each handle of `ftl.fdp`.
    pub(crate) streams: StreamsSpec,
    pub(crate) fdp: Option<FdpSpec>,
    /// Knowledge of the writes to come, for the streams.
    pub(crate) foresight: Foresight,
    pub(crate) wear: WearSpec,
    /// True if collection copies inside a plane.
    pub(crate) copy_back: bool,
    pub(crate) placement: PlacementSpec,
    pub(crate) map: MapSpec,
    pub(crate) map_gather: Option<u32>,
    pub(crate) map_pages: MapPages,
    pub(crate) trim_pages: TrimPages,
    pub(crate) checkpoint_pages: CheckpointPages,
    pub(crate) unmapped_reads: UnmappedReads,
    /// The numbers of `ftl.options`, for a map unit of the program.
    pub(crate) options: BTreeMap<String, f64>,
}

impl PageConfig {
    /// Number of superblocks that each pool sets aside for the static part of the SLC cache: those with the lowest
    /// numbers.
    #[must_use]
    pub const fn set_aside(&self) -> u32 {
        self.map_pages.set_aside
    }

    /// True if superblocks have parity.
    pub(crate) fn has_parity(&self) -> bool {
        self.layout.striping.as_ref().is_some_and(|striping| striping.data_units.get() < striping.dies.get())
    }
}

impl Config for PageConfig {
    fn mount(&self, from: &Mount<'_>) -> Box<dyn Ftl> {
        Box::new(PageFtl::mount(self, from))
    }

    fn with_foresight(&self, foresight: &Foresight) -> Option<Arc<dyn Config>> {
        let asks = matches!(self.streams.host, HostStreamsSpec::Oracle { .. });
        asks.then(|| Arc::new(Self { foresight: foresight.clone(), ..self.clone() }) as Arc<dyn Config>)
    }

    fn scan_time(&self, media: &Media, _: Option<&Media>) -> Span {
        PageFtl::time_of_mount(self, media)
    }

    fn units(&self) -> u32 {
        self.units
    }

    fn table_ram(&self) -> u64 {
        // With the map on flash, RAM holds the directory of translation pages.
        let pages = u64::from(self.map_pages.count) * ENTRY;
        let map = match &self.map {
            MapSpec::Ram | MapSpec::Table { .. } => u64::from(self.units) * ENTRY,
            MapSpec::Uncached { .. } => pages,
            MapSpec::Dftl(spec) => spec.cmt.get() + pages,
            MapSpec::Cdftl(spec) => spec.cmt.get() + spec.ctp.get() + pages,
            MapSpec::Fmmu(spec) => spec.cmt.get() + spec.ctp.get() + pages,
            MapSpec::Own(spec) => spec.ram.get() + pages,
        };
        map + self.trim_pages.ram()
    }

    fn memory(&self) -> u64 {
        PageFtl::memory(self)
    }

    /// The open superblocks of each pool for host data, copies and translation pages, and the superblocks that the
    /// programs fill. In the worst case every unit has a program of its own, filled up with padding, and another
    /// program of a translation page.
    fn blocks_written(&self, units: u64) -> Option<u64> {
        let geometry = &self.geometry;
        let superblocks = u64::from(geometry.superblock_count());
        let slots = u64::from(geometry.slot_count()) / superblocks.max(1);
        let program = u64::from(geometry.row_slots() * self.timing.one_shot.max(self.timing.paired));
        let open =
            u64::from(self.streams.count().open() + 1) * u64::from(geometry.die_count()) * u64::from(geometry.groups());
        let filled = units.saturating_mul(2 * program).div_ceil(slots.max(1));
        let each = u64::from(self.layout.array.block_count()) / superblocks.max(1);
        Some(open.saturating_add(filled).min(superblocks) * each)
    }

    /// Bytes of the list of programmed superblocks, which a mount sorts by age.
    fn memory_of_mount(&self) -> u64 {
        growing(u64::from(self.geometry.superblock_count()), 24)
    }

    fn images(&self) -> MapImages {
        let (map, trims) = (self.map_pages, self.trim_pages);
        MapImages {
            count: map.count + trims.count,
            entries: map.entries.max(trims.words),
            copies: cached_pages(&self.map, map.count, map.entries),
        }
    }

    fn format(&self, say: &mut dyn FnMut(&'static str, &dyn Display)) {
        let kept = if self.map_pages.count > 0 { "on flash, in translation pages" } else { "in RAM" };
        say("ftl.map", &kept);
        if self.trim_pages.count > 0 {
            say("ftl.discard", &"durable, in trim pages");
        }
        let copies = self.streams.count().copies;
        if copies > 1 {
            say("ftl.streams.copies", &format_args!("{copies} streams"));
        }
        if self.checkpoint_pages.count() > 0 {
            say("ftl.checkpoint", &"the map in RAM is written to flash");
        }
    }

    /// Preconditioning runs with time off: no list waits for a controller, and a map in RAM stands in for a map unit
    /// with translation pages.
    fn unseen_by_preconditioning(&self, _: bool) -> &'static [&'static str] {
        if self.map_pages.count > 0 { &["flash.controllers", "ftl.map"] } else { &["flash.controllers"] }
    }

    fn working_space(&self) -> Option<WorkingSpace> {
        Some(self.working_space())
    }

    fn expected_write_amplification(&self) -> Option<f64> {
        self.expected_write_amplification()
    }

    fn no_closed_form(&self) -> Option<&'static str> {
        self.no_closed_form()
    }

    fn no_steady_state(&self) -> Option<&'static str> {
        self.no_steady_state()
    }

    fn lay_out_steady(
        &self,
        media: &mut Media,
        rng: &mut Rng,
        planted: PlantedBug,
        note: &mut dyn FnMut(&[Lpn], u32),
    ) -> bool {
        self.lay_out_steady(media, rng, planted, note)
    }

    fn room(&self, dies: &[DieId]) -> Option<u64> {
        Some(self.map_pages.room(&self.geometry, dies))
    }
}
