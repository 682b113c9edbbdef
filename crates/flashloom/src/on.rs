//! `flashloom study --on`: the runs of studies on the workers of a Dask cluster.
//!
//! Dask is a Python library. The program `python -m flashloom` is this command with a [`Cluster`], which does the runs of a
//! [`Sweep`] on Dask's workers. The plain program has no cluster, and starts the Python program with its own arguments.

use std::fmt;
use std::io;
use std::process::{Command, Stdio};
use std::str::FromStr;

use study::execute::{StudyOutcome, Sweep};

use crate::args::StudyArgs;
use crate::exit::Failure;
use crate::run::program;

/// Runs studies on other machines.
pub trait Cluster {
    /// Does the remaining runs of a study, and returns the study's outcome. `progress` takes the number of finished runs and of all
    /// runs.
    ///
    /// # Errors
    /// If the cluster cannot be reached or used, or a run fails.
    fn run(&self, sweep: Sweep, on: &ClusterSettings, progress: ProgressCallback)
    -> Result<StudyOutcome, ClusterError>;
}

/// Takes the number of finished runs, and the number of all runs.
pub type ProgressCallback = Box<dyn Fn(u64, u64) + Send + Sync>;

/// The place where studies run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterSettings {
    /// The address of the scheduler, or `local`.
    pub address: Address,
    /// The number of workers to start on this machine.
    pub jobs: Option<usize>,
    /// Bytes of memory that all workers may use together.
    pub memory: Option<u64>,
    /// The URL of the store; none for a folder.
    pub store: Option<String>,
}

/// The reason for which a cluster did not do the runs of a study.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClusterError {
    /// The input is at fault, or the cluster cannot be used.
    Input(String),
    /// Flashloom is at fault.
    Bug(String),
}

impl From<ClusterError> for Failure {
    fn from(error: ClusterError) -> Self {
        match error {
            ClusterError::Input(text) => Self::Input(text),
            ClusterError::Bug(message) => Self::Bug { message, replay: "that of the study named above".to_owned() },
        }
    }
}

/// The address of a scheduler of Dask, or this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address(String);

/// The error for a text that is no address of a scheduler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseAddressError(String);

/// The address that stands for workers on this machine.
const LOCAL: &str = "local";

impl fmt::Display for ParseAddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(text) = self;
        write!(
            f,
            "`{text}` is not the address of a scheduler: write e.g. tcp://scheduler:8786, or local for this machine"
        )
    }
}

impl std::error::Error for ParseAddressError {}

impl FromStr for Address {
    type Err = ParseAddressError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let place = text.split_once("://").map_or(text, |(_, place)| place);
        let is_port = |(host, port): (&str, &str)| !host.is_empty() && port.parse::<u16>().is_ok();
        let is_address = text == LOCAL || place.trim_end_matches('/').rsplit_once(':').is_some_and(is_port);
        if is_address { Ok(Self(text.to_owned())) } else { Err(ParseAddressError(text.to_owned())) }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Address {
    /// True for workers on this machine.
    #[must_use]
    pub fn is_local(&self) -> bool {
        self.0 == LOCAL
    }
}

impl ClusterSettings {
    /// The place that the arguments name.
    pub(crate) fn new(address: Address, args: &StudyArgs) -> Result<Self, Failure> {
        let no_effect = [("--jobs", args.jobs.is_some()), ("--memory", args.memory.is_some())];
        if let Some((option, _)) = no_effect.into_iter().find(|(_, given)| *given && !address.is_local()) {
            return Err(Failure::Input(format!(
                "{option}: has no effect on a cluster, whose workers have what they were started with; leave it out, or \
                 write --on local"
            )));
        }
        Ok(Self {
            address,
            jobs: args.jobs.map(std::num::NonZeroUsize::get),
            memory: args.memory.map(base::units::Bytes::get),
            store: args.store.url().map(str::to_owned),
        })
    }
}

/// Prints the version of the Python package; prints nothing if Dask is missing.
const ASK: &str =
    "import importlib.util as u, flashloom; print(flashloom.__version__ if u.find_spec('distributed') else '')";

/// The program that runs Python.
const PYTHON: &str = "python3";

/// Replaces this process by the Python program with the same arguments. Returns only if that fails.
pub(crate) fn hand_over() -> Failure {
    let cannot = |why: String| {
        let remedy = "install it for that Python with `pip install 'flashloom[cluster]'`, or run without --on";
        Failure::Input(format!("--on: {why}; {remedy}"))
    };
    let asked = Command::new(PYTHON).args(["-c", ASK]).stdin(Stdio::null()).stderr(Stdio::null()).output();
    let version = match asked {
        Err(error) => return cannot(format!("{PYTHON} cannot be started ({error}), and Dask is used from Python")),
        Ok(output) if !output.status.success() => {
            return cannot(format!("{PYTHON} does not have the package flashloom, through which Dask is used"));
        }
        Ok(output) => String::from_utf8_lossy(&output.stdout).trim().to_owned(),
    };
    let own = program().version;
    match version.as_str() {
        "" => cannot(format!("the package flashloom of {PYTHON} is there without Dask")),
        other if other != own => {
            cannot(format!("{PYTHON} has version {other} of the package flashloom, and this is version {own}"))
        }
        _ => {
            let error = replaced_by(Command::new(PYTHON).args(["-m", "flashloom"]).args(std::env::args_os().skip(1)));
            cannot(format!("{PYTHON} cannot be started ({error})"))
        }
    }
}

/// Replaces this process by another program. Returns only if that fails.
#[cfg(unix)]
fn replaced_by(command: &mut Command) -> io::Error {
    std::os::unix::process::CommandExt::exec(command)
}

/// Runs another program and ends with its exit code.
#[cfg(not(unix))]
fn replaced_by(command: &mut Command) -> io::Error {
    match command.status() {
        Ok(status) => std::process::exit(status.code().unwrap_or(2)),
        Err(error) => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_port_or_is_this_machine() {
        for text in ["local", "tcp://scheduler:8786", "tls://10.0.0.1:1/", "scheduler:8786", "tcp://[::1]:8786"] {
            assert_eq!(text.parse::<Address>().map(|address| address.to_string()), Ok(text.to_owned()));
        }
        for text in ["", "here", "tcp://scheduler", "scheduler:", ":8786", "tcp://scheduler:port", "a:70000"] {
            let said = text.parse::<Address>().expect_err(text).to_string();
            assert!(said.starts_with(&format!("`{text}` is not")) && said.contains("tcp://scheduler:8786"), "{said}");
        }
        assert!("local".parse::<Address>().is_ok_and(|address| address.is_local()));
    }
}
