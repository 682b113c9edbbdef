//! FMMU: two levels of cache as two state machines that work at the same time and never wait for a miss (Woo and Min,
//! Sec. 4.2 to 4.6, Figs. 5 to 9).

mod aside;
mod cmt;
mod ctp;

use base::units::{Lpn, Psn, Time};

use self::cmt::Cmt;
use self::ctp::Ctp;
use super::costs::Costs;
use super::layout::{self, Layout};
use super::{Ask, Asker, Counters, MapUnit, Output, Parts, Ticket, arbiter};

/// How large everything is, in blocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub(super) layout: Layout,
    pub(super) cmt_blocks: u32,
    pub(super) cmt_ways: u32,
    pub(super) ctp_blocks: u32,
    pub(super) ctp_ways: u32,
    /// Clean blocks of the CMT at which a flush begins, and at which it ends.
    pub(super) low: u32,
    pub(super) high: u32,
    /// Blocks flushed between two packets.
    pub(super) batch: u32,
    /// Pages compared as victims of a flush.
    pub(super) window: u32,
    /// Dirty pages of the CTP above which one is stored.
    pub(super) ctp_dirty: u32,
    /// Pages that can be on their way to flash.
    pub(super) buffers: u32,
    /// Turns of responses for each one of requests.
    pub(super) responses: u32,
    /// Requests that wait between CMT and CTP.
    pub(super) queue: u32,
    /// Whether what finds no block in its set waits aside.
    pub(super) aside: bool,
}

/// The map unit in hardware.
#[derive(Clone, Debug)]
pub(super) struct Fmmu {
    layout: Layout,
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

    pub(super) fn set_collector_weight(&mut self, valid: u32, of: u32) {
        self.cmt.set_weights(arbiter::collector_weights(valid, of));
    }

    pub(super) fn flush_all(&mut self, now: Time) {
        self.drain(true);
        self.begin(now);
    }

    fn drain(&mut self, everything: bool) {
        self.draining = everything;
        self.cmt.drain(everything);
        self.ctp.drain(false);
    }

    pub(super) fn is_clean(&self) -> bool {
        self.cmt.is_clean() && self.ctp.is_clean()
    }

    /// When the steps of the CMT and of the CTP end.
    pub(super) fn until(&self) -> impl Iterator<Item = Option<Time>> {
        [self.cmt.until(), self.ctp.until()].into_iter()
    }

    pub(super) fn counters(&self) -> Counters {
        Counters { mshrs_at_most: [self.cmt.mshrs_at_most(), self.ctp.mshrs_at_most()], ..self.counters.clone() }
    }

    pub(super) fn peek<'a>(&'a self, lpn: Lpn, images: impl Fn(u32) -> Option<&'a [u32]>) -> Option<Psn> {
        let block = lpn.get() / self.layout.block;
        let inside = (lpn.get() % self.layout.block) as usize;
        let (tvpn, at) = self.layout.page_of(block);
        let cached = self.cmt.cached(block).map(|entries| entries[inside]);
        let second = || self.ctp.peek(tvpn, at + inside);
        let entry = cached.or_else(second).or_else(|| images(tvpn).map(|page| page[at + inside]));
        entry.and_then(layout::decode)
    }

    /// Of a block of the CMT: whether it waits for data, whether it is dirty, its registers.
    #[cfg(test)]
    pub(super) fn cmt_of(&self, block: u32) -> (bool, bool, usize) {
        self.cmt.state_of(block)
    }

    /// The same of a page of the CTP.
    #[cfg(test)]
    pub(super) fn ctp_of(&self, tvpn: u32) -> (bool, bool, usize) {
        self.ctp.state_of(tvpn)
    }

    /// The content of a page of the CTP.
    #[cfg(test)]
    pub(super) fn ctp_page(&self, tvpn: u32) -> &[u32] {
        self.ctp.page(tvpn)
    }

    /// The pages in the dirty list, each with the number of its dirty blocks.
    #[cfg(test)]
    pub(super) fn dirty_pages(&self) -> Vec<(u32, u32)> {
        self.cmt.dirty_pages()
    }

    /// Lets both machines begin what they can.
    fn begin(&mut self, now: Time) {
        self.cmt.begin(now, self.ctp.queued() < self.queue, &mut self.counters);
        // A page is stored once, after the last of its blocks has come.
        self.ctp.drain(self.draining && self.cmt.is_flushed() && self.ctp.queued() == 0);
        self.ctp.begin(now, &mut self.counters);
        // The CTP may just have made room for a request.
        self.cmt.begin(now, self.ctp.queued() < self.queue, &mut self.counters);
    }
}

impl MapUnit for Fmmu {
    fn ask(&mut self, now: Time, asker: Asker, ticket: Ticket, ask: Ask) {
        self.layout.block_of(&ask);
        self.cmt.ask(asker, ticket, ask);
        self.begin(now);
    }

    fn loaded(&mut self, now: Time, tvpn: u32, image: Option<&[u32]>) {
        self.ctp.loaded(tvpn, image);
        self.begin(now);
    }

    fn stored(&mut self, now: Time, tvpn: u32) {
        self.ctp.stored(tvpn);
        self.begin(now);
    }

    fn advance(&mut self, now: Time, out: &mut Output) {
        while let Some(at) = self.next_event().filter(|at| *at <= now) {
            // At one moment responses go first.
            if self.ctp.until() == Some(at) {
                self.ctp.finish(&mut self.cmt, &mut self.counters, out);
            } else {
                self.cmt.finish(&mut self.ctp, &mut self.counters, out);
            }
            self.begin(at);
        }
        if self.draining && self.is_clean() {
            self.drain(false);
        }
    }

    fn next_event(&self) -> Option<Time> {
        self.cmt.until().into_iter().chain(self.ctp.until()).min()
    }

    fn image(&self, tvpn: u32) -> &[u32] {
        self.ctp.image(tvpn)
    }
}
