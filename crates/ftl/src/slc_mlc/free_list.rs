//! Free lists: erased blocks of each die, in the order in which they are taken.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Which free block is taken first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FreeOrder {
    /// The least worn one: dynamic wear levelling.
    Wear,
    /// The one that has been free for longest.
    Age,
}

/// A free block, with its erases or the number of its entry: the least is taken first.
type Entry = Reverse<(u64, u32)>;

/// The free blocks of all dies. Once each die had as many as it ever has, nothing is allocated.
#[derive(Clone, Debug)]
pub(super) struct FreeLists {
    order: FreeOrder,
    dies: Vec<BinaryHeap<Entry>>,
    blocks_per_die: u32,
    count: u32,
    entered: u64,
}

impl FreeLists {
    /// Bytes of so many blocks, all of which may be free.
    pub(super) const fn memory(count: u64) -> u64 {
        count * size_of::<Entry>() as u64
    }

    /// The lists of so many dies, all of them empty.
    pub(super) fn new(dies: u32, blocks_per_die: u32, order: FreeOrder) -> Self {
        let empty = || BinaryHeap::with_capacity(blocks_per_die as usize);
        let dies = std::iter::repeat_with(empty).take(dies as usize).collect();
        Self { order, dies, blocks_per_die, count: 0, entered: 0 }
    }

    pub(super) const fn count(&self) -> u32 {
        self.count
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.dies.iter().flatten().map(|Reverse((_, block))| *block)
    }

    /// How often each block has been erased, if that decides which one is taken.
    pub(super) fn known_wear(&self) -> impl Iterator<Item = (u64, u32)> + '_ {
        let by_wear = self.order == FreeOrder::Wear;
        self.dies.iter().filter(move |_| by_wear).flatten().map(|Reverse(entry)| *entry)
    }

    fn die_of(&self, block: u32) -> usize {
        (block / self.blocks_per_die) as usize
    }

    /// Enters a block that was erased so often.
    pub(super) fn put(&mut self, block: u32, erases: u32) {
        self.entered += 1;
        let key = match self.order {
            FreeOrder::Wear => u64::from(erases),
            FreeOrder::Age => self.entered,
        };
        let die = self.die_of(block);
        self.dies[die].push(Reverse((key, block)));
        self.count += 1;
    }

    /// Takes the first block of all.
    pub(super) fn take(&mut self) -> Option<u32> {
        let Reverse((_, block)) = self.dies.iter().filter_map(BinaryHeap::peek).max().copied()?;
        self.take_on(self.die_of(block) as u32)
    }

    /// Takes the first block of a die.
    pub(super) fn take_on(&mut self, die: u32) -> Option<u32> {
        let Reverse((_, block)) = self.dies[die as usize].pop()?;
        self.count -= 1;
        Some(block)
    }

    /// Takes this block. False if it is not free.
    pub(super) fn take_this(&mut self, block: u32) -> bool {
        let die = self.die_of(block);
        let before = self.dies[die].len();
        self.dies[die].retain(|Reverse((_, free))| *free != block);
        let is_free = self.dies[die].len() < before;
        self.count -= u32::from(is_free);
        is_free
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two dies of four blocks, entered in this order with these erases.
    fn lists(order: FreeOrder) -> FreeLists {
        let mut lists = FreeLists::new(2, 4, order);
        for (block, erases) in [(5, 3), (1, 7), (2, 1), (6, 3)] {
            lists.put(block, erases);
        }
        lists
    }

    fn taken(mut lists: FreeLists) -> Vec<u32> {
        std::iter::from_fn(|| lists.take()).collect()
    }

    #[test]
    fn blocks_are_taken_by_wear_or_by_age() {
        assert_eq!(taken(lists(FreeOrder::Wear)), [2, 5, 6, 1]);
        assert_eq!(taken(lists(FreeOrder::Age)), [5, 1, 2, 6]);
    }

    #[test]
    fn a_die_or_a_block_can_be_named() {
        let mut lists = lists(FreeOrder::Wear);
        assert!(lists.take_this(5) && !lists.take_this(5) && !lists.take_this(0));
        assert_eq!((lists.take_on(1), lists.take_on(1), lists.count()), (Some(6), None, 2));
        assert_eq!(lists.iter().collect::<Vec<_>>(), [2, 1]);
    }
}
