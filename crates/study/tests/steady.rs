//! Tests that a short run warns, and that runs in steady state agree at any length.

use std::path::Path;

use ssd::Precondition;
use study::catalogue::{self, Device};
use study::config::Document;
use study::plan::RunSpec;
use study::session::{Measurement, Session};
use study::summary::ValiditySummary;
use study::validity::Validity;
use workload::Pacing;
use workload::trace::TraceOptions;

fn device(order: &str) -> Device {
    let text = format!(
        r#"name = "small"
[flash]
part = "sk-hynix-176l-tlc"
channels = 4
chips = 1
blocks = 26
pages = 96
controllers = "none"
{order}[host]
link = "sata-600"
queue-depth = 64
[buffer]
size = "4MiB"
[ftl]
map-unit = "4KiB"
capacity = "500MiB"
"#
    );
    let document = Document::parse(Path::new("small.toml"), text).expect("TOML");
    catalogue::device_from(&document).unwrap_or_else(|faults| panic!("{faults}"))
}

fn run(device: &Device, workload: &str, depth: u32, spec: &str) -> Measurement {
    let spec: RunSpec = toml::from_str(spec).unwrap_or_else(|error| panic!("{spec}: {error}"));
    assert!(spec.conflicts().is_empty(), "{spec:?}");
    let session = Session::new(device).spec(&spec).precondition(vec![Precondition::Fill]);
    let workload = catalogue::workload(Path::new(workload)).expect("built in");
    let flow = session.open(&workload, &TraceOptions::default()).expect("sound").pacing(Pacing::Closed { depth });
    let outcome = session.flow(flow).run().unwrap_or_else(|error| panic!("{error}"));
    outcome.measurements.into_iter().next().expect("one stage")
}

fn waf(measured: &Measurement) -> f64 {
    measured.result.write_amplification().expect("it wrote")
}

#[test]
fn a_short_run_warns_and_steady_runs_of_two_lengths_agree() {
    let device = device("");
    let short = [32, 64].map(|depth| run(&device, "random-write-4k", depth, "limit = 8000"));
    for measured in &short {
        let warnings = Validity::of(&measured.result).warnings();
        assert!(!warnings.is_empty(), "write amplification {}", waf(measured));
    }
    let steady = |measure| {
        let spec = format!("until = \"steady:waf\"\nmeasure = \"{measure}\"");
        let measured = run(&device, "random-write-4k", 32, &spec);
        let settled = measured.result.steady.as_ref().expect("it waited");
        assert!(settled.verdict.is_steady(), "{settled:?}");
        let validity = ValiditySummary::new(&measured.result);
        assert!(validity.warnings.is_empty(), "{measure}: {:?}", validity.warnings);
        waf(&measured)
    };
    let (once, thrice) = (steady("0.5x"), steady("1.5x"));
    assert!((once / thrice - 1.0).abs() < 0.1, "{once} and {thrice}");
    // The short runs have another write amplification.
    assert!(short.iter().all(|measured| waf(measured) < 0.9 * thrice), "{thrice}");
}

#[test]
fn a_warm_up_is_as_long_as_asked_and_the_measurement_too() {
    let device = device("");
    let capacity = device.capacity().get() as f64;
    for (warm_up, measure, requests, capacities) in [
        ("1000", "2000", Some((1_000, 2_000)), None),
        ("\"8MiB\"", "\"16MiB\"", Some((2_048, 4_096)), None),
        ("\"0.02x\"", "\"0.04x\"", None, Some((0.02, 0.04))),
    ] {
        let spec = format!("warm-up = {warm_up}\nmeasure = {measure}");
        let result = run(&device, "random-write-4k", 8, &spec).result;
        let (warmed, measured) = (result.warmed_up, result.completed);
        let (low, high) = match (requests, capacities) {
            (Some(requests), _) => requests,
            (None, Some((low, high))) => {
                let of = |times: f64| (times * capacity / 8.0) as u64;
                (of(low), of(high))
            }
            (None, None) => unreachable!("each has an expectation"),
        };
        assert!((low..low + 16).contains(&warmed), "{spec}: {warmed} in the warm-up");
        assert!((high..high + 16).contains(&measured), "{spec}: {measured} measured");
    }
}

#[test]
fn a_described_workload_goes_on_until_the_run_has_measured_enough() {
    let device = device("");
    // The workload itself ends after a million requests.
    let measure = |spec| run(&device, "random-write-4k", 32, spec).result;
    let long = measure("warm-up = 600_000\nmeasure = 600_000");
    assert_eq!(long.completed, 600_000);
    assert_eq!(measure("warm-up = 900_000").completed + measure("warm-up = 900_000").warmed_up, 1_000_000);
}

#[test]
fn keys_that_exclude_each_other_are_faults() {
    for (spec, key) in
        [("until = \"steady\"\nwarm-up = 5", "warm-up"), ("limit = 5\nmeasure = 5", "measure"), ("round = 5", "round")]
    {
        let spec: RunSpec = toml::from_str(spec).expect("it parses");
        let faults = spec.conflicts();
        assert_eq!(faults.iter().map(|fault| fault.path.as_str()).collect::<Vec<_>>(), [key]);
    }
}
