//! Free superblocks, in the order of their next use.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use base::units::SuperblockId;

/// Free superblocks: the least worn first under dynamic wear levelling, otherwise in order of arrival. Each has a
/// number, which is its erase count unless the caller passes another number.
#[derive(Clone, Debug)]
pub(crate) enum FreeList {
    ByWear(BinaryHeap<Reverse<(u32, SuperblockId)>>),
    Fifo(VecDeque<(u32, SuperblockId)>),
}

impl FreeList {
    /// An empty list with capacity for `room` superblocks.
    pub(crate) fn new(by_wear: bool, room: u32) -> Self {
        match by_wear {
            true => Self::ByWear(BinaryHeap::with_capacity(room as usize)),
            false => Self::Fifo(VecDeque::with_capacity(room as usize)),
        }
    }

    /// Bytes of memory of a list with this capacity.
    pub(crate) const fn memory(room: u64) -> u64 {
        room * size_of::<(u32, SuperblockId)>() as u64
    }

    pub(crate) fn len(&self) -> u32 {
        (match self {
            Self::ByWear(heap) => heap.len(),
            Self::Fifo(queue) => queue.len(),
        }) as u32
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds a free superblock with its erase count.
    pub(crate) fn push(&mut self, superblock: SuperblockId, erases: u32) {
        match self {
            Self::ByWear(heap) => heap.push(Reverse((erases, superblock))),
            Self::Fifo(queue) => queue.push_back((erases, superblock)),
        }
    }

    /// All free superblocks in no particular order, each with its erase count.
    pub(crate) fn entries(&self) -> Vec<(u32, SuperblockId)> {
        match self {
            Self::ByWear(heap) => heap.iter().map(|Reverse(entry)| *entry).collect(),
            Self::Fifo(queue) => queue.iter().copied().collect(),
        }
    }

    /// The superblock that is taken next, and its number.
    pub(crate) fn first(&self) -> Option<(u32, SuperblockId)> {
        match self {
            Self::ByWear(heap) => heap.peek().map(|Reverse(entry)| *entry),
            Self::Fifo(queue) => queue.front().copied(),
        }
    }

    pub(crate) fn pop(&mut self) -> Option<SuperblockId> {
        self.pop_with_wear().map(|(superblock, _)| superblock)
    }

    /// Takes the next superblock, as `pop` does, and also returns its erase count.
    pub(crate) fn pop_with_wear(&mut self) -> Option<(SuperblockId, u32)> {
        match self {
            Self::ByWear(heap) => heap.pop().map(|Reverse((erases, superblock))| (superblock, erases)),
            Self::Fifo(queue) => queue.pop_front().map(|(erases, superblock)| (superblock, erases)),
        }
    }

    /// The erase count of the most worn superblock.
    pub(crate) fn most_worn(&self) -> Option<u32> {
        match self {
            Self::ByWear(heap) => heap.iter().map(|Reverse((erases, _))| *erases).max(),
            Self::Fifo(queue) => queue.iter().map(|(erases, _)| *erases).max(),
        }
    }

    /// The erase count of the least worn superblock.
    pub(crate) fn least_worn(&self) -> Option<u32> {
        match self {
            Self::ByWear(heap) => heap.peek().map(|Reverse((erases, _))| *erases),
            Self::Fifo(queue) => queue.iter().map(|(erases, _)| *erases).min(),
        }
    }

    /// Takes the most worn superblock, for cold data.
    pub(crate) fn pop_most_worn(&mut self) -> Option<SuperblockId> {
        let chosen = match self {
            Self::ByWear(heap) => heap.iter().map(|Reverse(entry)| *entry).max(),
            Self::Fifo(queue) => queue.iter().copied().max(),
        }?;
        self.take(chosen.1).then_some(chosen.1)
    }

    /// Takes the free superblock with the fewest erases; `None` if there is none.
    pub(crate) fn pop_least_worn(&mut self) -> Option<SuperblockId> {
        let chosen = match self {
            Self::ByWear(heap) => heap.peek().map(|Reverse(entry)| *entry),
            Self::Fifo(queue) => queue.iter().copied().min(),
        }?;
        self.take(chosen.1).then_some(chosen.1)
    }

    /// Takes `superblock`. Returns false if it is not free.
    pub(crate) fn take(&mut self, superblock: SuperblockId) -> bool {
        let before = self.len();
        match self {
            Self::ByWear(heap) => heap.retain(|Reverse((_, free))| *free != superblock),
            Self::Fifo(queue) => queue.retain(|(_, free)| *free != superblock),
        }
        self.len() < before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_superblocks_are_taken_by_wear_or_in_order() {
        let lists = [true, false].map(|by_wear| FreeList::new(by_wear, 4));
        let orders = lists.map(|mut list| {
            [(5, 0), (1, 1), (9, 2), (1, 3)].into_iter().for_each(|(e, sb)| list.push(SuperblockId::new(sb), e));
            assert_eq!(list.most_worn(), Some(9));
            assert_eq!(list.pop_most_worn(), Some(SuperblockId::new(2)));
            list.push(SuperblockId::new(4), 0);
            assert_eq!(list.least_worn(), Some(0));
            assert_eq!(list.pop_least_worn(), Some(SuperblockId::new(4)));
            list.push(SuperblockId::new(5), 2);
            assert!(list.take(SuperblockId::new(5)) && !list.take(SuperblockId::new(5)));
            let first = list.first().map(|(_, superblock)| superblock);
            let order: Vec<_> = std::iter::from_fn(|| list.pop()).collect();
            assert_eq!(first, order.first().copied());
            order.into_iter().map(SuperblockId::get).collect::<Vec<_>>()
        });
        assert_eq!(orders, [vec![1, 3, 0], vec![0, 1, 3]]);
    }
}
