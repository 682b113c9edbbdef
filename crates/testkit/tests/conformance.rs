//! The conformance suite over every setting, with one test for each check, so that the checks run in parallel.
//!
//! `make test` runs each check on each setting, long checks with a share of their cuts and failures, and always with
//! the same seeds. `make soak` also runs `whole`, with all cuts and failures, and with seeds of its own.

use testkit::conformance::{Effort, Trial, Work, check, replay, settings};

/// Environment variable with the first seed of the soak: `make soak` sets another number each time.
const SOAK_SEED: &str = "SOAK_SEED";

/// Applies a check to every `parts`-th setting, from the `part`-th on. The seed of a setting is its number, counted
/// from `first`.
fn apply(name: &str, effort: Effort, first: u64, part: usize, parts: usize) {
    let check = check(name).expect("a check of the suite");
    let mut work = Work::default();
    let mut failures = String::new();
    for (i, setting) in settings().iter().enumerate().skip(part).step_by(parts) {
        let resolved = setting.spec.resolve().unwrap_or_else(|faults| panic!("{}: {faults:?}", setting.name));
        let trial = Trial { resolved: &resolved, seed: first + i as u64, effort };
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
                apply($name, Effort::TEST, 0, 0, 1);
            }
        )*
    };
}

testkit::checks!(tests);

/// Checks with every cut and every failure, which take minutes.
mod whole {
    use super::{Effort, SOAK_SEED};

    #[allow(clippy::disallowed_methods)] // The environment gives the soak its seed.
    fn apply(name: &str, part: usize, parts: usize) {
        let first = std::env::var(SOAK_SEED).map_or(0, |text| text.parse().expect("a number"));
        println!("{SOAK_SEED}={first}");
        super::apply(name, Effort::WHOLE, first, part, parts);
    }

    #[test]
    #[ignore = "make soak"]
    fn a_power_cut_at_any_event_of_a_new_drive_loses_nothing() {
        apply("power cuts, new", 0, 1);
    }

    #[test]
    #[ignore = "make soak"]
    fn failing_programs_lose_nothing() {
        apply("program failures", 0, 1);
    }

    #[test]
    #[ignore = "make soak"]
    fn failing_erases_lose_nothing() {
        apply("erase failures", 0, 1);
    }

    #[test]
    #[ignore = "make soak"]
    fn repeated_power_cuts_lose_nothing() {
        apply("power cuts, one after another", 0, 1);
    }

    #[test]
    #[ignore = "make soak"]
    fn a_power_cut_at_any_event_of_a_full_drive_loses_nothing_even() {
        apply("power cuts, full", 0, 2);
    }

    #[test]
    #[ignore = "make soak"]
    fn a_power_cut_at_any_event_of_a_full_drive_loses_nothing_odd() {
        apply("power cuts, full", 1, 2);
    }
}

/// Each setting and seed once failed in the soak, for the reason above it.
#[test]
fn seeds_that_once_failed_pass() {
    let short_log = "Chang, a log of two blocks and a large table, pages, nothing is copied back";
    for (name, setting, seed, effort) in [
        // A collection moved sectors of the SLC log as well, and the copy got the version of another page.
        ("power cuts, full", short_log, 77, "test"),
        ("power cuts, one after another", short_log, 204, "test"),
        ("power cuts, full", short_log, 951, "test"),
        // Drives with enough garbage refused writes after a failure.
        ("program failures", "buffered, AddressStriping channel-chip-die-plane", 440_022, "soak"),
        ("program failures", "CostBenefit, AddressStriping channel-chip-die-plane", 495_015, "soak"),
        ("erase failures", "Random, PageRoundRobin channel-chip-die-plane", 495_018, "soak"),
        ("erase failures", "two chips on a channel", 2_775_000, "soak"),
        ("program failures", "controllers Shared(2), Fifo", 2_775_007, "soak"),
        // Two failing erases of translation pages made a drive read-only while data could free a superblock.
        ("erase failures", "map Uncached, a shared log in pools of 8 blocks", 366, "test"),
        ("erase failures", "map Uncached, a shared log in pools of 16 blocks", 5_002, "test"),
        // The last erased superblocks of all pools failed beside one that a power cut had closed early.
        ("erase failures", "map Dftl(DftlSpec, a shared log in pools of 16 blocks", 20_006, "test"),
        ("erase failures", "map Dftl(DftlSpec, a shared log in pools of 16 blocks", 40_029, "test"),
        ("erase failures", "map Uncached, a shared log in pools of 16 blocks", 20_010, "test"),
        ("erase failures", "map Fmmu(FmmuSpec, a shared log in pools of 16 blocks", 40_025, "test"),
        ("erase failures", "a shared log in pools of 10 blocks", 40_005, "test"),
        ("program failures", "cache mode across lists", 20_013, "test"),
        // The last erased superblocks of all data pools failed while pools of translation pages had several left.
        (
            "program failures",
            "map Dftl(DftlSpec, DChoices { d: 3 }, LeastLoaded channel-chip-die-plane",
            30_004,
            "test",
        ),
        (
            "program failures",
            "map Fmmu(FmmuSpec, DChoices { d: 3 }, LeastLoaded channel-chip-die-plane",
            20_174,
            "test",
        ),
        // One pool was above its limit, and the other one, which had the garbage, had no erased superblock.
        ("erase failures", "map Uncached, a shared log in pools of 16 blocks", 40_008, "test"),
        // The victim of the policy did not fit into the rest of the last superblock for copies, but the cheapest one
        // did.
        ("erase failures", "Fifo, PageRoundRobin channel-chip-die-plane", 1_004, "test"),
        // Data was collected before the map unit had started, while a translation page waited for an erase.
        ("erase failures", "map Dftl(DftlSpec, a shared log in pools of 16 blocks", 40_025, "test"),
        // Copies to a shared log overtook the programs that the current request had filled.
        ("program failures", "map Dftl(DftlSpec, a shared log in pools of 16 blocks", 5_003, "test"),
        ("program failures", "map Table, a shared log in pools of 6 blocks", 20_002, "test"),
        ("power cuts, one after another", "a shared log, static wear levelling, copy-back", 20_000, "test"),
        // A pool without a superblock to copy into got no help from one near its limit, until that one failed, too.
        ("program failures", "map Dftl(DftlSpec, a shared log in pools of 16 blocks", 4, "soak"),
        ("program failures", "map Fmmu(FmmuSpec, a shared log in pools of 16 blocks", 3, "soak"),
        // The helping pool waited for units that would fill a program, and a write waited for that pool.
        ("program failures", "map Fmmu(FmmuSpec, a shared log in pools of 16 blocks", 10, "soak"),
        // New data blocks took the blocks that replace failed ones while merges could have made room.
        ("program failures", "block, sample 0, queue depth of 1", 49_624, "soak"),
        // A merge that had erased its sources lost pages when all its destinations failed.
        ("preconditioning", "Bast, Same, erased when read, transfer by Bus", 3_007, "test"),
        ("preconditioning", "Bast, Apart, erased when read, transfer by Controller", 3_007, "test"),
        // Victims whose last copies waited for a full program delayed static wear levelling.
        ("wear", "map Uncached, static wear levelling", 3, "test"),
    ] {
        if let Err(failure) = replay(name, setting, seed, effort).expect("names of the suite") {
            panic!("{failure}");
        }
    }
}
