//! User errors: each gets one clear message that names the place and the remedy, exit code 2, and leaves no file
//! behind.

use std::fs;

use crate::common::{DEVICE, TRACE, WORKLOAD, WorkFolder};

impl WorkFolder {
    fn names(&self) -> Vec<String> {
        testkit::names(self.0.path())
    }

    /// Expects a refusal whose message has all of `wanted`, and no new file in the folder.
    #[track_caller]
    fn refused(&self, arguments: &[&str], wanted: &[&str]) {
        let before = self.names();
        let output = self.flashloom(arguments);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {message}");
        for wanted in wanted {
            assert!(message.contains(wanted), "`{wanted}` is not in: {message}");
        }
        assert!(output.stdout.is_empty(), "{arguments:?} has a result");
        assert_eq!(self.names(), before, "{arguments:?} left something behind");
    }

    /// Expects that `run` and `check` refuse the device with `from` replaced by `to`.
    #[track_caller]
    fn device_refused(&self, from: &str, to: &str, wanted: &[&str]) {
        assert!(DEVICE.contains(from));
        self.write("d.toml", DEVICE.replace(from, to));
        self.refused(&["run", "d.toml", "w.toml", "--out", "out", "--requests", "log"], wanted);
        self.refused(&["check", "d.toml"], wanted);
    }

    #[track_caller]
    fn trace_refused(&self, text: &str, wanted: &[&str]) {
        self.write("t.csv", text);
        self.refused(&["run", "d.toml", "t.csv", "--out", "out", "--requests", "log"], wanted);
    }
}

#[test]
fn valid_inputs_run() {
    let place = WorkFolder::new();
    for workload in ["w.toml", "t.csv"] {
        let output = place.flashloom(&["run", "d.toml", workload, "--verify"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn missing_files_are_refused() {
    let place = WorkFolder::new();
    place.refused(&["run", "none.toml", "w.toml"], &["none.toml: cannot be read", "check its name"]);
    place.refused(&["run", "none", "w.toml"], &["none: is neither a file nor a device", "flashloom devices"]);
    place.refused(&["run", "d.toml", "none.toml"], &["none.toml: cannot be read", "check its name"]);
    place.refused(&["run", "d.toml", "none.csv"], &["none.csv", "check"]);
    place.refused(&["run", "d.toml", "none.fio"], &["none.fio: cannot be read", "check its name"]);
    place.refused(&["run", "d.toml", "w.toml", "--load-snapshot", "none"], &["none: cannot be read", "check its name"]);
}

#[test]
fn directories_in_place_of_files_are_refused() {
    let place = WorkFolder::new();
    fs::create_dir(place.path("dir")).expect("created");
    fs::create_dir(place.path("dir.toml")).expect("created");
    place.refused(&["run", "dir.toml", "w.toml"], &["dir.toml: ", "irectory"]);
    place.refused(&["run", "d.toml", "dir.toml"], &["dir.toml: ", "irectory"]);
    place.refused(&["run", "d.toml", "dir"], &["dir: ", "irectory"]);
    place.refused(&["run", "d.toml", "w.toml", "--load-snapshot", "dir"], &["dir: ", "irectory"]);
    place.refused(&["run", "d.toml", "w.toml", "--save-snapshot", "dir"], &["dir: ", "is a directory"]);
    place.refused(&["run", "d.toml", "w.toml", "--requests", "dir"], &["dir: ", "is a directory"]);
}

#[test]
fn impossible_devices_are_refused() {
    let place = WorkFolder::new();
    place.device_refused("channels", "chanels", &["d.toml:5: flash.chanels", "not a known key", "`channels`?"]);
    place.device_refused("\"20%\"", "\"20us\"", &["d.toml:13: ftl.over-provisioning", "`20us`", "e.g."]);
    place.device_refused("\"20%\"", "0.2", &["d.toml:13: ftl.over-provisioning", "`0.2` has no unit", "e.g."]);
    place.device_refused("channels = 2", "channels = 0", &["d.toml:5: flash.channels: is zero", "at least one"]);
    place.device_refused("\"20%\"", "\"2%\"", &["d.toml:13: ftl.over-provisioning", "no spare block", "at most "]);
    place.device_refused(
        "over-provisioning = \"20%\"",
        "capacity = \"10000000B\"",
        &["d.toml:13: ftl.capacity", "not a whole number of mapping units of 2KiB", "e.g. 9998336B"],
    );
    place.device_refused("queue-depth = 8", "queue-depth = 0", &["d.toml:10: host.queue-depth: is zero", "at least"]);
    place.device_refused("dirik-2009", "dirik-2010", &["d.toml:4: flash.part", "`dirik-2010`", "dirik-2009"]);
    place.device_refused("[host]", "[host", &["d.toml:9: ", "correct the TOML"]);
}

#[test]
fn impossible_queues_and_flows_are_refused() {
    let place = WorkFolder::new();
    for (host, wanted) in [
        ("queues = 0", &["d.toml:10: host.queues: is zero", "at least one"][..]),
        ("burst = 0", &["d.toml:10: host.burst: is zero"]),
        ("arbitration = \"fair\"", &["d.toml:10: host.arbitration", "`fair`", "round-robin", "weighted"]),
        ("queues = 2\n[[host.queue]]\n", &["d.toml:10: host.queues: conflicts with [[host.queue]]", "keep one"]),
        ("[[host.queue]]\nweigth = 3", &["d.toml:11: host.queue[0].weigth", "did you mean `weight`"]),
        ("[[host.queue]]\nweight = 3", &["d.toml:11: host.queue[0].weight", "round-robin", "weighted"]),
        ("[[host.queue]]\nchannels = [2]", &["d.toml:11: host.queue[0].channels: there is no channel 2", "0 to 1"]),
        ("[[host.queue]]\n[[host.queue]]\ndies = []", &["d.toml:12: host.queue[1].dies: is empty", "leave it out"]),
        ("[[host.queue]]\ndies = [1]", &["host.queue: all queues together write to 1 of 4 dies", "or raise"]),
    ] {
        place.device_refused("queue-depth = 8", host, wanted);
    }
    place.write("d.toml", DEVICE);
    let run = |more: &[&'static str]| [&["run", "d.toml", "w.toml"], more].concat();
    place.refused(&run(&["--queue", "1"]), &["submitted to queue 1, but the device has 1", "host.queues"]);
    place.refused(&run(&["--flow", "w.toml,queue=7"]), &["submitted to queue 7, but the device has 1"]);
    place.refused(&run(&["--flow", "w.toml,fast"]), &["`fast` is not a valid part of a flow", "queue=N"]);
    place.refused(&run(&["--flow", "w.toml,depth=0"]), &["`depth=0` is not a valid part of a flow"]);
    place.refused(&run(&["--flow", "none.toml"]), &["none.toml: cannot be read"]);
    place.write("two.fio", "[global]\nbs=4k\nsize=1m\n[a]\nrw=read\n[b]\nstonewall\nrw=read\n");
    place.refused(&run(&["--flow", "two.fio"]), &["two.fio: has several stages", "a job file of its own"]);
    place.refused(&["run", "d.toml", "two.fio", "--flow", "w.toml"], &["two.fio: has several stages"]);
}

#[test]
fn all_faults_are_reported_at_once() {
    let place = WorkFolder::new();
    let faulty = DEVICE.replace("channels = 2", "channels = 0").replace("queue-depth = 8", "queue-depth = 0");
    place.write("d.toml", faulty);
    place.refused(&["run", "d.toml", "w.toml"], &["d.toml:5: ", "d.toml:10: "]);
    place.write("d.toml", DEVICE);
    place.refused(&["run", "d.toml", "w.toml", "--set", "nonsense"], &["--set: `nonsense` sets nothing"]);
    place.refused(&["run", "d.toml", "w.toml", "--set", "flash.chips=0"], &["--set: flash.chips: is zero"]);
}

#[test]
fn impossible_workloads_are_refused() {
    let place = WorkFolder::new();
    let refused = |from: &str, to: &str, wanted: &[&str]| {
        place.write("w.toml", WORKLOAD.replace(from, to));
        place.refused(&["run", "d.toml", "w.toml"], wanted);
    };
    refused("requests", "reqests", &["w.toml:2: reqests: is not a known key", "`requests`?"]);
    refused("\"4KiB\"", "4096", &["w.toml:7: stream[0].sizes[0].size", "4096", "KiB"]);
    refused("depth = 4", "depth = 0", &["w.toml:3: arrivals.depth"]);
    refused("\"50%\"", "\"150%\"", &["w.toml:6: stream[0].reads"]);
    place.refused(&["run", "d.toml", "w.toml", "--depth", "0"], &["--depth"]);

    place.write("j.fio", "[global]\nrw=randread\nbs=4k\nsize=1m\n[job]\nlatency_target=5\n");
    place.refused(&["run", "d.toml", "j.fio"], &["j.fio", "line 6, [job] latency_target"]);
    place.write("j.fio", "[job]\nrw=randread\nbs=4k\noffset=1t\n");
    place.refused(&["run", "d.toml", "j.fio"], &["j.fio", "line 4, [job] offset"]);
}

#[test]
fn damaged_and_too_large_traces_are_refused() {
    let place = WorkFolder::new();
    place.trace_refused(&TRACE[..TRACE.len() - 12], &["t.csv:2: "]);
    place.trace_refused(&TRACE.replace("8192,4096", "8192,-4096"), &["t.csv:2: ", "-4096"]);
    place.trace_refused(&TRACE.replace("8192", "81920000000"), &["t.csv:2: ", "beyond the capacity", "--extent wrap"]);
    let back = format!("{TRACE}128166371003062629,hm,0,Write,8192,4096,100\n");
    place.trace_refused(&back, &["t.csv:3: ", "tolerance"]);
    place.trace_refused("neither\nthis\nnor that\n", &["t.csv: ", "--format"]);
    place.trace_refused("", &["t.csv: "]);

    // A gzip file with a changed byte, and a truncated one.
    let whole: Vec<u8> = TRACE.bytes().cycle().take(TRACE.len() * 2_000).collect();
    for damage in [true, false] {
        let mut zipped = gzip(&whole);
        if damage {
            // The lengths of the second block.
            zipped[10 + 5 + 4000 + 2] ^= 0xFF;
        } else {
            zipped.truncate(zipped.len() - 20);
        }
        place.write("t.csv.gz", zipped);
        place.refused(&["run", "d.toml", "t.csv.gz", "--out", "out"], &["t.csv.gz"]);
    }
}

/// A gzip file of stored, uncompressed blocks.
fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut zipped = vec![0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255];
    for (i, block) in plain.chunks(4000).enumerate() {
        let len = block.len() as u16;
        zipped.push(u8::from((i + 1) * 4000 >= plain.len()));
        zipped.extend(len.to_le_bytes());
        zipped.extend((!len).to_le_bytes());
        zipped.extend(block);
    }
    zipped.extend([0; 4]);
    zipped.extend((plain.len() as u32).to_le_bytes());
    zipped
}

#[test]
fn unwritable_outputs_are_refused() {
    let place = WorkFolder::new();
    place.refused(&["run", "d.toml", "w.toml", "--out", "no/such/out"], &["no/such/out: cannot be written", "exists"]);
    place.refused(&["run", "d.toml", "w.toml", "--out", "d.toml/out"], &["d.toml/out: cannot be written"]);
    place.refused(&["run", "d.toml", "w.toml", "--out", "d.toml"], &["d.toml: is a file", "another name"]);
    place.refused(&["run", "d.toml", "w.toml", "--out", "."], &[".: "]);
    place.refused(&["run", "d.toml", "w.toml", "--save-snapshot", "no/such"], &["no/such: cannot be written"]);
    fs::create_dir(place.path("diary")).expect("created");
    place.write("diary/page", "dear");
    place.refused(&["run", "d.toml", "w.toml", "--out", "diary"], &["diary: contains files", "another name"]);
    assert!(place.path("diary/page").exists());
}

#[test]
fn a_drive_that_wears_out_in_preconditioning_is_refused() {
    let place = WorkFolder::new();
    let run = ["run", "d.toml", "w.toml", "--precondition", "fill", "--set", "flash.faults.program-failures=\"30%\""];
    let run = [&run[..], &["--save-snapshot", "s"]].concat();
    place.refused(&run, &["precondition fill: so many blocks failed", "read-only", "lower the shares in flash.faults"]);
    assert!(!place.path("s").exists());
}

#[test]
fn damaged_snapshots_and_those_of_other_drives_are_refused() {
    let place = WorkFolder::new();
    let make = ["run", "d.toml", "w.toml", "--precondition", "fill", "--save-snapshot", "s", "--quiet"];
    assert!(place.flashloom(&make).status.success());
    let run = ["run", "d.toml", "w.toml", "--load-snapshot", "s"];
    assert!(place.flashloom(&run).status.success());
    place.refused(&[&run[..], &["--set", "flash.blocks=60"]].concat(), &["s: is a snapshot of another device", "60"]);
    let dftl = [&run[..], &["--set", "ftl.map={kind=\"dftl\"}"]].concat();
    let words =
        ["s: is a snapshot of another device", "ftl.map is in RAM in the snapshot and on flash", "use the device"];
    place.refused(&dftl, &words);
    let whole = fs::read(place.path("s")).expect("there");
    place.write("s", &whole[..whole.len() / 2]);
    place.refused(&run, &["s: is damaged", "save it again"]);
    let mut changed = whole.clone();
    changed[whole.len() / 2] ^= 1;
    place.write("s", &changed);
    place.refused(&run, &["s: is damaged", "save it again"]);
    place.write("s", "dear diary");
    place.refused(&run, &["s: is not a snapshot", "--save-snapshot"]);
}
