//! A map unit with a flash of translation pages, and a plain array that predicts its answers.

use std::collections::BTreeMap;

use base::engine::Rng;
use base::units::{Lpn, Psn, Span, Time};
use flash::nand::Image;

use super::super::{Answer, AnyMapUnit, Ask, Asker, Counters, Job, MapUnit, Output, Ticket, encode};

/// The result of a flash operation that ends.
enum FlashResult {
    Load(u32, Option<Vec<u32>>),
    Store(u32, Vec<u32>),
}

pub(super) struct Rig {
    pub(super) unit: AnyMapUnit,
    pub(super) now: Time,
    /// The place of each mapping unit, from the answers in their order.
    pub(super) plain: Vec<Option<Psn>>,
    pub(super) images: Vec<Option<Vec<u32>>>,
    page: usize,
    flash: BTreeMap<(Time, u64), FlashResult>,
    /// The longest latency of flash.
    latency: Span,
    rng: Rng,
    asked: Vec<Option<Ask>>,
    jobs: u64,
    /// True if the map unit may load a page while another load of the page is in progress.
    pub(super) loads_twice: bool,
    pub(super) answered: Vec<(Ticket, Time)>,
    pub(super) issued: Vec<Job>,
}

impl Rig {
    pub(super) fn new(unit: impl Into<AnyMapUnit>, units: u32, page: u32, latency: Span, seed: u64) -> Self {
        Self {
            unit: unit.into(),
            now: Time::ZERO,
            plain: vec![None; units as usize],
            images: vec![None; units.div_ceil(page) as usize],
            page: page as usize,
            flash: BTreeMap::new(),
            latency,
            rng: Rng::stream(seed, "flash of translation pages"),
            asked: Vec::new(),
            jobs: 0,
            loads_twice: false,
            answered: Vec::new(),
            issued: Vec::new(),
        }
    }

    /// The counters; steps in progress count as a whole.
    pub(super) fn counters(&self) -> Counters {
        self.unit.counters(Time::MAX)
    }

    /// Writes translation pages in no simulated time, as the initial state.
    pub(super) fn written(mut self, entry: impl Fn(u32) -> u32) -> Self {
        for lpn in 0..self.plain.len() as u32 {
            let image = self.images[lpn as usize / self.page].get_or_insert_with(|| vec![encode(None); self.page]);
            image[lpn as usize % self.page] = entry(lpn);
            self.plain[lpn as usize] = Some(Psn::new(entry(lpn)));
            if let Some(table) = self.unit.table() {
                table.enter(Lpn::new(lpn), Some(Psn::new(entry(lpn))));
            }
        }
        self
    }

    pub(super) fn ask(&mut self, asker: Asker, ask: Ask) -> Ticket {
        let ticket = Ticket(self.asked.len() as u32);
        self.asked.push(Some(ask));
        self.unit.ask(self.now, asker, ticket, ask);
        self.advance();
        ticket
    }

    fn next(&self) -> Option<Time> {
        self.unit.next_event().into_iter().chain(self.flash.keys().next().map(|(at, _)| *at)).min()
    }

    /// Advances to the next event, at most to `limit`; returns false if no event is left.
    pub(super) fn step(&mut self, limit: Time) -> bool {
        let Some(at) = self.next().filter(|at| *at <= limit) else { return false };
        assert!(at >= self.now, "time goes on");
        self.now = at;
        while let Some(entry) = self.flash.first_entry().filter(|entry| entry.key().0 <= at) {
            match entry.remove() {
                FlashResult::Load(tvpn, image) => self.unit.loaded(at, tvpn, image.map(Image::new).as_ref()),
                FlashResult::Store(tvpn, image) => {
                    self.images[tvpn as usize] = Some(image);
                    self.unit.stored(at, tvpn);
                }
            }
            self.advance();
        }
        self.advance();
        true
    }

    pub(super) fn run_until_idle(&mut self) {
        let limit = 10_000 + self.asked.len() * 1_000;
        assert!((0..limit).any(|_| !self.step(Time::MAX)), "the map unit never becomes idle");
    }

    fn advance(&mut self) {
        let mut out = Output::default();
        self.unit.advance(self.now, &mut out);
        self.accept(out);
    }

    fn accept(&mut self, out: Output) {
        assert!(self.unit.next_event().is_none_or(|at| at > self.now), "all that is due is done");
        for (ticket, answer) in out.answers {
            let ask = self.asked[ticket.0 as usize].take().expect("a question is answered once");
            assert_eq!(answer, self.expected(&ask), "{ask:?} with ticket {ticket:?}");
            self.answered.push((ticket, self.now));
        }
        for job in out.jobs {
            self.issued.push(job);
            let (Job::Load(tvpn) | Job::LoadPart { page: tvpn, .. } | Job::Store(tvpn)) = job;
            // Only DFTL has two loads of a page in progress at once.
            let busy = |done: &FlashResult| match done {
                FlashResult::Load(page, _) => {
                    *page == tvpn && !(self.loads_twice && matches!(job, Job::Load(_) | Job::LoadPart { .. }))
                }
                FlashResult::Store(page, _) => *page == tvpn,
            };
            assert!(!self.flash.values().any(busy), "one job for a page at a time: {:?}", self.issued);
            // A read returns the content at the time it was sent.
            let done = match job {
                Job::Load(_) | Job::LoadPart { .. } => FlashResult::Load(tvpn, self.images[tvpn as usize].clone()),
                Job::Store(_) => FlashResult::Store(tvpn, self.unit.image(tvpn).to_vec()),
            };
            let takes = Span::from_ps(self.rng.below(self.latency.as_ps() + 1));
            self.jobs += 1;
            self.flash.insert((self.now + takes, self.jobs), done);
        }
    }

    /// The answer of a plain array, which takes the question's change.
    fn expected(&mut self, ask: &Ask) -> Answer {
        match *ask {
            Ask::Lookup { first, count } => {
                let mut places = [None; 16];
                places[..count as usize].copy_from_slice(&self.plain[first.index()..][..count as usize]);
                Answer::Places(places)
            }
            Ask::Update { lpn, to } => Answer::Updated(std::mem::replace(&mut self.plain[lpn.index()], to)),
            Ask::CondUpdate { lpn, from, to } => {
                let holds = self.plain[lpn.index()] == Some(from);
                if holds {
                    self.plain[lpn.index()] = Some(to);
                }
                Answer::Condition(holds)
            }
        }
    }

    /// Checks that all questions are answered, and that the readable map agrees with the answers.
    pub(super) fn check(&self) {
        let open = self.asked.iter().filter(|ask| ask.is_some()).count();
        assert_eq!(open, 0, "questions without an answer");
        for (lpn, expected) in self.plain.iter().enumerate() {
            let place = self.unit.peek(Lpn::new(lpn as u32), &|tvpn| self.images[tvpn as usize].as_deref());
            assert_eq!(place, *expected, "mapping unit {lpn}");
        }
    }

    pub(super) fn begin_flush(&mut self) {
        self.unit.flush(self.now);
        self.advance();
    }

    /// Stores all dirty data, and checks that flash alone has the map.
    pub(super) fn flush(&mut self) {
        self.begin_flush();
        self.run_until_idle();
        assert!(self.unit.is_clean(), "everything was to be stored");
        self.check();
        if self.unit.table().is_some() {
            return;
        }
        for (lpn, expected) in self.plain.iter().enumerate() {
            let entry = self.images[lpn / self.page].as_ref().map_or(encode(None), |image| image[lpn % self.page]);
            assert_eq!(entry, encode(*expected), "mapping unit {lpn} in flash");
        }
    }
}
