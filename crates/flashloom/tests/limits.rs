//! Descriptions and options beyond the limits: each is refused with exit code 2 and the reason; slow but legal ones
//! run.

use std::path::Path;
use std::process::Output;

use crate::common::program;

const DEVICE: &str = r#"name = "d"
[flash]
part = "dirik-2009"
channels = 1
chips = 2
blocks = 32
pages = 16
planes = 1
[ftl]
over-provisioning = "45%"
"#;

const WORKLOAD: &str = r#"name = "w"
requests = 100
arrivals = { kind = "closed", depth = 4 }
[[stream]]
reads = "50%"
sizes = [{ size = "2KiB" }]
address = { pattern = "uniform" }
"#;

fn flashloom(dir: &Path, arguments: &[&str]) -> Output {
    let mut command = program();
    command.current_dir(dir).args(arguments).output().expect("it starts")
}

fn files() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::write(dir.path().join("d.toml"), DEVICE).expect("written");
    std::fs::write(dir.path().join("w.toml"), WORKLOAD).expect("written");
    dir
}

/// Runs the small workload on the small drive with additional arguments.
fn run(dir: &Path, more: &[&str]) -> (Option<i32>, String) {
    let output = flashloom(dir, &[&["run", "d.toml", "w.toml", "--quiet"], more].concat());
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn a_number_beyond_its_range_is_refused_with_the_range() {
    let dir = files();
    for (more, wanted) in [
        (&["--precondition", "random:x1e30"][..], "N above 0, at most 1000"),
        (&["--precondition", "random:x0"], "N above 0, at most 1000"),
        (&["--set", "name="], "name: is empty; give it one"),
        (&["--set", "name=.."], "name: `..` begins with a dot"),
        (
            &["--set", "ftl.gc.victim={policy='d-choices',d=4294967295}"],
            "ftl.gc.victim.d: is 4294967295; use 1 to 4096",
        ),
        (&["--set", "ftl.gc.victim={policy='d-choices',d=0}"], "ftl.gc.victim.d: is 0; use 1 to 4096"),
        (&["--set", "ftl.gc.victim={policy='windowed-greedy',window=0}"], "ftl.gc.victim.window: is 0"),
        (
            &["--set", "ftl.gc.start=4000000000", "--set", "ftl.gc.stop=4000000001"],
            "and a pool has 32 superblocks; use 1 to 31",
        ),
        (&["--set", "flash.blocks=3"], "d.toml: flash.blocks: 3 blocks in each plane leave none for the host"),
        (&["--set", "flash.blocks=4294967295"], "flash.blocks: the array has 68719476720 pages on each die"),
        (&["--set", "flash.lane-rate=0MB/s"], "`0MB/s` is a data rate of an 8-bit lane of zero; write one above zero"),
        (&["--set", "host.queue-depth=4294967295"], "host.queue-depth: is 4294967295; use 1 to 65536"),
        (&["--depth", "4294967295"], "a whole number from 1 to 1048576"),
        (&["--depth", "0"], "a whole number from 1 to 1048576"),
    ] {
        let (code, said) = run(dir.path(), more);
        let said = said.replace("command line: ", "d.toml: ");
        let wanted = wanted.trim_start_matches("d.toml: ");
        assert_eq!(code, Some(2), "{more:?}: {said}");
        assert!(said.contains(wanted), "{more:?}: {said}");
    }
}

#[test]
fn a_drive_beyond_memory_is_refused_before_it_is_built() {
    let dir = files();
    for (more, wanted) in [
        (&["--set", "buffer.size=1TiB"][..], "for write buffer"),
        (&["--set", "flash.blocks=8000000"], "GiB of memory, "),
        (&["--set", "flash.channels=65535", "--memory", "100MiB"], "and 100MiB are available (--memory)"),
        (&["--memory", "64MiB"], "d: the simulation needs "),
    ] {
        // A given limit makes the results independent of the machine's memory.
        let given = if more.contains(&"--memory") { &[][..] } else { &["--memory", "2GiB"] };
        let (code, said) = run(dir.path(), &[more, given].concat());
        assert_eq!(code, Some(2), "{more:?}: {said}");
        assert!(said.contains(wanted) && said.contains("give --memory "), "{more:?}: {said}");
    }
    let (code, said) = run(dir.path(), &["--memory", "1GiB", "--verify", "--precondition", "fill"]);
    assert_eq!(code, Some(0), "{said}");
    for command in [&["study", "dirik/rates"][..], &["compare", "w.toml", "d.toml"], &["explain", "d.toml", "w.toml"]] {
        let output = flashloom(dir.path(), &[command, &["--memory", "10MiB", "--quiet"]].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if command[0] != "study" || !said.contains("is neither a file") {
            assert_eq!(output.status.code(), Some(2), "{command:?}: {said}");
            assert!(said.contains("the simulation needs "), "{command:?}: {said}");
        }
    }
}

#[test]
fn check_prints_the_memory_of_a_drive() {
    let dir = files();
    let output = flashloom(dir.path(), &["check", "d.toml"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        text.contains("  memory ") && text.contains(" to simulate it, ") && text.contains(" with --verify;"),
        "{text}"
    );
    let output = flashloom(dir.path(), &["check", "d.toml", "demo", "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let bytes = |of: &str| json[0]["memory"][of]["bytes"].as_u64().expect("a number");
    assert!(bytes("verify") > bytes("plain") && bytes("plain") > 0, "{json}");
    let parts = json[1]["memory"]["plain"]["parts"].as_object().expect("parts");
    assert_eq!(parts.values().filter_map(serde_json::Value::as_u64).sum::<u64>(), json[1]["memory"]["plain"]["bytes"]);
}

#[test]
fn an_endless_description_is_refused() {
    let dir = files();
    std::fs::write(dir.path().join("long.toml"), format!("{DEVICE}{}", "# much\n".repeat(700_000))).expect("written");
    std::fs::write(dir.path().join("long.fio"), "# much\n".repeat(700_000)).expect("written");
    let mut cases = vec![
        vec!["check", "long.toml"],
        vec!["run", "d.toml", "long.fio"],
        vec!["run", "d.toml", "long.toml"],
        vec!["study", "long.toml"],
    ];
    if Path::new("/dev/zero").exists() {
        cases.push(vec!["check", "/dev/zero"]);
    }
    for arguments in cases {
        let output = flashloom(dir.path(), &arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains("larger than 4MiB"), "{arguments:?}: {said}");
    }
}

#[test]
fn a_slow_drive_runs_and_one_beyond_simulated_time_is_refused() {
    let dir = files();
    for more in [
        &["--set", "flash.lane-rate=1B/s"][..],
        &["--set", "host.link={rate='1B/s'}"],
        &["--set", "flash.software-controllers=5000s"],
        &["--set", "ftl.map={kind='table',service='4000s'}", "--precondition", "fill,random:x1"],
    ] {
        let (code, said) = run(dir.path(), more);
        assert_eq!(code, Some(0), "{more:?}: {said}");
    }
    let (code, said) = run(dir.path(), &["--set", "host.link={overhead='1000000s'}"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("simulated time ends after 207 days") && !said.contains("bug"), "{said}");
}
