//! One core: it executes questions, and steps of the tasks in progress, one after another.
//!
//! A question that needs flash becomes a task that waits. In the published design a core has one task and is idle while
//! the task waits. With more tasks, the core continues with other questions meanwhile. A step takes effect for the
//! caller at its end.

mod cmt;
mod page_states;
mod partition;
mod steps;
mod tasks;
mod waiting;

use base::units::{Span, Time};
use flash::nand::Image;

use super::super::backing::{Backing, Cause, Plan, StepResult};
use super::super::cache::Cache;
use super::super::costs::{ConditionalCost, Costs};
use super::super::entry::encode;
use super::super::questions::Questions;
use super::super::{Answer, Ask, Asker, Counters, Job, Output, Parts, Ticket};
use cmt::Cmt;
use partition::Partition;
use tasks::{Stage, Tasks};

/// The effect at the end of a step.
#[derive(Clone, Copy, Debug)]
enum Next {
    Step(Stage),
    Load(u32),
    Nothing,
    Done(Option<Answer>),
}

#[derive(Clone, Copy, Debug)]
struct RunningTask {
    task: usize,
    until: Time,
    store: Option<u32>,
    next: Next,
}

/// A core with the translation pages that belong to it.
#[derive(Clone, Debug)]
pub(super) struct Core<B> {
    partition: Partition,
    costs: ConditionalCost<Costs>,
    /// True if one load of a page serves all tasks that need the page.
    shared_loads: bool,
    cmt: Cmt,
    backing: B,
    questions: Questions,
    tasks: Tasks,
    /// The content of a page that was never written; all such pages share it.
    empty: Image,
    running: Option<RunningTask>,
    draining: bool,
    loads: u64,
    counters: Counters,
}

impl<B: Backing> Core<B> {
    pub(super) fn new(plan: &Plan, index: u32, backing: B) -> Self {
        let cache = Cache::new(plan.blocks, plan.ways, plan.evict);
        let pages = plan.layout.pages().div_ceil(plan.cores);
        Self {
            partition: Partition::new(plan.layout, index, plan.cores),
            costs: ConditionalCost::new(plan.costs),
            shared_loads: plan.shared_loads,
            cmt: Cmt::new(cache, plan.layout.block, pages),
            questions: Questions::new(),
            tasks: Tasks::new(plan.outstanding, backing.sets()),
            backing,
            empty: Image::new(vec![encode(None); plan.layout.page as usize]),
            running: None,
            draining: false,
            loads: 0,
            counters: Counters::new(1, Parts::Cores),
        }
    }

    pub(super) fn set_timed(&mut self, timed: bool) {
        self.costs.set_timed(timed);
    }

    pub(super) fn set_weights(&mut self, weights: [u32; 2]) {
        self.questions.set_weights(weights);
    }

    pub(super) fn backing(&self) -> &B {
        &self.backing
    }

    pub(super) fn counters(&self) -> &Counters {
        &self.counters
    }

    pub(super) fn until(&self) -> Option<Time> {
        self.running.map(|running| running.until)
    }

    /// The entries of a block, if the core holds them.
    pub(super) fn cached(&self, block: u32) -> Option<&[u32]> {
        self.cmt.cached(self.partition.key(block))
    }

    pub(super) fn ask(&mut self, now: Time, asker: Asker, ticket: Ticket, ask: Ask) {
        self.questions.push(asker, ticket, ask);
        self.begin(now);
    }

    pub(super) fn loaded(&mut self, now: Time, tvpn: u32, image: Option<&Image>) {
        self.loads = self.loads.checked_sub(1).expect("a page that was asked for");
        // Tasks get the page in the order of their age: one task, or all of them if the load is shared.
        while let Some(number) = self.tasks.waiting.take_loading(tvpn) {
            if B::KEEPS_PAGES {
                self.backing.keep_page(tvpn, image);
            }
            self.tasks[number].page = Some(image.unwrap_or(&self.empty).clone());
            self.tasks.waiting.ready(number);
            if !self.shared_loads {
                break;
            }
        }
        self.tasks.waiting.release(Cause::Page(tvpn));
        self.begin(now);
    }

    /// Reuses the memory of a page version that nothing refers to any more.
    pub(super) fn recycle(&mut self, image: Image) {
        self.backing.recycle(image);
    }

    pub(super) fn stored(&mut self, now: Time, tvpn: u32) {
        let sets = self.backing.stored(tvpn);
        self.tasks.waiting.release(Cause::Page(tvpn));
        self.tasks.waiting.release(Cause::Buffer);
        for set in sets {
            base::steps::count();
            if self.tasks.waiting.awaits_place(set) && self.backing.has_room(set) {
                self.tasks.waiting.release_place(set);
            }
        }
        self.tasks.waiting.wake();
        self.begin(now);
    }

    /// Starts to write back all dirty data.
    pub(super) fn drain(&mut self, now: Time) {
        self.draining = true;
        self.begin(now);
    }

    pub(super) fn is_clean(&self) -> bool {
        self.tasks.is_idle() && self.questions.is_empty() && self.cmt.cache.dirty() == 0 && self.backing.is_clean()
    }

    /// Ends the step that was due at `now`, and starts the next step.
    pub(super) fn finish(&mut self, now: Time, out: &mut Output) {
        let RunningTask { task, store, next, .. } = self.running.take().expect("a step that is due");
        if let Some(tvpn) = store {
            self.counters.stores += 1;
            out.jobs.push(Job::Store(tvpn));
        }
        match next {
            Next::Step(stage) => {
                self.tasks[task].stage = stage;
                self.tasks.waiting.ready(task);
            }
            Next::Load(tvpn) => {
                self.counters.loads += 1;
                self.loads += 1;
                self.counters.loads_at_most = self.counters.loads_at_most.max(self.loads);
                // Without a second level a load is for one block, unless blocks are to be merged into the page.
                let is_part = !B::KEEPS_PAGES && matches!(self.tasks[task].stage, Stage::Load(_));
                let entries = self.partition.layout.block;
                out.jobs.push(if is_part { Job::LoadPart { page: tvpn, entries } } else { Job::Load(tvpn) });
                self.wait_for_load(task, tvpn);
                let loading = u64::from(self.tasks.waiting.loading());
                self.counters.mshrs_at_most[0] = self.counters.mshrs_at_most[0].max(loading);
            }
            Next::Nothing => {}
            Next::Done(answer) => {
                if let Some((ticket, _)) = self.tasks.end(task) {
                    self.counters.questions += 1;
                    out.answers.push((ticket, answer.expect("a question is answered")));
                }
            }
        }
        self.tasks.waiting.wake();
        self.begin(now);
    }

    /// Makes a task wait for a load. Other tasks may join a load in progress.
    fn wait_for_load(&mut self, task: usize, tvpn: u32) {
        self.tasks.waiting.wait(task, Cause::Load(tvpn));
        self.tasks.waiting.release(Cause::Page(tvpn));
    }

    /// Starts a step if the core is idle: of the oldest ready task, or of a new one.
    fn begin(&mut self, now: Time) {
        // A task that must wait is not tried again in this loop: the tasks after it change nothing for it.
        while self.running.is_none() {
            let next = self.tasks.waiting.pop().or_else(|| self.open().map(|task| (task, None)));
            let Some((task, place)) = next else { return };
            base::steps::count();
            let stage = self.tasks[task].stage;
            let merges = matches!(stage, Stage::Merge(..) | Stage::Evict);
            let step = self.step(task);
            if let Some(set) = place
                && self.backing.has_room(set)
            {
                self.tasks.waiting.next_in(set);
            }
            match step {
                Ok((cost, store, mut next)) => {
                    self.release(task, stage);
                    // A shared load serves all tasks that need the page, and the page cannot be stored before they have
                    // it. A load in progress may end before this step does, so the task waits from now on.
                    if let Next::Load(tvpn) = next
                        && self.shared_loads
                        && self.tasks.waiting.is_loading(tvpn)
                    {
                        self.wait_for_load(task, tvpn);
                        next = Next::Nothing;
                    }
                    // If a search turned out to be unnecessary, its step counts for the question.
                    let searches = matches!(next, Next::Step(Stage::Merge(..)));
                    self.counters.count_work(0, cost, merges || searches);
                    self.running = Some(RunningTask { task, until: now + cost, store, next });
                }
                Err(cause) => self.tasks.waiting.wait(task, cause),
            }
        }
    }

    /// Begins a task: for the next question, or for a write-back.
    fn open(&mut self) -> Option<usize> {
        if !self.tasks.is_any_free() {
            return None;
        }
        let (question, stage) = match self.questions.pick(self.questions.ready()) {
            Some(queue) => (self.questions.pop(queue), Stage::Find),
            None => (None, self.next_write_back()?),
        };
        Some(self.tasks.begin(question, stage))
    }

    /// The first stage of the next write-back, while the core drains.
    fn next_write_back(&mut self) -> Option<Stage> {
        // One page after another, because a drain is not urgent.
        if !self.draining || self.cmt.pages.locked() > 0 {
            return None;
        }
        if self.cmt.cache.dirty() > 0 {
            let dirty = (0..self.cmt.cache.len() as usize).find(|block| self.cmt.cache.block(*block).dirty)?;
            let tvpn = self.partition.page_of(self.cmt.cache.key(dirty)).0;
            return Some(Stage::Scan(tvpn, None));
        }
        if self.backing.is_clean() {
            self.draining = false;
            return None;
        }
        Some(Stage::Evict)
    }

    /// Releases the tasks that wait for the pages that a step at this stage has changed, or for room in the second
    /// level.
    fn release(&mut self, task: usize, stage: Stage) {
        let written_back = match stage {
            Stage::Scan(tvpn, _) | Stage::Merge(tvpn, _) => Some(tvpn),
            _ => None,
        };
        let asked = self.tasks[task].question.map(|(_, ask)| self.partition.layout.tvpn_of(&ask));
        for tvpn in written_back.into_iter().chain(asked) {
            self.tasks.waiting.release(Cause::Page(tvpn));
        }
        if let Some(set) = self.backing.take_freed() {
            self.tasks.waiting.release_place(set);
        }
    }

    /// Does one step of a task. If the task must wait, returns the cause and changes nothing.
    fn step(&mut self, task: usize) -> Result<(Span, Option<u32>, Next), Cause> {
        match self.tasks[task].stage {
            Stage::Find => self.find(task),
            Stage::Place(wanted) => self.place(task, wanted, Span::ZERO),
            Stage::Scan(tvpn, wanted) => {
                if self.cmt.pages.is_locked(self.partition.own_number(tvpn)) {
                    return Err(Cause::Page(tvpn));
                }
                let stale = |block: &usize| {
                    !self.cmt.cache.block(*block).dirty || self.partition.page_of(self.cmt.cache.key(*block)).0 != tvpn
                };
                if let Some(block) = wanted.filter(stale) {
                    // Another task has written the page back meanwhile, and may have taken the block.
                    return self.place(task, Some(block), Span::ZERO);
                }
                self.cmt.pages.lock(self.partition.own_number(tvpn));
                // No list has the dirty blocks of a page, so the core tests all its blocks (Sec. 5.2).
                Ok((self.costs.scan * u64::from(self.cmt.cache.len()), None, Next::Step(Stage::Merge(tvpn, wanted))))
            }
            Stage::Merge(tvpn, wanted) => self.merge(task, tvpn, wanted),
            Stage::Load(block) => self.load_block(task, block, Span::ZERO),
            Stage::Evict => match self.backing.evict(&self.costs) {
                Some(StepResult { cost, store, .. }) => Ok((cost, store, Next::Done(None))),
                None if self.backing.is_clean() => Ok((Span::ZERO, None, Next::Done(None))),
                None => Err(Cause::Buffer),
            },
        }
    }
}
