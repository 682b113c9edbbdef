//! Results for other programs: CSV, JUnit XML, the description of all files, a device from a pipe, progress lines and
//! manual pages.

use std::io::Write;
use std::process::{Output, Stdio};

use serde_json::Value;
use testkit::small::CLAIMS;

use crate::common::{DEVICE, WorkFolder};

const STUDY: &str = r#"name = "s"
device = "d.toml"
workload = "w.toml"
seeds = [1, 2]
metrics = ["read.p99"]
[[axis]]
name = "depth"
key = "run.depth"
values = [1, 4]
[[axis]]
name = "buffer"
key = "device.buffer.size"
values = ["512KiB", "1MiB"]
"#;

fn place() -> WorkFolder {
    let place = WorkFolder::new();
    place.write("s.toml", STUDY);
    let banks = STUDY.replace("name = \"s\"", "name = \"b\"").replace("name = \"depth\"", "name = \"banks\"");
    place.write("b.toml", &banks);
    place.write("c.toml", [&banks.replace("name = \"b\"", "name = \"c\""), CLAIMS].concat());
    place.write("e.toml", DEVICE.replace("small", "other"));
    place
}

/// The cells of a CSV without quotes.
fn cells(text: &str) -> Vec<Vec<&str>> {
    text.lines().map(|line| line.split(',').collect()).collect()
}

#[test]
fn every_command_with_a_table_prints_csv() {
    let place = place();
    // The command, its first columns, a later column, and the number of its rows.
    let all: [(&[&str], &str, &str, usize); 12] = [
        (&["run", "d.toml", "w.toml"], "device,workload,seed,stage,flow,kind,requests,bytes", "p99_us", 2),
        (&["compare", "w.toml", "d.toml", "e.toml"], "device,read_mean_us,read_p99_us", "flash_bytes", 2),
        (&["study", "s.toml"], "study,depth,buffer_bytes,seed,read_p99_us", "read_mean_us", 8),
        (&["explain", "d.toml", "w.toml"], "kind,band,requests,latency_us", "mean_us", 9),
        (&["explain", "d.toml", "w.toml", "--request", "3"], "from_us,took_us,part,at", "at", 3),
        (&["explain", "d.toml", "w.toml", "--what-if"], "set,acts_on,start,read_mean_us", "cost_gib_mlc", 3),
        (&["check", "d.toml", "demo"], "device,capacity_bytes,raw_bytes", "memory_bytes", 2),
        (&["trace", "info", "t.csv"], "kind,requests,share,bytes,mean_bytes", "trace_span_s", 2),
        (&["devices"], "kind,name,description", "name", 20),
        (&["workloads"], "kind,name,description", "name", 5),
        (&["studies"], "kind,name,description", "name", 20),
        (&["study", "s.toml", "b.toml"], "study,depth,buffer_bytes,seed,read_p99_us", "banks", 16),
    ];
    for (command, head, also, rows) in all {
        let text = place.printed(&[command, &["--csv"]].concat());
        let header = text.lines().next().expect("a header");
        assert!(header.starts_with(head), "{command:?}: {header}");
        assert!(header.split(',').any(|name| name == also), "{command:?}: {header}");
        let count = text.lines().count() - 1;
        assert!(count == rows || (rows > 2 && count > rows), "{command:?}: {count} rows");
    }
    let both = place.flashloom(&["check", "d.toml", "--csv", "--json"]);
    assert_eq!(both.status.code(), Some(2));
}

/// The numbers of CSV, JSON and the table are the same.
#[test]
fn csv_has_the_numbers_of_json() {
    let place = place();
    let text = place.printed(&["run", "d.toml", "w.toml", "--csv"]);
    let rows = cells(&text);
    let json = place.json(&["run", "d.toml", "w.toml", "--json"]);
    let at = |name: &str| rows[0].iter().position(|other| *other == name).expect(name);
    let kind = |row: &Vec<&str>| row[at("kind")].to_owned();
    for row in &rows[1..] {
        let of = &json["kinds"][kind(row)];
        assert_eq!(row[at("requests")].parse().ok(), of["requests"].as_u64());
        assert_eq!(row[at("mean_us")].parse().ok(), of["latency_us"]["mean"].as_f64());
        assert_eq!(row[at("p50_us")].parse().ok(), of["latency_us"]["p50"].as_f64());
        assert_eq!(row[at("p99_999_us")], "", "100 requests say nothing about it");
    }
    let study = place.printed(&["study", "s.toml", "--csv"]);
    let rows = cells(&study);
    let axes: Vec<[&str; 3]> = rows[1..].iter().map(|row| [row[1], row[2], row[3]]).collect();
    assert_eq!(axes[0], ["1", "524288", "1"]);
    assert_eq!(axes[7], ["4", "1048576", "2"]);
}

#[test]
fn claims_are_a_table_and_test_cases() {
    let place = place();
    let arguments = ["study", "c.toml", "--junit", "claims.xml", "--quiet"];
    let output = place.flashloom(&arguments);
    assert_eq!(output.status.code(), Some(1), "a claim fails: {}", String::from_utf8_lossy(&output.stderr));
    let text = place.read("claims.xml");
    for wanted in
        ["<testsuites name=\"flashloom claims\"", "<testsuite name=\"c\"", "<failure type=", "classname=\"c\""]
    {
        assert!(text.contains(wanted), "{text}");
    }
    // The command replaces a file that it wrote itself, and no other file.
    assert_eq!(place.flashloom(&arguments).status.code(), Some(1));
    assert_eq!(place.read("claims.xml"), text);
    place.write("claims.xml", "<testsuites name=\"mine\"/>");
    assert_eq!(place.flashloom(&arguments).status.code(), Some(2));
    assert_eq!(place.read("claims.xml"), "<testsuites name=\"mine\"/>");
}

#[test]
fn every_file_that_is_written_is_described() {
    let place = place();
    let described = place.json(&["schema", "results"]);
    let files = described["files"].as_array().expect("a list");
    let of = |name: &str| {
        files.iter().find(|file| file["name"] == name).unwrap_or_else(|| panic!("{name} is not described"))
    };
    place.printed(&["run", "d.toml", "w.toml", "--out", "run", "--quiet"]);
    place.printed(&["study", "s.toml", "--out", "study", "--quiet"]);
    for folder in ["run", "study"] {
        for name in testkit::names(&place.path(folder)) {
            let file = of(&if name.starts_with("s.") { name.replacen("s.", "STUDY.", 1) } else { name.clone() });
            let columns = file["columns"].as_array().map_or(0, Vec::len);
            assert_eq!(columns > 0, name.ends_with(".parquet"), "{name}");
            if let Some(schema) = file["schema"].as_str() {
                place.json(&["schema", schema]);
            }
        }
    }
    let tables = ["run", "compare", "explain", "check", "trace info", "devices", "reproduce"];
    for command in tables {
        of(&format!("{command} --csv"));
    }
    for column in files.iter().filter_map(|file| file["columns"].as_array()).flatten() {
        assert!(column["name"].is_string() && column["type"].is_string(), "{column}");
        assert!(column["description"].as_str().is_some_and(|text| text.len() > 3), "{column}");
    }
    let read = of("STUDY.parquet")["columns"].as_array().expect("columns");
    let p99 = read.iter().find(|column| column["name"] == "read_p99_us").expect("there");
    assert_eq!((&p99["unit"], &p99["type"]), (&Value::from("us"), &Value::from("double")));
}

/// The header of each command's CSV is the header that `schema results` describes.
#[test]
fn csv_has_the_columns_that_are_described() {
    let place = place();
    let described = place.json(&["schema", "results"]);
    let files = described["files"].as_array().expect("a list");
    let all: [(&str, &[&str]); 6] = [
        ("run", &["run", "d.toml", "w.toml"]),
        ("compare", &["compare", "w.toml", "d.toml"]),
        ("explain", &["explain", "d.toml", "w.toml"]),
        ("check", &["check", "d.toml"]),
        ("trace info", &["trace", "info", "t.csv"]),
        ("devices", &["devices"]),
    ];
    for (name, command) in all {
        let file = files.iter().find(|file| file["name"] == format!("{name} --csv")).expect(name);
        let columns = file["columns"].as_array().expect("columns");
        // The statuses of zones have columns only if they occur.
        let is_shown =
            |column: &&Value| !column["description"].as_str().is_some_and(|text| text.ends_with("there if any were"));
        let names: Vec<&str> = columns.iter().filter(is_shown).filter_map(|column| column["name"].as_str()).collect();
        let text = place.printed(&[command, &["--csv"]].concat());
        assert_eq!(text.lines().next(), Some(&*names.join(",")), "{name}");
    }
}

fn piped(place: &WorkFolder, arguments: &[&str], input: &[u8]) -> Output {
    let mut command = place.command(arguments);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    child.stdin.take().expect("a pipe").write_all(input).expect("it reads");
    child.wait_with_output().expect("it ends")
}

#[test]
fn a_device_can_come_from_a_pipe() {
    let place = place();
    let output = piped(&place, &["check", "-", "--json"], DEVICE.as_bytes());
    let json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(json, place.json(&["check", "d.toml", "--json"]));
    let output = piped(&place, &["check", "-"], DEVICE.replace("chips = 2", "chps = 2").as_bytes());
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(told.contains("-:6: flash.chps") && told.contains("did you mean `chips`?"), "{told}");
    assert!(output.stdout.is_empty());
    for (arguments, input, wanted) in [
        (&["check", "-", "-"][..], DEVICE.as_bytes(), "two devices cannot share the standard input"),
        (&["check", "-"], &[0xff, 0xfe], "it is no text in UTF-8"),
        (&["check", "-"], b"", "name"),
    ] {
        let output = piped(&place, arguments, input);
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && told.contains(wanted), "{arguments:?}: {told}");
    }
}

#[test]
fn verbose_says_what_is_done_and_changes_no_result() {
    let place = place();
    let plain = place.flashloom(&["run", "d.toml", "w.toml", "--precondition", "fill"]);
    let told =
        place.flashloom(&["run", "d.toml", "w.toml", "--precondition", "fill", "--verbose", "--progress", "plain"]);
    assert_eq!(plain.stdout, told.stdout);
    let text = String::from_utf8_lossy(&told.stderr);
    for wanted in ["device small (d.toml): ", "workload w", "state: a new drive, then fill", " s: 100 requests"] {
        assert!(text.contains(wanted), "{text}");
    }
    let study = place.flashloom(&["study", "s.toml", "--verbose"]);
    let text = String::from_utf8_lossy(&study.stderr);
    assert!(text.contains("study s: points 4, seeds 2, at once ") && text.contains("study s: done in "), "{text}");
    let bar = place.flashloom(&["run", "d.toml", "w.toml", "--progress", "bar"]);
    let text = String::from_utf8_lossy(&bar.stderr);
    assert!(bar.status.code() == Some(2) && text.contains("write --progress plain"), "{text}");
    assert_eq!(place.flashloom(&["run", "d.toml", "w.toml", "--progress", "none", "--quiet"]).status.code(), Some(2));
}

#[test]
fn manual_pages_are_written_once_and_again() {
    let place = place();
    for _ in 0..2 {
        assert!(place.flashloom(&["man", "pages"]).status.success());
        let names = testkit::names(&place.path("pages"));
        assert!(names.iter().any(|name| name == "flashloom-trace-info.1") && names.len() > 12, "{names:?}");
    }
    place.write("pages/flashloom.1", ".TH mine 1\n");
    let refused = place.flashloom(&["man", "pages"]);
    let told = String::from_utf8_lossy(&refused.stderr);
    assert!(refused.status.code() == Some(2) && told.contains("flashloom.1"), "{told}");
    assert!(place.flashloom(&["man", "no/such"]).status.code() == Some(2) && !place.path("no").exists());
}
