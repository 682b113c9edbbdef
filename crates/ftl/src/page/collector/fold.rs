//! Folding inside the planes: the choice of mapping units of the SLC cache that are copied without the channel.
//!
//! A copy-back programs a page with the content of a page of the same plane. A one-shot program takes a page of each of
//! its rows, so it needs as many pages of each plane: three for TLC, four for QLC. Garbage is not copied, so a page
//! with garbage goes over the channel. The collector therefore keeps two kinds of gathered mapping units apart, those
//! of whole pages and the others, and copies first the kind that fills a program first.

use base::units::Psn;
use flash::nand::Mode;

use super::Collector;
use crate::sabotage::Sabotage;

impl Collector<'_> {
    /// Sorts the gathered mapping units of a pool that folds inside its planes: mapping units of whole pages in SLC
    /// mode first, or the others first if only the others fill a program of `room` units. Returns the number of the
    /// more frequent kind.
    pub(super) fn sort_pages(&mut self, pool: u32, room: usize) -> usize {
        // Taken out of the pool while `self` is in use, and put back so that its memory is kept.
        let mut all = std::mem::take(&mut self.blocks.pools[pool as usize].gc.gathered);
        let slots = self.blocks.layout.shape.slots as usize;
        let (mut whole, mut i) = (0, 0);
        while i < all.len() {
            if all.get(i..i + slots).is_some_and(|page| self.is_page_in_slc_mode(page)) {
                all[whole..i + slots].rotate_right(slots);
                (whole, i) = (whole + slots, i + slots);
            } else {
                i += 1;
            }
        }
        let others = all.len() - whole;
        if whole < room && others >= room {
            all.rotate_left(whole);
        }
        self.blocks.pools[pool as usize].gc.gathered = all;
        whole.max(others)
    }

    /// True if slots are a whole page of a superblock in SLC mode.
    fn is_page_in_slc_mode(&self, page: &[Psn]) -> bool {
        let (superblock, first) = self.blocks.layout.locate(page[0]);
        self.is_page(page) && first.is_multiple_of(page.len() as u32) && self.blocks.table.mode(superblock) == Mode::Slc
    }

    /// Orders the pages of a program so that each is in the plane to which it is copied. Returns false if a plane has
    /// too few pages.
    pub(super) fn align_fold(&self, gathered: &mut [Psn], offset: u32) -> bool {
        let shape = &self.blocks.layout.shape;
        let slots = shape.slots as usize;
        let fills = self.blocks.program_end(offset) - offset == gathered.len() as u32;
        let pages = gathered.chunks(slots);
        if !(fills || !self.blocks.shape.whole_rows && gathered.len().is_multiple_of(slots))
            || !pages.clone().all(|page| page.len() == slots && self.is_page_in_slc_mode(page))
        {
            return false;
        }
        let plane_of = |psn| self.blocks.layout.array.page_and_plane(self.blocks.layout.locate(psn).1).1;
        for i in (0..gathered.len()).step_by(slots) {
            let plane = self.blocks.layout.array.page_and_plane(offset + i as u32).1;
            let mut pages = (i..gathered.len()).step_by(slots);
            let found = match self.blocks.planted.is(Sabotage::FoldLeavesPlane) {
                true => pages.next_back(),
                false => pages.find(|from| plane_of(gathered[*from]) == plane),
            };
            let Some(from) = found else { return false };
            let (before, behind) = gathered.split_at_mut(from.max(i + slots).min(gathered.len()));
            if from > i {
                before[i..i + slots].swap_with_slice(&mut behind[..slots]);
            }
        }
        true
    }
}
