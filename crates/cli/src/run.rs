//! `flashloom run`, from a disk and a workload to what came of it.

use std::io::Write;

use flash::nand::{Sector, Stamp};
use flash::units::{Energy, Sectors, Span};
use ssd::{Drive, Ssd};
use study::catalogue::{self, Device, Stage, Workload};
use study::inspect::Inspect;
use study::oracle::{Blank, Oracle, Payload, Verified};
use study::reconcile::reconcile;
use study::report::{About, OutDir, Report, RequestFile, Summary, table};
use study::run::{RunResult, Runner};
use study::snapshot::SnapshotFile;

use crate::args::RunArgs;
use crate::device::device;
use crate::exit::{Failure, print};
use crate::prepare::prepare;
use crate::progress::Bar;

/// How long background work may go on after the last request, so that the books can be balanced.
const SETTLE: Span = Span::from_secs(60);

/// Does what `flashloom run` is asked.
pub(crate) fn run(args: &RunArgs, results: &mut dyn Write) -> Result<(), Failure> {
    let device = device(&args.device, &args.set)?;
    let capacity = device.capacity();
    let options = args.trace.options(Some(capacity));
    let workload = catalogue::workload(&args.workload)?.open(&options, capacity, args.seed)?;
    if args.verify {
        // Preconditioning writes zeros, so that a disk with a past reads like a new one.
        let granularity = Sectors::new(u64::from(device.resolved.geometry.sectors));
        let check = |oracle: &Oracle| Some(oracle.verified());
        on_disk::<Stamp, _>(&device, workload, &mut Oracle::blank(granularity), check, args, results)
    } else {
        on_disk::<(), _>(&device, workload, &mut Blank, |_| None, args, results)
    }
}

fn on_disk<S: Sector, P: Payload<S>>(
    device: &Device,
    workload: Workload,
    payload: &mut P,
    check: fn(&P) -> Option<Verified>,
    args: &RunArgs,
    results: &mut dyn Write,
) -> Result<(), Failure> {
    workload.notes.iter().for_each(|note| eprintln!("note: {note}"));
    let about = about(args, device, &workload);
    // Places to write to come first: nobody should wait for a result that cannot be kept.
    let outputs = Outputs::create(args, &about)?;
    let snapshot = args.state.save_snapshot.as_deref().map(SnapshotFile::create).transpose()?;
    let mut drive: Ssd<S> = prepare(device, args)?;
    if let Some(snapshot) = snapshot {
        snapshot.finish(drive.media())?;
    }
    execute(&mut drive, workload.stages, payload, check, (args, &about), outputs, results)
}

/// Where results go besides the terminal.
pub(crate) struct Outputs {
    dir: Option<OutDir>,
    log: Option<RequestFile>,
}

impl Outputs {
    /// Prepares them.
    pub(crate) fn create(args: &RunArgs, about: &About) -> Result<Self, Failure> {
        let dir = args.output.out.as_deref().map(OutDir::create).transpose()?;
        let log = args.output.requests.as_deref().map(|path| RequestFile::create(path, about)).transpose()?;
        Ok(Self { dir, log })
    }
}

/// What a stage came to.
struct Outcome {
    about: About,
    result: RunResult,
    erase_counts: Vec<u32>,
    energy: Vec<(String, Energy)>,
    verified: Option<Verified>,
    notes: Vec<String>,
}

impl Outcome {
    fn report(&self) -> Report<'_> {
        let Self { about, result, erase_counts, energy, verified, notes } = self;
        Report { about, result, erase_counts, energy, verified: *verified, notes }
    }
}

/// Runs the stages one after another and reports each.
pub(crate) fn execute<S, D, P>(
    drive: &mut D,
    stages: Vec<Stage>,
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
        let result = drive_through(drive, &mut stage, done, payload, args, &about, outputs.log.as_mut())?;
        let energy = drive.energy(&result.counters().flash);
        let (erase_counts, verified, notes) = (drive.erase_counts(), check(payload), stage.source.notes());
        outcomes.push(Outcome { about, result, erase_counts, energy, verified, notes });
    }
    let summaries: Vec<Summary> = outcomes.iter().map(|outcome| Summary::new(&outcome.report())).collect();
    if let Some(log) = outputs.log {
        log.finish().map_err(|error| Failure::Input(format!("the request log cannot be written: {error}")))?;
    }
    let page = outputs.dir.map(|dir| {
        let reports: Vec<_> = outcomes.iter().map(Outcome::report).zip(&summaries).collect();
        dir.finish(&reports)
    });
    let page = page.transpose()?;
    let text = if args.output.json { Summary::json(&summaries) } else { tables(&summaries) };
    print(results, &text)?;
    if let Some(page) = page {
        eprintln!("report: {}", page.display());
    }
    Ok(())
}

fn tables(summaries: &[Summary]) -> String {
    summaries.iter().map(table).collect::<Vec<_>>().join("\n\n")
}

fn drive_through<S, D, P>(
    drive: &mut D,
    stage: &mut Stage,
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
    let requests = match (stage.source.len_hint(), limit) {
        (Some(len), Some(limit)) => Some(len.min(limit)),
        (len, limit) => len.or(limit),
    };
    let bar = Bar::requests(requests, args.output.quiet);
    let mut progress = |progress| bar.show(progress);
    let mut runner = Runner::new().settle(SETTLE).first_tag(done).progress(&mut progress);
    if let Some(log) = log {
        runner = runner.log(log);
    }
    if let Some(pacing) = args.issue.pacing() {
        runner = runner.pacing(pacing);
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
    let result = runner.run(drive, &mut *stage.source, payload).map_err(|error| Failure::run(&error, &replay))?;
    reconcile(&result).map_err(|error| Failure::books(&error, &replay))?;
    Ok(result)
}

/// What a result says about where it comes from.
fn about(args: &RunArgs, device: &Device, workload: &Workload) -> About {
    let mut run = toml::Table::new();
    let mut note = |key: &str, value: toml::Value| run.insert(key.into(), value);
    note("seed", toml::Value::Integer(args.seed.cast_signed()));
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
    if !args.state.precondition.is_empty() {
        let steps: Vec<toml::Value> = args.state.precondition.iter().map(|step| step.to_string().into()).collect();
        note("precondition", steps.into());
    }
    if let Some(path) = &args.state.load_snapshot {
        note("snapshot", path.display().to_string().into());
    }
    let config = toml::Table::from_iter([
        ("device".to_owned(), toml::Value::Table(device.config())),
        ("workload".to_owned(), toml::Value::Table(workload.config.clone())),
        ("run".to_owned(), toml::Value::Table(run)),
    ]);
    named(args, device.name.clone(), config)
}

/// The same for a device of this name.
pub(crate) fn named(args: &RunArgs, device: String, config: toml::Table) -> About {
    let workload = args.workload.file_stem().unwrap_or(args.workload.as_os_str()).to_string_lossy().into_owned();
    let (version, commit) = (env!("CARGO_PKG_VERSION").into(), env!("FLASHLOOM_COMMIT").into());
    About { version, commit, seed: args.seed, device, workload, config }
}

#[cfg(test)]
mod tests;
