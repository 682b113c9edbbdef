//! The second level: cached translation pages (Sec. 4.2, 4.3 and 4.5).
//!
//! The CTP takes loads and flushes from the CMT, loads missing pages, and stores dirty pages in the order in which they
//! became dirty.

use std::collections::VecDeque;

use base::units::{Span, Time};
use flash::nand::Image;

use super::super::arbiter::Arbiter;
use super::super::cache::Cache;
use super::super::costs::{ConditionalCost, Costs};
use super::super::pages::Pages;
use super::super::{Counters, Job, Output};
use super::packet::{CtpRequest, PacketKind};
use super::registers::Registers;
use super::requests::Requests;
use super::sizes::Sizes;
use super::stores::Stores;

/// The effect at the end of a step.
#[derive(Clone, Copy, Debug)]
enum Effect {
    Nothing,
    /// A block of the CMT gets the entries of the page from `at` on.
    Respond {
        block: usize,
        at: usize,
        cmt: usize,
    },
    Job(Job),
}

/// The arbiter's number for the queue of requests; the ends of stores and of loads have the lower numbers.
const REQUESTS: usize = 2;

/// The second level and its queues.
#[derive(Clone, Debug)]
pub(super) struct Ctp {
    costs: ConditionalCost<Costs>,
    width: usize,
    cache: Cache,
    pages: Pages,
    registers: Registers,
    pub(super) stores: Stores,
    pub(super) requests: Requests,
    /// Blocks whose pages have arrived, and whose arrival the CTP has not taken yet.
    loads: VecDeque<usize>,
    arbiter: Arbiter<3>,
    /// The block whose registers are being served, and the number served so far.
    serving: Option<(usize, usize)>,
    /// True if a packet was taken since the last store, so that a store may be next.
    turn: bool,
    /// True if the present step belongs to a flush or to a store.
    writes_back: bool,
    outstanding: u64,
    effect: Effect,
    until: Option<Time>,
}

impl Ctp {
    pub(super) fn new(sizes: &Sizes, costs: Costs) -> Self {
        let (blocks, page) = (sizes.ctp_blocks, sizes.layout.page);
        let cache = Cache::new(blocks, sizes.ctp_ways, sizes.evict);
        let width = sizes.layout.block as usize;
        Self {
            costs: ConditionalCost::new(costs),
            width,
            requests: Requests::new(width, cache.sets(), sizes.set_wait_queue),
            cache,
            pages: Pages::new(blocks, page),
            registers: Registers::new(width, blocks, page),
            stores: Stores::new(sizes),
            loads: VecDeque::new(),
            arbiter: Arbiter::new([sizes.responses, sizes.responses, 1]),
            serving: None,
            turn: true,
            writes_back: false,
            outstanding: 0,
            effect: Effect::Nothing,
            until: None,
        }
    }

    pub(super) fn set_timed(&mut self, timed: bool) {
        self.costs.set_timed(timed);
    }

    pub(super) fn until(&self) -> Option<Time> {
        self.until
    }

    /// The controller has transferred a page, which lies in its block until the registers of the block are served.
    pub(super) fn loaded(&mut self, tvpn: u32, image: Option<&Image>) {
        let block = self.cache.find(tvpn).filter(|block| self.cache.block(*block).transient);
        let block = block.expect("a page that was asked for");
        self.pages.put(block, image);
        // Prefetches the entries for the requests that wait for the page: their responses are some steps away.
        let page = self.pages.get(block);
        self.registers.of(block).iter().for_each(|request| page.prefetch_word(request.at));
        self.outstanding -= 1;
        self.loads.push_back(block);
    }

    pub(super) fn stored(&mut self, tvpn: u32) {
        self.stores.responses.push_back(tvpn);
    }

    pub(super) fn is_clean(&self) -> bool {
        let settled = self.serving.is_none() && self.until.is_none() && self.outstanding == 0;
        settled
            && self.requests.is_empty()
            && self.loads.is_empty()
            && self.cache.dirty() == 0
            && self.stores.buffers.is_empty()
    }

    pub(super) fn mshrs_at_most(&self) -> u64 {
        self.registers.at_most()
    }

    #[cfg(test)]
    pub(super) fn state_of(&self, key: u32) -> (bool, bool, usize) {
        let found = self.cache.find(key).expect("a cached page");
        (self.cache.block(found).transient, self.cache.block(found).dirty, self.registers.of(found).len())
    }

    #[cfg(test)]
    pub(super) fn page(&self, tvpn: u32) -> &[u32] {
        self.pages.get(self.cache.find(tvpn).expect("a cached page"))
    }

    pub(super) fn image(&self, tvpn: u32) -> &Image {
        self.stores.buffers.get(tvpn).expect("a page that is being stored")
    }

    pub(super) fn recycle(&mut self, image: Image) {
        self.pages.recycle(image);
    }

    /// The newest value of an entry, if the CTP holds the value or a flush brings it.
    pub(super) fn peek(&self, tvpn: u32, at: usize) -> Option<u32> {
        let in_block = || {
            let block = self.cache.find(tvpn)?;
            let served = self.serving.filter(|(serving, _)| *serving == block).map_or(0, |(_, served)| served);
            let waiting = self.registers.peek(block, served, (tvpn, at));
            let filled = !self.cache.block(block).transient;
            waiting.or_else(|| filled.then(|| self.pages.get(block)[at]))
        };
        let queued = self.requests.peek(self.cache.set_number(tvpn), tvpn, at);
        queued.or_else(in_block).or_else(|| self.stores.buffers.get(tvpn).map(|page| page[at]))
    }

    /// Ends the step that is due. Returns a response, if the step has one: the block of the CMT and its entries.
    pub(super) fn finish(&mut self, counters: &mut Counters, out: &mut Output) -> Option<(usize, &[u32])> {
        self.until = None;
        match std::mem::replace(&mut self.effect, Effect::Nothing) {
            Effect::Nothing => {}
            Effect::Respond { block, at, cmt } => return Some((cmt, &self.pages.get(block)[at..at + self.width])),
            Effect::Job(job) => {
                match job {
                    Job::Load(_) | Job::LoadPart { .. } => {
                        counters.loads += 1;
                        self.outstanding += 1;
                        counters.loads_at_most = counters.loads_at_most.max(self.outstanding);
                    }
                    Job::Store(_) => counters.stores += 1,
                }
                out.jobs.push(job);
            }
        }
        None
    }

    /// Starts a step if there is work.
    pub(super) fn begin(&mut self, now: Time, counters: &mut Counters) {
        if self.until.is_some() {
            return;
        }
        self.writes_back = false;
        if let Some(cost) = self.step(counters) {
            counters.count_work(1, cost, self.writes_back);
            self.until = Some(now + cost);
        }
    }

    fn step(&mut self, counters: &mut Counters) -> Option<Span> {
        if self.serving.is_some() {
            return Some(self.serve());
        }
        // Stores and packets alternate, so that neither waits for all of the other (Sec. 4.5).
        if self.turn
            && let Some(cost) = self.store()
        {
            return Some(cost);
        }
        loop {
            let ready = [!self.stores.responses.is_empty(), !self.loads.is_empty(), self.requests.is_ready()];
            let Some(queue) = self.arbiter.pick(ready) else {
                return self.store();
            };
            let taken = match queue {
                0 => Some(self.end_of_store()),
                1 => Some(self.fill()),
                _ if self.requests.set_wait_queue.is_ready() => self.take_waiting(counters),
                _ => {
                    let taken = self.take(counters);
                    if taken.is_none() {
                        self.requests.stall();
                    }
                    taken
                }
            };
            if taken.is_some() {
                self.turn = true;
                return taken;
            }
        }
    }

    /// Stores the page that has been dirty longest, if too many are dirty.
    #[inline(always)]
    #[allow(clippy::inline_always)] // Nearly every step asks, and mostly no page is to be stored.
    fn store(&mut self) -> Option<Span> {
        if self.stores.has_work() { self.store_oldest() } else { None }
    }

    fn store_oldest(&mut self) -> Option<Span> {
        let Self { stores, requests, cache, .. } = self;
        let found = stores.next_block(cache, |block| requests.set_wait_queue.free(cache.set_of(block)))?;
        let block = found as usize;
        let tvpn = self.cache.key(block);
        if !self.stores.buffers.claim(tvpn, self.pages.get(block).clone()) {
            return None;
        }
        self.stores.dirty.remove(found);
        self.cache.make_clean(block);
        self.requests.resume();
        self.requests.set_wait_queue.note_change(self.cache.set_of(block));
        self.effect = Effect::Job(Job::Store(tvpn));
        self.turn = false;
        self.writes_back = true;
        Some(self.costs.issue + self.costs.list)
    }

    fn end_of_store(&mut self) -> Span {
        let tvpn = self.stores.responses.pop_front().expect("a response");
        self.stores.buffers.release(tvpn);
        self.requests.resume();
        self.requests.set_wait_queue.mark_all_changed();
        self.writes_back = true;
        self.costs.packet + self.costs.list
    }

    fn fill(&mut self) -> Span {
        let block = self.loads.pop_front().expect("a response");
        self.cache.finish_load(block);
        self.requests.set_wait_queue.free(self.cache.set_of(block));
        self.serving = Some((block, 0));
        // Only serving the registers costs time: the controller has transferred the page.
        self.costs.packet
    }

    /// Serves the next register of a filled block.
    fn serve(&mut self) -> Span {
        let (block, served) = self.serving.expect("a block being served");
        let request = self.registers.of(block)[served];
        match request.kind {
            PacketKind::Load(cmt) => self.effect = Effect::Respond { block, at: request.at, cmt },
            PacketKind::Flush => {
                let entries = self.registers.entries(block);
                let into = &mut self.pages.change(block)[request.at..];
                into.iter_mut().zip(entries).for_each(|(entry, new)| *entry = new);
                self.updated(block);
            }
        }
        self.serving = Some((block, served + 1));
        if served + 1 == self.registers.of(block).len() {
            self.registers.clear(block);
            self.serving = None;
            self.requests.resume();
            self.requests.set_wait_queue.note_change(self.cache.set_of(block));
        }
        self.writes_back = request.kind == PacketKind::Flush;
        self.costs.list + self.costs.entry * self.width as u64
    }

    /// Marks a block dirty: its entries are newer than those in flash.
    fn updated(&mut self, block: usize) {
        if self.cache.make_dirty(block) {
            self.stores.dirty.push(block as u32);
        }
    }

    /// Takes the first request of the CMT; none if that request must wait and holds up the requests behind it.
    fn take(&mut self, counters: &mut Counters) -> Option<Span> {
        let request = self.requests.first();
        let set = self.cache.set_number(request.tvpn);
        // A request behind other requests of its set does not even search the set.
        let tried =
            if self.requests.set_wait_queue.waits(set) { None } else { self.carry_out(request, None, counters) };
        let cost = match tried {
            None if self.requests.set_wait_queue.is_used() => {
                self.requests.move_to_set(set);
                self.costs.packet + self.costs.tag * self.cache.ways() + self.costs.list
            }
            tried => {
                let cost = tried?;
                self.requests.pop();
                cost
            }
        };
        self.writes_back = request.kind == PacketKind::Flush;
        Some(cost)
    }

    /// Takes a request from a wait queue; none if the request must keep waiting.
    fn take_waiting(&mut self, counters: &mut Counters) -> Option<Span> {
        while self.requests.set_wait_queue.first_is_stuck() {
            self.requests.set_wait_queue.still_waits();
            let alone = self.stores.responses.is_empty() && self.loads.is_empty();
            if !alone || !self.requests.set_wait_queue.is_ready() {
                return None;
            }
            // The next set has its turn. The end of a store makes many sets ready, and nearly all of them are stuck.
            self.arbiter.pick_alone(REQUESTS);
        }
        let request = self.requests.set_wait_queue.first().expect("one is ready");
        let set = self.requests.set_wait_queue.first_set();
        let cost = self.carry_out(request, set, counters);
        if cost.is_none() {
            self.requests.set_wait_queue.still_waits();
            return None;
        }
        self.requests.take_from_set(request);
        self.writes_back = request.kind == PacketKind::Flush;
        cost
    }

    /// Executes a request, or keeps it in a block that waits for its page; none if neither is possible. `from` is the
    /// set in whose wait queue the request is; without a set the request is in the queue from the CMT.
    fn carry_out(&mut self, request: CtpRequest, from: Option<u32>, counters: &mut Counters) -> Option<Span> {
        let (tag, entries) = (self.costs.tag * self.cache.ways(), self.costs.entry * self.width as u64);
        let mut cost = self.costs.packet + tag;
        match self.cache.find(request.tvpn) {
            Some(block) if !self.cache.block(block).transient => {
                counters.ctp_hits += 1;
                self.cache.touch(block);
                cost += entries;
                match request.kind {
                    PacketKind::Load(cmt) => self.effect = Effect::Respond { block, at: request.at, cmt },
                    PacketKind::Flush => {
                        let entries = self.requests.entries(from);
                        let into = &mut self.pages.change(block)[request.at..];
                        into.iter_mut().zip(entries).for_each(|(entry, new)| *entry = new);
                        self.updated(block);
                        cost += self.costs.list;
                    }
                }
            }
            Some(block) => {
                cost += self.log(block, request, from)?;
                counters.ctp_misses += 1;
            }
            None => {
                let (victim, looked) = self.cache.victim(request.tvpn, |state| !state.dirty);
                let Some(block) = victim else {
                    // No block can be dropped until one of the set has been stored.
                    let dirty = self.cache.set(request.tvpn).filter(|block| self.cache.block(*block).dirty);
                    self.stores.force_oldest(dirty);
                    // After each store all sets are tried, most of them in vain: this mark saves the attempt.
                    self.requests.set_wait_queue.stick(self.cache.set_number(request.tvpn));
                    return None;
                };
                self.cache.allocate(block, request.tvpn);
                cost += self.costs.victim * looked;
                cost += self.log(block, request, from).expect("the first register of a block fits");
                if let Some(page) = self.stores.buffers.get(request.tvpn) {
                    // Flash still has the previous version, so the page comes from its write buffer.
                    self.pages.put(block, Some(page));
                    self.loads.push_back(block);
                } else {
                    cost += self.costs.issue;
                    self.effect = Effect::Job(Job::Load(request.tvpn));
                }
                counters.ctp_misses += 1;
            }
        }
        Some(cost)
    }

    /// Keeps a request in the registers of the block that waits for its page; none if they are full.
    fn log(&mut self, block: usize, request: CtpRequest, from: Option<u32>) -> Option<Span> {
        if !self.registers.push(block, request) {
            return None;
        }
        if request.kind == PacketKind::Flush {
            self.registers.extend(block, self.requests.entries(from));
        }
        Some(self.costs.list)
    }
}
