//! Garbage collection of one pool: its victims, and the copies under way.

use base::units::{Psn, SuperblockId};

/// A superblock whose valid mapping units are being moved.
#[derive(Clone, Copy, Debug)]
pub(in crate::page) struct Victim {
    pub(in crate::page) superblock: SuperblockId,
    /// The number of valid mapping units when the superblock became a victim.
    pub(in crate::page) valid: u32,
    /// The offset from which on the slots are still to be scanned.
    pub(in crate::page) cursor: u32,
    pub(in crate::page) cause: flash::backend::Cause,
}

/// Garbage collection of one pool.
#[derive(Clone, Debug, Default)]
pub(in crate::page) struct Collection {
    /// True while collection runs, until there are enough free superblocks.
    pub(in crate::page) active: bool,
    pub(in crate::page) victims: Vec<Victim>,
    /// Valid slots that have been picked but do not fill a program yet. With several streams of copies, the slots for
    /// the last stream.
    pub(in crate::page) gathered: Vec<Psn>,
    /// Valid slots that have been picked for the other streams of copies.
    pub(in crate::page) sorted: Box<[Vec<Psn>]>,
    /// True if the host may take all free superblocks but one, because otherwise the pool could not go on.
    pub(in crate::page) waives: bool,
    /// True if a slot of a victim has become invalid since collection last dropped invalid slots.
    pub(in crate::page) is_stale: bool,
    pub(in crate::page) copies: u32,
    /// Copies that the host's writes have not used up, less the copies that they owe, in 1/1024 of a mapping unit.
    pub(in crate::page) credit: i64,
    /// Copied mapping units for which the map unit has not answered.
    pub(in crate::page) asked: u32,
    pub(in crate::page) erases: u32,
    /// Failing superblocks whose data is to be moved before they are retired.
    pub(in crate::page) failing: Vec<SuperblockId>,
    /// Superblocks whose data is to be moved because a power cut has torn the parity of a stripe.
    pub(in crate::page) unprotected: Vec<SuperblockId>,
    pub(in crate::page) levelling: StaticLevelling,
}

impl Collection {
    /// True if a slot has been picked and its copy has not begun.
    #[inline]
    pub(in crate::page) fn has_gathered(&self) -> bool {
        !self.gathered.is_empty() || self.sorted.iter().any(|gathered| !gathered.is_empty())
    }
}

/// Static wear levelling of one pool.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::page) struct StaticLevelling {
    /// True if the next superblock for copies is the most worn free one.
    pub(in crate::page) want_worn: bool,
    /// True if a check has found a lagging superblock, which waits until the victims have gone: their last copies are
    /// padded.
    pub(in crate::page) pads: bool,
    /// Erases since the latest check.
    pub(in crate::page) since_check: u32,
    /// The count of programmed mapping units of the host at the latest check, and the moves since.
    pub(in crate::page) checked_at: u32,
    pub(in crate::page) moves: u32,
}
