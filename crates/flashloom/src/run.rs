//! `flashloom run`: runs a workload on a drive and prints the results.

mod idle;
mod life;
mod outputs;
mod seeds;

use std::io::Write;
use std::path::{Path, PathBuf};

use base::io::PlacementId;
use base::units::Exact;
use report::run::{rows, table};
use report::tables;
use ssd::QueueId;
use study::catalogue::{self, Device, WorkloadFile};
use study::plan::RunSpec;
use study::session::{Course, Flow, Program, Session, SessionError};
use study::snapshot::State;
use study::summary::{Provenance, Summary};
use study::watch::Watch;
use study::watch::timeline::Timeline;

use crate::args::{Form, OutputArgs, RunArgs};
use crate::device::{device_of, resolved};
use crate::exit::{Failure, note, print, say};
use crate::machine;

pub(crate) use outputs::Outputs;

pub(crate) fn run(args: &RunArgs, results: &mut dyn Write) -> Result<(), Failure> {
    if args.seeds > 1 {
        return seeds::run(args, results);
    }
    if let Some(option) = args.store.given() {
        let remedy = "leave it out, or give --seeds";
        return Err(Failure::Input(format!("{option}: has no effect here: one run keeps no result; {remedy}")));
    }
    let device = device_of(args)?;
    let session = announced(args, &device, watch(&args.output))?;
    let mut outputs = Outputs::create(args, &session)?;
    let outcome = outputs.attach(session).run().map_err(|error| failure(&error, outputs.provenance()))?;
    let summaries = outcome.summaries();
    let pages = outputs.finish(&outcome, &summaries)?;
    print_results(args, &summaries, results)?;
    say_pages(&pages);
    if let (Some(path), Some(timeline)) = (&args.output.timeline, outcome.timeline()) {
        say_timeline(path, timeline);
    }
    args.failures.check(&summaries)
}

/// Prints the results of all stages in the form that the user wants.
fn print_results(args: &RunArgs, summaries: &[Summary], results: &mut dyn Write) -> Result<(), Failure> {
    let text = match Form::of(args.output.json, args.output.csv) {
        Form::Json => Summary::json(summaries),
        Form::Csv => match summaries {
            [Summary { life: Some(life), .. }] => tables::life(&life.curve).csv(),
            _ => rows(summaries).csv(),
        },
        Form::Text => summaries.iter().map(table).collect::<Vec<_>>().join("\n\n"),
    };
    print(results, &text)
}

pub(crate) fn say_pages(pages: &[PathBuf]) {
    for page in pages {
        say(format_args!("report: {}", page.display()));
    }
}

/// Reports the path of the timeline, and the number of events that it leaves out.
fn say_timeline(path: &Path, timeline: &Timeline) {
    if timeline.slices().is_empty() {
        note("no flash command ran in the window of the timeline; choose another window with --window");
    }
    if timeline.dropped() > 0 {
        let (dropped, kept) = (timeline.dropped(), timeline.slices().len());
        note(format_args!("the timeline has the first {kept} slices of its window and leaves out {dropped}"));
    }
    say(format_args!("timeline: {} (open it in https://ui.perfetto.dev)", path.display()));
}

/// The observers that the outputs need; none if no output needs any.
fn watch(output: &OutputArgs) -> Option<Watch> {
    // A page shows the parts of the latency. Without a page, the run does not pay for that observer.
    let explains = output.report.is_some() || output.out.is_some();
    let watch = if explains { Watch::default().explaining() } else { Watch::default() };
    match &output.timeline {
        Some(_) => Some(watch.timeline(Timeline::new(output.window.unwrap_or_default()))),
        None => explains.then_some(watch),
    }
}

/// The session that the arguments describe, observed if `watch` is given. Its device, workloads and state are announced
/// on the terminal, with the doubts about the workloads.
pub(crate) fn announced<'a>(args: &RunArgs, device: &'a Device, watch: Option<Watch>) -> Result<Session<'a>, Failure> {
    let tell = args.output.notices();
    tell.check()?;
    life::check(args)?;
    tell.done(|| resolved(&args.device, device));
    let mut session = session(args, device, None);
    if let Some(watch) = watch {
        session = session.watch(watch);
    }
    session.check().map_err(|error| failure(&error, &session.about()))?;
    let session = flows(args, session, &Workloads::named(args)?)?;
    // The part of the drive that is used is known only once the workloads are added.
    session.check().map_err(|error| failure(&error, &session.about()))?;
    tell.done(|| {
        session
            .flows()
            .iter()
            .map(|flow| format!("workload {}\n", flow.name()))
            .collect::<String>()
            .trim_end()
            .to_owned()
    });
    tell.done(|| state(args));
    idle::check(args, session.flows())?;
    session.flows().iter().flat_map(Flow::doubts).for_each(note);
    Ok(session)
}

/// The session that the arguments describe, with its workloads. It starts from `state` if that is given, which must be the state
/// that the arguments describe.
pub(crate) fn opened<'a>(args: &RunArgs, device: &'a Device, state: Option<State>) -> Result<Session<'a>, Failure> {
    let session = session(args, device, state);
    session.check().map_err(|error| failure(&error, &session.about()))?;
    flows(args, session, &Workloads::named(args)?)
}

/// The state in which the drive begins, in words.
fn state(args: &RunArgs) -> String {
    let steps: Vec<String> = args.state.precondition.iter().map(ToString::to_string).collect();
    let made = match &args.state.load_snapshot {
        Some(path) => format!("state: from the snapshot {}", path.display()),
        None if steps.is_empty() => "state: a new drive".to_owned(),
        None => format!("state: a new drive, then {}", steps.join(", ")),
    };
    match args.state.age.map(|storage| storage.conditions(args.state.temperature)) {
        None => made,
        Some((age, temperature)) => format!("{made}, then {} without power at {temperature}", age.exact()),
    }
}

/// The state of the drive, and the part of the workload that is measured, as the arguments say.
fn spec(args: &RunArgs) -> RunSpec {
    RunSpec {
        precondition: args.state.precondition.clone(),
        age: args.state.age,
        temperature: args.state.temperature,
        time_scale: args.issue.pace.time_scale,
        verify: args.verify,
        fairness: args.issue.fairness,
        limit: args.issue.pace.limit,
        warm_up: args.measured.warm_up,
        measure: args.measured.measure,
        until: args.measured.until,
        round: args.measured.round,
        rounds: args.measured.rounds,
        warranty: args.measured.warranty,
        ..RunSpec::default()
    }
}

/// The session that the arguments describe, without its workloads.
pub(crate) fn session<'a>(args: &RunArgs, device: &'a Device, state: Option<State>) -> Session<'a> {
    let mut spec = spec(args);
    if state.is_some() {
        spec.precondition.clear();
        (spec.age, spec.temperature) = (None, None);
    }
    let mut session = Session::new(device).program(program()).seed(args.seed).spec(&spec);
    let output = &args.output;
    if output.series.is_some() || output.out.is_some() || output.report.is_some() {
        session = session.course(Course { interval: output.series });
    }
    if let Some(limit) = machine::memory(args.memory) {
        session = session.memory_limit(limit);
    }
    match (state, &args.state.load_snapshot) {
        (Some(state), _) => session.start_from(state),
        (None, Some(path)) => session.load_snapshot(path),
        (None, None) => session,
    }
}

/// The version and the commit of the program, for results.
#[must_use]
pub fn program() -> Program {
    Program { version: env!("CARGO_PKG_VERSION").into(), commit: env!("FLASHLOOM_COMMIT").into() }
}

/// The workloads that the arguments name: the first workload, and the workloads of `--flow`.
pub(crate) struct Workloads {
    first: WorkloadFile,
    others: Vec<WorkloadFile>,
}

impl Workloads {
    /// All workloads, in the order of the arguments.
    pub(crate) fn all(&self) -> impl Iterator<Item = &WorkloadFile> {
        std::iter::once(&self.first).chain(&self.others)
    }

    pub(crate) fn named(args: &RunArgs) -> Result<Self, Failure> {
        let first = catalogue::workload(&args.workload)?;
        let others = args.issue.flow.iter().map(|flow| catalogue::workload(&flow.workload));
        Ok(Self { first, others: others.collect::<Result<_, _>>()? })
    }
}

fn flows<'a>(args: &RunArgs, session: Session<'a>, files: &Workloads) -> Result<Session<'a>, Failure> {
    let readers = std::iter::once(&args.workload).chain(args.issue.flow.iter().map(|flow| &flow.workload));
    let stdin = readers.filter(|path| path.as_os_str() == "-").count();
    let options = args.trace.options();
    let open = |session: &Session<'a>, file: &WorkloadFile, path: &Path| -> Result<Flow<'a>, Failure> {
        let flow = session.open(file, &options)?;
        if stdin > 1 {
            let message = "-: two workloads cannot share standard input; keep the trace in a file";
            return Err(Failure::Input(message.into()));
        }
        if !args.issue.flow.is_empty() && flow.stages() > 1 {
            let workload = path.display().to_string();
            return Err(Failure::session(&SessionError::SeveralStages { workload }, String::new));
        }
        Ok(flow)
    };
    let first = open(&session, &files.first, &args.workload)?.named(stem(&args.workload)).pacing(args.issue.pacing());
    let mut session = session
        .flow(first.queue(QueueId::new(args.issue.queue)).placement_id(PlacementId::new(args.issue.placement_id)));
    for (flow, file) in args.issue.flow.iter().zip(&files.others) {
        let name = flow.name.clone().unwrap_or_else(|| stem(&flow.workload));
        let beside = open(&session, file, &flow.workload)?.named(name).pacing(flow.pacing());
        let beside = beside.queue(QueueId::new(flow.queue));
        session = session.flow(beside.placement_id(PlacementId::new(flow.placement_id)));
    }
    Ok(session)
}

/// The name of a workload in results: its file's stem.
pub(crate) fn stem(path: &Path) -> String {
    if path.as_os_str() == "-" {
        return "stdin".to_owned();
    }
    path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// The failure for an error of a session, with the command that repeats it.
pub(crate) fn failure(error: &SessionError, about: &Provenance) -> Failure {
    let Provenance { version, commit, device, seed, .. } = about;
    let workload = error.workload().unwrap_or(&about.workload);
    Failure::session(error, || format!("flashloom {version} ({commit}), {device} under {workload}, --seed {seed}"))
}

#[cfg(test)]
mod tests;
