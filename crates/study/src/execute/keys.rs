//! Writes the keys of a study's runs as files, for schedulers that do each run on its own with `flashloom point
//! KEY.json`.
//!
//! A list of the runs is written beside the keys, with the memory that each run needs and, as far as it can be
//! predicted, the time. The list begins with the runs whose results are missing, the longest first, because a scheduler
//! that takes them in this order finishes soonest.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::Path;

use base::units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use workload::SourceError;

use super::requests::requests;
use super::{ExecuteError, RunJob, at_once, each, jobs, place};
use crate::catalogue::WorkloadFile;
use crate::label::Label;
use crate::output::{Kind, OutputError, Outputs, publish, write_whole};
use crate::plan::{Plan, Point};
use crate::session::Session;
use crate::store::{Basis, Digest, Digests, Key, PredictedTime, Store, Timings};

/// Version of the list; higher after a key of it has changed its meaning.
const SCHEMA: &str = "flashloom-keys-1";

const LIST: &str = "keys.json";

/// The runs of studies with the files of their keys, as `study --keys` writes them.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[schemars(title = SCHEMA)]
pub struct KeyList {
    /// Version of the keys of this document.
    #[schemars(extend("const" = SCHEMA))]
    schema: String,
    /// The runs: first those whose results are not in the store, the longest first.
    pub runs: Vec<PlannedRun>,
}

/// A run of a study that is to be done.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct PlannedRun {
    /// The file with the run's key, beside the list.
    pub file: String,
    /// The memory that the run needs, as `flashloom check` predicts it; the program itself takes some 100 MiB more.
    pub memory_bytes: u64,
    /// The number of the run's requests; missing if the study does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
    /// The predicted time of the run in seconds; missing if nothing is known of it, zero if the result is in the store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// The basis of the predicted time: `run` if the same run was done before, `device` if other runs of its device
    /// were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub basis: Option<Basis>,
    /// True if the result is in the store.
    pub stored: bool,
    /// Name of the study that plans the run.
    pub study: String,
    /// The names of the study's axes.
    pub axes: Vec<String>,
    /// The point's label on each axis.
    #[schemars(with = "Vec<String>")]
    pub labels: Vec<Label>,
    /// Seed of all random decisions of the run.
    pub seed: u64,
}

struct KeyedRun {
    key: Key,
    run: PlannedRun,
}

/// Computes the keys of all runs of these studies, longest first, and the list of them. `store` has results and the
/// times that runs took.
///
/// # Errors
///
/// If a workload cannot be read, or is a pipe, which no other program can read again.
pub fn list_keys(
    plans: &[Plan],
    store: Option<&Store>,
    threads: Option<NonZeroUsize>,
) -> Result<(KeyList, Vec<Key>), ExecuteError> {
    let timings = store.map(Store::timings).unwrap_or_default();
    let mut all = Vec::new();
    for plan in plans {
        all.extend(of_study(plan, store, &timings, threads)?);
    }
    // A run of unknown time comes first, because it may take longest.
    let order = |keyed: &KeyedRun| {
        let micros = keyed.run.seconds.map_or(u64::MAX, |seconds| (seconds * 1e6) as u64);
        (keyed.run.stored, Reverse(micros), Reverse(keyed.run.requests.unwrap_or(u64::MAX)))
    };
    all.sort_by_key(order);
    let (keys, runs) = all.into_iter().map(|KeyedRun { key, run }| (key, run)).unzip();
    Ok((KeyList { schema: SCHEMA.into(), runs }, keys))
}

/// The digests of all traces and snapshots of a study. A pipe is refused: no other program can read it.
pub(super) fn digests_of(plan: &Plan) -> Result<Digests, ExecuteError> {
    let unreadable = |error: SourceError| ExecuteError::Workload(error.into());
    for workload in plan.points.iter().flat_map(|point| point.workloads()) {
        if let WorkloadFile::Trace(file) = workload
            && file.is_once()
        {
            let remedy = "write it into a file first, e.g. with `cat > trace.csv`, and name that file";
            let error = SourceError::new("is a pipe, which the runs of the keys cannot read again", remedy);
            return Err(unreadable(error.in_file(&file.shown())));
        }
    }
    Digests::of(&plan.points).map_err(unreadable)
}

pub(super) fn key_of(plan: &Plan, job: RunJob, digests: &Digests) -> Result<Key, ExecuteError> {
    let key = Key::of(&plan.points[job.point], job.seed, &mut digests.clone());
    key.map_err(|error| ExecuteError::Open(error, place(plan, job)))
}

/// The memory that a run of this point needs.
pub(super) fn memory_of(point: &Point) -> Bytes {
    Session::new(&point.device).spec(&point.run).memory_under(point.workloads()).total()
}

fn of_study(
    plan: &Plan,
    store: Option<&Store>,
    timings: &Timings,
    threads: Option<NonZeroUsize>,
) -> Result<Vec<KeyedRun>, ExecuteError> {
    let digests = digests_of(plan)?;
    let jobs = jobs(plan);
    let axes: Vec<String> = plan.axes.iter().map(|(name, _)| name.clone()).collect();
    let keyed = each(jobs.len(), at_once(threads), |number| {
        let (job, point) = (jobs[number], &plan.points[jobs[number].point]);
        let key = key_of(plan, job, &digests)?;
        let digest = key.digest();
        // A result that cannot be used counts as missing.
        let stored = store.is_some_and(|store| matches!(store.row(digest), Ok(Some(_))));
        let requests = requests(point);
        let predicted = match stored {
            true => Some(PredictedTime { seconds: 0.0, basis: Basis::Run }),
            false => timings.predict(digest, &point.device.name, requests),
        };
        let run = PlannedRun {
            file: file(digest),
            memory_bytes: memory_of(point).get(),
            requests,
            seconds: predicted.map(|predicted| predicted.seconds),
            basis: predicted.map(|predicted| predicted.basis),
            stored,
            study: plan.spec.name.clone(),
            axes: axes.clone(),
            labels: point.labels.clone(),
            seed: job.seed,
        };
        Ok(KeyedRun { key, run })
    });
    keyed.into_iter().collect()
}

fn file(digest: Digest) -> String {
    format!("{digest}.json")
}

impl KeyList {
    /// As JSON, indented, with a newline at its end.
    ///
    /// # Panics
    /// Never: every list can be written as JSON.
    #[must_use]
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).expect("numbers and texts") + "\n"
    }
}

/// Writes each key into a file of the folder, and then the list of them. Keys that only an earlier list in the folder
/// names are removed; other files are kept. With `force`, the list may replace a file that Flashloom did not write.
///
/// # Errors
///
/// If a file cannot be written.
pub fn write_keys(
    folder: &Path,
    list: &KeyList,
    keys: &[Key],
    plans: &[Plan],
    force: bool,
) -> Result<Vec<String>, OutputError> {
    let failed = |path: &Path, error: &io::Error| {
        OutputError::new(path, format!("cannot be written: {error}"), "choose a path that exists and is writable")
    };
    if !folder.is_dir() {
        fs::create_dir(folder).map_err(|error| failed(folder, &error))?;
    }
    let path = folder.join(LIST);
    let named = plans.iter().flat_map(|plan| &plan.named);
    let mut to = Outputs::new(named, force).file("--keys", &path, Kind::Results)?;
    let earlier: Option<KeyList> = fs::read(&path).ok().and_then(|text| serde_json::from_slice(&text).ok());
    if earlier.is_some() {
        // The folder has no list until all keys are written.
        fs::remove_file(&path).map_err(|error| failed(&path, &error))?;
    }
    for (run, key) in list.runs.iter().zip(keys) {
        let path = folder.join(&run.file);
        write_whole(&path, |mut file| file.write_all(key.json().as_bytes())).map_err(|error| failed(&path, &error))?;
    }
    let files: BTreeSet<&str> = list.runs.iter().map(|run| run.file.as_str()).collect();
    for run in earlier.iter().flat_map(|earlier| &earlier.runs).filter(|run| !files.contains(run.file.as_str())) {
        if run.file.strip_suffix(".json").is_some_and(|name| name.parse::<Digest>().is_ok()) {
            // A key file that cannot be removed does no harm.
            let _ = fs::remove_file(folder.join(&run.file));
        }
    }
    to.fill(|out| out.write_all(list.json().as_bytes()))?;
    publish(vec![to], None)
}
