//! d choices: nearly as few copies as greedy even for small d, at constant cost for each choice.

use base::engine::Rng;

use super::{Candidate, Candidates, VictimPolicy};

/// The most superblocks to compare: the policy draws each of them for every victim.
pub(super) const MAX: u32 = 4096;

pub(super) struct DChoices {
    pub(super) d: u32,
}

impl VictimPolicy for DChoices {
    fn choose<'c>(&self, candidates: &'c Candidates<'_>, rng: &mut Rng) -> Option<Candidate<'c>> {
        (0..self.d.max(1)).filter_map(|_| candidates.random(rng)).min_by_key(Candidate::valid)
    }
}
