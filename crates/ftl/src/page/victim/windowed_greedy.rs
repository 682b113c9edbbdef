//! Windowed greedy: greedy among the oldest, so that young superblocks have time to lose more mapping units.

use super::View;

pub(super) fn pick(view: &View<'_>, window: u32) -> Option<u32> {
    view.by_age().take(window as usize).min_by_key(|(_, valid, _)| *valid).map(|(superblock, ..)| superblock)
}
