//! `flashloom study` and `flashloom reproduce`: many runs, and what was expected of them.

use std::io::Write;
use std::path::{Path, PathBuf};

use ssd::Purpose;
use study::config::{Document, Fault, Faults};
use study::lab::{self, Claim, LabError, Outcome, Program, Verdict};
use study::plan::{Plan, Point, builtin};
use study::report::{OutDir, PageFile};

use crate::args::{LabArgs, ReadingArgs};
use crate::exit::{Failure, apart, print};
use crate::machine::{self, Need};
use crate::progress::Bar;

/// Runs some studies, one after another, and prints their points and claims.
pub(crate) fn study(
    paths: &[PathBuf],
    workload: Option<&Path>,
    reading: &ReadingArgs,
    args: &LabArgs,
    results: &mut dyn Write,
) -> Result<(), Failure> {
    let plan = |path: &PathBuf| {
        let document = find(path)?;
        workload.map_or_else(|| Plan::new(&document), |workload| Plan::under(&document, workload))
    };
    let mut plans = paths.iter().map(plan).collect::<Result<Vec<_>, Faults>>()?;
    plans.iter_mut().flat_map(|plan| &mut plan.points).for_each(|point| reading.apply(&mut point.run));
    perform(plans, args, true, results)
}

/// Runs all studies of a paper and prints its claims.
pub(crate) fn reproduce(paper: &str, args: &LabArgs, results: &mut dyn Write) -> Result<(), Failure> {
    let of = |name: &str| name.split_once('/').map_or_else(String::new, |(paper, _)| paper.to_owned());
    let found: Vec<_> = builtin().iter().filter(|(name, _)| of(name) == paper).collect();
    if found.is_empty() {
        let mut papers: Vec<String> = builtin().iter().map(|(name, _)| of(name)).collect();
        papers.dedup();
        let papers = papers.join(", ");
        return Err(Failure::Input(format!("there are no studies of `{paper}`; there are some of {papers}")));
    }
    let document = |(name, text): &&(&str, &str)| Document::parse(Path::new(name), (*text).to_owned());
    let plans = found.iter().map(|study| Plan::new(&document(study)?)).collect::<Result<Vec<_>, Faults>>()?;
    perform(plans, args, false, results)
}

fn find(path: &Path) -> Result<Document, Faults> {
    match builtin().iter().find(|(name, _)| !path.is_file() && Path::new(name) == path) {
        Some((_, text)) => Document::parse(path, (*text).to_owned()),
        None if !path.exists() && path.extension().is_none() => Err(Fault {
            path: Some(path.to_owned()),
            line: None,
            key: String::new(),
            message: "is neither a file nor a study that comes with Flashloom".into(),
            remedy: "check its name; `flashloom studies` lists those that do".into(),
        }
        .into()),
        None => Document::read(path),
    }
}

fn perform(mut plans: Vec<Plan>, args: &LabArgs, points: bool, results: &mut dyn Write) -> Result<(), Failure> {
    for point in plans.iter_mut().flat_map(|plan| &mut plan.points) {
        point.run.verify |= args.verify;
    }
    fits(&plans, args)?;
    // A place to write to comes first: nobody should wait for a result that cannot be kept.
    apart(&[("--out", &args.out), ("--report", &args.report)])?;
    let dir = args.out.as_deref().map(OutDir::create).transpose()?;
    let page = args.report.as_deref().map(PageFile::create).transpose()?;
    let program = Program { version: env!("CARGO_PKG_VERSION").into(), commit: env!("FLASHLOOM_COMMIT").into() };
    let outcomes = plans
        .into_iter()
        .map(|plan| {
            let bar = Bar::steps(&format!("study {}", plan.spec.name), args.quiet);
            lab::run(plan, &program, args.jobs, &|done, all| bar.step(done, all))
        })
        .collect::<Result<Vec<Outcome>, LabError>>()
        .map_err(|error| Failure::lab(&error))?;
    let claims = lab::claims(&outcomes);
    let shown = lab::page(&program, &outcomes, &claims);
    if let Some(dir) = dir {
        lab::write_all(dir, &program, &outcomes, &claims, &shown)?;
    }
    let page = page.map(|file| file.finish(&shown)).transpose()?;
    let text = if args.json { lab::json(&program, &outcomes, &claims) } else { tables(&outcomes, &claims, points) };
    print(results, &text)?;
    if let Some(page) = page {
        eprintln!("report: {}", page.display());
    }
    let failed: Vec<&str> =
        claims.iter().filter(|claim| claim.verdict() == Verdict::Fails).map(|claim| claim.id.as_str()).collect();
    if failed.is_empty() {
        return Ok(());
    }
    Err(Failure::Unexpected(format!("not as expected: {}", failed.join(", "))))
}

/// Refuses studies of which as many points as run at once need more memory than there is.
pub(crate) fn fits(plans: &[Plan], args: &LabArgs) -> Result<(), Failure> {
    for plan in plans {
        let need = |point: &Point| {
            let purpose = Purpose { verify: point.run.verify, precondition: !point.run.precondition.is_empty() };
            let labels: Vec<String> = point.labels.iter().map(ToString::to_string).collect();
            let name = format!("study {}, {}", plan.spec.name, labels.join(", "));
            Need { name, memory: study::run::memory(&point.device.resolved, purpose) }
        };
        // Each seed is a run of its own.
        let seeds = plan.spec.seeds.len().max(1);
        let needs = plan.points.iter().flat_map(|point| std::iter::repeat_n(point, seeds)).map(need).collect();
        machine::check(needs, lab::at_once(args.jobs), args.memory)?;
    }
    Ok(())
}

fn tables(outcomes: &[Outcome], claims: &[Claim], points: bool) -> String {
    let mut text = String::new();
    for outcome in outcomes.iter().filter(|outcome| points && !outcome.plan.spec.metrics.is_empty()) {
        let spec = &outcome.plan.spec;
        let about = if spec.description.is_empty() { String::new() } else { format!(": {}", spec.description) };
        text.push_str(&format!("{}{about}\n\n{}", spec.name, lab::points_table(outcome)));
    }
    if !claims.is_empty() {
        text.push_str(&lab::claims_table(claims));
    }
    text
}
