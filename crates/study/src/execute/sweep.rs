//! A study whose runs other programs do: the runs that are left, and the results as they come back.
//!
//! The transport of keys and results is the caller's. The caller takes the runs that are [left](Sweep::left), sends
//! each as a [`Task`] to a machine that does it, and passes the bytes of the result to [`take`](Sweep::take), in any
//! order. The outcome is equal to that of a study that ran in this process.

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use base::units::Bytes;

use super::keys::{digests_of, key_of, memory_of};
use super::requests::requests;
use super::stored::say_unused;
use super::{ExecuteError, RunJob, StudyOutcome, Task, at_once, each, jobs, place};
use crate::plan::{Label, Plan};
use crate::store::{Digest, Digests, Row, RowError, Store, StudyPoints, Timing, Timings};
use crate::summary::Summary;

/// Receives sentences for the user.
pub type Warn = Box<dyn Fn(&dyn fmt::Display) + Send + Sync>;

/// A study whose runs other programs do.
pub struct Sweep {
    plan: Plan,
    jobs: Vec<RunJob>,
    /// The digests of traces and snapshots.
    files: Digests,
    /// The digest of each run's key.
    digests: Vec<Digest>,
    /// The runs with each digest: points that do not differ share one.
    same: BTreeMap<Digest, Vec<usize>>,
    found: Vec<Option<Summary>>,
    /// The number of runs whose results are known.
    done: usize,
    /// The number of results that the store had.
    stored: usize,
    store: Option<Store>,
    timings: Timings,
    warn: Warn,
    /// True once the user has been told that the store takes no more results.
    is_full: bool,
}

/// A run that is to be done.
#[derive(Clone, Debug, PartialEq)]
pub struct DueRun {
    /// The digest of the run's key.
    pub digest: Digest,
    /// The point's label on each axis.
    pub labels: Vec<Label>,
    /// Seed of all random decisions of the run.
    pub seed: u64,
    /// The study, the point and the seed, for messages.
    pub place: String,
    /// The name of the run's device.
    pub device: String,
    /// The predicted memory of the run.
    pub memory: Bytes,
    /// The number of the run's requests, if the study determines it.
    pub requests: Option<u64>,
    /// The predicted time of the run in seconds, if anything is known of it.
    pub seconds: Option<f64>,
}

/// The reason that bytes are not the result of a run.
#[derive(Debug)]
pub enum TakeError {
    /// The bytes are not a result of this version.
    Row(RowError),
    /// The bytes are the result of another run.
    Other,
}

impl fmt::Display for TakeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Row(error) => error.fmt(f),
            Self::Other => f.write_str("is the result of another run"),
        }
    }
}

impl std::error::Error for TakeError {}

impl Sweep {
    /// Looks up the runs of the study that are left. `store` has results, and receives new results; `warn` receives
    /// sentences for the user.
    ///
    /// # Errors
    ///
    /// If a workload cannot be read or is a pipe, or a point saves a snapshot.
    pub fn new(
        plan: Plan,
        store: Option<Store>,
        threads: Option<NonZeroUsize>,
        warn: Warn,
    ) -> Result<Self, ExecuteError> {
        let jobs = jobs(&plan);
        if let Some(job) = jobs.iter().find(|job| plan.points[job.point].run.save_snapshot.is_some()) {
            return Err(ExecuteError::SavesElsewhere(place(&plan, *job)));
        }
        let files = digests_of(&plan)?;
        let looked = each(jobs.len(), at_once(threads), |number| {
            let digest = key_of(&plan, jobs[number], &files)?.digest();
            Ok((digest, store.as_ref().map_or(Ok(None), |store| store.get(digest))))
        });
        let (mut digests, mut found, mut unused) = (Vec::new(), Vec::new(), Vec::new());
        let mut same: BTreeMap<Digest, Vec<usize>> = BTreeMap::new();
        for (number, looked) in looked.into_iter().enumerate() {
            let (digest, result) = looked?;
            digests.push(digest);
            same.entry(digest).or_default().push(number);
            found.push(result.unwrap_or_else(|file| {
                unused.push(file);
                None
            }));
        }
        say_unused(&unused, &warn);
        let timings = store.as_ref().map(Store::timings).unwrap_or_default();
        let stored = found.iter().flatten().count();
        let done = stored;
        let sweep =
            Self { plan, jobs, files, digests, same, found, done, stored, store, timings, warn, is_full: false };
        if let Some(store) = &sweep.store
            && let Err(error) = store.put_study(&sweep.study())
        {
            (sweep.warn)(&error);
        }
        Ok(sweep)
    }

    /// Name of the study in its description.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.plan.spec.name
    }

    /// The number of runs of the plan: each point with each seed.
    #[must_use]
    pub fn runs(&self) -> usize {
        self.jobs.len()
    }

    /// The number of runs whose results are known.
    #[must_use]
    pub const fn done(&self) -> usize {
        self.done
    }

    /// The study to which results belong.
    #[must_use]
    pub fn study(&self) -> StudyPoints {
        StudyPoints::new(&self.plan, &self.digests)
    }

    /// The numbers of the runs that are left. Of several runs with one key only the first is listed.
    #[must_use]
    pub fn left(&self) -> Vec<usize> {
        let firsts = self.same.values().map(|runs| runs[0]);
        let mut left: Vec<usize> = firsts.filter(|run| self.found[*run].is_none()).collect();
        left.sort_unstable();
        left
    }

    /// The key, place and predicted cost of the run with this number.
    #[must_use]
    pub fn due(&self, number: usize) -> DueRun {
        let (job, digest) = (self.jobs[number], self.digests[number]);
        let point = &self.plan.points[job.point];
        let requests = requests(point);
        DueRun {
            digest,
            labels: point.labels.clone(),
            seed: job.seed,
            place: place(&self.plan, job).to_string(),
            device: point.device.name.clone(),
            memory: memory_of(point),
            requests,
            seconds: self.timings.predict(digest, &point.device.name, requests).map(|predicted| predicted.seconds),
        }
    }

    /// The traces and snapshots of the study with their digests.
    #[must_use]
    pub fn files(&self) -> Vec<(Digest, PathBuf)> {
        let file =
            |(path, digest): (&Path, Digest)| (digest, std::path::absolute(path).unwrap_or_else(|_| path.to_owned()));
        self.files.iter().map(file).collect()
    }

    /// The task of the run with this number, for another program.
    ///
    /// # Errors
    ///
    /// If its workload cannot be read.
    pub fn task(&self, number: usize) -> Result<Task, ExecuteError> {
        let job = self.jobs[number];
        let key = key_of(&self.plan, job, &self.files)?;
        Ok(Task::new(place(&self.plan, job), key))
    }

    /// The point and the result of the run with this number; `None` while the result is unknown.
    #[must_use]
    pub fn result(&self, number: usize) -> Option<(&[Label], &Summary)> {
        Some((&self.plan.points[self.jobs[number].point].labels, self.found[number].as_ref()?))
    }

    /// Takes the bytes of the result of the run with this number, and writes them to the store. `took` is the time of
    /// the run; `None` if the result is from another store. Returns the numbers of all runs that now have a result.
    ///
    /// # Errors
    ///
    /// If the bytes are not the result of this run.
    pub fn take(&mut self, number: usize, bytes: Vec<u8>, took: Option<Duration>) -> Result<Vec<usize>, TakeError> {
        let digest = self.digests[number];
        let row = Row::parse(bytes.clone()).map_err(TakeError::Row)?;
        if row.key.digest() != digest {
            return Err(TakeError::Other);
        }
        let timing = took.map(|took| {
            let requests = requests(&self.plan.points[self.jobs[number].point]);
            Timing::new(digest, &row.summary, requests, took)
        });
        if let Some(store) = &self.store {
            if let Err(error) = store.put_bytes(digest, &bytes)
                && !std::mem::replace(&mut self.is_full, true)
            {
                (self.warn)(&error);
            }
            // A lost timing only makes predictions less exact.
            timing.iter().for_each(|timing| drop(store.put_timing(timing)));
        }
        timing.into_iter().for_each(|timing| self.timings.note(timing));
        let runs = self.same[&digest].clone();
        self.stored += if took.is_none() { runs.len() } else { 0 };
        for run in &runs {
            self.done += usize::from(self.found[*run].replace(row.summary.clone()).is_none());
        }
        Ok(runs)
    }

    /// The outcome; `None` while runs are left.
    #[must_use]
    pub fn outcome(self) -> Option<StudyOutcome> {
        let all: Option<Vec<Summary>> = self.found.into_iter().collect();
        let runs = all?.chunks(self.plan.spec.seeds.len()).map(<[Summary]>::to_vec).collect();
        Some(StudyOutcome { plan: self.plan, runs, stored: self.stored })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use testkit::small::STUDY;

    use super::super::{Program, run};
    use super::*;
    use crate::config::Document;
    use crate::store::PathsByDigest;

    fn plan(text: &str) -> Plan {
        let document = Document::parse(Path::new("s.toml"), text.to_owned()).expect("TOML");
        Plan::new(&document).unwrap_or_else(|faults| panic!("{faults}"))
    }

    fn sweep(store: Option<&Store>) -> Sweep {
        Sweep::new(plan(STUDY), store.cloned(), None, Box::new(|said| panic!("{said}"))).expect("it is readable")
    }

    fn done(sweep: &Sweep, run: usize) -> Vec<u8> {
        let (program, never) = (Program::default(), AtomicBool::new(false));
        let task = Task::parse(&sweep.task(run).expect("a key").json()).expect("it is read back");
        task.run(&PathsByDigest::new(), &program, &never).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn results_of_other_programs_in_any_order_give_the_outcome_of_a_run_here() {
        let wanted = run(plan(STUDY), &Program::default(), None, &|_, _| {}).expect("it runs");
        let folder = tempfile::tempdir().expect("a directory");
        let store = Store::open(folder.path()).expect("writable");
        let mut first = sweep(Some(&store));
        let left = first.left();
        assert_eq!((first.runs(), first.done(), left.len()), (6, 0, 6));
        assert!(first.due(0).seconds.is_none() && first.due(0).requests == Some(150));
        for (before, run) in left.iter().rev().enumerate() {
            assert_eq!(first.done(), before);
            assert_eq!(first.take(*run, done(&first, *run), Some(Duration::from_millis(15))).expect("its"), [*run]);
            assert!(first.result(*run).is_some_and(|(labels, _)| labels == wanted.labels(*run / 2)));
        }
        assert!(first.left().is_empty() && first.due(0).seconds.is_some());
        let outcome = first.outcome().expect("all are there");
        assert_eq!((&outcome.runs, outcome.stored), (&wanted.runs, 0));
        // The store has the results now; without the store they can be handed over.
        let again = sweep(Some(&store));
        assert_eq!((again.done(), again.outcome().map(|outcome| outcome.stored)), (6, Some(6)));
        let mut other = sweep(None);
        for run in other.left() {
            let bytes = std::fs::read(store.path(other.due(run).digest)).expect("a result");
            assert_eq!(bytes, done(&other, run), "byte for byte");
            other.take(run, bytes, None).expect("its");
        }
        assert_eq!(other.outcome().map(|outcome| (outcome.runs, outcome.stored)), Some((wanted.runs, 6)));
    }

    #[test]
    fn bytes_that_are_not_the_result_are_refused() {
        let mut sweep = sweep(None);
        let bytes = done(&sweep, 1);
        assert!(matches!(sweep.take(0, bytes.clone(), None), Err(TakeError::Other)));
        assert!(matches!(sweep.take(1, bytes[..bytes.len() / 2].to_vec(), None), Err(TakeError::Row(_))));
        assert!(matches!(sweep.take(1, b"PAR1".to_vec(), None), Err(TakeError::Row(_))));
        assert_eq!(sweep.take(1, bytes, None).expect("its"), [1]);
        assert!(sweep.outcome().is_none(), "five are left");
    }

    #[test]
    fn points_that_differ_in_nothing_are_one_run() {
        let text = STUDY.replace("[1, 2]\nrun", "[1]\nrun")
            + "[[axis]]\nname = \"again\"\npoint = [{ at = \"a\" }, { at = \"b\" }]\n";
        let mut sweep = Sweep::new(plan(&text), None, None, Box::new(|_| {})).expect("it is readable");
        let left = sweep.left();
        assert_eq!((sweep.runs(), left.len()), (6, 3));
        let filled = sweep.take(left[1], done(&sweep, left[1]), None).expect("its");
        assert_eq!((filled.len(), sweep.done()), (2, 2));
        // A second copy of a result changes nothing.
        assert_eq!(sweep.take(left[1], done(&sweep, left[1]), None).expect("its"), filled);
        assert_eq!((sweep.done(), sweep.left().len()), (2, 2));
    }

    #[test]
    fn a_snapshot_is_not_saved_elsewhere() {
        let one = STUDY.replace("[1, 2]\nrun", "[1]\nrun").replace("values = [1, 2, 4]", "values = [1]");
        let text = one.replace("limit = 150", "limit = 150, save-snapshot = \"state\"");
        let error = Sweep::new(plan(&text), None, None, Box::new(|_| {})).err().expect("refused").to_string();
        assert!(error.starts_with("study ") && error.contains("run.save-snapshot: a worker"), "{error}");
    }
}
