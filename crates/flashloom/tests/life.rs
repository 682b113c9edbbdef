//! `--until worn` from outside: its output and files, and snapshots that continue a life.

use std::fs;

use serde_json::Value;
use testkit::small::drive_with_endurance;

use crate::common::WorkFolder;

const WRITES: &str = r#"name = "w"
requests = 10
arrivals = { kind = "closed", depth = 32 }
[[stream]]
reads = "0%"
sizes = [{ size = "64KiB" }]
address = { pattern = "uniform" }
"#;

const STUDY: &str = r#"name = "lives"
device = "d.toml"
workload = "w.toml"
run = { until = "worn" }
metrics = ["life.tbw", "life.dwpd", "life.waf", "life.bad-blocks", "life.time"]
[[axis]]
name = "cycles"
key = "device.flash.custom-part.endurance"
values = [10, 20]
[[claim]]
id = "L1"
says = "twice the cycles, twice the data"
[[claim.expect]]
metric = "life.tbw"
ratio = { at = { cycles = 20 }, to = { cycles = 10 }, between = [1.6, 2.1] }
"#;

fn place() -> WorkFolder {
    let drive =
        drive_with_endurance("d", 30).replace("endurance = 30\n", "endurance = 30\nendurance_spread = \"10%\"\n");
    WorkFolder::with(&[("d.toml", &drive), ("w.toml", WRITES), ("s.toml", STUDY)])
}

fn run(place: &WorkFolder, options: &[&str]) -> (String, String) {
    let output = place.flashloom(&[&["run", "d.toml", "w.toml", "--until", "worn", "--quiet"], options].concat());
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("text");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    (text(&output.stdout), text(&output.stderr))
}

fn life(json: &str) -> Value {
    let all: Value = serde_json::from_str(json).expect("JSON");
    all["life"].clone()
}

#[test]
fn a_worn_drive_is_what_was_asked_for() {
    let place = place();
    let (table, _) = run(&place, &["--out", "o"]);
    for wanted in ["\nlife: worn; TBW ", "DWPD ", "WAF over life", "\nblocks failed: ", "the first at "] {
        assert!(table.contains(wanted), "{wanted}: {table}");
    }
    assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
    let page = fs::read_to_string(place.path("o/report.html")).expect("a page");
    for wanted in ["Blocks over the life", "Write amplification over the life", "data-of=\"/life/written_bytes\""] {
        assert!(page.contains(wanted), "{wanted}");
    }
    assert!(place.path("o/life.parquet").is_file());
    let command = fs::read_to_string(place.path("o/command.txt")).expect("a command");
    assert!(command.contains("--until worn"), "{command}");
    let (json, _) = run(&place, &["--json", "--warranty", "10d"]);
    let life = life(&json);
    assert_eq!((life["worn"].as_bool(), life["warranty_days"].as_f64()), (Some(true), Some(10.0)));
    let written = life["written_bytes"].as_f64().expect("bytes");
    let per_day = written / f64::from(48 << 20) / 10.0;
    assert!((life["drive_writes_per_day"].as_f64().expect("a number") / per_day - 1.0).abs() < 1e-9, "{life}");
    let curve = life["curve"].as_array().expect("points");
    assert_eq!(curve.last().expect("points")["written_bytes"], life["written_bytes"]);
    let (csv, _) = run(&place, &["--csv"]);
    let (head, rows) = csv.split_once('\n').expect("a head");
    assert!(head.starts_with("written_bytes,life_s,write_amplification,failed_blocks,spare_left"), "{head}");
    let written = |row: &str| row.split(',').next().and_then(|bytes| bytes.parse::<u64>().ok());
    let points: Vec<_> = curve.iter().map(|point| point["written_bytes"].as_u64()).collect();
    assert_eq!(rows.lines().map(written).collect::<Vec<_>>(), points);
}

#[test]
fn snapshots_continue_a_life() {
    let place = place();
    let round = ["--json", "--round", "3x"];
    let whole = life(&run(&place, &round).0);
    assert!(whole["rounds"].as_u64() > Some(3), "{whole}");
    run(&place, &[&round[..], &["--rounds", "2", "--save-snapshot", "half.state"]].concat());
    let later = run(&place, &[&round[..], &["--load-snapshot", "half.state"]].concat());
    assert_eq!(life(&later.0), whole);
    // Without `--until worn` the snapshot is the ordinary state of a half worn drive.
    let output = place.flashloom(&["run", "d.toml", "w.toml", "--load-snapshot", "half.state", "--quiet", "--json"]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(life(&String::from_utf8(output.stdout).expect("text")), Value::Null);
}

#[test]
fn a_study_compares_lives() {
    let place = place();
    let output = place.flashloom(&["study", "s.toml", "--quiet"]);
    let text = String::from_utf8(output.stdout).expect("text");
    assert_eq!(output.status.code(), Some(0), "{text} {}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("life.tbw") && text.contains("L1"), "{text}");
}
