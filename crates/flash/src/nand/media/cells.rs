//! The state on which the bit errors of pages depend: the time of each page's program, and the reads of each block.
//!
//! Only arrays that count errors have this state: four bytes for a page, nine for a block. The media know no time. The
//! caller of a program or a read passes the *cell clock*: seconds at the temperature of the part's table of errors, so
//! that a second in the heat is several. The clock goes on from run to run: a snapshot has it, and time without power
//! adds to it.

use std::sync::Arc;

use base::engine::Rng;
use base::units::{Age, Psn, SuperblockId, Temperature, Time};

use super::Media;
use crate::nand::errors::{Attempt, ErrorModel, PageProperties, Powers};

/// The reads of an array that counts errors, since its counters were reset.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ErrorCounters {
    /// The number of read commands, by the number of attempts after the first.
    pub by_retries: Vec<u64>,
    /// Codewords read; a codeword with several attempts counts once.
    pub codewords: u64,
    /// The sum of the raw bit error rates of these codewords, as a read without retry meets them.
    pub rber_sum: f64,
    /// Read commands that took soft decoding.
    pub soft: u64,
    /// Mapping units that stayed uncorrectable.
    pub uncorrectable: u64,
}

impl ErrorCounters {
    /// The counts since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let before = |i: usize| earlier.by_retries.get(i).copied().unwrap_or(0);
        Self {
            by_retries: self.by_retries.iter().enumerate().map(|(i, count)| count - before(i)).collect(),
            codewords: self.codewords - earlier.codewords,
            rber_sum: self.rber_sum - earlier.rber_sum,
            soft: self.soft - earlier.soft,
            uncorrectable: self.uncorrectable - earlier.uncorrectable,
        }
    }
}

/// The errors of a page as far as a controller knows them after a read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PageErrors {
    /// Time since the program, in seconds at the temperature of the flash with power.
    pub age_s: f64,
    /// Reads of the pages of the block since the block's erase.
    pub reads: u32,
    /// The mean number of wrong bits of a codeword, as a share of the wrong bits that the decoder corrects from one
    /// read.
    pub share_of_limit: f64,
}

#[derive(Clone, Debug)]
pub(super) struct CellState {
    pub(super) model: Arc<ErrorModel>,
    /// For each page, the cell clock when it was programmed.
    pub(super) programmed: Vec<u32>,
    /// For each block, the reads of its pages since its erase.
    pub(super) reads: Vec<u32>,
    /// For each block, the last retry step that has succeeded.
    pub(super) steps: Vec<u8>,
    /// The cell clock at the start of simulated time.
    pub(super) start: f64,
    /// The present cell clock, in seconds.
    pub(super) clock: u32,
    rng: Rng,
    counters: ErrorCounters,
    powers: Powers,
}

impl CellState {
    pub(super) fn new(model: &Arc<ErrorModel>, (pages, blocks): (u32, u32), seed: u64) -> Self {
        Self {
            model: model.clone(),
            programmed: vec![0; pages as usize],
            reads: vec![0; blocks as usize],
            steps: vec![0; blocks as usize],
            start: 0.0,
            clock: 0,
            rng: Rng::stream(seed, "nand.errors"),
            counters: ErrorCounters { by_retries: vec![0; model.most_attempts()], ..ErrorCounters::default() },
            powers: Powers::new(),
        }
    }

    /// Bytes of the state of an array with `pages` pages and `blocks` blocks.
    pub(super) fn memory(pages: u64, blocks: u64) -> u64 {
        4 * pages + 5 * blocks + Powers::memory()
    }
}

impl Media {
    /// Gives the array bit errors after `model`; none if it is `None`.
    #[must_use]
    pub fn with_errors(mut self, model: Option<&Arc<ErrorModel>>, seed: u64) -> Self {
        let shape = (self.geometry.slot_count() / self.geometry.slots, self.geometry.block_count());
        self.cells = model.map(|model| Box::new(CellState::new(model, shape, seed)));
        self
    }

    /// True if reads have bit errors.
    #[must_use]
    pub const fn has_errors(&self) -> bool {
        self.cells.is_some()
    }

    /// Sets the cell clock to the simulated time `now`.
    pub fn set_clock(&mut self, now: Time) {
        if let Some(cells) = &mut self.cells {
            cells.clock = (cells.start + now.as_secs_f64() * cells.model.pace(None)) as u32;
        }
    }

    /// Adds a time without power, at a temperature, to the age of all data.
    pub fn age(&mut self, age: Age, temperature: Temperature) {
        if let Some(cells) = &mut self.cells {
            let aged = age.as_secs() as f64 * cells.model.pace(Some(temperature));
            cells.start += aged;
            cells.clock = (f64::from(cells.clock) + aged) as u32;
        }
    }

    /// The counters of reads since their latest reset; none if reads have no errors.
    #[must_use]
    pub fn error_counters(&self) -> Option<&ErrorCounters> {
        self.cells.as_ref().map(|cells| &cells.counters)
    }

    /// Sets the counters of reads with errors to zero.
    pub fn reset_error_counters(&mut self) {
        if let Some(cells) = &mut self.cells {
            let by_retries = vec![0; cells.counters.by_retries.len()];
            cells.counters = ErrorCounters { by_retries, ..ErrorCounters::default() };
        }
    }

    /// Notes the cell clock at a page's program.
    #[inline]
    pub(super) fn note_program(&mut self, psn: Psn) {
        if let Some(cells) = &mut self.cells {
            cells.programmed[(psn.get() / self.geometry.slots) as usize] = cells.clock;
        }
    }

    /// Forgets the reads and the retry step of erased blocks.
    #[inline]
    pub(super) fn note_erase(&mut self, superblock: SuperblockId) {
        if let Some(cells) = &mut self.cells {
            let first = self.geometry.block(superblock, 0).index();
            let blocks = first..first + self.geometry.stripe as usize;
            cells.reads[blocks.clone()].fill(0);
            cells.steps[blocks].fill(0);
        }
    }

    fn block_of(&self, psn: Psn) -> (usize, u32) {
        let (superblock, offset) = self.geometry.locate(psn);
        let (page, plane) = self.geometry.page_and_plane(offset);
        (self.geometry.block(superblock, plane).index(), page)
    }

    /// The step with which reads of a slot begin.
    pub(crate) fn first_step(&self, psn: Psn) -> u8 {
        match &self.cells {
            Some(cells) if cells.model.remembers() => cells.steps[self.block_of(psn).0],
            _ => 0,
        }
    }

    /// The properties of a slot's page on which its errors depend.
    fn page_of(&self, cells: &CellState, psn: Psn) -> PageProperties {
        let (block, index) = self.block_of(psn);
        let (mode, cycles) = (self.blocks[block].mode, self.cycles_of(&self.blocks[block]));
        let programmed = cells.programmed[(psn.get() / self.geometry.slots) as usize];
        let age_s = cells.clock.saturating_sub(programmed);
        PageProperties { block: block as u32, index, mode, cycles, age_s, reads: cells.reads[block] }
    }

    /// The errors of the page of a slot, at the time of the latest read; none if the array has no errors.
    #[must_use]
    pub fn page_errors(&self, psn: Psn) -> Option<PageErrors> {
        let cells = self.cells.as_ref()?;
        let page = self.page_of(cells, psn);
        Some(PageErrors {
            age_s: f64::from(page.age_s) / cells.model.pace(None),
            reads: page.reads,
            share_of_limit: cells.model.share_of_limit(cells.model.rber(&page, &cells.powers)),
        })
    }

    /// Draws the errors of the codewords of a slot. Returns the attempt that corrects them, if the first attempt has
    /// `step`.
    pub(crate) fn attempt(&mut self, psn: Psn, step: u8, codewords: u32) -> Attempt {
        let Some(page) = self.cells.as_ref().map(|cells| self.page_of(cells, psn)) else { return Attempt::Step(0) };
        let Some(cells) = &mut self.cells else { return Attempt::Step(0) };
        let CellState { model, rng, counters, powers, .. } = &mut **cells;
        model.remember_powers(&page, powers);
        let rber = model.rber(&page, powers);
        counters.codewords += u64::from(codewords);
        counters.rber_sum += rber * f64::from(codewords);
        model.attempt(rber, step, codewords, rng)
    }

    /// Remembers a retry step that has succeeded: reads of the blocks of these slots begin with this step, or with a
    /// later step, from now on.
    pub(crate) fn remember_step(&mut self, psns: impl Iterator<Item = Psn>, step: u8) {
        for psn in psns {
            let (block, _) = self.block_of(psn);
            let Some(cells) = &mut self.cells else { return };
            cells.steps[block] = cells.steps[block].max(step);
        }
    }

    /// Counts the attempts of a read command, which disturb the blocks of its pages.
    pub(crate) fn note_attempts(&mut self, psns: impl Iterator<Item = Psn>, (retries, attempt): (u8, Attempt)) {
        let mut last = None;
        for psn in psns {
            let page = psn.get() / self.geometry.slots;
            if last.replace(page) == Some(page) {
                continue;
            }
            let (block, _) = self.block_of(psn);
            let Some(cells) = &mut self.cells else { return };
            cells.reads[block] = cells.reads[block].saturating_add(1 + u32::from(retries));
        }
        let Some(cells) = &mut self.cells else { return };
        cells.counters.by_retries[usize::from(retries)] += 1;
        let corrected_hard = matches!(attempt, Attempt::Step(_));
        cells.counters.soft += u64::from(!corrected_hard && cells.model.decoding().soft.is_some());
    }

    /// Marks the data of a slot as uncorrectable.
    #[cold]
    pub fn lose(&mut self, psn: Psn) {
        self.tentative.remove(&psn.get());
        if self.unreadable.insert(psn.get()) {
            self.store_change(psn, 1);
        }
        if let Some(cells) = &mut self.cells {
            cells.counters.uncorrectable += 1;
        }
    }
}
