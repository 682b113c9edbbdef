//! Greedy: the fewest valid mapping units, and of several superblocks with as few the lowest number.

use super::View;

pub(super) fn pick(view: &View<'_>) -> Option<u32> {
    view.minima.least(view.first, view.blocks).filter(|(_, valid)| *valid < view.slots).map(|(sb, _)| sb)
}
