//! Cost-benefit: old data are stable, so the space they free is worth more than their copying costs.

use base::engine::Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Candidate, Candidates, VictimPolicy};

/// What the age of a superblock is counted in.
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

pub(super) struct CostBenefit {
    pub(super) age: AgeUnit,
}

impl VictimPolicy for CostBenefit {
    fn choose<'c>(&self, candidates: &'c Candidates<'_>, _: &mut Rng) -> Option<Candidate<'c>> {
        // age * (1 - u) / 2u, compared without dividing: a/b > c/d as a * d > c * b.
        let mut best: Option<(Candidate<'c>, u128, u128)> = None;
        for candidate in candidates.by_age() {
            let benefit = u128::from(self.age.of(&candidate)) * u128::from(candidate.invalid());
            let cost = 2 * u128::from(candidate.valid());
            if best.is_none_or(|(_, b, c)| benefit * c > b * cost) {
                best = Some((candidate, benefit, cost));
            }
        }
        best.map(|(candidate, ..)| candidate)
    }
}
