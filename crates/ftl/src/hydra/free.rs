//! The free superblocks of a superchip, in the order of their next use.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use base::steps;

/// A free superblock. The order of entries is the order in which merges take them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct FreeSuperblock {
    /// The erase count if merges take the least worn superblock first, otherwise 0.
    wear: u32,
    /// The number of the freeing, which grows: the superblock that has been free longest has the lowest number.
    freed: u64,
    superblock: u32,
}

/// The free superblocks of a superchip, in one of two orders: by wear, the least worn first, ties by the time of
/// becoming free; or by the time of becoming free alone.
#[derive(Clone, Debug)]
pub(super) struct Free {
    heap: BinaryHeap<Reverse<FreeSuperblock>>,
    least_worn: bool,
}

impl Free {
    /// An empty list with room for `superblocks` superblocks.
    pub(super) fn new(least_worn: bool, superblocks: u32) -> Self {
        Self { heap: BinaryHeap::with_capacity(superblocks as usize), least_worn }
    }

    /// Bytes of memory for each superblock of the superchip.
    pub(super) const fn memory_of_superblock() -> u64 {
        size_of::<FreeSuperblock>() as u64
    }

    /// Bytes that the list takes.
    #[cfg(test)]
    pub(super) fn taken(&self) -> usize {
        self.heap.capacity() * size_of::<FreeSuperblock>()
    }

    pub(super) fn len(&self) -> usize {
        self.heap.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    /// The superblocks, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.heap.iter().inspect(|_| steps::count()).map(|Reverse(entry)| entry.superblock)
    }

    /// Adds a superblock. Its erase count must not change until the superblock is taken.
    pub(super) fn push(&mut self, superblock: u32, erases: u32, freed: u64) {
        let wear = if self.least_worn { erases } else { 0 };
        self.heap.push(Reverse(FreeSuperblock { wear, freed, superblock }));
    }

    pub(super) fn pop(&mut self) -> Option<u32> {
        self.heap.pop().map(|Reverse(entry)| entry.superblock)
    }

    /// Takes this superblock, in time proportional to the number of free superblocks. Explicit wear levelling, which
    /// calls this, has compared all of them anyway.
    pub(super) fn remove(&mut self, superblock: u32) {
        self.heap.retain(|Reverse(entry)| {
            steps::count();
            entry.superblock != superblock
        });
    }

    /// Checks the order against the present erase counts.
    pub(super) fn check(&self, erases: impl Fn(u32) -> u32) {
        for Reverse(FreeSuperblock { wear, superblock, .. }) in &self.heap {
            let wanted = if self.least_worn { erases(*superblock) } else { 0 };
            assert_eq!(*wear, wanted, "the wear by which superblock {superblock} is sorted");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Compares the list with a search of all superblocks in the order of freeing.
        #[test]
        fn the_next_superblock_equals_that_of_a_search(
            least_worn in any::<bool>(),
            steps in prop::collection::vec((0..12u32, 0..4u32, 0..3u32), 0..80),
        ) {
            let (mut free, mut model) = (Free::new(least_worn, 12), Vec::<(u32, u32)>::new());
            for (freed, (superblock, erases, step)) in (0..).zip(steps) {
                let listed = model.iter().position(|(of, _)| *of == superblock);
                match (step, listed) {
                    (0, None) => {
                        free.push(superblock, erases, freed);
                        model.push((superblock, erases));
                    }
                    (1, Some(place)) => {
                        free.remove(superblock);
                        model.remove(place);
                    }
                    (2, _) => {
                        let worn = model.iter().enumerate().map(|(place, (_, erases))| (*erases, place));
                        let place = if least_worn { worn.min().map(|(_, place)| place) } else { (!model.is_empty()).then_some(0) };
                        prop_assert_eq!(free.pop(), place.map(|place| model.remove(place).0));
                    }
                    _ => {}
                }
                prop_assert_eq!((free.len(), free.is_empty()), (model.len(), model.is_empty()));
            }
        }
    }
}
