//! Cost-age-times: cost-benefit that spares superblocks that were erased often.

use base::engine::Rng;

use super::age_unit::AgeUnit;
use super::{Candidate, Candidates, VictimPolicy};

pub(super) struct CostAgeTimes {
    pub(super) age: AgeUnit,
}

impl VictimPolicy for CostAgeTimes {
    fn choose<'c>(&self, candidates: &'c Candidates<'_>, _: &mut Rng) -> Option<Candidate<'c>> {
        candidates.best(|candidate| {
            let gain = f64::from(candidate.invalid()) / f64::from(candidate.valid());
            gain * self.age.of(candidate) as f64 / f64::from(candidate.erases() + 1)
        })
    }
}
