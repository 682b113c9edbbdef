//! A bare event loop, which runs in a process of its own beside the measurements.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use floor::clock::Cost;

/// The process of a loop. It ends when its input does.
pub(crate) struct Bare {
    child: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
    /// Simulated requests per simulated second.
    pub(crate) simulated_rate: f64,
}

impl Bare {
    /// Starts the loop with this agenda.
    pub(crate) fn start(agenda: &str) -> Self {
        let beside = std::env::current_exe().map(|path| path.with_file_name("floor"));
        let path = beside.unwrap_or_else(|error| panic!("the path of this program: {error}"));
        let child = Command::new(&path).arg(agenda).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = child.unwrap_or_else(|error| panic!("{}: {error}; `make bench` builds it", path.display()));
        let (to, from) = (child.stdin.take(), child.stdout.take().expect("it is piped"));
        Self { child, to, from: BufReader::new(from), simulated_rate: 0.0 }
    }

    /// Runs a slice and returns its cost.
    pub(crate) fn run(&mut self, requests: u64) -> Cost {
        let mut to = self.to.as_ref().expect("it is piped");
        let mut answer = String::new();
        let asked =
            writeln!(to, "{requests}").and_then(|()| to.flush()).and_then(|()| self.from.read_line(&mut answer));
        asked.unwrap_or_else(|error| panic!("the bare loop: {error}"));
        let numbers: Vec<f64> = answer.split_whitespace().filter_map(|number| number.parse().ok()).collect();
        let [cpu, wall, rate] = numbers[..] else { panic!("the bare loop answered `{answer}`") };
        self.simulated_rate = rate;
        Cost { cpu, wall }
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        drop(self.to.take());
        _ = self.child.wait();
    }
}
