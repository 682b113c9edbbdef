//! Random reads as a user runs them, with a generator, a session and its statistics.

use ssd::{Drive, Ssd};
use study::catalogue::Device;
use study::oracle::Blank;
use study::session::{Flow, Session, Stop};
use workload::generate::{Generator, GeneratorSpec};

use floor::rounds::Load;

const WORKLOAD: &str = r#"
name = "bench"
requests = 1_000_000_000_000
arrivals = { kind = "closed", depth = 512 }

[[stream]]
reads = "100%"
sizes = [{ size = "4KiB" }]
address = { pattern = "uniform" }
"#;

/// A drive on which every slice is a session of its own.
pub(crate) struct Run {
    device: Device,
    drive: Ssd<()>,
    source: Generator,
    note: String,
}

impl Run {
    pub(crate) fn new(device: Device, drive: Ssd<()>) -> Self {
        let spec = GeneratorSpec::from_toml(WORKLOAD);
        let source = spec.and_then(|spec| Generator::new(&spec, drive.capacity(), 1));
        let source = source.unwrap_or_else(|faults| panic!("a built-in workload: {faults:?}"));
        Self { device, drive, source, note: String::new() }
    }
}

impl Load for Run {
    fn slice(&mut self, requests: u64) -> u64 {
        let session = Session::new(&self.device).flow(Flow::of("bench", &mut self.source));
        let outcome = session.stop(Stop::Requests(requests)).run_on(&mut self.drive, &mut Blank);
        let outcome = outcome.unwrap_or_else(|error| panic!("a built-in workload: {error}"));
        let result = &outcome.first().result;
        if let Some(rate) = result.requests_per_second() {
            self.note = format!("{:.0} thousand requests per simulated second", rate / 1e3);
        }
        result.completed
    }

    fn note(&self) -> String {
        self.note.clone()
    }
}
