//! A full, closed or unread standard output or standard error does not change the exit code.
#![cfg(unix)]

use std::fs::{self, File};
use std::process::{Command, Stdio};

use crate::common::{NO_STORE, program};

const DEVICE: &str = "name = \"d\"\n[flash]\npart = \"dirik-2009\"\nchannels = 1\nchips = 1\nblocks = 64\n[ftl]\nover-provisioning = \"20%\"\n";

/// A study whose claim fails.
const STUDY: &str = r#"name = "s"
device = "d.toml"
workload = "w.toml"
metrics = ["read.mean"]
[[claim]]
id = "X"
says = "x"
[[claim.expect]]
metric = "read.mean"
within = { between = ["0ns", "1ns"] }
"#;

const WORKLOAD: &str = r#"name = "w"
requests = 100
arrivals = { kind = "closed", depth = 4 }
[[stream]]
reads = "50%"
sizes = [{ size = "4KiB" }]
address = { pattern = "uniform" }
"#;

const TRACE: &str = "128166372003061629,hm,0,Read,0,4096,100\n";

/// Command lines that print a result.
const PRINTING: [&str; 18] = [
    "--help",
    "--version",
    "run --help",
    "help trace",
    "completions bash",
    "schema device",
    "devices",
    "devices demo",
    "workloads",
    "workloads oltp",
    "studies",
    "check d.toml",
    "trace formats",
    "trace info t.csv",
    "run d.toml w.toml --report r.html",
    "explain d.toml w.toml",
    "compare w.toml d.toml",
    "study mine.toml --json",
];

/// Command lines that write to the standard error, with their exit codes.
const SAYING: [(&str, i32); 9] = [
    ("run d.toml w.toml --report r.html --timeline t.json --window 0s..1ns", 0),
    ("trace convert t.csv t.parquet", 0),
    ("compare w.toml d.toml --out compared", 0),
    ("study s.toml --report s.html", 1),
    ("run none.toml w.toml", 2),
    ("run d.toml w.toml --report d.toml", 2),
    ("run d.toml w.toml --nonsense", 2),
    ("devices none", 2),
    ("", 2),
];

struct WorkFolder(tempfile::TempDir);

impl WorkFolder {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().expect("a directory"));
        let mine = STUDY.split("[[claim]]").next().unwrap_or_default();
        for (name, text) in
            [("d.toml", DEVICE), ("w.toml", WORKLOAD), ("s.toml", STUDY), ("mine.toml", mine), ("t.csv", TRACE)]
        {
            fs::write(place.0.path().join(name), text).expect("written");
        }
        place
    }

    fn command(&self, line: &str) -> Command {
        let mut command = program();
        command.current_dir(self.0.path()).args(line.split_whitespace());
        command
    }
}

fn full() -> Stdio {
    File::options().write(true).open("/dev/full").expect("there").into()
}

/// A pipe without a reader.
fn broken() -> Stdio {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    writer.into()
}

#[test]
fn a_full_standard_output_is_an_error_for_every_command() {
    let place = WorkFolder::new();
    for line in PRINTING {
        let output = place.command(line).stdout(full()).output().expect("it starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{line}: {said}");
        assert!(
            said.contains("error: the result cannot be printed: ") && said.contains("; redirect "),
            "{line}: {said}"
        );
        let status = place.command(line).stdout(full()).stderr(full()).status().expect("it starts");
        assert_eq!(status.code(), Some(2), "{line}, with a full standard error");
    }
}

#[test]
fn a_closed_pipe_on_standard_output_is_no_error() {
    let place = WorkFolder::new();
    for line in PRINTING {
        let output = place.command(line).stdout(broken()).output().expect("it starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{line}: {said}");
        assert!(!said.contains("error"), "{line}: {said}");
    }
}

#[test]
fn a_closed_standard_error_changes_no_result() {
    let place = WorkFolder::new();
    for (line, code) in SAYING {
        for stderr in [full, broken] {
            let status = place.command(line).stdout(Stdio::null()).stderr(stderr()).status().expect("it starts");
            assert_eq!(status.code(), Some(code), "{line}");
        }
        let both = place.command(line).stdout(broken()).stderr(broken()).status().expect("it starts");
        assert_eq!(both.code(), Some(code), "{line}");
    }
}

/// With a closed standard error, the next opened file must not get its descriptor and receive its messages.
#[test]
fn closed_streams_are_not_mistaken_for_files() {
    let place = WorkFolder::new();
    for (line, code) in SAYING {
        for closed in ["2>&-", "1>&- 2>&-", "0<&- 1>&- 2>&-"] {
            let mut shell = Command::new("sh");
            let script = format!("exec \"$0\" \"$@\" {closed}");
            let shell = shell.env(NO_STORE.0, NO_STORE.1);
            let shell = shell.args(["-c", &script, env!("CARGO_BIN_EXE_flashloom")]).args(line.split_whitespace());
            let status = shell.current_dir(place.0.path()).stdout(Stdio::null()).status().expect("it starts");
            assert_eq!(status.code(), Some(code), "{line} {closed}");
        }
    }
    let read = |name: &str| fs::read(place.0.path().join(name)).expect("there");
    assert!(read("r.html").starts_with(b"<!doctype html>") && read("r.html").ends_with(b"</html>\n"));
    assert!(read("t.json").starts_with(b"{") && read("t.json").trim_ascii_end().ends_with(b"}"));
    assert!(read("t.parquet").starts_with(b"PAR1") && read("t.parquet").ends_with(b"PAR1"));
    assert_eq!((read("d.toml"), read("t.csv")), (DEVICE.as_bytes().to_vec(), TRACE.as_bytes().to_vec()));
}
