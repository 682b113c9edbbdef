//! The dirty translation list: the translation pages with dirty blocks in the CMT, and the places of these blocks (Sec.
//! 4.2, Fig. 5).
//!
//! An entry points to the block that became dirty last, and each block to the block that became dirty before it. So the
//! list finds the blocks of a page without a search.

/// The translation pages with dirty blocks, in order of registration.
#[derive(Clone, Debug)]
pub(super) struct Dtl {
    /// One entry for each translation page; the entries of registered pages are linked.
    entries: Vec<DtlEntry>,
    head: Option<u32>,
    tail: Option<u32>,
    /// One element for each block of the cache: the next dirty block of the same page.
    next: Vec<Option<u32>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct DtlEntry {
    /// The first block of the chain; none if the page is not registered.
    first: Option<u32>,
    dirty: u32,
    updated: bool,
    older: Option<u32>,
    newer: Option<u32>,
}

impl Dtl {
    pub(super) fn new(pages: u32, blocks: u32) -> Self {
        Self {
            entries: vec![DtlEntry::default(); pages as usize],
            head: None,
            tail: None,
            next: vec![None; blocks as usize],
        }
    }

    /// Registers a block that became dirty, in front of the other blocks of its page.
    pub(super) fn register(&mut self, tvpn: u32, block: usize) {
        let entry = &mut self.entries[tvpn as usize];
        self.next[block] = entry.first.replace(block as u32);
        entry.dirty += 1;
        entry.updated = true;
        if entry.dirty == 1 {
            entry.older = self.tail.replace(tvpn);
            match entry.older {
                Some(older) => self.entries[older as usize].newer = Some(tvpn),
                None => self.head = Some(tvpn),
            }
        }
    }

    /// Notes an update of a dirty block. Has no effect if a flush has taken the block's page.
    pub(super) fn touch(&mut self, tvpn: u32) {
        self.entries[tvpn as usize].updated = true;
    }

    /// Takes a page out of the list and returns the first block of its chain.
    pub(super) fn take(&mut self, tvpn: u32) -> Option<u32> {
        let entry = std::mem::take(&mut self.entries[tvpn as usize]);
        let first = entry.first?;
        match entry.older {
            Some(older) => self.entries[older as usize].newer = entry.newer,
            None => self.head = entry.newer,
        }
        match entry.newer {
            Some(newer) => self.entries[newer as usize].older = entry.older,
            None => self.tail = entry.older,
        }
        Some(first)
    }

    /// All pages, oldest first, each with its number of dirty blocks.
    #[cfg(test)]
    pub(super) fn listed(&self) -> Vec<(u32, u32)> {
        let entry = |tvpn: u32| &self.entries[tvpn as usize];
        std::iter::successors(self.head, |tvpn| entry(*tvpn).newer).map(|tvpn| (tvpn, entry(tvpn).dirty)).collect()
    }

    /// The block of the same page that became dirty before `block`.
    pub(super) fn after(&self, block: u32) -> Option<u32> {
        self.next[block as usize]
    }

    /// The next page to flush, and the number of pages compared: cost-benefit over three criteria (Sec. 4.5), which are
    /// most dirty blocks, registered first, and least recently updated.
    ///
    /// The paper names the criteria but not their weights; these are ours. The list compares the `window` pages
    /// registered first, because hardware can compare only a few. A page without an update since the last comparison
    /// will hardly gain more blocks, so its blocks count twice. The highest count wins, and of equal counts that of the
    /// older page.
    pub(super) fn choose(&mut self, window: u32) -> (Option<u32>, u64) {
        let (mut best, mut looked, mut at) = (None, 0, self.head);
        while let Some(tvpn) = at.filter(|_| looked < window) {
            let entry = &mut self.entries[tvpn as usize];
            let score = entry.dirty << u32::from(!std::mem::take(&mut entry.updated));
            if best.is_none_or(|(most, _)| score > most) {
                best = Some((score, tvpn));
            }
            looked += 1;
            at = entry.newer;
        }
        (best.map(|(_, tvpn)| tvpn), u64::from(looked))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(dtl: &mut Dtl, tvpn: u32) -> Vec<u32> {
        let first = dtl.take(tvpn);
        std::iter::successors(first, |block| dtl.after(*block)).collect()
    }

    #[test]
    fn a_chain_of_dirty_blocks_is_last_in_first_out() {
        let mut dtl = Dtl::new(4, 8);
        for (tvpn, block) in [(2, 5), (1, 0), (2, 3), (2, 7)] {
            dtl.register(tvpn, block);
        }
        assert_eq!(chain(&mut dtl, 2), [7, 3, 5]);
        assert_eq!(chain(&mut dtl, 2), [0; 0], "it was taken");
        dtl.register(2, 3);
        assert_eq!(chain(&mut dtl, 2), [3], "a new chain does not lead into the old one");
        assert_eq!(chain(&mut dtl, 1), [0]);
        assert_eq!(dtl.choose(4), (None, 0));
    }

    #[test]
    fn the_page_with_most_dirty_blocks_is_flushed_then_not_updated_then_oldest() {
        let mut dtl = Dtl::new(8, 16);
        for (tvpn, block) in [(3, 0), (1, 1), (5, 2), (1, 3), (6, 4)] {
            dtl.register(tvpn, block);
        }
        assert_eq!(dtl.choose(8), (Some(1), 4), "greedy: two dirty blocks");
        assert_eq!(dtl.choose(1), (Some(3), 1), "only the oldest is in the window");
        dtl.touch(3);
        dtl.touch(1);
        dtl.touch(5);
        dtl.register(5, 5);
        assert_eq!(dtl.choose(8).0, Some(1), "6 was not updated and counts twice, 1 and 5 have two: 1 is oldest");
        assert_eq!(chain(&mut dtl, 1), [3, 1]);
        dtl.touch(3);
        assert_eq!(dtl.choose(8).0, Some(5), "5 was not updated since");
        assert_eq!(chain(&mut dtl, 5), [5, 2]);
        assert_eq!(dtl.choose(8).0, Some(3), "oldest of two equal ones");
        for tvpn in [6, 3] {
            assert!(dtl.take(tvpn).is_some());
        }
        assert_eq!(dtl.choose(8), (None, 0));
    }
}
