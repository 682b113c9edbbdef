//! The steps of a question on its core.

use base::units::Span;

use super::super::super::backing::{Access, Backing, Cause, StepOutcome};
use super::super::super::layout;
use super::{Core, Next, Stage};

/// The result of a step: its cost, the page to store if there is one, and the stage or effect that follows.
type StepEffect = (Span, Option<u32>, Next);

impl<B: Backing> Core<B> {
    /// Searches the CMT for the block of the question.
    pub(super) fn find(&mut self, task: usize) -> Result<StepEffect, Cause> {
        let cost = self.costs.packet
            + self.costs.tag * self.cmt.cache.ways()
            + self.costs.sync * u64::from(self.partition.cores - 1);
        let key = self.key_of(task);
        match self.cmt.cache.find(key) {
            Some(block) if self.cmt.cache.block(block).transient => Err(self.block_cause(key)),
            Some(block) => {
                self.counters.cmt_hits += 1;
                Ok(self.serve(task, block, cost))
            }
            None => {
                let taken = self.place(task, None, cost)?;
                self.counters.cmt_misses += 1;
                Ok(taken)
            }
        }
    }

    /// Finds a place in the CMT for the block of the question, and starts to fill it.
    pub(super) fn place(&mut self, task: usize, wanted: Option<usize>, cost: Span) -> Result<StepEffect, Cause> {
        let key = self.key_of(task);
        if let Some(block) = self.cmt.cache.find(key) {
            // Another question has loaded the block meanwhile.
            return match self.cmt.cache.block(block).transient {
                true => Err(self.block_cause(key)),
                false => Ok(self.serve(task, block, cost)),
            };
        }
        let free = |block: &usize| !self.cmt.cache.block(*block).dirty && !self.cmt.cache.block(*block).transient;
        let (victim, looked) = match wanted.filter(free) {
            Some(block) => (Some(block), 0),
            None => self.cmt.cache.victim(key, |_| true),
        };
        let victim = victim.ok_or_else(|| self.block_cause(key))?;
        let cost = cost + self.costs.victim * looked;
        if self.cmt.cache.block(victim).dirty {
            let (tvpn, _) = self.partition.page_of(self.cmt.cache.key(victim));
            return Ok((cost, None, Next::Step(Stage::Scan(tvpn, Some(victim)))));
        }
        self.cmt.cache.allocate(victim, key);
        // The place is taken: if the backing must wait, the step ends here with the cost so far.
        Ok(self.load_block(task, victim, cost).unwrap_or((cost, None, Next::Step(Stage::Load(victim)))))
    }

    /// Fills the block from the backing, and answers the question.
    pub(super) fn load_block(&mut self, task: usize, block: usize, spent: Span) -> Result<StepEffect, Cause> {
        let (tvpn, at) = self.partition.page_of(self.cmt.cache.key(block));
        let flushed = self.cmt.pages.is_locked(self.partition.own_number(tvpn))
            && !(self.shared_loads && self.tasks.waiting.is_loading(tvpn));
        if flushed && self.tasks[task].page.is_none() && self.backing.page(tvpn).is_none() {
            // A load issued now could still be in progress when the page is stored, and would return the old version.
            return Err(Cause::Page(tvpn));
        }
        let state = &mut self.tasks[task];
        let access = Access { tvpn, loaded: state.page.as_ref(), costs: &self.costs, counters: &mut self.counters };
        let step = self.backing.load_block(access, at, self.cmt.entries.of_mut(block));
        let cost = spent + step.cost;
        match step.outcome {
            StepOutcome::Wait(cause) => Err(cause),
            StepOutcome::Load => {
                state.stage = Stage::Load(block);
                Ok((cost, step.store, Next::Load(tvpn)))
            }
            StepOutcome::Done => {
                state.page = None;
                self.cmt.cache.finish_load(block);
                self.tasks.waiting.release(Cause::Block(self.cmt.cache.set_of(block)));
                let (cost, _, next) = self.serve(task, block, cost);
                Ok((cost, step.store, next))
            }
        }
    }

    /// Writes back the dirty blocks of a page.
    pub(super) fn merge(&mut self, task: usize, tvpn: u32, wanted: Option<usize>) -> Result<StepEffect, Cause> {
        if self.tasks[task].page.is_some() && self.tasks.waiting.is_loading(tvpn) {
            // A load in progress could last until the page is stored, and would return the old version.
            return Err(Cause::Page(tvpn));
        }
        let page = self.partition.own_number(tvpn);
        let mut found = std::mem::take(&mut self.cmt.found);
        found.clear();
        found.extend(self.cmt.pages.dirty_blocks(page));
        let state = &mut self.tasks[task];
        let access = Access { tvpn, loaded: state.page.as_ref(), costs: &self.costs, counters: &mut self.counters };
        let (cmt, layout) = (&self.cmt, &self.partition.layout);
        let blocks = found.iter().map(|block| (layout.page_of(cmt.cache.key(*block)).1, cmt.entries.of(*block)));
        let step = self.backing.merge(access, blocks);
        let taken = match step.outcome {
            StepOutcome::Wait(cause) => Err(cause),
            StepOutcome::Load => Ok((step.cost, step.store, Next::Load(tvpn))),
            StepOutcome::Done => {
                state.page = None;
                self.counters.flushes += 1;
                self.counters.flushed_blocks += found.len() as u64;
                found.iter().for_each(|block| self.cmt.cache.make_clean(*block));
                self.cmt.pages.written_back(page);
                let next = match state.question {
                    Some(_) => Next::Step(Stage::Place(wanted)),
                    None => Next::Done(None),
                };
                Ok((step.cost, step.store, next))
            }
        };
        self.cmt.found = found;
        taken
    }

    fn serve(&mut self, task: usize, block: usize, cost: Span) -> StepEffect {
        let (_, ask) = self.tasks[task].question.expect("a question");
        let offset = self.partition.layout.offset(&ask);
        let (answer, changed) = layout::serve(&ask, &mut self.cmt.entries.of_mut(block)[offset..]);
        self.cmt.cache.touch(block);
        if changed && self.cmt.cache.make_dirty(block) {
            self.cmt.pages.add_dirty(self.partition.layout.split(self.cmt.cache.key(block)).0, block);
        }
        (cost + self.costs.command_for(&answer), None, Next::Done(Some(answer)))
    }

    /// The cause for which a question waits: no block of the set of `key` has its data, or the block of `key` has not.
    fn block_cause(&self, key: u32) -> Cause {
        Cause::Block(self.cmt.cache.set_number(key))
    }

    fn key_of(&self, task: usize) -> u32 {
        let (_, ask) = self.tasks[task].question.expect("a question");
        self.partition.key(self.partition.layout.block_of(&ask))
    }
}
