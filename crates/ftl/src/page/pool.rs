//! A pool: the superblocks of one die (or of one group of its planes), written as logs.

use std::collections::VecDeque;
use std::ops::{Index, IndexMut};

use base::engine::Handle;
use base::units::{DieId, Psn, SuperblockId};
use flash::backend::{Command, List};
use flash::nand::{Geometry, Stream};

use super::reserve::reserved;
use crate::port::PageWrite;
use crate::toolkit::FreeList;

/// The superblock that a stream writes to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Open {
    pub(super) superblock: SuperblockId,
    /// Offset of the next program.
    pub(super) next: u32,
    /// The latest program that had to wait for a read. Programs of a superblock run in order, so later ones wait for
    /// it.
    pub(super) gate: Option<Handle<Command>>,
}

/// The open superblocks of a pool, one for each stream.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OpenSuperblocks {
    host: Option<Open>,
    copies: Option<Open>,
}

impl OpenSuperblocks {
    pub(super) const fn each(&self) -> [Option<Open>; 2] {
        [self.host, self.copies]
    }

    pub(super) fn each_mut(&mut self) -> [&mut Option<Open>; 2] {
        [&mut self.host, &mut self.copies]
    }
}

impl Index<Stream> for OpenSuperblocks {
    type Output = Option<Open>;

    #[inline]
    fn index(&self, stream: Stream) -> &Option<Open> {
        if stream.is_host() { &self.host } else { &self.copies }
    }
}

impl IndexMut<Stream> for OpenSuperblocks {
    #[inline]
    fn index_mut(&mut self, stream: Stream) -> &mut Option<Open> {
        if stream.is_host() { &mut self.host } else { &mut self.copies }
    }
}

/// The content of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holds {
    /// Data of the host.
    Data,
    /// Translation pages.
    Pages,
}

/// One value for the data pools and one for the pools of translation pages.
#[derive(Clone, Debug)]
pub(super) struct ByContent<T> {
    pub(super) data: T,
    pub(super) pages: T,
}

impl<T> Index<Holds> for ByContent<T> {
    type Output = T;

    #[inline]
    fn index(&self, kind: Holds) -> &T {
        match kind {
            Holds::Data => &self.data,
            Holds::Pages => &self.pages,
        }
    }
}

impl<T> IndexMut<Holds> for ByContent<T> {
    #[inline]
    fn index_mut(&mut self, kind: Holds) -> &mut T {
        match kind {
            Holds::Data => &mut self.data,
            Holds::Pages => &mut self.pages,
        }
    }
}

/// A superblock whose valid mapping units are being moved.
#[derive(Clone, Copy, Debug)]
pub(super) struct Victim {
    pub(super) superblock: SuperblockId,
    /// Its valid mapping units when it was chosen.
    pub(super) valid: u32,
    /// Slots before this offset have been scanned.
    pub(super) cursor: u32,
    pub(super) cause: flash::backend::Cause,
}

/// Garbage collection of one pool.
#[derive(Clone, Debug, Default)]
pub(super) struct Collection {
    /// True while collection runs, until there are enough free superblocks.
    pub(super) active: bool,
    pub(super) victims: Vec<Victim>,
    /// Valid slots that have been picked but do not fill a program yet.
    pub(super) gathered: Vec<Psn>,
    /// A slot of a victim has become invalid since collection looked last.
    pub(super) is_stale: bool,
    pub(super) copies: u32,
    /// Copied mapping units that the map unit has not answered for.
    pub(super) asked: u32,
    pub(super) erases: u32,
    /// Failing superblocks to be emptied.
    pub(super) failing: Vec<SuperblockId>,
    /// True if the next superblock for copies is the most worn free one.
    pub(super) want_worn: bool,
    pub(super) since_check: u32,
    /// The count of programmed mapping units of the host at the latest check of static wear levelling, and the moves since.
    pub(super) levelled_at: u32,
    pub(super) moves: u32,
}

#[derive(Clone, Debug)]
pub(super) struct Pool {
    pub(super) die: DieId,
    pub(super) free: FreeList,
    pub(super) open: OpenSuperblocks,
    /// Superblocks that are not bad.
    pub(super) usable: u32,
    /// The usable superblocks that it should have: a pool of translation pages takes them from the data pool beside it.
    pub(super) quota: u32,
    pub(super) reserve: Reserve,
    /// Mapping units that are valid here or promised to the pool.
    pub(super) live: u32,
    /// Those of `live` that are promised.
    pub(super) in_flight: u32,
    pub(super) gc: Collection,
    /// Writes that wait for a free superblock.
    pub(super) waiting: VecDeque<PageWrite>,
    /// True if garbage collection can free nothing more here.
    pub(super) stuck: bool,
    /// The NVM set of the latest write.
    pub(super) set: u32,
    /// The open list of the present request in this pool, and its program under assembly.
    pub(super) list: Option<Handle<List>>,
    pub(super) program: Option<Assembly>,
    /// True if they wait for the data of later requests.
    pub(super) held: bool,
    /// Lists of writes in progress.
    pub(super) writes: u32,
}

/// A program under assembly.
#[derive(Clone, Copy, Debug)]
pub(super) struct Assembly {
    pub(super) command: Handle<Command>,
    /// Offset of its first slot, and the end of the slots that it may cover. Further rows of its word line may follow.
    pub(super) start: u32,
    pub(super) end: u32,
}

impl Pool {
    pub(super) fn new(geometry: &Geometry, index: u32, wear_levelled: bool, quota: u32, reserve: Reserve) -> Self {
        Self {
            die: DieId::new(index % (geometry.die_count() * geometry.groups()) / geometry.groups()),
            free: FreeList::new(wear_levelled, geometry.blocks),
            open: OpenSuperblocks::default(),
            usable: 0,
            quota,
            reserve,
            live: 0,
            in_flight: 0,
            gc: Collection::default(),
            waiting: VecDeque::new(),
            stuck: false,
            set: 0,
            list: None,
            program: None,
            held: false,
            writes: 0,
        }
    }

    pub(super) const fn memory(geometry: &Geometry) -> u64 {
        size_of::<Self>() as u64 + FreeList::memory(geometry.blocks as u64)
    }

    /// True if a copy or an erase is in progress or waits for the map unit.
    pub(super) const fn is_moving(&self) -> bool {
        self.gc.copies > 0 || self.gc.asked > 0 || self.gc.erases > 0
    }

    pub(super) fn open(&mut self, stream: Stream) -> &mut Option<Open> {
        &mut self.open[stream]
    }

    /// True if another mapping unit may live here.
    pub(super) fn has_room(&self, superblock_slots: u32) -> bool {
        self.limit(superblock_slots) > self.live
    }

    /// The most mapping units that may live here while garbage collection still has room.
    pub(super) fn limit(&self, superblock_slots: u32) -> u32 {
        if self.stuck { 0 } else { self.reserve.limit(self.usable, superblock_slots) }
    }
}

/// The superblocks of a pool that hold no live mapping units, so that garbage collection never runs dry.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reserve {
    pub(super) shared_log: bool,
    pub(super) holds: Holds,
}

impl Reserve {
    /// With a shared log half a superblock of garbage is enough for translation pages, because collection leaves that
    /// much room in the superblock to which it copies, and stores go there.
    pub(super) fn limit(self, usable: u32, slots: u32) -> u32 {
        let half = self.shared_log && self.holds == Holds::Pages && usable > 1;
        usable.saturating_sub(reserved(self.shared_log)) * slots + if half { slots / 2 } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_with_a_shared_log_keeps_a_superblock_less() {
        let limit = |shared_log, holds, usable| Reserve { shared_log, holds }.limit(usable, 8);
        assert_eq!([2, 3, 4].map(|usable| limit(false, Holds::Data, usable)), [0, 0, 8]);
        assert_eq!([2, 3, 4].map(|usable| limit(false, Holds::Pages, usable)), [0, 0, 8]);
        assert_eq!([2, 3, 4].map(|usable| limit(true, Holds::Data, usable)), [0, 8, 16]);
        assert_eq!([1, 2, 4].map(|usable| limit(true, Holds::Pages, usable)), [0, 4, 20]);
    }
}
