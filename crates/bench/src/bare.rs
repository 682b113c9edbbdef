//! A bare event loop, which runs in a process of its own beside the measurements.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use floor::clock::Cost;

use floor::rounds::Load;

/// A bare loop's process, which ends when its standard input is closed.
struct Bare {
    child: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
    /// The number of simulated requests per simulated second.
    simulated_rate: f64,
    /// The numbers of commands and of events per request in the latest slice.
    per_request: [f64; 2],
}

impl Bare {
    fn start(agenda: &str) -> Self {
        let beside = std::env::current_exe().map(|path| path.with_file_name("floor"));
        let path = beside.unwrap_or_else(|error| panic!("the path of this program: {error}"));
        let child = Command::new(&path).arg(agenda).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = child.unwrap_or_else(|error| panic!("{}: {error}; `make bench` builds it", path.display()));
        let (to, from) = (child.stdin.take(), child.stdout.take().expect("it is piped"));
        Self { child, to, from: BufReader::new(from), simulated_rate: 0.0, per_request: [0.0; 2] }
    }

    fn run(&mut self, requests: u64) -> Cost {
        let mut to = self.to.as_ref().expect("it is piped");
        let mut answer = String::new();
        let asked =
            writeln!(to, "{requests}").and_then(|()| to.flush()).and_then(|()| self.from.read_line(&mut answer));
        asked.unwrap_or_else(|error| panic!("the bare loop: {error}"));
        let numbers: Vec<f64> = answer.split_whitespace().filter_map(|number| number.parse().ok()).collect();
        let [cpu, wall, rate, commands, events] = numbers[..] else { panic!("the bare loop answered `{answer}`") };
        self.simulated_rate = rate;
        self.per_request = [commands, events];
        Cost { cpu, wall }
    }
}

/// A bare loop that does the same work as one of the drives, as a load that is measured beside it.
pub(crate) struct BareLoad {
    bare: Bare,
    /// Name of the commands that the loop counts; `None` if it counts events only.
    counted: Option<&'static str>,
}

impl BareLoad {
    /// Starts a bare loop, and runs `warm_up` requests before any measurement.
    pub(crate) fn start(agenda: &str, counted: &'static str, warm_up: u64) -> Self {
        let mut bare = Bare::start(agenda);
        bare.run(warm_up);
        Self { bare, counted: Some(counted) }
    }

    /// Starts the bare loop of reads, to which rates are compared.
    pub(crate) fn reads(agenda: &str) -> Self {
        Self { bare: Bare::start(agenda), counted: None }
    }
}

impl Load for BareLoad {
    fn slice(&mut self, requests: u64) -> u64 {
        self.measured(requests).0
    }

    /// The cost is measured in the process of the bare loop.
    fn measured(&mut self, requests: u64) -> (u64, Cost) {
        (requests, self.bare.run(requests))
    }

    fn note(&self) -> String {
        let Self { bare: Bare { per_request: [commands, events], simulated_rate, .. }, counted } = self;
        let counted = counted
            .map_or_else(String::new, |counted| format!("{commands:.3} {counted} and {events:.1} events for each, "));
        format!("{counted}{:.0} thousand requests per simulated second", simulated_rate / 1e3)
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        drop(self.to.take());
        _ = self.child.wait();
    }
}
