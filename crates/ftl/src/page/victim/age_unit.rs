//! The unit of a superblock's age: superblocks or time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Candidate;

/// The unit of a superblock's age.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AgeUnit {
    /// One more than the number of superblocks that have been closed since, in any pool.
    #[default]
    Superblocks,
    /// The time since it was closed; of a superblock that a mount found, since the simulation began. While a drive is
    /// preconditioned no time passes, so all are equally old.
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
