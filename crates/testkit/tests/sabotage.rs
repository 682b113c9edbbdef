//! A test that the conformance suite finds planted bugs: each bug of the FTLs, their recovery, the buffer and the host
//! side fails its check, and the same check passes without the bug.

use std::collections::BTreeSet;

use base::io::IoKind;
use ssd::{FtlKind, Precondition, ResolvedDevice, Sabotage};
use study::catalogue::Device;
use study::session::{Flow, Session};
use testkit::List;
use testkit::conformance::{self, Effort, Failure, Trial, settings};
use workload::Pacing;

/// Settings that together have the features in which many of the bugs are planted: a plain one, one with a buffer, one
/// with static wear levelling, one whose collection copies much, one that chooses at random, two with a map unit (one
/// of which has translation pages), and a block map with all that its recovery reads.
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

/// The check that must find a bug, and the settings to which it is applied until it fails.
struct ExpectedCheck {
    check: &'static str,
    settings: &'static [&'static str],
}

/// Returns the failure of a check for a setting, with a bug or without.
fn failure(setting: &str, check: &str, bug: Option<Sabotage>) -> Option<Failure> {
    let all = settings();
    let found = all.iter().find(|known| known.name == setting).unwrap_or_else(|| panic!("no `{setting}`"));
    let resolved = found.spec.resolve().expect("valid");
    let resolved = bug.map_or(resolved.clone(), |bug| resolved.sabotaged(bug));
    let trial = Trial { resolved: &resolved, seed: 1, effort: Effort::TEST };
    conformance::check(check).expect("a check of the suite").run(setting, &trial).err()
}

/// Applies the check that must fail, and the same check without the bug, which must pass. `sound` holds the pairs that
/// have passed. Returns false if the check does not find the bug.
fn finds(bug: Sabotage, wanted: &ExpectedCheck, sound: &mut BTreeSet<(&'static str, &'static str)>) -> bool {
    let ExpectedCheck { check, settings } = *wanted;
    let found = settings.iter().find_map(|setting| Some((setting, failure(setting, check, Some(bug))?)));
    let Some((setting, found)) = found else { return false };
    if sound.insert((setting, check)) {
        assert_eq!(failure(setting, check, None), None, "without a bug");
    }
    println!("{bug:?}: {found}");
    true
}

/// Runs a verified session that reads a whole drive after it was filled and overwritten. Returns its result.
fn verified(resolved: ResolvedDevice) -> Result<u64, String> {
    let (capacity, unit) = (resolved.capacity().get(), u64::from(resolved.geometry.sectors));
    let reads = List::cycle(&[IoKind::Read], capacity / unit, unit, capacity, 0, Pacing::Closed { depth: 4 });
    let device = Device { name: "sabotaged".into(), resolved, replaced: Vec::new() };
    let steps = vec![Precondition::Fill, Precondition::RandomOverwrite(0.5)];
    let session = Session::new(&device).seed(1).precondition(steps).verify(true).flow(Flow::of("reads", reads));
    let outcome = session.run().map_err(|error| error.to_string())?;
    Ok(outcome.first().verified.expect("it was asked for").sectors)
}

#[test]
fn a_verified_run_finds_data_lost_in_preconditioning() {
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
    let (mut sound, mut missed) = (BTreeSet::new(), Vec::new());
    for bug in Sabotage::EVERY {
        for wanted in expected(bug) {
            if !finds(bug, &wanted, &mut sound) {
                missed.push(format!("{bug:?} is not found by `{}` of {:?}", wanted.check, wanted.settings));
            }
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

/// Expects a failure in one of the [`SETTINGS`].
const fn suite(check: &'static str) -> ExpectedCheck {
    ExpectedCheck { check, settings: &SETTINGS }
}

/// Expects a failure in a setting in which the bug has an effect.
const fn at(settings: &'static [&'static str; 1], check: &'static str) -> ExpectedCheck {
    ExpectedCheck { check, settings }
}

const GREEDY: &[&str; 1] = &["Greedy, PageRoundRobin channel-chip-die-plane"];
const FULL: &[&str; 1] = &["buffer that fills up"];
const PAGES: &[&str; 1] = &["programs of 6 pages page by page, bus CommandFirst"];
const TRIMS: &[&str; 1] = &["durable discards"];
const CHECKPOINTS: &[&str; 1] = &["checkpoints"];
const SUSPENDS: &[&str; 1] = &["suspension, AnyTime"];
const ERRORS: &[&str; 1] = &["bit errors, controllers PerDie"];
const PLANES: &[&str; 1] = &["planes that read by themselves, Host"];
const STREAMS: &[&str; 1] = &["streams, Lru, Same"];
const PARITY: &[&str; 1] = &["parity in four dies"];
const POWER_CAP: &[&str; 1] = &["power cap, one program at a time"];
const SLC_CACHE: &[&str; 1] = &["SLC cache, direct"];
const BAST: &[&str; 1] = &["Bast, Apart, controllers PerChannel"];
const CHANG: &[&str; 1] = &["Chang, plain"];
const OWN: &[&str; 1] = &["own:fewest, sample 0, plain"];
/// Lists of one die run at the same time in this setting.
const OWN_SIDE_BY_SIDE: &[&str; 1] = &["own:fewest, sample 0, controllers None, Fifo"];

/// Lists the checks that each bug must fail, one for each place where it is planted. A bug may fail others too.
fn expected(bug: Sabotage) -> Vec<ExpectedCheck> {
    match bug {
        Sabotage::CopyCharged => vec![suite("books")],
        Sabotage::FailureIgnored => vec![suite("program failures"), at(OWN, "program failures")],
        Sabotage::NeverLevels => vec![suite("wear")],
        Sabotage::Undetermined => vec![suite("determinism")],
        Sabotage::CopyLooksNewer
        | Sabotage::OlderRecovered
        | Sabotage::FlushLies
        | Sabotage::LogUnread
        | Sabotage::SavedForgotten => vec![suite("power cuts, full")],
        Sabotage::UntimedDropped | Sabotage::LaidOutStale => vec![suite("preconditioning")],
        Sabotage::StaleTrusted => vec![suite("power cuts, new")],
        // A unit test of the mount finds this bug in a page map, because a rescue hides it from this suite.
        Sabotage::CopyRecovered => vec![at(&["block, sample 0, plain"], "power cuts, one after another")],
        Sabotage::LostUpdate
        | Sabotage::StaleMapping
        | Sabotage::CollectionDrops
        | Sabotage::CopyOverrules
        | Sabotage::ReserveTaken
        | Sabotage::BufferMissed
        | Sabotage::DiscardForgotten
        | Sabotage::ConditionIgnored
        | Sabotage::ErasedUnanswered
        | Sabotage::PlaceUnmarked => vec![suite("integrity")],
        Sabotage::GateForgotten => vec![at(GREEDY, "integrity"), at(OWN_SIDE_BY_SIDE, "integrity")],
        Sabotage::RestUnread
        | Sabotage::PinForgotten
        | Sabotage::OverlapMissed
        | Sabotage::FirstPartServes
        | Sabotage::PartDiscarded
        | Sabotage::VictimStale => vec![at(GREEDY, "integrity")],
        Sabotage::PromiseKept => vec![at(GREEDY, "preconditioning")],
        Sabotage::RowsUnfilled => vec![at(&["ganged chips"], "books")],
        Sabotage::HeldForgotten => vec![at(&["one-shot programs of 2 pages"], "integrity")],
        Sabotage::HeldOvertaken => {
            vec![at(&["map Dftl(DftlSpec, one-shot programs of 2 pages"], "preconditioning")]
        }
        Sabotage::CopiesGoOn | Sabotage::FailingForgotten | Sabotage::RetiredFreed => {
            vec![at(GREEDY, "program failures")]
        }
        Sabotage::TornIsFree => vec![at(GREEDY, "power cuts, new")],
        Sabotage::VersionRestarts => vec![at(GREEDY, "power cuts, full")],
        Sabotage::WearForgotten => vec![
            at(GREEDY, "determinism"),
            at(BAST, "program failures"),
            at(&["Chang, no SLC, plain"], "program failures"),
            at(&["hydra, 2 buses, 2 chips"], "books"),
        ],
        Sabotage::RoomCountedTwice => {
            vec![at(&["map Dftl(DftlSpec, Greedy, RequestRoundRobin channel-chip-die-plane"], "determinism")]
        }
        Sabotage::PieceSkips => vec![at(&["chopped requests"], "integrity")],
        Sabotage::WriteOvertakes => vec![at(FULL, "order")],
        // While a buffer fills up, few mapping units are under way, so few of those are discarded.
        Sabotage::DroppedStays => vec![at(&["buffer that holds nothing back"], "integrity")],
        Sabotage::FlushOneBehind => vec![at(FULL, "power cuts, after flushes")],
        Sabotage::JournalShort | Sabotage::ReplacementForgotten => {
            vec![at(&["hydra, 2 buses, 2 chips"], "program failures")]
        }
        Sabotage::FlushesUnversioned => {
            vec![at(&["hydra, flushes without merges, 2 superblocks"], "power cuts, after flushes")]
        }
        Sabotage::InOrderTrusted => vec![at(BAST, "program failures")],
        Sabotage::TornPageForgotten => vec![at(BAST, "program failures"), at(CHANG, "power cuts, full")],
        Sabotage::HeadByNumber => vec![at(CHANG, "determinism")],
        Sabotage::FailedEraseReused => vec![at(&["Chang, buffer"], "erase failures")],
        Sabotage::SecondStaysOn => vec![at(CHANG, "program failures")],
        Sabotage::RestOfWriteLeft => {
            vec![at(&["Chang, a log of two blocks and a large table"], "power cuts, one after another")]
        }
        Sabotage::TailCopyBelieved => {
            vec![at(&["Chang, a large table"], "program failures")]
        }
        Sabotage::HelperUnreserved => {
            vec![at(&["CostBenefit, PageRoundRobin channel-chip-die-plane"], "preconditioning")]
        }
        Sabotage::CacheOverwritten => vec![at(&["cache mode across lists, deep queue"], "integrity")],
        Sabotage::DiscardUnrecorded => vec![at(TRIMS, "power cuts, full"), at(TRIMS, "power cuts, among discards")],
        Sabotage::DiscardHasty => vec![at(&["durable discards, buffered"], "refusals")],
        Sabotage::DiscardOverrules => vec![at(TRIMS, "power cuts, among discards")],
        Sabotage::RewrittenVouched | Sabotage::OpenVouched => vec![at(CHECKPOINTS, "power cuts, full")],
        Sabotage::PairingIgnored => vec![at(&["paired pages"], "power cuts, full")],
        Sabotage::CodewordsOutlivePower => vec![at(&["decoders PerChannel"], "program failures")],
        Sabotage::SuspendedForever => vec![at(SUSPENDS, "integrity")],
        Sabotage::PlaneForgotten => vec![at(PLANES, "integrity")],
        Sabotage::TornAfterResume => vec![at(SUSPENDS, "power cuts, full")],
        Sabotage::RetryAtTheDecoder => vec![at(ERRORS, "books")],
        Sabotage::BlockReordered => vec![at(&["collection first, checkpoints"], "integrity")],
        Sabotage::PageSkipped => vec![at(PAGES, "books"), at(PAGES, "integrity")],
        Sabotage::StreamForgotten => vec![at(STREAMS, "power cuts, full")],
        Sabotage::HandleShared => vec![at(&["FDP, 3 handles, Initial"], "placement")],
        Sabotage::CopyJoinsHost | Sabotage::ParkedForgotten => vec![at(&["streams, one-shot programs"], "integrity")],
        Sabotage::RefreshForgotten => vec![at(&["bit errors, refresh by reads"], "integrity")],
        Sabotage::OpenedAtOnce => vec![at(&["parity in 2 dies, suspension"], "power cuts, full")],
        Sabotage::CopiesUncovered | Sabotage::NeverRebuilt | Sabotage::StripesLeftOpen => {
            vec![at(PARITY, "read failures")]
        }
        Sabotage::DeadDieLeft | Sabotage::MissingForgotten => vec![at(PARITY, "die failures")],
        Sabotage::ThrottleWaits => vec![at(&["throttle"], "integrity")],
        Sabotage::CapExceeded => vec![at(POWER_CAP, "books")],
        Sabotage::CapForgotten => vec![at(POWER_CAP, "integrity")],
        Sabotage::AdmissionForgotten => vec![at(&["throttled by heat, OnOff"], "integrity")],
        Sabotage::CacheOverfilled | Sabotage::CacheNeverEmpties => vec![at(SLC_CACHE, "integrity")],
        Sabotage::CacheReusedEarly => vec![at(&["SLC cache, reuse"], "integrity")],
        Sabotage::StaticPartLent => vec![at(&["SLC cache, static part"], "integrity")],
        Sabotage::FoldLeavesPlane => vec![at(&["SLC cache, fold, one-shot folds inside planes"], "integrity")],
        Sabotage::SlcModeForgotten => vec![at(SLC_CACHE, "power cuts, full")],
        Sabotage::PaceObeyed => vec![at(&["pace, never"], "integrity")],
        Sabotage::HostMemoryOutlives => vec![at(&["map Dftl(DftlSpec, host memory"], "integrity")],
        // The suite of RAIDs finds these bugs.
        Sabotage::ParityKept
        | Sabotage::RebuildUnordered
        | Sabotage::RepairForgotten
        | Sabotage::JournalUnflushed
        | Sabotage::ReplayForgotten => Vec::new(),
        // The suite of translations finds these bugs.
        Sabotage::CopyOverWrite | Sabotage::ResetUncopied | Sabotage::VersionForgotten => Vec::new(),
        // The suite of zones finds these bugs.
        Sabotage::AppendMisplaced | Sabotage::OpenCountLeaks | Sabotage::ResetKeepsData => Vec::new(),
        Sabotage::ImplicitFlushTooFar | Sabotage::ZrwaOverwriteLost => Vec::new(),
        // A unit test finds this bug: the suite has no tenants confined to a part of the dies.
        Sabotage::ConfinementForgotten => Vec::new(),
        // A unit test finds this bug, because few cuts come between the erases of two dies.
        Sabotage::HalfErasedBelieved => Vec::new(),
        // A unit test finds this bug: a rescue into such an end needs two failures and several power cuts.
        Sabotage::EndVouched => Vec::new(),
    }
}
