//! The files that `--out` writes reproduce the run, with the same event hash.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::common::{NO_STORE, program};

/// A small drive whose over-provisioning has many digits.
const DEVICE: &str = r#"name = "small"
flash = { part = "FMMU-V2", channels = 2, chips = 2, blocks = 24, pages = 16, controllers = "none" }
host = { link = { preset = "sata-600", overhead = "1.234567us" }, queue-depth = 16, queues = 2, chop = "8KiB" }
buffer = { size = "512KiB", high = "61.803398874989%" }
ftl = { map-unit = "4KiB", over-provisioning = "42.414348435332%" }
"#;

const WORKLOAD: &str = r#"name = "w"
requests = 3_000
arrivals = { kind = "poisson", rate = "12.3456789k/s" }
[[stream]]
reads = "33.333333333333%"
sizes = [{ size = "512B..16KiB" }]
address = { pattern = "hot-cold", hot_space = "12.345678901234%", hot_access = "80%" }
flush = { share = "1.234567890123%" }
"#;

const SCRIPT: &str = r#"name = "s"
request = [{ at = "1us", kind = "write", size = "64KiB" }, { at = "2ms", kind = "read", start = "4KiB", size = "32KiB" }]
"#;

const JOB: &str = "[global]\niodepth=4\nbs=4k\nsize=8m\n[first]\nrw=randwrite\n[second]\nstonewall\nrw=randread\n";

/// The stages of a run, with its arguments in shell notation.
#[track_caller]
fn run(place: &Path, command: &str) -> Value {
    let command = format!("{} --json --quiet", command.trim());
    let binary = Path::new(env!("CARGO_BIN_EXE_flashloom"));
    let path = binary.parent().expect("a folder").display();
    let shell = Command::new("sh")
        .current_dir(place)
        .args(["-c", &command])
        .env("PATH", format!("{path}:/bin:/usr/bin"))
        .env(NO_STORE.0, NO_STORE.1)
        .output();
    let output = shell.expect("it starts");
    assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn hashes(result: &Value) -> Vec<&str> {
    let stages = result.as_array().map_or_else(|| vec![result], |stages| stages.iter().collect());
    stages.into_iter().map(|stage| stage["event_hash"].as_str().expect("a hash")).collect()
}

#[test]
fn the_command_in_a_result_folder_gives_the_same_result() {
    let place = tempfile::tempdir().expect("a directory");
    let dir = place.path();
    let trace = "128166372003061629,h,0,Write,1048576,8192,0\n128166372016853766,h,0,Read,1048576,4096,0\n\
                 128166373016853766,h,0,Write,4096000000,16384,0\n";
    let jobs = r"[global]
bs=4k
size=1m
rw=randrw
[a]
[b]
rate_iops=500
startdelay=3ms
[c]
thinktime=200
[d]
stonewall
zonemode=strided
zonesize=32k
zoneskip=32k
end_fsync=1
verify=md5
";
    for (name, text) in [
        ("d.toml", DEVICE),
        ("w.toml", WORKLOAD),
        ("s.toml", SCRIPT),
        ("j.fio", JOB),
        ("k.fio", jobs),
        ("t.csv", trace),
    ] {
        fs::write(dir.join(name), text).expect("written");
    }
    for (number, options) in [
        "w.toml --seed 18446744073709551615 --set flash.channels=3",
        "w.toml --precondition fill,random:x0.123456789 --time-scale 0.3333333333 --limit 2000 --verify",
        "w.toml --precondition preload:5KiB:1234KiB --depth 7 --queue 1",
        "w.toml --load-snapshot 'a state'",
        "w.toml --flow w.toml,queue=1,depth=3,name=b --flow s.toml --fairness --series 1ms",
        "s.toml --open",
        "j.fio",
        "k.fio",
        "t.csv --format msr --extent wrap --repeat 3 --gap-limit 12.345ms --skip 1 --tolerance 2s",
    ]
    .into_iter()
    .enumerate()
    {
        if number == 3 {
            run(dir, "flashloom run d.toml w.toml --precondition fill --save-snapshot 'a state'");
        }
        let first = run(dir, &format!("flashloom run d.toml {options} --out out-{number}"));
        let out = dir.join(format!("out-{number}"));
        // The run is reproduced even if the input files have changed.
        fs::write(dir.join("d.toml"), "name = \"gone\"").expect("written");
        let command = fs::read_to_string(out.join("command.txt")).expect("a command");
        let again = run(&out, &command);
        assert_eq!(hashes(&first), hashes(&again), "{options}: {command}");
        // Flows are named after their files, whose copies have other names.
        for at in ["/kinds", "/fairness/unfairness", "/series/interval_us"] {
            assert_eq!(first.pointer(at), again.pointer(at), "{options}: {command}");
        }
        fs::write(dir.join("d.toml"), DEVICE).expect("written");
    }
}

#[test]
fn options_without_effect_are_refused() {
    let place = tempfile::tempdir().expect("a directory");
    fs::write(place.path().join("d.toml"), DEVICE).expect("written");
    fs::write(place.path().join("w.toml"), WORKLOAD).expect("written");
    let closed = WORKLOAD.replace("kind = \"poisson\", rate = \"12.3456789k/s\"", "kind = \"closed\", depth = 2");
    fs::write(place.path().join("c.toml"), closed).expect("written");
    let study = "name = \"s\"\ndevice = \"d.toml\"\nworkload = \"w.toml\"\nrun = { time-scale = 3.0, depth = 2 }\n";
    fs::write(place.path().join("study.toml"), study).expect("written");
    for (arguments, wanted) in [
        ("run d.toml w.toml --gap-limit 1ms", "--gap-limit: has no effect here: no workload is a trace; leave it out"),
        ("run d.toml w.toml --skip 3 --extent wrap", "--extent: has no effect here"),
        ("run d.toml w.toml --volumes overlay", "--volumes: has no effect here"),
        ("run d.toml w.toml --event issue --flow w.toml", "--event: has no effect here"),
        (
            "run d.toml c.toml --time-scale 2",
            "--time-scale: has no effect here: requests are issued as others complete",
        ),
        (
            "run d.toml w.toml --series 1ms",
            "--series: has no effect here: a table has no course of the run; add --json",
        ),
        ("run d.toml w.toml --time-scale 2 --depth 3", "--time-scale: has no effect here"),
        ("explain d.toml w.toml --repeat 2", "--repeat: has no effect here"),
        ("compare w.toml d.toml --skip 3", "--skip: has no effect here: no workload is a trace"),
        ("compare w.toml d.toml --time-scale 3 --depth 2", "--time-scale: has no effect here"),
        ("compare w.toml d.toml --format msr", "--format: has no effect here"),
        (
            "study study.toml",
            "study.toml:4: run.time-scale: has no effect here: requests are issued as others complete",
        ),
        ("study study.toml --format msr", "run.time-scale: has no effect here"),
    ] {
        let mut command = program();
        let output = command.current_dir(place.path()).args(arguments.split(' ')).output().expect("it starts");
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && text.contains(wanted), "{arguments}: {:?}: {text}", output.status);
    }
}
