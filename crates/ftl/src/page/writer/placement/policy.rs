//! The pools that can take a write, as a placement policy sees them.

use std::fmt;

use base::units::{Bytes, ChannelId, DieId, Lpn, SECTOR, Sectors};

use super::Placer;
use crate::page::block_manager::BlockManager;
use crate::page::block_manager::pool::Pool;
use crate::port::{Flash, Origin, Owners, PageWrite};

/// Chooses the pool of each mapping unit that the host writes.
///
/// A function that gives each pool a score is a policy: the highest score is chosen, and of several the pool whose turn
/// is next. A policy has no state of its own, so equal drives place equal writes alike.
pub trait PlacementPolicy: Send + Sync {
    /// The pool for a write. If the policy chooses none, the first pool takes the write.
    fn choose<'c>(&self, pools: &'c PlacementPools<'_>) -> Option<PlacementPool<'c>>;
}

impl<F: Fn(&PlacementPool<'_>) -> f64 + Send + Sync> PlacementPolicy for F {
    fn choose<'c>(&self, pools: &'c PlacementPools<'_>) -> Option<PlacementPool<'c>> {
        pools.best(self)
    }
}

impl fmt::Debug for dyn PlacementPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a placement policy")
    }
}

/// The pools from which a [`PlacementPolicy`] chooses: those that the write may go to and that have room for it.
///
/// A pool is a die, or a group of its planes that work together.
#[derive(Clone, Copy)]
pub struct PlacementPools<'a> {
    pub(super) placer: &'a Placer,
    pub(super) blocks: &'a BlockManager,
    pub(super) flash: &'a Flash<'a>,
    pub(super) owners: &'a dyn Owners,
    pub(super) set: u32,
    pub(super) unit: &'a PageWrite,
    /// The index of the pool whose turn is next.
    pub(super) first: usize,
}

/// A pool that can take a write.
#[derive(Clone, Copy)]
pub struct PlacementPool<'a> {
    all: &'a PlacementPools<'a>,
    pub(super) number: u32,
    pub(super) turn: u32,
}

impl PlacementPools<'_> {
    /// All pools with room, from the pool whose turn is next on. That is the pool of the previous write while a program
    /// there takes more mapping units, otherwise the pool behind it.
    pub fn each(&self) -> impl Iterator<Item = PlacementPool<'_>> {
        let (pools, slots) = (&self.placer.turns[self.set as usize].pools, self.blocks.layout.shape.superblock_slots());
        let from_next = (0..pools.len()).map(|i| pools[(self.first + i) % pools.len()]);
        let with_room = (0..).zip(from_next).filter(move |(_, pool)| self.blocks.pools[*pool as usize].has_room(slots));
        with_room.map(|(turn, number)| PlacementPool { all: self, number, turn })
    }

    /// The pool with the highest score; of several, the pool whose turn is next. A score that is not a number is lower
    /// than all others.
    pub fn best(&self, mut score: impl FnMut(&PlacementPool<'_>) -> f64) -> Option<PlacementPool<'_>> {
        let mut best: Option<(PlacementPool<'_>, f64)> = None;
        for pool in self.each() {
            let score = score(&pool);
            if best.is_none_or(|(_, highest)| score > highest || (highest.is_nan() && !score.is_nan())) {
                best = Some((pool, score));
            }
        }
        best.map(|(pool, _)| pool)
    }

    /// The mapping unit that is written.
    #[must_use]
    pub const fn lpn(&self) -> Lpn {
        self.unit.lpn
    }

    /// The address of the mapping unit, in bytes from the begin of the drive.
    #[must_use]
    pub fn address(&self) -> Bytes {
        Bytes::new(u64::from(self.unit.lpn.get()) * u64::from(self.blocks.layout.shape.sectors) * SECTOR.get())
    }

    /// The size of the request; for a write of the drive's own, the size of a mapping unit.
    #[must_use]
    pub fn request(&self) -> Sectors {
        let Origin { sectors, .. } = self.owners.origin(self.unit.owner);
        Sectors::new(u64::from(if sectors == 0 { self.blocks.layout.shape.sectors } else { sectors }))
    }

    /// The number of the submission queue of the request; 0 for a write of the drive's own.
    #[must_use]
    pub fn queue(&self) -> u32 {
        self.owners.origin(self.unit.owner).queue.into()
    }

    /// The number of the write stream of the mapping unit; 0 if the drive has only one stream.
    #[must_use]
    pub fn stream(&self) -> u8 {
        self.unit.stream.map_or(0, |stream| stream.number())
    }
}

impl<'a> PlacementPool<'a> {
    fn pool(&self) -> &'a Pool {
        &self.all.blocks.pools[self.number as usize]
    }

    fn commands_of(&self, die: u32) -> u32 {
        self.all.flash.backend.load(DieId::new(die))
    }

    /// The number of the pool. Plane groups of a die have successive numbers, and so have the dies of a channel.
    #[must_use]
    pub const fn number(&self) -> u32 {
        self.number
    }

    /// The distance of the pool in turns: 0 for the pool whose turn is next.
    #[must_use]
    pub const fn turn(&self) -> u32 {
        self.turn
    }

    /// The die of the pool; the first die if superblocks lie in several.
    #[must_use]
    pub fn die(&self) -> DieId {
        self.pool().die
    }

    /// The channel of the pool's die.
    #[must_use]
    pub fn channel(&self) -> ChannelId {
        self.all.blocks.layout.array.channel_of(self.die())
    }

    /// The number of the pool's plane group in its die.
    #[must_use]
    pub fn group(&self) -> u32 {
        self.number % self.all.blocks.layout.shape.groups()
    }

    /// Flash commands that wait or are in progress in the dies of the pool.
    #[must_use]
    pub fn commands(&self) -> u32 {
        self.all.blocks.load(self.all.flash, self.number)
    }

    /// Flash commands of all dies of the channel that wait or are in progress. The call takes time in proportion to the
    /// number of the channel's dies.
    #[must_use]
    pub fn channel_commands(&self) -> u32 {
        let geometry = &self.all.blocks.layout.array;
        let dies = geometry.die_count() / geometry.channels;
        let first = self.channel().get() * dies;
        (first..first + dies).map(|die| self.commands_of(die)).sum()
    }

    /// Mapping units of the pool that wait for a free superblock.
    #[must_use]
    pub fn waiting(&self) -> u32 {
        self.pool().queue.waiting.len() as u32
    }

    /// Mapping units that are on their way to the pool: in programs under assembly or in progress, or waiting.
    #[must_use]
    pub fn promised(&self) -> u32 {
        self.pool().in_flight
    }

    /// True if the pool has a program that further mapping units may join. The program may be padded if they go
    /// elsewhere.
    #[must_use]
    pub fn is_filling(&self) -> bool {
        self.pool().queue.each_list().any(|of| of.program.is_some())
    }

    /// Free superblocks of the pool.
    #[must_use]
    pub fn free(&self) -> u32 {
        self.pool().free.len()
    }

    /// Mapping units that are valid in the pool or on their way to it.
    #[must_use]
    pub fn live(&self) -> u32 {
        self.pool().live
    }

    /// Mapping units for which the pool still has room.
    #[must_use]
    pub fn room(&self) -> u32 {
        self.pool().limit(self.all.blocks.layout.shape.superblock_slots()).saturating_sub(self.live())
    }

    /// True while the pool collects garbage.
    #[must_use]
    pub fn is_collecting(&self) -> bool {
        let gc = &self.pool().gc;
        gc.active || !gc.victims.is_empty() || gc.erases > 0
    }

    /// The pools to choose from, and the write.
    #[must_use]
    pub const fn pools(&self) -> &'a PlacementPools<'a> {
        self.all
    }
}

impl fmt::Debug for PlacementPool<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pool {} of {}, with {} commands", self.number, self.die(), self.commands())
    }
}

impl fmt::Debug for PlacementPools<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.each()).finish()
    }
}
