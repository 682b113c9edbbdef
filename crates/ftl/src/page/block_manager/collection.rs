//! Garbage collection of one pool: its victims, and the copies under way.

use base::units::{Psn, SuperblockId};

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
    /// Copies that the host has not used up, less those that it owes, in 1/1024 of a mapping unit.
    pub(in crate::page) credit: i64,
    /// Copied mapping units that the map unit has not answered for.
    pub(in crate::page) asked: u32,
    pub(in crate::page) erases: u32,
    /// Failing superblocks to be emptied.
    pub(in crate::page) failing: Vec<SuperblockId>,
    /// Superblocks to be emptied because a power cut has torn the parity of a stripe.
    pub(in crate::page) unprotected: Vec<SuperblockId>,
    pub(in crate::page) levelling: Levelling,
}

impl Collection {
    /// True if a slot has been picked that no copy is under way for.
    #[inline]
    pub(in crate::page) fn has_gathered(&self) -> bool {
        !self.gathered.is_empty() || self.sorted.iter().any(|gathered| !gathered.is_empty())
    }
}

/// Static wear levelling of one pool.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::page) struct Levelling {
    /// True if the next superblock for copies is the most worn free one.
    pub(in crate::page) want_worn: bool,
    /// True if a check that finds a lagging superblock waits until the victims have gone: their last copies are padded.
    pub(in crate::page) pads: bool,
    /// Erases since the latest check.
    pub(in crate::page) since_check: u32,
    /// The count of programmed mapping units of the host at the latest check, and the moves since.
    pub(in crate::page) checked_at: u32,
    pub(in crate::page) moves: u32,
}
