//! The free lists of all dies: a caller takes the next block of one die, or of all.

use base::units::SuperblockId;

use crate::toolkit::FreeList;

/// The order in which free blocks are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FreeOrder {
    /// The least worn block first: dynamic wear levelling.
    Wear,
    /// The block that has been free longest first.
    Age,
}

/// The free blocks of all dies. The lists allocate nothing after each has reached its greatest length.
#[derive(Clone, Debug)]
pub(super) struct FreeLists {
    order: FreeOrder,
    /// The list of each die. Ordered by age, the number of a block is the count of entries when it was entered, so that
    /// the lists can be compared.
    dies: Vec<FreeList>,
    blocks_per_die: u32,
    count: u32,
    /// The number of entries so far. It fits into `u32`, because the versions of pages run out first.
    entered: u32,
}

impl FreeLists {
    /// Bytes for `count` blocks, all of which may be free.
    pub(super) const fn memory(count: u64) -> u64 {
        FreeList::memory(count)
    }

    pub(super) fn new(dies: u32, blocks_per_die: u32, order: FreeOrder) -> Self {
        let dies = (0..dies).map(|_| FreeList::new(order == FreeOrder::Wear, blocks_per_die)).collect();
        Self { order, dies, blocks_per_die, count: 0, entered: 0 }
    }

    pub(super) const fn count(&self) -> u32 {
        self.count
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.dies.iter().flat_map(FreeList::entries).map(|(_, block)| block.get())
    }

    /// The erase count of each free block, if the blocks are taken by wear.
    pub(super) fn known_wear(&self) -> impl Iterator<Item = (u32, SuperblockId)> + '_ {
        let by_wear = self.order == FreeOrder::Wear;
        self.dies.iter().filter(move |_| by_wear).flat_map(FreeList::entries)
    }

    fn die_of(&self, block: SuperblockId) -> u32 {
        block.get() / self.blocks_per_die
    }

    /// Adds a free block with its erase count.
    pub(super) fn put(&mut self, block: u32, erases: u32) {
        self.entered += 1;
        let number = match self.order {
            FreeOrder::Wear => erases,
            FreeOrder::Age => self.entered,
        };
        let block = SuperblockId::new(block);
        let die = self.die_of(block);
        self.dies[die as usize].push(block, number);
        self.count += 1;
    }

    /// Takes the first block of all dies' lists.
    pub(super) fn take(&mut self) -> Option<u32> {
        let (_, block) = self.dies.iter().filter_map(FreeList::first).min()?;
        self.take_on(self.die_of(block))
    }

    /// Takes the first block of a die.
    pub(super) fn take_on(&mut self, die: u32) -> Option<u32> {
        let block = self.dies[die as usize].pop()?;
        self.count -= 1;
        Some(block.get())
    }

    /// Takes `block`. Returns false if it is not free.
    pub(super) fn take_this(&mut self, block: u32) -> bool {
        let block = SuperblockId::new(block);
        let die = self.die_of(block);
        let is_free = self.dies[die as usize].take(block);
        self.count -= u32::from(is_free);
        is_free
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Free lists of two dies of four blocks, entered out of order with different erase counts.
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
    fn a_free_block_can_be_taken_by_die_or_by_number() {
        let mut lists = lists(FreeOrder::Wear);
        assert!(lists.take_this(5) && !lists.take_this(5) && !lists.take_this(0));
        assert_eq!((lists.take_on(1), lists.take_on(1), lists.count()), (Some(6), None, 2));
        assert_eq!(lists.iter().collect::<Vec<_>>(), [2, 1]);
    }
}
