//! Tests of the warnings: overload, drift, too little written, too few requests.

use base::engine::Rng;
use base::io::{Io, IoKind};
use base::units::{Lba, Sectors, Span, Time};
use ssd::QueueId;
use testkit::{FixedDrive, List};
use workload::{Arrival, Pacing};

use super::*;
use crate::oracle::Blank;
use crate::run::{Flow, Rules};

/// Reads with these gaps, in units of the time of service.
fn list(gaps: impl IntoIterator<Item = f64>) -> List {
    let io = Io::new(IoKind::Read, Lba::new(0), Sectors::new(8));
    let at = |now: &mut f64, gap: f64| {
        *now += gap;
        Some(Arrival::new(Time::from_ps((*now * 1e9) as u64), io))
    };
    List::new(gaps.into_iter().scan(0.0, at).collect(), Pacing::Open)
}

/// A drive of one server that takes 1 ms for each request.
fn one_server() -> FixedDrive<()> {
    FixedDrive::new(Sectors::new(1_000), 1, Span::from_ms(1))
}

/// Runs requests with these gaps, in units of the time of service, on a drive of one server.
fn served(gaps: impl IntoIterator<Item = f64>) -> Validity {
    let result = Rules::default().run(&mut one_server(), &mut list(gaps), &mut Blank).expect("it runs");
    Validity::of(&result)
}

/// Runs requests with equal gaps on a drive of one server.
fn open(apart: Span, count: u64) -> Validity {
    let gap = apart.as_us_f64() / 1e3;
    served((0..count).map(|i| if i == 0 { 0.0 } else { gap }))
}

/// Runs Poisson arrivals with this load: M/D/1, whose backlog has about `load / 2 / (1 - load)` requests. Returns true
/// if an overload is found.
fn poisson(load: f64, count: u64, seed: u64) -> bool {
    let mut rng = Rng::stream(seed, "arrivals");
    served((0..count).map(|_| -(1.0 - rng.unit()).ln() / load)).overload.is_some()
}

/// The number of runs, each with another seed, that are found to be overloaded.
fn overloaded(runs: u64, run: impl Fn(u64) -> bool) -> usize {
    (0..runs).filter(|seed| run(*seed)).count()
}

/// The numbers of requests by outcome on a drive without zones.
fn outcomes(first: [u64; 4]) -> [u64; Status::COUNT] {
    std::array::from_fn(|status| first.get(status).copied().unwrap_or_default())
}

#[test]
fn a_load_faster_than_the_drive_is_an_overload() {
    let overload = open(Span::from_us(500), 1_000).overload.expect("twice as fast as the drive");
    assert!((overload.offered - 2_000.0).abs() < 5.0 && (overload.served - 1_000.0).abs() < 5.0, "{overload:?}");
    assert_eq!(open(Span::from_us(1_010), 1_000).overload, None);
    // Too few requests for a trend.
    assert_eq!(open(Span::from_us(500), 60).overload, None);
}

#[test]
fn a_slight_overload_is_found_in_long_and_short_runs() {
    // The backlog is 2 % of the requests, whatever their number.
    for count in [6_000, 20_000, 100_000] {
        let overload = open(Span::from_us(980), count).overload.expect("requests come two per cent too fast");
        assert!((overload.offered / overload.served - 1.02).abs() < 1e-3, "{overload:?}");
        assert_eq!(open(Span::from_us(1_053), count).overload, None, "a load of 0.95");
    }
}

#[test]
fn chance_is_no_overload() {
    for (count, load, runs, wanted) in [
        (1_000, 0.95, 20, 0..=0),
        (10_000, 0.95, 20, 0..=0),
        (100_000, 0.95, 3, 0..=0),
        (10_000, 0.99, 20, 0..=0),
        // A load that the drive just serves is not an overload either, in nine of ten runs.
        (10_000, 1.0, 40, 0..=4),
        // Chance hides a slight overload in a short run, but not in a long one.
        (100_000, 1.02, 5, 5..=5),
        (10_000, 1.05, 20, 18..=20),
        (3_000, 1.1, 20, 18..=20),
    ] {
        let found = overloaded(runs, |seed| poisson(load, count, seed));
        assert!(wanted.contains(&found), "{count} requests, load {load}: {found} of {runs} overloaded");
    }
}

#[test]
fn bursts_are_no_overload() {
    // All requests of a burst come at once, up to a tenth of the run, and the run ends with a burst.
    for size in [10, 100, 256, 1_000] {
        for load in [0.3, 0.8, 0.95] {
            let gap = |i: u64| if i > 0 && i.is_multiple_of(size) { size as f64 / load } else { 0.0 };
            let run = served((0..10_000).map(gap));
            assert_eq!(run.overload, None, "bursts of {size}, load {load}");
        }
    }
    // Bursts of this size come too often.
    let gap = |i: u64| if i > 0 && i.is_multiple_of(100) { 100.0 / 1.1 } else { 0.0 };
    assert!(served((0..10_000).map(gap)).overload.is_some());
    // Bursts of random lengths with random pauses.
    let bursts = |seed| {
        let mut rng = Rng::stream(seed, "bursts");
        let mut left = 0;
        let gap = |_| {
            let mut draw = |mean: f64| -(1.0 - rng.unit()).ln() * mean;
            if left == 0 {
                left = 1 + draw(100.0) as u64;
                return draw(100.0 / 0.8);
            }
            left -= 1;
            0.0
        };
        served((0..20_000).map(gap)).overload.is_some()
    };
    assert_eq!(overloaded(10, bursts), 0);
}

#[test]
fn a_queue_that_levels_off_is_no_overload() {
    // The backlog approaches 300 requests, as for a drive that becomes slower and then keeps up.
    let level = |i: f64| 300.0 * (1.0 - (-i / 4_000.0).exp());
    let run = served((0..20_000).map(|i| 1.0 - (level(f64::from(i) + 1.0) - level(f64::from(i)))));
    assert_eq!(run.overload, None);
}

#[test]
fn flows_that_are_open_loops_overload_a_drive_together() {
    let flows = |gap: f64| {
        let mut sources = [list((0..5_000).map(|_| gap)), list((0..5_000).map(|_| gap))];
        let flow = |source| Flow { name: "f".into(), source, pacing: None, queue: QueueId::default() };
        let flows = sources.iter_mut().map(|source| flow(source as _)).collect();
        let result = Rules::default().run_several(&mut one_server(), flows, &mut Blank).expect("it runs");
        Validity::of(&result).overload
    };
    let overload = flows(1.9).expect("both together are too fast");
    assert!((overload.offered / overload.served - 2.0 / 1.9).abs() < 0.01, "{overload:?}");
    assert_eq!(flows(2.1), None);
}

#[test]
fn an_overload_is_a_warning_with_both_rates() {
    let warnings = open(Span::from_us(250), 1_000).warnings();
    assert_eq!(warnings.len(), 1);
    assert!(
        warnings[0].starts_with("overloaded: offered 400") && warnings[0].contains("served 1000/s"),
        "{warnings:?}"
    );
    // The rates differ although their texts are equal.
    let warning = open(Span::from_us(9_996) / 10, 300_000).warnings().remove(0);
    assert!(warning.contains("offered 1000/s, served 1000/s, 121 requests piled up; "), "{warning}");
}

#[test]
fn a_percentile_needs_ten_requests_beyond_it() {
    assert!(is_supported(0.5, 1));
    for (q, least) in [(0.9, 100), (0.99, 1_000), (0.999, 10_000), (0.99999, 1_000_000)] {
        assert!(is_supported(q, least) && !is_supported(q, least - 1), "{q}");
    }
}

fn validity(waf: [f64; WINDOW], written: f64, erases: u64) -> Validity {
    let round = |waf| Round {
        requests: 1_000,
        span_s: 1.0,
        rate: 1_000.0,
        waf: Some(waf),
        latency_us: 1.0,
        programs: 10,
        erases,
    };
    let fifths = waf.map(round).to_vec();
    let verdicts = vec![(Metric::Waf, Verdict::of(&fifths, Metric::Waf))];
    Validity {
        outcomes: outcomes([1_000, 0, 0, 0]),
        unmapped_reads: 0.0,
        unreadable_copies: 0,
        written,
        written_with_warm_up: written,
        fifths,
        verdicts,
        overload: None,
        means: Vec::new(),
        waited: false,
        zoned: false,
    }
}

#[test]
fn warnings_name_what_is_wrong() {
    assert_eq!(validity([2.0; WINDOW], 0.5, 9).warnings(), [""; 0]);
    let little = validity([2.0; WINDOW], 0.0025, 9).warnings();
    assert!(little.len() == 1 && little[0].contains("0.25% of the capacity"), "{little:?}");
    let filling = validity([1.0; WINDOW], 0.5, 0).warnings();
    assert!(filling.len() == 1 && filling[0].contains("erased nothing"), "{filling:?}");
    // A drive with zones does not collect, and resets erase its flash.
    for of in [validity([2.0; WINDOW], 0.0025, 9), validity([1.0; WINDOW], 0.5, 0)] {
        assert_eq!(Validity { zoned: true, ..of }.warnings(), [""; 0]);
    }
    let drifting = validity([33.3, 30.0, 27.0, 24.0, 20.6], 0.5, 9).warnings();
    assert!(
        drifting.len() == 1 && drifting[0].contains("from 33.30") && drifting[0].contains("to 20.60"),
        "{drifting:?}"
    );
}

#[test]
fn a_short_run_has_no_fifths() {
    let run = open(Span::from_us(1_010), 20);
    assert!(run.fifths.is_empty() && run.verdicts.is_empty() && run.warnings().is_empty());
    let long = open(Span::from_us(1_010), 2_000);
    assert_eq!(long.fifths.len(), WINDOW);
    assert!(long.fifths.iter().all(|fifth| (395..=405).contains(&fifth.requests)), "{:?}", long.fifths);
    assert!(long.verdict(Metric::Rate).is_steady() && long.verdict(Metric::Waf) == Verdict::Unknown);
}

#[test]
fn failed_requests_unmapped_reads_and_unreadable_copies_are_said() {
    let plain = validity([3.0; WINDOW], 1.0, 10);
    assert_eq!((plain.warnings().len(), plain.failed()), (0, 0.0));
    let said = |of: Validity| of.warnings().join("\n");
    let failed = Validity { outcomes: outcomes([98_699, 1, 1_000, 300]), ..plain.clone() };
    assert!((failed.failed() - 1_301.0 / 100_000.0).abs() < 1e-12);
    let text = said(failed);
    for wanted in ["requests failed: 1.3% of all", "1 could not be read", "1000 were refused", "300 addressed sectors"]
    {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
    let few = said(Validity { outcomes: outcomes([1_000_000, 2, 0, 0]), ..plain.clone() });
    assert!(few.contains("<0.1% of all (2 could not be read from flash)") && !few.contains("refused"), "{few}");
    assert_eq!(said(Validity { unmapped_reads: 0.01, ..plain.clone() }), "", "one in a hundred");
    let unmapped = said(Validity { unmapped_reads: 0.9, ..plain.clone() });
    assert!(unmapped.contains("90.0% of the mapping units") && unmapped.contains("--precondition fill"), "{unmapped}");
    assert!(said(Validity { unreadable_copies: 7, ..plain }).starts_with("unreadable copies: 7 mapping units"));
}
