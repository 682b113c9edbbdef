//! The swarm over fixed seeds, for `make test`.

use std::collections::BTreeSet;

use base::engine::Rng;
use flash::backend::{BusOrder, Controllers, Order};
use ssd::{BufferPolicy, Digits, FtlKind, MapSpec, PlacementSpec, QueueArbitration, VictimSpec};
use testkit::{Swarm, swarm};

fn seeds(swarm: &Swarm, seeds: std::ops::Range<u64>) {
    let mut totals = (0, 0, 0);
    for seed in seeds {
        let outcome = std::panic::catch_unwind(|| swarm.run(seed));
        let Ok(outcome) = outcome else { panic!("replay with {swarm:?}.run({seed})") };
        totals = (totals.0 + outcome.completed, totals.1 + outcome.cuts, totals.2 + outcome.erases);
    }
    println!("{} requests, {} power cuts, {} erases", totals.0, totals.1, totals.2);
}

#[test]
fn reads_return_the_newest_write() {
    seeds(&Swarm { requests: 1500, cuts: 0, faults: false, queues: false }, 0..150);
}

#[test]
fn durable_data_survives_power_cuts() {
    seeds(&Swarm { requests: 1200, cuts: 12, faults: false, queues: false }, 1000..1150);
}

#[test]
fn failing_blocks_lose_nothing() {
    seeds(&Swarm { requests: 1200, cuts: 0, faults: true, queues: false }, 2000..2100);
    seeds(&Swarm { requests: 1200, cuts: 8, faults: true, queues: false }, 3000..3100);
}

/// A regression test: a log block of FAST is erased while a merge copies a page from it, because a write has outdated
/// all its pages. The next log block gets its number, and the next write of the page the old place. The merge must
/// notice that this page is not the one that it has copied.
#[test]
fn a_page_that_is_written_twice_during_its_merge_is_not_lost() {
    seeds(&Swarm { requests: 1000, cuts: 0, faults: true, queues: false }, 10551..10552);
}

#[test]
fn a_flush_waits_for_a_discard_that_took_from_the_buffer_what_it_promises() {
    seeds(&Swarm { requests: 1200, cuts: 12, faults: true, queues: true }, 20_262_256..20_262_257);
    seeds(&Swarm { requests: 1200, cuts: 12, faults: true, queues: true }, 20_266_166..20_266_167);
}

#[test]
fn a_rescue_continues_no_superblock_that_a_checkpoint_vouches_for() {
    seeds(&Swarm { requests: 1200, cuts: 12, faults: true, queues: true }, 1_795_505_186..1_795_505_187);
    seeds(&Swarm { requests: 1200, cuts: 12, faults: true, queues: true }, 1_795_505_450..1_795_505_451);
}

#[test]
fn several_queues_confined_to_dies_lose_nothing() {
    seeds(&Swarm { requests: 1200, cuts: 0, faults: false, queues: true }, 4000..4060);
    seeds(&Swarm { requests: 1200, cuts: 8, faults: false, queues: true }, 5000..5060);
    seeds(&Swarm { requests: 1200, cuts: 8, faults: true, queues: true }, 6000..6060);
}

#[test]
fn two_runs_of_a_seed_are_equal() {
    let swarm = Swarm { requests: 800, cuts: 3, faults: true, queues: false };
    for seed in 0..20 {
        assert_eq!(swarm.run(seed), swarm.run(seed), "seed {seed}");
        let queues = Swarm { queues: true, ..swarm };
        assert_eq!(queues.run(seed), queues.run(seed), "seed {seed}, with queues");
    }
}

#[test]
fn every_registered_variant_is_drawn() {
    let mut drawn = BTreeSet::new();
    // The swarm draws placements and victims for every family, and removes those without effect.
    for seed in 0..3_000 {
        let spec = swarm::draw_device(&mut Rng::stream(seed, "swarm"), true);
        let (flash, ftl) = (&spec.flash, &spec.ftl);
        let host = swarm::draw_queues(&mut Rng::stream(seed, "swarm.queues"), &spec).host;
        drawn.extend([
            format!("{:?}", host.arbitration),
            format!("several queues: {}", host.queue.len() > 1),
            format!("confined: {}", host.queue.iter().any(|queue| queue.dies.is_some())),
            format!("depth of a queue: {}", host.queue.iter().any(|queue| queue.depth.is_some())),
            format!("{:?}", ftl.kind),
            format!("{:?}", ftl.map),
            format!("{:?}", ftl.gc.victim),
            format!("{:?}", ftl.placement),
            format!("{:?}", flash.controllers),
            format!("{:?}", flash.arbitration.commands),
            format!("{:?}", flash.arbitration.bus),
            format!("buffer: {}", spec.buffer.is_some()),
            format!("static wear levelling: {}", ftl.wear.threshold.is_some()),
            format!("copy-back: {}", ftl.gc.copy_back),
            format!("held channels: {}", flash.arbitration.hold),
            format!("software controllers: {}", flash.software_controllers.is_some()),
            format!("{:?}", spec.buffer.as_ref().map(|buffer| buffer.policy)),
            format!("{:?}, {:?}", ftl.kind, spec.buffer.as_ref().map(|buffer| buffer.policy)),
            format!("replicated map: {}", ftl.hydra.as_ref().is_some_and(|hydra| hydra.replicate)),
        ]);
    }
    let kinds = FtlKind::UNZONED.map(|kind| format!("{kind:?}")).into_iter();
    let maps = MapSpec::EVERY.map(|map| format!("{map:?}")).into_iter();
    let victims = VictimSpec::EVERY.into_iter().map(|victim| format!("{victim:?}"));
    let placements = PlacementSpec::every(Digits::default()).into_iter().map(|placement| format!("{placement:?}"));
    let units = Controllers::EVERY.into_iter().map(|units| format!("{units:?}"));
    let orders = Order::EVERY.into_iter().map(|order| format!("{order:?}"));
    let buses = BusOrder::EVERY.into_iter().map(|bus| format!("{bus:?}"));
    let arbitrations = QueueArbitration::EVERY.into_iter().map(|arbitration| format!("{arbitration:?}"));
    let switches = ["buffer", "static wear levelling", "copy-back", "several queues", "confined", "depth of a queue"];
    let switches = switches.into_iter().chain(["held channels", "software controllers", "replicated map"]);
    let switches = switches.flat_map(|name| [false, true].map(|on| format!("{name}: {on}")));
    let policies = kinds.chain(maps).chain(victims).chain(placements).chain(units).chain(orders).chain(buses);
    let buffers = BufferPolicy::EVERY
        .into_iter()
        .flat_map(|policy| [format!("{:?}", Some(policy)), format!("{:?}, {:?}", FtlKind::Hydra, Some(policy))]);
    for registered in policies.chain(arbitrations).chain(switches).chain(buffers) {
        assert!(drawn.contains(&registered), "{registered} was never drawn");
    }
    let orders = |drawn: &str| Digits::every().filter(|order| drawn.contains(&format!("{order:?}"))).count();
    assert_eq!(orders(&format!("{drawn:?}")), 24, "orders of the dimensions that were drawn");
}

/// Each seed once found a bug, which is named above it.
#[test]
fn seeds_that_once_failed_pass() {
    // Two worn pools were above their limits: the write that waits for room must be refused and not wait for ever.
    let swarm = Swarm { requests: 1200, cuts: 0, faults: true, queues: false };
    let _outcome = swarm.run(77_006_838);
    // A log block from which one merge was still reading had become garbage, and another merge erased it.
    let _outcome = swarm.run(50_500_392);
    // An answer of the map unit ended the erase of a block, and the buffer was not told that its FTL took writes again.
    let _outcome = swarm.run(2_089);
    // A page of Hydra's log that waited for room replaced the content of a page that was still valid.
    let swarm = Swarm { cuts: 12, ..swarm };
    let _outcome = swarm.run(8_808_404);
    // Collection that started with no free superblock gained nothing, for ever.
    let _outcome = swarm.run(20_924);
    let _outcome = Swarm { faults: false, ..swarm }.run(6_623);
}
