//! Windowed greedy: greedy among the oldest, so that young superblocks have time to lose more mapping units.

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
