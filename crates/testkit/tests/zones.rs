//! Tests of drives with zones, fixed and random ones, with power cuts, failures, and planted bugs.

use std::panic::{AssertUnwindSafe, catch_unwind};

use base::engine::Rng;
use ssd::{ResolvedDevice, Sabotage};
use testkit::zones::{Stress, draw, one_by_one, settings, side_by_side};

/// Runs a check on a random drive for each seed.
fn swarm(seeds: std::ops::Range<u64>, run: impl Fn(&ResolvedDevice, u64)) {
    for seed in seeds {
        let resolved = draw(&mut Rng::stream(seed, "zones.swarm"));
        let outcome = catch_unwind(AssertUnwindSafe(|| run(&resolved, seed)));
        assert!(outcome.is_ok(), "seed {seed} fails on {:?}", resolved.spec);
    }
}

#[test]
fn every_answer_is_that_of_the_standard() {
    for (number, (name, resolved)) in (0..).zip(settings()) {
        println!("{name}");
        one_by_one(&resolved, number, 500);
    }
    swarm(0..60, |resolved, seed| one_by_one(resolved, seed, 200));
}

#[test]
fn requests_at_the_same_time_find_their_data() {
    for (number, (name, resolved)) in (0..).zip(settings()) {
        println!("{name}");
        side_by_side(&resolved, number, 120, Stress::default());
    }
    swarm(1000..1060, |resolved, seed| side_by_side(resolved, seed, 40, Stress::default()));
}

#[test]
fn what_was_acknowledged_survives_power_cuts() {
    let stress = Stress { cuts: 60, failures: 0 };
    for (number, (name, resolved)) in (0..).zip(settings()) {
        println!("{name}");
        side_by_side(&resolved, number, 120, stress);
    }
    swarm(2000..2060, |resolved, seed| side_by_side(resolved, seed, 60, Stress { cuts: 30, failures: 0 }));
}

#[test]
fn failing_programs_and_erases_lose_nothing() {
    for (number, (name, resolved)) in (0..).zip(settings()) {
        println!("{name}");
        side_by_side(&resolved, number, 100, Stress { cuts: 0, failures: 4 });
        side_by_side(&resolved, number, 100, Stress { cuts: 25, failures: 3 });
    }
    swarm(3000..3040, |resolved, seed| side_by_side(resolved, seed, 60, Stress { cuts: 15, failures: 3 }));
}

#[test]
fn planted_bugs_of_zones_are_found() {
    for bug in [
        Sabotage::AppendMisplaced,
        Sabotage::OpenCountLeaks,
        Sabotage::ResetKeepsData,
        Sabotage::ImplicitFlushTooFar,
        Sabotage::ZrwaOverwriteLost,
    ] {
        let found = settings().into_iter().any(|(_, resolved)| {
            let resolved = resolved.sabotaged(bug);
            catch_unwind(AssertUnwindSafe(|| {
                one_by_one(&resolved, 7, 300);
                side_by_side(&resolved, 7, 30, Stress::default());
            }))
            .is_err()
        });
        assert!(found, "{bug:?}");
    }
}
