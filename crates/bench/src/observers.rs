//! The cost of observing a run: sessions that verify every read, or explain every latency, compared with sessions that
//! do neither.
//!
//! `--report` also writes its pages, which take some milliseconds however long the run is, and are left out here.

use base::units::Sectors;
use flash::nand::{Sector, Stamp};
use ssd::{Drive, Precondition, Ssd};
use study::catalogue::Device;
use study::oracle::{Blank, Oracle, Payload};
use study::session::{Flow, Session, Stop};
use study::watch::Watch;
use workload::generate::{Generator, GeneratorSpec};

use crate::drives;
use floor::report::Row;
use floor::rounds::{self, Goal, Load, NamedLoad, Plan};

/// A workload of reads and writes of 4 to 64 KiB, with some addresses hotter than others.
const WORKLOAD: &str = r#"
name = "observed"
requests = 1_000_000_000_000
arrivals = { kind = "closed", depth = 16 }

[[stream]]
reads = "50%"
sizes = [{ size = "4KiB", share = "50%" }, { size = "16KiB", share = "30%" }, { size = "64KiB", share = "20%" }]
address = { pattern = "zipf", theta = 0.9 }
"#;

/// A drive on which every slice is a session of its own.
pub(crate) struct ObservedDrive<S, P> {
    device: Device,
    drive: Ssd<S>,
    payload: P,
    source: Generator,
}

impl<S: Sector, P: Payload<S>> ObservedDrive<S, P> {
    fn new(device: &Device, watch: Option<Watch>, payload: P) -> Self {
        let mut drive = Ssd::new(&device.resolved, 1);
        if let Some(watch) = watch {
            drive = drive.observed_by(watch);
        }
        _ = drive.precondition(Precondition::Fill, &mut |_, _| {});
        let spec = GeneratorSpec::from_toml(WORKLOAD);
        let source = spec.and_then(|spec| Generator::new(&spec, drive.capacity(), 1));
        let source = source.unwrap_or_else(|faults| panic!("a built-in workload: {faults:?}"));
        Self { device: device.clone(), drive, payload, source }
    }
}

impl ObservedDrive<(), Blank> {
    /// Creates a full drive without observers.
    pub(crate) fn plain(device: &Device) -> Self {
        Self::new(device, None, Blank)
    }
}

impl<S: Sector, P: Payload<S>> Load for ObservedDrive<S, P> {
    fn slice(&mut self, requests: u64) -> u64 {
        let session = Session::new(&self.device).flow(Flow::of("bench", &mut self.source));
        let outcome = session.stop(Stop::Requests(requests)).run_on(&mut self.drive, &mut self.payload);
        let outcome = outcome.unwrap_or_else(|error| panic!("a built-in workload: {error}"));
        outcome.first().result.completed
    }

    fn note(&self) -> String {
        String::new()
    }
}

/// Measures the observers. The goals: with `--verify` 0.8 of the rate without, with `--report` 1.15 times the time.
pub(crate) fn measure(plan: Plan<'_>, bare: fn() -> Box<dyn Load>) -> Vec<Row> {
    let verify = Goal::share(0.8);
    let report = Goal::share(0.87);
    let of = |name: &str, requests| {
        let device = drives::open(name, &[]);
        let granularity = Sectors::new(u64::from(device.resolved.geometry.sectors));
        let title = |what: &str| format!("reads and writes, {name}{what}");
        let (first, second, third) = (device.clone(), device.clone(), device);
        let plain = move || ObservedDrive::plain(&first);
        let checked = move || ObservedDrive::<Stamp, _>::new(&second, None, Oracle::blank(granularity));
        let explained = move || ObservedDrive::<(), _>::new(&third, Some(Watch::default().explaining()), Blank);
        let three = vec![
            NamedLoad::new(title(""), requests, None, plain),
            NamedLoad::new(title(", --verify"), requests, verify, checked),
            NamedLoad::new(title(", --report"), requests, report, explained),
        ];
        rounds::run(three, plan, bare)
    };
    [of("demo", 60_000), of("chang-c3", 6_000)].concat()
}
