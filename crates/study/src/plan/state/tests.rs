//! Tests that a study saves and loads the states of its drives, and refuses the states of other drives.

use std::fs;

use super::*;
use crate::execute::{self, ExecuteError, Program, StudyOutcome};
use crate::plan::Plan;

const DRIVE: &str = r#"flash = { part = "K9K8G08U0M", channels = 1, chips = 2, planes = 1, blocks = 32, pages = 8 }
ftl = { over-provisioning = "60%" }
"#;

const WRITER: &str = r#"name = "writer"
requests = 60
arrivals = { kind = "closed", depth = 2 }
[[stream]]
reads = "50%"
sizes = [{ size = "2KiB" }]
address = { pattern = "uniform" }
"#;

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        fs::write(dir.path().join("drive.toml"), format!("name = \"one\"\n{DRIVE}")).expect("written");
        fs::write(dir.path().join("writer.toml"), WRITER).expect("written");
        Self(dir)
    }

    fn plan(&self, lines: &str) -> Result<Plan, Faults> {
        let text = format!("name = \"s\"\ndevice = \"drive.toml\"\nworkload = \"writer.toml\"\n{lines}");
        Document::parse(&self.0.path().join("study.toml"), text).and_then(|document| Plan::new(&document))
    }

    fn run(&self, lines: &str) -> Result<StudyOutcome, ExecuteError> {
        let plan = self.plan(lines).unwrap_or_else(|faults| panic!("{faults}"));
        execute::run(plan, &Program::default(), None, &|_, _| {})
    }
}

#[test]
fn a_saved_state_is_the_preconditioned_drive() {
    let folder = Folder::new();
    let saved = folder.run("run = { precondition = [\"fill\", \"random:x1\"], save-snapshot = \"full.state\" }\n");
    let saved = saved.unwrap_or_else(|error| panic!("{error}")).runs.remove(0).remove(0);
    let loaded = folder.run("run = { load-snapshot = \"full.state\", verify = true }\nseeds = [0, 1]\n");
    let loaded = loaded.unwrap_or_else(|error| panic!("{error}")).runs.remove(0);
    assert_eq!((loaded[0].kinds.clone(), loaded[0].flash.clone()), (saved.kinds, saved.flash));
    assert_ne!(loaded[1].event_hash, loaded[0].event_hash, "another seed draws other requests");
    assert!(loaded[0].verified.as_ref().is_some_and(|verified| verified["sectors"] > 0));
    let empty = folder.run("").expect("it runs").runs.remove(0).remove(0);
    assert_ne!(empty.kinds, loaded[0].kinds, "the state counts");
}

#[test]
fn each_point_saves_a_file_of_its_own() {
    let folder = Folder::new();
    let axis = "[[axis]]\nname = \"into\"\nkey = \"run.save-snapshot\"\nvalues = [\"a.state\", \"b.state\"]\n";
    folder.run(&format!("run.precondition = [\"fill\"]\n{axis}")).unwrap_or_else(|error| panic!("{error}"));
    let read = |name: &str| fs::read(folder.0.path().join(name)).expect("there");
    assert_eq!(read("a.state"), read("b.state"));
    // Flashloom replaces its own snapshots, and no other files.
    fs::write(folder.0.path().join("b.state"), "dear diary").expect("written");
    let error = folder.run(axis).expect_err("not ours").to_string();
    assert!(error.starts_with("study s, into b.state, seed 0: ") && error.contains("did not write it"), "{error}");
    assert_eq!(read("b.state"), b"dear diary");
    let plan = folder.plan(axis).expect("sound");
    assert!(
        execute::check_snapshots(&plan).is_err() && execute::check_snapshots(&Plan { force: true, ..plan }).is_ok()
    );
}

#[test]
fn a_snapshot_that_does_not_fit_is_a_fault_of_its_point() {
    let folder = Folder::new();
    folder.run("run = { precondition = [\"fill\"], save-snapshot = \"full.state\" }\n").expect("it runs");
    fs::write(folder.0.path().join("diary.txt"), "dear diary").expect("written");
    let chips = "[[axis]]\nname = \"chips\"\nkey = \"device.flash.chips\"\nvalues = [2, 4]\n";
    let seeds = "seeds = [0, 1]\nrun.save-snapshot = \"new.state\"\n";
    for (lines, wanted) in [
        (format!("run.load-snapshot = \"full.state\"\n{chips}"), "study.toml:4: run.load-snapshot: at chips=4, "),
        (
            format!("run.load-snapshot = \"full.state\"\n{chips}"),
            "is a snapshot of another device, one: flash.chips is 2",
        ),
        ("run.load-snapshot = \"none.state\"".to_owned(), "none.state: cannot be read: there is no such file"),
        ("run.load-snapshot = \"diary.txt\"".to_owned(), "diary.txt: is not a snapshot"),
        (
            "run = { load-snapshot = \"full.state\", precondition = [\"steady:model\"] }".to_owned(),
            "study.toml:4: run.precondition: ",
        ),
        (
            seeds.to_owned(),
            "study.toml:5: run.save-snapshot: 2 runs would write 1 files: each needs its own; name them",
        ),
        (format!("run.save-snapshot = \"new.state\"\n{chips}"), "run.save-snapshot: 2 runs would write 1 files"),
    ] {
        let text = folder.plan(&lines).map(|_| &lines).expect_err("it is faulty").to_string();
        assert!(text.contains(wanted), "{lines}\n{text}\nnot: {wanted}");
    }
    assert!(!folder.0.path().join("new.state").exists());
}
