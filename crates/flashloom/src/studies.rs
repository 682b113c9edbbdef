//! `flashloom study` and `flashloom reproduce`: many runs, and the claims about them.

use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use report::table::Table;
use study::catalogue;
use study::config::{Document, Faults, did_you_mean};
use study::execute::{self, Claim, ExecuteError, Program, ResultStore, StudyOutcome, Sweep, Verdict};
use study::memory;
use study::output::{Kind, OutFile, OutFolder, Outputs, publish};
use study::plan::{Plan, builtin};
use study::store::Store;
use study::text::percent;
use study::validity::MOST_FAILED;
use workload::trace::files;

use report::study_report::{self, Charts, UnsoundPoints, cautions_text, points_table};

use crate::args::{ClaimArgs, ClusterArgs, Form, ReadingArgs, StudyArgs};
use crate::cluster;
use crate::exit::{Failure, note, print, say};
use crate::machine;
use crate::on::{Cluster, ClusterSettings, hand_over};
use crate::progress::{Bar, Tell, now};
use crate::run::program;
use crate::store::from_store;

/// Runs some studies, one after another, and prints their points and claims.
pub(crate) fn study(
    paths: &[PathBuf],
    (workload, reading): (Option<&Path>, &ReadingArgs),
    cluster: &ClusterArgs,
    args: (&StudyArgs, &ClaimArgs),
    workers: Option<&dyn Cluster>,
    results: &mut dyn Write,
) -> Result<(), Failure> {
    let on = cluster.on.clone().map(|address| ClusterSettings::new(address, args.0)).transpose()?;
    let elsewhere = match (&on, workers) {
        (None, _) => None,
        (Some(on), Some(workers)) => Some((workers, on)),
        (Some(_), None) => return Err(hand_over()),
    };
    let plan = |path: &PathBuf| {
        let document = catalogue::study(path)?;
        let Some(workload) = workload else {
            let plan = Plan::new(&document)?;
            let idle = plan.idle(&document);
            return if idle.0.is_empty() { Ok(plan) } else { Err(idle) };
        };
        Plan::under(&document, workload)
    };
    let mut faults = Faults::default();
    let plans = paths.iter().filter_map(|path| plan(path).map_err(|found| faults.0.extend(found.0)).ok());
    let mut plans: Vec<Plan> = plans.collect();
    if !faults.0.is_empty() {
        faults.0.dedup();
        return Err(faults.into());
    }
    reading.check(plans.iter().any(Plan::plays_a_trace), &[])?;
    plans.iter_mut().flat_map(|plan| &mut plan.points).for_each(|point| reading.apply(&mut point.run.reading));
    match cluster {
        ClusterArgs { shard: Some(shard), .. } => cluster::shard(plans, *shard, args.0, results),
        ClusterArgs { keys: Some(folder), .. } => cluster::keys(plans, folder, args.0, results),
        _ => perform(plans, paths, args, (true, elsewhere), results),
    }
}

/// The name of all papers together, with the mixtures of their mechanisms.
const ALL: &str = "all";

/// Runs all studies of a paper, or of all papers and their mixtures, and prints the claims.
pub(crate) fn reproduce(
    paper: &str,
    long: bool,
    args: (&StudyArgs, &ClaimArgs),
    results: &mut dyn Write,
) -> Result<(), Failure> {
    let (plans, left_out) = chosen(paper, long)?;
    for name in left_out {
        note(format_args!("the study {name} takes many minutes and is left out; `--long` runs it, too"));
    }
    perform(plans, &[], args, (false, None), results)
}

/// The studies of a paper that run, and the names of the long studies that are left out.
fn chosen(paper: &str, long: bool) -> Result<(Vec<Plan>, Vec<String>), Failure> {
    let is_wanted = |of: &str| of == paper || paper == ALL;
    let found: Vec<_> = builtin().iter().filter(|(name, _)| is_wanted(paper_of(name))).collect();
    if found.is_empty() {
        let (meant, all) = (did_you_mean(paper, papers()), papers().join(", "));
        return Err(Failure::Input(format!("there are no studies of `{paper}`; {meant}choose one of {all}")));
    }
    let document = |(name, text): &&(&str, &str)| Document::parse(Path::new(name), (*text).to_owned());
    let plans = found.iter().map(|study| Plan::new(&document(study)?)).collect::<Result<Vec<_>, Faults>>()?;
    let (lengthy, mut plans): (Vec<_>, Vec<_>) = plans.into_iter().partition(|plan| plan.spec.long);
    match (long, lengthy.is_empty()) {
        (true, true) => {
            Err(Failure::Input(format!("--long has no effect: `{paper}` has no long studies; leave it out")))
        }
        (true, false) => {
            plans.extend(lengthy);
            Ok((plans, Vec::new()))
        }
        (false, _) => Ok((plans, lengthy.into_iter().map(|plan| plan.spec.name).collect())),
    }
}

/// The paper of a study, which is the first part of the study's name.
fn paper_of(study: &str) -> &str {
    study.split_once('/').map_or("", |(paper, _)| paper)
}

/// The names that `reproduce` takes: the papers with studies, and `all`.
pub(crate) fn papers() -> Vec<&'static str> {
    let mut papers: Vec<&str> = [ALL].into_iter().chain(builtin().iter().map(|(name, _)| paper_of(name))).collect();
    papers.dedup();
    papers
}

fn perform(
    mut plans: Vec<Plan>,
    paths: &[PathBuf],
    (args, also): (&StudyArgs, &ClaimArgs),
    (points, elsewhere): (bool, Option<Workers<'_>>),
    results: &mut dyn Write,
) -> Result<(), Failure> {
    let start = now();
    let tell = args.notices();
    tell.check()?;
    for point in plans.iter_mut().flat_map(|plan| &mut plan.points) {
        point.run.verify |= args.verify;
    }
    if elsewhere.is_none() {
        fits(&plans, args)?;
    }
    let store = if elsewhere.is_some() { args.store.in_front()? } else { args.store.open()? };
    let shared = store.as_ref().map(|_| execute::shared_states(&plans)).unwrap_or_default();
    let result_store = store.as_ref().map(|store| ResultStore::new(store, &|said| note(said)).keeping(&shared));
    for plan in &mut plans {
        plan.force = args.replace.force;
        execute::check_snapshots(plan)?;
    }
    // The output files are created first: a path that cannot be written ends the command before the long runs.
    let files = ResultFiles::create(&plans, paths, args, also)?;
    let program = program();
    let place = match elsewhere {
        Some(workers) => StudyPlace::Cluster(workers, store.clone()),
        None => StudyPlace::Here(result_store.as_ref()),
    };
    let outcomes = plans.into_iter().map(|plan| outcome(plan, &program, args, tell, &place));
    let outcomes = outcomes.collect::<Result<Vec<StudyOutcome>, Failure>>()?;
    from_store(store.as_ref(), &outcomes);
    let claims = execute::claims(&outcomes);
    files.write(&program, &outcomes, &claims, points)?;
    let form = Form::of(args.json, args.csv);
    for outcome in &outcomes {
        let in_table = form == Form::Text && points && !outcome.plan.spec.metrics.is_empty();
        if form != Form::Json && !in_table {
            outcome.warnings().iter().for_each(note);
        }
    }
    let text = match form {
        Form::Json => execute::json(&program, &outcomes, &claims),
        Form::Csv if points => rows(&outcomes).csv(),
        Form::Csv => report::study_report::claims(&claims).csv(),
        Form::Text => tables(&outcomes, &claims, points),
    };
    print(results, &text)?;
    if let Some(page) = &args.report {
        say(format_args!("report: {}", page.display()));
    }
    if !points && !args.quiet {
        let (claims, studies, took) = (claims.len(), outcomes.len(), start.elapsed().as_secs_f64());
        say(format_args!("{claims} claims of {studies} studies in {took:.1}s"));
    }
    unexpected(&outcomes, &claims)
}

/// A cluster, and how it is used.
type Workers<'a> = (&'a dyn Cluster, &'a ClusterSettings);

/// The place where the runs of a study run.
enum StudyPlace<'a> {
    Here(Option<&'a ResultStore<'a>>),
    /// With the store in front of the cluster, if there is one.
    Cluster(Workers<'a>, Option<Store>),
}

/// Runs a study.
fn outcome(
    mut plan: Plan,
    program: &Program,
    args: &StudyArgs,
    tell: Tell,
    place: &StudyPlace<'_>,
) -> Result<StudyOutcome, Failure> {
    let failed = |error: ExecuteError| Failure::study(&error);
    if matches!(place, StudyPlace::Here(_)) {
        execute::keep_pipes(&mut plan).map_err(failed)?;
    }
    execute::doubts(&plan).map_err(failed)?.iter().for_each(note);
    tell.done(|| planned(&plan, args.jobs));
    let bar = Bar::steps(&format!("study {}", plan.spec.name), tell);
    match place {
        StudyPlace::Here(store) => {
            execute::run_in(plan, program, args.jobs, *store, &|done, all| bar.step(done, all)).map_err(failed)
        }
        StudyPlace::Cluster((workers, on), store) => {
            let sweep = Sweep::new(plan, store.clone(), args.jobs, Box::new(|said| note(said)));
            Ok(workers.run(sweep.map_err(failed)?, on, Box::new(move |done, all| bar.step(done, all)))?)
        }
    }
}

/// The output files that the options ask for.
struct ResultFiles {
    dir: Option<OutFolder>,
    page: Option<OutFile>,
    junit: Option<OutFile>,
}

impl ResultFiles {
    fn create(plans: &[Plan], paths: &[PathBuf], args: &StudyArgs, also: &ClaimArgs) -> Result<Self, Failure> {
        let names = report::study_report::names(plans);
        let named = plans.iter().flat_map(|plan| &plan.named).flat_map(|path| files(path));
        let mut outputs = Outputs::new(named.chain(paths.iter().cloned()), args.replace.force);
        Ok(Self {
            dir: args.out.as_deref().map(|path| outputs.folder("--out", path, &names)).transpose()?,
            page: args.report.as_deref().map(|path| outputs.file("--report", path, Kind::Page)).transpose()?,
            junit: also.junit.as_deref().map(|path| outputs.file("--junit", path, Kind::JUnit)).transpose()?,
        })
    }

    /// Fills the files and gives them their names. The page has all points of each study if `points` is true, and
    /// otherwise its figures.
    fn write(
        self,
        program: &Program,
        outcomes: &[StudyOutcome],
        claims: &[Claim],
        points: bool,
    ) -> Result<(), Failure> {
        let Self { mut dir, mut page, mut junit } = self;
        let shown = study_report::page(program, outcomes, claims, if points { Charts::Each } else { Charts::Figures });
        if let Some(dir) = &mut dir {
            report::study_report::write_all(dir, program, outcomes, claims, &shown)?;
        }
        if let Some(page) = &mut page {
            page.fill(|out| out.write_all(shown.html().as_bytes()))?;
        }
        if let Some(junit) = &mut junit {
            let failed = report::study_report::junit(claims, &unsound(outcomes));
            junit.fill(|out| out.write_all(failed.as_bytes()))?;
        }
        publish(page.into_iter().chain(junit).collect(), dir)?.iter().for_each(note);
        Ok(())
    }
}

/// Fails if claims do not hold as their studies expect, or if too many requests of a point have failed.
fn unexpected(outcomes: &[StudyOutcome], claims: &[Claim]) -> Result<(), Failure> {
    let all = |verdict| claims.iter().filter(move |claim| claim.verdict == verdict).map(|claim| claim.id.as_str());
    let lists = [
        ("claims that fail without a stated reason", Verdict::Fails),
        ("claims whose stated reason is out of date", Verdict::Stale),
    ];
    let mut said: Vec<String> = lists
        .into_iter()
        .map(|(said, verdict)| (said, all(verdict).collect::<Vec<_>>()))
        .filter(|(_, ids)| !ids.is_empty())
        .map(|(said, ids)| format!("{said}: {}", ids.join(", ")))
        .collect();
    for (study, points) in unsound(outcomes) {
        said.push(format!(
            "study {study}: more than {} of the requests failed at {} (failures = \"expected\" in the study accepts that)",
            percent(MOST_FAILED),
            if points.iter().all(String::is_empty) { "its point".to_owned() } else { points.join("; ") }
        ));
    }
    if said.is_empty() { Ok(()) } else { Err(Failure::Unexpected(said.join("; "))) }
}

/// The studies that have points with too many failed requests, with these points.
fn unsound(outcomes: &[StudyOutcome]) -> Vec<UnsoundPoints> {
    let of = outcomes.iter().map(|outcome| (outcome.plan.spec.name.clone(), outcome.unsound_points()));
    of.filter(|(_, points)| !points.is_empty()).collect()
}

/// A description of the runs to come: devices, workloads and the number of runs.
pub(crate) fn planned(plan: &Plan, jobs: Option<NonZeroUsize>) -> String {
    let (points, seeds) = (plan.points.len(), plan.spec.seeds.len());
    let mut devices: Vec<&str> = plan.points.iter().map(|point| point.device.name.as_str()).collect();
    devices.sort_unstable();
    devices.dedup();
    let at_once = execute::at_once(jobs).min(points * seeds);
    format!(
        "study {}: points {points}, seeds {seeds}, at once {at_once}; devices: {}",
        plan.spec.name,
        devices.join(", ")
    )
}

/// Fails if the points that run at once need more memory than the machine has.
pub(crate) fn fits(plans: &[Plan], args: &StudyArgs) -> Result<(), Failure> {
    let Some(limit) = machine::memory(args.memory) else { return Ok(()) };
    for plan in plans {
        memory::check(execute::needs(plan), execute::at_once(args.jobs), &limit)?;
    }
    Ok(())
}

/// The runs of all studies, each with the name of its study.
fn rows(outcomes: &[StudyOutcome]) -> Table {
    let of = |outcome: &StudyOutcome| {
        let points = report::study_report::points(outcome);
        let mut named = Table::default();
        let name = &outcome.plan.spec.name;
        named.text("study", "The study's name", std::iter::repeat_n(name.clone(), points.rows()));
        for (field, column) in points.into_columns() {
            named.push(field, column);
        }
        named
    };
    Table::stacked(&outcomes.iter().map(of).collect::<Vec<_>>())
}

fn tables(outcomes: &[StudyOutcome], claims: &[Claim], points: bool) -> String {
    let mut text = String::new();
    for outcome in outcomes.iter().filter(|_| points) {
        let spec = &outcome.plan.spec;
        let about = if spec.description.is_empty() { String::new() } else { format!(": {}", spec.description) };
        if !spec.metrics.is_empty() {
            text.push_str(&format!("{}{about}\n\n{}", spec.name, points_table(outcome)));
        }
        text.push_str(&cautions_text(outcome));
    }
    if !claims.is_empty() {
        text.push_str(&report::study_report::claims_table(claims));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(paper: &str, long: bool) -> (Vec<String>, Vec<String>) {
        let (plans, left_out) = chosen(paper, long).unwrap_or_else(|_| panic!("{paper}"));
        (plans.into_iter().map(|plan| plan.spec.name).collect(), left_out)
    }

    #[test]
    fn a_long_study_runs_only_if_asked_for() {
        for paper in ["fmmu", ALL] {
            let (short, left_out) = names(paper, false);
            let (all, none) = names(paper, true);
            assert!(!left_out.is_empty() && none.is_empty(), "{paper}");
            assert_eq!(all, [short, left_out].concat(), "{paper}");
        }
        assert_eq!(names("sung", false).1, [""; 0]);
        assert!(chosen("sung", true).is_err());
    }
}
