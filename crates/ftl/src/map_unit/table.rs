//! The full map in RAM: one table answers every question.

use std::collections::VecDeque;

use base::prefetch::prefetch;
use base::units::{Lpn, Psn, Span, Time};
use flash::nand::Image;

use super::costs::ConditionalCost;
use super::entry::{decode, encode};
use super::layout::{self, MapLayout};
use super::{Answer, Ask, Asker, Counters, MapUnit, Output, Parts, Ticket};

/// The full table. Flash does not hold the table: a drive recovers the entries from the spare areas and enters them
/// with [`MapTable::enter`].
#[derive(Clone, Debug)]
pub struct MapTable {
    layout: MapLayout,
    entries: Vec<u32>,
    service: ConditionalCost<Span>,
    waiting: VecDeque<(Ticket, Ask)>,
    /// The time at which the first question in the queue is answered.
    until: Option<Time>,
    counters: Counters,
}

impl MapTable {
    /// An empty table that takes `service` for each question.
    #[must_use]
    pub fn new(layout: MapLayout, service: Span) -> Self {
        Self {
            layout,
            entries: vec![encode(None); (layout.pages() * layout.page) as usize],
            service: ConditionalCost::new(service),
            waiting: VecDeque::new(),
            until: None,
            counters: Counters::new(1, Parts::Cores),
        }
    }

    /// Enters a place that a mount found, without a question. Returns the place before.
    pub fn enter(&mut self, lpn: Lpn, to: Option<Psn>) -> Option<Psn> {
        match layout::serve(&Ask::Update { lpn, to }, &mut self.entries[lpn.index()..]).0 {
            Answer::Updated(before) => before,
            _ => unreachable!("an update is answered so"),
        }
    }

    /// Starts the service of the first question in the queue.
    fn begin(&mut self, now: Time) {
        self.until = (!self.waiting.is_empty()).then(|| now + *self.service);
        if self.until.is_some() {
            self.counters.count_work(0, *self.service, false);
        }
    }
}

impl MapUnit for MapTable {
    fn ask(&mut self, now: Time, _asker: Asker, ticket: Ticket, ask: Ask) {
        // The question must lie in one block here too, so that its asker can use any map unit.
        self.layout.checked_block_of(&ask);
        self.waiting.push_back((ticket, ask));
        if self.until.is_none() {
            self.begin(now);
        }
    }

    fn loaded(&mut self, _now: Time, _tvpn: u32, _image: Option<&Image>) {
        unreachable!("a full table loads nothing");
    }

    fn stored(&mut self, _now: Time, _tvpn: u32) {
        unreachable!("a full table stores nothing");
    }

    fn advance(&mut self, now: Time, out: &mut Output) {
        while let Some(at) = self.until.filter(|at| *at <= now) {
            let (ticket, ask) = self.waiting.pop_front().expect("one is served");
            out.answers.push((ticket, layout::serve(&ask, &mut self.entries[layout::range(&ask).0.index()..]).0));
            self.counters.questions += 1;
            self.counters.cmt_hits += 1;
            self.begin(at);
        }
    }

    fn next_event(&self) -> Option<Time> {
        self.until
    }

    fn set_timed(&mut self, timed: bool) {
        self.service.set_timed(timed);
    }

    fn image(&self, _tvpn: u32) -> &Image {
        unreachable!("a full table stores nothing");
    }

    #[inline]
    fn prefetch(&self, unit: usize) {
        prefetch(self.entries.get(unit));
    }

    fn counters(&self, now: Time) -> Counters {
        let mut counters = self.counters.clone();
        counters.cut_off(now, std::iter::once(self.until));
        counters
    }

    fn is_clean(&self) -> bool {
        self.next_event().is_none()
    }

    fn peek<'a>(&'a self, lpn: Lpn, _: &dyn Fn(u32) -> Option<&'a [u32]>) -> Option<Psn> {
        decode(self.entries[lpn.index()])
    }
}
