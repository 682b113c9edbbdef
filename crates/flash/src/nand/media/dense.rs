//! Dense superblocks: their programmed rows are known without reading spare areas. Mostly all superblocks are dense.

use base::units::SuperblockId;

use super::Media;
use crate::nand::Spare;

impl Media {
    /// The number of rows of a superblock that hold data, if these are its first rows. `None` if a page before its
    /// block's last programmed one may hold no data, because it was skipped or programmed as padding.
    #[must_use]
    pub fn first_rows(&self, superblock: SuperblockId) -> Option<u32> {
        let planes = self.planes(superblock);
        let dense = planes.iter().all(|block| !block.sparse);
        dense.then(|| planes.iter().map(|block| block.next_page).max().unwrap_or(0))
    }

    /// After an array was loaded: finds the blocks with a page that holds no data before their last programmed one.
    pub(super) fn find_sparse(&mut self) {
        let (stripe, slots) = (self.geometry.stripe, self.geometry.slots);
        for superblock in (0..self.geometry.superblock_count()).map(SuperblockId::new) {
            for plane in 0..stripe {
                let pages = 0..self.block_mut(superblock, plane).next_page;
                let first = |page| self.geometry.slot(superblock, (page * stripe + plane) * slots);
                let sparse = pages.into_iter().any(|page| self.spare(first(page)) == Spare::Empty);
                self.block_mut(superblock, plane).sparse = sparse;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nand::{FaultSpec, Faults, Geometry, Mode, Stream, Target};
    use base::units::Lpn;
    use proptest::prelude::*;

    const SUPERBLOCK: SuperblockId = SuperblockId::new(1);

    fn media() -> Media {
        let geometry = Geometry::new(1, 1, 1, 2, 2, 4, 6, 2, 2).expect("a small array");
        Media::new(geometry, 10, 1, Faults::new(&FaultSpec::default(), 1))
    }

    /// The numbers of the rows that hold data.
    fn rows(media: &Media) -> Vec<u32> {
        let row = media.geometry().row_slots();
        let holds = |slot: u32| media.spare(media.geometry().slot(SUPERBLOCK, slot)) != Spare::Empty;
        (0..6).filter(|page| (page * row..(page + 1) * row).any(holds)).collect()
    }

    proptest! {
        /// Programs single pages: some programs skip pages, some are of padding, which has no mapping unit.
        #[test]
        fn the_first_rows_are_those_that_hold_something(
            programs in prop::collection::vec((0_u32..2, prop_oneof![3 => Just(0_u32), 1 => 1_u32..3], 0_u32..8), 0..10),
        ) {
            let (mut media, mut next) = (media(), [0, 0]);
            for (plane, skipped, padding) in programs {
                let page: u32 = next[plane as usize] + skipped;
                if page >= 6 {
                    continue;
                }
                next[plane as usize] = page + 1;
                let spare = |i: usize| match padding >> i & 1 == 0 || padding > 5 {
                    true => (Spare::Data { lpn: Lpn::new(page), version: 1 }, false),
                    false => (Spare::Empty, false),
                };
                let target = Target { superblock: SUPERBLOCK, offset: (page * 2 + plane) * 2 };
                media.program(target, 2, (Stream::HOST, Mode::Full), spare, &[]);
            }
            let found = rows(&media);
            if let Some(first) = media.first_rows(SUPERBLOCK) {
                prop_assert_eq!(&found, &(0..first).collect::<Vec<_>>());
            }
            let by_program = media.first_rows(SUPERBLOCK);
            media.find_sparse();
            prop_assert_eq!(media.first_rows(SUPERBLOCK), by_program);
            media.erase(SUPERBLOCK);
            prop_assert_eq!((media.first_rows(SUPERBLOCK), rows(&media)), (Some(0), vec![]));
        }
    }

    #[test]
    fn a_superblock_programmed_in_order_is_dense_and_one_with_a_skipped_page_is_not() {
        let mut media = media();
        let mut program = |page: u32| {
            let target = Target { superblock: SUPERBLOCK, offset: page * 4 };
            let spare = |_| (Spare::Data { lpn: Lpn::new(page), version: 1 }, false);
            media.program(target, 4, (Stream::HOST, Mode::Full), spare, &[]);
            media.first_rows(SUPERBLOCK)
        };
        assert_eq!([program(0), program(1), program(3)], [Some(1), Some(2), None]);
    }
}
