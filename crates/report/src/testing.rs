//! Helpers that the tests of this crate share.

use std::path::Path;

use base::engine::Rng;
use base::units::{Span, Time};
use ssd::{Drive, Precondition, QueueId, Spec, Ssd};
use study::config::Document;
use study::execute::{Program, StudyOutcome};
use study::oracle::Blank;
use study::plan::Plan;
use study::run::{Course, Flow, Rules, RunResult};
use study::summary::{Provenance, Report, Summary};
use study::watch::Watch;
use testkit::{List, requests, small};
use workload::{Arrival, Pacing};

/// Runs these requests on this drive, background work included, and returns the result.
pub(crate) fn settled<D: Drive<()>>((mut drive, mut source): (D, List)) -> RunResult {
    Rules::settle(Span::from_secs(10)).run(&mut drive, &mut source, &mut Blank).expect("it runs")
}

/// Runs two flows on a drive with four servers.
pub(crate) fn two_flows() -> RunResult {
    let (mut drive, mut flows) = small::two_flows();
    let mut all = Vec::new();
    for (name, source) in &mut flows {
        all.push(Flow { name: (*name).into(), source, pacing: None, queue: QueueId::default() });
    }
    Rules::default().run_several(&mut drive, all, &mut Blank).expect("it runs")
}

/// Runs two flows on a drive with four servers, with a detailed series in intervals of 5 ms.
pub(crate) fn recorded_flows() -> RunResult {
    let (mut drive, mut flows) = small::two_flows();
    let flow = |(name, source)| Flow { name: String::from(name), source, pacing: None, queue: QueueId::default() };
    let flows = flows.iter_mut().map(|(name, source)| flow((*name, source))).collect();
    let rules = Rules { course: Some(Course { interval: Some(Span::from_ms(5)) }), ..Rules::default() };
    rules.run_several(&mut drive, flows, &mut Blank).expect("it runs")
}

/// Runs requests of all kinds on a small drive with this observer.
pub(crate) fn watched(watch: Watch) -> Ssd<()> {
    let spec: Spec = toml::from_str(
        r#"name = "s"
flash = { part = "dirik-2009", channels = 1, chips = 1, blocks = 40, pages = 16 }
host = { link = "none" }
ftl = { over-provisioning = "40%" }
"#,
    )
    .expect("a description");
    let mut drive = Ssd::<()>::new(&spec.resolve().expect("valid"), 1).observed_by(watch);
    drive.precondition(Precondition::Fill, &mut |_, _| {});
    let (start, capacity) = (drive.now(), drive.capacity().get());
    drive.observer_mut::<Watch>().expect("it is watched").begin(start);
    let mut rng = Rng::stream(5, "window");
    let arrivals = (0..2_000).map(|_| Arrival::new(Time::ZERO, requests::draw(&mut rng, capacity))).collect();
    let mut source = List::new(arrivals, Pacing::Closed { depth: 4 });
    Rules::settle(Span::from_secs(10)).run(&mut drive, &mut source, &mut Blank).expect("it runs");
    drive
}

/// Calls `check` with the report of a result, with these erase counts of its blocks, and with its summary.
pub(crate) fn reported<T>(
    result: &RunResult,
    erase_counts: &[u32],
    check: impl FnOnce(Report<'_>, &Summary) -> T,
) -> T {
    let about = Provenance { seed: 7, device: "a <drive>".into(), workload: "a mix".into(), ..Provenance::default() };
    let report = Report { erase_counts, ..Report::new(&about, result) };
    check(report, &Summary::new(&report))
}

/// Runs the study that this text describes.
pub(crate) fn studied(text: &str) -> StudyOutcome {
    let document = Document::parse(Path::new("s.toml"), text.to_owned()).expect("TOML");
    let plan = Plan::new(&document).expect("sound");
    study::execute::run(plan, &Program::default(), None, &|_, _| {}).expect("it runs")
}
