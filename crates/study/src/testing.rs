//! Fixtures of this crate's tests.

use base::units::{Sectors, Span, Time};
use ssd::{Counters, Drive, QueueId};
use testkit::{FixedDrive, List, small};

use crate::oracle::Blank;
use crate::run::{Flow, Rules, RunResult};
use crate::summary::{Provenance, Report, Summary};

/// Counters of a drive that has been idle up to `at`.
pub(crate) fn counters_at(at: Time) -> Counters {
    Counters { at, ..FixedDrive::<()>::new(Sectors::new(1), 1, Span::from_ps(1)).counters() }
}

/// Runs these requests on this drive, background work included, and returns the result.
pub(crate) fn settled<D: Drive<()>>((mut drive, mut source): (D, List)) -> RunResult {
    Rules::settle(Span::from_secs(10)).run(&mut drive, &mut source, &mut Blank).expect("it runs")
}

/// The result of a run of two flows on a drive with four servers.
pub(crate) fn two_flows() -> RunResult {
    let (mut drive, mut flows) = small::two_flows();
    let flow = |(name, source)| Flow { name: String::from(name), source, pacing: None, queue: QueueId::default() };
    let flows = flows.iter_mut().map(|(name, source)| flow((*name, source))).collect();
    Rules::settle(Span::from_secs(10)).run_several(&mut drive, flows, &mut Blank).expect("it runs")
}

/// The summary of a result without observer.
pub(crate) fn summary(result: &RunResult) -> Summary {
    Summary::new(&Report::new(&Provenance::default(), result))
}

/// Small drives, one of each family and of each kind of map.
pub(crate) const DEVICES: [(&str, &str); 9] = [
    ("page", "map-unit = \"2KiB\""),
    ("table", "map-unit = \"2KiB\"\nmap = { kind = \"table\" }"),
    ("dftl", "map-unit = \"2KiB\"\nmap = { kind = \"dftl\" }"),
    ("fmmu", "map-unit = \"2KiB\"\nmap = { kind = \"fmmu\" }"),
    ("bast", "kind = \"bast\""),
    ("fast", "kind = \"fast\""),
    ("hydra", "kind = \"hydra\"\nhydra = { chips = 1 }"),
    ("chang", "kind = \"chang\""),
    ("slc", "kind = \"chang\"\n[slc]\npart = \"K9K8G08U0M\"\nblocks = 8\npages = 8"),
];

/// The device file of an entry of [`DEVICES`].
pub(crate) fn described((name, ftl): (&str, &str)) -> String {
    format!(
        r#"name = "{name}"
[flash]
part = "K9K8G08U0M"
channels = 2
chips = 1
planes = 1
blocks = 32
pages = 8
[ftl]
over-provisioning = "60%"
{ftl}
"#
    )
}
