//! All outputs of all commands: no command overwrites an input, or replaces a file of the user without `--force`.
//! Devices and pipes are written through, and a command that ends early leaves no half-written file.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::{FileTypeExt, symlink};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use crate::common::{DEVICE, NO_STORE, WORKLOAD, WorkFolder};

const STUDY: &str = "name = \"s\"\ndevice = \"d.toml\"\nworkload = \"w.toml\"\nmetrics = [\"read.mean\"]\n";

const REQUEST: &str = "128166372003061629,hm,0,Read,0,4096,100\n";

/// A writing command, the option of its output, and its input files.
#[derive(Clone, Copy)]
struct WritingCommand {
    command: &'static [&'static str],
    option: &'static str,
    inputs: &'static [&'static str],
}

const fn writer(
    command: &'static [&'static str],
    option: &'static str,
    inputs: &'static [&'static str],
) -> WritingCommand {
    WritingCommand { command, option, inputs }
}

const RUN: &[&str] = &["run", "d.toml", "w.toml", "--flow", "t.csv,open", "--extent", "wrap", "--quiet"];
const LOAD: &[&str] = &["run", "d.toml", "t.csv", "--load-snapshot", "state", "--quiet"];
const EXPLAIN: &[&str] = &["explain", "d.toml", "w.toml", "--quiet"];
const COMPARE: &[&str] = &["compare", "w.toml", "d.toml", "--quiet"];
const STUDIES: &[&str] = &["study", "s.toml", "--quiet"];
const RUN_READS: &[&str] = &["d.toml", "w.toml", "t.csv"];

/// Every output file.
const FILES: [WritingCommand; 13] = [
    writer(RUN, "--report", RUN_READS),
    writer(RUN, "--requests", RUN_READS),
    writer(RUN, "--timeline", RUN_READS),
    writer(RUN, "--save-snapshot", RUN_READS),
    writer(LOAD, "--requests", &["state"]),
    writer(LOAD, "--save-snapshot", &["state"]),
    writer(EXPLAIN, "--report", &["d.toml", "w.toml"]),
    writer(EXPLAIN, "--requests", &["d.toml", "w.toml"]),
    writer(EXPLAIN, "--save-snapshot", &["d.toml", "w.toml"]),
    writer(COMPARE, "--report", &["d.toml", "w.toml"]),
    writer(STUDIES, "--report", &["s.toml", "d.toml", "w.toml"]),
    writer(&["study", "s.toml", "--workload", "t.csv", "--quiet"], "--report", &["t.csv"]),
    writer(&["trace", "convert", "t.csv"], "", &["t.csv"]),
];

/// Every output folder, with one file of its results.
const FOLDERS: [(WritingCommand, &str); 4] = [
    (writer(RUN, "--out", RUN_READS), "config.toml"),
    (writer(EXPLAIN, "--out", &["d.toml", "w.toml"]), "config.toml"),
    (writer(COMPARE, "--out", &["d.toml", "w.toml"]), "compare.toml"),
    (writer(STUDIES, "--out", &["s.toml", "d.toml", "w.toml"]), "s.toml"),
];

/// A folder with inputs of all kinds.
fn place() -> WorkFolder {
    let trace = REQUEST.repeat(20);
    let place = WorkFolder::with(&[("d.toml", DEVICE), ("w.toml", WORKLOAD), ("s.toml", STUDY), ("t.csv", &trace)]);
    place.done(&["run", "d.toml", "w.toml", "--save-snapshot", "state"]);
    place
}

impl WorkFolder {
    /// All files, including those in subfolders, with their content.
    fn content(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let (mut found, mut folders) = (Vec::new(), vec![self.0.path().to_owned()]);
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).expect("a directory") {
                let (path, of) = entry.map(|entry| (entry.path(), entry.file_type())).expect("an entry");
                let of = of.expect("a type");
                match () {
                    () if of.is_dir() => folders.push(path),
                    () if of.is_file() => found.push((path.clone(), fs::read(path).expect("read"))),
                    () => found.push((path, Vec::new())),
                }
            }
        }
        found.sort();
        found
    }

    /// Runs the command; returns the exit code and the standard error.
    fn ended(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let Output { status, stderr, .. } = self.flashloom(arguments);
        (status.code(), String::from_utf8_lossy(&stderr).into_owned())
    }

    /// Expects success and returns the standard error.
    #[track_caller]
    fn done(&self, arguments: &[&str]) -> String {
        let (code, said) = self.ended(arguments);
        assert_eq!(code, Some(0), "{arguments:?}: {said}");
        said
    }

    /// Expects a refusal with these words, and no change of any file.
    #[track_caller]
    fn refuses(&self, arguments: &[&str], wanted: &str) {
        let before = self.content();
        let (code, said) = self.ended(arguments);
        assert_eq!(code, Some(2), "{arguments:?}: {said}");
        assert!(said.contains(wanted), "{arguments:?}: `{wanted}` is not in: {said}");
        assert!(self.content() == before, "{arguments:?} has changed a file");
    }
}

impl WritingCommand {
    /// The command line of the writer with `path` as its output.
    fn to<'a>(&self, path: &'a str, more: &[&'a str]) -> Vec<&'a str> {
        let option: &[&'static str] = if self.option.is_empty() { &[] } else { &[self.option] };
        [self.command, option, &[path], more].concat()
    }
}

#[test]
fn an_input_is_never_overwritten_under_any_name() {
    let place = place();
    for writer in FILES {
        for input in writer.inputs {
            let dotted = format!("./{input}");
            let [hard, soft] = ["hard", "soft"].map(|name| place.path(name));
            fs::hard_link(place.path(input), &hard).expect("linked");
            symlink(input, &soft).expect("linked");
            for path in [input, &*dotted, "hard", "soft"] {
                place.refuses(&writer.to(path, &["--force"]), "is an input of this command");
            }
            for link in [hard, soft] {
                fs::remove_file(link).expect("removed");
            }
        }
    }
}

#[test]
fn a_folder_of_results_does_not_replace_an_input() {
    let place = place();
    for (writer, name) in FOLDERS {
        for input in writer.inputs {
            fs::create_dir(place.path("out")).expect("created");
            fs::hard_link(place.path(input), place.path("out").join(name)).expect("linked");
            place.refuses(&writer.to("out", &["--force"]), "is an input of this command");
            fs::remove_dir_all(place.path("out")).expect("removed");
        }
    }
}

#[test]
fn a_foreign_file_is_replaced_only_with_force() {
    let place = place();
    for writer in FILES {
        fs::write(place.path("q"), "dear diary").expect("written");
        place.refuses(
            &writer.to("q", &[]),
            "q: exists, and Flashloom did not write it; choose another name, or replace it with --force",
        );
        let said = place.done(&writer.to("q", &["--force"]));
        assert!(said.contains("note: q: replaced the file there"), "{said}");
        let said = place.done(&writer.to("./q", &[]));
        assert!(said.contains("note: ./q: replaced ") && said.contains("of an earlier run"), "{said}");
        fs::remove_file(place.path("q")).expect("removed");
    }
    // Nor is a result of another kind.
    place.refuses(&FILES[0].to("state", &[]), "state: is a snapshot, and would be replaced by a report page");
}

#[test]
fn a_foreign_file_in_a_result_folder_is_replaced_only_with_force() {
    let place = place();
    for (writer, name) in FOLDERS {
        place.done(&writer.to("out", &[]));
        let first: Vec<_> = place.content();
        fs::write(place.path("out/mine.md"), "dear diary").expect("written");
        let said = place.done(&writer.to("out/", &[]));
        assert!(said.contains("note: out/: replaced an earlier result (") && said.contains(name), "{said}");
        assert_eq!(place.content().len(), first.len() + 1);
        fs::write(place.path("out").join(name), "dear diary").expect("written");
        place.refuses(&writer.to("out", &[]), &format!("out/{name}: exists, and Flashloom did not write it"));
        let said = place.done(&writer.to("out", &["--force"]));
        assert!(said.contains(&format!("note: out/{name}: replaced the file there")), "{said}");
        assert!(place.path("out/mine.md").is_file());
        fs::remove_dir_all(place.path("out")).expect("removed");
        place.refuses(&writer.to(".", &[]), ".");
    }
}

#[test]
fn reproduce_replaces_no_foreign_file() {
    let place = place();
    fs::write(place.path("q"), "dear diary").expect("written");
    place.refuses(&["reproduce", "mix", "--report", "q"], "q: exists, and Flashloom did not write it");
    place.refuses(&["reproduce", "mix", "--out", "."], ".: contains files that are not part of a result");
    place.refuses(&["reproduce", "mix", "--out", "q"], "q: is a file");
}

#[test]
fn two_outputs_to_one_path_are_refused() {
    let place = place();
    fs::create_dir(place.path("out")).expect("created");
    symlink("there.html", place.path("link")).expect("linked");
    place.done(&["run", "d.toml", "w.toml", "--report", "there.html"]);
    for (one, other, wanted) in [
        (["--report", "q"], ["--requests", "./q"], "./q: --report and --requests write to the same path"),
        (["--report", "there.html"], ["--timeline", "link"], "link: --report and --timeline write to the same path"),
        (["--save-snapshot", "q"], ["--requests", "q"], "--save-snapshot and --requests write to the same path"),
        (["--out", "q"], ["--report", "q"], "q: --out and --report write to the same path"),
        (["--out", "out"], ["--report", "out/report.html"], "--report would write into the directory of the result"),
    ] {
        place.refuses(&[&["run", "d.toml", "w.toml"], &one[..], &other[..]].concat(), wanted);
    }
    let before = place.content();
    let results = fs::File::create(place.path("results")).expect("created");
    let mut run = place.command(&["run", "d.toml", "w.toml", "--report", "results"]);
    let output = run.stdout(results).output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("results: the standard output and --report write to the same path"), "{said}");
    fs::remove_file(place.path("results")).expect("removed");
    assert!(place.content() == before);
}

/// A character device in the folder if the test has the permission to make one, otherwise the machine's own device.
fn device(place: &WorkFolder, name: &str, minor: &str) -> String {
    let path = place.path(name);
    let made = Command::new("mknod").arg(&path).args(["c", "1", minor]).stderr(Stdio::null()).status();
    let usable = made.is_ok_and(|made| made.success()) && fs::OpenOptions::new().write(true).open(&path).is_ok();
    if usable { name.to_owned() } else { format!("/dev/{name}") }
}

#[test]
fn devices_are_written_through() {
    let place = place();
    // Devices of the test's own, because a failing test could destroy the machine's.
    let (null, full) = (device(&place, "null", "3"), device(&place, "full", "7"));
    for writer in FILES {
        place.done(&writer.to(&null, &[]));
        place.refuses(&writer.to(&full, &[]), "full: cannot be written: ");
        let of = |path: &str| fs::symlink_metadata(place.path(path)).expect("there").file_type();
        assert!(of(&null).is_char_device() && of(&full).is_char_device(), "{:?} replaced a device", writer.option);
    }
    for (writer, _) in FOLDERS {
        place.refuses(&writer.to(&null, &["--force"]), "is a device or a pipe");
    }
}

#[test]
fn pipes_are_written_through() {
    let place = place();
    let pipe = place.path("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo is there").success());
    for writer in FILES {
        let (read, output) = std::thread::scope(|scope| {
            let reader = scope.spawn(|| fs::read(&pipe).expect("read"));
            let output = place.command(&writer.to("pipe", &[])).output().expect("it starts");
            // Opening the pipe ends the reader if the command wrote nothing. It is done only then: a process that
            // another test starts at that moment inherits this end for a while, and the reader of the next round would
            // take that process for its writer.
            if !output.status.success() {
                drop(fs::OpenOptions::new().read(true).write(true).open(&pipe).expect("opened"));
            }
            (reader.join().expect("it reads"), output)
        });
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(read.len() > 50, "{} bytes", read.len());
        assert!(fs::symlink_metadata(&pipe).expect("there").file_type().is_fifo());
    }
}

#[test]
fn output_paths_that_do_not_exist_are_refused() {
    let place = place();
    symlink("nowhere", place.path("link")).expect("linked");
    for writer in FILES.into_iter().chain(FOLDERS.map(|(writer, _)| writer)) {
        place.refuses(&writer.to("link", &["--force"]), "link: is a link to a missing file");
        place.refuses(&writer.to("no/such/place", &[]), "no/such/place: cannot be written: ");
        place.refuses(&writer.to("/proc/result", &[]), "/proc/result: cannot be written: ");
        place.refuses(&writer.to("", &[]), "value is required for");
    }
    for writer in FILES {
        place.refuses(&writer.to(".", &[]), ".: is a directory");
        place.refuses(&writer.to("q/", &[]), "q/: ends with a slash, like a directory");
    }
}

/// Waits until the command has opened its own file in the folder, with a name or without.
fn has_begun(child: &mut Child, folder: &Path) {
    let folder = folder.canonicalize().expect("there");
    loop {
        assert!(child.try_wait().expect("it runs").is_none(), "it has ended by itself");
        let open = fs::read_dir(format!("/proc/{}/fd", child.id())).into_iter().flatten().flatten();
        if open.filter_map(|entry| fs::read_link(entry.path()).ok()).any(|link| link.starts_with(&folder)) {
            return;
        }
        std::thread::yield_now();
    }
}

/// No file is left after any of the signals; no program can handle the last signal.
#[test]
#[cfg(target_os = "linux")]
fn a_command_ended_by_a_signal_leaves_no_output() {
    let place = place();
    fs::write(place.path("long.csv"), REQUEST.repeat(1_000_000)).expect("written");
    let out = place.path("new");
    fs::create_dir(&out).expect("created");
    let run = "run demo random-write-4k --precondition random:x100 --quiet --out new/out --report new/r.html \
               --timeline new/t.json --save-snapshot new/state --requests new/log";
    let lab = "--quiet --out new/out --report new/r.html";
    let commands = [
        run.to_owned(),
        run.replace("run", "explain").replace("--timeline new/t.json", ""),
        format!("compare random-write-4k demo --precondition random:x100 {lab}"),
        format!("study mix/traces {lab}"),
        format!("reproduce sung {lab}"),
        "trace convert long.csv new/long.parquet".to_owned(),
    ];
    for command in &commands {
        for (signal, code) in
            [("INT", Some(130)), ("TERM", Some(130)), ("HUP", Some(130)), ("QUIT", None), ("KILL", None)]
        {
            // A shell that runs the tests in the background ignores signals, and its programs inherit that. SIGQUIT
            // would write a memory image, so the limit of its size is zero.
            let mut shell = Command::new("env");
            let shell = shell.env(NO_STORE.0, NO_STORE.1).args([
                "--default-signal",
                "sh",
                "-c",
                "ulimit -c 0; exec \"$0\" \"$@\"",
                env!("CARGO_BIN_EXE_flashloom"),
            ]);
            let shell = shell.args(command.split_whitespace()).current_dir(place.0.path());
            let mut child = shell.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
            has_begun(&mut child, &out);
            let sent = Command::new("kill").args([format!("-{signal}"), child.id().to_string()]).status();
            assert!(sent.expect("kill is there").success());
            let status = child.wait().expect("it ends");
            assert_eq!(status.code(), code, "{command}: {signal}");
            assert_eq!(status.signal().is_none(), code.is_some(), "{command}: {signal}");
            let left: Vec<_> = fs::read_dir(&out).expect("there").flatten().map(|entry| entry.file_name()).collect();
            assert!(left.is_empty(), "{command}: {signal} has left {left:?}");
        }
    }
}

/// A limit of the size of files ends a command with a message, and not with a signal.
#[test]
fn a_file_that_exceeds_the_limit_of_its_size_is_named() {
    let place = place();
    let mut shell = Command::new("sh");
    shell.env(NO_STORE.0, NO_STORE.1).current_dir(place.0.path());
    shell.args(["-c", "ulimit -f 1; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_flashloom")]);
    let output = shell.args(["run", "d.toml", "w.toml", "--quiet", "--report", "r.html"]).output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{:?}: {said}", output.status);
    assert!(said.contains("r.html: cannot be written: File too large") && said.contains("ulimit -f"), "{said}");
    assert!(!place.path("r.html").exists());
}

/// A folder holds the result of one run or of another, never a part or a mixture, whenever the program is killed.
#[test]
#[cfg(target_os = "linux")]
fn a_killed_command_leaves_the_old_result_or_the_new_one() {
    let place = place();
    let run =
        |seed: &'static str, out: &'static str| ["run", "d.toml", "w.toml", "--quiet", "--seed", seed, "--out", out];
    place.done(&run("1", "old"));
    place.done(&run("2", "new"));
    let set = |folder: &str| -> std::collections::BTreeMap<_, _> {
        let entries = fs::read_dir(place.path(folder)).expect("a folder").flatten();
        // The command has the name of the folder.
        let others = entries.filter(|entry| entry.file_name() != "command.txt");
        others.map(|entry| (entry.file_name(), fs::read(entry.path()).expect("a file"))).collect()
    };
    let (old, new) = (set("old"), set("new"));
    assert_ne!(old, new);
    let is_hidden = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().starts_with(".flashloom-");
    for number in 0..8 {
        place.done(&run("1", "out"));
        let mut command = Command::new(env!("CARGO_BIN_EXE_flashloom"));
        command.env(NO_STORE.0, NO_STORE.1).args(run("2", "out")).current_dir(place.0.path());
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
        let begins = || fs::read_dir(place.0.path()).expect("there").flatten().any(|entry| is_hidden(&entry));
        while !begins() && child.try_wait().expect("it runs").is_none() {
            std::thread::yield_now();
        }
        (0..number * 40).for_each(|_| std::thread::yield_now());
        child.kill().expect("SIGKILL is sent");
        child.wait().expect("it ends");
        let left = set("out");
        assert!(left == old || left == new, "{number}: {:?}", left.keys());
    }
}

/// The file system of the build folder may have no nameless files; the next command removes named ones too.
#[test]
fn the_next_command_removes_the_files_of_a_killed_one() {
    let place = place();
    fs::write(place.path(".flashloom-1-0.part"), "half a page").expect("written");
    place.done(&["run", "d.toml", "w.toml", "--report", "r.html"]);
    assert!(!place.path(".flashloom-1-0.part").exists());
}

#[test]
fn a_failing_run_makes_no_folder() {
    let place = place();
    fs::write(place.path("t.csv"), REQUEST.replace("0,4096", "81920000000,4096")).expect("written");
    for outputs in [&["--out", "out"][..], &["--report", "r"], &["--requests", "q"], &["--timeline", "t"]] {
        place.refuses(&[&["run", "d.toml", "t.csv"], outputs].concat(), "t.csv:1: ");
    }
}
