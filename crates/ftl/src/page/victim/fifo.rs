//! First in, first out: the superblock that was closed first. The flash is then used as a circular log.

use base::engine::Rng;

use super::{Candidate, Candidates, VictimPolicy};

pub(super) struct Fifo;

impl VictimPolicy for Fifo {
    fn choose<'c>(&self, candidates: &'c Candidates<'_>, _: &mut Rng) -> Option<Candidate<'c>> {
        candidates.by_age().next()
    }
}
