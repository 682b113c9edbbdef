//! The closed superblocks of a pool, as a victim policy sees them.

use std::fmt;

use base::engine::Rng;
use base::units::{Span, SuperblockId, Time};
use flash::nand::Stream;

use super::order::AgeOrder;
use super::unit_ages::{UnitAges, UnitVersions};
use crate::toolkit::Minima;

/// The state of the drive at the moment at which a pool looks for a victim.
#[derive(Clone, Copy)]
pub(crate) struct Moment<'a> {
    pub(crate) now: Time,
    /// The number of free superblocks of the pool.
    pub(crate) free: u32,
    /// The version of the latest write.
    pub(crate) latest: u32,
    pub(crate) erases: &'a dyn Fn(SuperblockId) -> u32,
    pub(crate) stream: &'a dyn Fn(SuperblockId) -> Stream,
}

/// The superblocks of a pool from which a [`VictimPolicy`](super::VictimPolicy) chooses: closed superblocks with at
/// least one invalid mapping unit.
#[derive(Clone, Copy)]
pub struct Candidates<'a> {
    pub(super) minima: &'a Minima,
    pub(super) ages: &'a AgeOrder,
    pub(super) unit_ages: Option<&'a UnitAges>,
    pub(super) pool: u32,
    /// The pool's superblocks are `first..first + blocks`.
    pub(super) first: u32,
    pub(super) blocks: u32,
    pub(super) slots: u32,
    pub(super) moment: Moment<'a>,
}

/// A superblock that garbage collection may take.
#[derive(Clone, Copy)]
pub struct Candidate<'a> {
    all: &'a Candidates<'a>,
    superblock: u32,
    valid: u32,
}

impl Candidates<'_> {
    fn candidate(&self, superblock: u32) -> Option<Candidate<'_>> {
        let valid = self.minima.valid(superblock).filter(|valid| *valid < self.slots)?;
        Some(Candidate { all: self, superblock, valid })
    }

    /// All candidates, in the order of closing. The iterator visits each closed superblock of the pool.
    pub fn by_age(&self) -> impl Iterator<Item = Candidate<'_>> {
        self.ages.oldest_first(self.pool).filter_map(|superblock| self.candidate(superblock))
    }

    /// The candidate with the fewest valid mapping units; of several, the one with the lowest number in the pool. Much
    /// faster than a visit of all candidates.
    #[must_use]
    pub fn fewest_valid(&self) -> Option<Candidate<'_>> {
        self.minima.least(self.first, self.blocks).and_then(|(superblock, _)| self.candidate(superblock))
    }

    /// A random candidate, with equal chances.
    pub fn random(&self, rng: &mut Rng) -> Option<Candidate<'_>> {
        // Most superblocks of a pool that collects garbage are candidates, so few draws are rejected.
        for _ in 0..64 {
            let superblock = self.first + rng.below(u64::from(self.blocks)) as u32;
            if let Some(candidate) = self.candidate(superblock) {
                return Some(candidate);
            }
        }
        let count = self.by_age().count() as u64;
        (count > 0).then(|| self.by_age().nth(rng.below(count) as usize)).flatten()
    }

    /// The candidate with the highest score; of several, the one that was closed first. A score that is not a number is
    /// lower than all others.
    pub fn best(&self, mut score: impl FnMut(&Candidate<'_>) -> f64) -> Option<Candidate<'_>> {
        let mut best: Option<(Candidate<'_>, f64)> = None;
        for candidate in self.by_age() {
            let score = score(&candidate);
            if best.is_none_or(|(_, highest)| score > highest || (highest.is_nan() && !score.is_nan())) {
                best = Some((candidate, score));
            }
        }
        best.map(|(candidate, _)| candidate)
    }

    /// Free superblocks of the pool.
    #[must_use]
    pub const fn free(&self) -> u32 {
        self.moment.free
    }

    /// The mean erase count of the candidates; 0 if there are none.
    #[must_use]
    pub fn mean_erases(&self) -> f64 {
        let (sum, count) = self
            .by_age()
            .fold((0.0, 0.0), |(sum, count), candidate| (sum + f64::from(candidate.erases()), count + 1.0));
        if count > 0.0 { sum / count } else { 0.0 }
    }
}

impl Candidate<'_> {
    /// The number of the superblock in the drive.
    #[must_use]
    pub const fn superblock(&self) -> SuperblockId {
        SuperblockId::new(self.superblock)
    }

    /// Valid mapping units of the superblock: collection copies them.
    #[must_use]
    pub const fn valid(&self) -> u32 {
        self.valid
    }

    /// Invalid mapping units of the superblock: collection gains their space.
    #[must_use]
    pub const fn invalid(&self) -> u32 {
        self.all.slots - self.valid
    }

    /// All mapping units that the superblock holds, valid or not.
    #[must_use]
    pub const fn units(&self) -> u32 {
        self.all.slots
    }

    /// The share of the superblock's mapping units that are valid, from 0 to 1.
    #[must_use]
    pub fn utilization(&self) -> f64 {
        f64::from(self.valid) / f64::from(self.all.slots)
    }

    /// One more than the number of superblocks of any pool that have been closed since this superblock was.
    #[must_use]
    pub fn age(&self) -> u64 {
        self.all.ages.closed_since(self.superblock) + 1
    }

    /// The time since the superblock was closed; for a superblock that a mount found, since the simulation began. While
    /// a drive is preconditioned no time passes.
    #[must_use]
    pub fn time(&self) -> Span {
        self.all.moment.now.saturating_since(self.all.ages.closed_at(self.superblock))
    }

    /// The number of erases of the superblock.
    #[must_use]
    pub fn erases(&self) -> u32 {
        (self.all.moment.erases)(self.superblock())
    }

    /// The number of the write stream that wrote the superblock, among the streams of the host or of copies.
    #[must_use]
    pub fn stream(&self) -> u8 {
        (self.all.moment.stream)(self.superblock()).number()
    }

    /// True if collection or wear levelling wrote the superblock.
    #[must_use]
    pub fn is_of_copies(&self) -> bool {
        !(self.all.moment.stream)(self.superblock()).is_host()
    }

    /// The versions of the superblock's mapping units, if the policy [asks](super::VictimPolicy::asks_for_unit_ages).
    fn versions(&self) -> Option<UnitVersions> {
        self.all.unit_ages.and_then(|ages| ages.of(self.superblock))
    }

    /// Writes since the superblock's youngest mapping unit was written; 0 if the policy does not
    /// [ask](super::VictimPolicy::asks_for_unit_ages). A copy keeps the age of its original. Mapping units that became
    /// invalid before the superblock was a candidate do not count; those that become invalid later do.
    #[must_use]
    pub fn youngest(&self) -> u32 {
        self.versions().map_or(0, |versions| self.all.moment.latest.saturating_sub(versions.newest))
    }

    /// Writes since the superblock's oldest mapping unit was written, counted as in [`Self::youngest`].
    #[must_use]
    pub fn oldest(&self) -> u32 {
        self.versions().map_or(0, |versions| self.all.moment.latest.saturating_sub(versions.oldest))
    }

    /// Writes since the superblock's mapping units were written, on average, counted as in [`Self::youngest`].
    #[must_use]
    pub fn mean_age(&self) -> f64 {
        self.versions().map_or(0.0, |versions| (f64::from(self.all.moment.latest) - versions.mean).max(0.0))
    }
}

impl fmt::Debug for Candidate<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "superblock {} with {} of {} units valid", self.superblock, self.valid, self.all.slots)
    }
}

impl fmt::Debug for Candidates<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.by_age()).finish()
    }
}
