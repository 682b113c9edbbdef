//! Runs the points of a study on all processor cores.

mod claims;
mod document;
mod keys;
mod requests;
mod save;
mod shard;
mod stored;
mod sweep;
mod task;
mod unchanged;

use std::fmt;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use workload::trace::{TraceFile, TraceOptions, TraceSource};

use crate::catalogue::{WorkloadError, WorkloadFile};
use crate::caution::{Caution, cautions};
use crate::expect::Values;
use crate::memory::Need;
use crate::metric::{Dimension, Metric};
use crate::output::OutputError;
use crate::plan::{Failures, Label, Plan, Point};
use crate::session::{Session, SessionError};
use crate::spread::Spread;
use crate::store::Digest;
use crate::summary::Summary;

pub use crate::session::Program;
pub use claims::{Claim, ExpectationResult, Isolation, OmittedPoints, Verdict, claims, natural};
pub use document::{SCHEMA, Studies, json};
pub use keys::{KeyList, PlannedRun, list_keys, write_keys};
pub use save::check_snapshots;
pub use shard::{ParseShardError, Shard, ShardAssignment, ShardRun, describe_point, run_shard};
pub use stored::{ResultStore, shared_states};
pub use sweep::{DueRun, Sweep, TakeError, Warn};
pub use task::{PointError, Task, point};

/// The results of all runs of a study, from which its claims are judged.
#[derive(Clone, Debug)]
pub struct StudyOutcome {
    /// The study as it was planned, with its points.
    pub plan: Plan,
    /// For each point, the runs with each seed.
    pub runs: Vec<Vec<Summary>>,
    /// The number of runs whose results came from a store.
    pub stored: usize,
}

/// The reason that a study has no outcome.
#[derive(Debug)]
pub enum ExecuteError {
    /// A workload cannot be read.
    Workload(WorkloadError),
    /// A workload cannot be opened for the drive of a point.
    Open(WorkloadError, RunLabel),
    /// The snapshot of a point cannot be written.
    Output(OutputError, RunLabel),
    /// A workload has several stages, and thus several results.
    Stages(RunLabel),
    /// A point saves a snapshot, but another process would do its run, which cannot write the snapshot here.
    SavesElsewhere(RunLabel),
    /// Results of a shard could not be written to the store.
    NotKept {
        /// The number of results.
        lost: usize,
        /// Folder of the store that could not be written.
        store: PathBuf,
    },
    /// A run failed, at a point with a seed.
    Session(Box<SessionError>, RunLabel),
}

/// The point and seed of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunLabel(String);

impl fmt::Display for RunLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for ExecuteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Workload(error) => error.fmt(f),
            Self::Open(error, place) => write!(f, "{place}: {error}"),
            Self::Output(error, place) => write!(f, "{place}: {error}"),
            Self::Stages(place) => {
                write!(f, "{place}: the workload has several stages; give one of them a file of its own")
            }
            Self::SavesElsewhere(place) => write!(
                f,
                "{place}: run.save-snapshot: a worker of a cluster cannot leave its file here; run the study on this \
                 machine"
            ),
            Self::NotKept { lost, store } => write!(
                f,
                "{}: {lost} results could not be kept in the store; free space there and run the shard again, which does \
                 only these runs",
                store.display()
            ),
            Self::Session(error, place) => write!(f, "{place}: {error}"),
        }
    }
}

impl std::error::Error for ExecuteError {}

/// The number of runs at once: `threads`, or one for each core.
#[must_use]
pub fn at_once(threads: Option<NonZeroUsize>) -> usize {
    threads.or_else(|| thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get)
}

/// The memory that each run of a study needs.
#[must_use]
pub fn needs(plan: &Plan) -> Vec<Need> {
    let need = |point: &Point| {
        let labels: Vec<String> = point.labels.iter().map(ToString::to_string).collect();
        let name = format!("study {}, {}", plan.spec.name, labels.join(", "));
        Need { name, memory: Session::new(&point.device).spec(&point.run).memory_under(point.workloads()) }
    };
    // Each seed is a run of its own.
    let seeds = plan.spec.seeds.len().max(1);
    plan.points.iter().flat_map(|point| std::iter::repeat_n(point, seeds)).map(need).collect()
}

/// One run of a study: the number of its point, and a seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RunJob {
    point: usize,
    seed: u64,
}

/// Runs a study with at most this many threads; on all cores if `None`. `progress` receives the number of finished runs
/// and of all runs. The outcome does not depend on the number of threads.
///
/// # Errors
///
/// The error of the first point that cannot run.
pub fn run(
    plan: Plan,
    program: &Program,
    threads: Option<NonZeroUsize>,
    progress: &(dyn Fn(u64, u64) + Sync),
) -> Result<StudyOutcome, ExecuteError> {
    run_in(plan, program, threads, None, progress)
}

/// Runs a study as [`run`] does, with a store: runs with a result in the store are skipped, and each new result is
/// written to the store as soon as its run ends.
///
/// # Errors
///
/// The error of the first point that cannot run.
pub fn run_in(
    plan: Plan,
    program: &Program,
    threads: Option<NonZeroUsize>,
    result_store: Option<&ResultStore<'_>>,
    progress: &(dyn Fn(u64, u64) + Sync),
) -> Result<StudyOutcome, ExecuteError> {
    run_followed(plan, program, threads, result_store, Follow { progress, ..Follow::default() })
}

/// The callbacks of a caller that follows a study while it runs.
#[derive(Clone, Copy)]
pub struct Follow<'a> {
    /// Called with the number of finished runs and of all runs.
    pub progress: &'a (dyn Fn(u64, u64) + Sync),
    /// Called with each result as soon as it is known: the number of its point, and the run. Results from a store come
    /// first.
    pub finished: &'a (dyn Fn(usize, &Summary) + Sync),
    /// Called with the digest of each run that was done here, as soon as its result is in the store.
    pub kept: &'a (dyn Fn(Digest) + Sync),
    /// All runs end soon after this flag becomes true, see [`Session::interrupt`]. Results that are in a store are
    /// kept.
    pub interrupt: Option<&'a AtomicBool>,
    /// Called in the thread of each run with a function that does the run. A caller whose policies need a prepared
    /// thread prepares it here.
    pub wrapper: &'a (dyn Fn(&mut (dyn FnMut() + Send)) + Sync),
}

impl Default for Follow<'_> {
    fn default() -> Self {
        let wrapper = &|run: &mut (dyn FnMut() + Send)| run();
        Self { progress: &|_, _| {}, finished: &|_, _| {}, kept: &|_| {}, interrupt: None, wrapper }
    }
}

/// Runs a study as [`run_in`] does, for a caller that takes each result at once and may end the study.
///
/// # Errors
///
/// The error of the first point that cannot run.
pub fn run_followed(
    mut plan: Plan,
    program: &Program,
    threads: Option<NonZeroUsize>,
    result_store: Option<&ResultStore<'_>>,
    follow: Follow<'_>,
) -> Result<StudyOutcome, ExecuteError> {
    keep_pipes(&mut plan)?;
    let jobs = jobs(&plan);
    let done = run_jobs(&mut plan, &jobs, program, threads, result_store, follow)?;
    let stored = done.iter().filter(|run| run.was_stored).count();
    let runs: Vec<Summary> = done.into_iter().map(|run| run.summary).collect();
    let runs = runs.chunks(plan.spec.seeds.len()).map(<[Summary]>::to_vec).collect();
    Ok(StudyOutcome { plan, runs, stored })
}

/// All runs of a study: each point with each seed.
fn jobs(plan: &Plan) -> Vec<RunJob> {
    let with_seeds = |point: usize| plan.spec.seeds.iter().map(move |seed| RunJob { point, seed: *seed });
    (0..plan.points.len()).flat_map(with_seeds).collect()
}

/// A run whose result is known, from here or from the store.
struct JobRun {
    summary: Summary,
    /// The digest of the run's key, if there is a store.
    digest: Option<Digest>,
    was_stored: bool,
}

/// Does these runs of a study. The results are in the order of the jobs.
fn run_jobs(
    plan: &mut Plan,
    jobs: &[RunJob],
    program: &Program,
    threads: Option<NonZeroUsize>,
    result_store: Option<&ResultStore<'_>>,
    follow: Follow<'_>,
) -> Result<Vec<JobRun>, ExecuteError> {
    let threads = at_once(threads);
    let known = result_store.map(|result_store| result_store.look_up(plan, jobs, threads)).transpose()?;
    let plan = &*plan;
    let mut results: Vec<Option<Summary>> =
        known.as_ref().map_or_else(|| vec![None; jobs.len()], |known| known.found());
    let was_stored: Vec<bool> = results.iter().map(Option::is_some).collect();
    let left = known.as_ref().map_or_else(|| (0..jobs.len()).collect(), |known| known.order());
    let stored = jobs.len() - left.len();
    if stored > 0 {
        (follow.progress)(stored as u64, jobs.len() as u64);
    }
    for (job, found) in jobs.iter().zip(&results) {
        found.iter().for_each(|summary| (follow.finished)(job.point, summary));
    }
    let by = PointRunner { program, interrupt: follow.interrupt };
    let run = |next: usize| {
        let job = jobs[left[next]];
        let result = match &known {
            Some(known) => {
                let result = known.run(plan, job, left[next], by);
                result.iter().for_each(|_| (follow.kept)(known.digest(left[next])));
                result
            }
            None => plain(plan, job, by),
        };
        result.iter().for_each(|summary| (follow.finished)(job.point, summary));
        result
    };
    let run = |next: usize| {
        let mut result = None;
        (follow.wrapper)(&mut || result = Some(run(next)));
        result.expect("`wrapper` calls its argument")
    };
    let done = |done| (follow.progress)((stored + done) as u64, jobs.len() as u64);
    let made = each_until_error(left.len(), threads, run, &done);
    let mut made: Vec<_> = left.into_iter().zip(made).collect();
    made.sort_by_key(|(job, _)| *job);
    for (job, result) in made {
        // Runs that never started have no result; the error that stopped them is returned first.
        results[job] = result.transpose()?;
    }
    let run = |(number, (summary, was_stored)): (usize, (Summary, bool))| JobRun {
        summary,
        digest: known.as_ref().map(|known| known.digest(number)),
        was_stored,
    };
    Ok(results.into_iter().flatten().zip(was_stored).enumerate().map(run).collect())
}

/// Calls a job for each number below `count`, on at most this many threads, and returns the results in the order of the
/// numbers. After an error no further job begins; the results of jobs that never began are `None`. `progress` receives
/// the number of jobs that ended.
pub(crate) fn each_until_error<T: Send, E: Send>(
    count: usize,
    threads: usize,
    job: impl Fn(usize) -> Result<T, E> + Sync,
    progress: &(dyn Fn(usize) + Sync),
) -> Vec<Option<Result<T, E>>> {
    let (done, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    each(count, threads, |number| {
        if failed.load(Ordering::Relaxed) {
            return None;
        }
        let result = job(number);
        failed.fetch_or(result.is_err(), Ordering::Relaxed);
        progress(done.fetch_add(1, Ordering::Relaxed) + 1);
        Some(result)
    })
}

/// Calls a job for each number below `count`, on at most this many threads, and returns the results in the order of the
/// numbers.
pub(crate) fn each<T: Send>(count: usize, threads: usize, job: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<T>>> = (0..count).map(|_| Mutex::new(None)).collect();
    let work = || {
        while let Some((number, result)) = results.iter().enumerate().nth(next.fetch_add(1, Ordering::Relaxed)) {
            *result.lock().expect("no holder panics") = Some(job(number));
        }
    };
    thread::scope(|scope| {
        for _ in 0..threads.min(count) {
            scope.spawn(work);
        }
    });
    let result = |result: Mutex<Option<T>>| result.into_inner().expect("no holder panicked");
    results.into_iter().filter_map(result).collect()
}

/// Keeps the bytes of a trace from a pipe if more than one run reads it: a pipe delivers them once.
///
/// # Errors
/// If the pipe cannot be read, or there is no room for its bytes.
pub fn keep_pipes(plan: &mut Plan) -> Result<(), ExecuteError> {
    let several = |point: &Point| !point.beside.is_empty();
    if plan.points.len() * plan.spec.seeds.len() <= 1 && !plan.points.iter().any(several) {
        return Ok(());
    }
    let mut kept: Vec<TraceFile> = Vec::new();
    for workload in plan.points.iter_mut().flat_map(Point::workloads_mut) {
        let WorkloadFile::Trace(file) = workload else { continue };
        if let Some(same) = kept.iter().find(|same| same.path() == file.path()) {
            *file = same.clone();
        } else if file.is_once() {
            file.keep().map_err(|error| ExecuteError::Workload(error.into()))?;
            kept.push(file.clone());
        }
    }
    Ok(())
}

/// Notes for a reader of the results, known before the run: keys of devices that the study replaces, and properties
/// that traces do not state. Each note appears once.
///
/// # Errors
///
/// If a trace cannot be read.
pub fn doubts(plan: &Plan) -> Result<Vec<String>, ExecuteError> {
    let mut seen: Vec<(&Path, TraceOptions)> = Vec::new();
    let mut notes: Vec<String> = Vec::new();
    for note in plan.points.iter().flat_map(|point| &point.device.replaced) {
        if !notes.contains(note) {
            notes.push(note.clone());
        }
    }
    for (workload, options) in plan.points.iter().flat_map(Point::readings) {
        let WorkloadFile::Trace(file) = workload else { continue };
        // A second look at a pipe would consume the bytes that the run needs.
        let options = TraceOptions { repeat: 1, ..options };
        let key = (file.path(), options);
        if file.is_once() || seen.contains(&key) {
            continue;
        }
        let source = TraceSource::open(file.clone(), &key.1).map_err(|error| ExecuteError::Workload(error.into()))?;
        for note in source.doubts().iter().map(|doubt| format!("{}: {doubt}", file.shown().display())) {
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
        seen.push(key);
    }
    Ok(notes)
}

/// The names of the study, point and seed of a run, for messages.
fn place(plan: &Plan, job: RunJob) -> RunLabel {
    let labels = crate::plan::describe(&plan.axes, &plan.points[job.point].labels);
    let labels = if labels.is_empty() { labels } else { format!(", {labels}") };
    RunLabel(format!("study {}{labels}, seed {}", plan.spec.name, job.seed))
}

/// The program that runs a point, and the flag that ends it early.
#[derive(Clone, Copy)]
struct PointRunner<'a> {
    program: &'a Program,
    interrupt: Option<&'a AtomicBool>,
}

/// Runs a point with a seed. `prepare` may load a state into the session, or keep the session's state.
fn one<'a>(
    point: &'a Point,
    seed: u64,
    by: PointRunner<'a>,
    place: impl Fn() -> RunLabel,
    prepare: impl FnOnce(Session<'a>) -> Result<Session<'a>, ExecuteError>,
) -> Result<Summary, ExecuteError> {
    let mut session = Session::new(&point.device).program(by.program.clone()).seed(seed).spec(&point.run);
    if let Some(interrupt) = by.interrupt {
        session = session.interrupt(interrupt);
    }
    let session = session.open_all(point).map_err(|error| ExecuteError::Open(error, place()))?;
    if session.flows().iter().any(|flow| flow.stages() != 1) {
        return Err(ExecuteError::Stages(place()));
    }
    let session = prepare(session)?;
    let outcome = session.run().map_err(|error| ExecuteError::Session(Box::new(error), place()))?;
    Ok(outcome.first().summary())
}

/// Runs a point with a seed, without a shared state.
fn plain(plan: &Plan, job: RunJob, by: PointRunner<'_>) -> Result<Summary, ExecuteError> {
    let (point, place) = (&plan.points[job.point], || place(plan, job));
    one(point, job.seed, by, place, |session| save::saving(session, plan, point, place))
}

impl StudyOutcome {
    /// The mean of a metric over the seeds, at the point with this number.
    #[must_use]
    pub fn value(&self, point: usize, metric: &Metric) -> Option<f64> {
        self.spread(point, metric).map(|spread| spread.mean)
    }

    /// The spread of a metric over the seeds, at the point with this number; `None` unless every run has the metric.
    #[must_use]
    pub fn spread(&self, point: usize, metric: &Metric) -> Option<Spread> {
        let values: Option<Vec<f64>> = self.runs[point].iter().map(|summary| metric.of(summary)).collect();
        Spread::of(values?)
    }

    /// The values of a metric at all points, for each seed.
    pub(crate) fn values_by_seed(&self, metric: &Metric) -> Vec<Values<'_>> {
        let points = || self.plan.points.iter().zip(&self.runs);
        let with = |seed: usize| {
            let at = points()
                .map(move |(point, runs)| (point.labels.clone(), runs.get(seed).and_then(|run| metric.of(run))));
            Values::new(&self.plan.axes, metric.dimension(), at)
        };
        (0..self.plan.spec.seeds.len()).map(with).collect()
    }

    /// The values of a metric at all points.
    #[must_use]
    pub fn values(&self, metric: &Metric) -> Values<'_> {
        let at = |(i, point): (usize, &Point)| (point.labels.clone(), self.value(i, metric));
        Values::new(&self.plan.axes, metric.dimension(), self.plan.points.iter().enumerate().map(at))
    }

    /// True if the point with this number may be compared with others, and may support a claim: the study expects
    /// failures, or the share of failed requests was at most [`MOST_FAILED`](crate::validity::MOST_FAILED) in every
    /// run.
    #[must_use]
    pub fn is_sound(&self, point: usize) -> bool {
        self.plan.spec.failures == Failures::Expected || !self.runs[point].iter().any(Summary::fails_too_often)
    }

    /// An indicator of the points that are not [sound](Self::is_sound): 1 for these, 0 for the others.
    pub(crate) fn unsound(&self) -> Values<'_> {
        let at = |(i, point): (usize, &Point)| (point.labels.clone(), Some(f64::from(u8::from(!self.is_sound(i)))));
        Values::new(&self.plan.axes, Dimension::Count, self.plan.points.iter().enumerate().map(at))
    }

    /// The names of the points that are not [sound](Self::is_sound).
    #[must_use]
    pub fn unsound_points(&self) -> Vec<String> {
        let unsound = (0..self.runs.len()).filter(|point| !self.is_sound(*point));
        unsound.map(|point| crate::plan::describe(&self.plan.axes, &self.plan.points[point].labels)).collect()
    }

    /// The warnings and notes of the runs, each with the numbers of the points that have it.
    #[must_use]
    pub fn cautions(&self) -> Vec<Caution<'_>> {
        cautions(self.runs.iter().enumerate().flat_map(|(point, runs)| runs.iter().map(move |run| (point, run))))
    }

    /// The names of the axes.
    pub fn axes(&self) -> impl Iterator<Item = &str> {
        self.plan.axes.iter().map(|(name, _)| name.as_str())
    }

    /// The labels of a point, by its position in `points`.
    #[must_use]
    pub fn labels(&self, point: usize) -> &[Label] {
        &self.plan.points[point].labels
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use testkit::small::{CLAIMS, STUDY};

    use super::*;
    use crate::config::Document;

    fn outcome(threads: usize) -> StudyOutcome {
        let document = Document::parse(Path::new("s.toml"), [STUDY, CLAIMS].concat()).expect("TOML");
        let plan = Plan::new(&document).expect("sound");
        run(plan, &Program::default(), NonZeroUsize::new(threads), &|_, _| {}).expect("it runs")
    }

    #[test]
    fn the_outcome_does_not_depend_on_the_number_of_threads() {
        let [one, three] = [1, 3].map(outcome);
        assert_eq!(one.runs.len(), 3);
        assert!(one.runs.iter().all(|runs| runs.len() == 2 && runs[0].event_hash != runs[1].event_hash));
        assert_eq!(one.runs, three.runs);
    }

    #[test]
    fn each_result_is_there_as_soon_as_its_run_ends_and_the_rest_can_be_left() {
        let plan = || {
            let document = Document::parse(Path::new("s.toml"), [STUDY, CLAIMS].concat()).expect("TOML");
            Plan::new(&document).expect("sound")
        };
        let (program, one) = (Program::default(), NonZeroUsize::new(1));
        let seen = Mutex::new(Vec::new());
        let finished = |point: usize, run: &Summary| seen.lock().expect("no holder panics").push((point, run.clone()));
        let follow = Follow { finished: &finished, ..Follow::default() };
        let all = run_followed(plan(), &program, one, None, follow).expect("it runs");
        let runs = all.runs.iter().enumerate();
        let wanted = runs.flat_map(|(point, runs)| runs.iter().map(move |run| (point, run.clone())));
        assert_eq!(seen.lock().expect("no holder panics").clone(), wanted.collect::<Vec<_>>());
        let interrupt = AtomicBool::new(true);
        let follow = Follow { interrupt: Some(&interrupt), ..Follow::default() };
        let error = run_followed(plan(), &program, one, None, follow).expect_err("it was interrupted");
        assert!(error.to_string().contains("interrupted"), "{error}");
    }

    #[test]
    fn claims_are_judged_and_written_to_the_json() {
        let outcomes = [outcome(2)];
        let claims = claims(&outcomes);
        let verdicts: Vec<_> = claims.iter().map(|claim| (claim.id.as_str(), claim.verdict)).collect();
        assert_eq!(verdicts, [("B1", Verdict::Fails), ("B2", Verdict::Holds)]);
        let each: Vec<_> = claims[0].findings.iter().map(|finding| finding.verdict).collect();
        assert_eq!(each, [Verdict::Fails, Verdict::Differs]);
        let text = json(&Program::default(), &outcomes, &claims);
        let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(json["studies"][0]["points"][2]["labels"][0], "4");
        assert_eq!(json["claims"][1]["findings"][0]["verdict"], "holds");
    }

    #[test]
    fn verify_checks_every_read() {
        let text = [STUDY, CLAIMS].concat().replace("limit = 150", "limit = 150, verify = true");
        let plan = Plan::new(&Document::parse(Path::new("s.toml"), text).expect("TOML")).expect("sound");
        let checked = run(plan, &Program::default(), None, &|_, _| {}).expect("it runs");
        let plain = outcome(1);
        for (checked, plain) in checked.runs.iter().flatten().zip(plain.runs.iter().flatten()) {
            assert!(checked.verified.as_ref().is_some_and(|verified| verified["reads"] > 0), "{checked:?}");
            assert_eq!(checked.event_hash, plain.event_hash, "the payload must not change the events");
        }
    }

    #[test]
    fn the_error_of_a_run_that_cannot_begin_names_its_point() {
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::write(dir.path().join("disk.csv"), "0,128166372003061629,hm,0,Read,x,4096,1\n").expect("written");
        let text = "name = \"s\"\ndevice = \"demo\"\nworkload = \"disk.csv\"\nrun.format = \"msr\"\n";
        let document = Document::parse(&dir.path().join("s.toml"), text.to_owned()).expect("TOML");
        let plan = Plan::new(&document).expect("sound");
        let error = run(plan, &Program::default(), None, &|_, _| {}).expect_err("it is no trace").to_string();
        assert!(error.starts_with("study s, ") && error.contains("disk.csv:1: "), "{error}");
    }
}
