//! Logical blocks: the logical block of a page, and the page's offset in it.

use base::units::{Divisor, Lpn};

/// The number of a logical block.
pub(super) type Lbn = u32;

/// Pages go to `width` logical blocks in rotation. With a width of 1 a logical block is a range of pages.
#[derive(Clone, Copy, Debug)]
pub(super) struct Address {
    width: Divisor,
    pages: Divisor,
    blocks: u32,
}

impl Address {
    pub(super) fn new(units: u32, pages: u32, width: u32) -> Self {
        let (width, pages) = (Divisor::new(width), Divisor::new(pages));
        let rows = pages.get() * width.get();
        Self { width, pages, blocks: units.div_ceil(rows) * width.get() }
    }

    pub(super) const fn blocks(&self) -> u32 {
        self.blocks
    }

    /// The logical block of a page, and the page's offset in it.
    #[inline]
    pub(super) const fn split(&self, lpn: Lpn) -> (Lbn, u32) {
        let (row, column) = self.width.split(lpn.get());
        let (group, offset) = self.pages.split(row);
        (group * self.width.get() + column, offset)
    }

    /// The page at an offset of a logical block.
    #[cfg(test)]
    pub(super) const fn join(&self, lbn: Lbn, offset: u32) -> Lpn {
        let (group, column) = self.width.split(lbn);
        Lpn::new((group * self.pages.get() + offset) * self.width.get() + column)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_page_number_splits_into_block_and_offset_and_joins_again(units in 1..2000u32, pages in 1..70u32, width in 1..9u32, pick in any::<u32>()) {
            let address = Address::new(units, pages, width);
            let lpn = Lpn::new(pick % units);
            let (lbn, offset) = address.split(lpn);
            prop_assert!(lbn < address.blocks() && offset < pages);
            prop_assert_eq!(address.join(lbn, offset), lpn);
        }
    }

    #[test]
    fn the_width_decides_whether_neighbour_pages_share_a_block() {
        let blocks = |width| (0..8).map(|lpn| Address::new(64, 4, width).split(Lpn::new(lpn)).0).collect::<Vec<_>>();
        assert_eq!(blocks(1), [0, 0, 0, 0, 1, 1, 1, 1]);
        assert_eq!(blocks(4), [0, 1, 2, 3, 0, 1, 2, 3]);
    }
}
