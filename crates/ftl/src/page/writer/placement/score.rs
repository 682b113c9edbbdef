//! Placement by a formula of the description: the pool with the highest score takes the write.

use base::units::SECTOR;

use super::{PlacementPolicy, PlacementPool, PlacementPools};
use crate::formula::{Formula, FormulaError};

/// A formula of the description, as a policy.
pub(super) struct Score {
    formula: Formula,
}

/// The names that a formula may use: the numbers of a pool, then the numbers of the write.
const NAMES: [&str; 18] = [
    "pool",
    "die",
    "channel",
    "group",
    "turn",
    "commands",
    "channel_commands",
    "waiting",
    "promised",
    "filling",
    "free",
    "live",
    "room",
    "collecting",
    "address",
    SIZE,
    QUEUE,
    "stream",
];

const SIZE: &str = "size";
const QUEUE: &str = "queue";

impl Score {
    pub(super) fn parse(text: &str) -> Result<Self, FormulaError> {
        Formula::parse(text, &NAMES).map(|formula| Self { formula })
    }
}

impl Score {
    /// True if the value depends on the request that brought the data.
    pub(super) fn asks_for_requests(&self) -> bool {
        let names = [SIZE, QUEUE].map(|wanted| NAMES.iter().position(|name| *name == wanted));
        names.into_iter().flatten().any(|name| self.formula.uses(name))
    }
}

impl PlacementPolicy for Score {
    fn choose<'c>(&self, pools: &'c PlacementPools<'_>) -> Option<PlacementPool<'c>> {
        let flag = |is: bool| f64::from(u8::from(is));
        pools.best(|pool| {
            self.formula.value(|name| match name {
                0 => f64::from(pool.number()),
                1 => f64::from(pool.die().get()),
                2 => f64::from(pool.channel().get()),
                3 => f64::from(pool.group()),
                4 => f64::from(pool.turn()),
                5 => f64::from(pool.commands()),
                6 => f64::from(pool.channel_commands()),
                7 => f64::from(pool.waiting()),
                8 => f64::from(pool.promised()),
                9 => flag(pool.is_filling()),
                10 => f64::from(pool.free()),
                11 => f64::from(pool.live()),
                12 => f64::from(pool.room()),
                13 => flag(pool.is_collecting()),
                14 => pools.address().get() as f64,
                15 => (pools.request().get() * SECTOR.get()) as f64,
                16 => f64::from(pools.queue()),
                _ => f64::from(pools.stream()),
            })
        })
    }
}
