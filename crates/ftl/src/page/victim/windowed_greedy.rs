//! Windowed greedy: greedy among the superblocks that were closed first, so that younger ones have time to lose more
//! mapping units.

use base::engine::Rng;

use super::{Candidate, Candidates, VictimPolicy};

pub(super) struct WindowedGreedy {
    pub(super) window: u32,
}

impl VictimPolicy for WindowedGreedy {
    fn choose<'c>(&self, candidates: &'c Candidates<'_>, _: &mut Rng) -> Option<Candidate<'c>> {
        candidates.by_age().take(self.window as usize).min_by_key(Candidate::valid)
    }
}
