//! d choices: nearly as good as greedy for small d, at a constant price.

use base::engine::Rng;

use super::{View, random};

/// The most superblocks to compare: the policy draws each of them for every victim.
pub(super) const MAX: u32 = 4096;

pub(super) fn pick(view: &View<'_>, d: u32, rng: &mut Rng) -> Option<u32> {
    (0..d.max(1))
        .filter_map(|_| random::pick(view, rng))
        .min_by_key(|superblock| view.candidate(*superblock).unwrap_or(u32::MAX))
}
