//! Registered policies, a map unit and an FTL of this crate, for the keys that name such and for settings of the
//! conformance suite. The FTL has one open block for the host and one for copies, and collects the block with the
//! fewest valid pages.

use std::collections::VecDeque;

use base::units::{Bytes, Lpn, Psn, SuperblockId};
use ftl::map_unit::{AnyMapUnit, CachedBlock, DftlSpec, MapSpec, register_eviction_policy, register_map_unit};
use ftl::simple::{CommandEnd, SimpleCommands, SimpleDrive, SimpleFtl, SimpleWrite};
use ftl::{
    Candidate, CollectionPool, HostWrite, PlacementPool, RegisterError, StreamPolicy, register_collection_policy,
    register_placement_policy, register_simple_ftl, register_stream_policy, register_victim_policy,
};

/// The number of free blocks that are reserved for copies.
const KEPT: usize = 2;

/// An FTL that always collects the block with the fewest valid pages.
#[derive(Clone, Debug, Default)]
struct Fewest {
    pages: u32,
    /// The number of free blocks at which collection begins.
    start: usize,
    map: Vec<Option<Psn>>,
    free: VecDeque<SuperblockId>,
    full: Vec<SuperblockId>,
    /// The open blocks of the host and of copies, each with its next page.
    open: [Option<(SuperblockId, u32)>; 2],
    waiting: VecDeque<SimpleWrite>,
    victim: Option<SuperblockId>,
    to_copy: VecDeque<Psn>,
    copying: u32,
}

impl Fewest {
    /// Returns the next page for the host (`of` = 0) or for copies (`of` = 1), and opens a block if necessary.
    fn next_page(&mut self, of: usize) -> Option<Psn> {
        if self.open[of].is_none() && self.free.len() > KEPT * (1 - of) {
            self.open[of] = self.free.pop_front().map(|block| (block, 0));
        }
        let (block, page) = self.open[of].take()?;
        if page + 1 < self.pages {
            self.open[of] = Some((block, page + 1));
        } else {
            self.full.push(block);
        }
        Some(Psn::new(block.get() * self.pages + page))
    }

    fn go_on(&mut self, flash: &mut SimpleCommands<'_, '_>) {
        while let Some(from) = self.to_copy.front().copied() {
            let Some(to) = self.next_page(1) else { break };
            self.to_copy.pop_front();
            self.copying += 1;
            flash.copy(from, to);
        }
        while !self.waiting.is_empty() {
            let Some(to) = self.next_page(0) else { break };
            let write = self.waiting.pop_front().expect("it waits");
            let old = self.map[write.lpn().index()];
            flash.program(write, to, old);
        }
        if self.victim.is_none() && self.free.len() <= self.start {
            self.collect(flash);
        }
        if flash.under_way() == 0 {
            self.waiting.drain(..).for_each(|write| flash.refuse(write));
        }
    }

    fn collect(&mut self, flash: &mut SimpleCommands<'_, '_>) {
        let settled = self.full.iter().copied().filter(|block| flash.programs(*block) == 0);
        let valid = settled.map(|block| (flash.valid_pages(block, &self.map).count() as u32, block));
        let Some((_, victim)) = valid.min().filter(|(valid, _)| *valid < self.pages) else { return };
        self.full.retain(|block| *block != victim);
        self.victim = Some(victim);
        self.to_copy = flash.valid_pages(victim, &self.map).collect();
        if self.to_copy.is_empty() {
            flash.erase(victim);
        } else {
            self.go_on(flash);
        }
    }
}

impl SimpleFtl for Fewest {
    fn mount(drive: &SimpleDrive<'_>) -> Self {
        let (pages, start) = (drive.geometry.superblock_slots(), drive.option("start", 4.0) as usize);
        let (free, mut full): (Vec<_>, Vec<_>) = drive.blocks().partition(|block| drive.is_erased(*block));
        // Copies continue in the block with the most pages left.
        let left = |block: &SuperblockId| drive.next_page(*block).map_or(0, |page| pages - page);
        full.sort_by_key(left);
        let copies = full.pop_if(|block| left(block) > 0).map(|block| (block, pages - left(&block)));
        Self { pages, start, map: drive.newest(), free: free.into(), full, open: [None, copies], ..Self::default() }
    }

    fn place(&self, lpn: Lpn) -> Option<Psn> {
        self.map[lpn.index()]
    }

    fn write(&mut self, flash: &mut SimpleCommands<'_, '_>, write: SimpleWrite) {
        self.waiting.push_back(write);
        self.go_on(flash);
    }

    fn discard(&mut self, lpn: Lpn) {
        self.map[lpn.index()] = None;
    }

    fn done(&mut self, flash: &mut SimpleCommands<'_, '_>, done: CommandEnd) {
        match done {
            CommandEnd::Written { lpn, to } => self.map[lpn.index()] = Some(to),
            CommandEnd::Copied { lpn, from, to } => {
                self.copying -= 1;
                if self.map[lpn.index()] == Some(from) {
                    self.map[lpn.index()] = Some(to);
                }
                if let (Some(victim), 0, true) = (self.victim, self.copying, self.to_copy.is_empty()) {
                    flash.erase(victim);
                }
            }
            CommandEnd::Failed { superblock, copy } => {
                for open in &mut self.open {
                    self.full.extend(open.take_if(|(block, _)| *block == superblock).map(|(block, _)| block));
                }
                self.copying -= u32::from(copy.is_some());
                self.to_copy.extend(copy);
            }
            CommandEnd::Erased(block) => {
                self.free.push_back(block);
                self.victim = None;
            }
            CommandEnd::Retired(_) => self.victim = None,
        }
        self.go_on(flash);
    }
}

/// Registers the map unit `cached`: DFTL, with as much RAM as the description gives.
///
/// # Errors
/// If the name is already registered.
pub(super) fn register_cached() -> Result<(), RegisterError> {
    register_map_unit("cached", "1", |setup| {
        let dftl = DftlSpec { cmt: setup.ram, outstanding: 3, ..DftlSpec::PUBLISHED };
        let page = Bytes::new(u64::from(setup.entries) * 4);
        AnyMapUnit::new(&MapSpec::Dftl(dftl), setup.units, page).expect("a map unit")
    })
}

/// Registers the FTL `fewest`.
///
/// # Errors
/// If the name is already registered.
pub fn register_fewest() -> Result<(), RegisterError> {
    register_simple_ftl::<Fewest>("fewest", "1")
}

/// Registers a victim policy and returns its name for a description.
pub(super) fn victim() -> &'static str {
    let youngest = |block: &Candidate<'_>| -(block.age() as f64);
    register_victim_policy("youngest", "1", youngest).expect("a name of one version");
    "{ policy = \"own\", name = \"youngest\", version = \"1\" }"
}

/// A stream policy that sends neighbouring mapping units to different streams.
#[derive(Clone, Debug)]
struct Neighbours;

impl StreamPolicy for Neighbours {
    fn stream(&mut self, write: &HostWrite) -> u8 {
        (write.lpn.get() % 16) as u8
    }
}

/// Registers a stream policy and returns its name for a description.
pub(super) fn streams() -> &'static str {
    register_stream_policy("neighbours", "1", Neighbours).expect("a name of one version");
    "{ policy = \"own\", name = \"neighbours\", streams = 2, version = \"1\" }"
}

/// Registers an eviction policy and returns its name for a description.
pub(super) fn eviction() -> &'static str {
    let latest = |block: &CachedBlock<'_>| -(block.recency() as f64);
    register_eviction_policy("latest", "1", latest).expect("a name of one version");
    "{ policy = \"own\", name = \"latest\", version = \"1\" }"
}

/// Registers a placement policy and returns its name for a description.
pub(super) fn placement() -> &'static str {
    let emptiest = |pool: &PlacementPool<'_>| f64::from(pool.room()) - f64::from(pool.commands());
    register_placement_policy("emptiest", "1", emptiest).expect("a name of one version");
    "{ policy = \"own\", name = \"emptiest\", version = \"1\" }"
}

/// Registers a collection policy and returns its name for a description.
pub(super) fn pace() -> &'static str {
    let behind = |pool: &CollectionPool<'_>| if pool.writes() > 0 { 0 } else { pool.parallel() };
    register_collection_policy("behind", "1", behind).expect("a name of one version");
    "{ policy = \"own\", name = \"behind\", version = \"1\" }"
}
