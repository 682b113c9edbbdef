//! A pool: the superblocks of one group of planes of a die, or of a group of dies, which are written as logs.

use std::ops::{Index, IndexMut};

use base::units::{DieId, Psn, SuperblockId};
use flash::nand::{Geometry, Mode, Stream};

use super::collection::Collection;
use super::reserve::reserved;
use super::write_queue::WriteQueue;
use crate::page::streams::StreamCount;
use crate::toolkit::{FreeList, Gates};

/// A superblock to which a stream writes.
#[derive(Clone, Copy, Debug)]
pub(in crate::page) struct Open {
    pub(in crate::page) superblock: SuperblockId,
    /// Offset of the next program.
    pub(in crate::page) next: u32,
    pub(in crate::page) mode: Mode,
}

/// The open superblocks of a pool, one for each stream.
#[derive(Clone, Debug)]
pub(in crate::page) struct OpenSuperblocks {
    host: Option<Open>,
    copies: Option<Open>,
    /// Open superblocks of the other streams: of host data, then of copies. Nearly always without elements.
    others: Box<[Option<Open>]>,
    count: StreamCount,
}

impl OpenSuperblocks {
    fn new(count: StreamCount) -> Self {
        Self { host: None, copies: None, others: vec![None; count.open() as usize - 2].into(), count }
    }

    pub(in crate::page) fn each(&self) -> impl Iterator<Item = &Option<Open>> {
        [&self.host, &self.copies].into_iter().chain(&self.others)
    }

    #[inline]
    pub(in crate::page) fn each_mut(&mut self) -> impl Iterator<Item = &mut Option<Open>> {
        [&mut self.host, &mut self.copies].into_iter().chain(&mut self.others)
    }

    /// The index in `others` of a stream with a number above zero.
    const fn place(&self, stream: Stream) -> usize {
        let first = if stream.is_host() { 0 } else { self.count.host as usize - 1 };
        first + stream.number() as usize - 1
    }
}

impl Index<Stream> for OpenSuperblocks {
    type Output = Option<Open>;

    #[inline]
    fn index(&self, stream: Stream) -> &Option<Open> {
        match stream {
            Stream::HOST => &self.host,
            Stream::COPIES => &self.copies,
            other => &self.others[self.place(other)],
        }
    }
}

impl IndexMut<Stream> for OpenSuperblocks {
    #[inline]
    fn index_mut(&mut self, stream: Stream) -> &mut Option<Open> {
        match stream {
            Stream::HOST => &mut self.host,
            Stream::COPIES => &mut self.copies,
            other => {
                let place = self.place(other);
                &mut self.others[place]
            }
        }
    }
}

/// The kind of pages in a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::page) enum Holds {
    Data,
    Pages,
}

/// One value for the data pools and one for the pools of translation pages.
#[derive(Clone, Debug)]
pub(in crate::page) struct ByContent<T> {
    pub(in crate::page) data: T,
    pub(in crate::page) pages: T,
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

/// A pool of superblocks, with its writes and its collection.
#[derive(Clone, Debug)]
pub(in crate::page) struct Pool {
    /// The die of the pool, or the first die of its group.
    pub(in crate::page) die: DieId,
    pub(in crate::page) free: FreeList,
    pub(in crate::page) open: OpenSuperblocks,
    /// The latest program of each member of a superblock that had to wait for a read.
    pub(in crate::page) gates: Gates<SuperblockId>,
    /// The number of superblocks of the pool that are not bad.
    pub(in crate::page) usable: u32,
    /// Slots that the usable superblocks lack because members are missing.
    pub(in crate::page) missing_slots: u32,
    /// The number of usable superblocks that the pool should have: a pool of translation pages takes them from the data
    /// pool beside it.
    pub(in crate::page) quota: u32,
    /// The number of slots that the pool's translation pages need.
    pub(in crate::page) needed: u32,
    pub(in crate::page) reserve: Reserve,
    /// Mapping units that are valid in the pool, or promised to the pool.
    pub(in crate::page) live: u32,
    /// The part of `live` that is promised and not yet entered.
    pub(in crate::page) in_flight: u32,
    pub(in crate::page) gc: Collection,
    pub(in crate::page) queue: WriteQueue,
    /// Lists of parity in progress.
    pub(in crate::page) parities: u32,
    /// True if garbage collection can free nothing more in the pool.
    pub(in crate::page) stuck: bool,
    /// The stream of copies; of several such streams the last, which takes copies of any class.
    pub(in crate::page) copies: Stream,
}

impl Pool {
    pub(in crate::page) fn new(
        geometry: &Geometry,
        die: DieId,
        wear_levelled: bool,
        quota: u32,
        reserve: Reserve,
    ) -> Self {
        let count = reserve.streams;
        let sorted = vec![Vec::new(); usize::from(count.copies) - 1].into();
        Self {
            die,
            free: FreeList::new(wear_levelled, geometry.blocks),
            open: OpenSuperblocks::new(count),
            gates: Gates::default(),
            usable: 0,
            missing_slots: 0,
            quota,
            needed: 0,
            reserve,
            live: 0,
            in_flight: 0,
            gc: Collection { sorted, ..Collection::default() },
            queue: WriteQueue::new(count),
            parities: 0,
            stuck: false,
            copies: if reserve.shared_log { Stream::HOST } else { Stream::copies(count.copies - 1) },
        }
    }

    pub(in crate::page) fn memory(geometry: &Geometry, streams: StreamCount) -> u64 {
        let open = u64::from(streams.open() - 2) * size_of::<Option<Open>>() as u64;
        let sorted = u64::from(streams.copies - 1) * size_of::<Vec<Psn>>() as u64;
        size_of::<Self>() as u64
            + FreeList::memory(u64::from(geometry.blocks))
            + WriteQueue::memory(streams)
            + open
            + sorted
    }

    /// Free superblocks that the host leaves to copies, beside the superblock that is always kept: [one for each of
    /// their streams](Self::kept_for_streams), and [one more](Self::kept_for_moves) if a move may take more slots than
    /// the erase gives back.
    #[inline]
    pub(in crate::page) fn kept_for_copies(&self) -> u32 {
        self.kept_for_streams() + self.kept_for_moves()
    }

    /// One if a move may take more slots than the erase after it gives back, otherwise zero. That is so in two cases:
    /// some superblocks of the pool lack a member and others do not, so that a victim may hold more than a free
    /// superblock takes; or superblocks are set aside for the SLC cache.
    #[inline]
    pub(in crate::page) const fn kept_for_moves(&self) -> u32 {
        let is_mixed = self.missing_slots > 0 && self.missing_slots < self.usable * self.reserve.member_slots;
        (is_mixed || self.reserve.sets_aside) as u32
    }

    /// The number of streams of copies without an open superblock: the host leaves each of them a free one, so that
    /// their copies need not join the last stream. The reserve has a superblock for each.
    #[inline]
    pub(in crate::page) fn kept_for_streams(&self) -> u32 {
        if self.gc.sorted.is_empty() || self.gc.waives {
            return 0;
        }
        let others = (0..self.copies.number()).map(Stream::copies);
        others.filter(|stream| self.open[*stream].is_none()).count() as u32
    }

    /// The slots that have been picked for a stream of copies.
    #[inline]
    pub(in crate::page) fn gathered_for(&mut self, stream: Stream) -> &mut Vec<Psn> {
        if stream == self.copies {
            return &mut self.gc.gathered;
        }
        &mut self.gc.sorted[usize::from(stream.number())]
    }

    /// True if a copy, an erase or parity is in progress, or a copy waits for the map unit.
    pub(in crate::page) const fn is_moving(&self) -> bool {
        self.gc.copies > 0 || self.gc.asked > 0 || self.gc.erases > 0 || self.parities > 0
    }

    /// True if a program of the host or of parity is in progress, or a write waits.
    pub(in crate::page) const fn is_programming(&self) -> bool {
        self.in_flight > 0 || self.parities > 0
    }

    pub(in crate::page) fn open(&mut self, stream: Stream) -> &mut Option<Open> {
        &mut self.open[stream]
    }

    /// True if the pool may take another mapping unit without exceeding its limit.
    pub(in crate::page) fn has_room(&self, superblock_slots: u32) -> bool {
        self.limit(superblock_slots) > self.live
    }

    /// The most mapping units that may be live in the pool while garbage collection still has room.
    #[inline]
    pub(in crate::page) fn limit(&self, superblock_slots: u32) -> u32 {
        if self.stuck { 0 } else { self.limit_of(self.usable, superblock_slots) }
    }

    /// The most mapping units that may be live in a pool with `usable` usable superblocks.
    #[inline]
    pub(in crate::page) fn limit_of(&self, usable: u32, superblock_slots: u32) -> u32 {
        if self.missing_slots == 0 && !self.reserve.sets_aside {
            self.reserve.limit(usable, superblock_slots)
        } else {
            self.limit_without_members(usable, superblock_slots)
        }
    }

    #[inline(never)]
    fn limit_without_members(&self, usable: u32, superblock_slots: u32) -> u32 {
        let whole = self.reserve.limit(usable.saturating_sub(self.kept_for_moves()), superblock_slots);
        // The reserve consists of whole superblocks as far as there are enough of them; only the rest of the reserve
        // lacks a member.
        let lacking = self.missing_slots / self.reserve.member_slots;
        let kept = reserved(self.reserve.shared_log, self.reserve.streams) + self.kept_for_moves();
        let of_reserve = kept.saturating_sub(usable.saturating_sub(lacking)) * self.reserve.member_slots;
        (whole + of_reserve).saturating_sub(self.missing_slots)
    }

    /// True if a pool of translation pages has fewer superblocks than it should have, or too little room because members are missing.
    #[inline]
    pub(in crate::page) fn lacks(&self, superblock_slots: u32) -> bool {
        let is_short = || self.limit_of(self.usable, superblock_slots) < self.needed;
        self.usable < self.quota || (self.missing_slots > 0 && is_short())
    }
}

/// The superblocks of a pool that hold no live mapping units, so that garbage collection never runs dry.
#[derive(Clone, Copy, Debug)]
pub(in crate::page) struct Reserve {
    /// The slots of a member: a superblock lacks them if a member is missing.
    pub(in crate::page) member_slots: u32,
    pub(in crate::page) streams: StreamCount,
    pub(in crate::page) shared_log: bool,
    pub(in crate::page) holds: Holds,
    /// True if superblocks are set aside for the SLC cache.
    pub(in crate::page) sets_aside: bool,
}

impl Reserve {
    /// The most mapping units that may be live in a pool with `usable` superblocks of `slots` slots. With a shared log
    /// half a superblock of garbage is enough for translation pages, because collection leaves that much room in the
    /// superblock to which it copies, and stores go there.
    pub(in crate::page) fn limit(self, usable: u32, slots: u32) -> u32 {
        let half = self.shared_log && self.holds == Holds::Pages && usable > 1;
        usable.saturating_sub(reserved(self.shared_log, self.streams)) * slots + if half { slots / 2 } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_with_a_shared_log_keeps_a_superblock_less() {
        let streams = StreamCount::ONE;
        let limit = |shared_log, holds, usable| {
            Reserve { member_slots: 8, streams, shared_log, holds, sets_aside: false }.limit(usable, 8)
        };
        assert_eq!([2, 3, 4].map(|usable| limit(false, Holds::Data, usable)), [0, 0, 8]);
        assert_eq!([2, 3, 4].map(|usable| limit(false, Holds::Pages, usable)), [0, 0, 8]);
        assert_eq!([2, 3, 4].map(|usable| limit(true, Holds::Data, usable)), [0, 8, 16]);
        assert_eq!([1, 2, 4].map(|usable| limit(true, Holds::Pages, usable)), [0, 4, 20]);
    }

    #[test]
    fn a_pool_counts_the_slots_that_its_superblocks_lack() {
        let geometry = Geometry::new(1, 1, 1, 1, 1, 40, 24, 1, 8).expect("small");
        let reserve = Reserve {
            member_slots: 8,
            streams: StreamCount::ONE,
            shared_log: false,
            holds: Holds::Data,
            sets_aside: false,
        };
        let limit = |lacking: u32| {
            let pool = Pool::new(&geometry, DieId::new(0), true, 0, reserve);
            Pool { usable: 10, missing_slots: 8 * lacking, ..pool }.limit(24)
        };
        assert_eq!(limit(0), 7 * 24, "the reserve is three superblocks");
        assert_eq!(limit(1), 6 * 24 - 8, "and four if a victim may hold more than a free superblock takes");
        assert_eq!(limit(8), 10 * 24 - 8 * 8 - 2 * 24 - 2 * 16, "two of the four in reserve lack a member");
        assert_eq!(limit(10), 7 * 16, "all superblocks are alike again");
    }

    #[test]
    fn a_pool_keeps_a_superblock_for_each_stream_and_one_to_copy_into() {
        let streams = StreamCount { host: 3, copies: 2 };
        let reserve = Reserve { member_slots: 8, streams, shared_log: false, holds: Holds::Data, sets_aside: false };
        assert_eq!([6, 7, 9].map(|usable| reserve.limit(usable, 8)), [0, 8, 24]);
    }

    #[test]
    fn each_stream_has_an_open_superblock_a_list_and_a_program_of_its_own() {
        let geometry = Geometry::new(1, 1, 1, 1, 1, 40, 4, 1, 8).expect("small");
        let streams = StreamCount { host: 3, copies: 2 };
        let reserve = Reserve { member_slots: 4, streams, shared_log: false, holds: Holds::Data, sets_aside: false };
        let mut pool = Pool::new(&geometry, DieId::new(0), true, 0, reserve);
        let all = (0..3).map(Stream::host).chain((0..2).map(Stream::copies));
        for (i, stream) in all.clone().enumerate() {
            *pool.open(stream) = Some(Open { superblock: SuperblockId::new(i as u32), next: 0, mode: Mode::Full });
        }
        for (i, stream) in all.enumerate() {
            assert_eq!(pool.open[stream].map(|open| open.superblock.index()), Some(i));
        }
        assert_eq!(pool.open.each().flatten().count(), 5);
        pool.queue.open.held = true;
        pool.queue.turn_to(Stream::host(2));
        assert!(!pool.queue.open.held && pool.queue.each_list().filter(|of| of.held).count() == 1);
        pool.queue.turn_to(Stream::HOST);
        assert!(pool.queue.open.held);
        assert_eq!(pool.copies, Stream::copies(1));
    }
}
