//! The difference between the most and the least erased superblock, kept up to date.

use std::collections::VecDeque;

/// Capacity that the list starts with. Wear levelling keeps the spread below it, so that a warm drive allocates
/// nothing.
const ROOM: usize = 1024;

/// The number of superblocks for each erase count, from the least count to the greatest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct EraseSpread {
    least: u32,
    counts: VecDeque<u32>,
}

impl EraseSpread {
    /// The spread of `superblocks` superblocks that have never been erased.
    pub(super) fn new(superblocks: u32) -> Self {
        let mut counts = VecDeque::with_capacity(ROOM);
        counts.extend((superblocks > 0).then_some(superblocks));
        Self { least: 0, counts }
    }

    /// The highest erase count of a superblock less the lowest.
    pub(super) fn get(&self) -> u32 {
        (self.counts.len() as u32).saturating_sub(1)
    }

    pub(super) fn add(&mut self, erases: u32) {
        if self.counts.is_empty() {
            self.least = erases;
        }
        while erases < self.least {
            self.counts.push_front(0);
            self.least -= 1;
        }
        while self.least + self.counts.len() as u32 <= erases {
            self.counts.push_back(0);
        }
        self.counts[(erases - self.least) as usize] += 1;
    }

    pub(super) fn remove(&mut self, erases: u32) {
        self.counts[(erases - self.least) as usize] -= 1;
        while self.counts.front() == Some(&0) {
            self.counts.pop_front();
            self.least += 1;
        }
        while self.counts.back() == Some(&0) {
            self.counts.pop_back();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Compares the spread with a search of all superblocks.
        #[test]
        fn the_spread_equals_that_of_a_search(steps in prop::collection::vec((0..6usize, 0..12u32, any::<bool>()), 0..60)) {
            let (mut spread, mut model) = (EraseSpread::new(3), vec![0, 0, 0]);
            for (pick, erases, adds) in steps {
                if !adds && !model.is_empty() {
                    let place = pick % model.len();
                    spread.remove(model.swap_remove(place));
                } else {
                    spread.add(erases);
                    model.push(erases);
                }
                let least = model.iter().min().copied().unwrap_or(0);
                prop_assert_eq!(spread.get(), model.iter().max().copied().unwrap_or(0) - least);
            }
        }
    }
}
