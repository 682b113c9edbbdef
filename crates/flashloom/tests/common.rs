//! A folder with small valid files, and the command in it.
#![allow(dead_code)] // Each test file uses a part of it.

pub(crate) mod schema;

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

pub(crate) const DEVICE: &str = r#"name = "small"

[flash]
part = "dirik-2009"
channels = 2
chips = 2
blocks = 64

[host]
queue-depth = 8

[ftl]
over-provisioning = "20%"
"#;

/// A few requests for [`DEVICE`].
pub(crate) const WORKLOAD: &str = r#"name = "w"
requests = 100
arrivals = { kind = "closed", depth = 4 }

[[stream]]
reads = "50%"
sizes = [{ size = "4KiB" }]
address = { pattern = "uniform" }
"#;

/// A drive of a few blocks, so that a run takes a millisecond.
pub(crate) const TINY_DEVICE: &str = r#"name = "tiny"
[flash]
part = "K9K8G08U0M"
channels = 1
chips = 1
planes = 1
blocks = 32
pages = 8
[ftl]
over-provisioning = "60%"
map-unit = "2KiB"
"#;

/// A few requests for [`TINY_DEVICE`].
pub(crate) const TINY_WORKLOAD: &str = r#"name = "w"
requests = 200
arrivals = { kind = "closed", depth = 2 }
[[stream]]
reads = "50%"
sizes = [{ size = "2KiB" }]
address = { pattern = "uniform" }
"#;

/// An MSR trace: stamps of 100 ns, host, disk, kind, byte, bytes, response time.
pub(crate) const TRACE: &str = "128166372003061629,hm,0,Read,0,4096,100\n128166372003062629,hm,0,Write,8192,4096,100\n";

/// A drive small enough to be filled many times in a second, with a buffer and more keys of its flash.
pub(crate) fn buffered(flash: &str) -> String {
    format!(
        r#"name = "small"

[flash]
part = "FMMU-V2"
channels = 2
chips = 2
blocks = 24
pages = 16
{flash}

[host]
link = "sata-600"
queue-depth = 16

[buffer]
size = "512KiB"

[ftl]
map-unit = "4KiB"
over-provisioning = "40%"
"#
    )
}

/// Requests of all kinds and sizes for [`buffered`].
pub(crate) const ALL_KINDS: &str = r#"name = "w"
requests = 20_000
arrivals = { kind = "closed", depth = 8 }

[[stream]]
reads = "50%"
discards = "5%"
sizes = [{ size = "512B..16KiB" }]
address = { pattern = "uniform" }
flush = { every = 100 }
"#;

/// The variable that names the default store of results; empty, so that no test uses the store of the user who runs it.
pub(crate) const NO_STORE: (&str, &str) = ("FLASHLOOM_STORE", "");

/// The command. Tests start it in no other way, or give a shell [`NO_STORE`].
pub(crate) fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flashloom"));
    command.env(NO_STORE.0, NO_STORE.1);
    command
}

/// A temporary folder in which tests run the command.
pub(crate) struct WorkFolder(pub(crate) tempfile::TempDir);

impl WorkFolder {
    /// A folder with `d.toml` ([`DEVICE`]), `w.toml` ([`WORKLOAD`]) and `t.csv` ([`TRACE`]).
    pub(crate) fn new() -> Self {
        Self::with(&[("d.toml", DEVICE), ("w.toml", WORKLOAD), ("t.csv", TRACE)])
    }

    /// A folder with these files: name and content.
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let place = Self(tempfile::tempdir().expect("a directory"));
        files.iter().for_each(|(name, text)| place.write(name, text));
        place
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        fs::write(self.path(name), text).expect("written");
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).expect("there")
    }

    /// The command, to be run in this folder.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = program();
        command.current_dir(self.0.path()).args(arguments);
        command
    }

    pub(crate) fn flashloom(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("it starts")
    }

    /// The standard output of a command that must succeed.
    #[track_caller]
    pub(crate) fn printed(&self, arguments: &[&str]) -> String {
        let output = self.flashloom(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text")
    }

    /// The standard output of a command that must succeed, parsed as JSON.
    #[track_caller]
    pub(crate) fn json(&self, arguments: &[&str]) -> serde_json::Value {
        serde_json::from_str(&self.printed(arguments)).expect("JSON")
    }
}
