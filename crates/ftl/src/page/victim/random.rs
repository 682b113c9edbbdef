//! Random: a baseline that every other policy has to beat.

use base::engine::Rng;

use super::{Candidate, Candidates, VictimPolicy};

pub(super) struct Random;

impl VictimPolicy for Random {
    fn choose<'c>(&self, candidates: &'c Candidates<'_>, rng: &mut Rng) -> Option<Candidate<'c>> {
        candidates.random(rng)
    }
}
