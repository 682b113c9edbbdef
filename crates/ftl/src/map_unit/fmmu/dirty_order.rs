//! The dirty pages of the CTP, in the order in which they became dirty (Sec. 4.5).
//!
//! A page leaves from the middle of the order if a request waits for a block of its set. So the pages are linked:
//! neither this removal nor the search for the oldest page of a set visits other pages.

#[derive(Clone, Copy, Debug, Default)]
struct ListLink {
    older: Option<u32>,
    newer: Option<u32>,
    /// The number of the page, which grows: of two pages the page that became dirty first has the lower number.
    number: u64,
}

/// The blocks with dirty pages.
#[derive(Clone, Debug)]
pub(super) struct DirtyOrder {
    links: Vec<ListLink>,
    oldest: Option<u32>,
    newest: Option<u32>,
    len: usize,
    number: u64,
}

impl DirtyOrder {
    pub(super) fn new(blocks: u32) -> Self {
        Self { links: vec![ListLink::default(); blocks as usize], oldest: None, newest: None, len: 0, number: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// All blocks, the oldest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> {
        std::iter::successors(self.oldest, |block| self.links[*block as usize].newer)
    }

    /// Of these dirty blocks, the block that became dirty first.
    pub(super) fn oldest_of(&self, blocks: impl Iterator<Item = u32>) -> Option<u32> {
        blocks.min_by_key(|block| self.links[*block as usize].number)
    }

    /// Appends a block that became dirty.
    pub(super) fn push(&mut self, block: u32) {
        self.number += 1;
        let older = self.newest.replace(block);
        self.links[block as usize] = ListLink { older, newer: None, number: self.number };
        match older {
            Some(older) => self.links[older as usize].newer = Some(block),
            None => self.oldest = Some(block),
        }
        self.len += 1;
    }

    /// Removes a block that became clean.
    pub(super) fn remove(&mut self, block: u32) {
        let ListLink { older, newer, .. } = self.links[block as usize];
        match older {
            Some(older) => self.links[older as usize].newer = newer,
            None => self.oldest = newer,
        }
        match newer {
            Some(newer) => self.links[newer as usize].older = older,
            None => self.newest = older,
        }
        self.len -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Compares the linked list with a plain list.
        #[test]
        fn blocks_stay_in_the_order_in_which_they_became_dirty(blocks in prop::collection::vec((0..8u32, 0..8u32), 0..60)) {
            let (mut order, mut model) = (DirtyOrder::new(8), Vec::new());
            for (block, other) in blocks {
                match model.iter().position(|dirty| *dirty == block) {
                    Some(at) => {
                        model.remove(at);
                        order.remove(block);
                    }
                    None => {
                        model.push(block);
                        order.push(block);
                    }
                }
                prop_assert_eq!(order.iter().collect::<Vec<_>>(), model.clone());
                prop_assert_eq!(order.len(), model.len());
                let some = |dirty: &u32| *dirty % 8 <= other;
                let first = model.iter().copied().find(some);
                prop_assert_eq!(order.oldest_of((0..8).filter(|block| model.contains(block)).filter(some)), first);
            }
        }
    }
}
