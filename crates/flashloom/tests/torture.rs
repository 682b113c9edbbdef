//! `flashloom torture` from outside: honest drives lose nothing, dishonest drives are found, and a loss can be rebuilt.

use crate::common::{ALL_KINDS, WorkFolder, buffered};
use crate::file_systems::can_mount;
use crate::shown::root;

/// A torture of the small drive with a buffer.
pub(crate) const TORTURE: &str = r#"name = "small"
device = "d.toml"
workload = "w.toml"
limit = 400
points = { random = 40 }
"#;

/// A folder with the torture, extended by the settings `more`.
fn place(more: &str) -> WorkFolder {
    let flushes = ALL_KINDS.replace("every = 100", "every = 4");
    WorkFolder::with(&[("d.toml", &buffered("")), ("w.toml", &flushes), ("t.toml", &format!("{TORTURE}{more}"))])
}

/// The standard output of a torture that finds a loss.
#[track_caller]
fn lost(place: &WorkFolder, arguments: &[&str]) -> String {
    let output = place.flashloom(arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{arguments:?}: {said}");
    assert!(said.contains(" lost something"), "{said}");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn an_honest_drive_loses_nothing() {
    let place = place("");
    let result = place.json(&["torture", "t.toml", "--json"]);
    assert_eq!(result["losses"], 0);
    assert!(result["cuts"].as_u64().expect("a number") > 90, "{result}");
    let table = place.printed(&["torture", "t.toml", "--points", "30"]);
    assert!(table.contains("\n30 cuts, 0 with a loss;"), "{table}");
    assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
}

#[test]
fn a_lying_drive_is_found_and_its_first_loss_is_rebuilt_from_the_journal() {
    let place = place("drive = \"ignores-flush\"\n");
    let all = ["torture", "t.toml", "--journal", "run.journal", "--loss", "loss.toml"];
    let table = lost(&place, &all);
    let about = table.split_once("first loss: ").expect("a loss").1.split_once('\n').expect("lines").1.to_owned();
    assert!(about.contains(" was durable"), "{table}");
    let again = lost(&place, &["torture", "--replay", "loss.toml", "--into", "there"]);
    assert!(again.ends_with(&about), "{again} instead of {about}");
    assert!(place.path("there/image").metadata().expect("an image").len() > 1 << 20);
    assert_eq!(place.read("there/log"), "");
    // From this command on the journal is an input.
    place.write(
        "j.toml",
        "name = \"again\"\njournal = \"run.journal\"\npoints = { random = 40 }\ndrive = \"ignores-flush\"\n",
    );
    let from_journal = lost(&place, &["torture", "j.toml"]);
    assert!(from_journal.ends_with(&about), "{from_journal}");
    // Files of an earlier command are not overwritten.
    let output = place.flashloom(&["torture", "--replay", "loss.toml", "--into", "there"]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn a_check_that_fails_is_reported_with_its_output_and_its_reproduction() {
    let check = "check = \"test -s {image} && test -f {log} && test {point} -lt 20 || { echo too late; exit 5; }\"\n";
    let place = place(check);
    let all = ["torture", "t.toml", "--journal", "run.journal", "--loss", "loss.toml"];
    let table = lost(&place, &all);
    assert!(table.contains("first loss: cut 20, "), "{table}");
    assert!(table.ends_with("  check: exit code 5\n  | too late\n"), "{table}");
    let text = place.read("loss.toml").replace("test {point} -lt 20", "false");
    place.write("loss.toml", text);
    assert!(lost(&place, &["torture", "--replay", "loss.toml", "--into", "there"]).ends_with("  | too late\n"));
}

#[test]
fn faults_of_a_torture_are_named() {
    let place = place("");
    let refused = |text: &str, arguments: &[&str], wanted: &str| {
        place.write("t.toml", text);
        let output = place.flashloom(&[&["torture"], arguments].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{text}: {said}");
        assert!(said.contains(wanted), "{said} instead of {wanted}");
    };
    refused("name = \"t\"\n", &["t.toml"], "t.toml: run: is missing");
    refused(&format!("{TORTURE}run = \"true\"\n"), &["t.toml"], "t.toml:6: run: is one run too many beside a workload");
    refused("name = \"t\"\njournal = \"no\"\n", &["t.toml"], "no: cannot be read");
    refused("name = \"t\"\njournal = \"w.toml\"\n", &["t.toml"], "w.toml: is not a journal; record one with");
    refused(&format!("{TORTURE}driev = \"honest\"\n"), &["t.toml"], "driev: is not a known key; did you mean `drive`?");
    refused(TORTURE, &["t.toml", "--loss", "l.toml"], "--loss: the recorded run is not kept; add --journal");
    let command = "name = \"t\"\ndevice = \"d.toml\"\nrun = \"echo hello; exit 3\"\n";
    refused(command, &["t.toml"], "run: the command ended with exit status: 3; a workload ends with exit code 0");
    assert!(!place.path("l.toml").exists());
}

/// True if all these programs are installed; otherwise prints the missing programs.
fn there(programs: &[&str]) -> bool {
    let missing = |program: &&&str| {
        !std::env::split_paths("/usr/bin:/usr/sbin:/bin:/sbin").any(|folder| folder.join(program).exists())
    };
    let missing: Vec<_> = programs.iter().filter(missing).collect();
    if !missing.is_empty() {
        println!("not tested: {missing:?} are not installed");
    }
    missing.is_empty()
}

/// Software that flushes before it reports its data as safe loses nothing on an honest drive; software without flushes loses data.
#[test]
fn software_over_nbd_is_recorded_and_its_promises_are_checked() {
    if !there(&["nbdcopy", "cmp"]) {
        return;
    }
    for (flush, is_safe) in [("--flush", true), ("", false)] {
        let place = place("");
        place.write("data", (0..400 << 10).map(|byte: u32| (byte % 251) as u8 + 1).collect::<Vec<_>>());
        // During the reads the power can be cut after the promise.
        let workload = format!("set -e\nnbdcopy {flush} data \"$1\"\necho all is written\nnbdcopy \"$1\" null:\n");
        place.write("workload.sh", workload);
        place.write("check.sh", "grep -q written \"$2\" || exit 0\ncmp -n 409600 \"${0%/*}/data\" \"$1\"\n");
        place.write(
            "t.toml",
            r#"name = "t"
device = "d.toml"
run = "sh {here}/workload.sh {uri}"
points = { random = 60 }
check = "sh {here}/check.sh {image} {log}"
"#,
        );
        let output = place.flashloom(&["torture", "t.toml", "--json"]);
        let said = String::from_utf8_lossy(&output.stderr);
        let result: serde_json::Value =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"));
        assert!(result["requests"].as_u64().expect("a number") >= 2, "{result}");
        assert_eq!(output.status.code(), Some(i32::from(!is_safe)), "{flush}: {result}");
        // The drive itself has kept its promises.
        let moments = result["moments"].as_array().expect("a list");
        let broken: Vec<_> = moments.iter().map(|of| of["promises_broken"].as_u64()).collect();
        assert!(!broken.is_empty() && broken.iter().all(|broken| *broken == Some(0)), "{result}");
    }
}

/// The content of the file that the guide shows under this name.
fn shown(name: &str) -> String {
    let page = crate::shown::MarkdownPage::at("docs/src/cut-the-power.md").text;
    let behind = page.split_once(&format!("`{name}`:\n\n```text\n")).expect("the file is on the page").1;
    behind.split_once("```").expect("a whole block").0.to_owned()
}

fn small_drive() -> String {
    let page = crate::shown::MarkdownPage::at("docs/src/cut-the-power.md").text;
    let behind = page.split_once("```toml small.toml\n").expect("the drive").1;
    behind.split_once("```").expect("a block").0.to_owned()
}

fn failed_checks(result: &serde_json::Value) -> u64 {
    let moments = result["moments"].as_array().expect("a list").iter();
    moments.map(|of| of["checks_failed"].as_u64().expect("a number")).sum()
}

/// The guide's torture of SQLite on ext4, with fewer commits: nothing is lost, unless the software or the drive does not flush.
#[test]
fn sqlite_on_ext4_keeps_what_it_committed() {
    let tools = ["nbdfuse", "fusermount3", "losetup", "mkfs.ext4", "mount", "e2fsck", "debugfs", "sqlite3"];
    let is_root = std::process::Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout == b"0\n");
    let devices = ["/dev/fuse", "/dev/loop-control"].iter().all(|device| std::path::Path::new(device).exists());
    if !there(&tools) || !is_root || !devices {
        println!("not tested: SQLite on ext4 needs root, /dev/fuse and loop devices");
        return;
    }
    let place = place("");
    place.write("small.toml", small_drive());
    place.write("check.sh", shown("check.sh"));
    let script = shown("sqlite.sh").replace("seq 1 100", "seq 1 25");
    let torture = shown("sqlite.toml");
    place.write("sqlite.sh", &script);
    place.write("sqlite.toml", &torture);
    let table = place.printed(&["torture", "sqlite.toml", "--points", "60", "--journal", "run.journal"]);
    assert!(table.contains("60 cuts, 0 with a loss;"), "{table}");
    let check = torture.lines().find(|line| line.starts_with("check = ")).expect("a check");
    place.write(
        "liar.toml",
        format!("name = \"liar\"\njournal = \"run.journal\"\ndrive = \"ignores-flush\"\n{check}\n"),
    );
    let liar = lost(&place, &["torture", "liar.toml", "--points", "60", "--json"]);
    assert!(failed_checks(&serde_json::from_str(&liar).expect("JSON")) > 10, "{liar}");
    // Software that does not wait for its flushes.
    place.write("sqlite.sh", script.replace("synchronous=full", "synchronous=off"));
    let result = place.flashloom(&["torture", "sqlite.toml", "--json"]);
    assert_eq!(result.status.code(), Some(1), "{}", String::from_utf8_lossy(&result.stderr));
    let result: serde_json::Value = serde_json::from_slice(&result.stdout).expect("JSON");
    let moments = result["moments"].as_array().expect("a list");
    assert!(moments.iter().all(|of| of["promises_broken"] == 0), "{result}");
    assert!(failed_checks(&result) > 0, "{result}");
}

/// RocksDB loses no acknowledged commit, unless its log is not synchronised: then its own check finds losses. `PYTHON` is a Python
/// interpreter with rocksdict.
#[test]
fn rocksdb_on_ext4_keeps_what_it_committed() {
    let imports = "${PYTHON:-python3} -c 'import rocksdict'";
    let imported = std::process::Command::new("sh").args(["-c", imports]).output().expect("it starts");
    if !imported.status.success() {
        println!("not tested: {imports} fails, so no power was cut under RocksDB");
        return;
    }
    if !can_mount(&["mkfs.ext4", "e2fsck", "debugfs"]) {
        return;
    }
    let scripts = root().join(".ci/torture");
    let scripts = scripts.display();
    for how in ["sync", "nosync"] {
        let place = WorkFolder::with(&[("small.toml", &small_drive())]);
        place.write(
            "t.toml",
            format!(
                r#"name = "RocksDB"
device = "small.toml"
set = ["flash.blocks=96"]
check-limit = "60s"
points = {{ random = 100, most = 100 }}
run = "sh {scripts}/rocksdb.sh 200 {how} {{uri}}"
check = "sh {scripts}/rocksdb-check.sh {{image}} {{log}}"
"#
            ),
        );
        let output = place.flashloom(&["torture", "t.toml", "--json"]);
        let said = String::from_utf8_lossy(&output.stderr);
        let result: serde_json::Value =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"));
        assert_eq!(result["cuts"], 100);
        let moments = result["moments"].as_array().expect("a list");
        assert!(moments.iter().all(|of| of["promises_broken"] == 0), "{result}");
        match how {
            "sync" => assert_eq!((output.status.code(), failed_checks(&result)), (Some(0), 0), "{result}"),
            _ => assert!(output.status.code() == Some(1) && failed_checks(&result) > 0, "{result}"),
        }
    }
}
