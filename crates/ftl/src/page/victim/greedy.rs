//! Greedy: the superblock with the fewest valid mapping units, and of several the one with the lowest number.

use base::engine::Rng;

use super::{Candidate, Candidates, VictimPolicy};

pub(super) struct Greedy;

impl VictimPolicy for Greedy {
    fn choose<'c>(&self, candidates: &'c Candidates<'_>, _: &mut Rng) -> Option<Candidate<'c>> {
        candidates.fewest_valid()
    }
}
