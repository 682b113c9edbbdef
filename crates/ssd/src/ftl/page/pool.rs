//! A pool: the superblocks of one die (or of one group of its planes), written as logs.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use base::engine::Handle;
use base::units::{DieId, Psn, SuperblockId};
use flash::backend::{Command, List};
use flash::nand::{Geometry, Stream};

use crate::ftl::Unit;

/// Free superblocks: the least worn first under dynamic wear levelling, else in the order they came.
#[derive(Clone, Debug)]
pub(super) enum FreeList {
    ByWear(BinaryHeap<Reverse<(u32, SuperblockId)>>),
    Fifo(VecDeque<(u32, SuperblockId)>),
}

impl FreeList {
    pub(super) fn len(&self) -> u32 {
        (match self {
            Self::ByWear(heap) => heap.len(),
            Self::Fifo(queue) => queue.len(),
        }) as u32
    }

    pub(super) fn push(&mut self, superblock: SuperblockId, erases: u32) {
        match self {
            Self::ByWear(heap) => heap.push(Reverse((erases, superblock))),
            Self::Fifo(queue) => queue.push_back((erases, superblock)),
        }
    }

    /// All of them, each with how often it has been erased.
    pub(super) fn entries(&self) -> Vec<(u32, SuperblockId)> {
        match self {
            Self::ByWear(heap) => heap.iter().map(|Reverse(entry)| *entry).collect(),
            Self::Fifo(queue) => queue.iter().copied().collect(),
        }
    }

    pub(super) fn pop(&mut self) -> Option<SuperblockId> {
        self.pop_with_wear().map(|(superblock, _)| superblock)
    }

    /// Also tells how often it has been erased.
    pub(super) fn pop_with_wear(&mut self) -> Option<(SuperblockId, u32)> {
        match self {
            Self::ByWear(heap) => heap.pop().map(|Reverse((erases, superblock))| (superblock, erases)),
            Self::Fifo(queue) => queue.pop_front().map(|(erases, superblock)| (superblock, erases)),
        }
    }

    /// The erase count of the most worn.
    pub(super) fn most_worn(&self) -> Option<u32> {
        match self {
            Self::ByWear(heap) => heap.iter().map(|Reverse((erases, _))| *erases).max(),
            Self::Fifo(queue) => queue.iter().map(|(erases, _)| *erases).max(),
        }
    }

    /// The erase count of the least worn.
    pub(super) fn least_worn(&self) -> Option<u32> {
        match self {
            Self::ByWear(heap) => heap.peek().map(|Reverse((erases, _))| *erases),
            Self::Fifo(queue) => queue.iter().map(|(erases, _)| *erases).min(),
        }
    }

    /// Takes the most worn: cold data will rest there.
    pub(super) fn pop_most_worn(&mut self) -> Option<SuperblockId> {
        let chosen = match self {
            Self::ByWear(heap) => heap.iter().map(|Reverse(entry)| *entry).max(),
            Self::Fifo(queue) => queue.iter().copied().max(),
        }?;
        self.remove(chosen)
    }

    /// Takes the least worn.
    pub(super) fn pop_least_worn(&mut self) -> Option<SuperblockId> {
        let chosen = match self {
            Self::ByWear(heap) => heap.peek().map(|Reverse(entry)| *entry),
            Self::Fifo(queue) => queue.iter().copied().min(),
        }?;
        self.remove(chosen)
    }

    fn remove(&mut self, chosen: (u32, SuperblockId)) -> Option<SuperblockId> {
        match self {
            Self::ByWear(heap) => heap.retain(|Reverse(entry)| *entry != chosen),
            Self::Fifo(queue) => queue.retain(|entry| *entry != chosen),
        }
        Some(chosen.1)
    }
}

/// The superblock that a stream writes to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Open {
    pub(super) superblock: SuperblockId,
    /// Offset of the next program.
    pub(super) next: u32,
    /// The latest program that had to wait for something. Programs of a superblock go in order, so those
    /// behind it wait for it.
    pub(super) gate: Option<Handle<Command>>,
}

/// A superblock whose valid units are being moved.
#[derive(Clone, Copy, Debug)]
pub(super) struct Victim {
    pub(super) superblock: SuperblockId,
    /// Slots before this offset have been looked at.
    pub(super) cursor: u32,
    pub(super) cause: flash::backend::Cause,
}

/// Garbage collection of one pool.
#[derive(Clone, Debug, Default)]
pub(super) struct Collection {
    /// Collecting until there are enough free superblocks.
    pub(super) active: bool,
    pub(super) victims: Vec<Victim>,
    /// Valid slots that have been picked but do not fill a program yet.
    pub(super) gathered: Vec<Psn>,
    pub(super) copies: u32,
    /// Units that have been copied and that the map unit has not answered for.
    pub(super) asked: u32,
    pub(super) erases: u32,
    /// Failing superblocks that wait to be emptied.
    pub(super) failing: Vec<SuperblockId>,
    /// The next superblock for copies is the most worn free one.
    pub(super) want_worn: bool,
    pub(super) since_check: u32,
}

/// One pool.
#[derive(Clone, Debug)]
pub(super) struct Pool {
    pub(super) die: DieId,
    pub(super) free: FreeList,
    pub(super) open: [Option<Open>; 2],
    /// Superblocks that are not bad.
    pub(super) usable: u32,
    /// Superblocks that it should have: a pool of translation pages gets them from that of data beside it.
    pub(super) quota: u32,
    /// Units that are valid here or promised to be.
    pub(super) live: u32,
    /// Of those, the promised ones.
    pub(super) in_flight: u32,
    pub(super) gc: Collection,
    /// Host units that wait for a free superblock.
    pub(super) waiting: VecDeque<Unit>,
    /// Nothing here can be freed any more.
    pub(super) stuck: bool,
    /// The NVM set of whom the latest unit came from.
    pub(super) set: u32,
    /// The list that the request under way has open here, and the program in it that takes more.
    pub(super) list: Option<Handle<List>>,
    pub(super) program: Option<Assembly>,
}

/// A program that is being put together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Assembly {
    pub(super) command: Handle<Command>,
    /// Offset of its first slot and the end of what it may cover.
    pub(super) start: u32,
    pub(super) end: u32,
}

impl Pool {
    pub(super) fn new(geometry: &Geometry, index: u32, wear_levelled: bool, quota: u32) -> Self {
        let blocks = geometry.blocks as usize;
        Self {
            die: DieId::new(index % (geometry.die_count() * geometry.groups()) / geometry.groups()),
            free: match wear_levelled {
                true => FreeList::ByWear(BinaryHeap::with_capacity(blocks)),
                false => FreeList::Fifo(VecDeque::with_capacity(blocks)),
            },
            open: [None; 2],
            usable: 0,
            quota,
            live: 0,
            in_flight: 0,
            gc: Collection::default(),
            waiting: VecDeque::new(),
            stuck: false,
            set: 0,
            list: None,
            program: None,
        }
    }

    /// Bytes of a pool.
    pub(super) fn memory(geometry: &Geometry, wear_levelled: bool) -> u64 {
        let free =
            if wear_levelled { size_of::<Reverse<(u32, SuperblockId)>>() } else { size_of::<(u32, SuperblockId)>() };
        size_of::<Self>() as u64 + u64::from(geometry.blocks) * free as u64
    }

    /// True if a copy or an erase is under way or waits for the map unit.
    pub(super) const fn is_moving(&self) -> bool {
        self.gc.copies > 0 || self.gc.asked > 0 || self.gc.erases > 0
    }

    pub(super) fn open(&mut self, stream: Stream) -> &mut Option<Open> {
        &mut self.open[stream as usize]
    }

    /// Units that may live here without garbage collection running out of room.
    pub(super) fn limit(&self, superblock_slots: u32) -> u32 {
        if self.stuck { 0 } else { self.usable.saturating_sub(super::RESERVED) * superblock_slots }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_superblocks_come_by_wear_or_in_order() {
        let lists = [FreeList::ByWear(BinaryHeap::new()), FreeList::Fifo(VecDeque::new())];
        let orders = lists.map(|mut list| {
            [(5, 0), (1, 1), (9, 2), (1, 3)].into_iter().for_each(|(e, sb)| list.push(SuperblockId::new(sb), e));
            assert_eq!(list.most_worn(), Some(9));
            assert_eq!(list.pop_most_worn(), Some(SuperblockId::new(2)));
            list.push(SuperblockId::new(4), 0);
            assert_eq!(list.least_worn(), Some(0));
            assert_eq!(list.pop_least_worn(), Some(SuperblockId::new(4)));
            std::iter::from_fn(|| list.pop()).map(SuperblockId::get).collect::<Vec<_>>()
        });
        assert_eq!(orders, [vec![1, 3, 0], vec![0, 1, 3]]);
    }
}
