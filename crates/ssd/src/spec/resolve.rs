//! Checks a description as a whole: finds every fault, each with its key and the remedy.

use std::sync::Arc;

use base::fault::{Fault, Faults};
use base::units::{Bytes, Rate, SECTOR, Sectors, Time};
use flash::backend::{Config, Timing};
use flash::nand::{CustomPart, Geometry, Part};
use flash::spec::{ResolvedSlcArray, SlcSpec};
use ftl::{Array, FtlSpec, PaceSpec, PlantedBug, Setup, Site, ZoneShape};

use super::{FlushPolicy, LinkSpec, ReadTransfer, ResolvedBuffer, ResolvedQueues, Spec, TranslationShape};

/// A resolved device: a description without faults, ready to build.
#[derive(Clone, Debug)]
pub struct ResolvedDevice {
    /// The description, with the part written out.
    pub spec: Spec,
    /// The NAND part with the description's changes.
    pub part: Part,
    /// The geometry of the main array.
    pub geometry: Geometry,
    /// The SLC array in front of the main array, if there is one.
    pub slc_array: Option<ResolvedSlcArray>,
    /// Times, controllers and arbitration.
    pub backend: Config,
    /// The table `[ftl]` with all defaults filled in.
    pub ftl: FtlSpec,
    /// The table `[host]` with all defaults filled in.
    pub host: ResolvedHost,
    /// The write buffer with all defaults filled in; `None` without one.
    pub buffer: Option<ResolvedBuffer>,
    /// Mapping units that the host can address.
    pub units: u32,
    /// The zones of the drive; `None` if the user may write anywhere.
    pub zones: Option<ZoneShape>,
    /// The translation over the zones, if there is one.
    pub translation: Option<TranslationShape>,
    /// The number of chips in a gang.
    pub gang: u32,
    /// The configuration of the FTL, from which the drive builds it.
    pub family: Arc<dyn ftl::Config>,
    /// The drives of a RAID that have a description of their own.
    pub(super) kinds: Vec<ResolvedKind>,
    /// The bug that a test has planted; none otherwise.
    pub(crate) planted: PlantedBug,
}

/// A group of equal drives that can be built.
#[derive(Clone, Debug)]
pub(super) struct ResolvedKind {
    pub(super) drives: Vec<u32>,
    pub(super) resolved: ResolvedDevice,
}

/// The host side of a device.
#[derive(Clone, Debug)]
pub struct ResolvedHost {
    /// The link between host and drive, with all defaults filled in.
    pub link: LinkSpec,
    /// Requests that the device works on at once.
    pub queue_depth: u32,
    /// The time at which the data of a read crosses the link.
    pub read_transfer: ReadTransfer,
    /// The number of mapping units in a piece of a chopped request; `None` if requests are not chopped.
    pub chop: Option<u32>,
    /// The submission queues with all defaults filled in.
    pub queues: ResolvedQueues,
}

impl ResolvedDevice {
    /// The number of sectors that the user can address: in a RAID, the sectors of all drives together; through a
    /// translation, the sectors of its map.
    #[must_use]
    pub fn capacity(&self) -> Sectors {
        let units = self.translation.map_or(self.units, |shape| shape.units);
        let of_drive = u64::from(units) * u64::from(self.geometry.sectors);
        let Some(raid) = &self.spec.raid else { return Sectors::new(of_drive) };
        // The drive of the journal is not part of the stripes.
        let each = (0..raid.drives + raid.spares).map(|drive| u64::from(self.kind_of(drive).units));
        let least = each.min().map_or(0, |units| units * u64::from(self.geometry.sectors));
        Sectors::new(raid.capacity(least))
    }

    /// The table that describes a layer between users and drives, if there is one.
    #[must_use]
    pub const fn layer(&self) -> Option<&'static str> {
        match (&self.spec.raid, &self.translation) {
            (Some(_), _) => Some("raid"),
            (None, Some(_)) => Some("translation"),
            (None, None) => None,
        }
    }

    /// The number of drives, including the spares of a RAID and the drive of its journal. Capacities, cost and memory
    /// count all drives together; units, geometry and all other tables describe each drive without a description of its
    /// own.
    #[must_use]
    pub fn drives(&self) -> u32 {
        self.spec.raid.as_ref().map_or(1, super::RaidSpec::all_drives)
    }

    /// Groups of equal drives: the description of each group, and how many drives it has.
    pub fn groups(&self) -> impl Iterator<Item = (&Self, u32)> {
        let own = self.kinds.iter().map(|kind| (&kind.resolved, kind.drives.len() as u32));
        let others = self.drives() - own.clone().map(|(_, drives)| drives).sum::<u32>();
        std::iter::once((self, others)).chain(own)
    }

    /// The description of the drive with this number, in a RAID or alone.
    fn kind_of(&self, number: u32) -> &Self {
        self.kinds.iter().find(|kind| kind.drives.contains(&number)).map_or(self, |kind| &kind.resolved)
    }

    /// The description of one drive of a RAID, by its number, or of the drive below a translation.
    ///
    /// # Panics
    ///
    /// Never: the description of a drive is checked together with its RAID.
    #[must_use]
    pub fn of_drive(&self, number: u32) -> Self {
        let mut one = Self { planted: self.planted, kinds: Vec::new(), ..self.kind_of(number).clone() };
        if let Some(translation) = one.translation.take() {
            (one.spec.translation, one.zones) = (None, Some(translation.zones));
            return one;
        }
        one.spec.raid = None;
        let Some(window) = self.spec.raid.as_ref().and_then(|raid| raid.window_of(number)) else { return one };
        one.spec.ftl.gc.pace = PaceSpec::Window(window);
        let resolved = one.spec.resolve().expect("the description is checked");
        Self { planted: self.planted, ..resolved }
    }

    /// The time of the first change that a new drive meets: the failure of a die, or the moment at which the host gives its memory.
    pub(crate) fn first_change(&self) -> Option<Time> {
        match self.spec.ftl.map.hmb() {
            Some(_) => Some(Time::ZERO),
            None => self.spec.flash.faults.next_die_failure(None),
        }
    }

    /// Bytes that the host can store: the capacity without the sectors between the capacity and the end of each zone.
    #[must_use]
    pub fn writable(&self) -> Bytes {
        if self.spec.raid.is_some() || self.translation.is_some() {
            return self.capacity().bytes();
        }
        let units = self.zones.map_or(self.units, |shape| shape.zones * shape.capacity);
        SECTOR * (u64::from(units) * u64::from(self.geometry.sectors))
    }

    /// The most mapping units that an NVM set can hold before garbage collection runs out of room; `None` if the
    /// family confines no writes to dies.
    ///
    /// # Panics
    /// If there is no such set.
    #[must_use]
    pub fn room(&self, set: u32) -> Option<u64> {
        self.family.room(&self.host.queues.sets[set as usize])
    }

    /// True if a test has planted this bug.
    #[doc(hidden)]
    #[must_use]
    pub fn has_planted(&self, bug: ftl::Sabotage) -> bool {
        self.planted.is(bug)
    }

    /// Copies the device with a foresight of its writes; `None` if its FTL does not use one.
    #[must_use]
    pub fn with_foresight(&self, foresight: &ftl::Foresight) -> Option<Self> {
        let family = self.family.with_foresight(foresight)?;
        Some(Self { family, ..self.clone() })
    }

    /// Plants a bug in the device, for tests of the checkers.
    #[cfg(feature = "sabotage")]
    #[must_use]
    pub const fn sabotaged(mut self, bug: ftl::Sabotage) -> Self {
        self.planted = PlantedBug::bug(bug);
        self
    }

    /// Data bytes of the flash, all blocks counted.
    #[must_use]
    pub fn raw_capacity(&self) -> Bytes {
        let each = self.groups().map(|(group, drives)| group.flash_of_drive() * u64::from(drives));
        each.fold(Bytes::new(0), |sum, bytes| sum + bytes)
    }

    /// Data bytes of the flash of one drive.
    pub(super) fn flash_of_drive(&self) -> Bytes {
        SECTOR * (u64::from(self.geometry.slot_count()) * u64::from(self.geometry.sectors))
    }
}

impl Spec {
    /// Checks and resolves the description.
    ///
    /// # Errors
    /// All faults, each with its key and the remedy.
    pub fn resolve(&self) -> Result<ResolvedDevice, Vec<Fault>> {
        let mut faults = Faults::default();
        let family = self.ftl.kind.family();
        let part = self.checked_part(&mut faults);
        let slc_array = self.slc.as_ref().and_then(|slc| slc.resolve(&mut faults));
        let Some(part) = part.filter(|_| faults.0.is_empty()) else { return Err(faults.0) };
        let site = self.site(&part);
        let Some(geometry) = family.geometry(&site, &mut faults) else { return Err(faults.0) };
        self.check_against(&geometry, part.timing.one_shot, &mut faults);
        self.check_die_failures(&geometry, &mut faults);
        if !faults.0.is_empty() {
            return Err(faults.0);
        }
        let rate = Rate::new(part.bus.rate.get().saturating_mul(u64::from(self.flash.width / 8)));
        let timing = Timing::new(&part, &geometry, rate, self.flash.cache_mode);
        let timing = timing.map_err(|e| faults.add("flash.pages", e.to_string(), "change pages or the part")).ok();
        let units = family.units(&site, &geometry, &mut faults);
        let buffer = self.resolved_buffer(&geometry, family.superblock(&site, &geometry), &mut faults);
        let chop = self.chop(&geometry, &mut faults);
        let ecc = self.flash.resolved_ecc(&geometry, &mut faults);
        let (Some(mut timing), Some(units)) = (timing.filter(|_| faults.0.is_empty()), units) else {
            return Err(faults.0);
        };
        let queues = self.resolved_queues(&site, &geometry, units, &mut faults);
        family.check_array(&site, &geometry, &timing, queues.sets.len(), &mut faults);
        let supply = self.supply(&part, &geometry, &mut faults);
        if !faults.0.is_empty() {
            return Err(faults.0);
        }
        timing.slc_mode = family.slc_mode(&site);
        let errors = self.flash.resolved_errors(&part, (&geometry, ecc.as_ref()));
        let backend = Config { ecc, errors, supply, ..self.backend(&part, timing) };
        let array = Array {
            geometry: geometry.clone(),
            backend: backend.clone(),
            gang: self.flash.gang,
            endurance: part.endurance,
            copy_back: part.features.copy_back,
            // Recovery's scan reads the spare bytes of a page.
            spare_transfer: rate.time(part.geometry.spare),
        };
        let setup = Setup { array, slc_array: slc_array.as_ref().map(array_of), sets: queues.sets.clone(), units };
        let spec = self.written_out(&part, slc_array.as_ref());
        let config = self.ftl.kind.config(&site, setup);
        self.check_raid_against(&geometry, units, config.zones().is_some(), &mut faults);
        let translation = self.translation_over(config.zones(), &geometry, &mut faults);
        let kinds = self.raid.as_ref().map_or_else(Vec::new, |raid| raid.resolved_kinds(&mut faults));
        if !faults.0.is_empty() {
            return Err(faults.0);
        }
        let resolved = ResolvedDevice {
            zones: config.zones().filter(|_| translation.is_none()),
            translation,
            family: config,
            ftl: spec.ftl.clone(),
            spec,
            host: ResolvedHost {
                link: self.host.link.clone(),
                queue_depth: self.host.queue_depth,
                read_transfer: self.host.read_transfer,
                chop,
                queues,
            },
            gang: self.flash.gang,
            planted: PlantedBug::default(),
            part,
            geometry,
            slc_array,
            backend,
            buffer,
            units,
            kinds,
        };
        resolved.check_kinds(&mut faults);
        if faults.0.is_empty() { Ok(resolved) } else { Err(faults.0) }
    }

    /// The part, with which all keys that do not depend on sizes have been checked.
    fn checked_part(&self, faults: &mut Faults) -> Option<Part> {
        self.check_numbers(faults);
        let part = self.flash.resolved_part(faults)?;
        let site = self.site(&part);
        let others = ftl::FtlKind::EVERY.into_iter().filter(|kind| *kind != self.ftl.kind);
        others.for_each(|other| other.family().check_absent(&site, faults));
        self.ftl.kind.family().check(&site, faults);
        self.check_idle(&site, faults);
        self.check_paired_pages(&site, faults);
        self.check_discards(faults);
        self.check_order(faults);
        self.check_host_memory(faults);
        self.flash.check_plane_reads(&part, faults);
        self.flash.check_errors(&part, faults);
        self.check_copies_of_errors(faults);
        Some(part)
    }

    /// The configuration of the array's backend, without decoders, bit errors and power.
    fn backend(&self, part: &Part, mut timing: Timing) -> Config {
        (timing.cache_across, timing.gang) = (self.flash.cache_across_lists, self.flash.gang);
        timing.paired = if self.flash.paired_pages { part.page_types() } else { 1 };
        let family = self.ftl.kind.family();
        Config {
            controllers: self.flash.controllers,
            transfer: self.flash.transfer,
            completion: self.flash.completion,
            arbitration: self.flash.arbitration,
            suspend: self.flash.suspend,
            plane_reads: self.flash.plane_reads,
            variation: self.flash.variation,
            software: self.flash.software_controllers.or_else(|| family.software_controllers(&self.ftl)),
            ..Config::new(timing)
        }
    }

    /// The part of the description that the FTL's family sees.
    fn site<'a>(&'a self, part: &'a Part) -> Site<'a> {
        let flush_log = self.buffer.as_ref().filter(|buffer| buffer.flush == FlushPolicy::Log);
        Site {
            ftl: &self.ftl,
            flash: &self.flash,
            slc: self.slc.as_ref(),
            part,
            confines: self.confines(),
            buffered: self.buffer.is_some(),
            flush_log: flush_log.map(|buffer| buffer.size),
        }
    }

    fn written_out(&self, part: &Part, slc_array: Option<&ResolvedSlcArray>) -> Self {
        let mut spec = self.clone();
        spec.flash.part = None;
        let own = |own: Option<CustomPart>, part: &Part| match own {
            Some(own) => own.with(part.clone()),
            None => part.clone().into(),
        };
        spec.flash.custom_part = Some(own(spec.flash.custom_part.take(), part));
        let flash = &mut spec.flash;
        (flash.size, flash.blocks, flash.pages, flash.planes, flash.dies, flash.lane_rate) =
            (None, None, None, None, None, None);
        spec.ftl = spec.ftl.written_out();
        if let (Some(slc), Some(slc_array)) = (&mut spec.slc, slc_array) {
            let custom_part = Some(own(slc.custom_part.take(), &slc_array.part));
            *slc = SlcSpec { part: None, custom_part, size: None, blocks: None, pages: None, lane_rate: None };
        }
        spec
    }

    /// True if the writes of a queue are confined to some dies.
    pub(super) fn confines(&self) -> bool {
        self.host.queue.iter().any(|queue| queue.channels.is_some() || queue.dies.is_some())
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
        self.flash.check_controllers(faults);
        self.flash.check_suspend(faults);
        self.flash.check_variation(faults);
        self.check_limits(faults);
        if self.flash.width == 0 || !self.flash.width.is_multiple_of(8) {
            let width = self.flash.width;
            faults.add("flash.width", format!("is {width} bits"), "use a multiple of 8, e.g. 8, 16 or 32");
        }
        faults.positive("host.queue-depth", self.host.queue_depth);
        self.check_queues(faults);
        self.ftl.check(faults);
        self.check_ram(faults);
        self.check_raid(faults);
        self.check_translation(faults);
        self.check_power(faults);
        let faulty = &self.flash.faults;
        for (key, ratio) in [
            ("program-failures", faulty.program_failures),
            ("erase-failures", faulty.erase_failures),
            ("uncorrectable-reads", faulty.uncorrectable_reads),
            ("initial-bad-blocks", faulty.initial_bad_blocks),
        ] {
            if ratio.get() >= 1.0 {
                let path = format!("flash.faults.{key}");
                faults.add(&path, format!("{ratio}: every operation would fail"), "use a share below 100%");
            }
        }
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

/// The properties of the SLC array that the FTL uses.
fn array_of(slc_array: &ResolvedSlcArray) -> Array {
    Array {
        geometry: slc_array.geometry.clone(),
        backend: slc_array.backend.clone(),
        gang: 1,
        endurance: slc_array.part.endurance,
        copy_back: false,
        spare_transfer: slc_array.part.bus.rate.time(slc_array.part.geometry.spare),
    }
}

#[cfg(test)]
mod tests {
    use base::units::Span;
    use flash::backend::Controllers;

    use super::*;

    fn resolve(flash: &str) -> Result<ResolvedDevice, Vec<Fault>> {
        let text = format!(
            r#"name = "q"
[flash]
part = "dirik-2009"
channels = 2
chips = 2
blocks = 32
pages = 16
{flash}
[ftl]
over-provisioning = "40%"
"#
        );
        let spec: Spec = toml::from_str(&text).unwrap_or_else(|error| panic!("{flash}: {error}"));
        spec.resolve()
    }

    #[test]
    fn controllers_and_their_arbitration_are_parsed() {
        let backend = |flash| resolve(flash).unwrap_or_else(|faults| panic!("{flash}: {faults:?}")).backend;
        assert_eq!(backend("controllers = { background = 4 }").controllers, Controllers::Background(4));
        assert_eq!(backend("software-controllers = \"5us\"").software, Some(Span::from_us(5)));
        let order =
            backend("arbitration = { commands = \"read-first\", bus = \"read-first\", hold = true }").arbitration;
        assert_eq!((order.bus, order.hold), (flash::backend::BusOrder::ReadFirst, true));
        let plain = backend("");
        assert_eq!((plain.software, plain.arbitration.hold), (None, false));
        let text = toml::to_string(&resolve("").expect("sound").spec).expect("a table");
        assert!(!text.contains("hold") && !text.contains("software"), "{text}");
    }

    #[test]
    fn faults_of_controllers_are_found() {
        for (flash, wanted) in [
            (
                "controllers = { background = 0 }",
                "flash.controllers: no background controller: no write would ever run; use at least",
            ),
            (
                "controllers = { shared = 0 }",
                "flash.controllers: no shared controller: no command would ever run; use at least one",
            ),
            (
                "controllers = { background = 4294967295 }",
                "flash.controllers: 4294967295 controllers; use at most 65536",
            ),
            ("controllers = { shared = 65537 }", "flash.controllers: 65537 controllers; use at most 65536"),
            (
                "software-controllers = \"0us\"",
                "flash.software-controllers: the processor takes no time for a command; leave it out",
            ),
        ] {
            let faults = resolve(flash).expect_err(flash).into_iter();
            let faults: Vec<_> = faults.map(|f| format!("{}: {}; {}", f.path, f.message, f.remedy)).collect();
            assert!(faults.len() == 1 && faults[0].starts_with(wanted), "{flash}: {faults:?}");
        }
    }
}
