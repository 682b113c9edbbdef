//! Runs with a store of results: only runs whose results are not in the store are done.
//!
//! Several runs that precondition equal drives share the state of the drive: the first run makes it, and the others
//! load it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use flash::nand::SnapshotError;
use ssd::Precondition;
use workload::SourceError;

use super::keys::key_of;
use super::requests::requests;
use super::{ExecuteError, PointRunner, RunJob, each, one, place, plain};
use crate::plan::{Plan, Point};
use crate::session::SessionError;
use crate::snapshot::{LoadError, LoadReason};
use crate::store::{Digest, Digests, Key, Store, StudyPoints, Timing, UnusableFile, state_of};
use crate::summary::Summary;

/// The most unusable files of a store that a warning names.
const NAMED: usize = 3;

/// A store of results, with a function for warnings about its files.
#[derive(Clone, Copy)]
pub struct ResultStore<'a> {
    pub(super) store: &'a Store,
    warn: &'a (dyn Fn(&dyn fmt::Display) + Sync),
    shared: &'a BTreeSet<Digest>,
}

static NO_STATES: BTreeSet<Digest> = BTreeSet::new();

/// The states that more than one of these studies needs, for [`ResultStore::keeping`].
#[must_use]
pub fn shared_states(plans: &[Plan]) -> BTreeSet<Digest> {
    let (mut seen, mut shared) = (BTreeSet::new(), BTreeSet::new());
    for plan in plans.iter().filter(|_| plans.len() > 1) {
        let points = plan.points.iter().filter(|point| is_worth_keeping(point));
        let states = points.flat_map(|point| plan.spec.seeds.iter().filter_map(|seed| state_of(point, *seed)));
        let states: BTreeSet<Digest> = states.collect();
        shared.extend(states.intersection(&seen));
        seen.extend(states);
    }
    shared
}

struct KeyedRun {
    key: Key,
    digest: Digest,
    /// The digest of the drive state that the run shares with others.
    state: Option<Digest>,
    found: Option<Summary>,
}

/// The runs of a study, each with its result if a store has it.
pub(super) struct StudyLookup<'a> {
    result_store: ResultStore<'a>,
    runs: Vec<KeyedRun>,
    /// A lock for each shared state, held while a run makes the state; the value is true if the state cannot be shared.
    states: BTreeMap<Digest, Mutex<bool>>,
    /// True once the user has been told that the store takes no more results.
    is_full: AtomicBool,
}

impl<'a> ResultStore<'a> {
    /// Creates a result store. `warn` receives sentences for the user, about problems that do not prevent results.
    #[must_use]
    pub const fn new(store: &'a Store, warn: &'a (dyn Fn(&dyn fmt::Display) + Sync)) -> Self {
        Self { store, warn, shared: &NO_STATES }
    }

    /// Keeps these states even if one study needs them only once, because another study needs them, too. See
    /// [`shared_states`].
    #[must_use]
    pub fn keeping(self, shared: &'a BTreeSet<Digest>) -> Self {
        Self { shared, ..self }
    }

    /// Looks up the results of these runs.
    pub(super) fn look_up(
        self,
        plan: &mut Plan,
        jobs: &[RunJob],
        threads: usize,
    ) -> Result<StudyLookup<'a>, ExecuteError> {
        let unreadable = |error: SourceError| ExecuteError::Workload(error.into());
        for workload in plan.points.iter_mut().flat_map(Point::workloads_mut) {
            // The digest takes one pass over the bytes, and the run another.
            workload.keep().map_err(ExecuteError::Workload)?;
        }
        // The points of other shards do not count.
        let wanted: BTreeSet<usize> = jobs.iter().map(|job| job.point).collect();
        let digests = Digests::of(wanted.iter().map(|point| &plan.points[*point])).map_err(unreadable)?;
        let looked = each(jobs.len(), threads, |number| {
            let (job, point) = (jobs[number], &plan.points[jobs[number].point]);
            let key = key_of(plan, job, &digests)?;
            let digest = key.digest();
            // A run that writes a snapshot must be done even if its result is known.
            let found = if point.run.save_snapshot.is_some() { Ok(None) } else { self.store.get(digest) };
            let state = key.state(&point.device.resolved).filter(|_| is_worth_keeping(point));
            Ok((KeyedRun { state, key, digest, found: None }, found))
        });
        let (mut runs, mut unused) = (Vec::with_capacity(jobs.len()), Vec::new());
        for looked in looked {
            let (mut run, found) = looked?;
            match found {
                Ok(found) => run.found = found,
                Err(file) => unused.push(file),
            }
            runs.push(run);
        }
        say_unused(&unused, self.warn);
        // Only a run of the whole study writes the list of its points. A shard would have to compute every key for it.
        if jobs.len() == plan.points.len() * plan.spec.seeds.len() {
            let digests: Vec<Digest> = runs.iter().map(|run| run.digest).collect();
            if let Err(error) = self.store.put_study(&StudyPoints::new(plan, &digests)) {
                (self.warn)(&error);
            }
        }
        let states = self.shared(&runs);
        Ok(StudyLookup { result_store: self, runs, states, is_full: AtomicBool::new(false) })
    }

    /// The states that at least two of the runs need, or a later study needs, or that the store has already.
    fn shared(self, runs: &[KeyedRun]) -> BTreeMap<Digest, Mutex<bool>> {
        let mut counts: BTreeMap<Digest, usize> = BTreeMap::new();
        for state in runs.iter().filter(|run| run.found.is_none()).filter_map(|run| run.state) {
            *counts.entry(state).or_default() += 1;
        }
        let is_shared = |(state, count): &(Digest, usize)| {
            *count > 1 || self.shared.contains(state) || self.store.state(*state).is_some()
        };
        counts.into_iter().filter(is_shared).map(|(state, _)| (state, Mutex::new(false))).collect()
    }
}

/// The number of mapping units that preconditioning writes in the time that it takes to find, open and check a file.
const UNITS_OF_FILE: f64 = 1_024.0;

/// True if it takes longer to precondition the drive of a point than to load its state.
fn is_worth_keeping(point: &Point) -> bool {
    let resolved = &point.device.resolved;
    if resolved.layer().is_some() {
        // A snapshot has one drive and none of the layers above drives.
        return false;
    }
    let (units, slots) = (f64::from(resolved.units), f64::from(resolved.geometry.slot_count()));
    let written = |step: &Precondition| match step {
        Precondition::Fill => units,
        Precondition::Preload { extent, .. } => {
            units * (extent.get() as f64 / resolved.capacity().bytes().get() as f64)
        }
        Precondition::RandomOverwrite(times) => units * times,
        Precondition::Steady | Precondition::SteadyModel => f64::INFINITY,
    };
    // A state that two runs share must also be written once, and every drive takes time for each of its slots, also a
    // loaded one.
    point.run.precondition.iter().map(written).sum::<f64>() >= UNITS_OF_FILE.min(slots / 4.0)
}

/// Warns about the files of a store that cannot be used.
pub(super) fn say_unused(unused: &[UnusableFile], warn: &dyn Fn(&dyn fmt::Display)) {
    for file in unused.iter().take(NAMED) {
        warn(&format_args!("{file}; its run is done again and replaces it"));
    }
    if unused.len() > NAMED {
        warn(&format_args!("{} more files of the store are replaced", unused.len() - NAMED));
    }
}

impl StudyLookup<'_> {
    /// The results that were in the store.
    pub(super) fn found(&self) -> Vec<Option<Summary>> {
        self.runs.iter().map(|run| run.found.clone()).collect()
    }

    /// The digest of the key of the run with this number.
    pub(super) fn digest(&self, number: usize) -> Digest {
        self.runs[number].digest
    }

    /// The order of the runs to do. Runs that make a state come first, so that no thread waits for a state while
    /// another state could be made.
    pub(super) fn order(&self) -> Vec<usize> {
        let missing: Vec<usize> = (0..self.runs.len()).filter(|run| self.runs[*run].found.is_none()).collect();
        let mut made = Vec::new();
        let makes = |run: &usize| {
            let state = self.runs[*run].state.filter(|state| self.states.contains_key(state));
            let is_first =
                state.is_some_and(|state| !made.contains(&state) && self.result_store.store.state(state).is_none());
            made.extend(state.filter(|_| is_first));
            is_first
        };
        let (mut order, others): (Vec<usize>, Vec<usize>) = missing.into_iter().partition(makes);
        order.extend(others);
        order
    }

    /// Does the run with this number and writes its result to the store.
    pub(super) fn run(
        &self,
        plan: &Plan,
        job: RunJob,
        number: usize,
        by: PointRunner<'_>,
    ) -> Result<Summary, ExecuteError> {
        let run = &self.runs[number];
        let (summary, took) = self.perform(plan, job, run, by)?;
        let timing = Timing::new(run.digest, &summary, requests(&plan.points[job.point]), took);
        // A lost timing only makes predictions less exact.
        let _ = self.result_store.store.put_timing(&timing);
        if let Err(error) = self.result_store.store.put(&run.key, &summary)
            && !self.is_full.swap(true, Ordering::Relaxed)
        {
            (self.result_store.warn)(&error);
        }
        Ok(summary)
    }

    /// Does a run. Returns its result and the time that it took, without waits for a state.
    fn perform(
        &self,
        plan: &Plan,
        job: RunJob,
        run: &KeyedRun,
        by: PointRunner<'_>,
    ) -> Result<(Summary, Duration), ExecuteError> {
        let (store, point) = (self.result_store.store, &plan.points[job.point]);
        let place = || place(plan, job);
        let shared = run.state.filter(|_| point.run.save_snapshot.is_none());
        let Some((digest, lock)) = shared.and_then(|state| self.states.get_key_value(&state)) else {
            return timed(|| plain(plan, job, by));
        };
        // A maker that panicked made no state, so the next run makes it.
        let mut making = lock.lock().unwrap_or_else(PoisonError::into_inner);
        if *making {
            drop(making);
            return timed(|| plain(plan, job, by));
        }
        let Some(path) = store.state(*digest) else {
            return timed(|| {
                one(point, job.seed, by, place, |session| {
                    Ok(session.keep_preconditioned(move |state| {
                        // A state that is not exact is not shared: a run on the loaded drive would differ.
                        *making = !state.is_exact();
                        if !*making && let Err(error) = store.put_state(*digest, |out| state.write(out)) {
                            (self.result_store.warn)(&format_args!("a state cannot be kept in the store: {error}"));
                        }
                        drop(making);
                        Ok(())
                    }))
                })
            });
        };
        drop(making);
        let loaded = timed(|| one(point, job.seed, by, place, |session| Ok(session.preconditioned_by(&path))));
        let Err(ExecuteError::Session(error, _)) = &loaded else { return loaded };
        let SessionError::Load(LoadError { reason, .. }) = &**error else { return loaded };
        let gone = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
        if !matches!(reason, LoadReason::File(SnapshotError::Io(error)) if gone(error)) {
            (self.result_store.warn)(&format_args!(
                "{}: {reason}; the run preconditions its drive itself",
                path.display()
            ));
            store.drop_state(*digest);
        }
        timed(|| plain(plan, job, by))
    }
}

/// The result of a run, and the time that it took.
fn timed(run: impl FnOnce() -> Result<Summary, ExecuteError>) -> Result<(Summary, Duration), ExecuteError> {
    #[allow(clippy::disallowed_methods)] // No result depends on how long a run takes.
    let start = Instant::now();
    run().map(|summary| (summary, start.elapsed()))
}
