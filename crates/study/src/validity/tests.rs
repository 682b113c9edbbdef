//! What a run says of itself: overload, drift, too little written, too few requests.

use base::io::{Io, IoKind};
use base::units::{Lba, Sectors, Span, Time};
use testkit::{FixedDrive, List};
use workload::{Arrival, Pacing};

use super::*;
use crate::oracle::Blank;
use crate::run::Runner;

/// A drive of one server that takes 1 ms for each request, under requests that come this far apart.
fn open(apart: Span, count: u64) -> Validity {
    let io = Io { kind: IoKind::Read, start: Lba::new(0), sectors: Sectors::new(8) };
    let arrivals = (0..count).map(|i| Arrival { at: Time::ZERO + apart * i, io }).collect();
    let mut drive = FixedDrive::<()>::new(Sectors::new(1_000), 1, Span::from_ms(1));
    let result = Runner::new().run(&mut drive, &mut List::new(arrivals, Pacing::Open), &mut Blank).expect("it runs");
    Validity::of(&result)
}

#[test]
fn a_load_faster_than_the_drive_is_an_overload() {
    let overload = open(Span::from_us(500), 1_000).overload.expect("twice as fast as the drive");
    assert!((overload.offered - 2_000.0).abs() < 5.0 && (overload.served - 1_000.0).abs() < 5.0, "{overload:?}");
    assert_eq!(open(Span::from_us(1_010), 1_000).overload, None);
    // Too few requests to call it a trend.
    assert_eq!(open(Span::from_us(500), 60).overload, None);
}

#[test]
fn an_overload_is_a_warning_with_both_rates() {
    let warnings = open(Span::from_us(250), 1_000).warnings();
    assert_eq!(warnings.len(), 1);
    assert!(
        warnings[0].starts_with("overloaded: offered 400") && warnings[0].contains("served 1000/s"),
        "{warnings:?}"
    );
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
        written,
        written_with_warm_up: written,
        fifths,
        verdicts,
        overload: None,
        means: Vec::new(),
        waited: false,
    }
}

#[test]
fn warnings_name_what_is_wrong() {
    assert_eq!(validity([2.0; WINDOW], 0.5, 9).warnings(), [""; 0]);
    let little = validity([2.0; WINDOW], 0.0025, 9).warnings();
    assert!(little.len() == 1 && little[0].contains("0.25% of the capacity"), "{little:?}");
    let filling = validity([1.0; WINDOW], 0.5, 0).warnings();
    assert!(filling.len() == 1 && filling[0].contains("erased nothing"), "{filling:?}");
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
