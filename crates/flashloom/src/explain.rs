//! `flashloom explain`: the parts of the requests' latencies.

use std::io::Write;
use std::num::NonZeroUsize;

use report::{
    cautions_text, explained_rows, explained_table, levers_text, request_rows, request_table, retries_text,
    suspensions_text, trial_rows,
};
use study::catalogue::{Device, device_from};
use study::execute::at_once;
use study::explanation::Explanation;
use study::memory::{self, Need};
use study::watch::Watch;
use study::watch::explain::OneRequest;
use study::what_if::{self, Change, Trial, Trouble};

use crate::args::{Form, RunArgs};
use crate::device::{changed, device_of};
use crate::exit::{Failure, print};
use crate::machine;
use crate::progress::Bar;
use crate::run::{Outputs, Workloads, announced, failure, opened, say_pages, session};

/// Runs `flashloom explain`. With `what_if` it also runs the settings that act on the largest parts, `jobs` at once.
pub(crate) fn explain(
    args: &RunArgs,
    request: Option<u64>,
    what_if: Option<Option<NonZeroUsize>>,
    results: &mut dyn Write,
) -> Result<(), Failure> {
    refuse(args, what_if.is_some())?;
    let watch = match request {
        Some(_) => Watch::default().journeys(request),
        None => Watch::default().explaining(),
    };
    let device = device_of(args)?;
    let session = announced(args, &device, Some(watch))?;
    let mut outputs = Outputs::create(args, &session)?;
    let outcome = outputs.attach(session).run().map_err(|error| failure(&error, outputs.provenance()))?;
    let runs = outcome.summaries();
    say_pages(&outputs.finish(&outcome, &runs)?);
    let watch = outcome.watch.as_ref().expect("somebody watched");
    let one = match request {
        None => None,
        Some(number) => {
            let journey = watch.finished().iter().find(|journey| journey.tag == number);
            let missing = || {
                let count = watch.finished().len();
                Failure::Input(format!(
                    "--request {number}: the run has {count} requests, counted from 0; name one of them"
                ))
            };
            Some(OneRequest::new(journey.ok_or_else(missing)?, watch.legs()))
        }
    };
    let mut all = Explanation::new(watch.bands(), one, &runs);
    // If requests fail, changed settings are no remedy, and the latencies of the other requests mean little.
    if request.is_none() && args.failures.check(&runs).is_ok() {
        let document = changed(args)?;
        let changes = what_if::changes(&document, &all.culprits);
        all.levers = changes.iter().map(|change| change.set.clone()).collect();
        if let Some(jobs) = what_if {
            all.what_if = trials(args, &changes, jobs)?;
        }
    }
    let text = match (Form::of(args.output.json, args.output.csv), &all.request) {
        (Form::Json, _) => all.json(),
        (Form::Csv, Some(one)) => request_rows(&one.legs).csv(),
        (Form::Csv, None) if !all.what_if.is_empty() => trial_rows(&all.what_if).csv(),
        (Form::Csv, None) => explained_rows(&all.explained).csv(),
        (Form::Text, Some(one)) => request_table(one),
        (Form::Text, None) => {
            explained_table(&all.explained)
                + &suspensions_text(&runs)
                + &retries_text(&runs)
                + &cautions_text(&runs)
                + &levers_text(&all)
        }
    };
    print(results, &text)?;
    args.failures.check(&runs)
}

/// Refuses options of `flashloom run` that `explain` does not know.
fn refuse(args: &RunArgs, is_what_if: bool) -> Result<(), Failure> {
    let mut pipe = std::iter::once(&args.workload).chain(args.issue.flow.iter().map(|flow| &flow.workload));
    if is_what_if && pipe.any(|path| path.as_os_str() == "-") {
        let remedy = "keep it in a file";
        return Err(Failure::Input(format!("--what-if: runs the workload again, and standard input ends; {remedy}")));
    }
    if args.output.timeline.is_some() {
        let remedy = "give --timeline to `flashloom run`";
        return Err(Failure::Input(format!("explain writes no timeline; {remedy}")));
    }
    if args.issue.fairness {
        let remedy = "leave out --fairness, or give it to `flashloom run`";
        return Err(Failure::Input(format!("explain compares no flow with itself alone; {remedy}")));
    }
    if args.output.series.is_some() {
        let remedy = "leave out --series, or give it to `flashloom run`";
        return Err(Failure::Input(format!("explain prints no course of the run; {remedy}")));
    }
    if let Some(option) = args.store.given() {
        let remedy = format!("leave out {option}");
        return Err(Failure::Input(format!("explain shows one run, and keeps no result; {remedy}")));
    }
    if args.seeds > 1 {
        let remedy = "leave out --seeds, or give it to `flashloom run`";
        return Err(Failure::Input(format!("explain shows the requests of one run; {remedy}")));
    }
    Ok(())
}

/// Runs the device as it is and with each change.
fn trials(args: &RunArgs, changes: &[Change], jobs: Option<NonZeroUsize>) -> Result<Vec<Trial>, Failure> {
    let base = device_from(&changed(args)?)?;
    let bar = Bar::steps("what if", args.output.quiet);
    let session = |device, state| opened(args, device, state);
    let jobs = fitting(args, std::iter::once(&base).chain(changes.iter().map(|change| &change.device)), jobs)?;
    let trials = what_if::run((&base, changes), session, Some(jobs), &|done, all| bar.step(done, all));
    trials.map_err(|trouble| match trouble {
        Trouble::Open(failure) => failure,
        Trouble::Session(error) => Failure::Input(error.to_string()),
    })
}

/// The number of runs that fit into the memory at once, unless the user gives a number.
fn fitting<'a>(
    args: &RunArgs,
    devices: impl Iterator<Item = &'a Device>,
    jobs: Option<NonZeroUsize>,
) -> Result<NonZeroUsize, Failure> {
    let asked = NonZeroUsize::new(at_once(jobs)).unwrap_or(NonZeroUsize::MIN);
    let Some(limit) = machine::memory(args.memory) else { return Ok(asked) };
    let files = Workloads::named(args)?;
    let memory = |device: &Device| session(args, device, None).memory_under(files.all());
    let need = |device: &Device| Need { name: device.name.clone(), memory: memory(device) };
    let needs: Vec<Need> = devices.map(need).collect();
    let least = if jobs.is_some() { asked.get() } else { 1 };
    let mut fewer = (least..=asked.get()).rev();
    let fits = |count: &usize| memory::check(needs.clone(), *count, &limit);
    match fewer.find(|count| fits(count).is_ok()).and_then(NonZeroUsize::new) {
        Some(count) => Ok(count),
        None => Err(Failure::Input(fits(&least).expect_err("it does not fit").to_string())),
    }
}
