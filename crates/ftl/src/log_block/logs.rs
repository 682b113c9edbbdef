//! Log blocks and the page map of their contents. Only these pages have an entry each.
//!
//! The newest log copies of a logical block's pages form a chain. A lookup takes as many steps as its logical block has
//! pages in the log, and a merge finds all of them without a search.

use base::steps;
use base::units::SuperblockId;

use super::address::Lbn;
pub(super) use super::order::LogId;
use super::order::Order;

/// The place of a page in the log: the log block's number times the pages of a block, plus the page.
pub(super) type LogPosition = u32;

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Takes the updates of one data block (BAST).
    Of(Lbn),
    /// Takes the sequential updates of one data block (FAST's SW log block).
    Sequential(Lbn),
    /// Takes updates of any data block (FAST's RW log block).
    Random,
}

impl Role {
    /// The data block whose updates the log block takes, if there is only one.
    pub(super) const fn block(self) -> Option<Lbn> {
        match self {
            Self::Of(lbn) | Self::Sequential(lbn) => Some(lbn),
            Self::Random => None,
        }
    }
}

/// The state of a log block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Log {
    pub(super) superblock: SuperblockId,
    pub(super) role: Role,
    /// The next page to program.
    pub(super) next: u32,
    /// Pages that hold the newest copy.
    pub(super) valid: u32,
    /// Programs under way.
    pub(super) programs: u32,
    /// True if the merge of the log block is queued, so that it takes no more pages.
    pub(super) closed: bool,
    /// True if each page so far is at its own offset.
    pub(super) in_order: bool,
}

#[derive(Clone, Copy, Debug)]
struct LogEntry {
    /// The page's offset in its logical block.
    offset: u32,
    lbn: Lbn,
    next: LogPosition,
}

/// All log blocks, and the map of their pages.
#[derive(Clone, Debug)]
pub(super) struct Logs {
    pages: u32,
    /// Open log blocks, at most.
    pub(super) limit: u32,
    /// Merges under way, at most.
    merges: u32,
    slots: Vec<Option<Log>>,
    free: Vec<LogId>,
    /// Log blocks whose merge is queued.
    closed: u32,
    /// The log blocks whose merge is not queued, in the order of their opening and of their last write.
    by_age: Order,
    by_use: Order,
    entries: Vec<LogEntry>,
    /// The first place in the chain of each logical block.
    head: Vec<LogPosition>,
    /// The log block of each logical block that has its own (BAST).
    own: Vec<LogId>,
    /// The log blocks for sequential and for random writes (FAST).
    pub(super) sequential: Option<LogId>,
    pub(super) random: Option<LogId>,
}

impl Logs {
    /// Bytes of the tables for `blocks` logical blocks and `logs` log blocks.
    pub(super) fn memory(blocks: u64, pages: u32, logs: u32, merges: u32) -> u64 {
        let log = size_of::<Option<Log>>() as u64 + u64::from(pages) * size_of::<LogEntry>() as u64;
        let log = log + 2 * Order::memory_of_log();
        blocks * size_of::<(LogPosition, LogId)>() as u64
            + (u64::from(logs) + u64::from(merges)).min(blocks.max(64)) * log
    }

    pub(super) fn new(blocks: u32, pages: u32, limit: u32, merges: u32) -> Self {
        Self {
            pages,
            limit,
            merges,
            slots: Vec::new(),
            free: Vec::new(),
            closed: 0,
            by_age: Order::new(),
            by_use: Order::new(),
            entries: Vec::new(),
            head: vec![NONE; blocks as usize],
            own: vec![NONE; blocks as usize],
            sequential: None,
            random: None,
        }
    }

    pub(super) fn log(&self, id: LogId) -> &Log {
        steps::count();
        self.slots[id as usize].as_ref().expect("a log block")
    }

    pub(super) fn log_mut(&mut self, id: LogId) -> &mut Log {
        steps::count();
        self.slots[id as usize].as_mut().expect("a log block")
    }

    /// The log blocks, by number.
    pub(super) fn iter(&self) -> impl Iterator<Item = (LogId, &Log)> {
        (0..).zip(&self.slots).inspect(|_| steps::count()).filter_map(|(id, log)| Some((id, log.as_ref()?)))
    }

    /// True if the queued merges will make room. A waiting write asks at every change, and must not queue several
    /// merges.
    pub(super) const fn room_is_coming(&self) -> bool {
        self.closed >= self.merges
    }

    /// The log blocks that take pages, from the oldest on.
    pub(super) fn by_age(&self) -> impl Iterator<Item = (LogId, &Log)> {
        self.by_age.iter().map(|id| (id, self.log(id)))
    }

    /// The log block that has waited longest for a write, of those that take pages.
    pub(super) fn least_recent(&self) -> Option<LogId> {
        self.by_use.iter().next()
    }

    pub(super) fn count(&self) -> u32 {
        (self.slots.len() - self.free.len()) as u32
    }

    /// The log block that belongs to a logical block.
    #[inline]
    pub(super) fn own(&self, lbn: Lbn) -> Option<LogId> {
        let id = self.own[lbn as usize];
        (id != NONE).then_some(id)
    }

    pub(super) fn open(&mut self, superblock: SuperblockId, role: Role) -> LogId {
        let log = Log { superblock, role, next: 0, valid: 0, programs: 0, closed: false, in_order: true };
        let id = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            let entry = LogEntry { offset: NONE, lbn: NONE, next: NONE };
            self.entries.resize(self.slots.len() * self.pages as usize, entry);
            self.slots.len() as LogId - 1
        });
        self.slots[id as usize] = Some(log);
        self.by_age.append(id);
        self.by_use.append(id);
        match role {
            Role::Of(lbn) => self.own[lbn as usize] = id,
            Role::Sequential(_) => self.sequential = Some(id),
            Role::Random => self.random = Some(id),
        }
        id
    }

    /// Closes a log block: it takes no more pages.
    pub(super) fn close(&mut self, id: LogId) {
        if !std::mem::replace(&mut self.log_mut(id).closed, true) {
            self.closed += 1;
            self.by_age.remove(id);
            self.by_use.remove(id);
        }
        if self.random == Some(id) {
            self.random = None;
        }
    }

    /// Removes a log block.
    ///
    /// # Panics
    /// If pages in it are still needed.
    pub(super) fn remove(&mut self, id: LogId) -> Log {
        let log = self.slots[id as usize].take().expect("a log block");
        assert!(log.valid == 0 && log.programs == 0, "a log block in use is given up: {log:?}");
        if log.closed {
            self.closed -= 1;
        } else {
            self.by_age.remove(id);
            self.by_use.remove(id);
        }
        if let Role::Of(lbn) = log.role
            && self.own(lbn) == Some(id)
        {
            self.own[lbn as usize] = NONE;
        }
        for named in [&mut self.sequential, &mut self.random] {
            if *named == Some(id) {
                *named = None;
            }
        }
        self.free.push(id);
        log
    }

    /// Takes the next page of a log block for a page at `offset` of a logical block.
    #[inline]
    pub(super) fn take_page(&mut self, id: LogId, lbn: Lbn, offset: u32) -> u32 {
        self.by_use.move_to_end(id);
        let log = self.log_mut(id);
        log.in_order &= log.next == offset && log.role.block() == Some(lbn);
        let page = log.next;
        log.next += 1;
        log.programs += 1;
        page
    }

    #[inline]
    pub(super) const fn place(&self, id: LogId, page: u32) -> LogPosition {
        id * self.pages + page
    }

    /// The log block and page of a place.
    #[inline]
    pub(super) const fn locate(&self, place: LogPosition) -> (LogId, u32) {
        (place / self.pages, place % self.pages)
    }

    /// True if the log holds no page of a logical block.
    #[inline]
    pub(super) fn is_empty(&self, lbn: Lbn) -> bool {
        self.head[lbn as usize] == NONE
    }

    /// The pages of a logical block in the log: offset and place.
    #[inline]
    pub(super) fn chain(&self, lbn: Lbn) -> impl Iterator<Item = (u32, LogPosition)> + '_ {
        let step = |place: LogPosition| (place != NONE).then_some(place);
        std::iter::successors(step(self.head[lbn as usize]), move |place| step(self.entries[*place as usize].next))
            .map(|place| (self.entries[place as usize].offset, place))
    }

    /// The place of a page's newest copy, if the log holds it.
    #[inline]
    pub(super) fn find_page(&self, lbn: Lbn, offset: u32) -> Option<LogPosition> {
        self.chain(lbn).find(|(of, _)| *of == offset).map(|(_, place)| place)
    }

    /// Links a page whose newest copy is now in the log at `place`.
    #[inline]
    pub(super) fn link(&mut self, lbn: Lbn, offset: u32, place: LogPosition) {
        self.unlink(lbn, offset);
        let head = &mut self.head[lbn as usize];
        self.entries[place as usize] = LogEntry { offset, lbn, next: *head };
        *head = place;
        let (id, _) = self.locate(place);
        self.log_mut(id).valid += 1;
    }

    /// Removes a page from the log's map, if it is there.
    #[inline]
    pub(super) fn unlink(&mut self, lbn: Lbn, offset: u32) {
        let mut before = NONE;
        let mut at = self.head[lbn as usize];
        while at != NONE {
            let entry = self.entries[at as usize];
            if entry.offset == offset {
                if before == NONE {
                    self.head[lbn as usize] = entry.next;
                } else {
                    self.entries[before as usize].next = entry.next;
                }
                self.entries[at as usize].lbn = NONE;
                let (id, _) = self.locate(at);
                self.log_mut(id).valid -= 1;
                return;
            }
            (before, at) = (at, entry.next);
        }
    }

    /// Checks the lists and the counter against the log blocks.
    pub(super) fn check(&self) {
        let sorted = |order: &Order| {
            let mut listed: Vec<LogId> = order.iter().collect();
            listed.sort_unstable();
            listed
        };
        let open: Vec<LogId> = self.iter().filter(|(_, log)| !log.closed).map(|(id, _)| id).collect();
        assert_eq!((sorted(&self.by_age), sorted(&self.by_use)), (open.clone(), open.clone()), "log blocks in use");
        assert_eq!(self.closed as usize, self.iter().count() - open.len(), "log blocks whose merge is queued");
    }

    /// The logical block of the first valid page of a log block.
    pub(super) fn first_block(&self, id: LogId) -> Option<Lbn> {
        let first = self.place(id, 0) as usize;
        let entries = &self.entries[first..first + self.log(id).next.min(self.pages) as usize];
        entries.iter().map(|entry| entry.lbn).find(|lbn| *lbn != NONE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[test]
    fn log_blocks_take_the_memory_they_predict() {
        // The table has an entry for each log block that may be open or merging; a drive with fewer blocks has an entry
        // for each block.
        for (blocks, open) in [(100, 5), (100, 80), (100, 200)] {
            let mut logs = Logs::new(blocks, 4, open - 2, 2);
            (0..open.min(100)).for_each(|superblock| _ = logs.open(SuperblockId::new(superblock), Role::Random));
            let tables = size_of_val(&*logs.head) + size_of_val(&*logs.own);
            let orders = logs.by_age.taken() + logs.by_use.taken();
            let taken = tables + orders + size_of_val(&*logs.slots) + size_of_val(&*logs.entries);
            assert_eq!(Logs::memory(u64::from(blocks), 4, open - 2, 2), taken as u64, "{open} of {blocks}");
        }
    }

    proptest! {
        /// Compares the log with a plain map from page to place.
        #[test]
        fn the_newest_copy_of_a_page_is_found(steps in prop::collection::vec((0..3u32, 0..4u32, any::<bool>()), 0..24)) {
            let (mut logs, mut model) = (Logs::new(3, 4, 9, 1), BTreeMap::new());
            let mut open = None;
            for (lbn, offset, write) in steps {
                if write {
                    let id = *open.get_or_insert_with(|| logs.open(SuperblockId::new(logs.count()), Role::Random));
                    let page = logs.take_page(id, lbn, offset);
                    if logs.log(id).next == 4 {
                        open = None;
                    }
                    logs.link(lbn, offset, logs.place(id, page));
                    model.insert((lbn, offset), logs.place(id, page));
                } else {
                    logs.unlink(lbn, offset);
                    model.remove(&(lbn, offset));
                }
            }
            for lbn in 0..3 {
                for offset in 0..4 {
                    prop_assert_eq!(logs.find_page(lbn, offset), model.get(&(lbn, offset)).copied());
                }
                prop_assert_eq!(logs.chain(lbn).count(), model.keys().filter(|(of, _)| *of == lbn).count());
            }
            for (id, log) in logs.iter() {
                let here = model.iter().filter(|(_, place)| logs.locate(**place).0 == id);
                prop_assert_eq!(log.valid as usize, here.clone().count());
                let first = here.min_by_key(|(_, place)| **place).map(|((lbn, _), _)| *lbn);
                prop_assert_eq!(logs.first_block(id), first);
            }
        }
    }
}
