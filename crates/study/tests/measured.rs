//! Tests that a workload may state the part of it that is measured, and that the run may override it.

use std::path::Path;

use study::catalogue::{self, WorkloadFile};
use study::config::Document;
use study::plan::RunSpec;
use study::session::{Outcome, Session};
use workload::trace::TraceOptions;

const DEVICE: &str = r#"name = "d"
flash = { part = "dirik-2009", channels = 2, chips = 2, blocks = 40, pages = 16 }
ftl = { over-provisioning = "40%" }
"#;

fn run(workload: &WorkloadFile, spec: &str) -> Outcome {
    let document = Document::parse(Path::new("d.toml"), DEVICE.to_owned()).expect("TOML");
    let device = catalogue::device_from(&document).unwrap_or_else(|faults| panic!("{faults}"));
    let spec: RunSpec = toml::from_str(spec).unwrap_or_else(|error| panic!("{spec}: {error}"));
    let session = Session::new(&device).spec(&spec);
    let flow = session.open(workload, &TraceOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    session.flow(flow).run().unwrap_or_else(|error| panic!("{error}"))
}

/// The number of requests in the warm-up and in the measurement of each stage.
fn counts(outcome: &Outcome) -> Vec<(u64, u64)> {
    outcome.measurements.iter().map(|stage| (stage.result.warmed_up, stage.result.completed)).collect()
}

fn described(keys: &str) -> WorkloadFile {
    let stream = "[[stream]]\nreads = \"50%\"\nsizes = [{ size = \"2KiB\" }]\naddress = { pattern = \"uniform\" }\n";
    let text = format!("name = \"w\"\nrequests = 1000\narrivals = {{ kind = \"closed\", depth = 1 }}\n{keys}{stream}");
    WorkloadFile::Described(Document::parse(Path::new("w.toml"), text).expect("TOML"))
}

#[test]
fn the_run_comes_before_the_workload() {
    let workload = described("warm-up = 100\nmeasure = 2000\n");
    // The workload issues more than its own thousand requests, until enough is measured.
    assert_eq!(counts(&run(&workload, "")), [(100, 2_000)]);
    assert_eq!(counts(&run(&workload, "warm-up = 50")), [(50, 2_000)]);
    assert_eq!(counts(&run(&workload, "measure = 300")), [(100, 300)]);
    assert_eq!(counts(&run(&workload, "limit = 200")), [(100, 200)]);
    assert_eq!(counts(&run(&described("warm-up = 100\n"), "")), [(100, 900)]);
    assert_eq!(counts(&run(&described(""), "")), [(0, 1_000)]);
    // The results state the part that was measured, so a repeated run measures the same part.
    let outcome = run(&workload, "warm-up = 50");
    let config = &outcome.first().about.config["run"];
    assert_eq!((config["warm-up"].as_integer(), config["limit"].as_integer()), (Some(50), Some(2_000)));
}

#[test]
fn a_workload_beside_the_first_does_not_say_what_is_measured() {
    let document = Document::parse(Path::new("d.toml"), DEVICE.to_owned()).expect("TOML");
    let device = catalogue::device_from(&document).unwrap_or_else(|faults| panic!("{faults}"));
    let mut session = Session::new(&device);
    for keys in ["", "warm-up = 10\nmeasure = 5000\n"] {
        let flow = session.open(&described(keys), &TraceOptions::default()).unwrap_or_else(|error| panic!("{error}"));
        session = session.flow(flow);
    }
    // Both workloads end by themselves, with a thousand requests each.
    assert_eq!(counts(&session.run().unwrap_or_else(|error| panic!("{error}"))), [(0, 2_000)]);
}

#[test]
fn a_workload_may_wait_for_steady_state() {
    let workload = described("until = \"steady:latency\"\nround = 200\n");
    let steady = |spec| {
        let outcome = run(&workload, spec);
        (outcome.first().result.steady.is_some(), counts(&outcome)[0])
    };
    let (waited, (warmed_up, measured)) = steady("");
    assert!(waited && warmed_up >= 1_000 && measured == 1_000, "{warmed_up} and {measured}");
    assert_eq!(steady("warm-up = 10\nmeasure = 20"), (false, (10, 20)));
    assert!(steady("until = \"steady:rate\"\nround = 100\nmeasure = 70").1.1 == 70);
}

#[test]
fn keys_that_exclude_each_other_are_faults_of_the_workload() {
    let device = Document::parse(Path::new("d.toml"), DEVICE.to_owned()).expect("TOML");
    let device = catalogue::device_from(&device).unwrap_or_else(|faults| panic!("{faults}"));
    for (keys, wanted) in [
        ("until = \"steady\"\nwarm-up = 5\n", "w.toml:5: warm-up: a warm-up of fixed length"),
        ("round = 5\n", "w.toml:4: round: rounds of nothing"),
        ("measure = 0\n", "w.toml:4: measure"),
    ] {
        let faults = Session::new(&device).open(&described(keys), &TraceOptions::default());
        let Err(faults) = faults else { panic!("{keys}") };
        assert!(faults.to_string().contains(wanted), "{faults}");
    }
}

#[test]
fn every_stage_of_a_fio_file_has_its_own_ramp() {
    let jobs = "[global]\nbs=2k\nsize=1m\niodepth=1\nramp_time=2ms\ntime_based=1\nruntime=20ms\n[a]\nrw=randwrite\n[b]\nstonewall\nrw=randread\n";
    let workload = WorkloadFile::Jobs("j.fio".into(), jobs.to_owned());
    let outcome = run(&workload, "");
    let stages = counts(&outcome);
    assert!(
        stages.len() == 2 && stages.iter().all(|(warmed_up, measured)| *warmed_up > 0 && measured > warmed_up),
        "{stages:?}"
    );
    let spans = outcome.measurements.iter().map(|stage| stage.result.span().as_secs_f64());
    assert!(spans.into_iter().all(|span| (0.018..0.023).contains(&span)), "{outcome:?}");
    // The warm-up of the run replaces those of the stages, and happens once.
    let stages = counts(&run(&workload, "warm-up = 3"));
    assert_eq!((stages[0].0, stages[1].0), (3, 0));
}
