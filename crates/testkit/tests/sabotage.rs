//! The conformance suite finds what it is for: each of the bugs that can be planted in the FTL and the buffer
//! fails at least one check, and the same checks pass without it.

use base::io::IoKind;
use ssd::{FtlKind, Precondition, Resolved, Sabotage};
use study::catalogue::Device;
use study::session::{Flow, Session};
use testkit::List;
use testkit::conformance::{CHECKS, Check, Effort, Failure, Setting, Trial, check, settings};
use workload::Pacing;

/// Settings that between them have what the bugs need: one plain, one with a buffer, one with static wear
/// levelling, one whose collection copies much and one that chooses at random; and two behind a map unit, one of which
/// has translation pages; and a block map with all that its recovery reads.
const SETTINGS: [&str; 8] = [
    "Greedy, PageRoundRobin channel-chip-die-plane",
    "buffer that fills up",
    "static wear levelling, Greedy, dynamic: true",
    "Fifo, PageRoundRobin channel-chip-die-plane",
    "Random, PageRoundRobin channel-chip-die-plane",
    "map Table, Greedy, RequestRoundRobin channel-chip-die-plane",
    "map Uncached, Greedy, RequestRoundRobin channel-chip-die-plane",
    "hydra, flushes without merges, 2 superblocks",
];

fn chosen() -> Vec<Setting> {
    let all = settings();
    let find = |name: &str| all.iter().find(|setting| setting.name == name).unwrap_or_else(|| panic!("no `{name}`"));
    SETTINGS.iter().map(|name| find(name).clone()).collect()
}

/// What some checks of the suite say of a bug, in the order of settings and checks.
fn failures(bug: Option<Sabotage>, checks: &[Check]) -> impl Iterator<Item = Failure> {
    chosen().into_iter().flat_map(move |setting| {
        let resolved = setting.spec.resolve().expect("valid");
        let resolved = bug.map_or(resolved.clone(), |bug| resolved.sabotaged(bug));
        checks.iter().filter_map(move |check| {
            let trial = Trial { resolved: &resolved, seed: 1, effort: Effort::TEST };
            check.run(&setting.name, &trial).err()
        })
    })
}

#[test]
fn a_sound_drive_passes() {
    assert_eq!(failures(None, &CHECKS).next(), None);
}

/// Applies the check that is expected to fail. Only if it does not, the others say whether any does.
fn finds(bug: Sabotage, expected: &str) {
    let found = failures(Some(bug), &[check(expected).expect("a check of the suite")]).next();
    let found = found.unwrap_or_else(|| match failures(Some(bug), &CHECKS).next() {
        Some(other) => panic!("{bug:?} is not found by `{expected}`, only by {other}"),
        None => panic!("{bug:?} is not found by any check"),
    });
    println!("{bug:?}: {found}");
}

/// What a verified session says of a drive that is filled and overwritten, and read as a whole.
fn verified(resolved: Resolved) -> Result<u64, String> {
    let (capacity, unit) = (resolved.capacity().get(), u64::from(resolved.geometry.sectors));
    let reads = List::cycle(&[IoKind::Read], capacity / unit, unit, capacity, 0, Pacing::Closed { depth: 4 });
    let device = Device { name: "sabotaged".into(), resolved };
    let steps = vec![Precondition::Fill, Precondition::RandomOverwrite(0.5)];
    let session = Session::new(&device).seed(1).precondition(steps).verify(true).flow(Flow::of("reads", reads));
    let outcome = session.run().map_err(|error| error.to_string())?;
    Ok(outcome.first().verified.expect("it was asked for").sectors)
}

#[test]
fn a_verified_run_finds_what_preconditioning_lost() {
    for name in SETTINGS {
        let all = settings();
        let setting = all.iter().find(|setting| setting.name == name).expect("a setting");
        let resolved = setting.spec.resolve().expect("valid");
        assert_eq!(verified(resolved.clone()), Ok(resolved.capacity().get()), "{name}");
        if resolved.ftl.kind == FtlKind::Page {
            let text = verified(resolved.sabotaged(Sabotage::UntimedDropped)).expect_err(name);
            assert!(text.contains("but it holds what preconditioning wrote to sector"), "{text}");
            println!("{name}: {text}");
        }
    }
}

#[test]
fn every_planted_bug_is_found() {
    for bug in Sabotage::EVERY {
        finds(bug, expected(bug));
    }
}

/// The check that each bug must fail, whatever else it fails as well.
const fn expected(bug: Sabotage) -> &'static str {
    match bug {
        Sabotage::CopyCharged => "books",
        Sabotage::FailureIgnored => "program failures",
        Sabotage::NeverLevels => "wear",
        Sabotage::Undetermined => "determinism",
        Sabotage::CopyLooksNewer
        | Sabotage::OlderRecovered
        | Sabotage::FlushLies
        | Sabotage::LogUnread
        | Sabotage::SavedForgotten => "power cuts, full",
        Sabotage::UntimedDropped => "preconditioning",
        Sabotage::StaleTrusted => "power cuts, new",
        Sabotage::CopyRecovered => "power cuts, one after another",
        Sabotage::LostUpdate
        | Sabotage::StaleMapping
        | Sabotage::CollectionDrops
        | Sabotage::CopyOverrules
        | Sabotage::ReserveTaken
        | Sabotage::BufferMissed
        | Sabotage::DiscardForgotten
        | Sabotage::ConditionIgnored
        | Sabotage::ErasedUnanswered
        | Sabotage::PlaceUnmarked => "integrity",
    }
}
