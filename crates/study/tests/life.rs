//! Tests of a drive's life: sums, failures, rounds and snapshots.

use std::fs;

use study::catalogue::{self, Device, WorkloadFile};
use study::config::Document;
use study::life::LifeError;
use study::session::{Amount, Measurement, Session, SessionError, Stop};
use study::summary::LifeSummary;
use testkit::small::drive_with_endurance;
use workload::trace::TraceOptions;

/// Random writes of single pages, one after another, so that the drive pads much and still levels wear.
const WRITES: &str = r#"name = "writes"
requests = 10
arrivals = { kind = "closed", depth = 16 }
[[stream]]
reads = "0%"
sizes = [{ size = "64KiB" }]
address = { pattern = "uniform" }
"#;

/// A write of 1 MiB every 20 days.
const DIARY: &str = r#"name = "diary"
requests = 10
arrivals = { kind = "fixed", rate = "0.0000005787037037/s" }
[[stream]]
reads = "0%"
sizes = [{ size = "1MiB" }]
address = { pattern = "uniform" }
"#;

fn device(text: &str) -> Device {
    let document = Document::parse(std::path::Path::new("d.toml"), text.to_owned()).expect("TOML");
    catalogue::device_from(&document).unwrap_or_else(|faults| panic!("{faults}"))
}

fn small(endurance: u32, spread: &str) -> Device {
    let rated = format!("endurance = {endurance}\n");
    let text = drive_with_endurance("small", endurance);
    device(&text.replace(&rated, &format!("{rated}endurance_spread = \"{spread}\"\n")))
}

fn worn<'a>(device: &'a Device, workload: &str, round: Option<Amount>) -> Session<'a> {
    let session = Session::new(device).stop(Stop::Worn(round));
    let file = WorkloadFile::parse(workload).unwrap_or_else(|faults| panic!("{faults}"));
    let flow = session.open(&file, &TraceOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    session.flow(flow)
}

fn measured(session: Session<'_>) -> Measurement {
    let mut outcome = session.run().unwrap_or_else(|error| panic!("{error}"));
    outcome.measurements.pop().expect("a measurement")
}

fn life(session: Session<'_>) -> LifeSummary {
    measured(session).life.expect("a life")
}

/// Every block is erased as often as its part endures, down to the last blocks of the drive: the bytes programmed are
/// the endurance of all blocks.
#[test]
fn tbw_is_the_endurance_of_all_blocks_by_write_amplification() {
    let [one, two] = [100, 200].map(|endurance| {
        let device = small(endurance, "0%");
        let life = life(worn(&device, WRITES, None));
        assert!(life.worn && life.failed_blocks > 0);
        let physical = device.resolved.raw_capacity().get() as f64 * f64::from(endurance);
        let closed = physical / life.write_amplification.expect("it wrote");
        let tbw = life.written_bytes as f64;
        assert!((tbw / closed - 1.0).abs() < 0.05, "{endurance} cycles: {tbw:.4e} written, {closed:.4e} expected");
        tbw
    });
    assert!((two / one / 2.0 - 1.0).abs() < 0.02, "twice the cycles: {one:.4e} and {two:.4e}");
}

#[test]
fn a_life_says_when_blocks_failed() {
    let device = small(100, "15%");
    let life = life(worn(&device, WRITES, None));
    let equal = self::life(worn(&small(100, "0%"), WRITES, None));
    let written = |at: Option<study::summary::LifeMilestone>| at.expect("it happened").written_bytes;
    let [first, percent, half] = [life.first_failure, life.percent_failed, life.half_spare_failed].map(written);
    assert!(first <= percent && percent <= half && half <= life.written_bytes, "{life:?}");
    assert!(first < written(equal.first_failure), "the weakest block ends earlier than the mean");
    let curve = &life.curve;
    let last = curve.last().expect("points");
    assert_eq!((last.written_bytes, last.failed_blocks), (life.written_bytes, life.failed_blocks));
    assert!(curve.windows(2).all(|two| two[0].failed_blocks <= two[1].failed_blocks), "{curve:?}");
    assert!(curve.windows(2).all(|two| two[0].written_bytes < two[1].written_bytes), "{curve:?}");
    assert!(curve.len() <= 257 && curve[0].written_bytes == 0 && curve[0].write_amplification.is_none());
    // The mean of the parts of the write amplification is that of the whole life.
    let programmed: f64 = curve
        .windows(2)
        .map(|two| two[1].write_amplification.unwrap_or(0.0) * (two[1].written_bytes - two[0].written_bytes) as f64)
        .sum();
    let whole = life.write_amplification.expect("it wrote") * life.written_bytes as f64;
    assert!((programmed / whole - 1.0).abs() < 1e-9, "{programmed} {whole}");
    let per_day = life.written_bytes as f64 / device.capacity().bytes().get() as f64 / (5.0 * 365.0);
    assert!((life.drive_writes_per_day.expect("worn") / per_day - 1.0).abs() < 1e-12);
}

#[test]
fn equal_lives_have_equal_numbers_and_another_seed_other_blocks() {
    let device = small(40, "15%");
    let of = |seed| life(worn(&device, WRITES, None).seed(seed));
    assert_eq!(of(1), of(1));
    assert_ne!(of(1).first_failure, of(2).first_failure);
}

#[test]
fn a_life_in_parts_is_the_life_as_a_whole() {
    let device = small(60, "10%");
    let round = Some(Amount::Capacities(5.0));
    let whole = life(worn(&device, WRITES, round));
    assert!(whole.rounds > 4, "{} rounds", whole.rounds);
    let dir = tempfile::tempdir().expect("a directory");
    let mut at = None;
    for part in 0.. {
        let path = dir.path().join(format!("{part}.state"));
        let session = worn(&device, WRITES, round).rounds(2);
        let session = match &at {
            None => session,
            Some(path) => session.load_snapshot(path),
        };
        let mut kept = Vec::new();
        let ended = life(session.save_snapshot(|state| state.write(&mut kept)));
        fs::write(&path, kept).expect("written");
        at = Some(path);
        if ended.worn {
            assert_eq!(ended, whole, "part {part}");
            break;
        }
        assert_eq!((ended.rounds, ended.drive_writes_per_day), (2 * part + 2, None));
    }
    let refused = |session: Session<'_>| match session.run() {
        Err(SessionError::Life(error)) => error,
        other => panic!("{other:?}"),
    };
    let path = at.expect("a snapshot");
    let again = worn(&device, WRITES, round).load_snapshot(&path);
    assert_eq!(refused(again), LifeError::Ended { path });
    let path = dir.path().join("0.state");
    let other = worn(&device, WRITES, round).load_snapshot(&path).seed(9);
    assert_eq!(refused(other), LifeError::Seed { path, there: 0 });
}

/// The restart of a round has a small effect: the drive pads the data that it has not programmed yet.
#[test]
fn rounds_change_tbw_by_less_than_two_per_cent() {
    let device = small(60, "10%");
    let tbw = |round| life(worn(&device, WRITES, round)).written_bytes as f64;
    let (one, many) = (tbw(Some(Amount::Capacities(1e6))), tbw(Some(Amount::Capacities(4.0))));
    assert!((many / one - 1.0).abs() < 0.02, "{one:.4e} in one round, {many:.4e} in many");
}

/// Weeks without a request take no event, and a life of years is longer than simulated time.
#[test]
fn idle_time_counts_and_costs_nothing() {
    let device = small(3, "0%");
    let measured = measured(worn(&device, DIARY, None));
    let life = measured.life.as_ref().expect("a life");
    let writes = life.written_bytes as f64 / f64::from(1 << 20);
    let days = life.seconds / 86_400.0;
    assert!(days > 1_000.0, "{days} days");
    assert!((days / (20.0 * writes) - 1.0).abs() < 0.05, "{days} days, {writes} writes");
    assert!(life.rounds > 5 && measured.result.after.events < 100_000, "{} rounds", life.rounds);
}

#[test]
fn a_script_is_played_again_and_again() {
    let device = small(3, "0%");
    let script =
        "name = \"s\"\ndepth = 4\nrepeat = 20\n[[request]]\nkind = \"write\"\nstart = \"0B\"\nsize = \"1MiB\"\n";
    let life = life(worn(&device, script, None));
    assert!(life.worn && life.rounds > 3, "{} rounds", life.rounds);
}

#[test]
fn lives_without_an_end_are_refused() {
    let error = |device: &Device, workload: &str| match worn(device, workload, Some(Amount::Capacities(1.0))).run() {
        Err(error) => error.to_string(),
        Ok(outcome) => panic!("{:?}", outcome.first().life),
    };
    let text = drive_with_endurance("small", 5);
    let ageless = device(&text.replace("faults = { wear-out = true }\n", ""));
    assert!(error(&ageless, WRITES).contains("flash.faults.wear-out = true"));
    let reads = WRITES.replace("\"0%\"", "\"100%\"");
    assert!(error(&device(&text), &reads).contains("never wears out"));
}
