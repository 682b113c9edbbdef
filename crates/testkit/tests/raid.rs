//! Tests of RAIDs, fixed and random ones, through drive failures, rebuilds and power cuts, and with planted bugs.

use std::panic::{AssertUnwindSafe, catch_unwind};

use base::engine::Rng;
use ssd::Sabotage;
use testkit::raid::{RaidSetting, check, draw, settings};

/// Checks a random RAID for each seed.
fn swarm(seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let setting = draw(&mut Rng::stream(seed, "raid.swarm"));
        let outcome = catch_unwind(AssertUnwindSafe(|| check(&setting, seed)));
        assert!(outcome.is_ok(), "seed {seed} fails on {:?} after {:?}", setting.raid, setting.steps);
    }
}

#[test]
fn no_raid_loses_data() {
    for setting in settings() {
        (0..4).for_each(|seed| check(&setting, seed));
    }
    swarm(0..60);
}

#[test]
fn planted_bugs_of_raids_are_found() {
    for bug in [
        Sabotage::ParityKept,
        Sabotage::RebuildUnordered,
        Sabotage::RepairForgotten,
        Sabotage::JournalUnflushed,
        Sabotage::ReplayForgotten,
    ] {
        let found = settings().into_iter().any(|setting| {
            let setting = RaidSetting { drive: setting.drive.clone().sabotaged(bug), ..setting };
            (0..6).any(|seed| catch_unwind(AssertUnwindSafe(|| check(&setting, seed))).is_err())
        });
        assert!(found, "{bug:?} is not found");
    }
}
