//! Planted bugs, with which the conformance suite proves that it would find real ones.
//!
//! A bug that shows at the interface of a drive is planted there, by a wrapper in `testkit`. Every other bug sits in the
//! very line that it breaks, as `planted.is(Sabotage::...)`. That call is a constant `false` unless the feature
//! `sabotage` is on: no release contains a bug or pays for one. Only the tests of `testkit` switch the feature on. The
//! bug is a value that a test passes to a device, not global state, so tests with different bugs run side by side.

/// A planted bug: the error that the code then makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sabotage {
    /// The mapping of some completed programs is not entered.
    LostUpdate,
    /// Collection moves a mapping unit, and the map still points to the old place.
    StaleMapping,
    /// Collection skips a valid mapping unit and erases it with its block.
    CollectionDrops,
    /// A copy is entered although the mapping unit has been written again.
    CopyOverrules,
    /// A copy gets a new version, newer than a write that is still in progress.
    CopyLooksNewer,
    /// A copy is charged to the host.
    CopyCharged,
    /// A mapping unit whose program failed is entered as if it had succeeded.
    FailureIgnored,
    /// The host takes the free superblock that is reserved for copies of collection.
    ReserveTaken,
    /// Static wear levelling never checks.
    NeverLevels,
    /// Recovery prefers the older of two versions.
    OlderRecovered,
    /// Recovery takes the copy although the original is there as well.
    CopyRecovered,
    /// A flush is acknowledged before the buffer is in flash.
    FlushLies,
    /// A read ignores the buffer.
    BufferMissed,
    /// A discard leaves the mapping in place.
    DiscardForgotten,
    /// A copy is entered even if the map unit no longer has the mapping unit at the copy's source.
    ConditionIgnored,
    /// A victim is erased before the map unit has answered for its copies.
    ErasedUnanswered,
    /// The place of a mapping unit counts as valid only after the map unit has answered for it.
    PlaceUnmarked,
    /// The drive still serves translation pages from host memory that the host has taken back.
    HostMemoryOutlives,
    /// A RAID leaves the parity of a small write as it was.
    ParityKept,
    /// Requests of the host do not wait for the rows that a RAID rebuilds.
    RebuildUnordered,
    /// A RAID repairs nothing after a power cut.
    RepairForgotten,
    /// A RAID writes to its drives before the record in its journal is durable.
    JournalUnflushed,
    /// A RAID does not replay its journal.
    ReplayForgotten,
    /// A copy of a translation over zones counts, although the user has written the unit meanwhile.
    CopyOverWrite,
    /// A translation resets a zone before the copies of its data are written.
    ResetUncopied,
    /// The mount of a translation takes the last copy of a unit that it finds, not the newest.
    VersionForgotten,
    /// Recovery trusts stale translation pages.
    StaleTrusted,
    /// Recovery of a block map does not read its log.
    LogUnread,
    /// Recovery ignores data that were flushed without a merge.
    SavedForgotten,
    /// With time off, some writes are acknowledged and dropped: the old data stay.
    UntimedDropped,
    /// A computed steady state gives some old copies the newest version.
    LaidOutStale,
    /// The other sectors of a partly written mapping unit are not read if only the last is missing.
    RestUnread,
    /// A superblock is not pinned while the other sectors of a mapping unit are read from it.
    PinForgotten,
    /// A program does not wait for the program before it that waits for a read.
    GateForgotten,
    /// A pool that gives up keeps the promises to the writes that it sends elsewhere.
    PromiseKept,
    /// A program of whole rows ends at the end of its data.
    RowsUnfilled,
    /// A program that waits for data is not sent at the end of its pool's other programs.
    HeldForgotten,
    /// With time off, a mapping unit is written again while its program waits for data.
    HeldOvertaken,
    /// A failed program closes the host's open superblock only.
    CopiesGoOn,
    /// A superblock with a failed program is closed like any other.
    FailingForgotten,
    /// The choice of victims does not hear of some mapping units that become invalid.
    VictimStale,
    /// A superblock to be retired is erased and goes to the free list.
    RetiredFreed,
    /// Recovery takes a superblock whose first page is torn for an erased one.
    TornIsFree,
    /// Recovery takes all free superblocks for new superblocks without wear.
    WearForgotten,
    /// Recovery starts again with the first version.
    VersionRestarts,
    /// After a power cut, superblocks of translation pages also count as room for data.
    RoomCountedTwice,
    /// A helper pool does not reserve space for the mapping units that it will receive.
    HelperUnreserved,
    /// A pool's mapping units move to a helper outside the NVM set that they are confined to.
    ConfinementForgotten,
    /// A request does not wait for an overlapping request that itself waits.
    OverlapMissed,
    /// A read of several mapping units ends with the first.
    FirstPartServes,
    /// A chopped read skips a mapping unit between two pieces.
    PieceSkips,
    /// A discard also discards the mapping units that it covers only in part.
    PartDiscarded,
    /// A write that waits for the buffer overtakes earlier writes.
    WriteOvertakes,
    /// A flush waits only for the writes that the flush before it covered.
    FlushOneBehind,
    /// A mapping unit that is discarded on its way from the buffer to flash stays in flash.
    DroppedStays,
    /// A power cut does not reach the SLC array.
    SecondStaysOn,
    /// The replay of a journal stops one record short.
    JournalShort,
    /// The replay of a journal ignores the spares that replace blocks.
    ReplacementForgotten,
    /// Recovery does not search the log of flushes for the newest version.
    FlushesUnversioned,
    /// Recovery believes that a block with a torn last page can be programmed further.
    TornPageForgotten,
    /// Recovery believes that the pages of every log block are in order.
    InOrderTrusted,
    /// Recovery takes the block with the highest number for the head of the SLC log.
    HeadByNumber,
    /// The SLC log uses a tail block again that could not be erased.
    FailedEraseReused,
    /// A copy of the SLC log's tail counts although its program failed.
    TailCopyBelieved,
    /// A page that leaves the SLC log during a write lacks the sectors that the write has yet to append.
    RestOfWriteLeft,
    /// A durable discard is acknowledged without a record.
    DiscardUnrecorded,
    /// A discard empties the buffer before the FTL has accepted it.
    DiscardHasty,
    /// The record of discards also covers a newer write in progress.
    DiscardOverrules,
    /// A mount believes a checkpoint's entries in a superblock that was erased and written since.
    RewrittenVouched,
    /// A checkpoint vouches for superblocks that are still being written.
    OpenVouched,
    /// A checkpoint vouches for superblocks that a power cut has closed early, although a rescue may continue them.
    EndVouched,
    /// Pages of a word line are written one after another, although a torn page damages those before it.
    PairingIgnored,
    /// The data of a program enters the cache register while a page waits there for the array.
    CacheOverwritten,
    /// A program that has let a host read pass between two pages of its data goes on with the page after the next.
    PageSkipped,
    /// Where collection goes first, a program of the FTL's own overtakes host data that goes to the same block before it.
    BlockReordered,
    /// Codewords in a decoder's pipeline still come out after the power has failed.
    CodewordsOutlivePower,
    /// A suspended program or erase does not go on while no other command waits for its die.
    SuspendedForever,
    /// A read that waits for its plane while the whole die works does not begin after that work.
    PlaneForgotten,
    /// A power cut tears a program or an erase that was suspended once, although the operation is done.
    TornAfterResume,
    /// A read that its decoder cannot correct is not read again, and is handled as if it had been.
    RetryAtTheDecoder,
    /// A mount forgets the superblocks that were open in streams other than the first.
    StreamForgotten,
    /// Data of a reclaim unit handle share the reclaim units of handle 0.
    HandleShared,
    /// A copy joins the superblock that is open for host data.
    CopyJoinsHost,
    /// Programs that wait for more data continue only in the stream that was written last.
    ParkedForgotten,
    /// Collection keeps to its pace although a write waits for it.
    PaceObeyed,
    /// A write waits until collection has copied for it although no work is in progress.
    ThrottleWaits,
    /// The data of superblocks that are due for refresh is not moved.
    RefreshForgotten,
    /// In a superblock in several dies, programs of the first stripe run in any order.
    OpenedAtOnce,
    /// A mount uses the remaining data of a superblock that was being erased.
    HalfErasedBelieved,
    /// Parity does not cover copies.
    CopiesUncovered,
    /// A mount leaves stripes without parity.
    StripesLeftOpen,
    /// Slots that cannot be read are never rebuilt from parity.
    NeverRebuilt,
    /// One in four superblocks of a failed die keeps its data there.
    DeadDieLeft,
    /// A mount forgets that superblocks go on without a member.
    MissingForgotten,
    /// The SLC cache takes more superblocks than its size.
    CacheOverfilled,
    /// A superblock that has been folded and erased still counts as one of the SLC cache.
    CacheNeverEmpties,
    /// An SLC cache that was full takes host data again before `reuse` of it is free.
    CacheReusedEarly,
    /// A superblock that is set aside for the SLC cache is free for any data once it has been erased.
    StaticPartLent,
    /// Pages of the SLC cache are copied back to any plane.
    FoldLeavesPlane,
    /// A mount takes superblocks in SLC mode for superblocks in full mode.
    SlcModeForgotten,
    /// Operations begin although the arrays then draw more than the power cap.
    CapExceeded,
    /// An operation that waits for the power cap does not begin when another operation ends.
    CapForgotten,
    /// No event ends the delay of requests by a power state or the throttle.
    AdmissionForgotten,
    /// An append is acknowledged at the address before its own.
    AppendMisplaced,
    /// A zone that becomes full still counts as open.
    OpenCountLeaks,
    /// A reset leaves the data of the first row readable.
    ResetKeepsData,
    /// A write behind a random write area moves the write pointer one granule too far.
    ImplicitFlushTooFar,
    /// A write that replaces data in a random write area is acknowledged and not stored.
    ZrwaOverwriteLost,
    /// A source other than the seed decides.
    Undetermined,
}

impl Sabotage {
    /// All planted bugs, for the tests of the suite.
    pub const EVERY: [Self; 109] = [
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
        Self::HostMemoryOutlives,
        Self::ParityKept,
        Self::RebuildUnordered,
        Self::RepairForgotten,
        Self::JournalUnflushed,
        Self::ReplayForgotten,
        Self::CopyOverWrite,
        Self::ResetUncopied,
        Self::VersionForgotten,
        Self::StaleTrusted,
        Self::LogUnread,
        Self::SavedForgotten,
        Self::UntimedDropped,
        Self::LaidOutStale,
        Self::RestUnread,
        Self::PinForgotten,
        Self::GateForgotten,
        Self::PromiseKept,
        Self::RowsUnfilled,
        Self::HeldForgotten,
        Self::HeldOvertaken,
        Self::CopiesGoOn,
        Self::FailingForgotten,
        Self::VictimStale,
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
        Self::FailedEraseReused,
        Self::TailCopyBelieved,
        Self::RestOfWriteLeft,
        Self::DiscardUnrecorded,
        Self::DiscardHasty,
        Self::DiscardOverrules,
        Self::RewrittenVouched,
        Self::OpenVouched,
        Self::EndVouched,
        Self::PairingIgnored,
        Self::CacheOverwritten,
        Self::PageSkipped,
        Self::BlockReordered,
        Self::CodewordsOutlivePower,
        Self::SuspendedForever,
        Self::PlaneForgotten,
        Self::TornAfterResume,
        Self::RetryAtTheDecoder,
        Self::StreamForgotten,
        Self::HandleShared,
        Self::CopyJoinsHost,
        Self::ParkedForgotten,
        Self::PaceObeyed,
        Self::ThrottleWaits,
        Self::RefreshForgotten,
        Self::OpenedAtOnce,
        Self::HalfErasedBelieved,
        Self::CopiesUncovered,
        Self::StripesLeftOpen,
        Self::NeverRebuilt,
        Self::DeadDieLeft,
        Self::MissingForgotten,
        Self::CacheOverfilled,
        Self::CacheNeverEmpties,
        Self::CacheReusedEarly,
        Self::StaticPartLent,
        Self::FoldLeavesPlane,
        Self::SlcModeForgotten,
        Self::CapExceeded,
        Self::CapForgotten,
        Self::AdmissionForgotten,
        Self::AppendMisplaced,
        Self::OpenCountLeaks,
        Self::ResetKeepsData,
        Self::ImplicitFlushTooFar,
        Self::ZrwaOverwriteLost,
        Self::Undetermined,
    ];
}

/// The planted bug of a device, or none. Without the feature `sabotage` there cannot be one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlantedBug {
    #[cfg(feature = "sabotage")]
    bug: Option<Sabotage>,
}

#[cfg(feature = "sabotage")]
impl PlantedBug {
    /// A device with this bug.
    #[must_use]
    pub const fn bug(bug: Sabotage) -> Self {
        Self { bug: Some(bug) }
    }

    #[inline]
    /// True if the device has this bug.
    #[must_use]
    pub fn is(self, bug: Sabotage) -> bool {
        self.bug == Some(bug)
    }

    /// The planted bug in the terms of the backend, if it is one of the backend's.
    #[must_use]
    pub const fn in_backend(self) -> Option<flash::backend::Bug> {
        match self.bug {
            Some(Sabotage::CacheOverwritten) => Some(flash::backend::Bug::CacheOverwritten),
            Some(Sabotage::PageSkipped) => Some(flash::backend::Bug::PageSkipped),
            Some(Sabotage::BlockReordered) => Some(flash::backend::Bug::BlockReordered),
            Some(Sabotage::CodewordsOutlivePower) => Some(flash::backend::Bug::CodewordsOutlivePower),
            Some(Sabotage::PlaneForgotten) => Some(flash::backend::Bug::PlaneForgotten),
            Some(Sabotage::SuspendedForever) => Some(flash::backend::Bug::SuspendedForever),
            Some(Sabotage::TornAfterResume) => Some(flash::backend::Bug::TornAfterResume),
            Some(Sabotage::CapExceeded) => Some(flash::backend::Bug::CapExceeded),
            Some(Sabotage::CapForgotten) => Some(flash::backend::Bug::CapForgotten),
            Some(Sabotage::RetryAtTheDecoder) => Some(flash::backend::Bug::RetryAtTheDecoder),
            _ => None,
        }
    }
}

#[cfg(not(feature = "sabotage"))]
#[allow(clippy::unused_self)] // It has the signature of the method above.
impl PlantedBug {
    #[inline]
    /// Always false, because the feature `sabotage` is off.
    #[must_use]
    pub const fn is(self, _: Sabotage) -> bool {
        false
    }
}
