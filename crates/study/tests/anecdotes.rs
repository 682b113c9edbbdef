//! Two wrong conclusions that short runs invite. Without further settings each run warns; with `until = "steady"` runs
//! of different lengths agree within their intervals.
//!
//! Both conclusions were drawn on large drives, where 100,000 writes are a quarter of a per cent of the capacity. The
//! drives here are small, and so are the runs.

use std::path::Path;

use ssd::Precondition;
use study::catalogue::{self, Device, WorkloadFile};
use study::config::Document;
use study::plan::RunSpec;
use study::repeat::with_each;
use study::session::Session;
use study::spread::Interval;
use study::summary::Summary;
use workload::Pacing;
use workload::trace::TraceOptions;

fn device(text: &str) -> Device {
    let document = Document::parse(Path::new("small.toml"), text.to_owned()).expect("TOML");
    catalogue::device_from(&document).unwrap_or_else(|faults| panic!("{faults}"))
}

fn workload(text: &str) -> WorkloadFile {
    WorkloadFile::Described(Document::parse(Path::new("w.toml"), text.to_owned()).expect("TOML"))
}

fn spec(text: &str) -> RunSpec {
    let spec: RunSpec = toml::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    assert!(spec.conflicts().is_empty(), "{spec:?}");
    spec
}

fn run(session: Session<'_>, workload: &WorkloadFile, pacing: Option<Pacing>) -> Summary {
    let flow = session.open(workload, &TraceOptions::default()).expect("sound").pacing(pacing);
    let outcome = session.flow(flow).run().unwrap_or_else(|error| panic!("{error}"));
    outcome.first().summary()
}

const PAGES: &str = r#"name = "pages"
flash = { part = "dirik-2009", channels = 4, chips = 2, blocks = 128, pages = 64, controllers = "none" }
host = { queue-depth = 64 }
ftl = { over-provisioning = "12%" }
"#;

const WRITES: &str = r#"name = "writes"
requests = 10_000_000
arrivals = { kind = "closed", depth = 32 }
[[stream]]
reads = "0%"
sizes = [{ size = "2KiB" }]
address = { pattern = "uniform" }
"#;

/// The wrong conclusion: "Depth 64 has a tenth less write amplification than depth 32."
#[test]
fn depth_does_not_change_write_amplification_once_it_is_measured_long_enough() {
    let (device, writes) = (device(PAGES), workload(WRITES));
    let folder = tempfile::tempdir().expect("a directory");
    let state = folder.path().join("used.state");
    let kept = state.clone();
    Session::new(&device)
        .precondition(vec![Precondition::Fill, Precondition::Steady])
        .save_snapshot(move |snapshot| snapshot.write(std::fs::File::create(kept)?))
        .prepare::<()>()
        .expect("it can be kept");
    // All runs have the same snapshot and seed.
    let at_depth = |depth: u32, how: &str| {
        let session = Session::new(&device).spec(&spec(how)).load_snapshot(&state);
        run(session, &writes, Some(Pacing::Closed { depth }))
    };
    let waf = |run: &Summary| run.write_amplification.expect("it wrote");
    // Less than a hundredth of the capacity is written.
    let [a, b] = [32, 64].map(|depth| at_depth(depth, "limit = 500"));
    assert!(waf(&b) < 0.95 * waf(&a), "{} and {}", waf(&a), waf(&b));
    for short in [&a, &b] {
        assert!(!short.validity.warnings.is_empty(), "{}", waf(short));
        assert!(!short.validity.means.contains_key("waf"), "{:?}", short.validity.means);
    }
    let [a, b] = [32, 64].map(|depth| at_depth(depth, "until = \"steady:waf\"\nmeasure = \"1x\""));
    for long in [&a, &b] {
        assert!(long.validity.warnings.is_empty(), "{:?}", long.validity.warnings);
        assert!(waf(long) > 3.0, "the short runs said something else: {}", waf(long));
    }
    let [a, b] = [&a, &b].map(|long| long.validity.means["waf"]);
    assert!(a.overlaps(&b), "{a} and {b}");
    // The intervals are narrow enough to be meaningful.
    assert!(a.half_width < 0.05 * a.mean && b.half_width < 0.05 * b.mean, "{a} and {b}");
}

const BUFFERED: &str = r#"name = "buffered"
flash = { part = "sk-hynix-176l-tlc", channels = 4, chips = 1, blocks = 26, pages = 96, controllers = "none", arbitration = { commands = "read-first" } }
host = { link = "sata-600", queue-depth = 64 }
buffer = { size = "4MiB" }
ftl = { map-unit = "4KiB", capacity = "500MiB" }
"#;

const MIXED: &str = r#"name = "mixed"
requests = 10_000_000
arrivals = { kind = "poisson", rate = "20k/s" }
[[stream]]
reads = "60%"
sizes = [{ size = "4KiB" }]
address = { pattern = "uniform" }
"#;

/// The wrong conclusion: "Reads first keep the p99.9 of reads below 2 ms."
#[test]
fn reads_first_mend_the_tail_only_as_long_as_nothing_is_collected() {
    let (device, mixed) = (device(BUFFERED), workload(MIXED));
    let with_seed = |how: &str, seed: u64| {
        let session = Session::new(&device).spec(&spec(how)).precondition(vec![Precondition::Fill]).seed(seed);
        run(session, &mixed, None)
    };
    let p99_9 = |run: &Summary| run.kinds["read"].latency_us["p99_9"];
    let short = with_seed("limit = 18000", 0);
    assert!(p99_9(&short) < 2_000.0 && !short.validity.unsupported["read"].contains(&"p99_9"), "{}", p99_9(&short));
    assert!(short.validity.warnings.iter().any(|said| said.contains("erased nothing")), "{:?}", short.validity);
    let steady = |measure: &str| {
        let how = format!("until = \"steady:latency\"\nround = \"0.05x\"\nmeasure = \"{measure}\"");
        let runs =
            with_each(&[0, 1, 2], None, |seed| Ok::<_, ()>(with_seed(&how, seed)), &|_, _| {}).expect("they run");
        for run in &runs {
            let warm_up = run.validity.warm_up.as_ref().expect("it waited");
            assert!(warm_up.verdict.is_some_and(|verdict| verdict.steady), "{warm_up:?}");
        }
        Interval::of(&runs.iter().map(p99_9).collect::<Vec<f64>>()).expect("three seeds")
    };
    let (once, thrice) = (steady("0.1x"), steady("0.3x"));
    assert!(once.overlaps(&thrice), "{once} and {thrice}");
    for long in [once, thrice] {
        assert!(long.mean - long.half_width > 2_000.0 && long.half_width < 0.2 * long.mean, "{long}");
    }
}
