//! The first level: the cached mapping table (Sec. 4.2 to 4.6).
//!
//! The CMT takes the questions. A question that misses stays in the block allocated for it, and the CMT takes the next
//! question; so the CMT can have as many misses in progress as it has blocks.

use std::collections::VecDeque;

use base::units::{Span, Time};

use super::super::arbiter::Arbiter;
use super::super::block_entries::BlockEntries;
use super::super::cache::Cache;
use super::super::costs::{ConditionalCost, Costs};
use super::super::layout::{self, MapLayout};
use super::super::mshrs::{CMT_COND_UPDATE, CMT_LOOKUP, CMT_UPDATE, Mshrs};
use super::super::questions::Questions;
use super::super::{Answer, Ask, Counters, Output, Ticket};
use super::flusher::Flusher;
use super::packet::{CtpRequest, PacketKind};
use super::set_wait_queue::SetWaitQueue;
use super::sizes::Sizes;

/// The effect at the end of a step.
#[derive(Clone, Copy, Debug)]
enum Effect {
    Nothing,
    Answer(Ticket, Answer),
    /// Requests the entries of a block from the CTP.
    Load(usize),
    /// Sends the entries of a block to the CTP.
    Flush(usize),
}

/// The first level and its queues.
#[derive(Clone, Debug)]
pub(super) struct Cmt {
    layout: MapLayout,
    costs: ConditionalCost<Costs>,
    cache: Cache,
    entries: BlockEntries,
    mshrs: Mshrs<(Ticket, Ask)>,
    pub(super) questions: Questions,
    /// Questions that wait for a block of their set.
    set_wait_queue: SetWaitQueue<(Ticket, Ask)>,
    /// Blocks whose data have arrived, and whose responses the CMT has not taken yet.
    responses: VecDeque<usize>,
    /// The turns of responses and of requests.
    classes: Arbiter<2>,
    /// The block whose registers are being served, and the number served so far.
    serving: Option<(usize, usize)>,
    pub(super) flusher: Flusher,
    effect: Effect,
    until: Option<Time>,
}

impl Cmt {
    pub(super) fn new(sizes: &Sizes, costs: Costs) -> Self {
        let blocks = sizes.cmt_blocks;
        let cache = Cache::new(blocks, sizes.cmt_ways, sizes.evict);
        Self {
            layout: sizes.layout,
            costs: ConditionalCost::new(costs),
            set_wait_queue: SetWaitQueue::new(cache.sets(), sizes.set_wait_queue),
            cache,
            entries: BlockEntries::new(blocks, sizes.layout.block),
            mshrs: Mshrs::new(blocks, sizes.layout.block * 4),
            questions: Questions::new(),
            responses: VecDeque::new(),
            classes: Arbiter::new([sizes.responses, 1]),
            serving: None,
            flusher: Flusher::new(sizes),
            effect: Effect::Nothing,
            until: None,
        }
    }

    pub(super) fn until(&self) -> Option<Time> {
        self.until
    }

    pub(super) fn set_timed(&mut self, timed: bool) {
        self.costs.set_timed(timed);
    }

    /// Prefetches the set of a block, because a question about the block will follow.
    #[inline]
    pub(super) fn prefetch(&self, block: u32) {
        self.cache.prefetch(block);
    }

    /// The CTP sends the entries of a block. No step reads them before the step that takes the response.
    pub(super) fn respond(&mut self, block: usize, entries: &[u32]) {
        self.responses.push_back(block);
        self.entries.of_mut(block).copy_from_slice(entries);
    }

    pub(super) fn is_clean(&self) -> bool {
        let idle = self.until.is_none() && self.serving.is_none() && self.responses.is_empty();
        idle && self.questions.is_empty() && self.set_wait_queue.is_empty() && self.cache.dirty() == 0
    }

    /// True if no block remains to be sent to the CTP, as far as is known now.
    pub(super) fn is_flushed(&self) -> bool {
        self.cache.dirty() == 0 && !matches!(self.effect, Effect::Flush(_))
    }

    pub(super) fn mshrs_at_most(&self) -> u64 {
        self.mshrs.at_most()
    }

    #[cfg(test)]
    pub(super) fn state_of(&self, key: u32) -> (bool, bool, usize) {
        let found = self.cache.find(key).expect("a cached block");
        (self.cache.block(found).transient, self.cache.block(found).dirty, self.mshrs.of(found).len())
    }

    #[cfg(test)]
    pub(super) fn dirty_pages(&self) -> Vec<(u32, u32)> {
        self.flusher.dtl.listed()
    }

    /// The entries of a block, if the CMT holds them.
    pub(super) fn cached(&self, block: u32) -> Option<&[u32]> {
        let found = self.cache.find(block)?;
        (!self.cache.block(found).transient).then(|| self.entries.of(found))
    }

    /// Ends the step that is due. Returns a request to the CTP and its entries, if the step has one.
    pub(super) fn finish(&mut self, counters: &mut Counters, out: &mut Output) -> Option<(CtpRequest, &[u32])> {
        self.until = None;
        let request = |block, kind| {
            let (tvpn, at) = self.layout.page_of(self.cache.key(block));
            CtpRequest { tvpn, at, kind }
        };
        match std::mem::replace(&mut self.effect, Effect::Nothing) {
            Effect::Nothing => None,
            Effect::Answer(ticket, answer) => {
                counters.questions += 1;
                out.answers.push((ticket, answer));
                None
            }
            Effect::Load(block) => Some((request(block, PacketKind::Load(block)), &[])),
            Effect::Flush(block) => Some((request(block, PacketKind::Flush), self.entries.of(block))),
        }
    }

    /// Starts a step if there is work. Without `room` in the queue to the CTP the CMT takes only responses, which need
    /// no place there; so the two levels never wait for each other in a circle.
    pub(super) fn begin(&mut self, now: Time, room: bool, counters: &mut Counters) {
        if self.until.is_none()
            && let Some(cost) = self.step(room, counters)
        {
            counters.count_work(0, cost, matches!(self.effect, Effect::Flush(_)));
            self.until = Some(now + cost);
        }
    }

    fn step(&mut self, room: bool, counters: &mut Counters) -> Option<Span> {
        if self.serving.is_some() {
            return Some(self.serve_register());
        }
        let clean = self.cache.len() - self.cache.dirty();
        self.flusher.update(clean);
        // A batch of flushed blocks and one packet alternate, so that no question waits for a whole flush (Sec. 4.5).
        if room
            && self.flusher.has_turn()
            && let Some(cost) = self.flush(counters)
        {
            return Some(cost);
        }
        loop {
            let ready = if room { self.questions.ready() } else { [false; 2] };
            let set_wait_queue = room && self.set_wait_queue.is_ready();
            let class = self.classes.pick([!self.responses.is_empty(), set_wait_queue || ready[0] || ready[1]]);
            let cost = match class {
                Some(0) => Some(self.fill()),
                Some(_) if set_wait_queue => self.retry_waiting(counters),
                Some(_) => {
                    let queue = self.questions.pick(ready).expect("one is ready");
                    let cost = self.question(queue, counters);
                    if cost.is_none() {
                        self.questions.stall(queue);
                    }
                    cost
                }
                None => return if room { self.flush(counters) } else { None },
            };
            if cost.is_some() {
                self.flusher.packet_taken();
                return cost;
            }
        }
    }

    /// Takes the response of the CTP to a block: the block has its data.
    fn fill(&mut self) -> Span {
        let block = self.responses.pop_front().expect("a response");
        self.cache.finish_load(block);
        self.serving = Some((block, 0));
        self.costs.packet + self.costs.entry * u64::from(self.layout.block)
    }

    /// Serves the next register of a filled block, in the order of the questions (Sec. 4.3).
    fn serve_register(&mut self) -> Span {
        let (block, served) = self.serving.expect("a block being served");
        let (ticket, ask) = self.mshrs.of(block)[served];
        self.serving = Some((block, served + 1));
        if served + 1 == self.mshrs.of(block).len() {
            self.mshrs.clear(block);
            self.serving = None;
            self.questions.resume();
            self.set_wait_queue.note_change(self.cache.set_of(block));
        }
        self.costs.list + self.serve(block, ticket, &ask)
    }

    fn serve(&mut self, block: usize, ticket: Ticket, ask: &Ask) -> Span {
        let offset = self.layout.offset(ask);
        let (answer, changed) = layout::serve(ask, &mut self.entries.of_mut(block)[offset..]);
        self.cache.touch(block);
        self.effect = Effect::Answer(ticket, answer);
        if !changed {
            return self.costs.command_for(&answer);
        }
        let (tvpn, _) = self.layout.page_of(self.cache.key(block));
        if self.cache.make_dirty(block) {
            self.flusher.dtl.register(tvpn, block);
            return self.costs.list;
        }
        self.flusher.dtl.touch(tvpn);
        Span::ZERO
    }

    /// Takes the first question of a queue; none if that question must wait and holds up the questions behind it.
    fn question(&mut self, queue: usize, counters: &mut Counters) -> Option<Span> {
        let (ticket, ask) = self.questions.first(queue);
        let set = self.cache.set_number(self.layout.block_of(&ask));
        // A question behind other questions of its set does not even search the set.
        let tried = if self.set_wait_queue.waits(set) { None } else { self.carry_out(ticket, ask, counters) };
        let cost = match tried {
            None if self.set_wait_queue.is_used() => {
                self.set_wait_queue.push(set, (ticket, ask));
                self.costs.packet + self.costs.tag * self.cache.ways() + self.costs.list
            }
            tried => tried?,
        };
        self.questions.pop(queue);
        Some(cost)
    }

    /// Takes a question from a wait queue; none if the question must keep waiting.
    fn retry_waiting(&mut self, counters: &mut Counters) -> Option<Span> {
        let (ticket, ask) = self.set_wait_queue.first().expect("one is ready");
        let cost = self.carry_out(ticket, ask, counters);
        if cost.is_some() {
            self.set_wait_queue.went_on();
        } else {
            self.set_wait_queue.still_waits();
        }
        cost
    }

    /// Serves a question, or keeps it in a block that waits for its data; none if neither is possible.
    fn carry_out(&mut self, ticket: Ticket, ask: Ask, counters: &mut Counters) -> Option<Span> {
        let key = self.layout.block_of(&ask);
        let mut cost = self.costs.packet + self.costs.tag * self.cache.ways();
        match self.cache.find(key) {
            Some(block) if !self.cache.block(block).transient => {
                counters.cmt_hits += 1;
                cost += self.serve(block, ticket, &ask);
            }
            Some(block) => {
                cost += self.log(block, ticket, ask)?;
                counters.cmt_misses += 1;
            }
            None => {
                let (victim, looked) = self.cache.victim(key, |state| !state.dirty);
                let Some(block) = victim else {
                    // No block can be dropped until one of the set has been flushed (Sec. 4.4).
                    let dirty = self.cache.set(key).find(|block| self.cache.block(*block).dirty);
                    if let Some(block) = dirty {
                        self.flusher.force(self.layout.page_of(self.cache.key(block)).0);
                    }
                    return None;
                };
                self.cache.allocate(block, key);
                cost += self.costs.victim * looked;
                cost += self.log(block, ticket, ask).expect("the first register of a block fits");
                self.effect = Effect::Load(block);
                counters.cmt_misses += 1;
            }
        }
        Some(cost)
    }

    /// Keeps a question in the registers of the block that waits for its data; none if they are full.
    fn log(&mut self, block: usize, ticket: Ticket, ask: Ask) -> Option<Span> {
        let bytes = match ask {
            Ask::Lookup { .. } => CMT_LOOKUP,
            Ask::Update { .. } => CMT_UPDATE,
            Ask::CondUpdate { .. } => CMT_COND_UPDATE,
        };
        self.mshrs.push(block, bytes, (ticket, ask)).then_some(self.costs.list)
    }

    /// Sends the next dirty block to the CTP, if some block is to be flushed.
    #[inline(always)]
    #[allow(clippy::inline_always)] // Nearly every step asks, and mostly no block is to be flushed.
    fn flush(&mut self, counters: &mut Counters) -> Option<Span> {
        if !self.flusher.has_work() {
            return None;
        }
        self.flush_next(counters)
    }

    fn flush_next(&mut self, counters: &mut Counters) -> Option<Span> {
        let (block, looked) = self.flusher.next_block(counters)?;
        let cost = self.costs.victim * looked;
        self.cache.make_clean(block as usize);
        self.questions.resume();
        self.set_wait_queue.note_change(self.cache.set_of(block as usize));
        self.effect = Effect::Flush(block as usize);
        Some(cost + self.costs.packet + self.costs.list + self.costs.entry * u64::from(self.layout.block))
    }
}
