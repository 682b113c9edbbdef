//! Does the run of a key in a program that does not have the study.

use std::fmt;
use std::sync::atomic::AtomicBool;

use serde::{Deserialize, Serialize};

use super::{ExecuteError, PointRunner, Program, RunLabel, one};
use crate::store::{Digest, Key, KeyError, PathsByDigest, Row};
use crate::summary::Summary;

/// Does the run of a key. The result depends only on the key and the program's version of the model.
///
/// # Errors
///
/// If the key cannot be used, or its run fails.
pub fn point(key: &Key, program: &Program) -> Result<Summary, PointError> {
    let point = key.point().map_err(PointError::Key)?;
    let place = || RunLabel(format!("the run of the key, {}, seed {}", point.device.name, key.seed));
    one(&point, key.seed, PointRunner { program, interrupt: None }, place, Ok).map_err(PointError::Run)
}

/// A run of a study for another program: its key, and its name in messages.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Task {
    /// The names of the study, the point and the seed, for messages.
    place: String,
    key: Key,
}

impl Task {
    pub(super) fn new(place: RunLabel, key: Key) -> Self {
        Self { place: place.0, key }
    }

    /// Reads a task.
    ///
    /// # Errors
    /// If the text is not a task.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        serde_json::from_str(text).map_err(KeyError::Text)
    }

    /// Writes the task as JSON.
    ///
    /// # Panics
    ///
    /// Never: every task can be written as JSON.
    #[must_use]
    pub fn json(&self) -> String {
        serde_json::to_string(self).expect("numbers, texts and tables")
    }

    /// The digests of the traces and of the snapshot.
    pub fn files(&self) -> impl Iterator<Item = Digest> {
        self.key.files()
    }

    /// Does the run. `located` has the paths of traces and snapshots on this machine. Returns the bytes of the result's
    /// file.
    ///
    /// # Errors
    ///
    /// If the key cannot be used, or its run fails or is interrupted.
    pub fn run(
        &self,
        located: &PathsByDigest,
        program: &Program,
        interrupt: &AtomicBool,
    ) -> Result<Vec<u8>, PointError> {
        let Self { place, key } = self;
        let point = key.point_in(located).map_err(|error| PointError::Task(place.clone(), error))?;
        let by = PointRunner { program, interrupt: Some(interrupt) };
        let summary = one(&point, key.seed, by, || RunLabel(place.clone()), Ok).map_err(PointError::Run)?;
        Ok(Row::bytes(key, &summary))
    }
}

/// The reason that the run of a key has no result.
#[derive(Debug)]
pub enum PointError {
    /// The key cannot be used.
    Key(KeyError),
    /// The key of a task cannot be used. The text is the place of its run.
    Task(String, KeyError),
    /// The run failed, for this reason.
    Run(ExecuteError),
}

impl fmt::Display for PointError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(error) => error.fmt(f),
            Self::Task(place, error) => write!(f, "{place}: {error}"),
            Self::Run(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for PointError {}
