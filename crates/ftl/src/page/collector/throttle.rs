//! The throttle: host writes and copies of collection in step.
//!
//! * Each mapping unit that the host writes to a pool with few free superblocks costs copies, and copies earn credit.
//! * The price in balance: a victim with `v` valid units of `s` yields `s - v` units of space for `v` copies. The price
//!   is twice that if no superblock is free, and falls with each free superblock. So a pool under a steady load keeps
//!   about half of its `start` superblocks free.
//! * The host waits while it owes copies, and collection while it is ahead.
//! * No wait lasts for ever: the host waits only for work in progress, and collection never waits while a write waits
//!   for it.

use super::Collector;
use crate::page::block_manager::BlockManager;
use crate::page::block_manager::pool::Holds;
use crate::sabotage::Sabotage;

/// A mapping unit, in the unit of measure of credits.
const UNIT: i64 = 1024;

/// The highest price of a mapping unit, for victims in which nearly every unit is valid.
const DEAREST: i64 = 64 * UNIT;

impl BlockManager {
    /// True if the host may begin a program in a pool.
    pub(in crate::page) fn admits(&self, pool: u32) -> bool {
        let chosen = &self.pools[pool as usize];
        let waits_for = chosen.is_moving() || self.planted.is(Sabotage::ThrottleWaits);
        !self.gc.throttle || self.kind_in(pool) == Holds::Pages || chosen.gc.credit >= 0 || !waits_for
    }

    /// Charges a program that the host begins in a pool.
    pub(in crate::page) fn pay(&mut self, pool: u32, units: u32) {
        if self.gc.throttle && self.kind_in(pool) == Holds::Data {
            let price = self.price(pool);
            self.pools[pool as usize].gc.credit -= price * i64::from(units);
        }
    }

    /// Credits the mapping units of a pool that collection has copied.
    pub(in crate::page) fn earn(&mut self, pool: u32, units: u32) {
        if self.gc.throttle {
            let most = self.most_credit();
            let credit = &mut self.pools[pool as usize].gc.credit;
            *credit = (*credit + UNIT * i64::from(units)).min(most);
        }
    }

    /// The most credit of collection: the credit of `parallel` full programs.
    fn most_credit(&self) -> i64 {
        UNIT * i64::from(self.gc.parallel) * i64::from(self.program_slots())
    }

    /// The present price of a mapping unit of the host in a pool, in 1/1024 of a copy.
    fn price(&self, pool: u32) -> i64 {
        let (free, start) = (i64::from(self.spare_superblocks(pool)), i64::from(self.gc.start.max(1)));
        if free > start {
            return 0;
        }
        let chosen = &self.pools[pool as usize];
        let cheapest = || self.victims[Holds::Data].cheapest(pool).map(|victim| self.table.valid(victim));
        let valid = chosen.gc.victims.last().map(|victim| victim.valid).or_else(cheapest).unwrap_or(0);
        let slots = i64::from(self.layout.shape.superblock_slots());
        let balance = (UNIT * i64::from(valid) / (slots - i64::from(valid)).max(1)).min(DEAREST);
        2 * balance * (start + 1 - free) / (start + 1)
    }
}

impl Collector<'_> {
    /// True if collection of a pool waits, because the host's writes have used up less than it has copied.
    pub(super) fn is_ahead(&self, pool: u32) -> bool {
        let blocks = &self.blocks;
        blocks.gc.throttle
            && blocks.kind_in(pool) == Holds::Data
            && blocks.pools[pool as usize].gc.credit >= blocks.most_credit()
            && !blocks.is_collecting_idle()
            && !self.must_collect(pool)
    }
}

#[cfg(test)]
mod tests;
