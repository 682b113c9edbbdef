//! The state of a unit in the buffer, from the write that brings it until flash has it.
//!
//! ```text
//!            send           arrive
//!   Dirty ---------> Sent ---------> gone
//!     ^              |  |
//!     |      rewrite |  | discard
//!     |              v  v
//!     +-------- Rewritten <--> Discarded ---> gone, and to be forgotten on flash
//!       arrive          discard, rewrite
//! ```
//!
//! A discarded dirty unit is gone at once. A unit on its way to flash is not: its program cannot be called back.
//!
//! A unit is *held* while the FTL may refuse a discard of it: it keeps its content and is not sent to flash.

use base::engine::Handle;
use base::units::Lpn;
use flash::nand::SectorMask;

#[derive(Clone, Debug)]
pub(crate) struct BufferEntry {
    pub(crate) lpn: Lpn,
    /// The NVM set to whose dies the unit is written back.
    pub(crate) set: u32,
    /// The number of the entry's moves between sets. A queue recognises a stale reference to the entry by an older
    /// number.
    pub(super) moves: u32,
    /// The version of the content on its way to flash.
    version: u32,
    pub(crate) mask: SectorMask,
    /// The number of the last batch that logged the entry, see [`super::flush`].
    batch: u64,
    /// The epoch of the content that is dirty or on its way to flash. Flushes of this epoch and later wait for the
    /// content, unless a log has it.
    epoch: u64,
    logged: bool,
    /// True if the FTL has not answered a discard of the unit.
    held: bool,
    state: EntryState,
    /// The next entry of its chain in the index.
    pub(super) next: Option<Handle<Self>>,
}

/// The state of the content on its way to flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EntryState {
    /// The content waits to be written back.
    Dirty,
    /// The content is on its way, and has not changed since.
    Sent,
    /// The unit was written again while its content was on its way.
    Rewritten(Newer),
    /// The unit was discarded while its content was on its way.
    Discarded,
    /// The entry has left the buffer.
    Gone,
}

/// The newer data of a rewritten entry. The unit goes to flash once more, with its newer and its older sectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Newer {
    /// The NVM set to whose dies the unit is written back.
    set: u32,
    epoch: u64,
    logged: bool,
}

/// The result of adding the sectors of a unit to the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InsertionResult {
    /// The unit got a new entry, or was queued anew.
    New,
    /// The unit absorbed older data, which need not be written any more.
    Absorbed,
    /// The buffer has no room.
    Full,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RewriteResult {
    pub(super) taken: InsertionResult,
    /// True if flushes of the present epoch wait for the entry from now on.
    pub(super) counts: bool,
    /// True if the entry was discarded: around the new sectors it reads as zeros.
    pub(super) zeroed: bool,
}

/// The result of an entry's arrival on flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ArrivalResult {
    /// The entry leaves the buffer.
    Clean,
    /// The entry leaves the buffer, and the FTL must discard the unit.
    Discarded,
    /// The unit was written again: the entry waits to be written back.
    Dirty,
}

impl BufferEntry {
    /// Creates a dirty entry. Flushes from `epoch` on wait for it.
    pub(super) const fn new(lpn: Lpn, set: u32, epoch: u64) -> Self {
        Self {
            lpn,
            set,
            moves: 0,
            version: 0,
            mask: 0,
            batch: 0,
            epoch,
            logged: false,
            held: false,
            state: EntryState::Dirty,
            next: None,
        }
    }

    /// Creates a dirty entry after a power cut, of which a log has the sectors in `mask`.
    pub(super) const fn restored(lpn: Lpn, mask: SectorMask, epoch: u64) -> Self {
        Self { mask, logged: true, ..Self::new(lpn, 0, epoch) }
    }

    pub(super) const fn epoch(&self) -> u64 {
        self.epoch
    }

    /// True if the entry waits to be written back, and is not on its way.
    pub(super) const fn is_dirty(&self) -> bool {
        matches!(self.state, EntryState::Dirty) && !self.held
    }

    /// True if a program of the unit has not ended.
    pub(super) const fn is_on_its_way(&self) -> bool {
        !matches!(self.state, EntryState::Dirty | EntryState::Gone)
    }

    /// Holds the entry until the FTL has answered a discard. The number of moves grows, so that the old queue
    /// recognises its reference as stale.
    pub(super) const fn hold(&mut self) {
        (self.held, self.moves) = (true, self.moves.wrapping_add(1));
    }

    /// Ends [`Self::hold`]. Returns false if the entry was not held.
    pub(super) const fn release(&mut self) -> bool {
        std::mem::replace(&mut self.held, false)
    }

    /// True if the entry was discarded while it was on its way.
    pub(super) const fn is_discarded(&self) -> bool {
        matches!(self.state, EntryState::Discarded)
    }

    /// True if the reference in a set's queue is not stale.
    pub(super) const fn is_queued(&self, set: u32, epoch: u64, moves: u32) -> bool {
        self.set == set && self.epoch == epoch && self.moves == moves && self.is_dirty()
    }

    /// The epoch whose flushes wait for the content that is dirty or on its way, if any.
    pub(super) fn awaited(&self) -> Option<u64> {
        (!self.logged).then_some(self.epoch)
    }

    /// Rewrites the entry at epoch `now`, for the NVM set `set`.
    pub(super) fn rewrite(&mut self, set: u32, now: u64) -> RewriteResult {
        let newer = Newer { set, epoch: now, logged: false };
        let (taken, counts, zeroed) = match &mut self.state {
            EntryState::Dirty => {
                let counts = std::mem::take(&mut self.logged);
                self.epoch = if counts { now } else { self.epoch };
                return RewriteResult { taken: InsertionResult::Absorbed, counts, zeroed: false };
            }
            EntryState::Rewritten(before) if before.logged => (InsertionResult::Absorbed, true, false),
            EntryState::Rewritten(before) => {
                before.set = set;
                return RewriteResult { taken: InsertionResult::Absorbed, counts: false, zeroed: false };
            }
            EntryState::Sent => (InsertionResult::New, true, false),
            EntryState::Discarded => (InsertionResult::New, true, true),
            EntryState::Gone => unreachable!("{} is not in the buffer", self.lpn),
        };
        self.state = EntryState::Rewritten(newer);
        RewriteResult { taken, counts, zeroed }
    }

    pub(super) fn send(&mut self) {
        assert!(self.is_dirty(), "{} is sent to flash but is not dirty", self.lpn);
        self.state = EntryState::Sent;
    }

    /// Sets the version of the content on its way.
    pub(super) const fn set_version(&mut self, version: u32) {
        self.version = version;
    }

    /// The version on its way, if the content in the buffer has not changed since it was sent.
    pub(super) const fn version_under_way(&self) -> Option<u32> {
        match self.state {
            EntryState::Sent | EntryState::Discarded => Some(self.version),
            EntryState::Dirty | EntryState::Rewritten(_) | EntryState::Gone => None,
        }
    }

    /// Discards the entry on its way. Returns the epoch whose flushes need not wait for its newer data any more.
    pub(super) fn discard(&mut self) -> Option<u64> {
        match std::mem::replace(&mut self.state, EntryState::Discarded) {
            EntryState::Sent | EntryState::Discarded => None,
            EntryState::Rewritten(newer) => newer.awaited(),
            state => unreachable!("{} is discarded on its way in {state:?}", self.lpn),
        }
    }

    /// Notes that the content on its way is on flash.
    pub(super) fn arrive(&mut self) -> ArrivalResult {
        match self.state {
            EntryState::Sent => ArrivalResult::Clean,
            EntryState::Discarded => ArrivalResult::Discarded,
            EntryState::Rewritten(Newer { set, epoch, logged }) => {
                (self.set, self.epoch, self.logged, self.state) = (set, epoch, logged, EntryState::Dirty);
                ArrivalResult::Dirty
            }
            EntryState::Dirty | EntryState::Gone => panic!("{} comes back from flash but was not on its way", self.lpn),
        }
    }

    /// Marks the entry as gone from the buffer.
    pub(super) const fn leave(&mut self) {
        self.state = EntryState::Gone;
    }

    /// True if a flush of an epoch waits for some of its content.
    pub(super) fn is_awaited(&self, epoch: u64) -> bool {
        let newer = match self.state {
            EntryState::Rewritten(newer) => newer.awaited(),
            EntryState::Gone => return false,
            EntryState::Dirty | EntryState::Sent | EntryState::Discarded => None,
        };
        self.awaited().into_iter().chain(newer).any(|from| from <= epoch)
    }

    /// Logs the present content as part of a batch. Returns the epochs whose flushes wait for the log instead: for
    /// the content that was dirty or on its way, and for its newer data.
    pub(super) fn log(&mut self, batch: u64) -> [Option<u64>; 2] {
        self.batch = batch;
        let first = self.awaited();
        self.logged = true;
        let EntryState::Rewritten(newer) = &mut self.state else { return [first, None] };
        let second = newer.awaited();
        newer.logged = true;
        [first, second]
    }

    /// True if a log wrote the entry in this batch.
    pub(super) fn is_in(&self, batch: u64) -> bool {
        self.batch == batch && self.state != EntryState::Gone
    }

    /// True if a log has all content of the entry.
    pub(super) const fn is_logged(&self) -> bool {
        match self.state {
            EntryState::Rewritten(newer) => newer.logged,
            EntryState::Gone => false,
            EntryState::Dirty | EntryState::Sent | EntryState::Discarded => self.logged,
        }
    }

    /// Counts the newest data of the entry as not logged: flushes from `epoch` on wait for it. Returns the epoch under
    /// which the data counted before.
    pub(super) fn recount(&mut self, epoch: u64) -> Option<u64> {
        let (of, logged) = match &mut self.state {
            EntryState::Rewritten(newer) => (&mut newer.epoch, &mut newer.logged),
            _ => (&mut self.epoch, &mut self.logged),
        };
        let before = (!*logged).then_some(*of);
        (*of, *logged) = (epoch, false);
        before
    }
}

impl Newer {
    /// The epoch whose flushes wait for the newer data, if any.
    fn awaited(self) -> Option<u64> {
        (!self.logged).then_some(self.epoch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dirty() -> BufferEntry {
        BufferEntry::new(Lpn::new(5), 1, 3)
    }

    fn sent() -> BufferEntry {
        let mut entry = dirty();
        entry.send();
        entry.set_version(9);
        entry
    }

    fn rewritten() -> BufferEntry {
        let mut entry = sent();
        let came = entry.rewrite(2, 7);
        assert_eq!(came, RewriteResult { taken: InsertionResult::New, counts: true, zeroed: false });
        entry
    }

    fn discarded() -> BufferEntry {
        let mut entry = sent();
        assert_eq!(entry.discard(), None, "a program under way cannot be undone");
        entry
    }

    const ABSORBED: RewriteResult = RewriteResult { taken: InsertionResult::Absorbed, counts: false, zeroed: false };

    #[test]
    fn an_entry_takes_little_more_than_a_cache_line() {
        assert_eq!((size_of::<BufferEntry>(), size_of::<EntryState>()), (80, 16));
    }

    #[test]
    fn a_dirty_entry_absorbs_newer_data() {
        let mut entry = dirty();
        assert_eq!(entry.rewrite(2, 7), ABSORBED);
        assert_eq!((entry.awaited(), entry.set), (Some(3), 1), "the buffer moves it to another set, and its queue");
        assert_eq!(entry.log(1), [Some(3), None]);
        assert_eq!(entry.awaited(), None);
        assert_eq!(entry.rewrite(1, 8), RewriteResult { counts: true, ..ABSORBED }, "the log has not all of it now");
        assert_eq!((entry.awaited(), entry.rewrite(1, 9)), (Some(8), ABSORBED));
    }

    #[test]
    fn a_sent_entry_arrives_clean_and_leaves() {
        let mut entry = sent();
        assert_eq!((entry.is_dirty(), entry.version_under_way(), entry.awaited()), (false, Some(9), Some(3)));
        assert_eq!(entry.arrive(), ArrivalResult::Clean);
        entry.leave();
        assert!(!entry.is_awaited(u64::MAX) && !entry.is_in(0) && !entry.is_logged() && !entry.is_queued(1, 3, 0));
    }

    #[test]
    fn an_entry_rewritten_during_its_program_is_dirty_after_it() {
        let mut entry = rewritten();
        assert_eq!((entry.set, entry.version_under_way()), (1, None), "the program under way stays in its set");
        assert_eq!(entry.rewrite(4, 8), ABSORBED);
        assert_eq!((entry.is_awaited(2), entry.is_awaited(3)), (false, true));
        assert_eq!(entry.arrive(), ArrivalResult::Dirty);
        assert_eq!((entry.set, entry.awaited(), entry.is_dirty()), (4, Some(7), true), "since the first rewrite");
        assert_eq!((entry.is_awaited(6), entry.is_awaited(7)), (false, true));
        entry.send();
        assert_eq!(entry.arrive(), ArrivalResult::Clean);
    }

    #[test]
    fn an_entry_discarded_during_its_program_is_discarded_on_flash() {
        let mut entry = discarded();
        assert!(entry.is_discarded());
        assert_eq!((entry.discard(), entry.version_under_way(), entry.awaited()), (None, Some(9), Some(3)));
        assert_eq!(entry.arrive(), ArrivalResult::Discarded);
    }

    #[test]
    fn a_discard_and_a_rewrite_during_the_program_undo_each_other() {
        let mut entry = rewritten();
        assert_eq!(entry.discard(), Some(7), "no flush waits for the newer data any more");
        assert!(entry.is_discarded());
        assert_eq!(entry.rewrite(6, 8), RewriteResult { taken: InsertionResult::New, counts: true, zeroed: true });
        assert!(!entry.is_discarded());
        assert_eq!(entry.log(1), [Some(3), Some(8)]);
        assert_eq!(entry.discard(), None, "the log stands for it");
        assert_eq!(entry.arrive(), ArrivalResult::Discarded);
    }

    #[test]
    fn a_log_makes_all_data_of_an_entry_durable() {
        let mut entry = rewritten();
        assert_eq!(entry.log(4), [Some(3), Some(7)]);
        assert!(entry.is_logged() && entry.is_in(4) && !entry.is_in(3) && !entry.is_awaited(u64::MAX));
        assert_eq!(entry.log(5), [None, None], "no flush waits for it a second time");
        assert_eq!(entry.rewrite(6, 9), RewriteResult { counts: true, ..ABSORBED });
        assert!(!entry.is_logged() && entry.is_awaited(9) && !entry.is_awaited(8));
        assert_eq!(entry.arrive(), ArrivalResult::Dirty);
        assert_eq!((entry.awaited(), entry.set), (Some(9), 6));
        for mut entry in [dirty(), sent(), discarded()] {
            assert_eq!((entry.log(1), entry.is_logged()), ([Some(3), None], true));
        }
    }

    #[test]
    fn a_failed_log_makes_the_flush_wait_again() {
        for mut entry in [dirty(), sent(), discarded()] {
            assert_eq!(entry.recount(2), Some(3), "it was not logged");
            entry.log(1);
            assert_eq!((entry.recount(4), entry.awaited()), (None, Some(4)));
        }
        let mut entry = rewritten();
        entry.log(1);
        assert_eq!((entry.recount(4), entry.awaited()), (None, None), "the data under program is still in the log");
        assert_eq!((entry.recount(5), entry.arrive(), entry.awaited()), (Some(4), ArrivalResult::Dirty, Some(5)));
    }

    #[test]
    fn an_entry_restored_from_the_log_is_dirty_and_delays_no_flush() {
        let entry = BufferEntry::restored(Lpn::new(5), 0b10, 3);
        assert!(entry.is_dirty() && entry.is_logged() && !entry.is_awaited(u64::MAX) && entry.is_queued(0, 3, 0));
    }

    #[test]
    fn an_impossible_step_panics() {
        type Transition = fn(&mut BufferEntry);
        let cases: [(BufferEntry, Transition); 6] = [
            (sent(), BufferEntry::send),
            (rewritten(), BufferEntry::send),
            (discarded(), BufferEntry::send),
            (dirty(), |entry| _ = entry.arrive()),
            (dirty(), |entry| _ = entry.discard()),
            (
                {
                    let mut gone = sent();
                    gone.leave();
                    gone
                },
                |entry| _ = entry.rewrite(1, 1),
            ),
        ];
        for (entry, step) in cases {
            let mut copy = entry.clone();
            let stopped = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| step(&mut copy))).is_err();
            assert!(stopped, "{entry:?}");
        }
    }
}
