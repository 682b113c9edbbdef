//! The page-mapped FTL: a map, logs in every die, garbage collection behind them.
//!
//! What happens to a write: [`super::placement`] names a pool (a die, or a group of its planes), the
//! unit joins the program that is being put together there, the program goes to the pool's open
//! superblock, and when it is done the map is updated. Not before: an FTL learns only from completions.
//!
//! The map is a table in RAM that answers at once, or a [map unit](super::map_unit) that is asked and answers later
//! ([`mapping`]); everything else is the same. A map unit may keep the map in translation pages on flash: these are
//! ordinary units behind those of the host, in pools of their own ([`translation`]).

mod answer;
mod asking;
mod blocks;
mod check;
mod collect;
mod finish;
mod gather;
mod map;
mod mapping;
mod mount;
mod pool;
mod read;
mod rescue;
mod translation;
mod wear;
mod write;

use std::collections::VecDeque;

use base::engine::{Handle, Rng};
use base::units::{DieId, Lpn, Psn, Span, SuperblockId};
use flash::backend::{Command, List};
use flash::nand::{Geometry, Media, Sector};

use super::Unit;
use super::placement::Placer;
use super::victim::Victims;
use crate::Resolved;
use crate::sabotage::Planted;
use crate::spec::{GcSpec, WearSpec};

use blocks::Blocks;
use gather::Gather;
use mapping::Mapping;
use pool::{ByContent, Holds, Pool};

pub(crate) use translation::MapPages;

/// What a list of the FTL is for; its tag in the backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
enum Kind {
    Read,
    Write,
    Copy,
    Erase,
    Load,
}

impl Kind {
    fn of(list: &List) -> Self {
        [Self::Read, Self::Write, Self::Copy, Self::Erase, Self::Load][list.tag() as usize]
    }
}

/// A page-mapped FTL.
#[derive(Clone, Debug)]
pub(crate) struct PageFtl {
    geometry: Geometry,
    /// Rows that one program covers.
    one_shot: u32,
    /// True if a program always takes whole rows: the chips are ganged or it is one-shot.
    whole_rows: bool,
    gc: GcSpec,
    wear: WearSpec,
    copy_back: bool,
    /// Mapping units the host can address.
    units: u32,
    mapping: Mapping,
    blocks: Blocks,
    /// One for each plane group, and as many for translation pages if there are any: those have the superblocks
    /// that they need, and no more.
    pools: Vec<Pool>,
    /// The number of plane groups.
    groups: u32,
    placer: Placer,
    /// The closed superblocks of the pools of data, and those of the pools of translation pages.
    victims: ByContent<Victims>,
    rng: Rng,
    /// The version of the latest write.
    version: u32,
    planted: Planted,
    /// The pools of each NVM set, in ascending order; the first are all that hold data, the last those that hold
    /// translation pages.
    sets: Vec<Vec<u32>>,
    /// For each set, units that no pool of it has room for until others have been programmed.
    homeless: Vec<VecDeque<Unit>>,
    /// Units that recovery found.
    found: u32,
    /// Where the units of the copy that has just ended were, without those that the map unit is asked for.
    moved: Vec<Psn>,
    /// Pools in which answers of the map unit have changed something.
    stirred: Vec<u32>,
    /// Units that the request under way has put to waiting since the placement last moved on.
    waited: u32,
    /// The NVM set of whom the latest of them came from.
    waited_set: u32,
    /// Pools that the request under way has a program or a list in.
    touched: Vec<u32>,
    gather: Option<Gather>,
    /// The read lists that the request under way has open, by die.
    reading: Vec<Option<(Handle<List>, Handle<Command>)>>,
    read_dies: Vec<u32>,
}

/// Superblocks that a pool cannot promise to the host: the open ones of both streams, and one that
/// garbage collection can always copy into.
pub(crate) const RESERVED: u32 = 3;

impl PageFtl {
    /// The FTL of a device, with its state read from the media: a new drive is one where nothing is
    /// found.
    pub(crate) fn mount<S: Sector>(resolved: &Resolved, media: &Media<S>, seed: u64) -> Self {
        let geometry = media.geometry().clone();
        let sets = &resolved.host.queues.sets;
        let groups = geometry.die_count() * geometry.groups();
        let quotas = resolved.map_pages.quotas(&geometry);
        let pool = |i| Pool::new(&geometry, i, resolved.ftl.wear.dynamic, 0);
        let mut pools: Vec<Pool> = (0..groups).map(pool).collect();
        pools.extend((0..).zip(quotas).map(|(i, quota)| Pool::new(&geometry, i, resolved.ftl.wear.dynamic, quota)));
        let mut ftl = Self {
            one_shot: resolved.backend.timing.one_shot,
            whole_rows: resolved.gang > 1 || resolved.backend.timing.one_shot > 1,
            gc: resolved.ftl.gc.clone(),
            wear: resolved.ftl.wear.clone(),
            copy_back: resolved.copy_back,
            units: resolved.units,
            // Recovery brings it.
            mapping: Mapping::new(0),
            blocks: Blocks::new(&geometry),
            sets: sets
                .iter()
                .map(|set| {
                    let of_die = |die: &DieId| (die.get() * geometry.groups())..((die.get() + 1) * geometry.groups());
                    set.iter().flat_map(of_die).collect()
                })
                .chain([(groups..pools.len() as u32).collect()])
                .collect(),
            homeless: vec![VecDeque::new(); sets.len() + 1],
            pools,
            groups,
            placer: Placer::new(&resolved.ftl.placement, &geometry, sets),
            victims: ByContent {
                data: Victims::new(resolved.ftl.gc.victim, &geometry, 0),
                pages: Victims::new(resolved.ftl.gc.victim, &geometry, groups),
            },
            rng: Rng::stream(seed ^ resolved.planted.whim(), "ftl.gc"),
            version: 0,
            planted: resolved.planted,
            found: 0,
            moved: Vec::new(),
            stirred: Vec::new(),
            waited: 0,
            waited_set: 0,
            touched: Vec::new(),
            gather: resolved.ftl.map_gather.map(Gather::new),
            reading: vec![None; geometry.die_count() as usize],
            read_dies: Vec::new(),
            geometry,
        };
        ftl.recover(resolved, media);
        ftl
    }

    /// Bytes that the FTL of a device takes.
    pub(crate) fn memory(resolved: &Resolved) -> u64 {
        let geometry = &resolved.geometry;
        let groups = u64::from(geometry.die_count()) * u64::from(geometry.groups());
        let kinds = if resolved.map_pages.count > 0 { 2 } else { 1 };
        let pools = kinds * groups * Pool::memory(geometry, resolved.ftl.wear.dynamic);
        // The pools of each set, for placement and for writes that wait.
        let members: u64 = resolved.host.queues.sets.iter().map(|set| set.len() as u64).sum();
        let sets = 2 * members * u64::from(geometry.groups()) * size_of::<u32>() as u64;
        let reading = u64::from(geometry.die_count()) * size_of::<Option<(Handle<List>, Handle<Command>)>>() as u64;
        mapping::memory(resolved) + Blocks::memory(geometry) + pools + sets + 2 * Victims::memory(geometry) + reading
    }

    /// Bytes that a mount takes besides: what has been programmed, by its age.
    pub(crate) fn memory_of_mount(resolved: &Resolved) -> u64 {
        crate::memory::growing(u64::from(resolved.geometry.superblock_count()), 24)
    }

    /// Mapping units the host can address.
    pub(crate) const fn units(&self) -> u32 {
        self.units
    }

    /// Units that recovery found.
    pub(crate) const fn found(&self) -> u32 {
        self.found
    }

    /// The pool of a superblock.
    #[inline]
    fn pool_of(&self, superblock: SuperblockId) -> u32 {
        let group = self.geometry.group_of(superblock);
        if self.blocks.is_map(superblock) { self.groups + group } else { group }
    }

    /// What a unit is.
    #[inline]
    const fn kind_of(&self, lpn: Lpn) -> Holds {
        if lpn.get() < self.units { Holds::Data } else { Holds::Pages }
    }

    /// What the units of a pool are.
    #[inline]
    const fn kind_in(&self, pool: u32) -> Holds {
        if pool < self.groups { Holds::Data } else { Holds::Pages }
    }

    /// The pools for data, or for translation pages.
    fn pools_for(&self, kind: Holds) -> std::ops::Range<u32> {
        match kind {
            Holds::Data => 0..self.groups,
            Holds::Pages => self.groups..self.pools.len() as u32,
        }
    }

    /// Free superblocks.
    pub(crate) fn free_blocks(&self) -> u64 {
        self.pools.iter().map(|pool| pool.free.len() as u64).sum()
    }

    /// The version of the latest write.
    pub(crate) const fn latest_version(&self) -> u32 {
        self.version
    }

    /// The version for the next request: all its units share it.
    ///
    /// # Panics
    /// After 2^32 - 1 writes.
    pub(crate) fn next_version(&mut self) -> u32 {
        self.version = self.version.checked_add(1).expect("2^32 writes: versions in the spare areas are used up");
        self.version
    }

    fn service(list: &List) -> super::Service {
        super::Service { wait: list.wait(), waited_for: list.waited_for() }
    }

    /// The time a scan of all spare areas takes when all channels work at once: every programmed row is
    /// read, and the spare bytes of its pages cross the channel.
    pub(crate) fn scan_time<S: Sector>(resolved: &Resolved, media: &Media<S>) -> Span {
        let geometry = media.geometry();
        let timing = &resolved.backend.timing;
        let mut array = vec![Span::ZERO; geometry.die_count() as usize];
        let mut bus = vec![Span::ZERO; geometry.channels as usize];
        let row = geometry.row_slots();
        for superblock in (0..geometry.superblock_count()).map(base::units::SuperblockId::new) {
            if media.is_erased(superblock) {
                continue;
            }
            let die = geometry.die_of(superblock);
            for page in 0..geometry.pages {
                let mut slots = (0..row).map(|i| media.spare(geometry.slot(superblock, page * row + i)));
                if slots.any(|spare| spare != flash::nand::Spare::Empty) {
                    array[die.index()] += timing.read[page as usize % timing.read.len()];
                    bus[geometry.channel_of(die).index()] += resolved.spare_transfer * u64::from(geometry.stripe);
                }
            }
        }
        array.into_iter().chain(bus).max().unwrap_or(Span::ZERO)
    }
}
