//! Numbers in the order of their last use: a doubly linked list.

use base::nonmax::NonMaxU32;
use base::prefetch::prefetch;

/// The neighbours of a number: none at the ends of the list, and outside the list.
#[derive(Clone, Copy, Debug, Default)]
struct ListLink {
    newer: Option<NonMaxU32>,
    older: Option<NonMaxU32>,
}

/// Some of the numbers below a bound, ordered by last use.
#[derive(Clone, Debug)]
pub(super) struct Recency {
    links: Vec<ListLink>,
    newest: Option<NonMaxU32>,
    oldest: Option<NonMaxU32>,
}

impl Recency {
    /// Bytes of a list of numbers below `count`.
    pub(super) const fn memory(count: u64) -> u64 {
        count * size_of::<ListLink>() as u64
    }

    pub(super) fn new(count: u32) -> Self {
        Self { links: vec![ListLink::default(); count as usize], newest: None, oldest: None }
    }

    pub(super) fn newest(&self) -> Option<u32> {
        self.newest.map(NonMaxU32::get)
    }

    pub(super) fn oldest(&self) -> Option<u32> {
        self.oldest.map(NonMaxU32::get)
    }

    #[inline]
    pub(super) fn prefetch(&self, number: usize) {
        prefetch(self.links.get(number));
    }

    pub(super) fn contains(&self, number: u32) -> bool {
        self.links[number as usize].newer.is_some() || self.newest() == Some(number)
    }

    /// Makes a number the most recently used one; adds it if it is not in the list.
    pub(super) fn touch(&mut self, number: u32) {
        if self.newest() == Some(number) {
            return;
        }
        self.remove(number);
        let this = Some(NonMaxU32::new(number));
        self.links[number as usize] = ListLink { newer: None, older: self.newest };
        match self.newest {
            None => self.oldest = this,
            Some(newest) => self.links[newest.get() as usize].newer = this,
        }
        self.newest = this;
    }

    /// Removes a number, if it is in the list.
    pub(super) fn remove(&mut self, number: u32) {
        if !self.contains(number) {
            return;
        }
        let ListLink { newer, older } = std::mem::take(&mut self.links[number as usize]);
        match newer {
            None => self.newest = older,
            Some(newer) => self.links[newer.get() as usize].older = older,
        }
        match older {
            None => self.oldest = newer,
            Some(older) => self.links[older.get() as usize].newer = newer,
        }
    }

    /// The numbers by last use, oldest first.
    pub(super) fn by_age(&self) -> impl Iterator<Item = u32> + '_ {
        std::iter::successors(self.oldest, |number| self.links[number.get() as usize].newer).map(NonMaxU32::get)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_list_is_in_order_of_use(steps in prop::collection::vec((0..8u32, any::<bool>()), 1..100)) {
            let mut list = Recency::new(8);
            let mut model: Vec<u32> = Vec::new();
            for (number, used) in steps {
                model.retain(|other| *other != number);
                if used {
                    list.touch(number);
                    model.push(number);
                } else {
                    list.remove(number);
                }
                prop_assert_eq!(&list.by_age().collect::<Vec<_>>(), &model);
                prop_assert_eq!((list.oldest(), list.newest()), (model.first().copied(), model.last().copied()));
                prop_assert!((0..8).all(|number| list.contains(number) == model.contains(&number)));
            }
        }
    }
}
