//! First in, first out: a circular log.

use super::View;

pub(super) fn pick(view: &View<'_>) -> Option<u32> {
    view.by_age().next().map(|(superblock, ..)| superblock)
}
