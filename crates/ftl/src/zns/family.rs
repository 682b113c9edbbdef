//! The device descriptions that zones accept, and the configuration of their FTL for them.

use std::sync::Arc;

use base::fault::Faults;
use base::units::{Bytes, Ratio, SECTOR};
use flash::backend::Timing;
use flash::nand::Geometry;

use super::layout::Layout;
use super::{ZnsConfig, ZnsSpec, ZrwaSpec};
use crate::family::{Array, Config, Family, Setup, Site};
use crate::idle::Idle;
use crate::kind::FtlKind;
use crate::map_unit::MapSpec;
use crate::page::{GcSpec, PlacementSpec};
use crate::pages;
use crate::spec::FtlSpec;
use crate::toolkit::WearSpec;
use crate::zone::{ZoneShape, ZrwaShape};

/// The family of drives with zones; it has no state.
#[derive(Debug)]
pub(crate) struct ZnsFamily;

/// Slots of a program, which make a row.
fn row(site: &Site<'_>, geometry: &Geometry) -> u32 {
    geometry.row_slots() * site.part.timing.one_shot
}

/// A size in mapping units. Adds a fault if the size is no multiple of a mapping unit, or beyond the bits of an
/// address.
fn in_units(size: Bytes, (path, geometry): (&str, &Geometry), faults: &mut Faults) -> Option<u32> {
    let unit = u64::from(geometry.sectors) * SECTOR.get();
    let units = u32::try_from(size.get() / unit).ok().filter(|units| *units > 0 && size.get().is_multiple_of(unit));
    if units.is_none() {
        let unit = Bytes::new(unit);
        faults.add(
            path,
            format!("{size} is not a whole number of mapping units of {unit}"),
            format!("use a multiple of {unit}"),
        );
    }
    units
}

impl ZnsFamily {
    /// The zones of a description. Adds the faults of their sizes.
    fn shape(&self, site: &Site<'_>, geometry: &Geometry, faults: &mut Faults) -> Option<ZoneShape> {
        let ZnsSpec { capacity, size, max_active, .. } = site.ftl.zns;
        let unit = u64::from(geometry.sectors) * SECTOR.get();
        let dies = self.dies(site, geometry, faults)?;
        let superblock = geometry.superblock_slots();
        if !superblock.is_multiple_of(row(site, geometry)) {
            let message = format!("a block of {} pages is not a whole number of programs", geometry.pages);
            faults.add("flash.pages", message, format!("use a multiple of {}", site.part.timing.one_shot));
            return None;
        }
        let capacity = match capacity {
            Some(capacity) => in_units(capacity, ("ftl.zns.capacity", geometry), faults)?,
            None => superblock.saturating_mul(dies),
        };
        let size = match size {
            Some(size) => in_units(size, ("ftl.zns.size", geometry), faults)?,
            None => capacity.checked_next_power_of_two().unwrap_or(u32::MAX),
        };
        if size < capacity {
            let [size, capacity] = [size, capacity].map(|units| Bytes::new(u64::from(units) * unit));
            let message = format!("is {size}, less than the zone capacity of {capacity}");
            faults.add("ftl.zns.size", message, format!("use at least {capacity}, or leave it out"));
            return None;
        }
        let (path, asked) = site.asked_units(geometry, faults)?;
        let zrwa = match site.ftl.zns.zrwa {
            Some(zrwa) => Some(self.areas(&zrwa, (max_active, capacity), geometry, faults)?),
            None => None,
        };
        let reserve = ZnsConfig::reserve((max_active, zrwa), geometry, row(site, geometry));
        let in_die = geometry.superblock_count() / geometry.die_count();
        if reserve >= in_die {
            let message = format!(
                "is {max_active}: when the power fails, the rows of so many zones take {reserve} of the {in_die} superblocks of each die"
            );
            faults.add("ftl.zns.max-active", message, "use fewer active zones, or planes of more blocks");
            return None;
        }
        let of_die = in_die - reserve;
        let layers = Layout::layers(geometry, capacity, dies);
        if layers > of_die {
            let zone = Bytes::new(u64::from(capacity) * unit);
            let message =
                format!("{zone} takes {layers} superblocks on each die of a zone, and a die has {of_die} for zones");
            faults.add("ftl.zns.capacity", message, "use smaller zones, more dies for each, or planes of more blocks");
            return None;
        }
        let most = u64::from(of_die / layers) * u64::from(geometry.die_count() / dies);
        let zones = asked / u64::from(capacity);
        let zone = Bytes::new(u64::from(capacity) * unit);
        if site.ftl.capacity.is_some() && !asked.is_multiple_of(u64::from(capacity)) {
            let asked = Bytes::new(asked * unit);
            let message = format!("{asked} is not a whole number of zones, of which {zone} can be written");
            faults.add(path, message, format!("use a multiple of {zone}"));
            return None;
        }
        if zones == 0 || zones > most {
            let message = format!(
                "{zones} zones do not fit: a zone takes {layers} superblocks on each of {dies} dies, and {reserve} of the {in_die} of \
                 each die stay free for the rows in RAM when the power fails",
            );
            let room = Bytes::new(most * u64::from(capacity) * unit);
            let remedy = format!("set ftl.capacity to {room} or less, in multiples of {zone}");
            faults.add(path, message, remedy);
            return None;
        }
        // The numbers behind those of mapping units are names in spare areas: for the padding of zones, and for saved
        // random write areas and their units. Two more for each zone are the tags of lists.
        let names = if zrwa.is_some() { 2 } else { 1 };
        let all = zones * (names * u64::from(size) + 4);
        if all >= u64::from(u32::MAX) {
            let message =
                format!("{zones} zones of {} have too many mapping units", Bytes::new(u64::from(size) * unit));
            faults.add("ftl.map-unit", message, "use a larger mapping unit, or a smaller ftl.zns.size");
            return None;
        }
        let max_open = site.ftl.zns.max_open();
        Some(ZoneShape { zones: zones as u32, size, capacity, max_active, max_open, zrwa })
    }

    /// The random write areas of a drive whose zones hold `capacity` mapping units. Adds the faults of their sizes.
    fn areas(
        &self,
        zrwa: &ZrwaSpec,
        (max_active, capacity): (u32, u32),
        geometry: &Geometry,
        faults: &mut Faults,
    ) -> Option<ZrwaShape> {
        let in_bytes = |units: u32| Bytes::new(u64::from(units) * u64::from(geometry.sectors) * SECTOR.get());
        let size = in_units(zrwa.size, ("ftl.zns.zrwa.size", geometry), faults)?;
        let granularity = match zrwa.flush_granularity {
            Some(granularity) => in_units(granularity, ("ftl.zns.zrwa.flush-granularity", geometry), faults)?,
            None => 1,
        };
        let most = capacity.min(u32::from(u16::MAX));
        if size > most {
            let message = format!(
                "is {}: a random write area is no larger than a zone's capacity, and has at most 65535 mapping units",
                zrwa.size
            );
            faults.add(
                "ftl.zns.zrwa.size",
                message,
                format!("use at most {}", in_bytes(most / granularity * granularity)),
            );
            return None;
        }
        for (what, units) in [("a random write area", size), ("the zone capacity", capacity)] {
            if !units.is_multiple_of(granularity) {
                let message =
                    format!("is {}, and {what} of {} is no multiple of it", in_bytes(granularity), in_bytes(units));
                faults.add("ftl.zns.zrwa.flush-granularity", message, "use a divisor of both, or leave it out");
                return None;
            }
        }
        Some(ZrwaShape { size, granularity, zones: zrwa.zones.unwrap_or(max_active) })
    }

    fn dies(&self, site: &Site<'_>, geometry: &Geometry, faults: &mut Faults) -> Option<u32> {
        let all = geometry.die_count();
        let dies = site.ftl.zns.dies.unwrap_or(all);
        if dies == 0 || !all.is_multiple_of(dies) {
            let message = format!("{all} dies do not divide into groups of {dies}");
            faults.add("ftl.zns.dies", message, format!("use a divisor of {all}"));
            return None;
        }
        Some(dies)
    }
}

impl Family for ZnsFamily {
    fn samples(&self) -> Vec<FtlSpec> {
        let sample = |zns, dynamic| FtlSpec {
            kind: FtlKind::Zns,
            over_provisioning: Some(Ratio::new(0.4)),
            zns,
            wear: WearSpec { dynamic, ..WearSpec::default() },
            ..FtlSpec::default()
        };
        let limits = ZnsSpec { max_active: 4, max_open: Some(3), ..ZnsSpec::default() };
        let zrwa = ZrwaSpec { size: Bytes::new(4096), flush_granularity: Some(Bytes::new(2048)), zones: Some(2) };
        let narrow = ZnsSpec { dies: Some(1), programs_per_die: 1, zrwa: Some(zrwa), ..limits.clone() };
        vec![sample(narrow, false), sample(limits, true)]
    }

    fn check_absent(&self, site: &Site<'_>, faults: &mut Faults) {
        if site.ftl.zns != ZnsSpec::default() {
            faults.add("ftl.zns", "this FTL has no zones", "leave [ftl.zns] out, or set ftl.kind to zns");
        }
    }

    fn check(&self, site: &Site<'_>, faults: &mut Faults) {
        site.ftl.zns.check(faults);
        if site.buffered {
            let message = "conflicts with ftl.kind = \"zns\": the rows of the active zones are its write buffer";
            faults.add("buffer", message, "leave [buffer] out");
        }
    }

    fn idle(&self, site: &Site<'_>) -> Vec<Idle> {
        let (gc, placement) = (site.ftl.gc != GcSpec::default(), site.ftl.placement != PlacementSpec::default());
        vec![
            Idle::new("ftl.gc", gc, "a drive with zones collects nothing"),
            Idle::new("ftl.placement", placement, "a zone's number and the address in it determine the die"),
        ]
    }

    fn corrects_reads(&self) -> bool {
        true
    }

    fn config(&self, site: &Site<'_>, setup: Setup) -> Arc<dyn Config> {
        Arc::new(self.make_config(site, setup))
    }

    fn geometry(&self, site: &Site<'_>, faults: &mut Faults) -> Option<Geometry> {
        pages::geometry(site, pages::LargestUnit::Row, faults)
    }

    fn units(&self, site: &Site<'_>, geometry: &Geometry, faults: &mut Faults) -> Option<u32> {
        self.shape(site, geometry, faults).map(|shape| shape.zones * shape.size)
    }

    fn check_array(&self, site: &Site<'_>, _: &Geometry, _: &Timing, sets: usize, faults: &mut Faults) {
        if site.ftl.map != MapSpec::default() {
            faults.add("ftl.map", "a drive with zones has no map", "leave it out");
        }
        if site.ftl.wear.threshold.is_some() {
            faults.add("ftl.wear.threshold", "a drive with zones moves no data", "leave it out");
        }
        if sets > 1 {
            let message = "zones confine no queue to dies: a zone's number determines its dies";
            faults.add("host.queue", message, "leave `dies` and `channels` out of the queues");
        }
    }
}

impl ZnsFamily {
    /// The configuration of the FTL for a description without faults.
    fn make_config(&self, site: &Site<'_>, setup: Setup) -> ZnsConfig {
        let Array { geometry, backend, spare_transfer, .. } = setup.array;
        let mut faults = Faults::default();
        let shape = self.shape(site, &geometry, &mut faults).expect("checked");
        let dies = site.ftl.zns.dies.unwrap_or_else(|| geometry.die_count());
        let layout = Layout::new(&geometry, shape, dies, row(site, &geometry));
        ZnsConfig {
            reserve: ZnsConfig::reserve((shape.max_active, shape.zrwa), &geometry, layout.row_units()),
            layout,
            timing: backend.timing,
            spare_transfer,
            programs: site.ftl.zns.programs_per_die,
            dies,
            wear: site.ftl.wear.clone(),
        }
    }
}
