//! CDFTL: a second level of whole translation pages (CTP) between the CMT and flash (Sec. 5.1 and 5.2; the scheme
//! is Qin et al., RTAS 2011).
//!
//! Blocks of the CMT are filled from the second level and written back to it. A dirty page that leaves the second level
//! is stored as a whole, without a read before.

use std::ops::Range;

use base::units::{Divisor, Span};
use flash::nand::Image;

use super::backing::{Access, Backing, Cause, StepOutcome, StepResult};
use super::block_state::CacheBlockState;
use super::cache::Cache;
use super::costs::Costs;
use super::evict::EvictSpec;
use super::pages::Pages;
use super::write_buffers::WriteBuffers;

#[derive(Clone, Debug)]
pub(super) struct SecondLevel {
    core: u32,
    cores: Divisor,
    /// The cache of pages. Its key is the page number divided by the number of cores, so that the pages of a core
    /// spread over all sets.
    ctp: Cache,
    pages: Pages,
    buffers: WriteBuffers,
    /// The set in which a page has received its data, or has become clean, since the core last asked.
    freed: Option<u32>,
}

/// True if a loaded page can leave the second level: the page is clean, or there is a buffer to store it from. A page
/// that became dirty during its store must stay, because a page has one store at a time.
fn may_go(state: &CacheBlockState, buffers: &WriteBuffers, (core, cores): (u32, u32)) -> bool {
    !state.dirty || state.key.is_some_and(|key| buffers.has_room(key * cores + core))
}

/// The result of the search for a page.
enum LookupResult {
    /// The page is in this block.
    Here(usize),
    /// The page is absent, or not loaded yet.
    Not(StepOutcome),
}

impl SecondLevel {
    /// The second level of one of several cores, with `pages.0` pages in sets of `pages.1`.
    pub(super) fn new((core, cores): (u32, u32), pages: (u32, u32), size: u32, buffers: u32, evict: EvictSpec) -> Self {
        let ctp = Cache::new(pages.0, pages.1, evict);
        let (pages, buffers) = (Pages::new(pages.0, size), WriteBuffers::new(buffers));
        Self { core, cores: Divisor::new(cores), ctp, pages, buffers, freed: None }
    }

    fn tvpn(&self, block: usize) -> u32 {
        self.ctp.key(block) * self.cores.get() + self.core
    }

    fn key(&self, tvpn: u32) -> u32 {
        self.cores.quotient(tvpn)
    }

    /// Brings a page into the second level. Also returns the cost, and the page that the caller is to store.
    fn bring(&mut self, access: &mut Access<'_>) -> (LookupResult, Span, Option<u32>) {
        let (tvpn, costs) = (access.tvpn, access.costs);
        let mut cost = costs.tag * self.ctp.ways();
        let key = self.key(tvpn);
        let found = self.ctp.find(key);
        if let (Some(block), true) = (found, access.loaded.is_some()) {
            assert!(self.ctp.block(block).transient, "the block was kept for what was loaded");
            self.ctp.finish_load(block);
            self.freed = Some(self.ctp.set_of(block));
            // The loaded page costs nothing here: the controller has transferred it, and the tags were compared at the
            // miss.
            return (LookupResult::Here(block), Span::ZERO, None);
        }
        let wait = |cause| (LookupResult::Not(StepOutcome::Wait(cause)), Span::ZERO, None);
        match found {
            Some(block) if self.ctp.block(block).transient => return wait(Cause::Page(tvpn)),
            Some(block) => {
                access.counters.ctp_hits += 1;
                self.ctp.touch(block);
                return (LookupResult::Here(block), cost, None);
            }
            None => {}
        }
        let set = self.ctp.set_number(key);
        if !self.has_room(set) {
            return wait(Cause::Place(set));
        }
        let Self { ctp, buffers, cores, core, .. } = self;
        let (victim, looked) = ctp.victim(key, |state| may_go(state, buffers, (*core, cores.get())));
        let block = victim.expect("the set has room");
        cost += costs.victim * looked;
        let mut store = None;
        if self.ctp.block(block).dirty {
            assert!(self.buffer(block), "a dirty victim has a buffer");
            store = Some(self.tvpn(block));
            cost += costs.issue;
        }
        access.counters.ctp_misses += 1;
        self.ctp.allocate(block, key);
        if let Some(page) = self.buffers.get(tvpn) {
            // The page is being stored, and no newer version exists.
            self.pages.put(block, Some(page));
            self.ctp.finish_load(block);
            self.freed = Some(self.ctp.set_of(block));
            return (LookupResult::Here(block), cost, store);
        }
        (LookupResult::Not(StepOutcome::Load), cost + costs.issue, store)
    }

    /// Copies a dirty page into a write buffer, to store it from there; returns false if no buffer is free.
    fn buffer(&mut self, block: usize) -> bool {
        let claimed = self.buffers.claim(self.tvpn(block), self.pages.get(block).clone());
        if claimed {
            self.ctp.make_clean(block);
        }
        claimed
    }
}

impl Backing for SecondLevel {
    const KEEPS_PAGES: bool = true;

    fn keep_page(&mut self, tvpn: u32, image: Option<&Image>) {
        let block = self.ctp.find(self.key(tvpn)).filter(|block| self.ctp.block(*block).transient);
        self.pages.put(block.expect("the block was kept for what was loaded"), image);
    }

    fn load_block(&mut self, mut access: Access<'_>, at: usize, block: &mut [u32]) -> StepResult {
        let costs = access.costs;
        let (found, cost, store) = self.bring(&mut access);
        match found {
            LookupResult::Not(outcome) => StepResult { cost, store, outcome },
            LookupResult::Here(page) => {
                block.copy_from_slice(&self.pages.get(page)[at..at + block.len()]);
                StepResult { cost: cost + costs.entry * block.len() as u64, store, outcome: StepOutcome::Done }
            }
        }
    }

    fn merge<'a>(&mut self, mut access: Access<'_>, blocks: impl Iterator<Item = (usize, &'a [u32])>) -> StepResult {
        let costs = access.costs;
        let (found, mut cost, store) = self.bring(&mut access);
        let page = match found {
            LookupResult::Not(outcome) => return StepResult { cost, store, outcome },
            LookupResult::Here(page) => page,
        };
        for (at, block) in blocks {
            self.pages.change(page)[at..at + block.len()].copy_from_slice(block);
            self.ctp.make_dirty(page);
            cost += costs.entry * block.len() as u64;
        }
        StepResult { cost, store, outcome: StepOutcome::Done }
    }

    fn evict(&mut self, costs: &Costs) -> Option<StepResult> {
        let block = (0..self.ctp.len() as usize).find(|block| self.ctp.block(*block).dirty && self.buffer(*block))?;
        self.freed = Some(self.ctp.set_of(block));
        Some(StepResult { cost: costs.issue, store: Some(self.tvpn(block)), outcome: StepOutcome::Done })
    }

    fn stored(&mut self, tvpn: u32) -> Range<u32> {
        let were_full = self.buffers.are_full();
        self.buffers.release(tvpn);
        let set = self.ctp.set_number(self.key(tvpn));
        if were_full { 0..self.ctp.sets() } else { set..set + 1 }
    }

    fn take_freed(&mut self) -> Option<u32> {
        self.freed.take()
    }

    fn sets(&self) -> u32 {
        self.ctp.sets()
    }

    fn has_room(&self, set: u32) -> bool {
        let may_go = |state: &CacheBlockState| may_go(state, &self.buffers, (self.core, self.cores.get()));
        self.ctp.blocks_of(set).iter().any(|state| !state.transient && may_go(state))
    }

    fn is_clean(&self) -> bool {
        self.ctp.dirty() == 0 && self.buffers.is_empty()
    }

    fn page(&self, tvpn: u32) -> Option<&Image> {
        let cached = self.ctp.find(self.key(tvpn)).filter(|block| !self.ctp.block(*block).transient);
        cached.map(|block| self.pages.get(block)).or_else(|| self.buffers.get(tvpn))
    }

    fn image(&self, tvpn: u32) -> &Image {
        self.buffers.get(tvpn).expect("a page that is being stored")
    }

    fn recycle(&mut self, image: Image) {
        self.pages.recycle(image);
    }
}
