//! Logical blocks with waiting writes, by the age of their oldest write: a binary heap.
//!
//! Each logical block knows its index in the heap, so any logical block is removed in as many steps as the heap has
//! levels.

use base::steps;

use super::address::Lbn;

/// The number of a waiting write, which grows: an older write has a lower number.
pub(super) type Number = u64;

/// A logical block in a heap. `number` is the first field, so that entries are in the order of age.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct HeapEntry {
    /// The number of the logical block's oldest write.
    pub(super) number: Number,
    pub(super) lbn: Lbn,
}

/// Logical blocks by age.
#[derive(Clone, Debug, Default)]
pub(super) struct Heap {
    entries: Vec<HeapEntry>,
}

impl Heap {
    /// The logical block with the oldest write.
    #[inline]
    pub(super) fn oldest(&self) -> Option<HeapEntry> {
        self.entries.first().copied()
    }

    /// The logical blocks, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = HeapEntry> + '_ {
        self.entries.iter().copied()
    }

    /// Adds a logical block. `moved` is called with each logical block whose index changes, and its new index.
    pub(super) fn insert(&mut self, entry: HeapEntry, mut moved: impl FnMut(Lbn, u32)) {
        self.entries.push(entry);
        self.rise(self.entries.len() - 1, &mut moved);
    }

    /// Removes the logical block at index `place`.
    pub(super) fn remove(&mut self, place: u32, mut moved: impl FnMut(Lbn, u32)) {
        let place = place as usize;
        self.entries.swap_remove(place);
        if place < self.entries.len() {
            let place = self.rise(place, &mut moved);
            self.sink(place, &mut moved);
        }
    }

    /// Moves an entry up, before all younger ones on its way to the root.
    fn rise(&mut self, mut at: usize, moved: &mut impl FnMut(Lbn, u32)) -> usize {
        let entry = self.entries[at];
        while at > 0 && entry < self.entries[(at - 1) / 2] {
            self.put(at, self.entries[(at - 1) / 2], moved);
            at = (at - 1) / 2;
        }
        self.put(at, entry, moved);
        at
    }

    /// Moves an entry down, behind all older ones on its way to a leaf.
    fn sink(&mut self, mut at: usize, moved: &mut impl FnMut(Lbn, u32)) {
        let entry = self.entries[at];
        while let Some(below) = (2 * at + 1..(2 * at + 3).min(self.entries.len())).min_by_key(|at| self.entries[*at])
            && self.entries[below] < entry
        {
            self.put(at, self.entries[below], moved);
            at = below;
        }
        self.put(at, entry, moved);
    }

    fn put(&mut self, at: usize, entry: HeapEntry, moved: &mut impl FnMut(Lbn, u32)) {
        steps::count();
        self.entries[at] = entry;
        moved(entry.lbn, at as u32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// Compares the heap with an ordered set.
        #[test]
        fn the_oldest_is_first_and_each_knows_its_place(steps in prop::collection::vec((0..12u32, 0..9u64), 0..60)) {
            let (mut heap, mut model) = (Heap::default(), BTreeSet::new());
            let mut places = [(0, 0); 12];
            for (lbn, number) in steps {
                let (of, place) = places[lbn as usize];
                let listed = HeapEntry { number: of, lbn };
                if model.remove(&listed) {
                    heap.remove(place, |lbn, place| places[lbn as usize].1 = place);
                } else {
                    places[lbn as usize].0 = number;
                    let entry = HeapEntry { number, lbn };
                    heap.insert(entry, |lbn, place| places[lbn as usize].1 = place);
                    model.insert(entry);
                }
                prop_assert_eq!(heap.oldest(), model.first().copied());
                prop_assert_eq!(heap.iter().collect::<BTreeSet<_>>(), model.clone());
                for entry in &model {
                    prop_assert_eq!(heap.entries[places[entry.lbn as usize].1 as usize], *entry);
                }
            }
        }
    }
}
