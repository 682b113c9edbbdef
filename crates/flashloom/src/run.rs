//! `flashloom run`, from a disk and a workload to what came of it.

mod idle;

use std::io::Write;
use std::path::{Path, PathBuf};

use base::units::{Energy, Sectors, Span};
use flash::nand::{Sector, Stamp};
use report::run::{page, table};
use report::{RequestFile, write_timeline};
use ssd::{Drive, Purpose, QueueId, Ssd};
use study::catalogue::{self, Device, Stage, Workload};
use study::inspect::Inspect;
use study::oracle::{Blank, Oracle, Payload, Verified};
use study::output::{self, Kind, OutFile, OutFolder, publish};
use study::reconcile::reconcile;
use study::run::{Flow, RunResult, Runner};
use study::snapshot::save;
use study::summary::{About, Report, Summary};
use study::watch::explain::Explained;
use study::watch::timeline::Timeline;
use study::watch::{Watch, Watcher};
use workload::Pacing;
use workload::trace::{TraceOptions, files};

use crate::args::RunArgs;
use crate::device::device;
use crate::exit::{Failure, note, print, say};
use crate::machine::{self, Need};
use crate::options::FlowArg;
use crate::prepare::prepare;
use crate::progress::Bar;

/// How long background work may go on after the last request, so that the books can be balanced.
const SETTLE: Span = Span::from_secs(60);

/// Does what `flashloom run` is asked.
pub(crate) fn run(args: &RunArgs, results: &mut dyn Write) -> Result<(), Failure> {
    let output = &args.output;
    // A page says where the time went. Nobody else should wait longer for it.
    let explains = output.report.is_some() || output.out.is_some();
    let watch = if explains { Watch::default().explaining() } else { Watch::default() };
    let Some(path) = &output.timeline else {
        return if explains {
            watched(args, watch, |_| Ok(()), results)
        } else {
            watched(args, (), |()| Ok(()), results)
        };
    };
    let watch = watch.timeline(Timeline::new(output.window.unwrap_or_default()));
    let finish = |watch: &Watch| {
        let timeline = watch.seen().expect("a timeline was asked for");
        if timeline.slices().is_empty() {
            note("nothing happened in flash in the window of the timeline; choose another with --window");
        }
        if timeline.dropped() > 0 {
            let (dropped, kept) = (timeline.dropped(), timeline.slices().len());
            note(format_args!("the timeline has the first {kept} slices of its window, {dropped} are left out"));
        }
        Ok(())
    };
    watched(args, watch, finish, results)?;
    say(format_args!("timeline: {} (open it in https://ui.perfetto.dev)", path.display()));
    Ok(())
}

/// Runs with somebody who watches the flash, and has the last word.
pub(crate) fn watched<O: Watcher>(
    args: &RunArgs,
    observer: O,
    finish: impl FnOnce(&O) -> Result<(), Failure>,
    results: &mut dyn Write,
) -> Result<(), Failure> {
    let device = device(&args.device, &args.set)?;
    let purpose = Purpose { verify: args.verify, precondition: !args.state.precondition.is_empty() };
    let memory = study::run::memory(&device.resolved, purpose);
    machine::check(vec![Need { name: device.name.clone(), memory }], 1, args.memory)?;
    let capacity = device.capacity();
    let options = args.trace.options(Some(capacity));
    let workload = catalogue::workload(&args.workload)?.open(&options, capacity, args.seed)?;
    let tenants = tenants(args, &options, capacity, &workload)?;
    idle::check(args, &workload, &tenants)?;
    let workload = (workload, tenants);
    if args.verify {
        let granularity = Sectors::new(u64::from(device.resolved.geometry.sectors));
        let check = |oracle: &Oracle| Some(oracle.verified());
        let mut oracle = Oracle::blank(granularity);
        let drive = on_disk::<Stamp, _, _>(&device, workload, &mut oracle, check, args, observer, results)?;
        finish(drive.observer())
    } else {
        let drive = on_disk::<(), _, _>(&device, workload, &mut Blank, |_| None, args, observer, results)?;
        finish(drive.observer())
    }
}

fn on_disk<S: Sector, P: Payload<S>, O: Watcher>(
    device: &Device,
    (workload, tenants): (Workload, Vec<Tenant>),
    payload: &mut P,
    check: fn(&P) -> Option<Verified>,
    args: &RunArgs,
    observer: O,
    results: &mut dyn Write,
) -> Result<Ssd<S, O>, Failure> {
    workload.notes.iter().for_each(note);
    let about = about(args, device, &workload, &tenants);
    // Places to write to come first: nobody should wait for a result that cannot be kept.
    let mut outputs = Outputs::create(args, &about, workload.stages.len())?;
    let mut drive: Ssd<S, O> = prepare(device, args, observer)?;
    if let Some(mut snapshot) = outputs.snapshot.take() {
        // It is whole, and took its time: it is kept whatever becomes of the run.
        snapshot.fill(|out| save(&drive, out))?;
        publish(vec![snapshot], None)?.iter().for_each(note);
    }
    payload.begin(drive.past());
    let start = drive.now();
    drive.observer_mut().begin(start);
    let load = Load { stages: workload.stages, tenants };
    execute(&mut drive, load, payload, check, (args, &about), outputs, results)?;
    Ok(drive)
}

/// Where results go besides the terminal.
pub(crate) struct Outputs {
    dir: Option<OutFolder>,
    page: Option<OutFile>,
    log: Option<RequestFile>,
    timeline: Option<OutFile>,
    snapshot: Option<OutFile>,
}

impl Outputs {
    /// Prepares them for a run of so many stages.
    pub(crate) fn create(args: &RunArgs, about: &About, stages: usize) -> Result<Self, Failure> {
        let RunArgs { output, state, .. } = args;
        let flows = args.issue.flow.iter().map(|flow| &flow.workload);
        let workloads = std::iter::once(&args.workload).chain(flows).flat_map(|path| files(path));
        let inputs = workloads.chain([args.device.clone()]).chain(state.load_snapshot.clone());
        let mut all = output::Outputs::new(inputs, output.force);
        let names = report::run::names(stages, args.issue.flow.len());
        let dir = output.out.as_deref().map(|path| all.folder("--out", path, &names)).transpose()?;
        let mut file = |option: &str, path: &Option<PathBuf>, kind: Kind| {
            path.as_deref().map(|path| all.file(option, path, kind)).transpose()
        };
        let page = file("--report", &output.report, Kind::Page)?;
        let timeline = file("--timeline", &output.timeline, Kind::Timeline)?;
        let snapshot = file("--save-snapshot", &state.save_snapshot, Kind::Snapshot)?;
        let log = file("--requests", &output.requests, Kind::Requests)?;
        let log = log.map(|log| RequestFile::create(log, about)).transpose()?;
        Ok(Self { dir, page, log, timeline, snapshot })
    }

    /// Writes everything, and then gives all of it its name. Returns the pages to look at.
    fn finish(self, reports: &[(Report<'_>, &Summary)], timeline: Option<&Timeline>) -> Result<Vec<PathBuf>, Failure> {
        let Self { mut dir, page: alone, log, timeline: file, snapshot } = self;
        let (mut whole, mut pages) = (Vec::from_iter(snapshot), Vec::new());
        whole.extend(log.map(RequestFile::finish).transpose()?);
        if let Some(dir) = &mut dir {
            pages.push(report::run::fill(dir, reports)?);
        }
        if let Some(mut file) = alone {
            file.fill(|out| out.write_all(page(reports).html().as_bytes()))?;
            pages.push(file.path().to_owned());
            whole.push(file);
        }
        if let (Some(mut file), Some(timeline)) = (file, timeline) {
            file.fill(|out| write_timeline(timeline, out))?;
            whole.push(file);
        }
        publish(whole, dir)?.iter().for_each(note);
        Ok(pages)
    }
}

/// A workload that runs beside the first.
pub(crate) struct Tenant {
    name: String,
    flow: FlowArg,
    stage: Stage,
    config: toml::Table,
}

/// What runs on a disk: one stage after another, or several workloads at once.
pub(crate) struct Load {
    pub(crate) stages: Vec<Stage>,
    pub(crate) tenants: Vec<Tenant>,
}

/// Opens the workloads that run beside the first.
fn tenants(
    args: &RunArgs,
    options: &TraceOptions,
    capacity: Sectors,
    first: &Workload,
) -> Result<Vec<Tenant>, Failure> {
    let several = |path: &Path| {
        let path = path.display();
        Failure::Input(format!("{path}: has several stages, and flows run at once; give each a job file of its own"))
    };
    let readers = std::iter::once(&args.workload).chain(args.issue.flow.iter().map(|flow| &flow.workload));
    if readers.filter(|path| path.as_os_str() == "-").count() > 1 {
        return Err(Failure::Input("-: two workloads cannot share standard input; keep the trace in a file".into()));
    }
    if !args.issue.flow.is_empty() && first.stages.len() > 1 {
        return Err(several(&args.workload));
    }
    let mut names = vec![stem(&args.workload)];
    let mut all = Vec::new();
    for (number, flow) in (1..).zip(&args.issue.flow) {
        // Two flows that read alike must not draw alike.
        let seed = args.seed.wrapping_add(number << 32);
        let workload = catalogue::workload(&flow.workload)?.open(options, capacity, seed)?;
        workload.notes.iter().for_each(note);
        let config = workload.config;
        let [stage] = <[Stage; 1]>::try_from(workload.stages).map_err(|_| several(&flow.workload))?;
        let plain = flow.name.clone().unwrap_or_else(|| stem(&flow.workload));
        let numbered = || (2..).map(|n: u32| format!("{plain}-{n}")).find(|name| !names.contains(name));
        let name = if names.contains(&plain) { numbered().unwrap_or_default() } else { plain.clone() };
        names.push(name.clone());
        all.push(Tenant { name, flow: flow.clone(), stage, config });
    }
    Ok(all)
}

/// The name of a workload in results.
fn stem(path: &Path) -> String {
    if path.as_os_str() == "-" {
        return "stdin".to_owned();
    }
    path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// What a stage came to.
struct Outcome {
    about: About,
    result: RunResult,
    explained: Vec<Explained>,
    erase_counts: Vec<u32>,
    energy: Vec<(String, Energy)>,
    verified: Option<Verified>,
    notes: Vec<String>,
}

impl Outcome {
    fn report<'a>(&'a self, timeline: Option<&'a Timeline>) -> Report<'a> {
        let Self { about, result, explained, erase_counts, energy, verified, notes } = self;
        Report { about, result, timeline, explained, erase_counts, energy, verified: *verified, notes }
    }
}

/// The pacing that a flow asks for, if any.
const fn pacing_of(flow: &FlowArg) -> Option<Pacing> {
    match (flow.depth, flow.open) {
        (Some(depth), _) => Some(Pacing::Closed { depth }),
        (None, true) => Some(Pacing::Open),
        (None, false) => None,
    }
}

/// Runs the stages one after another and reports each.
pub(crate) fn execute<S, D, P>(
    drive: &mut D,
    Load { stages, mut tenants }: Load,
    payload: &mut P,
    check: fn(&P) -> Option<Verified>,
    (args, about): (&RunArgs, &About),
    mut outputs: Outputs,
    results: &mut dyn Write,
) -> Result<(), Failure>
where
    D: Drive<S> + Inspect,
    P: Payload<S>,
{
    let several = stages.len() > 1;
    let mut outcomes: Vec<Outcome> = Vec::new();
    for mut stage in stages {
        let done: u64 = outcomes.iter().map(|outcome| outcome.result.submitted).sum();
        if args.issue.limit.is_some_and(|limit| done >= limit) {
            break;
        }
        let about =
            About { workload: if several { stage.name.clone() } else { about.workload.clone() }, ..about.clone() };
        let result =
            drive_through(drive, (&mut stage, &mut tenants), done, payload, args, &about, outputs.log.as_mut())?;
        let energy = drive.energy(&result.counters());
        let explained = drive.explained();
        let (erase_counts, verified, mut notes) = (drive.erase_counts(), check(payload), stage.source.notes());
        for tenant in &tenants {
            notes.extend(tenant.stage.source.notes().iter().map(|note| format!("{}: {note}", tenant.name)));
        }
        outcomes.push(Outcome { about, result, explained, erase_counts, energy, verified, notes });
    }
    let summaries: Vec<Summary> = outcomes.iter().map(|outcome| Summary::new(&outcome.report(None))).collect();
    // The window counts from the start of the run, where the first stage is.
    let timelines = std::iter::once(drive.timeline()).chain(std::iter::repeat(None));
    let reports = outcomes.iter().zip(timelines).map(|(outcome, timeline)| outcome.report(timeline));
    let reports: Vec<_> = reports.zip(&summaries).collect();
    let pages = outputs.finish(&reports, drive.timeline())?;
    let text = if args.output.json { Summary::json(&summaries) } else { tables(&summaries) };
    print(results, &text)?;
    for page in pages {
        say(format_args!("report: {}", page.display()));
    }
    Ok(())
}

fn tables(summaries: &[Summary]) -> String {
    summaries.iter().map(table).collect::<Vec<_>>().join("\n\n")
}

fn drive_through<S, D, P>(
    drive: &mut D,
    (stage, tenants): (&mut Stage, &mut [Tenant]),
    done: u64,
    payload: &mut P,
    args: &RunArgs,
    about: &About,
    log: Option<&mut RequestFile>,
) -> Result<RunResult, Failure>
where
    D: Drive<S>,
    P: Payload<S>,
{
    let limit = args.issue.limit.map(|limit| limit - done);
    let hints = std::iter::once(&*stage).chain(tenants.iter().map(|tenant| &tenant.stage));
    let hint: Option<u64> = hints.map(|stage| stage.source.len_hint()).sum();
    let requests = match (hint, limit) {
        (Some(len), Some(limit)) => Some(len.min(limit)),
        (len, limit) => len.or(limit),
    };
    let bar = Bar::requests(requests, args.output.quiet);
    let mut progress = |progress| bar.show(progress);
    let mut runner = Runner::new().settle(SETTLE).first_tag(done).progress(&mut progress);
    if let Some(log) = log {
        runner = runner.log(log);
    }
    if let Some(limit) = limit {
        runner = runner.limit(limit);
    }
    if let Some(factor) = args.issue.time_scale {
        runner = runner.time_scale(factor);
    }
    let replay = format!(
        "flashloom {} ({}), {} under {}, --seed {}",
        about.version, about.commit, about.device, about.workload, about.seed
    );
    let (pacing, queue) = (args.issue.pacing(), QueueId::new(args.issue.queue));
    let result = if tenants.is_empty() {
        if let Some(pacing) = pacing {
            runner = runner.pacing(pacing);
        }
        runner.queue(queue).run(drive, &mut *stage.source, payload)
    } else {
        let mut flows = vec![Flow { name: about.workload.clone(), source: &mut *stage.source, pacing, queue }];
        flows.extend(tenants.iter_mut().map(|Tenant { name, flow, stage, .. }| Flow {
            name: name.clone(),
            source: &mut *stage.source,
            pacing: pacing_of(flow),
            queue: QueueId::new(flow.queue),
        }));
        runner.run_flows(drive, flows, payload)
    };
    let result = result.map_err(|error| Failure::run(&error, &replay))?;
    reconcile(&result).map_err(|error| Failure::books(&error, &replay))?;
    Ok(result)
}

/// What a result says about where it comes from.
fn about(args: &RunArgs, device: &Device, workload: &Workload, tenants: &[Tenant]) -> About {
    let mut run = toml::Table::new();
    let mut note = |key: &str, value: toml::Value| run.insert(key.into(), value);
    // TOML has no integers of that size.
    let seed = i64::try_from(args.seed).map_or_else(|_| args.seed.to_string().into(), toml::Value::Integer);
    note("seed", seed);
    note("verify", args.verify.into());
    if let Some(depth) = args.issue.depth {
        note("depth", i64::from(depth).into());
    }
    if args.issue.open {
        note("open", true.into());
    }
    if let Some(factor) = args.issue.time_scale {
        note("time-scale", factor.into());
    }
    if let Some(limit) = args.issue.limit {
        note("limit", toml::Value::Integer(limit.cast_signed()));
    }
    if args.issue.queue > 0 {
        note("queue", i64::from(args.issue.queue).into());
    }
    if !args.state.precondition.is_empty() {
        let steps: Vec<toml::Value> = args.state.precondition.iter().map(|step| step.to_string().into()).collect();
        note("precondition", steps.into());
    }
    if let Some(path) = &args.state.load_snapshot {
        note("snapshot", path.display().to_string().into());
    }
    let mut config = toml::Table::from_iter([
        ("device".to_owned(), toml::Value::Table(device.config())),
        ("workload".to_owned(), toml::Value::Table(workload.config.clone())),
        ("run".to_owned(), toml::Value::Table(run)),
    ]);
    if !tenants.is_empty() {
        config.insert("flow".into(), toml::Value::Array(tenants.iter().map(described).collect()));
    }
    About { cost: Some(device.resolved.cost()), ..named(args, device.name.clone(), config) }
}

/// What a result says about a workload that ran beside the first.
fn described(tenant: &Tenant) -> toml::Value {
    let Tenant { name, flow, config, .. } = tenant;
    let mut table = toml::Table::from_iter([
        ("name".to_owned(), name.clone().into()),
        ("queue".to_owned(), i64::from(flow.queue).into()),
        ("workload".to_owned(), toml::Value::Table(config.clone())),
    ]);
    if let Some(depth) = flow.depth {
        table.insert("depth".into(), i64::from(depth).into());
    }
    if flow.open {
        table.insert("open".into(), true.into());
    }
    table.into()
}

/// The same for a device of this name.
pub(crate) fn named(args: &RunArgs, device: String, config: toml::Table) -> About {
    let workload = stem(&args.workload);
    let (version, commit) = (env!("CARGO_PKG_VERSION").into(), env!("FLASHLOOM_COMMIT").into());
    About { version, commit, seed: args.seed, device, workload, cost: None, config }
}

#[cfg(test)]
mod tests;
