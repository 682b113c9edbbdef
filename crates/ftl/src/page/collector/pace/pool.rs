//! A pool that is short of free superblocks, as a collection policy sees it.

use std::fmt;

use base::units::{DieId, Span, Time};

use crate::page::block_manager::BlockManager;
use crate::page::block_manager::pool::Pool;
use crate::port::Flash;

/// A pool that collects garbage, or could: a die, or a group of its planes that work together.
#[derive(Clone, Copy)]
pub struct CollectionPool<'a> {
    blocks: &'a BlockManager,
    flash: &'a Flash<'a>,
    number: u32,
    latest: Time,
}

impl<'a> CollectionPool<'a> {
    pub(super) const fn new(blocks: &'a BlockManager, flash: &'a Flash<'a>, number: u32, latest: Time) -> Self {
        Self { blocks, flash, number, latest }
    }

    fn pool(&self) -> &'a Pool {
        &self.blocks.pools[self.number as usize]
    }

    /// The number of the pool. Plane groups of a die have successive numbers, and so have the dies of a channel.
    #[must_use]
    pub const fn number(&self) -> u32 {
        self.number
    }

    /// The die of the pool; the first die if superblocks lie in several.
    #[must_use]
    pub fn die(&self) -> DieId {
        self.pool().die
    }

    /// Free superblocks of the pool.
    #[must_use]
    pub fn free(&self) -> u32 {
        self.pool().free.len()
    }

    /// The number of free superblocks at which collection starts.
    #[must_use]
    pub const fn start(&self) -> u32 {
        self.blocks.gc.start
    }

    /// The number of free superblocks at which collection stops.
    #[must_use]
    pub const fn stop(&self) -> u32 {
        self.blocks.gc.stop
    }

    /// The most copies that the description allows in progress.
    #[must_use]
    pub const fn parallel(&self) -> u32 {
        self.blocks.gc.parallel
    }

    /// Copies of the pool in progress. A copy fills one program.
    #[must_use]
    pub fn copies(&self) -> u32 {
        self.pool().gc.copies
    }

    /// Erases of the pool in progress.
    #[must_use]
    pub fn erases(&self) -> u32 {
        self.pool().gc.erases
    }

    /// Mapping units that wait for a superblock of the pool.
    #[must_use]
    pub fn waiting(&self) -> u32 {
        self.pool().queue.waiting.len() as u32
    }

    /// Lists with programs of the host in progress in the pool.
    #[must_use]
    pub fn writes(&self) -> u32 {
        self.pool().queue.under_way
    }

    /// Flash commands that wait or are in progress in the dies of the pool.
    #[must_use]
    pub fn commands(&self) -> u32 {
        self.blocks.load(self.flash, self.number)
    }

    /// The share of valid mapping units in the candidate with the fewest; 1 without a candidate.
    #[must_use]
    pub fn utilization(&self) -> f64 {
        let victims = &self.blocks.victims[self.blocks.kind_in(self.number)];
        let valid = victims.cheapest(self.number).and_then(|superblock| victims.valid(superblock));
        valid.map_or(1.0, |valid| f64::from(valid) / f64::from(self.blocks.layout.shape.superblock_slots()))
    }

    /// The present simulated time.
    #[must_use]
    pub const fn now(&self) -> Time {
        self.flash.now
    }

    /// The time since the latest request reached the FTL: a read, a write or a discard of the host, or of its write buffer.
    #[must_use]
    pub fn idle(&self) -> Span {
        self.flash.now.saturating_since(self.latest)
    }
}

impl fmt::Debug for CollectionPool<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pool {} with {} free superblocks and {} copies", self.number, self.free(), self.copies())
    }
}
