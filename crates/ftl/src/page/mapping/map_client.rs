//! The map unit's side in the FTL: its questions without an answer, its loads and its stores.

mod host_memory;
mod questions;

use std::collections::{BTreeMap, BTreeSet};

use base::engine::EventQueue;
use base::prefetch::prefetch;
use base::units::{Lpn, Psn, Time};
use flash::nand::{Image, Media, Spare};

use crate::Event;
use crate::map_unit::{Answer, AnyMapUnit, Ask, Asker, Counters, HostMemory, Job, MapUnit, Output, SPAN, Ticket};
use crate::port::PageRead;
use crate::toolkit::Map;

use questions::{MapLookup, Masks, Questions};

pub(in crate::page) use questions::Question;

#[derive(Clone, Copy, Debug, Default)]
pub(in crate::page) struct MapPageState {
    /// The version on flash that loads read.
    pub(in crate::page) durable: Option<u32>,
    /// The version being programmed.
    pub(in crate::page) storing: Option<u32>,
    /// Reads of the page in progress.
    pub(in crate::page) loading: u32,
    /// Reads of the page that begin after the program in progress.
    pub(in crate::page) wanted: u32,
}

/// A map unit, with the questions that it was asked and the jobs that it requested.
#[derive(Clone, Debug)]
pub(in crate::page) struct MapClient {
    pub(in crate::page) unit: AnyMapUnit,
    /// The places of the translation pages.
    pub(in crate::page) directory: Map,
    pub(in crate::page) pages: Vec<MapPageState>,
    pub(in crate::page) entries: u32,
    units: u32,
    questions: Questions,
    /// The time of the map unit: the device's time, or its own while time is off.
    clock: Time,
    /// True if the map unit has had input since its last step.
    awake: bool,
    /// The time of the pending event that wakes the map unit.
    wake: Option<Time>,
    /// A buffer for the map unit's output; empty between its steps.
    pub(in crate::page) out: Output,
    /// The whole map as recovery found it, while any translation page is stale.
    pub(in crate::page) recovered: Option<Vec<u32>>,
    /// Stale translation pages, which are written before the map unit starts.
    pub(in crate::page) stale: BTreeSet<u32>,
    /// Translation pages without a place on flash. They stay in RAM, and the drive accepts no more writes.
    pub(in crate::page) kept: BTreeMap<u32, Image>,
    /// The host memory buffer, if the drive asks for one.
    pub(in crate::page) host_memory: Option<Box<HostMemory>>,
}

impl MapClient {
    pub(in crate::page) fn new(unit: AnyMapUnit, units: u32, directory: Map, entries: u32) -> Self {
        Self {
            unit,
            pages: vec![MapPageState::default(); directory.len() as usize],
            directory,
            entries,
            units,
            questions: Questions::default(),
            clock: Time::ZERO,
            awake: false,
            wake: None,
            out: Output::default(),
            recovered: None,
            stale: BTreeSet::new(),
            kept: BTreeMap::new(),
            host_memory: None,
        }
    }

    /// Replaces the map unit, until the next mount, by a map in RAM that stores the changed translation pages when the
    /// power goes off. A map unit whose RAM has entries that flash lacks is not replaced.
    pub(in crate::page) fn store_at_the_end(&mut self, media: &Media) {
        let has_all = self.stale.is_empty() && self.kept.is_empty() && self.unit.is_clean();
        if self.pages.is_empty() || !has_all {
            return;
        }
        let image = |page: u32| {
            let durable = self.pages[page as usize].durable?;
            media.image(page, durable).map(|image| &image[..])
        };
        self.unit = AnyMapUnit::write_back(self.units, self.entries, image);
    }

    fn tick(&mut self, now: Time) -> Time {
        self.clock = self.clock.max(now);
        self.clock
    }

    /// Prefetches for a question about a mapping unit that will follow: the entries of the map unit, and the state of
    /// the translation page.
    #[inline]
    pub(in crate::page) fn prefetch(&self, unit: usize, media: &Media) {
        self.unit.prefetch(unit);
        // A full table has no translation pages.
        if let Some(page) = (unit as u32).checked_div(self.entries) {
            prefetch(self.pages.get(page as usize));
            media.prefetch_image(page);
        }
    }

    pub(in crate::page) fn ask(&mut self, now: Time, asker: Asker, question: Question, ask: Ask) {
        let ticket = self.questions.open(question);
        self.ask_unit(now, asker, ticket, ask);
    }

    fn ask_unit(&mut self, now: Time, asker: Asker, ticket: Ticket, ask: Ask) {
        let now = self.tick(now);
        self.unit.ask(now, asker, ticket, ask);
        self.awake = true;
    }

    /// Removes and returns the question of an answer.
    pub(in crate::page) fn close(&mut self, ticket: Ticket) -> Question {
        self.questions.close(ticket)
    }

    /// True if a pending answer may free or take space.
    pub(in crate::page) const fn awaits_answers(&self) -> bool {
        self.questions.changes > 0
    }

    /// Adds a mapping unit to be read; neighbours share one lookup.
    pub(in crate::page) fn look_up(&mut self, now: Time, wanted: PageRead, lpn: Lpn) {
        if self.questions.join(wanted, lpn) {
            return;
        }
        self.end_look_up(now);
        self.questions.begin_look_up(wanted, lpn);
    }

    /// Takes the requested sectors of each mapping unit of a lookup that has been answered; none if the lookup has only
    /// one mapping unit.
    pub(in crate::page) fn take_masks(&mut self, look_up: &MapLookup) -> Option<Masks> {
        self.questions.take_masks(look_up)
    }

    /// Asks the map unit for the last neighbours of a read request.
    pub(in crate::page) fn end_look_up(&mut self, now: Time) {
        if let Some((ticket, ask)) = self.questions.end_look_up() {
            self.ask_unit(now, Asker::Host, ticket, ask);
        }
    }

    #[inline]
    pub(in crate::page) fn is_due(&self, timed: bool) -> bool {
        (self.awake || (!timed && self.unit.next_event().is_some())) && self.stale.is_empty()
    }

    pub(in crate::page) fn wake(&mut self, now: Time) {
        if self.wake == Some(now) {
            self.wake = None;
        }
        self.take_arrivals(now);
        self.awake = true;
    }

    pub(in crate::page) fn flush(&mut self, now: Time) {
        let now = self.tick(now);
        self.unit.flush(now);
        self.awake = true;
    }

    pub(in crate::page) fn loaded(&mut self, now: Time, page: u32, image: Option<&Image>) {
        let now = self.tick(now);
        self.unit.loaded(now, page, image);
        self.awake = true;
    }

    pub(in crate::page) fn stored(&mut self, now: Time, page: u32) {
        let now = self.tick(now);
        self.unit.stored(now, page);
        self.awake = true;
    }

    /// Advances the map unit and returns its output. With time off a call takes one step; with `alone` it takes steps
    /// until there is output, because nothing else happens between them.
    pub(in crate::page) fn advance(&mut self, now: Time, timed: bool, alone: bool) -> Output {
        let mut now = self.tick(now);
        self.awake = false;
        let mut out = std::mem::take(&mut self.out);
        loop {
            if let Some(at) = self.unit.next_event().filter(|_| !timed) {
                now = self.tick(at);
            }
            self.unit.advance(now, &mut out);
            let is_quiet = out.answers.is_empty() && out.jobs.is_empty();
            if timed || !alone || !is_quiet || self.unit.next_event().is_none() {
                return out;
            }
        }
    }

    /// Advances the map unit in steps, up to the first step with output, but not beyond the next event or `until`.
    /// Calls `stepped` with the time of each step but the first, in place of the event that the step would have had.
    /// Returns true if there is no output yet.
    pub(in crate::page) fn work_alone(
        &mut self,
        now: &mut Time,
        until: Time,
        events: &mut EventQueue<Event>,
        mut stepped: impl FnMut(Time),
    ) -> bool {
        if !self.stale.is_empty() {
            return false;
        }
        let next = events.next_time();
        loop {
            let at = self.tick(*now);
            self.unit.advance(at, &mut self.out);
            // The output is left to the next step, which is due now.
            self.awake = !self.out.answers.is_empty() || !self.out.jobs.is_empty();
            if self.awake {
                return false;
            }
            // All wake-up times of the map unit are events in the queue, so none of them is before `next`.
            match self.unit.next_event() {
                Some(at) if at <= until && next.is_none_or(|next| at < next) => {
                    stepped(at);
                    (*now, self.wake) = (at, None);
                }
                _ => break,
            }
        }
        self.schedule(*now, events);
        true
    }

    /// Schedules an event at the time of the map unit's next step.
    pub(in crate::page) fn schedule(&mut self, now: Time, events: &mut EventQueue<Event>) {
        let Some(at) = self.unit.next_event().map(|at| at.max(now)) else { return };
        if self.wake.is_none_or(|wake| at < wake) {
            self.wake = Some(at);
            events.push(at, Event::Ftl);
        }
    }

    pub(in crate::page) fn counters(&self, now: Time) -> Counters {
        let hmb = self.host_memory.as_ref().map(|memory| memory.counters());
        Counters { hmb, ..self.unit.counters(self.clock.max(now)) }
    }

    /// The mapping units of a translation page; the range of the last page may extend beyond the drive's last mapping
    /// unit.
    pub(in crate::page) const fn range(&self, page: u32) -> std::ops::Range<usize> {
        let first = page as usize * self.entries as usize;
        first..first + self.entries as usize
    }

    /// The present content of a translation page; `None` if it was never written.
    pub(in crate::page) fn content<'a>(&'a self, media: &'a Media, page: u32) -> Option<&'a [u32]> {
        if let Some(kept) = self.kept.get(&page) {
            return Some(kept);
        }
        if let Some(recovered) = self.recovered.as_ref().filter(|_| self.stale.contains(&page)) {
            return Some(&recovered[self.range(page)]);
        }
        let psn = self.directory.get(Lpn::new(page))?;
        let Spare::Data { version, .. } = media.spare(psn) else { panic!("translation page {page} is not at {psn}") };
        let image = media.image(page, version);
        Some(image.unwrap_or_else(|| panic!("version {version} of translation page {page} is nowhere")))
    }
}

impl MapClient {
    /// The place of a mapping unit when the latest answer was given; takes no simulated time.
    pub(in crate::page) fn peek(&self, lpn: Lpn, media: &Media) -> Option<Psn> {
        self.unit.peek(lpn, &|page| self.content(media, page))
    }
}

/// The map after all questions have been answered.
pub(in crate::page) struct SettledMap {
    /// The place of every mapping unit.
    pub(in crate::page) places: Vec<Option<Psn>>,
    /// Places that count as valid only until the FTL has received the answers.
    pub(in crate::page) passing: Vec<Psn>,
}

impl MapClient {
    /// Lets a copy of the map unit answer all questions, and asks it for the place of every mapping unit. Slow: for
    /// checks.
    ///
    /// # Panics
    /// If a question gets no answer.
    pub(in crate::page) fn settled(&self, media: &Media) -> SettledMap {
        let mut copy = self.clone();
        let image = |page| self.content(media, page).map(|content| Image::new(content.to_vec()));
        let mut pages: Vec<Option<Image>> = (0..self.directory.len()).map(image).collect();
        for page in 0..self.directory.len() {
            let state = self.pages[page as usize];
            if let Some(version) = state.storing.filter(|_| !self.stale.contains(&page)) {
                pages[page as usize] = media.image(page, version).cloned();
                copy.stored(self.clock, page);
            }
            for _ in 0..state.loading + state.wanted {
                copy.loaded(self.clock, page, pages[page as usize].as_ref());
            }
        }
        let mut settled = SettledMap { places: vec![None; self.units as usize], passing: Vec::new() };
        copy.answer_all(&mut pages, &mut settled);
        for first in (0..self.units).step_by(SPAN as usize) {
            let (lpn, count) = (Lpn::new(first), SPAN.min(self.units - first));
            copy.ask(self.clock, Asker::Host, Question::Check(lpn), Ask::Lookup { first: lpn, count });
        }
        copy.answer_all(&mut pages, &mut settled);
        let unanswered = copy.questions.count();
        assert!(unanswered == 0, "the map unit does not answer {unanswered} questions");
        settled
    }

    fn answer_all(&mut self, pages: &mut [Option<Image>], settled: &mut SettledMap) {
        while self.awake || self.unit.next_event().is_some() {
            let mut out = self.advance(self.clock, false, true);
            for (ticket, answer) in out.answers.drain(..) {
                settled.note(self.close(ticket), &answer);
            }
            for job in out.jobs.drain(..) {
                match job {
                    Job::Load(page) | Job::LoadPart { page, .. } => {
                        self.loaded(self.clock, page, pages[page as usize].as_ref())
                    }
                    Job::Store(page) => {
                        pages[page as usize] = Some(self.unit.image(page).clone());
                        self.stored(self.clock, page);
                    }
                }
            }
            self.out = out;
        }
    }
}

impl SettledMap {
    fn note(&mut self, question: Question, answer: &Answer) {
        match (question, answer) {
            (Question::Check(first), Answer::Places(places)) => {
                let first = first.index();
                let end = (first + SPAN as usize).min(self.places.len());
                self.places[first..end].copy_from_slice(&places[..end - first]);
            }
            (Question::Copy { from, to }, Answer::Condition(held)) => self.passing.push(if *held { from } else { to }),
            (_, Answer::Updated(old)) => self.passing.extend(*old),
            _ => {}
        }
    }
}
