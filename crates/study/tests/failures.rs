//! Tests that a request that failed counts as failed, and improves no other number.

use std::path::Path;

use base::io::IoKind;
use ssd::{Precondition, Status};
use study::catalogue::{self, Device, WorkloadFile};
use study::compare::{self, Comparison};
use study::config::Document;
use study::execute::{self, Program, Verdict, claims};
use study::plan::{Failures, Plan, RunSpec};
use study::run::{Record, RunResult};
use study::session::{Measurement, Session};
use study::summary::Summary;
use testkit::small::drive_with_endurance;
use workload::trace::TraceOptions;

/// Writes, and a read for each of them.
const MIXED: &str = r#"name = "w"
requests = 100000
arrivals = { kind = "closed", depth = 8 }
[[stream]]
reads = "50%"
sizes = [{ size = "4KiB" }]
address = { pattern = "uniform" }
"#;

fn device(text: String) -> Device {
    let document = Document::parse(Path::new("drive.toml"), text).expect("TOML");
    catalogue::device_from(&document).unwrap_or_else(|faults| panic!("{faults}"))
}

/// Runs this workload with a record of each request.
fn recorded(device: &Device, workload: &str, spec: &str, steps: Vec<Precondition>) -> (Measurement, Vec<Record>) {
    let spec: RunSpec = toml::from_str(spec).unwrap_or_else(|error| panic!("{spec}: {error}"));
    let workload = WorkloadFile::parse(workload).unwrap_or_else(|faults| panic!("{faults}"));
    let mut records = Vec::new();
    let session = Session::new(device).spec(&spec).precondition(steps);
    let flow = session.open(&workload, &TraceOptions::default()).expect("sound");
    let mut outcome = session.flow(flow).verify(true).log(&mut records).run().unwrap_or_else(|error| panic!("{error}"));
    (outcome.measurements.remove(0), records)
}

/// Compares the result with a count over the records, one by one.
fn check_by_hand(result: &RunResult, records: &[Record]) {
    let done = |record: &&Record| record.status == Status::Done;
    for kind in IoKind::ALL {
        let of_kind = || records.iter().filter(move |record| record.io.kind == kind);
        let seen = result.kind(kind);
        for status in Status::ALL {
            let counted = of_kind().filter(|record| record.status == status).count() as u64;
            assert_eq!(seen.with_status(status), counted, "{kind:?} {status:?}");
        }
        assert_eq!(seen.failed(), of_kind().filter(|record| record.status != Status::Done).count() as u64);
        assert_eq!(seen.sectors.get(), of_kind().filter(done).map(|record| record.io.sectors.get()).sum::<u64>());
        let mut latencies: Vec<u64> =
            of_kind().filter(done).map(|record| (record.end - record.arrival).as_ps()).collect();
        latencies.sort_unstable();
        assert_eq!(seen.latency.count(), latencies.len() as u64);
        assert_eq!(seen.latency.sum_ps(), latencies.iter().map(|ps| u128::from(*ps)).sum::<u128>());
        if let Some(median) = latencies.get((latencies.len().max(1) - 1) / 2) {
            let found = seen.latency.quantile(0.5).expect("there are some").as_ps() as f64;
            assert!((found - *median as f64).abs() <= 0.01 * *median as f64, "{found} and {median}");
        }
    }
    let served = records.iter().filter(|record| record.io.kind != IoKind::Flush).filter(done).count();
    let rate = result.requests_per_second().expect("time passed");
    assert!((rate * result.span().as_secs_f64() / served as f64 - 1.0).abs() < 1e-9, "{rate}");
}

#[test]
fn a_worn_drive_shows_what_it_refused_and_only_what_it_served() {
    let worn = device(drive_with_endurance("worn", 6));
    let (measured, records) = recorded(&worn, MIXED, "measure = \"30x\"", Vec::new());
    let (result, summary) = (&measured.result, measured.summary());
    check_by_hand(result, &records);
    let refused = result.with_status(Status::ReadOnly);
    assert!(refused > result.completed / 3, "{refused} of {}", result.completed);
    assert_eq!(summary.kinds["write"].failed["read_only"], refused);
    assert_eq!(summary.kinds["read"].failed.len(), 0);
    assert!(
        summary.fails_too_often() && (summary.validity.failed - refused as f64 / result.completed as f64).abs() < 1e-12
    );
    // The measurement ended by the amount that requests asked for, and the result has the amount that was written.
    assert!(result.capacities_asked() >= 30.0 && summary.validity.capacities_written < 20.0, "{:?}", summary.validity);
    // Without the refused writes, the write amplification of the same drive is not lower.
    let flash = result.counters().flash;
    let programmed = flash.op(flash::backend::Op::Program).slots as f64;
    let written = summary.kinds["write"].bytes as f64 / 4096.0;
    let waf = summary.write_amplification.expect("it wrote");
    assert!((waf / (programmed / written) - 1.0).abs() < 0.01, "{waf}: {programmed} programmed, {written} written");
    let said = &summary.validity.warnings[0];
    assert!(said.starts_with("requests failed: ") && said.contains(&format!("{refused} were refused")), "{said}");
    let series: u64 = result.series.intervals().flat_map(|interval| interval.windows.map(|of| of.count)).sum();
    assert_eq!(series, result.with_status(Status::Done), "no interval counts a failed request");
}

#[test]
fn uncorrectable_reads_are_in_no_rate_and_no_percentile() {
    let ageing =
        device(drive_with_endurance("ageing", 3_000).replace("wear-out = true", "uncorrectable-reads = \"60%\""));
    let (measured, records) = recorded(&ageing, MIXED, "limit = 4000", vec![Precondition::Fill]);
    check_by_hand(&measured.result, &records);
    let summary = measured.summary();
    assert!(summary.validity.failed > 0.2, "{:?}", summary.outcomes);
    assert_eq!(summary.kinds["read"].failed["uncorrectable"], summary.outcomes["uncorrectable"]);
}

#[test]
fn reads_of_nothing_are_said_with_their_share() {
    let reads = MIXED.replace("50%", "100%");
    let empty = device(drive_with_endurance("empty", 3_000));
    let warning = |steps| {
        let summary = recorded(&empty, &reads, "limit = 3000", steps).0.summary();
        let warned = summary.validity.warnings.into_iter().find(|text| text.starts_with("unmapped reads: "));
        (summary.validity.unmapped_reads, warned)
    };
    let (share, warned) = warning(Vec::new());
    assert!((share - 1.0).abs() < 1e-12);
    let warned = warned.expect("all of them");
    assert!(warned.contains("100.0%") && warned.contains("--precondition fill"), "{warned}");
    assert_eq!(warning(vec![Precondition::Fill]), (0.0, None));
}

/// Compares a worn drive with a fresh one. Their files are in this folder.
fn compared(dir: &Path, failures: Failures) -> Comparison {
    let devices = [("worn", 6), ("fresh", 3_000)].map(|(name, endurance)| {
        let path = dir.join(format!("{name}.toml"));
        std::fs::write(&path, drive_with_endurance(name, endurance)).expect("written");
        path
    });
    let workload = dir.join("w.toml");
    std::fs::write(&workload, MIXED).expect("written");
    let run = RunSpec { limit: Some(60_000), ..RunSpec::default() };
    let mut plan = compare::plan(&workload, &devices, &[1], &run).unwrap_or_else(|faults| panic!("{faults}"));
    plan.spec.failures = failures;
    Comparison::new(&execute::run(plan, &Program::default(), None, &|_, _| {}).expect("it runs"))
}

#[test]
fn a_drive_that_fails_requests_is_best_in_nothing() {
    let dir = tempfile::tempdir().expect("a directory");
    let strict = compared(dir.path(), Failures::Unexpected);
    let [worn, fresh] = &strict.rows[..] else { panic!("two drives") };
    assert!(worn.runs[0].fails_too_often() && !fresh.runs[0].fails_too_often());
    assert_eq!((worn.is_comparable, fresh.is_comparable, worn.best.len()), (false, true, 0));
    assert!(strict.explain_missing_marks().expect("the worn one").contains("worn"));
    let said: Vec<&str> = strict.cautions().iter().map(|caution| caution.text).collect();
    assert!(said.iter().any(|text| text.starts_with("requests failed: ")), "{said:?}");
    let allowed = compared(dir.path(), Failures::Expected);
    assert!(allowed.rows.iter().all(|row| row.is_comparable) && allowed.explain_missing_marks().is_none());
}

#[test]
fn no_claim_holds_at_a_point_where_requests_fail() {
    let dir = tempfile::tempdir().expect("a directory");
    for (name, endurance) in [("worn", 6), ("fresh", 3_000)] {
        std::fs::write(dir.path().join(format!("{name}.toml")), drive_with_endurance(name, endurance))
            .expect("written");
    }
    std::fs::write(dir.path().join("w.toml"), MIXED).expect("written");
    let judged = |head: &str, expectation: &str| {
        let text = format!(
            r#"name = "s"
{head}device = "worn.toml"
workload = "w.toml"
run = {{ limit = 60000 }}
[[axis]]
name = "drive"
point = [ {{ at = "worn" }}, {{ at = "fresh", device = "fresh.toml" }} ]
[[claim]]
id = "W"
says = "it is so"
[[claim.expect]]
{expectation}
"#
        );
        let document = Document::parse(&dir.path().join("s.toml"), text).expect("TOML");
        let plan = Plan::new(&document).unwrap_or_else(|faults| panic!("{faults}"));
        let outcome = execute::run(plan, &Program::default(), None, &|_, _| {}).expect("it runs");
        (claims(std::slice::from_ref(&outcome)).remove(0), outcome.unsound_points())
    };
    let positive = |place: &str| format!("metric = \"requests-per-s\"\n{place}bounded = {{ least = \"1/s\" }}");
    let (all, unsound) = judged("", &positive(""));
    assert_eq!((all.verdict, &unsound[..]), (Verdict::Fails, &["drive worn".to_owned()][..]));
    assert_eq!(all.findings[0].offenders, ["drive worn: more than 0.1% of the requests failed"]);
    // A point that only divides is checked, too.
    let per = positive("where = { drive = \"fresh\" }\nper = { drive = \"worn\" }\n").replace("\"1/s\"", "0.0001");
    assert_eq!(judged("", &per).0.verdict, Verdict::Fails);
    assert_eq!(judged("", &positive("where = { drive = \"fresh\" }\n")).0.verdict, Verdict::Holds);
    let (expected, unsound) = judged("failures = \"expected\"\n", &positive(""));
    assert_eq!((expected.verdict, unsound.len()), (Verdict::Holds, 0));
    // A study may expect the failures.
    let share = "metric = \"failed\"\nwhere = { drive = \"worn\" }\nbounded = { least = \"10%\" }";
    assert_eq!(judged("failures = \"expected\"\n", share).0.verdict, Verdict::Holds);
}

/// All results have the same keys, so that a program can look for failures in each. Only statuses of zones are left out
/// if there are none.
#[test]
fn a_sound_run_says_that_nothing_failed() {
    let fresh = device(drive_with_endurance("fresh", 3_000));
    let (measured, records) = recorded(&fresh, MIXED, "limit = 2000", vec![Precondition::Fill]);
    check_by_hand(&measured.result, &records);
    let Summary { validity, outcomes, kinds, .. } = measured.summary();
    assert!(validity.failed < f64::EPSILON && outcomes["done"] == 2_000);
    assert_eq!(outcomes.len(), Status::ALL.into_iter().filter(|status| !status.is_of_zones()).count());
    assert!(kinds.values().all(|kind| kind.failed.is_empty()));
}
