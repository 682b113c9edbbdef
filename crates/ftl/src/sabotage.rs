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
    /// Something besides the seed decides.
    Undetermined,
}

impl Sabotage {
    /// All of them.
    pub const EVERY: [Self; 22] = [
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
