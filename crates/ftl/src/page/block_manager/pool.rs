//! A pool: the superblocks of one die (or of one group of its planes), written as logs.

use std::collections::VecDeque;
use std::ops::{Index, IndexMut};

use base::engine::Handle;
use base::units::{DieId, Psn, SuperblockId};
use flash::backend::{Command, List};
use flash::nand::{Geometry, Stream};

use super::reserve::reserved;
use crate::page::streams::StreamCount;
use crate::port::PageWrite;
use crate::toolkit::FreeList;

/// The superblock that a stream writes to.
#[derive(Clone, Copy, Debug)]
pub(in crate::page) struct Open {
    pub(in crate::page) superblock: SuperblockId,
    /// Offset of the next program.
    pub(in crate::page) next: u32,
    /// The latest program that had to wait for a read. Programs of a superblock run in order, so later ones wait for
    /// it.
    pub(in crate::page) gate: Option<Handle<Command>>,
}

/// The open superblocks of a pool, one for each stream.
#[derive(Clone, Debug)]
pub(in crate::page) struct OpenSuperblocks {
    host: Option<Open>,
    copies: Option<Open>,
    /// Open superblocks of the other streams: of host data, then of copies. Nearly always empty.
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

    /// The place of a stream with a number above zero among the others.
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

/// The content of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::page) enum Holds {
    /// Data of the host.
    Data,
    /// Translation pages.
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

/// A superblock whose valid mapping units are being moved.
#[derive(Clone, Copy, Debug)]
pub(in crate::page) struct Victim {
    pub(in crate::page) superblock: SuperblockId,
    /// Its valid mapping units when it was chosen.
    pub(in crate::page) valid: u32,
    /// Slots before this offset have been scanned.
    pub(in crate::page) cursor: u32,
    pub(in crate::page) cause: flash::backend::Cause,
}

/// Garbage collection of one pool.
#[derive(Clone, Debug, Default)]
pub(in crate::page) struct Collection {
    /// True while collection runs, until there are enough free superblocks.
    pub(in crate::page) active: bool,
    pub(in crate::page) victims: Vec<Victim>,
    /// Valid slots that have been picked but do not fill a program yet. With several streams of copies, those of the last.
    pub(in crate::page) gathered: Vec<Psn>,
    /// Valid slots that have been picked for the other streams of copies.
    pub(in crate::page) sorted: Box<[Vec<Psn>]>,
    /// True if the host may take all free superblocks but one: nothing else can go on.
    pub(in crate::page) waives: bool,
    /// A slot of a victim has become invalid since collection looked last.
    pub(in crate::page) is_stale: bool,
    pub(in crate::page) copies: u32,
    /// Copied mapping units that the map unit has not answered for.
    pub(in crate::page) asked: u32,
    pub(in crate::page) erases: u32,
    /// Failing superblocks to be emptied.
    pub(in crate::page) failing: Vec<SuperblockId>,
    /// True if the next superblock for copies is the most worn free one.
    pub(in crate::page) want_worn: bool,
    pub(in crate::page) since_check: u32,
    /// The count of programmed mapping units of the host at the latest check of static wear levelling, and the moves since.
    pub(in crate::page) levelled_at: u32,
    pub(in crate::page) moves: u32,
}

impl Collection {
    /// True if a slot has been picked that no copy is under way for.
    #[inline]
    pub(in crate::page) fn has_gathered(&self) -> bool {
        !self.gathered.is_empty() || self.sorted.iter().any(|gathered| !gathered.is_empty())
    }
}

#[derive(Clone, Debug)]
pub(in crate::page) struct Pool {
    pub(in crate::page) die: DieId,
    pub(in crate::page) free: FreeList,
    pub(in crate::page) open: OpenSuperblocks,
    /// Superblocks that are not bad.
    pub(in crate::page) usable: u32,
    /// The usable superblocks that it should have: a pool of translation pages takes them from the data pool beside it.
    pub(in crate::page) quota: u32,
    pub(in crate::page) reserve: Reserve,
    /// Mapping units that are valid here or promised to the pool.
    pub(in crate::page) live: u32,
    /// Those of `live` that are promised.
    pub(in crate::page) in_flight: u32,
    pub(in crate::page) gc: Collection,
    /// Writes that wait for a free superblock.
    pub(in crate::page) waiting: VecDeque<PageWrite>,
    /// True if garbage collection can free nothing more here.
    pub(in crate::page) stuck: bool,
    /// The NVM set of the latest write.
    pub(in crate::page) set: u32,
    /// The stream of the writes that the pool takes now, of which `list`, `program` and `held` are.
    pub(in crate::page) stream: Stream,
    /// The open list of the present request in this pool, and its program under assembly.
    pub(in crate::page) list: Option<Handle<List>>,
    pub(in crate::page) program: Option<Assembly>,
    /// True if they wait for the data of later requests.
    pub(in crate::page) held: bool,
    /// The count of ended lists when they began to wait.
    pub(in crate::page) held_at: u32,
    /// Lists and programs of the other streams of host data; empty if there is one stream.
    pub(in crate::page) parked: Box<[Parked]>,
    /// The stream of copies, or the last of several, which takes copies of any class.
    pub(in crate::page) copies: Stream,
    /// Lists of writes in progress.
    pub(in crate::page) writes: u32,
    /// Lists of writes that have ended, modulo 2^32; counted with several streams.
    pub(in crate::page) ended: u32,
}

/// A program under assembly.
#[derive(Clone, Copy, Debug)]
pub(in crate::page) struct Assembly {
    pub(in crate::page) command: Handle<Command>,
    /// Offset of its first slot, and the end of the slots that it may cover. Further rows of its word line may follow.
    pub(in crate::page) start: u32,
    pub(in crate::page) end: u32,
}

/// The list and the program under assembly of a stream that is not the pool's present one.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::page) struct Parked {
    pub(in crate::page) list: Option<Handle<List>>,
    pub(in crate::page) program: Option<Assembly>,
    pub(in crate::page) held: bool,
    held_at: u32,
}

impl Pool {
    pub(in crate::page) fn new(
        geometry: &Geometry,
        index: u32,
        wear_levelled: bool,
        quota: u32,
        reserve: Reserve,
    ) -> Self {
        let count = reserve.streams;
        let parked = if count.host > 1 { usize::from(count.host) } else { 0 };
        let sorted = vec![Vec::new(); usize::from(count.copies) - 1].into();
        Self {
            die: DieId::new(index % (geometry.die_count() * geometry.groups()) / geometry.groups()),
            free: FreeList::new(wear_levelled, geometry.blocks),
            open: OpenSuperblocks::new(count),
            usable: 0,
            quota,
            reserve,
            live: 0,
            in_flight: 0,
            gc: Collection { sorted, ..Collection::default() },
            waiting: VecDeque::new(),
            stuck: false,
            set: 0,
            stream: Stream::HOST,
            list: None,
            program: None,
            held: false,
            held_at: 0,
            parked: vec![Parked::default(); parked].into(),
            copies: if reserve.shared_log { Stream::HOST } else { Stream::copies(count.copies - 1) },
            writes: 0,
            ended: 0,
        }
    }

    pub(in crate::page) fn memory(geometry: &Geometry, streams: StreamCount) -> u64 {
        let parked = if streams.host > 1 { u64::from(streams.host) } else { 0 } * size_of::<Parked>() as u64;
        let open = u64::from(streams.open() - 2) * size_of::<Option<Open>>() as u64;
        let sorted = u64::from(streams.copies - 1) * size_of::<Vec<Psn>>() as u64;
        size_of::<Self>() as u64 + FreeList::memory(u64::from(geometry.blocks)) + parked + open + sorted
    }

    /// Makes a stream of host data the present one: the pool parks the list and the program of the stream before.
    #[inline]
    pub(in crate::page) fn turn_to(&mut self, stream: Stream) {
        if self.stream != stream {
            self.change_stream(stream);
        }
    }

    #[inline(never)]
    fn change_stream(&mut self, stream: Stream) {
        let Self { list, program, held, held_at, .. } = *self;
        self.parked[usize::from(self.stream.number())] = Parked { list, program, held, held_at };
        let parked = std::mem::take(&mut self.parked[usize::from(stream.number())]);
        Parked { list: self.list, program: self.program, held: self.held, held_at: self.held_at } = parked;
        self.stream = stream;
    }

    /// Free superblocks that the host leaves to streams of copies without an open one, so that their copies need not join
    /// the last stream. The reserve has one for each.
    #[inline]
    pub(in crate::page) fn kept_for_copies(&self) -> u32 {
        if self.gc.sorted.is_empty() || self.gc.waives {
            return 0;
        }
        let others = (0..self.copies.number()).map(Stream::copies);
        others.filter(|stream| self.open[*stream].is_none()).count() as u32
    }

    /// True if a program of a stream of host data is under assembly.
    pub(in crate::page) fn assembles(&self, stream: Stream) -> bool {
        let parked = || self.parked.get(usize::from(stream.number())).is_some_and(|parked| parked.program.is_some());
        let program = if stream == self.stream { self.program.is_some() } else { parked() };
        stream.is_host() && program
    }

    /// The slots that have been picked for a stream of copies.
    #[inline]
    pub(in crate::page) fn gathered_for(&mut self, stream: Stream) -> &mut Vec<Psn> {
        if stream == self.copies {
            return &mut self.gc.gathered;
        }
        &mut self.gc.sorted[usize::from(stream.number())]
    }

    /// The lists and programs under assembly of all streams, of the present one first.
    pub(in crate::page) fn each_list(&self) -> impl Iterator<Item = Parked> {
        let Self { list, program, held, held_at, .. } = *self;
        [Parked { list, program, held, held_at }].into_iter().chain(self.parked.iter().copied())
    }

    /// True if a copy or an erase is in progress or waits for the map unit.
    pub(in crate::page) const fn is_moving(&self) -> bool {
        self.gc.copies > 0 || self.gc.asked > 0 || self.gc.erases > 0
    }

    pub(in crate::page) fn open(&mut self, stream: Stream) -> &mut Option<Open> {
        &mut self.open[stream]
    }

    /// True if another mapping unit may live here.
    pub(in crate::page) fn has_room(&self, superblock_slots: u32) -> bool {
        self.limit(superblock_slots) > self.live
    }

    /// The most mapping units that may live here while garbage collection still has room.
    pub(in crate::page) fn limit(&self, superblock_slots: u32) -> u32 {
        if self.stuck { 0 } else { self.reserve.limit(self.usable, superblock_slots) }
    }
}

/// The superblocks of a pool that hold no live mapping units, so that garbage collection never runs dry.
#[derive(Clone, Copy, Debug)]
pub(in crate::page) struct Reserve {
    pub(in crate::page) streams: StreamCount,
    pub(in crate::page) shared_log: bool,
    pub(in crate::page) holds: Holds,
}

impl Reserve {
    /// With a shared log half a superblock of garbage is enough for translation pages, because collection leaves that
    /// much room in the superblock to which it copies, and stores go there.
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
        let limit = |shared_log, holds, usable| Reserve { streams, shared_log, holds }.limit(usable, 8);
        assert_eq!([2, 3, 4].map(|usable| limit(false, Holds::Data, usable)), [0, 0, 8]);
        assert_eq!([2, 3, 4].map(|usable| limit(false, Holds::Pages, usable)), [0, 0, 8]);
        assert_eq!([2, 3, 4].map(|usable| limit(true, Holds::Data, usable)), [0, 8, 16]);
        assert_eq!([1, 2, 4].map(|usable| limit(true, Holds::Pages, usable)), [0, 4, 20]);
    }

    #[test]
    fn a_pool_keeps_a_superblock_for_each_stream_and_one_to_copy_into() {
        let streams = StreamCount { host: 3, copies: 2 };
        let reserve = Reserve { streams, shared_log: false, holds: Holds::Data };
        assert_eq!([6, 7, 9].map(|usable| reserve.limit(usable, 8)), [0, 8, 24]);
    }

    #[test]
    fn each_stream_has_an_open_superblock_a_list_and_a_program_of_its_own() {
        let geometry = Geometry::new(1, 1, 1, 1, 1, 40, 4, 1, 8).expect("small");
        let streams = StreamCount { host: 3, copies: 2 };
        let mut pool = Pool::new(&geometry, 0, true, 0, Reserve { streams, shared_log: false, holds: Holds::Data });
        let all = (0..3).map(Stream::host).chain((0..2).map(Stream::copies));
        for (i, stream) in all.clone().enumerate() {
            *pool.open(stream) = Some(Open { superblock: SuperblockId::new(i as u32), next: 0, gate: None });
        }
        for (i, stream) in all.enumerate() {
            assert_eq!(pool.open[stream].map(|open| open.superblock.index()), Some(i));
        }
        assert_eq!(pool.open.each().flatten().count(), 5);
        pool.held = true;
        pool.turn_to(Stream::host(2));
        assert!(!pool.held && pool.each_list().filter(|of| of.held).count() == 1);
        pool.turn_to(Stream::HOST);
        assert!(pool.held);
        assert_eq!(pool.copies, Stream::copies(1));
    }
}
