//! Keys that exclude each other: a later key replaces an earlier one, and a note says so. Notes also name effects that axes and
//! limits do not have.

use crate::common::WorkFolder;

const STUDY: &str = r#"name = "op"
device = "d.toml"
workload = "w.toml"
run = { precondition = ["fill"] }
metrics = ["mean"]
set = { workload = { stream = [{ reads = "0%", sizes = [{ size = "4KiB" }], address = { pattern = "uniform" } }], requests = 4000 } }
"#;

fn said(output: &std::process::Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn an_axis_over_one_key_replaces_the_other_that_the_device_has() {
    let place = WorkFolder::new();
    place.write("d.toml", place.read("d.toml").replace("over-provisioning = \"20%\"", "capacity = \"20MiB\""));
    let axis = "[[axis]]\nname = \"OP\"\nkey = \"device.ftl.over-provisioning\"\nvalues = [\"20%\", \"50%\"]\n";
    place.write("op.toml", format!("{STUDY}{axis}"));
    let output = place.flashloom(&["study", "op.toml", "--quiet", "--json", "--no-store"]);
    assert!(output.status.success(), "{}", said(&output));
    let note = "ftl.over-provisioning, which is set here, replaces ftl.capacity = \"20MiB\" of d.toml";
    let notes = said(&output);
    assert_eq!(notes.matches("replaces").count(), 1, "once: {notes}");
    assert!(notes.contains(note), "{notes}");
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let waf = |point: usize| json["studies"][0]["points"][point]["runs"][0]["write_amplification"].as_f64();
    assert!(waf(0) > waf(1), "{:?} {:?}", waf(0), waf(1));
    assert!(json["studies"][0]["warnings"].is_null(), "the axis has an effect");
    // `--set` replaces keys likewise, and the result has the key that was used.
    let output =
        place.flashloom(&["run", "d.toml", "w.toml", "--set", "ftl.over-provisioning=20%", "--json", "--quiet"]);
    assert!(output.status.success() && said(&output).contains(note), "{}", said(&output));
}

#[test]
fn an_axis_along_which_no_result_changes_is_a_warning_in_every_face() {
    let place = WorkFolder::new();
    let axis = "[[axis]]\nname = \"depth of the queue\"\nkey = \"device.host.queue-depth\"\nvalues = [4000, 8000]\n";
    place.write("idle.toml", format!("{STUDY}{axis}"));
    let warning =
        "along the axis depth of the queue no result changes: its values have no effect on these drives and workloads";
    let run = |form: &[&str]| {
        let output = place.flashloom(&[&["study", "idle.toml", "--quiet", "--no-store"], form].concat());
        assert!(output.status.success(), "{}", said(&output));
        (String::from_utf8(output.stdout.clone()).expect("text"), said(&output))
    };
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (table, notes) = run(&["--report", "page.html"]);
    assert!(words(&table).contains(&format!("WARNING: {warning}")), "{table}");
    assert!(!notes.contains("no result changes"), "{notes}");
    assert!(place.read("page.html").contains("long the axis depth of the queue no result changes"));
    let (json, _) = run(&["--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["studies"][0]["warnings"][0].as_str(), Some(warning));
    let (_, notes) = run(&["--csv"]);
    assert!(notes.contains(warning), "{notes}");
}

#[test]
fn a_limit_extends_a_described_workload_and_a_trace_says_where_it_ends() {
    let place = WorkFolder::new();
    let run = |workload: &str| place.json(&["run", "d.toml", workload, "--limit", "250", "--quiet", "--json"]);
    let described = run("w.toml");
    assert_eq!((described["requests"].as_u64(), described["notes"].is_null()), (Some(250), true));
    let trace = run("t.csv");
    let requests = trace["requests"].as_u64().expect("a number");
    let notes = trace["notes"].to_string();
    let wanted = format!("the workload ended after {requests} requests: the limit of 250 was not reached");
    assert!(requests < 250 && notes.contains(&wanted), "{notes}");
}

#[test]
fn a_rate_below_one_a_second_is_shown_with_its_digits() {
    let place = WorkFolder::new();
    let slow = place
        .read("w.toml")
        .replace("arrivals = { kind = \"closed\", depth = 4 }", "arrivals = { kind = \"fixed\", rate = \"0.25/s\" }");
    place.write("slow.toml", slow.replace("requests = 100", "requests = 5"));
    let run = |form: &[&str]| place.printed(&[&["run", "d.toml", "slow.toml", "--quiet"], form].concat());
    assert!(run(&[]).contains("0.3"), "five requests in sixteen seconds: {}", run(&[]));
    let json: serde_json::Value = serde_json::from_str(&run(&["--json"])).expect("JSON");
    let rate = json["requests_per_s"].as_f64().expect("a rate");
    assert!((0.3..0.32).contains(&rate), "{rate}");
    let of_kind = json["kinds"]["read"]["requests_per_s"].as_f64().expect("reads");
    assert!(run(&["--csv"]).contains(&format!(",{of_kind},")), "{of_kind}: {}", run(&["--csv"]));
    let compared = place.printed(&["compare", "slow.toml", "d.toml", "--quiet", "--no-store"]);
    assert!(compared.contains("0.31"), "{compared}");
}
