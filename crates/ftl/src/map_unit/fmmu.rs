//! FMMU: two levels of cache, as two state machines that work in parallel and never wait for a miss (Woo and Min, Sec.
//! 4.2 to 4.6, Figs. 5 to 9).

mod cmt;
mod ctp;
mod dirty_order;
mod flusher;
mod packet;
mod registers;
mod requests;
mod set_wait_queue;
mod sizes;
mod stores;

use base::units::{Lpn, Psn, Time};
use flash::nand::Image;

use self::cmt::Cmt;
use self::ctp::Ctp;
pub(super) use self::sizes::Sizes;
use super::costs::Costs;
use super::entry::decode;
use super::layout::MapLayout;
use super::{Ask, Asker, Counters, MapUnit, Output, Parts, Ticket, arbiter};

/// The map unit in hardware: a CMT and a CTP.
#[derive(Clone, Debug)]
pub(super) struct Fmmu {
    layout: MapLayout,
    cmt: Cmt,
    ctp: Ctp,
    queue: usize,
    draining: bool,
    counters: Counters,
}

impl Fmmu {
    pub(super) fn new(sizes: &Sizes, costs: Costs) -> Self {
        Self {
            layout: sizes.layout,
            cmt: Cmt::new(sizes, costs),
            ctp: Ctp::new(sizes, costs),
            queue: sizes.queue as usize,
            draining: false,
            counters: Counters::new(2, Parts::Stages),
        }
    }

    fn drain(&mut self, everything: bool) {
        self.draining = everything;
        self.cmt.flusher.drain(everything);
        self.ctp.stores.drain(false);
    }

    /// The state of a block of the CMT: true if it waits for data, true if it is dirty, and its number of registers.
    #[cfg(test)]
    pub(super) fn cmt_of(&self, block: u32) -> (bool, bool, usize) {
        self.cmt.state_of(block)
    }

    /// The state of a page of the CTP: true if it waits for data, true if it is dirty, and its number of registers.
    #[cfg(test)]
    pub(super) fn ctp_of(&self, tvpn: u32) -> (bool, bool, usize) {
        self.ctp.state_of(tvpn)
    }

    #[cfg(test)]
    pub(super) fn ctp_page(&self, tvpn: u32) -> &[u32] {
        self.ctp.page(tvpn)
    }

    /// The pages in the dirty list, each with the number of its dirty blocks.
    #[cfg(test)]
    pub(super) fn dirty_pages(&self) -> Vec<(u32, u32)> {
        self.cmt.dirty_pages()
    }

    /// Starts the next step of each machine that is free.
    fn begin(&mut self, now: Time) {
        let room = self.ctp.requests.occupied() < self.queue;
        self.cmt.begin(now, room, &mut self.counters);
        // While draining, the CTP stores each page once, after the last of the page's blocks has arrived.
        self.ctp.stores.drain(self.draining && self.cmt.is_flushed() && self.ctp.requests.occupied() == 0);
        self.ctp.begin(now, &mut self.counters);
        if !room && self.ctp.requests.occupied() < self.queue {
            // The CTP has just freed a place in its queue.
            self.cmt.begin(now, true, &mut self.counters);
        }
    }
}

impl MapUnit for Fmmu {
    fn ask(&mut self, now: Time, asker: Asker, ticket: Ticket, ask: Ask) {
        self.layout.checked_block_of(&ask);
        self.cmt.questions.push(asker, ticket, ask);
        self.begin(now);
    }

    fn loaded(&mut self, now: Time, tvpn: u32, image: Option<&Image>) {
        self.ctp.loaded(tvpn, image);
        self.begin(now);
    }

    fn stored(&mut self, now: Time, tvpn: u32) {
        self.ctp.stored(tvpn);
        self.begin(now);
    }

    fn advance(&mut self, now: Time, out: &mut Output) {
        while let Some(at) = self.next_event().filter(|at| *at <= now) {
            // At equal times, responses go first.
            if self.ctp.until() == Some(at) {
                if let Some((block, entries)) = self.ctp.finish(&mut self.counters, out) {
                    self.cmt.respond(block, entries);
                }
            } else if let Some((request, entries)) = self.cmt.finish(&mut self.counters, out) {
                self.ctp.requests.push(request, entries);
            }
            self.begin(at);
        }
        if self.draining && self.is_clean() {
            self.drain(false);
        }
    }

    fn next_event(&self) -> Option<Time> {
        match (self.cmt.until(), self.ctp.until()) {
            (Some(cmt), Some(ctp)) => Some(cmt.min(ctp)),
            (cmt, ctp) => cmt.or(ctp),
        }
    }

    fn image(&self, tvpn: u32) -> &Image {
        self.ctp.image(tvpn)
    }

    fn recycle(&mut self, _: u32, image: Image) {
        self.ctp.recycle(image);
    }

    fn flush(&mut self, now: Time) {
        self.drain(true);
        self.begin(now);
    }

    #[inline]
    fn prefetch(&self, unit: usize) {
        self.cmt.prefetch(self.layout.block_at(Lpn::new(unit as u32)));
    }

    fn set_timed(&mut self, timed: bool) {
        self.cmt.set_timed(timed);
        self.ctp.set_timed(timed);
    }

    fn set_collector_weight(&mut self, valid: u32, of: u32) {
        self.cmt.questions.set_weights(arbiter::collector_weights(valid, of));
    }

    fn counters(&self, now: Time) -> Counters {
        let mut counters = self.counters.clone();
        counters.mshrs_at_most = [self.cmt.mshrs_at_most(), self.ctp.mshrs_at_most()];
        counters.cut_off(now, [self.cmt.until(), self.ctp.until()].into_iter());
        counters
    }

    fn is_clean(&self) -> bool {
        self.cmt.is_clean() && self.ctp.is_clean()
    }

    fn peek<'a>(&'a self, lpn: Lpn, images: &dyn Fn(u32) -> Option<&'a [u32]>) -> Option<Psn> {
        let block = lpn.get() / self.layout.block;
        let inside = (lpn.get() % self.layout.block) as usize;
        let (tvpn, at) = self.layout.page_of(block);
        let cached = self.cmt.cached(block).map(|entries| entries[inside]);
        let second = || self.ctp.peek(tvpn, at + inside);
        let entry = cached.or_else(second).or_else(|| images(tvpn).map(|page| page[at + inside]));
        entry.and_then(decode)
    }
}
