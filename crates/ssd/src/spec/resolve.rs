//! A description, checked as a whole: every fault is found, each with its key and the remedy.

use base::fault::Fault;
use base::units::{Bytes, DieId, Rate, SECTOR, Sectors, Span};
use flash::backend::{Config, ModeTimes, Timing, Transfer, Units};
use flash::nand::{Geometry, GeometryError, Part, PartError};

use super::{
    FtlKind, FtlSpec, LinkSpec, ResolvedBuffer, ResolvedHydra, ResolvedQueues, ResolvedSecond, Spec, spare_transfer,
};
use crate::ftl::page::{MapPages, RESERVED};
use crate::sabotage::Planted;

/// More high-level units than any array has dies for; each takes memory.
const UNITS_MAX: u32 = 65_536;

/// A device that can be built.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// What it was described as, with the part written out.
    pub spec: Spec,
    /// The NAND part with the description's changes.
    pub part: Part,
    /// The shape of the flash array.
    pub geometry: Geometry,
    /// The small flash in front of it, if there is one.
    pub second: Option<ResolvedSecond>,
    /// Times, units and order.
    pub backend: Config,
    /// The FTL.
    pub ftl: FtlSpec,
    /// The host's side.
    pub host: ResolvedHost,
    /// The write buffer.
    pub buffer: Option<ResolvedBuffer>,
    /// Mapping units the host can address.
    pub units: u32,
    /// Chips that act as one.
    pub gang: u32,
    /// Whether garbage collection uses copy-back.
    pub copy_back: bool,
    /// Channel time of a page's spare bytes.
    pub spare_transfer: Span,
    /// The shape of Hydra's FTL, if that is its family.
    pub hydra: Option<ResolvedHydra>,
    /// The translation pages.
    pub(crate) map_pages: MapPages,
    /// The bug that a test has planted; none in everything else.
    pub(crate) planted: Planted,
}

/// The host's side of a device.
#[derive(Clone, Debug)]
pub struct ResolvedHost {
    /// The link.
    pub link: LinkSpec,
    /// Requests the device works on at once.
    pub queue_depth: u32,
    /// Mapping units in a piece of a chopped request.
    pub chop: Option<u32>,
    /// The submission queues.
    pub queues: ResolvedQueues,
}

impl Resolved {
    /// Sectors the host can address.
    #[must_use]
    pub fn capacity(&self) -> Sectors {
        Sectors::new(u64::from(self.units) * u64::from(self.geometry.sectors))
    }

    /// Mapping units that an NVM set holds at most under the page-mapped FTL without garbage collection running out of
    /// room.
    ///
    /// # Panics
    /// If there is no such set.
    #[must_use]
    pub fn room(&self, set: u32) -> u64 {
        self.map_pages.room(&self.geometry, &self.host.queues.sets[set as usize])
    }

    /// The same device with a bug in it.
    #[cfg(feature = "sabotage")]
    #[must_use]
    pub const fn sabotaged(mut self, bug: crate::Sabotage) -> Self {
        self.planted = Planted::bug(bug);
        self
    }

    /// Data bytes of the flash, all blocks counted.
    #[must_use]
    pub fn raw_capacity(&self) -> Bytes {
        SECTOR * (u64::from(self.geometry.slot_count()) * u64::from(self.geometry.sectors))
    }
}

/// Faults as they are found.
#[derive(Default)]
pub(super) struct Faults(pub(super) Vec<Fault>);

impl Faults {
    pub(super) fn add(&mut self, path: &str, message: impl Into<String>, remedy: impl Into<String>) {
        self.0.push(Fault::new(path, message, remedy));
    }

    pub(super) fn positive(&mut self, path: &str, value: u32) {
        if value == 0 {
            self.add(path, "is zero", "there must be at least one");
        }
    }
}

impl Spec {
    /// Checks the description and works out what it comes to.
    ///
    /// # Errors
    /// All faults, each with its key and the remedy.
    pub fn resolve(&self) -> Result<Resolved, Vec<Fault>> {
        let mut faults = Faults::default();
        self.check_numbers(&mut faults);
        let part = self.part(&mut faults);
        if let Some(part) = &part {
            self.check_family(part, &mut faults);
            self.check_idle(part, &mut faults);
        }
        let Some(part) = part.filter(|_| faults.0.is_empty()) else { return Err(faults.0) };
        let Some(geometry) = self.geometry(&part, &mut faults) else { return Err(faults.0) };
        self.check_against(&geometry, part.timing.one_shot, &mut faults);
        if !faults.0.is_empty() {
            return Err(faults.0);
        }
        let rate = Rate::new(part.bus.rate.get().saturating_mul(u64::from(self.flash.width / 8)));
        let timing = Timing::new(&part, &geometry, rate, self.flash.cache_mode);
        let timing = timing.map_err(|e| faults.add("flash.pages", e.to_string(), "change pages or the part")).ok();
        let (hydra, units) = match self.ftl.kind {
            FtlKind::Page | FtlKind::Bast | FtlKind::Fast | FtlKind::Chang => {
                (None, self.units(&geometry, &mut faults))
            }
            FtlKind::Hydra => self.hydra(&geometry, &mut faults).unzip(),
        };
        if let (Some(timing), Some(gather)) = (&timing, self.ftl.map_gather) {
            let most = geometry.row_slots() * timing.one_shot;
            if gather == 0 || gather > most {
                let message = format!("{gather} translation pages in a program of {most} mapping units");
                faults.add("ftl.map-gather", message, format!("use 1 to {most}"));
            }
        }
        let buffer = self.resolved_buffer(&geometry, hydra.as_ref(), &mut faults);
        let chop = self.chop(&geometry, &mut faults);
        let (Some(timing), Some(units)) = (timing.filter(|_| faults.0.is_empty()), units) else {
            return Err(faults.0);
        };
        let queues = self.resolved_queues(&geometry, units, &mut faults);
        self.check_log(&geometry, timing.one_shot, queues.sets.len(), &mut faults);
        self.check_chang(&geometry, timing.one_shot, queues.sets.len(), &mut faults);
        let second = self.second(&mut faults);
        if !faults.0.is_empty() {
            return Err(faults.0);
        }
        let density = self.ftl.chang.as_ref().and_then(|chang| chang.density.as_ref());
        let slc_mode = density.map(|density| ModeTimes { read: density.read, program: density.program });
        let mut timing = timing;
        timing.slc_mode = slc_mode;
        let mut spec = self.clone();
        spec.flash.part = None;
        spec.flash.custom_part = Some(part.clone());
        spec.flash.size = None;
        if let (Some(slc), Some(second)) = (&mut spec.slc, &second) {
            let blocks = Some(second.geometry.blocks);
            *slc = super::SlcSpec {
                part: None,
                custom_part: Some(second.part.clone()),
                size: None,
                blocks,
                ..slc.clone()
            };
        }
        Ok(Resolved {
            backend: Config {
                timing,
                units: self.flash.units,
                transfer: self.flash.transfer,
                arbitration: self.flash.order,
                software: self.software(),
            },
            ftl: self.ftl.clone(),
            host: ResolvedHost { link: self.host.link.clone(), queue_depth: self.host.queue_depth, chop, queues },
            buffer,
            units,
            gang: self.flash.gang,
            copy_back: self.ftl.gc.copy_back && part.features.copy_back,
            spare_transfer: spare_transfer(&part, rate),
            hydra,
            second,
            map_pages: self.map_pages(&geometry, units),
            planted: Planted::default(),
            part,
            geometry,
            spec,
        })
    }

    fn check_numbers(&self, faults: &mut Faults) {
        faults.positive("flash.channels", self.flash.channels);
        faults.positive("flash.chips", self.flash.chips);
        faults.positive("flash.gang", self.flash.gang);
        for (path, value) in [
            ("flash.blocks", self.flash.blocks),
            ("flash.pages", self.flash.pages),
            ("flash.planes", self.flash.planes),
            ("flash.dies", self.flash.dies),
        ] {
            faults.positive(path, value.unwrap_or(1));
        }
        self.check_units(faults);
        self.check_limits(faults);
        if self.flash.width == 0 || !self.flash.width.is_multiple_of(8) {
            let width = self.flash.width;
            faults.add("flash.width", format!("a channel of {width} bits"), "use a multiple of 8, e.g. 8, 16 or 32");
        }
        faults.positive("host.queue-depth", self.host.queue_depth);
        self.check_queues(faults);
        faults.positive("ftl.gc.parallel", self.ftl.gc.parallel);
        faults.positive("ftl.gc.start", self.ftl.gc.start);
        faults.positive("ftl.wear.check-every", self.ftl.wear.check_every);
        if self.ftl.wear.threshold == Some(0) {
            faults.add(
                "ftl.wear.threshold",
                "is zero: data would be moved for ever",
                "use at least 1, or leave it out",
            );
        }
        if self.ftl.gc.stop <= self.ftl.gc.start {
            let message = format!("{} free superblocks, where ftl.gc.start is {}", self.ftl.gc.stop, self.ftl.gc.start);
            faults.add("ftl.gc.stop", message, format!("use at least {}", self.ftl.gc.start.saturating_add(1)));
        }
        let faulty = &self.flash.faults;
        for (key, ratio) in [
            ("program-failures", faulty.program_failures),
            ("erase-failures", faulty.erase_failures),
            ("uncorrectable-reads", faulty.uncorrectable_reads),
            ("initial-bad-blocks", faulty.initial_bad_blocks),
        ] {
            if ratio.get() >= 1.0 {
                let path = format!("flash.faults.{key}");
                faults.add(&path, format!("{ratio}: everything would fail"), "use a share below 100%");
            }
        }
    }

    fn check_units(&self, faults: &mut Faults) {
        match self.flash.units {
            Units::Shared(0) => {
                faults.add("flash.units", "no shared unit: nothing would ever be done", "use at least one");
            }
            Units::Background(0) => {
                faults.add("flash.units", "no background unit: nothing would ever be written", "use at least one");
            }
            Units::Shared(count) | Units::Background(count) if count > UNITS_MAX => {
                faults.add("flash.units", format!("{count} units"), format!("use at most {UNITS_MAX}"));
            }
            _ => {}
        }
        if self.flash.transfer == Transfer::Unit {
            let remedy = "use per-die, per-channel or shared units, or leave it out";
            match self.flash.units {
                Units::None => faults.add("flash.transfer", "data is moved by units, and there are none", remedy),
                Units::Background(_) => faults.add("flash.transfer", "units of two kinds use the buses", remedy),
                _ if self.flash.order.hold => {
                    let message = "no bus can be held where units move the data";
                    faults.add("flash.order.hold", message, "leave it out, or flash.transfer");
                }
                _ => {}
            }
        }
        if self.flash.software_units.is_some_and(Span::is_zero) {
            let remedy = "leave it out: the units are then hardware, which takes no time";
            faults.add("flash.software-units", "the processor takes no time for a command", remedy);
        }
    }

    /// The part with the description's changes.
    fn part(&self, faults: &mut Faults) -> Option<Part> {
        let (name, custom) = (self.flash.part.as_deref(), self.flash.custom_part.as_ref());
        let mut part = named_part("flash", name, custom, "dirik-2009", faults)?;
        let flash = &self.flash;
        part.geometry.pages_per_block = flash.pages.unwrap_or(part.geometry.pages_per_block);
        part.geometry.planes_per_die = flash.planes.unwrap_or(part.geometry.planes_per_die);
        // A die of which one plane is used has no other to command along with it.
        part.features.multi_plane &= flash.planes != Some(1);
        part.geometry.dies_per_chip = flash.dies.unwrap_or(part.geometry.dies_per_chip);
        part.geometry.blocks_per_plane = match flash.size {
            Some(size) => self.blocks_of(size, &part, faults)?,
            None => flash.blocks.unwrap_or(part.geometry.blocks_per_plane),
        };
        part.bus.rate = flash.lane_rate.unwrap_or(part.bus.rate);
        if faults.0.is_empty() {
            for error in part.validate() {
                match error {
                    PartError::TooLarge { pages } => {
                        faults.0.push(self.too_large(&part, pages, u128::from(u32::MAX), "pages on each die"));
                    }
                    error => {
                        let key = match (custom, error.key()) {
                            (_, "geometry.pages_per_block") if flash.pages.is_some() => "flash.pages".to_owned(),
                            (Some(_), key) => format!("flash.custom-part.{key}"),
                            (None, _) => "flash.part".to_owned(),
                        };
                        faults.add(&key, error.to_string(), "correct the part's description");
                    }
                }
            }
        }
        Some(part)
    }

    /// Blocks in each plane of an array of this raw size.
    fn blocks_of(&self, size: Bytes, part: &Part, faults: &mut Faults) -> Option<u32> {
        if self.flash.blocks.is_some() {
            faults.add("flash.size", "stands beside flash.blocks", "keep one of the two");
            return None;
        }
        let shape = &part.geometry;
        let planes =
            [self.flash.channels, self.flash.chips, self.flash.gang, shape.dies_per_chip, shape.planes_per_die];
        // One more block in each plane makes the array larger by so much.
        let row = planes.into_iter().map(u64::from).fold(shape.block().get(), u64::saturating_mul);
        if row == 0 {
            // That nothing is there is said at the key that says so.
            return None;
        }
        let row_size = Bytes::new(row);
        if size.get() < row {
            let message = format!("{size} is less than a block in each plane, {row_size}");
            faults.add("flash.size", message, format!("use at least {row_size}, or fewer channels and chips"));
            return None;
        }
        if !size.get().is_multiple_of(row) {
            let message = format!("{size} is not a whole number of blocks in each plane");
            faults.add("flash.size", message, format!("use a multiple of {row_size}"));
            return None;
        }
        let blocks = u32::try_from(size.get() / row).ok();
        if blocks.is_none() {
            let message = format!("{size} is {} blocks in each plane", size.get() / row);
            let most = Bytes::new(row.saturating_mul(u64::from(u32::MAX)));
            faults.add("flash.size", message, format!("use at most {most}, or more channels and chips"));
        }
        blocks
    }

    fn geometry(&self, part: &Part, faults: &mut Faults) -> Option<Geometry> {
        if self.ftl.kind == FtlKind::Hydra {
            return self.geometry_of_rows(part, faults);
        }
        let page = part.geometry.page;
        let unit = self.ftl.map_unit.unwrap_or(Bytes::new(page.get().min(32 * 1024)));
        let Some(sectors) = unit.sectors().filter(|s| !s.is_zero()) else {
            faults.add("ftl.map-unit", format!("{unit} is not a whole number of sectors"), "use a multiple of 512B");
            return None;
        };
        if unit > page || !page.get().is_multiple_of(unit.get()) {
            let message = format!("{unit} does not divide the page of {page}");
            faults.add("ftl.map-unit", message, format!("use {page} or an even part of it"));
            return None;
        }
        let gang = self.flash.gang;
        let planes = part.geometry.planes_per_die.saturating_mul(gang);
        let multi_plane = self.flash.multi_plane.unwrap_or(part.features.multi_plane);
        if multi_plane && part.geometry.planes_per_die > 1 && !part.features.multi_plane {
            let message = format!("{} has no multi-plane commands", part.name);
            faults.add("flash.multi-plane", message, "leave it out, or choose another part");
            return None;
        }
        faults.0.extend(self.ftl.map.faults(unit));
        if self.ftl.map_gather.is_some() && !self.ftl.map.is_paged() {
            let message = "there are no translation pages: the map is in RAM";
            faults.add("ftl.map-gather", message, "leave it out, or choose another ftl.map");
        }
        // Ganged chips always work together; planes do if they can and should.
        let stripe = if multi_plane { planes } else { gang };
        let geometry = Geometry::new(
            self.flash.channels,
            self.flash.chips,
            part.geometry.dies_per_chip,
            planes,
            stripe,
            part.geometry.blocks_per_plane,
            part.geometry.pages_per_block,
            u32::try_from(page.get() / unit.get()).unwrap_or(u32::MAX),
            u32::try_from(sectors.get()).unwrap_or(u32::MAX),
        );
        geometry
            .map_err(|error| {
                faults.0.push(self.impossible(&error, part, "ftl.map-unit"));
            })
            .ok()
    }

    /// Hydra's array: the chips of a gang are one die with a row of their pages for a page, which is the mapping unit.
    fn geometry_of_rows(&self, part: &Part, faults: &mut Faults) -> Option<Geometry> {
        let row = part.geometry.page.get().saturating_mul(u64::from(self.flash.gang)) / SECTOR.get();
        let geometry = Geometry::new(
            self.flash.channels,
            self.flash.chips,
            part.geometry.dies_per_chip,
            1,
            1,
            part.geometry.blocks_per_plane,
            part.geometry.pages_per_block,
            1,
            u32::try_from(row).unwrap_or(u32::MAX),
        );
        geometry.map_err(|error| faults.0.push(self.impossible(&error, part, "flash.gang"))).ok()
    }

    /// The fault of an impossible shape; `unit` is the key that makes mapping units large.
    fn impossible(&self, error: &GeometryError, part: &Part, unit: &str) -> Fault {
        match error {
            GeometryError::TooLarge(slots) => self.too_large(part, *slots, u128::from(u32::MAX - 1), "mapping units"),
            GeometryError::UnitTooLarge(_) => Fault::new(unit, error.to_string(), "make it smaller"),
            _ => Fault::new("flash", error.to_string(), "change the dimensions of the array"),
        }
    }

    /// The translation pages for so many units.
    pub(super) fn map_pages(&self, geometry: &Geometry, units: u32) -> MapPages {
        if self.ftl.map.is_paged() { MapPages::new(geometry, units) } else { MapPages::default() }
    }

    /// Mapping units the host sees.
    fn units(&self, geometry: &Geometry, faults: &mut Faults) -> Option<u32> {
        let raw = u64::from(geometry.slot_count());
        let unit = u64::from(geometry.sectors) * SECTOR.get();
        let (path, units) = match self.ftl.capacity {
            Some(capacity) if !capacity.get().is_multiple_of(unit) => {
                let message = format!("{capacity} is not a whole number of mapping units of {}", Bytes::new(unit));
                let remedy = format!("use a multiple of {}, e.g. {}B", Bytes::new(unit), capacity.get() / unit * unit);
                faults.add("ftl.capacity", message, remedy);
                return None;
            }
            Some(capacity) => ("ftl.capacity", capacity.get() / unit),
            None => {
                let share = 1.0 - self.ftl.over_provisioning.get();
                ("ftl.over-provisioning", (raw as f64 * share.max(0.0)).floor() as u64)
            }
        };
        if self.ftl.kind == FtlKind::Chang {
            return self.chang_units(geometry, path, units, faults);
        }
        if self.ftl.kind.has_log_blocks() {
            return self.log_units(geometry, path, units, faults);
        }
        let pages = self.map_pages(geometry, u32::try_from(units).unwrap_or(u32::MAX));
        let dies: Vec<DieId> = (0..geometry.die_count()).map(DieId::new).collect();
        let spare = pages.room(geometry, &dies);
        if units == 0 {
            faults.add(path, "nothing is left for the host", "leave it some of the flash");
            return None;
        }
        if spare == 0 {
            faults.0.push(self.no_room(geometry, pages.quotas(geometry).into_iter().max().unwrap_or(0)));
            return None;
        }
        if units > spare {
            let message = format!(
                "the host would see {} of {} of flash, which leaves no spare block: every die (or plane group) of {} \
                 superblocks keeps {RESERVED} to itself{}",
                Bytes::new(units * unit),
                Bytes::new(raw * unit),
                geometry.blocks,
                match pages.quotas(geometry).iter().max() {
                    Some(most) => format!(", and up to {most} for the {} translation pages of the map", pages.count),
                    None => String::new(),
                }
            );
            let remedy = format!(
                "let the host see at most {}, i.e. over-provision at least {:.2}%, or give each plane more blocks",
                Bytes::new(spare * unit),
                (1.0 - spare as f64 / raw as f64) * 100.0 + 0.005
            );
            faults.add(path, message, remedy);
            return None;
        }
        u32::try_from(units).ok()
    }

    fn chop(&self, geometry: &Geometry, faults: &mut Faults) -> Option<u32> {
        let chop = self.host.chop?;
        let unit = u64::from(geometry.sectors) * SECTOR.get();
        if chop.is_zero() || !chop.get().is_multiple_of(unit) {
            let message = format!("{chop} is not a multiple of the mapping unit of {}", Bytes::new(unit));
            faults.add("host.chop", message, "use a multiple of the mapping unit, or leave it out");
        }
        u32::try_from(chop.get() / unit).ok()
    }
}

/// The part of an array, the table at `path`: by its name, or written out.
pub(super) fn named_part(
    path: &str,
    name: Option<&str>,
    custom: Option<&Part>,
    example: &str,
    faults: &mut Faults,
) -> Option<Part> {
    match (name, custom) {
        (Some(name), None) => {
            let preset = Part::preset(name);
            if preset.is_none() {
                let known: Vec<_> = Part::presets().map(|part| part.name.as_str()).collect();
                let meant = base::suggest::did_you_mean(name, known.iter().copied());
                let remedy = format!("{meant}use one of {}", known.join(", "));
                faults.add(&format!("{path}.part"), format!("no part is called `{name}`"), remedy);
            }
            preset
        }
        (None, Some(part)) => Some(part.clone()),
        (None, None) => {
            let remedy = format!("name one, e.g. part = \"{example}\"");
            faults.add(&format!("{path}.part"), "no NAND part is named", remedy);
            None
        }
        (Some(_), Some(_)) => {
            let message = format!("stands beside {path}.part");
            faults.add(&format!("{path}.custom-part"), message, "keep one of the two");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(flash: &str) -> Result<Resolved, Vec<Fault>> {
        let text = format!(
            "name = \"q\"\n[flash]\npart = \"dirik-2009\"\nchannels = 2\nchips = 2\nblocks = 32\npages = 16\n{flash}\n\
             [ftl]\nover-provisioning = \"40%\"\n"
        );
        let spec: Spec = toml::from_str(&text).unwrap_or_else(|error| panic!("{flash}: {error}"));
        spec.resolve()
    }

    #[test]
    fn units_and_their_order_are_read() {
        let backend = |flash| resolve(flash).unwrap_or_else(|faults| panic!("{flash}: {faults:?}")).backend;
        assert_eq!(backend("units = { background = 4 }").units, Units::Background(4));
        assert_eq!(backend("software-units = \"5us\"").software, Some(Span::from_us(5)));
        let order = backend("order = { commands = \"read-first\", bus = \"read-first\", hold = true }").arbitration;
        assert_eq!((order.bus, order.hold), (flash::backend::BusOrder::ReadFirst, true));
        let plain = backend("");
        assert_eq!((plain.software, plain.arbitration.hold), (None, false));
        let text = toml::to_string(&resolve("").expect("sound").spec).expect("a table");
        assert!(!text.contains("hold") && !text.contains("software"), "{text}");
    }

    #[test]
    fn faults_of_units_are_found() {
        for (flash, wanted) in [
            (
                "units = { background = 0 }",
                "flash.units: no background unit: nothing would ever be written; use at least",
            ),
            ("units = { shared = 0 }", "flash.units: no shared unit: nothing would ever be done; use at least one"),
            ("units = { background = 4294967295 }", "flash.units: 4294967295 units; use at most 65536"),
            ("units = { shared = 65537 }", "flash.units: 65537 units; use at most 65536"),
            (
                "software-units = \"0us\"",
                "flash.software-units: the processor takes no time for a command; leave it out",
            ),
        ] {
            let faults = resolve(flash).expect_err(flash).into_iter();
            let faults: Vec<_> = faults.map(|f| format!("{}: {}; {}", f.path, f.message, f.remedy)).collect();
            assert!(faults.len() == 1 && faults[0].starts_with(wanted), "{flash}: {faults:?}");
        }
    }
}
