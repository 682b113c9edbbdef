//! The second level: cached translation pages (Sec. 4.2, 4.3 and 4.5).
//!
//! It takes loads and flushes from the CMT, loads missing pages, and stores dirty ones in the order in which they
//! became dirty.

use std::collections::VecDeque;

use base::units::{Span, Time};
use flash::nand::Image;

use super::super::arbiter::Arbiter;
use super::super::cache::Cache;
use super::super::costs::{Charged, Costs};
use super::super::mshrs::{CTP_REQUEST, Mshrs};
use super::super::pages::Pages;
use super::super::write_buffers::WriteBuffers;
use super::super::{Counters, Job, Output};
use super::dirty_order::DirtyOrder;
use super::packet::{Kind, Request};
use super::set_wait_queue::SetWaitQueue;
use super::sizes::Sizes;

/// The effect at the end of a step.
#[derive(Clone, Copy, Debug)]
enum Effect {
    Nothing,
    /// A block of the CMT gets the entries from `at` on.
    Respond {
        block: usize,
        at: usize,
        cmt: usize,
    },
    Job(Job),
}

/// The arbiter's number for requests, behind the ends of stores and of loads.
const REQUESTS: usize = 2;

/// The second level and its queues.
#[derive(Clone, Debug)]
pub(super) struct Ctp {
    costs: Charged<Costs>,
    width: usize,
    cache: Cache,
    pages: Pages,
    mshrs: Mshrs<Request>,
    /// The entries of the flushes among the registers of each block.
    flushed: Vec<VecDeque<u32>>,
    /// Pages that the block manager has taken to be programmed (Sec. 4.1).
    buffers: WriteBuffers,
    dirty: DirtyOrder,
    threshold: usize,
    loads: VecDeque<usize>,
    stores: VecDeque<u32>,
    requests: VecDeque<Request>,
    payload: VecDeque<u32>,
    arbiter: Arbiter<3>,
    /// True if the first request cannot proceed before an event frees a block.
    stalled: bool,
    /// Requests that wait for a block of their set, and the entries of the flushes among them.
    set_wait_queue: SetWaitQueue<Request>,
    aside_payload: Vec<VecDeque<u32>>,
    flushes_waiting: usize,
    /// Blocks that must be stored for a request to proceed, and for each block whether it is among them.
    forced: VecDeque<u32>,
    is_forced: Vec<bool>,
    /// The block whose registers are being served, and the number served so far.
    serving: Option<(usize, usize)>,
    /// True if a packet was taken since the last store, so that a store may be next.
    turn: bool,
    draining: bool,
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
        Self {
            costs: Charged::new(costs),
            width: sizes.layout.block as usize,
            set_wait_queue: SetWaitQueue::new(cache.sets(), sizes.set_wait_queue),
            aside_payload: vec![VecDeque::new(); cache.sets() as usize],
            flushes_waiting: 0,
            cache,
            pages: Pages::new(blocks, page),
            mshrs: Mshrs::new(blocks, page * 4),
            flushed: vec![VecDeque::new(); blocks as usize],
            buffers: WriteBuffers::new(sizes.buffers),
            dirty: DirtyOrder::new(blocks),
            threshold: sizes.ctp_dirty as usize,
            loads: VecDeque::new(),
            stores: VecDeque::new(),
            requests: VecDeque::new(),
            payload: VecDeque::new(),
            arbiter: Arbiter::new([sizes.responses, sizes.responses, 1]),
            stalled: false,
            forced: VecDeque::new(),
            is_forced: vec![false; blocks as usize],
            serving: None,
            turn: true,
            draining: false,
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

    /// Occupied places in the queue to the CTP.
    pub(super) fn queued(&self) -> usize {
        self.requests.len() + self.flushes_waiting
    }

    pub(super) fn request(&mut self, request: Request, entries: &[u32]) {
        if request.kind == Kind::Flush {
            self.payload.extend(entries);
        }
        self.requests.push_back(request);
    }

    /// The controller has transferred a page; it lies in its block until the registers are served.
    pub(super) fn loaded(&mut self, tvpn: u32, image: Option<&Image>) {
        let block = self.cache.find(tvpn).filter(|block| self.cache.block(*block).transient);
        let block = block.expect("a page that was asked for");
        self.pages.put(block, image);
        // The responses to the requests that wait for it are some steps away.
        let page = self.pages.get(block);
        self.mshrs.of(block).iter().for_each(|request| page.fetch_word(request.at));
        self.outstanding -= 1;
        self.loads.push_back(block);
    }

    pub(super) fn stored(&mut self, tvpn: u32) {
        self.stores.push_back(tvpn);
    }

    /// Chooses between storing all dirty pages and only those above the threshold.
    pub(super) fn drain(&mut self, everything: bool) {
        self.draining = everything;
    }

    pub(super) fn is_clean(&self) -> bool {
        let settled = self.serving.is_none() && self.until.is_none() && self.outstanding == 0;
        settled
            && self.requests.is_empty()
            && self.set_wait_queue.is_empty()
            && self.loads.is_empty()
            && self.cache.dirty() == 0
            && self.buffers.is_empty()
    }

    pub(super) fn mshrs_at_most(&self) -> u64 {
        self.mshrs.at_most()
    }

    #[cfg(test)]
    pub(super) fn state_of(&self, key: u32) -> (bool, bool, usize) {
        let found = self.cache.find(key).expect("a cached page");
        (self.cache.block(found).transient, self.cache.block(found).dirty, self.mshrs.of(found).len())
    }

    #[cfg(test)]
    pub(super) fn page(&self, tvpn: u32) -> &[u32] {
        self.pages.get(self.cache.find(tvpn).expect("a cached page"))
    }

    pub(super) fn image(&self, tvpn: u32) -> &Image {
        self.buffers.get(tvpn).expect("a page that is being stored")
    }

    pub(super) fn recycle(&mut self, image: Image) {
        self.pages.recycle(image);
    }

    /// The newest value of an entry, if it is here or on its way here.
    pub(super) fn peek(&self, tvpn: u32, at: usize) -> Option<u32> {
        let covers = |request: &Request| {
            request.kind == Kind::Flush && request.tvpn == tvpn && (request.at..request.at + self.width).contains(&at)
        };
        // The flush sent last has the newest value.
        let newest = |requests: &mut dyn DoubleEndedIterator<Item = &Request>, payload: &VecDeque<u32>| {
            let mut end = payload.len();
            for request in requests.rev().filter(|request| request.kind == Kind::Flush) {
                end -= self.width;
                if covers(request) {
                    return Some(payload[end + at - request.at]);
                }
            }
            None
        };
        let set = self.cache.set_number(tvpn);
        newest(&mut self.requests.iter(), &self.payload)
            .or_else(|| newest(&mut self.set_wait_queue.chain(set), &self.aside_payload[set as usize]))
            .or_else(|| {
                let block = self.cache.find(tvpn)?;
                let served = self.serving.filter(|(serving, _)| *serving == block).map_or(0, |(_, served)| served);
                let waiting = newest(&mut self.mshrs.of(block)[served..].iter(), &self.flushed[block]);
                let filled = !self.cache.block(block).transient;
                waiting.or_else(|| filled.then(|| self.pages.get(block)[at]))
            })
            .or_else(|| self.buffers.get(tvpn).map(|page| page[at]))
    }

    /// Ends the step that is due. Returns a response, if the step has one: the block of the CMT and its entries.
    pub(super) fn finish(&mut self, counters: &mut Counters, out: &mut Output) -> Option<(usize, &[u32])> {
        self.until = None;
        match std::mem::replace(&mut self.effect, Effect::Nothing) {
            Effect::Nothing => {}
            Effect::Respond { block, at, cmt } => return Some((cmt, &self.pages.get(block)[at..at + self.width])),
            Effect::Job(job) => {
                match job {
                    Job::Load(_) => {
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
            let requests = self.set_wait_queue.is_ready() || (!self.stalled && !self.requests.is_empty());
            let Some(queue) = self.arbiter.pick([!self.stores.is_empty(), !self.loads.is_empty(), requests]) else {
                return self.store();
            };
            let taken = match queue {
                0 => Some(self.end_of_store()),
                1 => Some(self.fill()),
                _ if self.set_wait_queue.is_ready() => self.take_waiting(counters),
                _ => {
                    let taken = self.take(counters);
                    self.stalled = taken.is_none();
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
    #[allow(clippy::inline_always)] // Nearly every step asks, and nothing is to be stored.
    fn store(&mut self) -> Option<Span> {
        let threshold = if self.draining { 0 } else { self.threshold };
        if self.forced.is_empty() && self.dirty.len() <= threshold {
            return None;
        }
        self.store_oldest(threshold)
    }

    fn store_oldest(&mut self, threshold: usize) -> Option<Span> {
        // A page is programmed once at a time; if it is updated meanwhile it stays dirty.
        let free = |block: &u32| self.buffers.get(self.cache.key(*block as usize)).is_none();
        // A forced page that cannot be stored now is forced again after a store has ended.
        let mut forced = std::iter::from_fn(|| {
            let block = self.forced.pop_front();
            block.inspect(|block| {
                self.is_forced[*block as usize] = false;
                self.set_wait_queue.free(self.cache.set_of(*block as usize));
            })
        });
        let found = match forced.find(|block| self.cache.block(*block as usize).dirty && free(block)) {
            None if self.dirty.len() > threshold => self.dirty.iter().find(free),
            forced => forced,
        }?;
        let block = found as usize;
        let tvpn = self.cache.key(block);
        if !self.buffers.claim(tvpn, self.pages.get(block).clone()) {
            return None;
        }
        self.dirty.remove(found);
        self.cache.make_clean(block);
        self.stalled = false;
        self.set_wait_queue.note_change(self.cache.set_of(block));
        self.effect = Effect::Job(Job::Store(tvpn));
        self.turn = false;
        self.writes_back = true;
        Some(self.costs.issue + self.costs.list)
    }

    fn end_of_store(&mut self) -> Span {
        let tvpn = self.stores.pop_front().expect("a response");
        self.buffers.release(tvpn);
        self.stalled = false;
        self.set_wait_queue.mark_all_changed();
        self.writes_back = true;
        self.costs.packet + self.costs.list
    }

    fn fill(&mut self) -> Span {
        let block = self.loads.pop_front().expect("a response");
        self.cache.finish_load(block);
        self.set_wait_queue.free(self.cache.set_of(block));
        self.serving = Some((block, 0));
        // The controller transferred the page; only the registers cost time.
        self.costs.packet
    }

    /// Serves the next register of a filled block.
    fn serve(&mut self) -> Span {
        let (block, served) = self.serving.expect("a block being served");
        let request = self.mshrs.of(block)[served];
        match request.kind {
            Kind::Load(cmt) => self.effect = Effect::Respond { block, at: request.at, cmt },
            Kind::Flush => {
                let entries = self.flushed[block].drain(..self.width);
                let into = &mut self.pages.change(block)[request.at..];
                into.iter_mut().zip(entries).for_each(|(entry, new)| *entry = new);
                self.updated(block);
            }
        }
        self.serving = Some((block, served + 1));
        if served + 1 == self.mshrs.of(block).len() {
            self.mshrs.clear(block);
            self.serving = None;
            self.stalled = false;
            self.set_wait_queue.note_change(self.cache.set_of(block));
        }
        self.writes_back = request.kind == Kind::Flush;
        self.costs.list + self.costs.entry * self.width as u64
    }

    /// Marks a block that has newer entries than flash.
    fn updated(&mut self, block: usize) {
        if self.cache.make_dirty(block) {
            self.dirty.push(block as u32);
        }
    }

    /// Takes the first request of the CMT; none if it must wait and hold up the requests behind it.
    fn take(&mut self, counters: &mut Counters) -> Option<Span> {
        let request = *self.requests.front().expect("a request");
        let set = self.cache.set_number(request.tvpn);
        let flush = request.kind == Kind::Flush;
        // Behind other requests of its set, it does not even search.
        let tried = if self.set_wait_queue.waits(set) { None } else { self.carry_out(request, None, counters) };
        let cost = match tried {
            None if self.set_wait_queue.is_used() => {
                self.set_wait_queue.push(set, request);
                if flush {
                    self.flushes_waiting += 1;
                    self.aside_payload[set as usize].extend(self.payload.drain(..self.width));
                }
                self.costs.packet + self.costs.tag * self.cache.ways() + self.costs.list
            }
            tried => tried?,
        };
        self.requests.pop_front();
        self.writes_back = flush;
        Some(cost)
    }

    /// Takes a request from a wait queue; none if it must keep waiting.
    fn take_waiting(&mut self, counters: &mut Counters) -> Option<Span> {
        while self.set_wait_queue.first_is_stuck() {
            self.set_wait_queue.still_waits();
            let alone = self.stores.is_empty() && self.loads.is_empty();
            if !alone || !self.set_wait_queue.is_ready() {
                return None;
            }
            // The next set's turn. The end of a store makes many sets ready, and nearly all are stuck.
            self.arbiter.pick_alone(REQUESTS);
        }
        let request = self.set_wait_queue.first().expect("one is ready");
        let set = self.set_wait_queue.first_set();
        let cost = self.carry_out(request, set, counters);
        if cost.is_none() {
            self.set_wait_queue.still_waits();
            return None;
        }
        self.set_wait_queue.went_on();
        self.writes_back = request.kind == Kind::Flush;
        self.flushes_waiting -= usize::from(self.writes_back);
        cost
    }

    /// Executes a request, or keeps it in a block that waits for its page; none if neither is possible. `from` is the
    /// set whose wait queue it comes from; without a set it comes from the queue.
    fn carry_out(&mut self, request: Request, from: Option<u32>, counters: &mut Counters) -> Option<Span> {
        let (tag, entries) = (self.costs.tag * self.cache.ways(), self.costs.entry * self.width as u64);
        let mut cost = self.costs.packet + tag;
        match self.cache.find(request.tvpn) {
            Some(block) if !self.cache.block(block).transient => {
                counters.ctp_hits += 1;
                self.cache.touch(block);
                cost += entries;
                match request.kind {
                    Kind::Load(cmt) => self.effect = Effect::Respond { block, at: request.at, cmt },
                    Kind::Flush => {
                        let payload = source(&mut self.payload, &mut self.aside_payload, from);
                        let entries = payload.drain(..self.width);
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
                    if let Some(block) = self.dirty.oldest_of(dirty.map(|block| block as u32))
                        && !std::mem::replace(&mut self.is_forced[block as usize], true)
                    {
                        self.forced.push_back(block);
                    }
                    // After each store all sets are tried, dozens of them in vain.
                    self.set_wait_queue.stick(self.cache.set_number(request.tvpn));
                    return None;
                };
                self.cache.allocate(block, request.tvpn);
                cost += self.costs.victim * looked;
                cost += self.log(block, request, from).expect("the first register of a block fits");
                if let Some(page) = self.buffers.get(request.tvpn) {
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

    /// Keeps a request in the block that waits for its page.
    fn log(&mut self, block: usize, request: Request, from: Option<u32>) -> Option<Span> {
        let flush = request.kind == Kind::Flush;
        let bytes = CTP_REQUEST + if flush { self.width as u32 * 4 } else { 0 };
        if !self.mshrs.push(block, bytes, request) {
            return None;
        }
        if flush {
            let payload = source(&mut self.payload, &mut self.aside_payload, from);
            self.flushed[block].extend(payload.drain(..self.width));
        }
        Some(self.costs.list)
    }
}

/// The source of the entries of a flush: the wait queue of a set, or the queue.
fn source<'a>(
    queue: &'a mut VecDeque<u32>,
    set_wait_queue: &'a mut [VecDeque<u32>],
    from: Option<u32>,
) -> &'a mut VecDeque<u32> {
    match from {
        None => queue,
        Some(set) => &mut set_wait_queue[set as usize],
    }
}
