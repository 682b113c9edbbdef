//! Cost-benefit: old data are stable, so the space they free is worth more than their copying costs.

use super::View;

pub(super) fn pick(view: &View<'_>) -> Option<u32> {
    let slots = u64::from(view.slots);
    // age * (1 - u) / 2u, compared without dividing: a/b > c/d as a * d > c * b.
    let mut best: Option<(u32, u128, u128)> = None;
    for (superblock, valid, age) in view.by_age() {
        let benefit = u128::from(age + 1) * u128::from(slots - u64::from(valid));
        let cost = 2 * u128::from(valid);
        if best.is_none_or(|(_, b, c)| benefit * c > b * cost) {
            best = Some((superblock, benefit, cost));
        }
    }
    best.map(|(superblock, ..)| superblock)
}
