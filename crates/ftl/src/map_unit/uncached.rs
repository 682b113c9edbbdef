//! No RAM for the map: each question loads its translation page, and each change stores it.
//!
//! This map unit is the slowest and the simplest complete one: a reference for the caches, and for the FTL around them.
//! A page serves one question at a time, host and collector in turns. Pages wait for flash in parallel; one processor
//! answers for all of them. A change is answered when its page is stored.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use base::units::{Lpn, Psn, Span, Time};
use flash::nand::Image;

use super::costs::ConditionalCost;
use super::entry::decode;
use super::layout::{self, MapLayout};
use super::pages::Spares;
use super::{Answer, Ask, Asker, Counters, Job, MapUnit, Output, Parts, Ticket};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PagePhase {
    /// The page waits for a question.
    Idle,
    Loading(Ticket, Ask),
    /// The processor works on the question.
    Working(Ticket, Ask),
    /// The page waits for its store, after which the question is answered.
    Storing(Ticket, Answer),
}

/// True if a question has changed an entry. A page whose entries keep their values need not be stored.
fn changes(ask: &Ask, answer: &Answer) -> bool {
    match (ask, answer) {
        (Ask::Update { to, .. }, Answer::Updated(old)) => old != to,
        (_, Answer::Condition(held)) => *held,
        _ => false,
    }
}

#[derive(Clone, Debug)]
struct Page {
    phase: PagePhase,
    /// Waiting questions of the host and of the collector.
    queues: [VecDeque<(Ticket, Ask)>; 2],
    /// The asker that had the last turn.
    last: usize,
    /// The entries of the page while a question uses them.
    image: Image,
}

/// The map unit without a cache.
#[derive(Clone, Debug)]
pub(crate) struct UncachedMap {
    layout: MapLayout,
    service: ConditionalCost<Span>,
    pages: Vec<Page>,
    /// Pages in service, with the time at which the service of each ends.
    due: BinaryHeap<Reverse<(Time, u32)>>,
    /// Idle pages with a waiting question.
    idle: Vec<u32>,
    /// Answers to changes whose pages have been stored.
    answers: Vec<(Ticket, Answer)>,
    counters: Counters,
    /// The time at which the processor will have answered for all loaded pages.
    free: Time,
    /// The number of pages being loaded.
    loading: u64,
    spares: Spares,
}

impl UncachedMap {
    /// A map unit that takes `service` for each question.
    pub(crate) fn new(layout: MapLayout, service: Span) -> Self {
        let page = Page { phase: PagePhase::Idle, queues: Default::default(), last: 1, image: Image::default() };
        Self {
            layout,
            service: ConditionalCost::new(service),
            pages: vec![page; layout.pages() as usize],
            due: BinaryHeap::new(),
            idle: Vec::new(),
            answers: Vec::new(),
            counters: Counters::new(1, Parts::Cores),
            free: Time::ZERO,
            spares: Spares::new(layout.page),
            loading: 0,
        }
    }

    /// The translation page with all mapping units of a question, and the offset of the first.
    fn locate(&self, ask: &Ask) -> (u32, usize) {
        let (tvpn, at) = self.layout.page_of(self.layout.checked_block_of(ask));
        (tvpn, at + self.layout.offset(ask))
    }
}

impl MapUnit for UncachedMap {
    fn ask(&mut self, _: Time, asker: Asker, ticket: Ticket, ask: Ask) {
        let (tvpn, _) = self.locate(&ask);
        let page = &mut self.pages[tvpn as usize];
        page.queues[asker as usize].push_back((ticket, ask));
        if page.phase == PagePhase::Idle {
            self.idle.push(tvpn);
        }
    }

    fn loaded(&mut self, now: Time, tvpn: u32, image: Option<&Image>) {
        let page = &mut self.pages[tvpn as usize];
        let PagePhase::Loading(ticket, ask) = page.phase else { panic!("page {tvpn} comes in {:?}", page.phase) };
        let image = image.cloned().unwrap_or_else(|| self.spares.empty());
        self.spares.take(std::mem::replace(&mut page.image, image));
        page.phase = PagePhase::Working(ticket, ask);
        self.loading -= 1;
        self.counters.count_work(0, *self.service, false);
        self.free = self.free.max(now) + *self.service;
        self.due.push(Reverse((self.free, tvpn)));
    }

    fn stored(&mut self, _: Time, tvpn: u32) {
        let page = &mut self.pages[tvpn as usize];
        let PagePhase::Storing(ticket, answer) = page.phase else {
            panic!("page {tvpn} is stored in {:?}", page.phase)
        };
        page.phase = PagePhase::Idle;
        self.answers.push((ticket, answer));
        self.idle.push(tvpn);
    }

    fn advance(&mut self, now: Time, out: &mut Output) {
        let answered = out.answers.len();
        out.answers.append(&mut self.answers);
        while let Some(Reverse((_, tvpn))) = self.due.peek().copied().filter(|Reverse((at, _))| *at <= now) {
            self.due.pop();
            let page = &self.pages[tvpn as usize];
            let PagePhase::Working(ticket, ask) = page.phase else { panic!("page {tvpn} is done in {:?}", page.phase) };
            let (_, at) = self.locate(&ask);
            let page = &mut self.pages[tvpn as usize];
            let answer = match ask {
                Ask::Lookup { count, .. } => layout::look_up(count, &page.image[at..]),
                _ => layout::serve(&ask, &mut self.spares.change(&mut page.image)[at..]).0,
            };
            if changes(&ask, &answer) {
                page.phase = PagePhase::Storing(ticket, answer);
                self.counters.stores += 1;
                out.jobs.push(Job::Store(tvpn));
            } else {
                page.phase = PagePhase::Idle;
                out.answers.push((ticket, answer));
                self.idle.push(tvpn);
            }
        }
        for tvpn in self.idle.drain(..) {
            let page = &mut self.pages[tvpn as usize];
            let next = [1 - page.last, page.last].into_iter().find(|asker| !page.queues[*asker].is_empty());
            let Some(asker) = next.filter(|_| page.phase == PagePhase::Idle) else { continue };
            page.last = asker;
            let (ticket, ask) = page.queues[asker].pop_front().expect("it waits");
            page.phase = PagePhase::Loading(ticket, ask);
            self.loading += 1;
            self.counters.cmt_misses += 1;
            self.counters.loads += 1;
            self.counters.loads_at_most = self.counters.loads_at_most.max(self.loading);
            out.jobs.push(Job::Load(tvpn));
        }
        self.counters.questions += (out.answers.len() - answered) as u64;
    }

    fn next_event(&self) -> Option<Time> {
        self.due.peek().map(|Reverse((at, _))| *at)
    }

    fn set_timed(&mut self, timed: bool) {
        self.service.set_timed(timed);
    }

    fn image(&self, tvpn: u32) -> &Image {
        &self.pages[tvpn as usize].image
    }

    fn recycle(&mut self, _: u32, image: Image) {
        self.spares.take(image);
    }

    fn counters(&self, now: Time) -> Counters {
        let mut counters = self.counters.clone();
        counters.cut_off(now, std::iter::once(Some(self.free)));
        counters
    }

    fn is_clean(&self) -> bool {
        let idle = |page: &Page| page.phase == PagePhase::Idle && page.queues.iter().all(VecDeque::is_empty);
        self.pages.iter().all(idle) && self.answers.is_empty()
    }

    fn peek<'a>(&'a self, lpn: Lpn, images: &dyn Fn(u32) -> Option<&'a [u32]>) -> Option<Psn> {
        let (tvpn, at) = (lpn.get() / self.layout.page, (lpn.get() % self.layout.page) as usize);
        let page = &self.pages[tvpn as usize];
        let stored = matches!(page.phase, PagePhase::Storing(..));
        let image = if stored { Some(&page.image[..]) } else { images(tvpn) };
        image.and_then(|image| decode(image[at]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map_unit::encode;
    use base::units::Psn;

    fn uncached(service: Span, units: u32) -> UncachedMap {
        UncachedMap::new(MapLayout::new(units, 4, 4), service)
    }

    #[test]
    fn one_processor_answers_loaded_requests_one_at_a_time() {
        let mut unit = uncached(Span::from_us(1), 12);
        let mut out = Output::default();
        for page in 0..3 {
            let ask = Ask::Lookup { first: Lpn::new(page * 4), count: 1 };
            unit.ask(Time::ZERO, Asker::Host, Ticket(page), ask);
        }
        unit.advance(Time::ZERO, &mut out);
        assert_eq!(out.jobs.len(), 3, "pages wait for flash side by side");
        (0..3).for_each(|page| unit.loaded(Time::ZERO, page, None));
        let answered = (1..=3).map(|us| {
            unit.advance(Time::ZERO + Span::from_us(us), &mut out);
            out.answers.len()
        });
        assert_eq!(answered.collect::<Vec<_>>(), [1, 2, 3]);
        let busy = [1, 3].map(|us| unit.counters(Time::ZERO + Span::from_us(us)).busy[0]);
        assert_eq!(busy, [1, 3].map(Span::from_us), "future work does not count");
    }

    #[test]
    fn every_lookup_loads_and_every_update_stores() {
        let mut unit = uncached(Span::ZERO, 10);
        let mut out = Output::default();
        let now = Time::ZERO;
        let update = Ask::Update { lpn: Lpn::new(9), to: Some(Psn::new(5)) };
        let copy = Ask::CondUpdate { lpn: Lpn::new(9), from: Psn::new(4), to: Psn::new(6) };
        unit.ask(now, Asker::Host, Ticket(1), update);
        unit.ask(now, Asker::Collector, Ticket(2), copy);
        unit.advance(now, &mut out);
        assert_eq!(std::mem::take(&mut out.jobs), [Job::Load(2)]);
        unit.loaded(now, 2, None);
        unit.advance(now, &mut out);
        let stored = [None, Some(Psn::new(5)), None, None].map(encode);
        assert_eq!((std::mem::take(&mut out.jobs), &unit.image(2)[..]), (vec![Job::Store(2)], &stored[..]));
        assert!(out.answers.is_empty(), "a change is answered when it is stored");
        let image = unit.image(2).clone();
        unit.stored(now, 2);
        unit.advance(now, &mut out);
        assert_eq!(std::mem::take(&mut out.answers), [(Ticket(1), Answer::Updated(None))]);
        assert_eq!(std::mem::take(&mut out.jobs), [Job::Load(2)]);
        unit.loaded(now, 2, Some(&image));
        unit.advance(now, &mut out);
        assert_eq!((out.answers.as_slice(), out.jobs.len()), ([(Ticket(2), Answer::Condition(false))].as_slice(), 0));
        let Counters { questions, loads, stores, loads_at_most, .. } = unit.counters(now);
        assert_eq!([questions, loads, stores, loads_at_most], [2, 2, 1, 1]);
    }
}
