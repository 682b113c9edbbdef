//! Bugs that can be planted in a device, so that the conformance suite shows that it would find them.
//!
//! A test double would prove little: what has to be caught is a slip in the code that ships. So each bug sits
//! in the very line it breaks, as `planted.is(Sabotage::...)`, and that is a constant `false` unless the
//! feature `sabotage` is on: no release has the code, and nothing is slower for it. Only the tests of
//! `testkit` switch the feature on, and a device has a bug only if its device was told
//! to: no global state, so that tests with different bugs run side by side.

/// One planted bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sabotage {
    /// A completed program whose mapping is not entered, now and then.
    LostUpdate,
    /// Collection has moved a unit, and the map still leads to the old place.
    StaleMapping,
    /// Collection passes over a valid unit and erases it with its block.
    CollectionDrops,
    /// A copy is entered although the unit has been written again meanwhile.
    CopyOverrules,
    /// A copy gets a version of its own, newer than a write that is still on its way.
    CopyLooksNewer,
    /// A copy is charged to the host.
    CopyCharged,
    /// A unit whose program failed is entered as if it had not.
    FailureIgnored,
    /// The host takes the free superblock that is kept for collection to copy into.
    ReserveTaken,
    /// Static wear levelling never looks.
    NeverLevels,
    /// Recovery prefers the older of two versions.
    OlderRecovered,
    /// Recovery takes the copy where the original is there as well.
    CopyRecovered,
    /// A flush is acknowledged before the buffer is in flash.
    FlushLies,
    /// A read does not look into the buffer.
    BufferMissed,
    /// A discard leaves the mapping.
    DiscardForgotten,
    /// A copy is entered whether or not the map unit still has the unit where it was copied from.
    ConditionIgnored,
    /// A victim is erased before the map unit has answered for its copies.
    ErasedUnanswered,
    /// The place of a unit counts as valid only when the map unit has answered for it.
    PlaceUnmarked,
    /// Recovery takes the translation pages for the truth.
    StaleTrusted,
    /// Recovery of a block map does not read its log.
    LogUnread,
    /// Recovery leaves what was flushed without a merge where it is.
    SavedForgotten,
    /// With time off a unit is acknowledged and not written, now and then: what it held before stays.
    UntimedDropped,
    /// Of a unit that is written in part the other sectors are not read if only the last is missing.
    RestUnread,
    /// A superblock is not pinned while the other sectors of a unit are read from it.
    PinForgotten,
    /// Programs do not wait for the one before them that waits for a read.
    GateForgotten,
    /// A pool that is given up keeps the promises to the writes that it sends elsewhere.
    PromiseKept,
    /// A program of whole rows ends where its data does.
    RowsUnfilled,
    /// A failed program closes the host's open superblock alone.
    CopiesGoOn,
    /// A superblock in which a program failed is closed like any other.
    FailingForgotten,
    /// A superblock that is to be retired is erased and goes to the free list.
    RetiredFreed,
    /// Recovery takes a superblock whose first page is torn for an erased one.
    TornIsFree,
    /// Recovery takes all free superblocks for new ones.
    WearForgotten,
    /// Recovery begins with the first version again.
    VersionRestarts,
    /// Superblocks of translation pages count as room for data as well when the power comes back.
    RoomCountedTwice,
    /// A refuge is not told that units are on their way to it.
    HelperUnreserved,
    /// A pool's units take refuge outside the NVM set that they are confined to.
    ConfinementForgotten,
    /// A request does not wait for one that overlaps it and waits itself.
    OverlapMissed,
    /// A read that needs several units is done with the first.
    FirstPartServes,
    /// A chopped read leaves a unit out between two pieces.
    PieceSkips,
    /// A discard takes along the units of which it covers a part.
    PartDiscarded,
    /// A write that waits for the buffer goes before those that came earlier.
    WriteOvertakes,
    /// A flush waits for what the one before it covered, and for nothing newer.
    FlushOneBehind,
    /// What was discarded on its way from the buffer stays in flash.
    DroppedStays,
    /// A power cut does not reach the second array.
    SecondStaysOn,
    /// The replay of a journal is short by one record.
    JournalShort,
    /// The replay of a journal passes over the blocks that spares stand in for.
    ReplacementForgotten,
    /// Recovery does not look for the newest version among flushes without a merge.
    FlushesUnversioned,
    /// Recovery believes that a block can be programmed where its last page is torn.
    TornPageForgotten,
    /// Recovery believes that the pages of every log block are in order.
    InOrderTrusted,
    /// Recovery takes the last block of the SLC log for its head.
    HeadByNumber,
    /// Recovery prefers the MLC page to a sector of the SLC log with its version.
    SectorOutdone,
    /// A tail of the SLC log that could not be erased is used again.
    FailedEraseReused,
    /// A copy of the SLC log's tail counts although its program failed.
    TailCopyBelieved,
    /// Something besides the seed decides.
    Undetermined,
}

impl Sabotage {
    /// All of them.
    pub const EVERY: [Self; 53] = [
        Self::LostUpdate,
        Self::StaleMapping,
        Self::CollectionDrops,
        Self::CopyOverrules,
        Self::CopyLooksNewer,
        Self::CopyCharged,
        Self::FailureIgnored,
        Self::ReserveTaken,
        Self::NeverLevels,
        Self::OlderRecovered,
        Self::CopyRecovered,
        Self::FlushLies,
        Self::BufferMissed,
        Self::DiscardForgotten,
        Self::ConditionIgnored,
        Self::ErasedUnanswered,
        Self::PlaceUnmarked,
        Self::StaleTrusted,
        Self::LogUnread,
        Self::SavedForgotten,
        Self::UntimedDropped,
        Self::RestUnread,
        Self::PinForgotten,
        Self::GateForgotten,
        Self::PromiseKept,
        Self::RowsUnfilled,
        Self::CopiesGoOn,
        Self::FailingForgotten,
        Self::RetiredFreed,
        Self::TornIsFree,
        Self::WearForgotten,
        Self::VersionRestarts,
        Self::RoomCountedTwice,
        Self::HelperUnreserved,
        Self::ConfinementForgotten,
        Self::OverlapMissed,
        Self::FirstPartServes,
        Self::PieceSkips,
        Self::PartDiscarded,
        Self::WriteOvertakes,
        Self::FlushOneBehind,
        Self::DroppedStays,
        Self::SecondStaysOn,
        Self::JournalShort,
        Self::ReplacementForgotten,
        Self::FlushesUnversioned,
        Self::TornPageForgotten,
        Self::InOrderTrusted,
        Self::HeadByNumber,
        Self::SectorOutdone,
        Self::FailedEraseReused,
        Self::TailCopyBelieved,
        Self::Undetermined,
    ];
}

/// Which bug a device has: none, and without the feature there cannot be one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Planted {
    #[cfg(feature = "sabotage")]
    bug: Option<Sabotage>,
}

#[cfg(feature = "sabotage")]
impl Planted {
    /// The bug.
    #[must_use]
    pub const fn bug(bug: Sabotage) -> Self {
        Self { bug: Some(bug) }
    }

    #[inline]
    /// True if it is this one.
    #[must_use]
    pub fn is(self, bug: Sabotage) -> bool {
        self.bug == Some(bug)
    }

    /// A number that no seed decides: how often somebody has asked before.
    #[must_use]
    pub fn whim(self) -> u64 {
        use std::sync::atomic::{AtomicU64, Ordering};
        static ASKED: AtomicU64 = AtomicU64::new(1);
        if self.is(Sabotage::Undetermined) { ASKED.fetch_add(1, Ordering::Relaxed) } else { 0 }
    }
}

#[cfg(not(feature = "sabotage"))]
#[allow(clippy::unused_self)] // It stands in for the one above.
impl Planted {
    #[inline]
    /// Never.
    #[must_use]
    pub const fn is(self, _: Sabotage) -> bool {
        false
    }

    /// Nothing but the seed decides.
    #[must_use]
    pub const fn whim(self) -> u64 {
        0
    }
}
