//! Random: the floor that every other policy has to beat.

use base::engine::Rng;

use super::View;

pub(super) fn pick(view: &View<'_>, rng: &mut Rng) -> Option<u32> {
    // Most superblocks of a pool that collects garbage are candidates, so few draws are rejected.
    for _ in 0..64 {
        let superblock = view.first + rng.below(u64::from(view.blocks)) as u32;
        if view.candidate(superblock).is_some() {
            return Some(superblock);
        }
    }
    let candidates = view.by_age().count() as u64;
    (candidates > 0).then(|| view.by_age().nth(rng.below(candidates) as usize)).flatten().map(|(sb, ..)| sb)
}
