//! Settings of Hydra's block-mapped FTL.

use base::units::Bytes;
use flash::backend::{Arbitration, BusOrder, Controllers, Order, ReadScope, StopPoint, SuspendSpec, VariationSpec};
use flash::nand::Part;
use ftl::{HydraSpec, ProcessorSpec};
use ssd::{BufferPolicy, BufferSpec, FlushPolicy, FtlKind, FtlSpec, MapSpec, Spec, WearSpec};

use super::{Setting, base, buffer};
use crate::leave_out_idle;

/// The numbers of buses, of interleaved dies behind each, and of superchips.
type Degrees = (u32, u32, u32);

/// The plain device: two superchips of two dies, each a gang of two chips, with rows of two pages of two sectors and
/// superblocks of eight rows. The host sees four superblocks of each superchip, and two more are free. Two blocks of
/// each die may fail.
const PLAIN: Degrees = (2, 2, 2);

fn device((buses, chips, superchips): Degrees) -> Spec {
    let mut spec = base(FtlKind::Hydra, MapSpec::Ram);
    let part: &mut Part = spec.flash.custom_part.as_mut().expect("a part of its own");
    part.geometry.page = Bytes::new(1024);
    let flash = &mut spec.flash;
    (flash.channels, flash.chips, flash.gang, flash.width) = (1, chips * superchips, buses, 8 * buses);
    (flash.controllers, flash.cache_mode) = (Controllers::Background(2), false);
    flash.arbitration =
        Arbitration { commands: Order::ReadFirst, bus: BusOrder::ReadFirst, hold: false, between_pages: true };
    let ftl = FtlSpec {
        kind: FtlKind::Hydra,
        hydra: Some(HydraSpec { chips, spare_blocks: Some(2), ..HydraSpec::default() }),
        wear: WearSpec { check_every: 2, ..WearSpec::default() },
        ..FtlSpec::default()
    };
    spec.ftl = ftl;
    with_superblocks(&mut spec, 6, 8);
    spec
}

/// Sets the number of superblocks of each superchip (`each`), and how many of the whole drive the host sees (`seen`).
fn with_superblocks(spec: &mut Spec, each: u32, seen: u64) {
    let superblock = u64::from(spec.flash.gang * spec.ftl.hydra.as_ref().expect("its FTL").chips) * 4 * 1024;
    (spec.ftl.over_provisioning, spec.ftl.capacity) = (None, Some(Bytes::new(seen * superblock)));
    // The search finds the smallest number of blocks that is enough for these superblocks.
    let mut has = |blocks: u32| {
        spec.flash.custom_part.as_mut().expect("a part of its own").geometry.blocks_per_plane = blocks;
        leave_out_idle(spec);
        spec.resolve().is_ok_and(|resolved| {
            resolved.family.downcast_ref::<ftl::HydraConfig>().expect("its FTL").data_blocks() >= each
        })
    };
    let blocks = (1..64).find(|blocks| has(*blocks));
    assert!(blocks.is_some(), "no number of blocks has {each} superblocks");
}

fn hydra(spec: &mut Spec) -> &mut HydraSpec {
    spec.ftl.hydra.as_mut().expect("its FTL")
}

/// Creates settings with suspension.
pub(super) fn suspending(rules: SuspendSpec) -> Vec<Setting> {
    let each = [
        (Controllers::Background(2), StopPoint::AnyTime, ReadScope::Host),
        (Controllers::Background(2), StopPoint::Steps, ReadScope::All),
        (Controllers::None, StopPoint::Cancel, ReadScope::All),
    ];
    let of = |(controllers, stop, reads): (Controllers, StopPoint, ReadScope)| {
        let mut spec = device(PLAIN);
        spec.flash.controllers = controllers;
        spec.flash.suspend = Some(SuspendSpec { stop, reads, ..rules });
        Setting { name: format!("hydra, suspension, controllers {controllers:?}, {stop:?}, {reads:?}"), spec }
    };
    each.into_iter().map(of).collect()
}

/// Creates a setting whose blocks differ in speed.
pub(super) fn varying(variation: VariationSpec) -> Setting {
    let mut spec = device(PLAIN);
    spec.flash.variation = Some(variation);
    Setting { name: "hydra, blocks that differ".to_owned(), spec }
}

pub(super) fn settings() -> Vec<Setting> {
    let mut settings = Vec::new();
    let mut add = |name: &str, degrees: Degrees, change: &dyn Fn(&mut Spec)| {
        let mut spec = device(degrees);
        change(&mut spec);
        settings.push(Setting { name: format!("hydra, {name}"), spec });
    };
    add("2 buses, 2 chips", PLAIN, &|_| {});
    add("1 bus, 1 chip", (1, 1, 2), &|_| {});
    add("4 buses, 2 chips", (4, 2, 1), &|_| {});
    add("2 buses, 1 chip, 1 superchip", (2, 1, 1), &|_| {});
    add("the fewest superblocks", PLAIN, &|spec| with_superblocks(spec, 3, 4));
    add("two channels", (2, 2, 1), &|spec| {
        (spec.flash.channels, spec.flash.chips) = (2, 2);
        with_superblocks(spec, 6, 8);
    });
    add("replicated map", PLAIN, &|spec| {
        hydra(spec).replicate = true;
        with_superblocks(spec, 6, 8);
    });
    add("replicated map on one die", (2, 1, 1), &|spec| {
        hydra(spec).replicate = true;
        with_superblocks(spec, 6, 4);
    });
    for controllers in [Controllers::Background(1), Controllers::Background(8), Controllers::None, Controllers::PerDie]
    {
        add(&format!("controllers {controllers:?}"), PLAIN, &|spec| spec.flash.controllers = controllers);
    }
    add("no priority", PLAIN, &|spec| spec.flash.arbitration = Arbitration::default());
    add("held channels", PLAIN, &|spec| spec.flash.arbitration.hold = true);
    add("software controllers", PLAIN, &|spec| {
        spec.flash.software_controllers = Some("50us".parse().expect("a time"));
        hydra(spec).processor = Some(ProcessorSpec { synthesizer: false, ..ProcessorSpec::default() });
    });
    add("no wear levelling", PLAIN, &|spec| spec.ftl.wear.dynamic = false);
    for dynamic in [true, false] {
        add(&format!("explicit wear levelling, implicit: {dynamic}"), PLAIN, &|spec| {
            spec.ftl.wear = WearSpec { dynamic, threshold: Some(4), check_every: 2 };
        });
    }
    add("queue depth of 1", PLAIN, &|spec| spec.host.queue_depth = 1);
    add("queue depth of 32, chopped requests", PLAIN, &|spec| {
        (spec.host.queue_depth, spec.host.chop) = (32, Some(Bytes::new(4096)));
    });
    add("buffer of rows", PLAIN, &|spec| spec.buffer = Some(buffer(16, 0.5, 0.25)));
    let sectors = |kib, high, most| BufferSpec {
        policy: BufferPolicy::Superblock,
        max_superblocks: Some(most),
        ..buffer(kib, high, 0.25)
    };
    add("buffer", PLAIN, &|spec| spec.buffer = Some(sectors(32, 0.7, 2)));
    add("chopped requests, buffer", PLAIN, &|spec| {
        (spec.host.chop, spec.buffer) = (Some(Bytes::new(4096)), Some(sectors(32, 0.7, 2)));
    });
    add("buffer that fills up", PLAIN, &|spec| spec.buffer = Some(sectors(16, 1.0, 8)));
    add("buffer of one row", PLAIN, &|spec| spec.buffer = Some(sectors(2, 0.5, 8)));
    add("buffer, 4 buses, replicated map", (4, 2, 1), &|spec| {
        hydra(spec).replicate = true;
        with_superblocks(spec, 4, 3);
        spec.buffer = Some(sectors(64, 0.7, 2));
    });
    add("buffer, flushes ignored, no priority", PLAIN, &|spec| {
        spec.buffer = Some(BufferSpec { flush: FlushPolicy::Ignore, ..sectors(32, 0.7, 2) });
        spec.flash.arbitration = Arbitration::default();
    });
    for (name, degrees, kib, most) in [("2 superblocks", PLAIN, 32, 2), ("full buffer", (4, 2, 1), 16, 8)] {
        add(&format!("flushes without merges, {name}"), degrees, &|spec| {
            spec.buffer = Some(BufferSpec { flush: FlushPolicy::Log, ..sectors(kib, 0.7, most) });
            with_superblocks(spec, 6, 4 * u64::from(degrees.2));
        });
    }
    add("buffer, explicit wear levelling", PLAIN, &|spec| {
        spec.buffer = Some(sectors(16, 0.5, 2));
        spec.ftl.wear = WearSpec { dynamic: true, threshold: Some(4), check_every: 2 };
    });
    settings
}
