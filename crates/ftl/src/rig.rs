//! A test rig: an FTL on a flash array, without host side and buffer.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;

use base::engine::{EventHash, EventQueue};
use base::fault::Faults;
use base::io::PlacementId;
use base::units::{DieId, Lba, Lpn, Rate, Time};
use flash::backend::{Backend, Class, Slot, SlotContent, SlotMut, Timing};
use flash::nand::{Media, Sector, SectorKind, Stamp};
use flash::spec::{FlashSpec, SlcSpec};
use serde::Deserialize;

use crate::page::{PageConfig, PageFtl};
use crate::port::{Flash, Ftl, Mount, OldPlace, Origin, Owner, Owners, PageRead, PageWrite, Service, full_mask};
use crate::{Array, Config, Event, FtlSpec, Setup, Site, ZoneError};

/// The tables of a device file that concern an FTL.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DeviceTables {
    flash: FlashSpec,
    #[serde(default)]
    slc: Option<SlcSpec>,
    #[serde(default)]
    ftl: FtlSpec,
}

/// Resolves a description.
pub(crate) fn describe(text: &str) -> (Arc<dyn Config>, Array, Option<Array>) {
    let described: DeviceTables = toml::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let mut faults = Faults::default();
    let part = described.flash.resolved_part(&mut faults).expect("a part");
    let site = Site {
        ftl: &described.ftl,
        flash: &described.flash,
        slc: described.slc.as_ref(),
        part: &part,
        confines: false,
        buffered: false,
        flush_log: None,
    };
    let family = described.ftl.kind.family();
    family.check(&site, &mut faults);
    let geometry = family.geometry(&site, &mut faults).expect("an array");
    let rate = Rate::new(part.bus.rate.get() * u64::from(described.flash.width / 8));
    let mut timing = Timing::new(&part, &geometry, rate, described.flash.cache_mode).expect("times");
    timing.slc_mode = family.slc_mode(&site);
    let units = family.units(&site, &geometry, &mut faults);
    family.check_array(&site, &geometry, &timing, 1, &mut faults);
    let ecc = described.flash.resolved_ecc(&geometry, &mut faults);
    let errors = described.flash.resolved_errors(&part, (&geometry, ecc.as_ref()));
    let slc_array = described.slc.as_ref().and_then(|slc| slc.resolve(&mut faults));
    assert!(faults.0.is_empty(), "{:?}", faults.0);
    let array = |geometry, timing, gang, ecc, errors| Array {
        geometry,
        backend: flash::backend::Config {
            timing,
            controllers: described.flash.controllers,
            transfer: described.flash.transfer,
            completion: described.flash.completion,
            ecc,
            arbitration: described.flash.arbitration,
            suspend: None,
            plane_reads: None,
            variation: None,
            errors,
            supply: None,
            software: None,
        },
        gang,
        endurance: part.endurance,
        copy_back: part.features.copy_back,
        spare_transfer: rate.time(part.geometry.spare),
    };
    let slc_array = slc_array.map(|slc_array| array(slc_array.geometry, slc_array.backend.timing, 1, None, None));
    let array = array(geometry, timing, described.flash.gang, ecc, errors);
    let sets = vec![(0..array.geometry.die_count()).map(DieId::new).collect()];
    let setup =
        Setup { array: array.clone(), slc_array: slc_array.clone(), sets, units: units.expect("room for the host") };
    (described.ftl.kind.config(&site, setup), array, slc_array)
}

/// The owners of all requests of a test: they write stamps, and keep the data that they read.
#[derive(Debug, Default)]
pub(crate) struct Host {
    /// The stamp of each mapping unit that is being written.
    pub(crate) writing: BTreeMap<Lpn, Stamp>,
    /// The submission queue of all writes from now on.
    pub(crate) queue: u16,
    /// The placement identifier of all writes from now on.
    pub(crate) placement: PlacementId,
    pub(crate) written: u32,
    pub(crate) refused: u32,
    /// The number of actions on zones that have ended.
    pub(crate) zones_done: u32,
    pub(crate) read: Vec<Option<Stamp>>,
}

impl Owners for Host {
    fn read_done(&mut self, slot: &Slot, content: SlotContent<'_>, _: Service) {
        self.read.push((!slot.lost).then(|| content.sector(0)));
    }

    fn read_sector(&mut self, _: Owner, _: i32, _: SlotContent<'_>, _: bool) {}

    fn read_nothing(&mut self, _: Owner) {
        self.read.push(Some(Stamp::default()));
    }

    fn give(&self, unit: &PageWrite, mut into: SlotMut<'_>) {
        let first = u64::from(unit.lpn.get()) * into.sectors() as u64;
        for i in (0..into.sectors()).filter(|i| unit.mask >> i & 1 != 0) {
            let made = Stamp::preconditioned(Lba::new(first + i as u64), unit.version);
            into.put_sector(i, self.writing.get(&unit.lpn).copied().unwrap_or(made));
        }
    }

    fn pack(&self, _: &PageWrite, _: SlotMut<'_>, _: usize) {}

    fn set(&self, _: Owner) -> u32 {
        0
    }

    fn origin(&self, _: Owner) -> Origin {
        Origin { queue: self.queue, placement: self.placement, ..Origin::default() }
    }

    fn discard_done(&mut self, _: Owner) {}

    fn write_done(&mut self, _: Owner, _: Service) {
        self.written += 1;
    }

    fn write_refused(&mut self, _: Owner) {
        self.refused += 1;
    }

    fn discard_refused(&mut self, _: Owner) {
        self.refused += 1;
    }

    fn zone_done(&mut self, _: Owner) {
        self.zones_done += 1;
    }

    fn zone_refused(&mut self, _: Owner, _: ZoneError) {
        self.refused += 1;
    }

    fn room(&mut self) {}

    fn logged(&mut self, _: bool) {}

    fn charge(&mut self, _: Owner) {}

    fn read_class(&self, _: Owner) -> Class {
        Class::HostRead
    }
}

/// Makes an FTL from the flash.
type MountFunction<F> = Box<dyn Fn(&Mount<'_>) -> Box<F>>;

/// An FTL, its flash and its host, for tests.
pub(crate) struct Rig<F: Ftl + ?Sized = dyn Ftl> {
    pub(crate) config: Arc<dyn Config>,
    mount: MountFunction<F>,
    pub(crate) ftl: Box<F>,
    pub(crate) host: Host,
    pub(crate) backend: Backend,
    slc_array: Option<Backend>,
    events: EventQueue<Event>,
    pub(crate) hash: EventHash,
    now: Time,
}

impl Rig {
    /// A new array and its FTL, from a description.
    pub(crate) fn new(text: &str) -> Self {
        let (config, array, slc_array) = describe(text);
        let mount = {
            let config = Arc::clone(&config);
            Box::new(move |from: &Mount<'_>| config.mount(from))
        };
        Self::of((config, mount), &array, slc_array.as_ref())
    }
}

impl Rig<PageFtl> {
    pub(crate) fn with(config: PageConfig, array: &Array) -> Self {
        let mount = {
            let config = config.clone();
            Box::new(move |from: &Mount<'_>| Box::new(PageFtl::mount(&config, from)))
        };
        Self::of((Arc::new(config), mount), array, None)
    }
}

impl<F: Ftl + ?Sized> Rig<F> {
    #[allow(clippy::type_complexity)] // A configuration, and its way to mount.
    fn of((config, mount): (Arc<dyn Config>, MountFunction<F>), array: &Array, slc_array: Option<&Array>) -> Self {
        let new = |array: &Array| {
            let faults = flash::nand::Faults::new(&flash::nand::FaultSpec::default(), 1);
            let timing = &array.backend.timing;
            let media = Media::new(array.geometry.clone(), array.endurance, timing.one_shot, faults);
            let media = timing.of_media(media).with_errors(array.backend.errors.as_ref(), 1);
            let media = media.with_content(SectorKind::Stamp);
            Backend::new(media, &array.backend)
        };
        let (backend, slc_array) = (new(array), slc_array.map(new));
        let from = Mount {
            media: backend.media(),
            slc_array: slc_array.as_ref().map(Backend::media),
            seed: 1,
            planted: crate::PlantedBug::default(),
        };
        let ftl = mount(&from);
        let (host, events, hash) = (Host::default(), EventQueue::default(), EventHash::default());
        Self { ftl, host, backend, slc_array, events, hash, now: Time::ZERO, config, mount }
    }

    /// Cuts the power, and mounts again.
    pub(crate) fn cut_power(&mut self) {
        self.cut_power_with(crate::PlantedBug::default());
    }

    /// Cuts the power and mounts an FTL with a planted bug.
    pub(crate) fn cut_power_with(&mut self, planted: crate::PlantedBug) {
        self.backend.cut_power(self.now);
        if let Some(slc_array) = &mut self.slc_array {
            slc_array.cut_power(self.now);
        }
        self.events.clear();
        let (media, slc_array) = (self.backend.media(), self.slc_array.as_ref().map(Backend::media));
        let from = Mount { media, slc_array, seed: 1, planted };
        self.ftl = (self.mount)(&from);
    }

    /// Mapping units that the host can address.
    pub(crate) fn units(&self) -> u32 {
        self.config.units()
    }

    /// Calls the FTL, and then runs all work that is due at once.
    pub(crate) fn with_ftl<T>(&mut self, run: impl FnOnce(&mut F, &mut Flash<'_>, &mut Host) -> T) -> T {
        let Self { ftl, host, backend, slc_array, events, now, .. } = self;
        let mut flash = Flash { now: *now, backend, slc_array: slc_array.as_mut(), events };
        let result = run(&mut **ftl, &mut flash, host);
        self.run_ready();
        result
    }

    fn run_ready(&mut self) {
        loop {
            let Self { ftl, host, backend, slc_array, events, now, .. } = self;
            let list = backend.take_finished();
            let other = slc_array.as_mut().and_then(Backend::take_finished);
            let cpu_done = backend.take_cpu_done();
            let (timed, now) = (backend.is_timed(), *now);
            let mut flash = Flash { now, backend, slc_array: slc_array.as_mut(), events };
            match (list, other, cpu_done) {
                (None, None, None) if ftl.is_due(timed) => {
                    ftl.background().expect("it is due").run_due(&mut flash, host);
                }
                (None, None, None) => return,
                _ => {}
            }
            if let Some(list) = list {
                ftl.finished(&mut flash, host, list);
            }
            if let Some(list) = other {
                ftl.background().expect("an FTL of two arrays").finished_slc(&mut flash, host, list);
            }
            if let Some(token) = cpu_done {
                ftl.background().expect("an FTL with a processor").on_cpu_done(&mut flash, token);
            }
        }
    }

    /// Runs the next event. Returns false if no event is left.
    pub(crate) fn step(&mut self) -> bool {
        let Some((at, event)) = self.events.pop_due(Time::MAX) else { return false };
        self.now = at;
        match event {
            Event::Flash(event) => self.backend.handle(at, event, &mut self.events, &mut self.hash),
            Event::Ftl => self.ftl.background().expect("it asked for the event").wake(at),
            Event::SerialEnd => self.backend.end_serial(at, &mut self.hash),
            Event::SlcSerialEnd => self.slc_array.as_mut().expect("two arrays").end_serial(at, &mut self.hash),
            Event::Host(_) => unreachable!("there is no host side"),
        }
        self.run_ready();
        true
    }

    /// Runs all events, and checks the FTL.
    pub(crate) fn run_until_idle(&mut self) {
        while self.step() {}
        self.ftl.check(self.backend.media(), self.slc_array.as_ref().map(Backend::media));
    }

    /// Writes whole mapping units with one request. The stamp is for tests that read the data back.
    pub(crate) fn write(&mut self, lpns: &[u32], stamp: Option<Stamp>) {
        let version = self.ftl.next_version();
        let mask = full_mask(self.backend.geometry().sectors);
        self.host.writing = lpns.iter().filter_map(|lpn| Some((Lpn::new(*lpn), stamp?))).collect();
        self.ftl.begin_write(0);
        for lpn in lpns {
            let unit = PageWrite {
                lpn: Lpn::new(*lpn),
                owner: NonZeroU32::new(1),
                at: 0,
                mask,
                version,
                old_place: OldPlace::Unasked,
                stream: None,
            };
            self.with_ftl(|ftl, flash, host| ftl.write(flash, host, unit));
        }
        self.with_ftl(|ftl, flash, host| ftl.end_write(flash, host));
    }

    /// The stamp in the first sector of a mapping unit; none if its data is lost.
    pub(crate) fn read(&mut self, lpn: u32) -> Option<Stamp> {
        let mask = full_mask(self.backend.geometry().sectors);
        let wanted = PageRead { owner: NonZeroU32::new(1), at: 0, mask };
        self.host.read.clear();
        let there = self.with_ftl(|ftl, flash, host| {
            let there = ftl.read(flash, host, wanted, Lpn::new(lpn));
            ftl.end_read(flash);
            there
        });
        self.run_until_idle();
        if there { self.host.read.pop().expect("an answer") } else { Some(Stamp::default()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FtlKind;

    /// A description of a small array that every family takes.
    fn text(kind: FtlKind) -> String {
        let (gang, width, more) = match kind {
            FtlKind::Hydra => (2, 16, "hydra = { chips = 2 }"),
            _ => (1, 8, ""),
        };
        format!(
            "flash = {{ part = 'K9K8G08U0M', channels = 1, chips = 2, blocks = 40, pages = 16, planes = 1, gang = {gang}, \
             width = {width} }}\n[ftl]\nkind = '{}'\nover-provisioning = '60%'\n{more}",
            kind.name()
        )
    }

    #[test]
    #[should_panic(expected = "maps to")]
    fn the_check_finds_a_map_that_disagrees_with_the_flash() {
        let mut rig = Rig::new(&text(FtlKind::Page));
        rig.write(&[0, 1, 2, 3], None);
        rig.run_until_idle();
        let erased = Rig::new(&text(FtlKind::Page));
        rig.ftl.check(erased.backend.media(), None);
    }

    #[test]
    fn every_ftl_family_runs_without_a_device() {
        for kind in FtlKind::UNZONED {
            let mut rig = Rig::new(&text(kind));
            let units = rig.units();
            assert!(units > 100, "{kind:?}: {units}");
            for round in 1..4 {
                // Neighbours are written together, and some mapping units of the previous round again.
                for first in (0..units).step_by(7) {
                    let lpns: Vec<u32> = (first..(first + 4).min(units)).collect();
                    rig.write(&lpns, Some(Stamp(u64::from(round * units + first))));
                    rig.run_until_idle();
                }
            }
            let handed: u32 = (0..units).step_by(7).map(|first| 4.min(units - first)).sum();
            assert_eq!((rig.host.written, rig.host.refused), (3 * handed, 0), "{kind:?}");
            for cut in [false, true] {
                if cut {
                    rig.cut_power();
                }
                for lpn in 0..units {
                    let (first, expected) = (lpn / 7 * 7, lpn % 7 < 4);
                    let expected = if expected { Stamp(u64::from(3 * units + first)) } else { Stamp(0) };
                    assert_eq!(rig.read(lpn), Some(expected), "{kind:?}: {lpn}, after a power cut: {cut}");
                }
            }
        }
    }
}
