//! The conformance suite over every setting: one test for each check, so that the checks run in parallel.
//!
//! `make test` runs each check on each setting, long checks with a share of their cuts and failures. `make soak` also
//! runs `whole`, which has all of them.

use testkit::conformance::{Effort, Trial, Work, check, settings};

/// Applies a check to every `parts`-th setting, from the `part`-th on.
fn apply(name: &str, effort: Effort, part: usize, parts: usize) {
    let check = check(name).expect("a check of the suite");
    let mut work = Work::default();
    let mut failures = String::new();
    for (i, setting) in settings().iter().enumerate().skip(part).step_by(parts) {
        let resolved = setting.spec.resolve().unwrap_or_else(|faults| panic!("{}: {faults:?}", setting.name));
        let trial = Trial { resolved: &resolved, seed: i as u64, effort };
        match check.run(&setting.name, &trial) {
            Ok(done) => work += done,
            Err(failure) => failures += &format!("\n{failure}"),
        }
    }
    assert!(failures.is_empty(), "{failures}");
    println!("{name}: {work:?}");
}

macro_rules! tests {
    ($($test:ident: $name:literal, $check:path;)*) => {
        $(
            #[test]
            fn $test() {
                apply($name, Effort::TEST, 0, 1);
            }
        )*
    };
}

testkit::checks!(tests);

/// Every cut and every failure, which takes minutes.
mod whole {
    use super::{Effort, apply};

    #[test]
    #[ignore = "make soak"]
    fn a_power_cut_at_any_event_of_a_new_drive_loses_nothing() {
        apply("power cuts, new", Effort::WHOLE, 0, 1);
    }

    #[test]
    #[ignore = "make soak"]
    fn failing_programs_lose_nothing() {
        apply("program failures", Effort::WHOLE, 0, 1);
    }

    #[test]
    #[ignore = "make soak"]
    fn failing_erases_lose_nothing() {
        apply("erase failures", Effort::WHOLE, 0, 1);
    }

    #[test]
    #[ignore = "make soak"]
    fn repeated_power_cuts_lose_nothing() {
        apply("power cuts, one after another", Effort::WHOLE, 0, 1);
    }

    #[test]
    #[ignore = "make soak"]
    fn a_power_cut_at_any_event_of_a_full_drive_loses_nothing_even() {
        apply("power cuts, full", Effort::WHOLE, 0, 2);
    }

    #[test]
    #[ignore = "make soak"]
    fn a_power_cut_at_any_event_of_a_full_drive_loses_nothing_odd() {
        apply("power cuts, full", Effort::WHOLE, 1, 2);
    }
}

/// Collections that took sectors of the SLC log along once left the copy with the version of another page.
#[test]
fn seeds_that_once_failed_behind_a_short_log_pass() {
    let name = "Chang, a log of two blocks and a large table, pages, nothing is copied back";
    let all = settings();
    let setting = all.iter().find(|known| known.name == name).expect("a setting of the suite");
    let resolved = setting.spec.resolve().expect("valid");
    for (name, seed) in [("power cuts, full", 77), ("power cuts, one after another", 204), ("power cuts, full", 951)] {
        let trial = Trial { resolved: &resolved, seed, effort: Effort::TEST };
        let result = check(name).expect("a check of the suite").run(&setting.name, &trial);
        assert!(result.is_ok(), "{result:?}");
    }
}

/// The soak's longer scripts once found drives with enough garbage that refused writes after a failure.
#[test]
fn seeds_that_once_failed_pass() {
    for (name, setting, seed) in [
        ("program failures", "buffered, AddressStriping channel-chip-die-plane", 440_022),
        ("program failures", "CostBenefit, AddressStriping channel-chip-die-plane", 495_015),
        ("erase failures", "Random, PageRoundRobin channel-chip-die-plane", 495_018),
        ("erase failures", "two chips on a channel", 2_775_000),
        ("program failures", "controllers Shared(2), Fifo", 2_775_007),
    ] {
        let all = settings();
        let setting = all.iter().find(|known| known.name == setting).expect("a setting of the suite");
        let resolved = setting.spec.resolve().expect("valid");
        let trial = Trial { resolved: &resolved, seed, effort: Effort::SOAK };
        let result = check(name).expect("a check of the suite").run(&setting.name, &trial);
        assert!(result.is_ok(), "{result:?}");
    }
}
