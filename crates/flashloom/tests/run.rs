//! Runs of the built program on small drives.

use std::fs;

use crate::common::{ALL_KINDS, WorkFolder, buffered};

/// A folder with a drive whose flash fails, and a workload with requests of all kinds.
fn place() -> WorkFolder {
    let fails = r#"controllers = "none"
faults = { program-failures = "0.01%", erase-failures = "0.01%", initial-bad-blocks = "1%" }"#;
    WorkFolder::with(&[("d.toml", &buffered(fails)), ("w.toml", ALL_KINDS)])
}

impl WorkFolder {
    #[track_caller]
    fn run(&self, options: &str) -> serde_json::Value {
        let options: Vec<&str> = options.split_whitespace().collect();
        self.json(&[&["run", "d.toml", "w.toml", "--json"], &options[..]].concat())
    }
}

#[test]
fn two_runs_have_one_hash_with_and_without_verification() {
    let place = place();
    let first = place.run("--precondition fill,random:x1");
    assert!(first["write_amplification"].as_f64().is_some_and(|waf| waf > 1.0), "{first}");
    assert_eq!(first, place.run("--precondition fill --precondition random:x1"));
    let verified = place.run("--precondition fill,random:x1 --verify");
    assert_eq!(first["event_hash"], verified["event_hash"]);
    assert!(verified["verified"]["sectors"].as_u64().is_some_and(|sectors| sectors > 50_000), "{verified}");
    assert_ne!(first["event_hash"], place.run("--precondition fill,random:x1 --seed 4")["event_hash"]);
}

#[test]
fn a_run_from_a_snapshot_equals_one_after_preconditioning() {
    let place = place();
    for (save, load) in [("", ""), ("--verify", "--verify"), ("", "--verify"), ("--verify", "")] {
        let steps = "--precondition fill,random:x0.5";
        let made = place.run(&format!("{steps} --save-snapshot state {save}"));
        let loaded = place.run(&format!("--load-snapshot state {load}"));
        for key in ["event_hash", "write_amplification", "erases", "flash", "kinds"] {
            assert_eq!(made[key], loaded[key], "{key}, saved with `{save}`, loaded with `{load}`");
        }
        // Further steps continue from the snapshot.
        let on = place.run(&format!("--load-snapshot state --precondition steady {load}"));
        assert_eq!(on["event_hash"], place.run(&format!("{steps},steady"))["event_hash"]);
    }
}

#[test]
fn a_snapshot_of_an_slc_mlc_drive_holds_both_arrays() {
    let place = place();
    let text = r#"name = "two"
[flash]
part = "K9GAG08U0M"
channels = 1
chips = 1
blocks = 64
pages = 16
[slc]
part = "K9WAG08U1A"
blocks = 8
pages = 16
[ftl]
kind = "chang"
over-provisioning = "40%"
"#;
    fs::write(place.path("d.toml"), text).expect("written");
    let steps = "--precondition fill,random:x0.5";
    let made = place.run(&format!("{steps} --verify --save-snapshot state"));
    for verify in ["", "--verify"] {
        let loaded = place.run(&format!("--load-snapshot state {verify}"));
        assert_eq!(made["event_hash"], loaded["event_hash"], "loaded with `{verify}`");
    }
}

#[test]
fn fio_stages_run_one_after_another() {
    let place = place();
    let job = "[global]\niodepth=4\nbs=4k\nsize=8m\n[first]\nrw=write\n[second]\nstonewall\nrw=randread\n";
    fs::write(place.path("j.fio"), job).expect("written");
    let json = place.json(&["run", "d.toml", "j.fio", "--verify", "--json", "--out", "out"]);
    let sectors = json[1]["verified"]["sectors"].as_u64();
    assert_eq!((json[0]["kinds"]["write"]["requests"].as_u64(), sectors), (Some(2048), Some(16_384)));
    assert!(place.path("out/stage-2/report.html").is_file());
}

#[test]
fn jobs_of_fio_with_their_own_pace_have_their_own_results() {
    let place = place();
    let jobs = r"[global]
bs=4k
size=4m
verify=crc32c ; as --verify
[fill]
rw=write
[readers]
stonewall
rw=randread
[late]
rw=randwrite
rate_iops=2000
startdelay=5ms
number_ios=20
[pausing]
thinktime=1ms
number_ios=10
";
    fs::write(place.path("j.fio"), jobs).expect("written");
    let json = place.json(&["run", "d.toml", "j.fio", "--json", "--out", "out"]);
    let names: Vec<_> = json[1]["flows"].as_array().expect("flows").iter().map(|flow| flow["name"].as_str()).collect();
    assert_eq!(names, [Some("readers"), Some("late"), Some("pausing")]);
    let requests = |flow: usize| json[1]["flows"][flow]["requests"].as_u64();
    assert_eq!((requests(0), requests(1), requests(2)), (Some(1024), Some(20), Some(10)));
    assert!(json[1]["verified"]["sectors"].as_u64().is_some_and(|sectors| sectors >= 8192), "{}", json[1]["verified"]);
    // A flow beside another workload has all of its jobs.
    fs::write(place.path("k.fio"), "[a]\nsize=1m\n[b]\nsize=1m\nrate_iops=1000\n").expect("written");
    let json = place.json(&["run", "d.toml", "w.toml", "--flow", "k.fio", "--limit", "2k", "--json"]);
    let names: Vec<_> = json["flows"].as_array().expect("flows").iter().map(|flow| flow["name"].as_str()).collect();
    assert_eq!(names, [Some("w"), Some("k a"), Some("k b")]);
    let output = place.flashloom(&["run", "d.toml", "w.toml", "--flow", "k.fio", "--fairness"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && said.contains("k: has jobs that run at the same time"), "{said}");
}

#[test]
fn placement_identifiers_choose_the_streams_of_flows_and_traces() {
    let place = place();
    let drive = "--set ftl.streams.host={policy=\"placement-id\",streams=4}";
    let units =
        |json: &serde_json::Value, stream: usize| json["streams"]["host"][stream]["units"].as_u64().expect("a number");
    // The drive has no identifier 9, so these writes go where writes without an identifier go.
    let flows = "--flow w.toml,placement-id=3,name=b --flow w.toml,placement-id=9,name=c --limit 6000";
    let json = place.run(&format!("{drive} --placement-id 2 {flows} --out out"));
    assert!([0, 2, 3].iter().all(|stream| units(&json, *stream) > 100) && units(&json, 1) == 0, "{}", json["streams"]);
    // The files that reproduce the result have the identifiers.
    let command = fs::read_to_string(place.path("out/command.txt")).expect("there");
    assert!(command.contains("--placement-id 2") && command.contains("placement-id=3"), "{command}");
    // A trace may have a column of identifiers, which a conversion keeps.
    let rows: String = (0..400).map(|n| format!("{n},w,{},8,{}\n", n * 8, n % 2 * 3)).collect();
    // The flush writes the whole buffer to flash.
    fs::write(place.path("t.csv"), rows + "400,f,,,\n").expect("written");
    let columns = ["--columns", "time=1:ms,op=2,offset=3:512B,size=4:512B,placement=5"];
    assert!(place.flashloom(&[&["trace", "convert", "t.csv", "t.parquet"], &columns[..]].concat()).status.success());
    let play = |options: &[&str]| {
        let drive: Vec<&str> = drive.split(' ').collect();
        let json = place.json(&[&["run", "d.toml"], options, &drive[..], &["--json"]].concat());
        [0, 1, 2, 3].map(|stream| units(&json, stream))
    };
    let [bare, _, _, third] = play(&[&["t.csv"], &columns[..]].concat());
    assert!(bare > 0 && bare == third, "{bare} and {third}");
    assert_eq!(play(&["t.parquet"]), [bare, 0, 0, third]);
    // `--placement-id` applies to writes without an identifier of their own.
    assert_eq!(play(&["t.parquet", "--placement-id", "1"]), [0, bare, 0, third]);
}

#[test]
fn flows_run_at_once_and_have_their_own_results() {
    let place = place();
    let queues = "--set host.queue=[{channels=[0]},{channels=[1]}]";
    let flows = "--flow w.toml,queue=1,name=b --flow w.toml,depth=2 --fairness --series 10ms";
    let json = place.run(&format!("{queues} {flows} --verify --limit 30000 --out out"));
    let flow = |i: usize| &json["flows"][i];
    let names: Vec<_> = (0..3).map(|i| flow(i)["name"].as_str()).collect();
    assert_eq!(names, [Some("w"), Some("b"), Some("w-2")]);
    assert_eq!((flow(1)["queue"].as_u64(), flow(2)["pacing"].as_str()), (Some(1), Some("closed, depth 2")));
    let requests: u64 = (0..3).map(|i| flow(i)["requests"].as_u64().expect("a number")).sum();
    assert_eq!((Some(requests), requests), (json["requests"].as_u64(), 30_000));
    assert_eq!(json["pacing"].as_str(), Some("3 flows"));
    let page = fs::read_to_string(place.path("out/report.html")).expect("there");
    assert!(page.contains("Latency by flow") && page.contains("b write"));
    let config = fs::read_to_string(place.path("out/config.toml")).expect("there");
    assert!(config.contains("[[flow]]") && config.contains("name = \"w-2\""), "{config}");
    // Each flow also ran alone, and has its course over time.
    let slowdown = |i: usize| json["fairness"]["flows"][i]["slowdown"].as_f64().expect("a number");
    let most = (0..3).map(slowdown).fold(0.0, f64::max);
    assert_eq!(json["fairness"]["max_slowdown"].as_f64(), Some(most));
    let intervals = json["series"]["intervals"].as_array().expect("intervals");
    let completed = |of: &serde_json::Value| of["flows"]["b"]["requests"].as_u64().expect("a number");
    assert_eq!(Some(intervals.iter().map(completed).sum()), flow(1)["requests"].as_u64());
    assert!(place.path("out/series-flows.parquet").is_file() && page.contains("Queue depth"));
    // Equal workloads draw different random numbers, and a single workload runs as without flows.
    assert_ne!(flow(0)["kinds"], flow(1)["kinds"]);
    assert!(place.run("--queue 0")["flows"].is_null());
}
