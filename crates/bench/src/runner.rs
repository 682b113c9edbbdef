//! The same reads the way a user gets them: a generator, the runner, its statistics.

use ssd::{Drive, Ssd};
use study::oracle::Blank;
use study::run::Runner;
use workload::generate::{Generator, GeneratorSpec};

use crate::rounds::Load;

const WORKLOAD: &str = r#"
name = "bench"
requests = 1_000_000_000_000
arrivals = { kind = "closed", depth = 512 }

[[stream]]
reads = "100%"
sizes = [{ size = "4KiB" }]
address = { pattern = "uniform" }
"#;

/// Runs of a drive, each of one slice.
pub(crate) struct Run {
    drive: Ssd<()>,
    source: Generator,
    note: String,
}

impl Run {
    pub(crate) fn new(drive: Ssd<()>) -> Self {
        let spec = GeneratorSpec::from_toml(WORKLOAD);
        let source = spec.and_then(|spec| Generator::new(&spec, drive.capacity(), 1));
        let source = source.unwrap_or_else(|faults| panic!("a built-in workload: {faults:?}"));
        Self { drive, source, note: String::new() }
    }
}

impl Load for Run {
    fn slice(&mut self, requests: u64) -> u64 {
        let runner = Runner::new().limit(requests);
        let result = runner.run(&mut self.drive, &mut self.source, &mut Blank);
        let result = result.unwrap_or_else(|error| panic!("a built-in workload: {error}"));
        if let Some(rate) = result.requests_per_second() {
            self.note = format!("{:.0} thousand requests per simulated second", rate / 1e3);
        }
        result.completed
    }

    fn note(&self) -> String {
        self.note.clone()
    }
}
