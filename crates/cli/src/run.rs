//! `flashloom run`, from a disk and a workload to what came of it.

use std::io::Write;

use flash::units::{Energy, Span};
use ssd::Drive;
use study::oracle::{Blank, Oracle, Payload, StampSector, Verified};
use study::reconcile::reconcile;
use study::report::{About, OutDir, Report, RequestFile, Summary, table};
use study::run::{RunResult, Runner};
use workload::Source;

use crate::args::RunArgs;
use crate::exit::{Failure, print};
use crate::progress::Bar;

/// How long background work may go on after the last request, so that the books can be balanced.
const SETTLE: Span = Span::from_secs(60);

/// What a disk tells about itself after a run, besides its counters.
pub(crate) trait Inspect {
    /// Erase count of every block.
    fn erase_counts(&self) -> Vec<u32>;

    /// Energy spent so far, by name.
    fn energy(&self) -> Vec<(String, Energy)>;
}

/// Runs `source` on `drive` without looking at data.
pub(crate) fn timing<D, W>(
    drive: &mut D,
    source: &mut W,
    args: &RunArgs,
    about: &About,
    results: &mut dyn Write,
) -> Result<(), Failure>
where
    D: Drive<()> + Inspect,
    W: Source + ?Sized,
{
    execute(drive, source, &mut Blank, |_| None, args, about, results)
}

/// Runs `source` on `drive` and checks every read; `fresh` if nothing was written to it before.
pub(crate) fn verified<S, D, W>(
    drive: &mut D,
    source: &mut W,
    fresh: bool,
    args: &RunArgs,
    about: &About,
    results: &mut dyn Write,
) -> Result<(), Failure>
where
    S: StampSector,
    D: Drive<S> + Inspect,
    W: Source + ?Sized,
{
    let mut oracle = if fresh { Oracle::blank() } else { Oracle::adopting() };
    execute(drive, source, &mut oracle, |oracle| Some(oracle.verified()), args, about, results)
}

fn execute<S, D, W, P>(
    drive: &mut D,
    source: &mut W,
    payload: &mut P,
    check: fn(&P) -> Option<Verified>,
    args: &RunArgs,
    about: &About,
    results: &mut dyn Write,
) -> Result<(), Failure>
where
    D: Drive<S> + Inspect,
    W: Source + ?Sized,
    P: Payload<S>,
{
    // Places to write to come first: nobody should wait for a result that cannot be kept.
    let out = args.output.out.as_deref().map(OutDir::create).transpose()?;
    let mut log = args.output.requests.as_deref().map(|path| RequestFile::create(path, about)).transpose()?;
    let energy_before = drive.energy();

    let result = drive_through(drive, source, payload, args, about, log.as_mut())?;

    let energy: Vec<(String, Energy)> = drive
        .energy()
        .into_iter()
        .map(|(name, after)| {
            let before = energy_before.iter().find(|(other, _)| *other == name).map_or(0.0, |(_, e)| e.as_joules());
            (name, Energy::from_joules(after.as_joules() - before))
        })
        .collect();
    let erase_counts = drive.erase_counts();
    let report =
        Report { about, result: &result, erase_counts: &erase_counts, energy: &energy, verified: check(payload) };
    let summary = Summary::new(&report);
    if let Some(log) = log {
        log.finish().map_err(|error| Failure::Input(format!("the request log cannot be written: {error}")))?;
    }
    if let Some(out) = out {
        out.finish(&report, &summary)?;
    }
    let text = if args.output.json { summary.json() } else { table(&summary) };
    print(results, &text)
}

fn drive_through<S, D, W, P>(
    drive: &mut D,
    source: &mut W,
    payload: &mut P,
    args: &RunArgs,
    about: &About,
    log: Option<&mut RequestFile>,
) -> Result<RunResult, Failure>
where
    D: Drive<S>,
    W: Source + ?Sized,
    P: Payload<S>,
{
    let requests = match (source.len_hint(), args.issue.limit) {
        (Some(len), Some(limit)) => Some(len.min(limit)),
        (len, limit) => len.or(limit),
    };
    let bar = Bar::new(requests, args.output.quiet);
    let mut progress = |progress| bar.show(progress);
    let mut runner = Runner::new().settle(SETTLE).progress(&mut progress);
    if let Some(log) = log {
        runner = runner.log(log);
    }
    if let Some(pacing) = args.issue.pacing() {
        runner = runner.pacing(pacing);
    }
    if let Some(limit) = args.issue.limit {
        runner = runner.limit(limit);
    }
    if let Some(factor) = args.issue.time_scale {
        runner = runner.time_scale(factor);
    }
    let replay = format!(
        "flashloom {} ({}), {} under {}, --seed {}",
        about.version, about.commit, about.device, about.workload, about.seed
    );
    let result = runner.run(drive, source, payload).map_err(|error| Failure::run(&error, &replay))?;
    reconcile(&result).map_err(|error| Failure::books(&error, &replay))?;
    Ok(result)
}

/// What a result says about this program.
pub(crate) fn about(args: &RunArgs, config: toml::Table) -> About {
    let name = |path: &std::path::Path| path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    About {
        version: env!("CARGO_PKG_VERSION").into(),
        commit: env!("FLASHLOOM_COMMIT").into(),
        seed: args.seed,
        device: name(&args.device),
        workload: name(&args.workload),
        config,
    }
}

#[cfg(test)]
mod tests;
