//! The times that runs took, from which the times of other runs are predicted.
//!
//! Times differ from machine to machine and do not affect results, so they are not part of a result: the store has a
//! file with a line of JSON for each run that was done. Programs that fill a store at once all append to it. A damaged
//! line is skipped, because it only makes predictions less exact.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Write;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Store;
use super::digest::Digest;
use super::error::StoreError;
use crate::summary::Summary;

/// Name of the file in the store's folder.
const FILE: &str = "timings.jsonl";

/// The time that a run took.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Timing {
    /// The digest of the run's key.
    digest: Digest,
    device: String,
    /// The number of the run's requests, including requests of the warm-up.
    requests: u64,
    /// The time of the run in seconds.
    seconds: f64,
}

impl Timing {
    /// The time that the run with this digest took. `requests` is the number that the study determines; if it
    /// determines none, the measured number is used.
    #[must_use]
    pub fn new(digest: Digest, summary: &Summary, requests: Option<u64>, took: Duration) -> Self {
        let requests = requests.unwrap_or(summary.requests);
        Self { digest, device: summary.device.clone(), requests, seconds: took.as_secs_f64() }
    }
}

/// The earlier runs on which a predicted time is based.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// An earlier run with the same key.
    Run,
    /// The mean time of a request in runs of devices with the same name.
    Device,
}

/// The predicted time of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PredictedTime {
    /// Predicted processor time of the run, in seconds.
    pub seconds: f64,
    /// The basis of the prediction.
    pub basis: Basis,
}

/// The times that the runs of a store took.
#[derive(Clone, Debug, Default)]
pub struct Timings {
    runs: BTreeMap<Digest, f64>,
    /// For each device, the requests and the seconds of its runs, added up.
    devices: BTreeMap<String, (u64, f64)>,
}

impl Timings {
    /// Adds the time of a run.
    pub fn note(&mut self, Timing { digest, device, requests, seconds }: Timing) {
        if !(seconds.is_finite() && seconds >= 0.0) {
            return;
        }
        self.runs.insert(digest, seconds);
        let (all, sum) = self.devices.entry(device).or_default();
        *all = all.saturating_add(requests);
        *sum += seconds;
    }

    /// Predicts the time of a run on a device of this name; `None` if neither the run nor its number of requests is
    /// known.
    #[must_use]
    pub fn predict(&self, digest: Digest, device: &str, requests: Option<u64>) -> Option<PredictedTime> {
        if let Some(seconds) = self.runs.get(&digest) {
            return Some(PredictedTime { seconds: *seconds, basis: Basis::Run });
        }
        let (all, sum) = self.devices.get(device).filter(|(all, _)| *all > 0)?;
        Some(PredictedTime { seconds: sum / *all as f64 * requests? as f64, basis: Basis::Device })
    }
}

impl Store {
    /// Writes the time that a run took.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn put_timing(&self, timing: &Timing) -> Result<(), StoreError> {
        self.append(&[line(timing)])
    }

    /// The times of all runs whose results are or were in the store.
    #[must_use]
    pub fn timings(&self) -> Timings {
        let mut timings = Timings::default();
        self.lines().for_each(|timing| timings.note(timing));
        timings
    }

    fn lines(&self) -> impl Iterator<Item = Timing> {
        let text = fs::read(self.folder.join(FILE)).unwrap_or_default();
        let read = |line: &[u8]| serde_json::from_slice(line).ok();
        text.split(|byte| *byte == b'\n').filter_map(read).collect::<Vec<Timing>>().into_iter()
    }

    /// Appends lines with a single write, so that lines of several programs do not mix.
    fn append(&self, lines: &[String]) -> Result<(), StoreError> {
        if lines.is_empty() {
            return Ok(());
        }
        let path = self.folder.join(FILE);
        let file = File::options().append(true).create(true).open(&path);
        let written = file.and_then(|mut file| file.write_all(lines.concat().as_bytes()));
        written.map_err(|error| StoreError::new(&path, error))
    }

    /// Copies the times of another store that this store does not have.
    pub(super) fn merge_timings(&self, from: &Self) -> Result<(), StoreError> {
        let mut there: BTreeSet<Digest> = self.lines().map(|timing| timing.digest).collect();
        let new: Vec<String> =
            from.lines().filter(|timing| there.insert(timing.digest)).map(|timing| line(&timing)).collect();
        self.append(&new)
    }
}

fn line(timing: &Timing) -> String {
    serde_json::to_string(timing).expect("numbers and texts") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timing(run: &str, device: &str, requests: u64, seconds: f64) -> Timing {
        Timing { digest: Digest::of(run.as_bytes()), device: device.into(), requests, seconds }
    }

    #[test]
    fn time_is_predicted_from_the_run_or_else_from_its_device() {
        let folder = tempfile::tempdir().expect("a directory");
        let store = Store::open(folder.path()).expect("writable");
        for timing in [timing("a", "x", 100, 1.0), timing("b", "x", 300, 7.0), timing("a", "x", 100, 2.0)] {
            store.put_timing(&timing).expect("written");
        }
        store.append(&["{\"half\n".to_owned()]).expect("written");
        store.put_timing(&timing("c", "y", 0, 1.0)).expect("written");
        let timings = store.timings();
        let predict = |run: &str, device: &str, requests| {
            let predicted = timings.predict(Digest::of(run.as_bytes()), device, requests);
            predicted.map(|predicted| (predicted.seconds, predicted.basis))
        };
        assert_eq!(predict("a", "x", None), Some((2.0, Basis::Run)), "the last time");
        assert_eq!(predict("new", "x", Some(50)), Some((1.0, Basis::Device)), "10 s for 500 requests");
        assert_eq!(predict("new", "x", None), None);
        assert_eq!(predict("new", "y", Some(50)), None, "nothing is known of a request");
        assert_eq!(predict("new", "z", Some(50)), None);
        assert_eq!(predict("c", "y", None), Some((1.0, Basis::Run)));
    }
}
