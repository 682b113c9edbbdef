//! Operations that a power cut tears.
//!
//! Paired pages: a cell of several bits is programmed once for each of its pages, and a later program moves the charge
//! that holds the earlier pages. If the power fails during that program, the charge represents neither page, and data
//! programmed long before are lost (measured by Tseng, Grupp and Swanson, "Understanding the impact of power loss on
//! flash memory", DAC 2011). The pages of a word line are consecutive here, like the times of page types.

use base::units::SuperblockId;

use super::{Media, Mode, Target};
use crate::nand::Spare;

impl Media {
    /// Gives the array word lines of `pages` pages that are programmed one by one, where a torn page damages those
    /// before it.
    #[must_use]
    pub const fn with_paired_pages(mut self, pages: u32) -> Self {
        self.paired = pages;
        self
    }

    /// Tears a program at a power loss: each of its pages is complete or torn. Whether the program would have failed
    /// stays unknown.
    pub(crate) fn tear_program(&mut self, target: Target, count: u32) {
        for first in (0..count).step_by(self.geometry.slots as usize) {
            let (_, plane) = self.geometry.page_and_plane(target.offset + first);
            self.set_failing(target.superblock, plane, false);
            let end = (first + self.geometry.slots).min(count);
            if !self.faults.survives_cut() {
                for i in first..end {
                    let psn = self.geometry.slot(target.superblock, target.offset + i);
                    self.spares.set(psn.index(), Spare::Torn);
                }
                self.damage_paired(target.superblock, target.offset + first);
            }
            self.store_change(self.geometry.slot(target.superblock, target.offset + first), end - first);
        }
    }

    /// Tears an erase at a power loss: no page can be read or programmed before the next erase.
    pub(crate) fn tear_erase(&mut self, superblock: SuperblockId) {
        self.fill_spares(superblock, Spare::Torn);
        for plane in 0..self.geometry.stripe {
            let pages = self.geometry.pages;
            let block = self.block_mut(superblock, plane);
            (block.next_page, block.sparse) = (pages, false);
        }
        self.store_change(self.geometry.slot(superblock, 0), self.geometry.superblock_slots());
    }

    /// For a torn program of the page that begins at `offset`: each page before it in its word line is lost, or, by
    /// chance, still readable.
    fn damage_paired(&mut self, superblock: SuperblockId, offset: u32) {
        if self.paired < 2 || self.mode(superblock) == Mode::Slc {
            return;
        }
        let (page, _) = self.geometry.page_and_plane(offset);
        for back in 1..=page % self.paired {
            if self.faults.survives_cut() {
                continue;
            }
            let first = offset - back * self.geometry.row_slots();
            for offset in first..first + self.geometry.slots {
                let psn = self.geometry.slot(superblock, offset);
                if matches!(self.spare(psn), Spare::Data { .. }) {
                    self.spares.set(psn.index(), Spare::Torn);
                }
            }
            self.store_change(self.geometry.slot(superblock, first), self.geometry.slots);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nand::{FaultSpec, Faults, Geometry, Stream};
    use base::units::Lpn;

    const BLOCK: SuperblockId = SuperblockId::new(1);

    /// For each of two planes, the pages that can be read after the program of row 4 was torn, with word lines of
    /// `paired` pages.
    fn readable(paired: u32, mode: Mode, seed: u64) -> [Vec<u32>; 2] {
        let geometry = Geometry::new(1, 1, 1, 2, 2, 4, 12, 2, 1).expect("a small array");
        let mut media = Media::new(geometry, 10, 1, Faults::new(&FaultSpec::default(), seed));
        media = media.with_paired_pages(paired);
        let spare = |_| (Spare::Data { lpn: Lpn::new(1), version: 1 }, false);
        for row in 0..5 {
            let target = Target { superblock: BLOCK, offset: row * 4 };
            assert!(media.program(target, 4, (Stream::HOST, mode), spare, &[]));
        }
        media.tear_program(Target { superblock: BLOCK, offset: 16 }, 4);
        [0, 1].map(|plane| {
            let holds = |row: &u32| media.holds_data(media.geometry.slot(BLOCK, row * 4 + plane * 2));
            (0..5).filter(holds).collect()
        })
    }

    #[test]
    fn a_torn_page_damages_the_pages_before_it_in_its_word_line_and_no_others() {
        // Row 4 is the middle of the word line of rows 3 to 5, or the first of the word line of rows 4 and 5.
        let mut seen = std::collections::BTreeSet::new();
        for seed in 0..200 {
            for pages in readable(3, Mode::Full, seed) {
                assert_eq!(pages[..3], [0, 1, 2], "another word line");
                // If the page of the torn program is complete, it damages nothing.
                assert!(!pages.contains(&4) || pages.contains(&3));
                seen.insert(pages[3..].to_vec());
            }
            for pages in readable(2, Mode::Full, seed).into_iter().chain(readable(3, Mode::Slc, seed)) {
                assert_eq!(pages[..4], [0, 1, 2, 3], "the first page of a word line, or SLC mode");
            }
        }
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), [vec![], vec![3], vec![3, 4]]);
    }

    #[test]
    fn without_pairs_a_cut_draws_as_before() {
        assert!((0..50).all(|seed| readable(1, Mode::Full, seed).iter().all(|pages| pages[..4] == [0, 1, 2, 3])));
    }
}
