//! The translation pages of a core: the dirty blocks of each page, and whether they are being written back.
//!
//! The firmware has no list of a page's dirty blocks and pays for a search of its whole cache (Woo and Min, Sec. 5.2).
//! The simulator need not search: the dirty blocks of a page are chained.

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct PageState {
    /// The block of the page that became dirty last.
    dirty: u32,
    /// True while the blocks of the page are being written back.
    locked: bool,
}

/// The states of all pages of a core.
#[derive(Clone, Debug)]
pub(super) struct PageStates {
    pages: Vec<PageState>,
    /// For each dirty block of the cache, the block of the same page that became dirty before it.
    before: Vec<u32>,
    locked: u32,
}

impl PageStates {
    /// The clean states of `pages` pages, for a cache of `blocks` blocks.
    pub(super) fn new(pages: u32, blocks: u32) -> Self {
        let state = PageState { dirty: NONE, locked: false };
        Self { pages: vec![state; pages as usize], before: vec![NONE; blocks as usize], locked: 0 }
    }

    /// The number of pages whose blocks are being written back.
    pub(super) const fn locked(&self) -> u32 {
        self.locked
    }

    pub(super) fn is_locked(&self, page: u32) -> bool {
        self.pages[page as usize].locked
    }

    /// Marks that the blocks of a page are being written back.
    pub(super) fn lock(&mut self, page: u32) {
        self.locked += u32::from(!std::mem::replace(&mut self.pages[page as usize].locked, true));
    }

    /// Marks that the blocks of a page have been written back and are clean.
    pub(super) fn written_back(&mut self, page: u32) {
        let state = &mut self.pages[page as usize];
        state.dirty = NONE;
        self.locked -= u32::from(std::mem::take(&mut state.locked));
    }

    pub(super) fn add_dirty(&mut self, page: u32, block: usize) {
        self.before[block] = std::mem::replace(&mut self.pages[page as usize].dirty, block as u32);
    }

    /// The dirty blocks of a page, the block that became dirty last first.
    pub(super) fn dirty_blocks(&self, page: u32) -> impl Iterator<Item = usize> {
        let block = |block: u32| (block != NONE).then_some(block as usize);
        let first = block(self.pages[page as usize].dirty);
        std::iter::successors(first, move |at| block(self.before[*at])).inspect(|_| base::steps::count())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_its_dirty_blocks_until_they_are_written_back() {
        let mut pages = PageStates::new(2, 8);
        for (page, block) in [(0, 3), (1, 4), (0, 1), (0, 7)] {
            pages.add_dirty(page, block);
        }
        let dirty = |pages: &PageStates, page| pages.dirty_blocks(page).collect::<Vec<_>>();
        assert_eq!((dirty(&pages, 0), dirty(&pages, 1)), (vec![7, 1, 3], vec![4]));
        pages.lock(0);
        pages.lock(0);
        assert!(pages.is_locked(0) && !pages.is_locked(1) && pages.locked() == 1);
        pages.written_back(0);
        assert_eq!((dirty(&pages, 0), pages.locked()), (Vec::new(), 0));
        pages.add_dirty(0, 3);
        assert_eq!(dirty(&pages, 0), [3], "a new chain does not lead into the old one");
        assert_eq!(dirty(&pages, 1), [4]);
        pages.written_back(1);
        assert_eq!(pages.locked(), 0, "it was not locked");
    }
}
