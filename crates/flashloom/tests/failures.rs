//! Every command reports failed requests in every form of its output, and ends with exit code 1 unless failures are expected.

use std::process::Output;

use serde_json::Value;
use testkit::small::drive_with_endurance;

use crate::common::WorkFolder;

const WRITES: &str = r#"name = "w"
requests = 300000
arrivals = { kind = "closed", depth = 32 }
[[stream]]
reads = "0%"
sizes = [{ size = "4KiB" }]
address = { pattern = "uniform" }
"#;
const STUDY: &str = r#"name = "wornstudy"
device = "worn.toml"
workload = "w.toml"
metrics = ["requests-per-s"]
[[axis]]
name = "drive"
point = [ { at = "worn" }, { at = "fresh", device = "fresh.toml" } ]
[[claim]]
id = "W1"
says = "the worn one is faster"
[[claim.expect]]
metric = "requests-per-s"
order = { of = [{ drive = "fresh" }, { drive = "worn" }], by = "10%" }
"#;

fn place() -> WorkFolder {
    WorkFolder::with(&[
        ("worn.toml", &drive_with_endurance("worn", 6)),
        ("fresh.toml", &drive_with_endurance("fresh", 3_000)),
        ("w.toml", WRITES),
        ("s.toml", STUDY),
        ("expected.toml", &format!("failures = \"expected\"\n{STUDY}")),
    ])
}

fn texts(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("text");
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn a_run_whose_requests_fail_says_so_and_ends_with_one() {
    let place = place();
    let (code, table, said) = texts(&place.flashloom(&["run", "worn.toml", "w.toml", "--quiet"]));
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("--allow-failures"), "{said}");
    let row = table.lines().skip_while(|line| !line.starts_with("failed ")).nth(2).expect("a row of writes");
    assert!(row.starts_with("write") && row.ends_with('%'), "{table}");
    assert!(table.contains("WARNING: requests failed: ") && table.contains("were refused"), "{table}");
    assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
    let (code, json, _) =
        texts(&place.flashloom(&["run", "worn.toml", "w.toml", "--json", "--quiet", "--allow-failures"]));
    assert_eq!(code, Some(0));
    let json: Value = serde_json::from_str(&json).expect("JSON");
    let (refused, all) = (json["outcomes"]["read_only"].as_u64().expect("a count"), json["requests"].as_u64());
    assert!(refused > 100_000 && all == Some(300_000), "{json}");
    assert_eq!(json["kinds"]["write"]["failed"]["read_only"].as_u64(), Some(refused));
    assert!(json["requests_per_s"].as_f64() < Some(100_000.0), "{}", json["requests_per_s"]);
    let (code, csv, _) = texts(&place.flashloom(&["run", "worn.toml", "w.toml", "--csv", "--quiet"]));
    assert_eq!(code, Some(1));
    let cell = |name: &str| {
        let at = csv.lines().next().expect("a header").split(',').position(|column| column == name).expect(name);
        csv.lines().nth(1).expect("a row").split(',').nth(at).expect("a cell").to_owned()
    };
    assert_eq!(cell("read_only"), refused.to_string());
    assert!(cell("failed").parse::<f64>().expect("a share") > 0.3);
}

#[test]
fn several_seeds_and_explain_say_it_too() {
    let place = place();
    let seeds = ["run", "worn.toml", "w.toml", "--seeds", "2", "--no-store", "--quiet"];
    let (code, table, said) = texts(&place.flashloom(&seeds));
    assert_eq!(code, Some(1), "{said}");
    assert!(table.contains("WARNING (2 of 2 runs): requests failed: "), "{table}");
    assert!(table.lines().any(|line| line.starts_with("failed ")), "{table}");
    let (code, text, said) = texts(&place.flashloom(&["explain", "worn.toml", "w.toml", "--quiet"]));
    assert_eq!(code, Some(1), "{said}");
    assert!(text.contains("WARNING: requests failed: ") && !text.contains("These settings act on it"), "{text}");
    let (_, sound, _) = texts(&place.flashloom(&["explain", "fresh.toml", "w.toml", "--quiet"]));
    assert!(!sound.contains("failed") && sound.contains("These settings act on it"), "{sound}");
}

#[test]
fn a_worn_drive_wins_no_comparison_and_no_claim() {
    let place = place();
    let compare = ["compare", "w.toml", "worn.toml", "fresh.toml", "--precondition", "none", "--no-store", "--quiet"];
    let (code, table, said) = texts(&place.flashloom(&compare));
    assert_eq!(code, Some(1), "{said}");
    let rows: Vec<&str> = table.lines().filter(|line| line.starts_with("worn ")).collect();
    assert!(rows.len() >= 2 && rows.iter().all(|row| !row.contains('*')), "{table}");
    assert!(table.contains("No mark on worn") && table.contains("WARNING (worn): requests failed: "), "{table}");
    assert!(table.lines().any(|line| line.starts_with("device") && line.contains("failed")), "{table}");
    let (code, ..) = texts(&place.flashloom(&[&compare[..], &["--allow-failures"]].concat()));
    assert_eq!(code, Some(0));
    let study =
        |file| texts(&place.flashloom(&["study", file, "--no-store", "--quiet", "--junit", "j.xml", "--force"]));
    let (code, table, said) = study("s.toml");
    assert_eq!(code, Some(1));
    assert!(
        table.contains("FAILS") && table.contains("WARNING (1 of 2 points, e.g. worn): requests failed"),
        "{table}"
    );
    assert!(said.contains("study wornstudy: more than 0.1% of the requests failed at drive worn"), "{said}");
    let junit = place.read("j.xml");
    assert!(junit.contains("<testcase name=\"requests succeed\" classname=\"wornstudy\">"), "{junit}");
    let (_, table, said) = study("expected.toml");
    assert!(!said.contains("of the requests failed at"), "{said}");
    assert!(table.contains("WARNING (1 of 2 points, e.g. worn): requests failed"), "it is said all the same: {table}");
}
