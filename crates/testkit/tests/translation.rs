//! Tests of translations over zones, fixed and random ones, through requests and power cuts, and with planted bugs.

use std::panic::{AssertUnwindSafe, catch_unwind};

use base::engine::Rng;
use ssd::Sabotage;
use testkit::translation::{TranslationSetting, check, draw, settings};

/// Checks a random translation for each seed.
fn swarm(seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let setting = draw(&mut Rng::stream(seed, "translation.swarm"));
        let outcome = catch_unwind(AssertUnwindSafe(|| check(&setting, seed)));
        let spec = &setting.device.spec;
        assert!(
            outcome.is_ok(),
            "seed {seed} fails on {:?} over {:?} after {:?}",
            spec.translation,
            spec.ftl.zns,
            setting.steps
        );
    }
}

#[test]
fn no_translation_loses_data() {
    for (number, setting) in settings().into_iter().enumerate() {
        for seed in 0..8 {
            let outcome = catch_unwind(AssertUnwindSafe(|| check(&setting, seed)));
            assert!(outcome.is_ok(), "setting {number} fails with seed {seed}");
        }
    }
    swarm(0..60);
}

#[test]
fn planted_bugs_of_translations_are_found() {
    for bug in [Sabotage::CopyOverWrite, Sabotage::ResetUncopied, Sabotage::VersionForgotten] {
        let found = settings().into_iter().any(|setting| {
            let setting = TranslationSetting { device: setting.device.clone().sabotaged(bug), ..setting };
            (0..6).any(|seed| catch_unwind(AssertUnwindSafe(|| check(&setting, seed))).is_err())
        });
        assert!(found, "{bug:?} is not found");
    }
}
