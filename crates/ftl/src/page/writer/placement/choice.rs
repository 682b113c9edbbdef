//! Placement by a policy: a formula of the description or a policy of the program compares the pools for each write.

use std::sync::Arc;

use base::fault::Faults;

use super::own::POLICIES;
use super::score::Score;
use super::{Digits, PlacementPolicy, PlacementPool, PlacementPools, PlacementSpec, Placer};
use crate::page::block_manager::BlockManager;
use crate::page::writer::Writer;
use crate::port::{Flash, Owners, PageWrite};

impl PlacementSpec {
    /// A formula for the conformance suite and the swarm, which uses numbers of the pool and of the write.
    #[must_use]
    pub fn sample_score(order: Digits) -> Self {
        let score = "2 * filling - commands - waiting - (address / 8192 > pool) + collecting".into();
        Self::Score { score, order }
    }

    /// True if the pool of a write depends on the request that brought the data.
    #[must_use]
    pub(crate) fn asks_for_requests(&self) -> bool {
        match self {
            Self::Score { score, .. } => Score::parse(score).is_ok_and(|score| score.asks_for_requests()),
            Self::Own { .. } => true,
            _ => false,
        }
    }

    /// True if a formula or a policy of the program chooses the pools.
    pub(in crate::page) const fn is_by_policy(&self) -> bool {
        matches!(self, Self::Score { .. } | Self::Own { .. })
    }

    /// Adds the faults of the formula, or of the policy's name.
    pub(crate) fn check(&self, faults: &mut Faults) {
        match self {
            Self::Score { score, .. } => {
                if let Err(error) = Score::parse(score) {
                    faults.add("ftl.placement.score", error.to_string(), "e.g. \"10 * filling - commands\"");
                }
            }
            Self::Own { name, version, .. } => {
                POLICIES.check(("ftl.placement.name", "ftl.placement.version"), name, version.as_deref(), faults);
            }
            _ => {}
        }
    }

    /// The description, with the version if a policy of the program is registered under its name.
    pub(crate) fn written_out(self) -> Self {
        match self {
            Self::Own { name, order, .. } => {
                let version = POLICIES.version(&name);
                Self::Own { name, version, order }
            }
            other => other,
        }
    }

    /// The policy that chooses the pools; none if the placement compares no pools.
    pub(super) fn policy(&self) -> Option<Arc<dyn PlacementPolicy>> {
        match self {
            Self::Score { score, .. } => Some(Arc::new(Score::parse(score).expect("the description is checked"))),
            Self::Own { name, .. } => Some(POLICIES.policy(name).expect("the description is checked")),
            _ => None,
        }
    }
}

impl Placer {
    /// True if a policy chooses the pools.
    #[inline]
    pub(in crate::page) const fn has_policy(&self) -> bool {
        self.policy.is_some()
    }
}

impl Writer {
    /// The pool that the placement's policy chooses for a write of host data; none if no pool of the set has room.
    #[inline(never)]
    pub(in crate::page) fn place_by_policy(
        &mut self,
        blocks: &BlockManager,
        flash: &Flash<'_>,
        owners: &dyn Owners,
        set: u32,
        unit: &PageWrite,
    ) -> Option<u32> {
        let turns = &self.placer.turns[set as usize];
        let fills = |pool: u32| blocks.pools[pool as usize].queue.each_list().any(|of| of.program.is_some());
        let first = turns.next + usize::from(!fills(turns.pools[turns.next]));
        let pools = PlacementPools { placer: &self.placer, blocks, flash, owners, set, unit, first };
        let policy = self.placer.policy.as_ref().expect("the placement has a policy");
        let PlacementPool { number, turn, .. } = policy.choose(&pools).or_else(|| pools.each().next())?;
        let turns = &mut self.placer.turns[set as usize];
        turns.next = (first + turn as usize) % turns.pools.len();
        Some(number)
    }
}

#[cfg(test)]
mod tests;
