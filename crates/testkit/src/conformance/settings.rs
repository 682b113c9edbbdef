//! The settings of the conformance suite, each on a drive so small that rare events happen often.

mod channels;
mod checkpoints;
mod collection;
mod errors;
mod host_memory;
mod hydra;
mod large_units;
mod pairs;
mod plane_reads;
mod policies;
mod power;
mod reserve;
mod samples;
mod slc_cache;
mod slc_mlc;
mod streams;
mod stripes;
mod suspend;
mod throttle;
mod times;
mod trims;
mod variation;

use base::units::{Bytes, Ratio};
use flash::backend::{BusOrder, Controllers, Order, Transfer};
use flash::nand::Part;
use ftl::{Allocation, EraseTiming, Striping};
use ssd::{
    BufferPolicy, BufferSpec, Digits, FlashSpec, FtlKind, FtlSpec, GcSpec, HostSpec, MapSpec, PlacementSpec, Spec,
    VictimSpec, WearSpec,
};

use crate::{leave_out_idle, plain};
pub(crate) use errors::with_errors;
pub(crate) use host_memory::{changing, in_host_memory};
pub(crate) use policies::evicting;
pub(crate) use power::{STYLES, capped, hot, limited, states};
pub use samples::settings_of;
pub(crate) use slc_mlc::density;
pub(crate) use suspend::short;
pub(crate) use variation::varied;

/// A device of the suite with its name.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Name of the setting: what differs from the base device.
    pub name: String,
    /// The description of the device.
    pub spec: Spec,
}

/// The base device: two channels with one die each, ten blocks of four pages of two mapping units of two sectors. With
/// a paged map the mapping units are smaller, so that there are two translation pages, and the drive has more blocks,
/// because translation pages need some.
fn base(kind: FtlKind, map: MapSpec) -> Spec {
    let mut part = Part::preset("dirik-2009").expect("a preset").clone();
    part.geometry.page = Bytes::new(2048);
    part.geometry.pages_per_block = 4;
    part.geometry.blocks_per_plane = if map.is_paged() { 16 } else { 10 };
    part.geometry.planes_per_die = 1;
    part.geometry.dies_per_chip = 1;
    part.features.copy_back = true;
    Spec {
        host: HostSpec { queue_depth: 8, ..HostSpec::default() },
        // Over-provisioning with which two blocks of each pool may fail before the drive is out of space.
        ftl: FtlSpec {
            kind,
            map,
            map_unit: Some(Bytes::new(if map.is_paged() { 512 } else { 1024 })),
            over_provisioning: Some(Ratio::new(if map.is_paged() { 0.66 } else { 0.54 })),
            gc: GcSpec { start: 2, stop: 3, parallel: 2, ..GcSpec::default() },
            wear: WearSpec { check_every: 2, ..WearSpec::default() },
            ..FtlSpec::default()
        },
        ..plain("conformance", part, 2, 1)
    }
}

/// Sets the number of planes that one command can work on.
fn set_planes(part: &mut Part, planes: u32) {
    part.geometry.planes_per_die = planes;
    part.features.multi_plane = planes > 1;
}

fn buffer(units: u64, high: f64, low: f64) -> BufferSpec {
    BufferSpec { high: Ratio::new(high), low: Ratio::new(low), ..BufferSpec::new(Bytes::new(units * 1024)) }
}

/// The base device for a log-block family: pages of one mapping unit, and four chips on two channels.
fn slc_mlc(kind: FtlKind) -> Spec {
    let mut spec = base(kind, MapSpec::Ram);
    let part = spec.flash.custom_part.as_mut().expect("a part of its own");
    part.geometry.page = Bytes::new(1024);
    part.geometry.blocks_per_plane = 6;
    (spec.flash.chips, spec.flash.controllers) = (2, Controllers::PerChannel);
    // Ten data blocks, so that nine are left for logs, merges and failures.
    (spec.ftl.over_provisioning, spec.ftl.log.blocks) = (Some(Ratio::new(0.6)), 4);
    spec
}

/// Name of a victim policy, with its parameter if it has one.
fn named(victim: &VictimSpec) -> String {
    let text = format!("{victim:?}");
    let cut = [" { age", " { score"].iter().find_map(|key| text.split_once(key)).map(|(name, _)| name.to_owned());
    cut.unwrap_or(text)
}

/// Name of a placement, with its order.
fn called(placement: &PlacementSpec, order: Digits) -> String {
    let text = format!("{placement:?}");
    format!("{} {order}", text.split(' ').next().unwrap_or_default())
}

/// A list of settings under construction, all of one family and map.
struct Book {
    kind: FtlKind,
    map: MapSpec,
    settings: Vec<Setting>,
}

impl Book {
    fn add(&mut self, name: impl Into<String>, change: impl FnOnce(&mut Spec)) {
        let log = self.kind.has_log_blocks();
        let mut spec = if log { slc_mlc(self.kind) } else { base(self.kind, self.map) };
        change(&mut spec);
        let mut name = name.into();
        if log {
            name = format!("{:?}, {name}", self.kind);
        }
        if self.map != MapSpec::Ram {
            let map = format!("{:?}", self.map);
            name = format!("map {}, {name}", map.split(' ').next().unwrap_or_default());
        }
        self.settings.push(Setting { name, spec });
    }

    fn part(&mut self, name: &str, change: impl FnOnce(&mut Part, &mut FlashSpec)) {
        self.add(name, |spec| {
            let mut part = spec.flash.custom_part.take().expect("a part of its own");
            change(&mut part, &mut spec.flash);
            spec.flash.custom_part = Some(part);
        });
    }

    fn policies(&mut self) {
        let order = Digits::default();
        for victim in VictimSpec::EVERY {
            for placement in [PlacementSpec::PageRoundRobin { order }, PlacementSpec::AddressStriping { order }] {
                self.add(format!("{}, {}", named(&victim), called(&placement, order)), |spec| {
                    (spec.ftl.gc.victim, spec.ftl.placement) = (victim.clone(), placement);
                });
            }
        }
        // Each order is used once, cycling through the placements, on four pools that differ in channel and plane.
        for (i, order) in Digits::every().enumerate() {
            let placements = PlacementSpec::every(order);
            let placement = &placements[i % placements.len()];
            self.part(&called(placement, order), |part, flash| {
                set_planes(part, 2);
                flash.multi_plane = Some(false);
            });
            let spec = &mut self.settings.last_mut().expect("just added").spec;
            spec.ftl.placement = placement.clone();
        }
        for placement in PlacementSpec::every(order) {
            self.add(format!("buffered, {}", called(&placement, order)), |spec| {
                (spec.ftl.placement, spec.buffer) = (placement, Some(buffer(8, 0.5, 0.25)));
            });
        }
    }

    /// Adds the settings whose result a map outside RAM can affect, because something waits for its answers.
    fn behind_a_map_unit(&mut self) {
        let order = Digits::default();
        for (i, victim) in VictimSpec::EVERY.into_iter().enumerate() {
            let placements = PlacementSpec::every(order);
            let placement = &placements[i % placements.len()];
            self.add(format!("{}, {}", named(&victim), called(placement, order)), |spec| {
                (spec.ftl.gc.victim, spec.ftl.placement) = (victim, placement.clone());
            });
        }
        self.add("collects from 3 to 5, 4 at once", |spec| {
            spec.ftl.gc = GcSpec { start: 3, stop: 5, parallel: 4, ..GcSpec::default() };
        });
        self.add("copy-back", |spec| spec.ftl.gc.copy_back = true);
        self.add("static wear levelling", |spec| spec.ftl.wear.threshold = Some(4));
        self.add("mapping unit of 1024 bytes", |spec| spec.ftl.map_unit = Some(Bytes::new(1024)));
        self.part("2 planes at once", |part, _| set_planes(part, 2));
        self.part("one-shot programs of 2 pages", |part, _| part.timing.one_shot = 2);
        self.add("a unit for each die, reads first", |spec| {
            (spec.flash.controllers, spec.flash.arbitration.commands) = (Controllers::PerDie, Order::ReadFirst);
        });
        self.add("buffered", |spec| spec.buffer = Some(buffer(8, 0.5, 0.25)));
        self.add("buffer that fills up", |spec| spec.buffer = Some(buffer(8, 1.0, 1.0)));
        self.add("queue depth of 1", |spec| spec.host.queue_depth = 1);
        self.add("queue depth of 32, chopped requests", |spec| {
            (spec.host.queue_depth, spec.host.chop) = (32, Some(Bytes::new(2048)));
        });
        self.add("chopped requests, buffered", |spec| {
            (spec.host.chop, spec.buffer) = (Some(Bytes::new(1024)), Some(buffer(8, 0.5, 0.25)));
        });
        if self.map.is_paged() {
            self.add("translation pages one by one", |spec| spec.ftl.map_gather = Some(1));
            self.add("translation pages put together", |spec| spec.ftl.map_gather = Some(4));
        }
    }

    fn collection(&mut self) {
        for (start, stop, parallel) in [(1, 2, 1), (1, 4, 3), (3, 4, 1), (3, 5, 4)] {
            self.add(format!("collects from {start} to {stop}, {parallel} at once"), |spec| {
                spec.ftl.gc = GcSpec { start, stop, parallel, ..GcSpec::default() };
            });
        }
        self.add("copy-back", |spec| spec.ftl.gc.copy_back = true);
        self.add("copy-back of pages", |spec| {
            (spec.ftl.gc.copy_back, spec.ftl.map_unit) = (true, Some(Bytes::new(2048)));
        });
        self.add("no wear levelling", |spec| spec.ftl.wear.dynamic = false);
        for dynamic in [true, false] {
            for victim in [VictimSpec::Greedy, VictimSpec::Fifo] {
                self.add(format!("static wear levelling, {victim:?}, dynamic: {dynamic}"), |spec| {
                    spec.ftl.gc.victim = victim;
                    spec.ftl.wear = WearSpec { dynamic, threshold: Some(4), check_every: 2 };
                });
            }
        }
    }

    /// Adds settings of one-shot programs that a request fills in several pools at once.
    fn word_lines(&mut self) {
        let order = Digits::default();
        for placement in [PlacementSpec::AddressStriping { order }, PlacementSpec::LeastLoaded { order }] {
            self.add(format!("one-shot programs, {}", called(&placement, order)), |spec| {
                spec.flash.custom_part.as_mut().expect("a part of its own").timing.one_shot = 2;
                spec.ftl.placement = placement;
            });
        }
    }

    fn flash(&mut self) {
        for unit in [512, 2048] {
            self.add(format!("mapping unit of {unit} bytes"), |spec| spec.ftl.map_unit = Some(Bytes::new(unit)));
        }
        for planes in [2, 4] {
            self.part(&format!("{planes} planes at once"), |part, _| set_planes(part, planes));
        }
        self.part("ganged chips", |_, flash| flash.gang = 2);
        self.part("one-shot programs of 2 pages", |part, _| part.timing.one_shot = 2);
        self.part("one-shot programs of 3 pages on 2 planes", |part, _| {
            (part.timing.one_shot, part.geometry.pages_per_block) = (3, 6);
            set_planes(part, 2);
        });
        self.part("no cache mode", |_, flash| flash.cache_mode = false);
        self.part("slow commands and copies", |part, _| {
            part.bus.command = "200ns".parse().expect("a time");
            part.timing.cache_program_copy = "3us".parse().expect("a time");
        });
        self.part("two chips on a channel", |_, flash| (flash.channels, flash.chips) = (1, 2));
        for controllers in Controllers::EVERY {
            for commands in [Order::Fifo, Order::ReadFirst] {
                self.part(&format!("controllers {controllers:?}, {commands:?}"), |_, flash| {
                    (flash.controllers, flash.arbitration.commands) = (controllers, commands);
                    (flash.channels, flash.chips) = (1, 2);
                });
            }
        }
        for bus in BusOrder::EVERY {
            self.part(&format!("bus {bus:?}"), |_, flash| {
                (flash.arbitration.bus, flash.controllers) = (bus, Controllers::None);
                (flash.channels, flash.chips) = (1, 2);
            });
        }
        for bus in [BusOrder::Fifo, BusOrder::ReadFirst] {
            self.part(&format!("channels are held, bus {bus:?}"), |_, flash| {
                (flash.arbitration.hold, flash.arbitration.bus, flash.controllers) =
                    (true, bus, Controllers::Background(2));
                (flash.channels, flash.chips) = (1, 2);
            });
        }
        for commands in [Order::Fifo, Order::ReadFirst] {
            self.part(&format!("software controllers, {commands:?}"), |_, flash| {
                flash.software_controllers = Some("50us".parse().expect("a time"));
                (flash.arbitration.commands, flash.controllers) = (commands, Controllers::Background(2));
                (flash.channels, flash.chips) = (1, 2);
            });
        }
    }

    /// Adds the settings whose result a log-block FTL can affect.
    fn log_blocks(&mut self) {
        let least = if self.kind == FtlKind::Fast { 2 } else { 1 };
        for allocation in Allocation::EVERY {
            for controllers in [Controllers::PerChannel, Controllers::Shared(4)] {
                self.add(format!("{allocation:?}, controllers {controllers:?}"), |spec| {
                    (spec.ftl.log.allocation, spec.flash.controllers) = (allocation, controllers);
                });
            }
        }
        for (allocation, transfer) in [(Allocation::Apart, Transfer::Controller), (Allocation::Same, Transfer::Bus)] {
            self.add(format!("{allocation:?}, erased when read, transfer by {transfer:?}"), |spec| {
                (spec.ftl.log.allocation, spec.ftl.log.erase) = (allocation, EraseTiming::Read);
                (spec.flash.controllers, spec.flash.transfer) = (Controllers::Shared(3), transfer);
            });
        }
        for blocks in [least, 3, 6] {
            self.add(format!("{blocks} log blocks"), |spec| spec.ftl.log.blocks = blocks);
        }
        for parallel in [2, 3] {
            self.add(format!("{parallel} merges at once"), |spec| spec.ftl.log.parallel = parallel);
        }
        self.add("page striping", |spec| spec.ftl.log.striping = Striping::Page);
        self.add("page striping, one shared unit", |spec| {
            (spec.ftl.log.striping, spec.flash.controllers) = (Striping::Page, Controllers::Shared(1));
        });
        for controllers in [Controllers::None, Controllers::PerDie] {
            self.add(format!("controllers {controllers:?}, reads first"), |spec| {
                (spec.flash.controllers, spec.flash.arbitration.commands) = (controllers, Order::ReadFirst);
            });
        }
        self.part("blocks of 12 pages", |part, _| {
            (part.geometry.pages_per_block, part.geometry.blocks_per_plane) = (12, 5);
        });
        self.add("buffered", |spec| spec.buffer = Some(buffer(8, 0.5, 0.25)));
        self.add("no wear levelling", |spec| spec.ftl.wear.dynamic = false);
        self.add("queue depth of 32, chopped requests", |spec| {
            (spec.host.queue_depth, spec.host.chop) = (32, Some(Bytes::new(4096)));
        });
        self.add("chopped requests, buffered", |spec| {
            (spec.host.chop, spec.buffer) = (Some(Bytes::new(2048)), Some(buffer(8, 0.5, 0.25)));
        });
        self.add("queue depth of 1", |spec| spec.host.queue_depth = 1);
    }

    /// Adds settings of a shared log with pools nearly full of live data, of which two blocks of each may fail.
    fn shared_log(&mut self) {
        let (paged, uncached) = (self.map.is_paged(), matches!(self.map, MapSpec::Uncached { .. }));
        let blocks = if paged { [16, 8] } else { [10, 6] };
        for blocks in blocks {
            let room = |spec: &mut Spec| {
                let part = spec.flash.custom_part.as_mut().expect("a part of its own");
                part.geometry.blocks_per_plane = blocks;
                let kept = if paged { 6 } else { 4 };
                spec.ftl.over_provisioning = Some(Ratio::new((f64::from(kept) + 0.5) / f64::from(blocks)));
                spec.ftl.gc = GcSpec { start: 1, stop: 2, shared_log: true, ..GcSpec::default() };
            };
            self.add(format!("a shared log in pools of {blocks} blocks"), room);
            self.add(format!("a shared log in pools of {blocks} blocks, buffered, from 2 to 3"), |spec| {
                room(spec);
                (spec.ftl.gc.start, spec.ftl.gc.stop) = (2, 3);
                spec.buffer = Some(buffer(8, 0.5, 0.25));
            });
        }
        self.add("a shared log, static wear levelling, copy-back", |spec| {
            spec.ftl.gc = GcSpec { shared_log: true, copy_back: true, ..GcSpec::default() };
            // Without a cache each write stores a translation page, in two superblocks: static levelling cannot follow.
            spec.ftl.wear.threshold = (!uncached).then_some(4);
        });
        if paged {
            self.add("a shared log, translation pages one by one", |spec| {
                spec.ftl.gc.shared_log = true;
                spec.ftl.map_gather = Some(1);
            });
        }
    }

    fn host(&mut self) {
        self.add("buffer of one unit", |spec| spec.buffer = Some(buffer(1, 0.5, 0.25)));
        self.add("buffer that fills up", |spec| spec.buffer = Some(buffer(8, 1.0, 1.0)));
        self.add("buffer that holds nothing back", |spec| spec.buffer = Some(buffer(8, 0.0, 0.0)));
        self.add("large buffer", |spec| spec.buffer = Some(buffer(32, 0.75, 0.25)));
        self.add("buffer, static wear levelling", |spec| {
            spec.buffer = Some(buffer(8, 0.5, 0.25));
            spec.ftl.wear.threshold = Some(4);
        });
        self.part("buffer, one-shot programs", |part, _| part.timing.one_shot = 2);
        self.settings.last_mut().expect("just added").spec.buffer = Some(buffer(8, 0.5, 0.25));
        self.add("buffer that writes superblocks back", |spec| {
            spec.buffer = Some(BufferSpec {
                policy: BufferPolicy::Superblock,
                superblock: Some(Bytes::new(4096)),
                max_superblocks: Some(3),
                ..buffer(12, 0.75, 0.25)
            });
        });
        self.add("queue depth of 1", |spec| spec.host.queue_depth = 1);
        self.add("queue depth of 32", |spec| spec.host.queue_depth = 32);
        self.add("chopped requests", |spec| spec.host.chop = Some(Bytes::new(2048)));
        self.add("requests chopped into units, buffer that fills up", |spec| {
            (spec.host.chop, spec.buffer) = (Some(Bytes::new(1024)), Some(buffer(8, 1.0, 1.0)));
        });
        self.add("a link", |spec| spec.host.link.rate = Some(base::units::Rate::new(50_000_000)));
    }
}

/// Adds settings of a page-mapped drive for every kind of map.
fn for_every_map(mut settings: Vec<Setting>, add: fn(&mut Book)) -> Vec<Setting> {
    for map in MapSpec::EVERY {
        let mut book = Book { kind: FtlKind::Page, map, settings };
        add(&mut book);
        settings = book.settings;
    }
    settings
}

/// The table `[ftl]` of an FTL that is registered by this crate, not built in.
fn own() -> FtlSpec {
    crate::keys::register_fewest().expect("a name of one version");
    let kind = FtlKind::try_from("own:fewest".to_owned()).expect("a name");
    FtlSpec { kind, over_provisioning: Some(Ratio::new(0.7)), ..FtlSpec::default() }
}

/// Creates all settings of the suite; the position of a setting is its seed.
#[must_use]
pub fn settings() -> Vec<Setting> {
    let mut settings = Vec::new();
    for kind in FtlKind::UNZONED {
        // The FTL lists its own samples.
        if !kind.samples().is_empty() {
            settings.extend(samples::settings_of(&kind.samples()));
            continue;
        }
        if kind == FtlKind::Hydra {
            settings.extend(hydra::settings());
            continue;
        }
        if kind == FtlKind::Chang {
            settings.extend(slc_mlc::settings());
            continue;
        }
        for map in MapSpec::EVERY {
            let mut book = Book { kind, map, settings };
            if kind.has_log_blocks() {
                // Log-block FTLs keep their maps in RAM.
                if map == MapSpec::Ram {
                    book.log_blocks();
                }
            } else if map == MapSpec::Ram {
                book.policies();
                book.collection();
                book.flash();
                book.host();
            } else {
                book.behind_a_map_unit();
            }
            settings = book.settings;
        }
    }
    // At the end: the number of a setting is its seed.
    let mut book = Book { kind: FtlKind::Page, map: MapSpec::Ram, settings };
    book.channels();
    book.word_lines();
    settings = book.settings;
    settings = for_every_map(settings, Book::shared_log);
    settings.extend(slc_mlc::short_logs());
    settings = for_every_map(settings, Book::paired_pages);
    settings = for_every_map(settings, Book::durable_discards);
    settings = for_every_map(settings, Book::unmapped_reads);
    let mut book = Book { kind: FtlKind::Page, map: MapSpec::Ram, settings };
    book.times();
    book.checkpoints();
    settings = for_every_map(book.settings, Book::starts_at_zero);
    settings = for_every_map(settings, Book::collection_first);
    for kind in [FtlKind::Bast, FtlKind::Fast] {
        let mut book = Book { kind, map: MapSpec::Ram, settings };
        book.suspensions_of_merges();
        book.planes_that_read_beside_merges();
        book.blocks_that_differ();
        settings = book.settings;
    }
    let mut book = Book { kind: FtlKind::Page, map: MapSpec::Ram, settings };
    book.suspensions();
    book.planes_that_read();
    book.large_units();
    book.blocks_that_differ();
    settings = for_every_map(book.settings, Book::suspensions_for_a_map);
    settings = for_every_map(settings, Book::planes_that_read_for_a_map);
    settings.extend(suspend::of_families());
    settings.extend(plane_reads::of_families());
    settings.extend(variation::of_families());
    settings = for_every_map(settings, Book::streams);
    settings = for_every_map(settings, Book::evictions);
    let mut book = Book { kind: FtlKind::Page, map: MapSpec::Ram, settings };
    book.placements();
    settings = for_every_map(book.settings, Book::paces);
    settings = for_every_map(settings, Book::slc_caches);
    settings = for_every_map(settings, Book::refreshes);
    settings = for_every_map(settings, Book::throttles);
    settings.extend(samples::settings_of(&[own()]));
    let mut book = Book { kind: FtlKind::Page, map: MapSpec::Ram, settings };
    book.errors();
    settings = for_every_map(book.settings, Book::errors_for_a_map);
    settings = for_every_map(settings, Book::powers);
    settings.extend(power::of_families());
    settings = for_every_map(settings, Book::stripes);
    let mut book = Book { kind: FtlKind::Page, map: MapSpec::Ram, settings };
    book.folds_in_planes();
    settings = for_every_map(book.settings, Book::host_memories);
    settings = for_every_map(settings, Book::collection_windows);
    settings.iter_mut().for_each(|setting| leave_out_idle(&mut setting.spec));
    settings
}
