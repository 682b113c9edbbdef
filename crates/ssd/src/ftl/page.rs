//! The page-mapped FTL: a full map in RAM, logs in every die, garbage collection behind them.
//!
//! What happens to a write: [`super::placement`] names a pool (a die, or a group of its planes), the
//! unit joins the program that is being put together there, the program goes to the pool's open
//! superblock, and when it is done the map is updated. Not before: an FTL learns only from completions.

mod blocks;
mod collect;
mod finish;
mod map;
mod mount;
mod pool;
mod read;
mod rescue;
mod wear;
mod write;

use std::collections::VecDeque;

use flash::backend::{Command, List, Observer};
use flash::engine::{Handle, Rng};
use flash::nand::{Geometry, Media, Sector, Spare};
use flash::units::{DieId, Lpn, Psn, Span};

use super::placement::Placer;
use super::victim::Victims;
use super::{Flash, Unit};
use crate::Resolved;
use crate::sabotage::{Planted, Sabotage};
use crate::spec::{GcSpec, WearSpec};

use blocks::Blocks;
use map::Map;
use pool::Pool;

/// What a list of the FTL is for; its tag in the backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
enum Kind {
    Read,
    Write,
    Copy,
    Erase,
}

impl Kind {
    fn of(list: &List) -> Self {
        [Self::Read, Self::Write, Self::Copy, Self::Erase][list.tag() as usize]
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
    map: Map,
    blocks: Blocks,
    pools: Vec<Pool>,
    placer: Placer,
    victims: Victims,
    rng: Rng,
    /// The version of the latest write.
    version: u32,
    planted: Planted,
    /// The pools of each NVM set, in ascending order; the first are all.
    sets: Vec<Vec<u32>>,
    /// For each set, units that no pool of it has room for until others have been programmed.
    homeless: Vec<VecDeque<Unit>>,
    /// Units that the request under way has put to waiting since the placement last moved on.
    waited: u32,
    /// The NVM set of whom the latest of them came from.
    waited_set: u32,
    /// Pools that the request under way has a program or a list in.
    touched: Vec<u32>,
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
        let pools = geometry.die_count() * geometry.groups();
        let sets = &resolved.host.queues.sets;
        let mut ftl = Self {
            one_shot: resolved.backend.timing.one_shot,
            whole_rows: resolved.gang > 1 || resolved.backend.timing.one_shot > 1,
            gc: resolved.ftl.gc.clone(),
            wear: resolved.ftl.wear.clone(),
            copy_back: resolved.copy_back,
            map: Map::new(resolved.units),
            blocks: Blocks::new(&geometry),
            pools: (0..pools).map(|i| Pool::new(&geometry, i, resolved.ftl.wear.dynamic)).collect(),
            placer: Placer::new(&resolved.ftl.placement, &geometry, sets),
            victims: Victims::new(resolved.ftl.gc.victim, &geometry),
            rng: Rng::stream(seed ^ resolved.planted.whim(), "ftl.gc"),
            version: 0,
            planted: resolved.planted,
            sets: sets
                .iter()
                .map(|set| (0..pools).filter(|pool| set.contains(&DieId::new(pool / geometry.groups()))).collect())
                .collect(),
            homeless: vec![VecDeque::new(); sets.len()],
            waited: 0,
            waited_set: 0,
            touched: Vec::new(),
            reading: vec![None; geometry.die_count() as usize],
            read_dies: Vec::new(),
            geometry,
        };
        ftl.recover(media);
        ftl
    }

    /// Mapping units the host can address.
    pub(crate) fn units(&self) -> u32 {
        self.map.len()
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

    /// Forgets a unit: it reads as zeros, until something is written there. After a power cut an older
    /// copy may be found again.
    pub(crate) fn discard(&mut self, lpn: Lpn) {
        if self.planted.is(Sabotage::DiscardForgotten) {
            return;
        }
        if let Some(old) = self.map.clear(lpn) {
            self.invalidate(old);
        }
    }

    /// What a collection with [`Sabotage::CollectionDrops`] does to a valid unit: it forgets it, books and all.
    fn drop_unit<S: Sector, O: Observer>(&mut self, flash: &Flash<'_, S, O>, psn: Psn) {
        if let Spare::Data { lpn, .. } = flash.backend.media().spare(psn) {
            self.discard(lpn);
        }
    }

    /// Starts to fetch what will be needed to look a unit up.
    #[inline]
    pub(crate) fn fetch(&self, unit: usize) {
        self.map.fetch(unit);
    }

    /// Whether a unit is mapped.
    pub(crate) fn is_mapped(&self, lpn: Lpn) -> bool {
        self.map.get(lpn).is_some()
    }

    fn service(list: &List) -> super::Service {
        super::Service { wait: list.wait(), waited_for: list.waited_for() }
    }

    /// Checks everything that must hold between two events. Slow: for tests.
    ///
    /// # Panics
    /// If something does not hold.
    pub(crate) fn check<S: Sector>(&self, media: &Media<S>) {
        let mut valid = vec![0u32; self.geometry.superblock_count() as usize];
        for lpn in (0..self.map.len()).map(Lpn::new) {
            let Some(psn) = self.map.get(lpn) else { continue };
            let (superblock, _) = self.geometry.locate(psn);
            valid[superblock.index()] += 1;
            assert!(self.blocks.is_valid(psn), "{lpn} maps to {psn}, which is not marked valid");
            match media.spare(psn) {
                flash::nand::Spare::Data { lpn: found, .. } => {
                    assert_eq!(found, lpn, "{lpn} maps to {psn}, which holds {found}");
                }
                other => panic!("{lpn} maps to {psn}, which holds {other:?}"),
            }
        }
        for (i, count) in valid.iter().enumerate() {
            let superblock = flash::units::SuperblockId::new(i as u32);
            assert_eq!(self.blocks.valid(superblock), *count, "valid count of {superblock}");
        }
        for (i, pool) in self.pools.iter().enumerate() {
            let range = i as u32 * self.geometry.blocks..(i as u32 + 1) * self.geometry.blocks;
            let sum: u32 = range.map(|sb| valid[sb as usize]).sum();
            assert_eq!(pool.live - pool.in_flight, sum, "live units of pool {i}");
        }
    }

    /// The time a scan of all spare areas takes when all channels work at once: every programmed row is
    /// read, and the spare bytes of its pages cross the channel.
    pub(crate) fn scan_time<S: Sector>(resolved: &Resolved, media: &Media<S>) -> Span {
        let geometry = media.geometry();
        let timing = &resolved.backend.timing;
        let mut array = vec![Span::ZERO; geometry.die_count() as usize];
        let mut bus = vec![Span::ZERO; geometry.channels as usize];
        let row = geometry.row_slots();
        for superblock in (0..geometry.superblock_count()).map(flash::units::SuperblockId::new) {
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
