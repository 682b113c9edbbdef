//! The unit of measure of a superblock's age: superblocks or time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Candidate;

/// The unit of measure of a superblock's age.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AgeUnit {
    /// One more than the number of superblocks of any pool that have been closed since then.
    #[default]
    Superblocks,
    /// The time since the superblock was closed; for a superblock that a mount found, since the simulation began. While
    /// a drive is preconditioned no time passes, so all superblocks are equally old.
    Time,
}

impl AgeUnit {
    pub(super) fn of(self, candidate: &Candidate<'_>) -> u64 {
        match self {
            Self::Superblocks => candidate.age(),
            Self::Time => candidate.time().as_ps(),
        }
    }
}
