//! `run --seeds`: the store keeps its runs, and its files have the spread.

use std::fs;

use serde_json::Value;
use testkit::names;

use crate::common::{TINY_DEVICE, TINY_WORKLOAD, WorkFolder};

const STUDY: &str = r#"name = "s"
device = "tiny.toml"
workload = "w.toml"
seeds = [0, 1]
run = { precondition = ["fill"] }
metrics = ["write.mean"]
"#;
const JOBS: &str = "[global]\nbs=4k\n[first]\nrw=write\n[second]\nstonewall\nrw=read\n";

fn place() -> WorkFolder {
    WorkFolder::with(&[
        ("tiny.toml", TINY_DEVICE),
        ("w.toml", TINY_WORKLOAD),
        ("other.toml", TINY_WORKLOAD),
        ("s.toml", STUDY),
        ("jobs.fio", JOBS),
    ])
}

/// The standard output and the standard error of a command.
fn output(place: &WorkFolder, arguments: &[&str]) -> (String, String) {
    let output = place.command(arguments).output().expect("it starts");
    let [results, said] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).expect("text"));
    assert!(output.status.success(), "{arguments:?}: {said}");
    (results, said)
}

/// The message of a command with an error in its options.
fn refused(place: &WorkFolder, arguments: &[&str]) -> String {
    let output = place.flashloom(arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    String::from_utf8(output.stderr).expect("text")
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

const RUN: [&str; 9] = ["run", "tiny.toml", "w.toml", "--precondition", "fill", "--seeds", "3", "--store", "store"];

#[test]
fn runs_that_a_store_has_are_not_done_again() {
    let place = place();
    let [first, again] = [(); 2].map(|()| output(&place, &[&RUN[..], &["--json"]].concat()));
    assert_eq!(first.0, again.0);
    assert!(!first.1.contains("came from the store"), "{}", first.1);
    assert!(again.1.contains("note: 3 of 3 runs came from the store"), "{}", again.1);
    // With more seeds, only the new ones are run.
    let more =
        output(&place, &["run", "tiny.toml", "w.toml", "--precondition", "fill", "--seeds", "5", "--store", "store"]);
    assert!(more.1.contains("note: 3 of 5 runs came from the store"), "{}", more.1);
    // Each summary equals that of a run with its seed alone.
    let all = json(&first.0);
    for (seed, run) in all["runs"].as_array().expect("runs").iter().enumerate() {
        let seed = seed.to_string();
        let alone =
            output(&place, &["run", "tiny.toml", "w.toml", "--precondition", "fill", "--seed", &seed, "--json"]);
        assert_eq!(json(&alone.0), *run, "seed {seed}");
    }
    let anew = output(
        &place,
        &["run", "tiny.toml", "w.toml", "--precondition", "fill", "--seeds", "3", "--no-store", "--json"],
    );
    assert_eq!(anew.0, first.0);
}

#[test]
fn a_study_and_a_run_share_their_results() {
    let place = place();
    output(&place, &["study", "s.toml", "--store", "store", "--quiet"]);
    let (_, said) = output(&place, &RUN);
    assert!(said.contains("note: 2 of 3 runs came from the store"), "{said}");
}

#[test]
fn the_folder_and_the_page_have_the_spread() {
    let place = place();
    let arguments = [&RUN[..], &["--out", "out", "--report", "page.html", "--series", "1ms"]].concat();
    for round in 0..2 {
        let (table, said) = output(&place, &arguments);
        assert!(said.contains("report: page.html") && said.contains("report: out"), "{said}");
        assert_eq!(
            names(&place.path("out")),
            [
                "command.txt",
                "config.toml",
                "device.toml",
                "report.html",
                "seeds.parquet",
                "seeds.series.parquet",
                "summary.json",
                "table.txt",
                "workload.toml"
            ],
            "round {round}"
        );
        let read = |name: &str| fs::read_to_string(place.path(name)).expect("there");
        assert!(read("out/table.txt").ends_with(&table), "{table}");
        let page = read("page.html");
        assert_eq!(page, read("out/report.html"));
        assert!(page.contains("tiny under w, 3 seeds") && page.contains("Latency by percentile"), "{}", page.len());
        assert!(read("out/command.txt").trim_end().ends_with("--seed 0 --seeds 3"), "{}", read("out/command.txt"));
        let all = json(&read("out/summary.json"));
        assert!(all["metrics"]["write.mean"]["half_width"].as_f64().is_some_and(|half| half > 0.0));
        let curve = &all["latency_curves"]["read"];
        let lengths = ["share", "mean_us", "half_width_us"].map(|key| curve[key].as_array().map(Vec::len));
        assert!(lengths[0].is_some_and(|length| length > 2) && lengths.iter().all(|length| *length == lengths[0]));
    }
}

#[test]
fn stages_and_flows_in_another_order_run_without_a_store() {
    let place = place();
    let stages = ["run", "tiny.toml", "jobs.fio", "--seeds", "2"];
    let (text, _) = output(&place, &[&stages[..], &["--json", "--out", "out"]].concat());
    let all = json(&text);
    assert_eq!(all.as_array().map(Vec::len), Some(2), "two stages");
    assert_eq!(fs::read_to_string(place.path("out/summary.json")).expect("there"), text);
    let flows = |first: &str, second: &str| {
        let flow = |name: &str| format!("other.toml,name={name}");
        let (first, second) = (flow(first), flow(second));
        let run = ["run", "tiny.toml", "w.toml", "--flow", &first, "--flow", &second, "--json", "--limit", "300"];
        let alone = json(&output(&place, &run).0);
        let both = json(&output(&place, &[&run[..], &["--seeds", "2"]].concat()).0);
        assert_eq!(both["runs"][0], alone, "{first} {second}");
    };
    flows("a", "b");
    flows("b", "a");
    let error = refused(&place, &[&stages[..], &["--store", "store"]].concat());
    assert!(error.contains("--store: keeps no result of this run"), "{error}");
}

#[test]
fn a_single_run_takes_no_option_of_the_store() {
    let place = place();
    for option in [&["--store", "store"][..], &["--no-store"], &["--states", "1GiB"]] {
        let error = refused(&place, &[&["run", "tiny.toml", "w.toml"][..], option].concat());
        assert!(error.contains(&format!("{}: has no effect here", option[0])) && error.contains("--seeds"), "{error}");
        let error = refused(&place, &[&["explain", "tiny.toml", "w.toml"][..], option].concat());
        assert!(error.contains(&format!("leave out {}", option[0])), "{error}");
    }
    assert!(!place.path("store").exists());
}
