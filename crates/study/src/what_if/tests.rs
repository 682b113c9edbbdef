//! Tests of trials of a small drive.

use std::path::Path;

use ssd::Precondition;

use super::*;
use crate::catalogue::{WorkloadError, device, device_from, workload};
use crate::explanation::Explanation;
use crate::plan::RunSpec;
use crate::session::Flow;

/// A run of 3,000 requests of `oltp` on a demo drive that collects garbage.
fn session<'a>(device: &'a Device, state: Option<State>) -> Result<Session<'a>, WorkloadError> {
    let spec = RunSpec {
        precondition: vec![Precondition::Fill, Precondition::RandomOverwrite(1.0)],
        limit: Some(3000),
        ..RunSpec::default()
    };
    let session = match state {
        None => Session::new(device).seed(3).spec(&spec),
        Some(state) => {
            Session::new(device).seed(3).spec(&RunSpec { precondition: Vec::new(), ..spec }).start_from(state)
        }
    };
    let oltp = workload(Path::new("oltp")).expect("built in");
    let flow: Flow<'a> = session.open(&oltp, &Default::default())?;
    Ok(session.flow(flow))
}

#[test]
fn each_change_runs_from_the_state_of_the_drive_as_it_is() {
    let document = device(Path::new("demo")).expect("built in");
    let base = device_from(&document).expect("sound");
    let outcome = session(&base, None).expect("it opens").watch(crate::watch::Watch::default().explaining()).run();
    let outcome = outcome.expect("it runs");
    let stages = outcome.summaries();
    let explanation = Explanation::new(outcome.watch.expect("somebody watched").bands(), None, &stages);
    let culprits = &explanation.culprits;
    let parts: Vec<JourneyPart> = culprits.iter().map(|culprit| culprit.part).collect();
    assert_eq!(parts, [JourneyPart::Die, JourneyPart::Buffer], "{culprits:?}");

    let changes = changes(&document, culprits);
    let sets: Vec<&str> = changes.iter().map(|change| change.set.as_str()).collect();
    assert!(sets.contains(&"flash.arbitration.commands=read-first") && sets.contains(&"flash.chips=2"), "{sets:?}");
    assert!(sets.iter().all(|set| !set.starts_with("ftl.log") && !set.starts_with("ftl.hydra")), "{sets:?}");
    let kept = ["flash.arbitration.commands=read-first", "flash.chips=2"];
    let changes: Vec<Change> = changes.into_iter().filter(|change| kept.contains(&&*change.set)).collect();
    let trials = |threads| run((&base, &changes), session, NonZeroUsize::new(threads), &|_, _| {}).expect("it runs");
    let all = trials(3);
    assert_eq!(all, trials(1), "the order of the runs does not matter");

    let [own, first, more] = &all[..] else { panic!("{all:?}") };
    assert_eq!((own.set.as_deref(), own.acts_on, own.start), (None, None, Start::Same));
    // With another order of the commands the format of the data is the same; with twice the chips it is not.
    assert_eq!((first.set.as_deref(), first.acts_on, first.start), (Some(kept[0]), Some("die-wait"), Start::Same));
    assert_eq!((more.set.as_deref(), more.start), (Some(kept[1]), Start::Own));
    assert!(more.price.cost_gib_mlc > own.price.cost_gib_mlc && first.price == own.price);
    let mean = |trial: &Trial| trial.run.as_ref().expect("it ran").kinds["read"].latency_us["mean"];
    assert!(mean(first) < mean(own) && mean(more) < mean(own), "{} {} {}", mean(own), mean(first), mean(more));
}

#[test]
fn a_change_that_cannot_run_says_why() {
    let document = device(Path::new("demo")).expect("built in");
    let base = device_from(&document).expect("sound");
    // The drive is so small that the workload has no room.
    let mut small = document.clone();
    small.set("ftl.capacity=4KiB").expect("a key");
    let small = device_from(&small).expect("sound");
    let change = Change { set: "ftl.capacity=4KiB".into(), part: JourneyPart::Die, device: small };
    let open = |device, state| session(device, state).map_err(|error| error.to_string());
    let trials = run((&base, &[change]), open, None, &|_, _| {}).expect("the drive as it is runs");
    assert!(trials[0].run.is_some() && trials[0].error.is_none());
    assert!(trials[1].run.is_none() && trials[1].error.is_some(), "{:?}", trials[1]);
}
