//! Cost-benefit: old data are stable, so the space that they free is worth more than the copying costs.

use base::engine::Rng;

use super::age_unit::AgeUnit;
use super::{Candidate, Candidates, VictimPolicy};

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
