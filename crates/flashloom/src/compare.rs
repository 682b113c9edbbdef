//! `flashloom compare`: several drives under one workload.

use std::io::Write;
use std::path::PathBuf;

use report::compare::{page, rows, table};
use study::compare::{Comparison, NORMALISED, PUBLISHED, plan};
use study::execute::{self, ResultStore};
use study::output::{Kind, Outputs, publish};
use study::plan::{Failures, Point, ReadingSpec, RunSpec, seeds_from};
use workload::trace::{ExtentRule, VolumeRule, files};

use crate::args::{CompareArgs, Form};
use crate::exit::{Failure, note, print, say};
use crate::flows::named;
use crate::progress::{Bar, Show};
use crate::run::{program, stem};
use crate::store::from_store;
use crate::studies::{fits, planned};

/// The state of the drives if the command line names none, in the form of `--precondition`.
const BY_DEFAULT: &str = "fill";

/// The meaning of the state [`BY_DEFAULT`] for the results.
const FILLED_ONLY: &str = "drives begin filled once in order, and nothing of that was overwritten: garbage collection and \
                           merges may begin late or not at all; --precondition fill,random:x1 or fill,steady compares \
                           used drives, --precondition none new ones";

/// Runs `flashloom compare`.
pub(crate) fn compare(args: &CompareArgs, results: &mut dyn Write) -> Result<(), Failure> {
    let tell = args.study.notices();
    tell.check()?;
    let own = if args.as_published { &PUBLISHED[..] } else { &NORMALISED[..] };
    let devices = match &args.devices[..] {
        [] => own.iter().map(PathBuf::from).collect(),
        named => named.to_vec(),
    };
    let mut plan = plan(&args.workload, &devices, &seeds_from(args.seed, args.seeds), &how(args)?)?;
    if args.failures.allow_failures {
        plan.spec.failures = Failures::Expected;
    }
    let also = [
        ("--skip", args.part.skip.is_some()),
        ("--volume", args.part.volume.is_some()),
        ("--volumes", args.fit.volumes != VolumeRule::Overlay),
        ("--extent", args.fit.extent != ExtentRule::Wrap),
    ];
    args.reading.check(plan.plays_a_trace(), &also)?;
    let timed =
        [("--time-scale", args.issue.pace.time_scale.is_some()), ("--gap-limit", args.reading.gap_limit.is_some())];
    if let Some((option, _)) = timed.iter().find(|(_, given)| *given)
        && plan.points.iter().all(Point::is_closed_loop)
    {
        let why = "requests are issued as others complete, not at times of arrival";
        return Err(Failure::Input(format!("{option}: has no effect here: {why}; leave it out")));
    }
    fits(std::slice::from_ref(&plan), &args.study)?;
    let store = args.study.store.open()?;
    let result_store = store.as_ref().map(|store| ResultStore::new(store, &|said| note(said)));
    // The output files are created first: a path that cannot be written ends the command before the long runs.
    let names = report::study_report::names(std::slice::from_ref(&plan));
    let mut outputs = Outputs::new(plan.named.iter().flat_map(|path| files(path)), args.study.replace.force);
    let mut dir = args.study.out.as_deref().map(|path| outputs.folder("--out", path, &names)).transpose()?;
    let mut file = args.study.report.as_deref().map(|path| outputs.file("--report", path, Kind::Page)).transpose()?;
    let program = program();
    execute::keep_pipes(&mut plan).map_err(|error| Failure::study(&error))?;
    let doubts = execute::doubts(&plan).map_err(|error| Failure::study(&error))?;
    doubts.iter().for_each(note);
    if args.precondition.is_none() && args.measured.until.is_none() && tell.show != Show::None {
        note(FILLED_ONLY);
    }
    tell.done(|| planned(&plan, args.study.jobs));
    let bar = Bar::steps(&format!("compare {} drives", devices.len()), tell);
    let progress = |done, all| bar.step(done, all);
    let outcome = execute::run_in(plan, &program, args.study.jobs, result_store.as_ref(), &progress);
    drop(bar);
    let outcomes = [outcome.map_err(|error| Failure::study(&error))?];
    from_store(store.as_ref(), &outcomes);
    let comparison = Comparison::new(&outcomes[0]);
    let shown = page(&program, &comparison);
    if let Some(dir) = &mut dir {
        report::study_report::write_all(dir, &program, &outcomes, &[], &shown)?;
    }
    if let Some(file) = &mut file {
        file.fill(|out| out.write_all(shown.html().as_bytes()))?;
    }
    publish(file.into_iter().collect(), dir)?.iter().for_each(note);
    let text = match Form::of(args.study.json, args.study.csv) {
        Form::Json => comparison.json(),
        Form::Csv => rows(&comparison).csv(),
        Form::Text => table(&comparison),
    };
    print(results, &text)?;
    let in_dir = args.study.out.as_ref().map(|dir| dir.join("report.html"));
    for report in in_dir.iter().chain(&args.study.report) {
        say(format_args!("report: {}", report.display()));
    }
    args.failures.check(comparison.rows.iter().flat_map(|row| &row.runs))
}

/// The settings with which each drive runs.
fn how(args: &CompareArgs) -> Result<RunSpec, Failure> {
    let steps = args.precondition.clone().unwrap_or_else(|| vec![BY_DEFAULT.to_owned()]);
    let steps = steps.iter().filter(|step| *step != "none");
    let precondition = steps.map(|step| {
        let parsed = step.parse();
        parsed.map_err(|error| Failure::Input(format!("--precondition {step}: {error}")))
    });
    let mut run = RunSpec {
        precondition: precondition.collect::<Result<_, _>>()?,
        depth: args.issue.pace.depth,
        open: args.issue.open,
        queue: args.issue.queue,
        placement_id: args.issue.placement_id,
        weight: args.issue.weight,
        name: (!args.issue.flow.is_empty()).then(|| plain(&stem(&args.workload))),
        fairness: args.issue.fairness,
        time_scale: args.issue.pace.time_scale,
        verify: args.study.verify,
        // The page shows the parts of the latency, so they are measured.
        explain: args.explain || args.study.report.is_some() || args.study.out.is_some(),
        limit: args.issue.pace.limit,
        warm_up: args.measured.warm_up,
        measure: args.measured.measure,
        until: args.measured.until,
        round: args.measured.round,
        rounds: args.measured.rounds,
        warranty: args.measured.warranty,
        reading: ReadingSpec {
            skip: args.part.skip,
            extent: Some(args.fit.extent.name().into()),
            volume: args.part.volume.clone(),
            volumes: Some(args.fit.volumes.to_string()),
            ..ReadingSpec::default()
        },
        ..RunSpec::default()
    };
    args.reading.apply(&mut run.reading);
    let own = run.name.clone().unwrap_or_default();
    run.flows = named(&args.issue, &own, |name| plain(&name)).into_iter().collect();
    Ok(run)
}

/// A name in which each character is allowed in names of metrics.
fn plain(name: &str) -> String {
    name.chars().map(|c| if c.is_alphanumeric() || c == '_' { c } else { '-' }).collect()
}
