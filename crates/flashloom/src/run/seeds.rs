//! One run with several seeds: the means and their intervals.

use std::io::Write;
use std::path::PathBuf;

use report::run::{seeds_fill, seeds_names, seeds_page, seeds_rows, seeds_table};
use study::catalogue::{Device, WorkloadFile};
use study::execute::{self, ExecuteError, ResultStore, at_once};
use study::memory::{self, Need};
use study::output::{Kind, Outputs, publish};
use study::plan::{ConcurrentWorkload, Plan, Point, RunSpec, seeds_from};
use study::repeat::{RepeatedRuns, with_each};
use study::session::Flow;
use study::summary::Summary;
use workload::trace;

use super::{Workloads, failure, flows, idle, life, program, session, stem};
use crate::args::{Form, RunArgs};
use crate::device::device_of;
use crate::exit::{Failure, note, print, say};
use crate::flows::named;
use crate::machine;
use crate::progress::Bar;
use crate::store::from_store;

/// Runs the workload with each seed, on all cores.
pub(super) fn run(args: &RunArgs, results: &mut dyn Write) -> Result<(), Failure> {
    of_one_run(args)?;
    life::check(args)?;
    args.output.notices().check()?;
    let device = device_of(args)?;
    let seeds = seeds_from(args.seed, args.seeds);
    let first = session(args, &device, None);
    first.check().map_err(|error| failure(&error, &first.about()))?;
    let mut files = Workloads::named(args)?;
    if let Some(limit) = machine::memory(args.memory) {
        let memory = || first.memory_under(files.all());
        let need = |seed| Need { name: format!("{}, seed {seed}", device.name), memory: memory() };
        memory::check(seeds.iter().map(need).collect(), at_once(None), &limit)?;
    }
    // A pipe can be read only once, but every seed reads the workload.
    for file in std::iter::once(&mut files.first).chain(&mut files.others) {
        if let WorkloadFile::Trace(trace) = file
            && trace.is_once()
        {
            trace.keep().map_err(|error| Failure::Input(error.to_string()))?;
        }
    }
    let first = flows(args, first, &files)?;
    idle::check(args, first.flows())?;
    first.flows().iter().flat_map(Flow::doubts).for_each(note);
    let (about, stages) = (first.about(), first.flows().first().map_or(1, Flow::stages));
    // The output files are created first: a path that cannot be written ends the command before the long runs.
    let output = &args.output;
    let inputs = paths(args).chain(args.state.load_snapshot.clone());
    let mut outputs = Outputs::new(inputs.flat_map(|path| trace::files(&path)), output.replace.force);
    let names = seeds_names(args.issue.flow.len());
    let mut dir = output.out.as_deref().map(|path| outputs.folder("--out", path, &names)).transpose()?;
    let mut page = output.report.as_deref().map(|path| outputs.file("--report", path, Kind::Page)).transpose()?;
    let runs = match plan(args, &device, &files, stages) {
        Some(plan) => stored(args, plan?)?,
        None => anew(args, &device, &files, &seeds)?,
    };
    let stages = RepeatedRuns::stages(runs);
    let mut pages = Vec::new();
    if let Some(dir) = &mut dir {
        pages.push(seeds_fill(dir, &about, &stages)?);
    }
    if let Some(page) = &mut page {
        page.fill(|out| out.write_all(seeds_page(&program(), &stages).html().as_bytes()))?;
        pages.push(page.path().to_owned());
    }
    publish(page.into_iter().collect(), dir)?.iter().for_each(note);
    let text = match Form::of(args.output.json, args.output.csv) {
        Form::Json => RepeatedRuns::json(&stages),
        Form::Csv => stages.iter().map(|stage| seeds_rows(stage).csv()).collect(),
        Form::Text => stages.iter().map(seeds_table).collect::<Vec<_>>().join("\n"),
    };
    print(results, &text)?;
    for page in pages {
        say(format_args!("report: {}", page.display()));
    }
    args.failures.check(stages.iter().flat_map(|stage| &stage.runs))
}

/// The device and the workloads that the arguments name.
fn paths(args: &RunArgs) -> impl Iterator<Item = PathBuf> {
    let flows = args.issue.flow.iter().map(|flow| &flow.workload);
    [&args.device, &args.workload].into_iter().chain(flows).cloned()
}

/// The runs as a study of one point, whose results a store keeps. `None` if the runs are no point: the workload has
/// several stages, and thus several results, or its flows are not in the order of their names, as the flows of a point
/// are.
fn plan(args: &RunArgs, device: &Device, files: &Workloads, stages: usize) -> Option<Result<Plan, Failure>> {
    let own = stem(&args.workload);
    let flows = named(&args.issue, &own, |name| name);
    if stages > 1 || !flows.is_sorted_by(|(a, _), (b, _)| a < b) {
        return None;
    }
    let beside = flows.iter().zip(&files.others);
    let beside = beside
        .map(|((name, _), workload)| ConcurrentWorkload { name: name.clone(), workload: workload.clone() })
        .collect();
    let mut run = RunSpec {
        load_snapshot: args.state.load_snapshot.clone(),
        depth: args.issue.pace.depth,
        open: args.issue.open,
        queue: args.issue.queue,
        placement_id: args.issue.placement_id,
        // None for the default name: a study that does not name the workload then has the same run.
        name: (files.first.name().as_ref() != Some(&own)).then_some(own),
        series: args.output.series,
        flows: flows.into_iter().collect(),
        ..super::spec(args)
    };
    args.trace.apply(&mut run.reading);
    let point = Point { labels: Vec::new(), device: device.clone(), workload: files.first.clone(), beside, run };
    let plan = Plan::single("run", point, seeds_from(args.seed, args.seeds), paths(args).collect());
    Some(plan.map_err(Failure::from))
}

/// The results of the plan; results in the store are not computed again.
fn stored(args: &RunArgs, plan: Plan) -> Result<Vec<Vec<Summary>>, Failure> {
    let store = args.store.open()?;
    let result_store = store.as_ref().map(|store| ResultStore::new(store, &|said| note(said)));
    let bar = Bar::steps(&format!("{} seeds", args.seeds), args.output.notices());
    let outcome = execute::run_in(plan, &program(), None, result_store.as_ref(), &|done, all| bar.step(done, all));
    drop(bar);
    let outcomes = [outcome.map_err(|error| failed(args, &error))?];
    from_store(store.as_ref(), &outcomes);
    let [outcome] = outcomes;
    Ok(outcome.runs.into_iter().flatten().map(|summary| vec![summary]).collect())
}

/// The failure for an error of a run, with the command that repeats the run.
fn failed(args: &RunArgs, error: &ExecuteError) -> Failure {
    match error {
        ExecuteError::Session(error, place) => Failure::session(error, || {
            let (device, workload) = (args.device.display(), args.workload.display());
            format!("{device} under {workload} ({place})")
        }),
        error => Failure::study(error),
    }
}

/// The results of all runs, without a store.
fn anew(args: &RunArgs, device: &Device, files: &Workloads, seeds: &[u64]) -> Result<Vec<Vec<Summary>>, Failure> {
    if args.store.store.is_some() {
        let why = "the workload has several stages, or the flows are not in the order of their names";
        return Err(Failure::Input(format!("--store: keeps no result of this run: {why}; leave it out")));
    }
    let bar = Bar::steps(&format!("{} seeds", args.seeds), args.output.notices());
    let one = |seed| -> Result<Vec<Summary>, Failure> {
        let session = flows(args, session(args, device, None).seed(seed), files)?;
        let about = session.about();
        Ok(session.run().map_err(|error| failure(&error, &about))?.summaries())
    };
    with_each(seeds, None, one, &|done, all| bar.step(done, all))
}

/// Refuses outputs that can hold one run only.
fn of_one_run(args: &RunArgs) -> Result<(), Failure> {
    let output = &args.output;
    let given: Vec<&str> = [
        ("--requests", output.requests.is_some()),
        ("--timeline", output.timeline.is_some()),
        ("--save-snapshot", args.state.save_snapshot.is_some()),
    ]
    .into_iter()
    .filter_map(|(option, is)| is.then_some(option))
    .collect();
    match &given[..] {
        [] => Ok(()),
        [one] => Err(Failure::Input(format!("{one}: holds one run; {}", remedy(args)))),
        several => Err(Failure::Input(format!("{}: hold one run; {}", several.join(", "), remedy(args)))),
    }
}

fn remedy(args: &RunArgs) -> String {
    format!("leave out --seeds, or describe a study with `seeds = {}`", args.seeds)
}
