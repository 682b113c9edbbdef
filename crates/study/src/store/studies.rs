//! The results of a store that belong to a study: the labels of its points with their digests.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::digest::Digest;
use super::error::StoreError;
use super::{STUDIES, Store};
use crate::output::write_whole;
use crate::plan::{Label, Plan, Point};

/// Version of the keys; higher after a key has changed its meaning or disappeared.
const SCHEMA: &str = "flashloom-points-1";

/// The runs of a study: for each point and seed, the digest under which a store has the result.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename = "StudyOf")]
pub struct StudyPoints {
    /// Version of the keys of this document.
    pub schema: String,
    /// Name of the study in its description.
    pub study: String,
    /// The names of the axes, in the order of the labels of a point.
    pub axes: Vec<String>,
    /// The study's points, each with each seed.
    pub points: Vec<StudyPoint>,
}

/// A run of a study: a point with a seed, and the digest of its key.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename = "PointOf")]
pub struct StudyPoint {
    /// The point's label on each axis.
    #[schemars(with = "Vec<String>")]
    pub labels: Vec<Label>,
    /// Seed of all random streams.
    pub seed: u64,
    /// The digest of the key: the name of the result's file.
    #[schemars(with = "String")]
    pub digest: Digest,
}

impl StudyPoints {
    /// Lists the points of a plan. `digests` are in the order of the points, each with all seeds.
    #[must_use]
    pub fn new(plan: &Plan, digests: &[Digest]) -> Self {
        let seeds = &plan.spec.seeds;
        let runs = plan.points.iter().flat_map(|point| seeds.iter().map(move |seed| (point, *seed)));
        let point = |((point, seed), digest): ((&Point, u64), &Digest)| StudyPoint {
            labels: point.labels.clone(),
            seed,
            digest: *digest,
        };
        Self {
            schema: SCHEMA.into(),
            study: plan.spec.name.clone(),
            axes: plan.axes.iter().map(|(name, _)| name.clone()).collect(),
            points: runs.zip(digests).map(point).collect(),
        }
    }
}

impl StudyPoints {
    /// The path of the study's file in a store, and the text of that file.
    ///
    /// # Panics
    ///
    /// Never: texts and numbers can be written as JSON.
    #[must_use]
    pub fn file(&self) -> (PathBuf, String) {
        let text = serde_json::to_string_pretty(self).expect("texts and numbers") + "\n";
        (Path::new(STUDIES).join(file_name(&self.study)), text)
    }
}

impl Store {
    /// Writes the list of results that belong to a study. It replaces the list of an earlier study with this name.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn put_study(&self, study: &StudyPoints) -> Result<(), StoreError> {
        let (path, text) = study.file();
        let path = self.folder.join(path);
        write_whole(&path, |mut file| file.write_all(text.as_bytes())).map_err(|error| StoreError::new(&path, error))
    }

    /// The studies that ran with this store, by name. Files of other kinds are skipped.
    #[must_use]
    pub fn studies(&self) -> Vec<StudyPoints> {
        let Ok(entries) = fs::read_dir(self.folder.join(STUDIES)) else { return Vec::new() };
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        let read = |path: &PathBuf| serde_json::from_str(&fs::read_to_string(path).ok()?).ok();
        paths.iter().filter_map(read).filter(|study: &StudyPoints| study.schema == SCHEMA).collect()
    }
}

/// The name of a study's file: as much of the study's name as file names allow, and a part of the name's digest.
fn file_name(study: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    let readable: String = study.chars().take(60).map(plain).collect();
    format!("{readable}-{}.json", &Digest::of(study.as_bytes()).to_string()[..8])
}
