//! Observed runs and comparisons: their outputs, and the options that they refuse.

use std::fs;
use std::process::Output;

use crate::common::program;

fn flashloom(args: &[&str]) -> Output {
    program().args(args).output().expect("it starts")
}

fn said(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

#[test]
fn a_timeline_is_written_and_the_results_are_the_same() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("t.json");
    let run = ["run", "dirik-1x2", "random-read-4k", "--limit", "200", "--quiet"];
    let (plain, _) = said(&flashloom(&run));
    let path = file.display().to_string();
    let watched = flashloom(&[&run[..], &["--timeline", &path, "--window", "0s..1ms"]].concat());
    let (results, notes) = said(&watched);
    assert!(watched.status.success(), "{notes}");
    assert_eq!(results, plain);
    assert!(notes.contains("timeline: ") && notes.contains("perfetto"), "{notes}");
    let trace: serde_json::Value = serde_json::from_slice(&fs::read(&file).expect("there")).expect("JSON");
    assert!(trace["traceEvents"].as_array().is_some_and(|events| !events.is_empty()));
    assert_eq!(fs::read_dir(dir.path()).expect("there").count(), 1, "nothing is left beside it");
}

#[test]
fn requests_are_explained() {
    let small = ["--set", "flash.size=256MiB"];
    let run = ["explain", "dirik-1x2", "mixed-70-30-4k", "--limit", "300", "--precondition", "fill", "--quiet"];
    let run = [&run[..], &small].concat();
    let explained = flashloom(&run);
    let (table, errors) = said(&explained);
    assert!(explained.status.success(), "{errors}");
    assert!(table.contains("p99 to p99.9") && table.contains("array") && table.contains("transfer"), "{table}");
    let (json, _) = said(&flashloom(&[&run[..], &["--json", "--request", "7"]].concat()));
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["request"]["request"], 7);
    let legs = json["request"]["legs"].as_array().expect("legs");
    let sum: f64 = legs.iter().map(|leg| leg["took_us"].as_f64().expect("a time")).sum();
    assert!((sum - json["request"]["latency_us"].as_f64().expect("a time")).abs() < 1e-6, "{json}");
    let (one, _) = said(&flashloom(&[&run[..], &["--request", "7"]].concat()));
    assert!(one.starts_with("request 7: "), "{one}");
}

#[test]
fn drives_are_compared() {
    let dir = tempfile::tempdir().expect("a directory");
    let out = dir.path().join("out").display().to_string();
    let run = ["compare", "oltp", "dirik-1x2", "demo", "--limit", "100", "--precondition", "none", "--quiet"];
    let compared = flashloom(&[&run[..], &["--out", &out]].concat());
    let (table, errors) = said(&compared);
    assert!(compared.status.success(), "{errors}");
    assert!(table.contains("2 drives under oltp") && table.contains("dirik-1x2") && table.contains("cost"), "{table}");
    assert!(dir.path().join("out/compare.parquet").exists());
    let page = dir.path().join("page.html").display().to_string();
    let (json, _) = said(&flashloom(&[&run[..], &["--json", "--report", &page]].concat()));
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["rows"].as_array().expect("rows").len(), 2);
    // The page shows the printed table: it marks the best values, and each number names its place in the JSON.
    let page = fs::read_to_string(&page).expect("written");
    assert!(
        page.contains("2 drives under oltp") && page.contains(" class=\"best\" data-of=\"/rows/"),
        "{}",
        page.len()
    );
    let (_, data) = page.split_once("id=\"data\">").expect("the data");
    let (data, _) = data.split_once("</script>").expect("its end");
    let data: serde_json::Value = serde_json::from_str(data).expect("JSON");
    assert_eq!(data["result"], json);
    // Charts of the latencies of reads and writes, by percentile and as distributions, and of the flash. Then the parts of the
    // latency: of reads and of the slowest reads, of writes (too few for a slowest hundredth), and of flushes; and the waits of
    // writes and flushes.
    assert_eq!(data["figures"].as_array().map(Vec::len), Some(6 + 4 + 2));
    assert!(
        json["rows"][0]["explained"][1]["bands"][0]["parts_us"]["array"].is_number(),
        "{}",
        json["rows"][0]["explained"]
    );
    let shown = dir.path().join("out/report.html");
    assert!(fs::read_to_string(shown).expect("written").contains("Where the time went: read beyond p99"));
}

#[test]
fn the_command_of_make_demo_runs() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let makefile = fs::read_to_string(format!("{root}/Makefile")).expect("a Makefile");
    let command = makefile.lines().find_map(|line| line.split_once("target/debug/flashloom ")).expect("the demo").1;
    // New drives and few requests, because preparing five used drives takes a while.
    let quick = [("--precondition", "none"), ("--warm-up", "5"), ("--measure", "60"), ("--seeds", "2")];
    let words: Vec<&str> = command.split(' ').collect();
    let value = |i: usize| quick.iter().find(|(option, _)| i > 0 && words[i - 1] == *option).map(|(_, value)| *value);
    let here = words.iter().enumerate().map(|(i, word)| value(i).unwrap_or(word));
    for (option, _) in quick {
        assert!(words.contains(&option), "drives are used and measured with several seeds: {option}");
    }
    let dir = tempfile::tempdir().expect("a directory");
    let mut run = program();
    fs::create_dir(dir.path().join("out")).expect("a directory");
    let run = run.current_dir(dir.path()).args(here);
    let output = run.output().expect("it starts");
    let (table, errors) = said(&output);
    assert!(output.status.success(), "{errors}");
    assert!(table.contains("5 drives under mixed-70-30-4k, 60 requests each"), "{table}");
    assert!(["dirik", "hydra", "chang", "sung", "fmmu"].iter().all(|name| table.contains(&format!("\n{name} "))));
    assert!(table.contains("\nverified: "), "{table}");
    assert!(errors.contains("report: out/demo/report.html"), "{errors}");
    assert!(dir.path().join("out/demo/report.html").is_file());
}

#[test]
fn a_report_shows_the_window_of_the_timeline() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = |name: &str| dir.path().join(name).display().to_string();
    let (page, trace) = (path("page.html"), path("t.json"));
    let run = ["run", "dirik-1x2", "random-read-4k", "--limit", "200", "--precondition", "fill", "--quiet"];
    let small = ["--set", "flash.size=64MiB"];
    let run =
        flashloom(&[&run[..], &small, &["--timeline", &trace, "--window", "0s..5ms", "--report", &page]].concat());
    assert!(run.status.success(), "{}", said(&run).1);
    let page = fs::read_to_string(&page).expect("written");
    let (_, data) = page.split_once("id=\"data\">").expect("the data");
    let (data, _) = data.split_once("</script>").expect("its end");
    let data: serde_json::Value = serde_json::from_str(data).expect("JSON");
    let lanes = data["figures"].as_array().expect("figures").iter().find(|figure| figure["chart"] == "lanes");
    let lanes = lanes.expect("a timeline")["lanes"].as_array().expect("lanes").clone();
    let names: Vec<_> = lanes.iter().map(|lane| lane["name"].as_str().expect("a name")).collect();
    assert_eq!(names, ["channel 0", "die 0", "die 1"]);
    for slice in lanes.iter().flat_map(|lane| lane["slices"].as_array().expect("slices")) {
        let [from, to] = ["from", "to"].map(|key| slice[key].as_f64().expect("a time"));
        assert!(from < to && from < 5000.0, "{slice}");
    }
}

#[test]
fn wrong_options_are_refused_and_nothing_is_written() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("t.json").display().to_string();
    for (args, wanted) in [
        (&["run", "demo", "oltp", "--timeline", &path, "--window", "1ms"][..], "FROM..UNTIL"),
        (&["run", "demo", "oltp", "--timeline", &path, "--window", "2ms..1ms"], "is empty"),
        (&["run", "demo", "oltp", "--window", "0s..1ms"], "--timeline"),
        (&["run", "demo", "oltp", "--timeline", "/no/such/place.json"], "/no/such/place.json"),
        (&["explain", "demo", "oltp", "--limit", "10", "--request", "10"], "counted from 0"),
        (&["explain", "demo", "oltp", "--limit", "10", "--timeline", &path], "flashloom run"),
        (&["explain", "demo", "-", "--what-if"], "keep it in a file"),
        (&["explain", "demo", "oltp", "--what-if", "--request", "1"], "--request"),
        (&["compare", "oltp", "no-such-drive"], "no-such-drive"),
        (&["compare", "no-such-workload.csv", "demo"], "no-such-workload.csv"),
        (&["compare", "oltp", "demo", "--precondition", "full"], "--precondition full"),
        (&["compare", "oltp", "demo", "--as-published"], "--as-published"),
    ] {
        let output = flashloom(args);
        let (_, errors) = said(&output);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {errors}");
        assert!(errors.contains(wanted), "{args:?}: {errors}");
    }
    assert_eq!(fs::read_dir(dir.path()).expect("there").count(), 0, "nothing half-written");
}
