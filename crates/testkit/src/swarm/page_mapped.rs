//! The swarm's drives with a page map, which other families then change.

use base::engine::Rng;
use base::units::{Bytes, Rate, Ratio, Span};
use flash::backend::{Arbitration, BusOrder, Completion, Controllers, Decoders, Order};
use flash::nand::{FaultSpec, Part};
use flash::spec::{DecodeSpec, EccSpec};
use ssd::{
    BufferSpec, Digits, FlashSpec, FtlKind, FtlSpec, GcSpec, HostSpec, MapSpec, PlacementSpec, Spec, VictimSpec,
    WearSpec,
};

use super::pick;
use crate::plain;

/// Draws a drive with a page map.
///
/// Streams of their own draw what was added later, so that the other draws of a seed stay the same; `later` and `cycles`
/// are two of them.
pub(super) fn page_mapped(rng: &mut Rng, faults: bool) -> Spec {
    let (part, mut cycles) = part(rng);
    let paired = Rng::stream(rng.clone().bits(), "swarm.pairs").chance(0.3) && part.timing.one_shot == 1;
    let policies = policies(rng);
    let mut later = Rng::stream(rng.clone().bits(), "swarm.later");
    let start = 1 + rng.below(3) as u32;
    let faults = if faults { self::faults(rng) } else { FaultSpec::default() };
    let plain = plain("swarm", part, 1 + rng.below(3) as u32, 1 + rng.below(2) as u32);
    let flash = FlashSpec { paired_pages: paired, faults, ..flash(plain.flash, rng, &mut later, &mut cycles) };
    let host = HostSpec {
        queue_depth: 1 + rng.below(40) as u32,
        chop: rng.chance(0.3).then(|| Bytes::new(8192)),
        ..HostSpec::default()
    };
    let buffer = rng.chance(0.5).then(|| BufferSpec {
        high: Ratio::new(0.5),
        low: Ratio::new(0.25),
        ..BufferSpec::new(Bytes::new(8192 * (1 + rng.below(16))))
    });
    let ftl = ftl(policies, start, rng, &mut later);
    Spec { flash, host, buffer, ftl, ..plain }
}

/// Draws a part, and the stream for the times of bus cycles.
fn part(rng: &mut Rng) -> (Part, Rng) {
    let mut part = Part::preset("dirik-2009").expect("a preset").clone();
    part.geometry.page = Bytes::new(pick(rng, &[2048, 4096, 8192]));
    part.geometry.pages_per_block = pick(rng, &[4, 6, 12]);
    part.geometry.blocks_per_plane = 8 + rng.below(12) as u32;
    part.geometry.planes_per_die = pick(rng, &[1, 1, 2, 4]);
    part.geometry.dies_per_chip = pick(rng, &[1, 1, 2]);
    part.features.multi_plane = true;
    part.features.copy_back = rng.chance(0.5);
    part.timing.one_shot = pick(rng, &[1, 1, 2, 3]);
    part.bus.command = time(rng, "200ns");
    let mut cycles = Rng::stream(rng.clone().bits(), "swarm.cycles");
    if cycles.chance(0.3) {
        let mut time = |text: &str| time(&mut cycles, text);
        (part.bus.change_column, part.bus.t_ccs, part.bus.t_adl) = (time("175ns"), time("500ns"), time("400ns"));
        (part.bus.t_rhw, part.bus.t_wb, part.bus.status) = (time("100ns"), time("90ns"), time("130ns"));
    }
    part.timing.cache_program_copy = time(rng, "3us");
    (part, cycles)
}

/// Draws no time or this one.
fn time(rng: &mut Rng, text: &str) -> Span {
    pick(rng, &["0ns", text]).parse().expect("a time")
}

/// Draws where data goes, which superblocks are collected, and the map.
fn policies(rng: &mut Rng) -> (PlacementSpec, VictimSpec, MapSpec) {
    let orders: Vec<_> = Digits::every().collect();
    let order = pick(rng, &orders);
    let placement = pick(rng, &PlacementSpec::every(order));
    let mut victims = Rng::stream(rng.clone().bits(), "swarm.victims");
    let victim = or_later(pick(rng, &VictimSpec::EVERY[..6]), &mut victims, &VictimSpec::EVERY);
    (placement, victim, pick(&mut rng.clone(), &MapSpec::EVERY))
}

fn faults(rng: &mut Rng) -> FaultSpec {
    FaultSpec {
        program_failures: Ratio::new(pick(rng, &[0.0, 0.0005, 0.002])),
        erase_failures: Ratio::new(pick(rng, &[0.0, 0.002])),
        initial_bad_blocks: Ratio::new(pick(rng, &[0.0, 0.02])),
        ..FaultSpec::default()
    }
}

/// Draws the controllers and the wiring of an array.
fn flash(plain: FlashSpec, rng: &mut Rng, later: &mut Rng, cycles: &mut Rng) -> FlashSpec {
    FlashSpec {
        gang: pick(rng, &[1, 1, 2]),
        multi_plane: Some(rng.chance(0.6)),
        cache_mode: rng.chance(0.5),
        cache_across_lists: Rng::stream(rng.clone().bits(), "swarm.cache").chance(0.4),
        controllers: or_later(pick(rng, &Controllers::EVERY[..4]), later, &Controllers::EVERY),
        software_controllers: later.chance(0.1).then(|| Span::from_us(50)),
        completion: match cycles.chance(0.1) {
            true => Completion::Polling(Span::from_us(20)),
            false => Completion::ReadyBusy,
        },
        ecc: Rng::stream(rng.clone().bits(), "swarm.ecc").chance(0.15).then(ecc),
        arbitration: Arbitration {
            commands: pick(rng, &Order::EVERY[..2]),
            bus: or_later(pick(rng, &BusOrder::EVERY[..3]), later, &BusOrder::EVERY),
            hold: later.chance(0.1),
            between_pages: Rng::stream(rng.clone().bits(), "swarm.pages").chance(0.7),
        },
        ..plain
    }
}

/// A decoder slower than the channel, for mapping units of 1 KiB and more, which have several codewords.
fn ecc() -> EccSpec {
    let decode = DecodeSpec { rate: Rate::new(20_000_000), latency: Span::from_us(7) };
    EccSpec { decode, codeword: Some(Bytes::new(512)), decoders: Decoders::Shared(1), hard_limit: None, soft: None }
}

/// Draws the sizes of the FTL, its collection and its wear levelling.
fn ftl(policies: (PlacementSpec, VictimSpec, MapSpec), start: u32, rng: &mut Rng, later: &mut Rng) -> FtlSpec {
    let (placement, victim, map) = policies;
    FtlSpec {
        map_unit: Some(Bytes::new(pick(rng, &[1024, 2048, 4096]))),
        over_provisioning: Some(Ratio::new(0.2 + rng.unit() * 0.5)),
        placement,
        gc: GcSpec {
            victim,
            start,
            stop: start + 1,
            parallel: 1 + rng.below(3) as u32,
            copy_back: rng.chance(0.5),
            shared_log: later.chance(0.2),
            ..GcSpec::default()
        },
        wear: WearSpec { dynamic: rng.chance(0.5), threshold: rng.chance(0.3).then_some(4), check_every: 4 },
        kind: pick(rng, &FtlKind::UNZONED[..1]),
        map,
        ..FtlSpec::default()
    }
}

/// Returns the drawn value or, in a quarter of the cases, any value of `every`. So a drawn value of a fixed list stays
/// unchanged in most runs when the registry gets a new value.
fn or_later<T: Clone>(drawn: T, later: &mut Rng, every: &[T]) -> T {
    if later.chance(0.25) { pick(later, every) } else { drawn }
}
