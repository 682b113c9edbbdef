//! The map unit of a drive that is being preconditioned: it has the whole map in RAM, and stores the translation pages
//! that have changed when the power goes off.
//!
//! So the flash that preconditioning leaves does not depend on the drive's own map unit, whose cache starts cold after
//! it: drives that differ in their map units alone begin a run with the same flash.

use std::collections::BTreeMap;

use base::prefetch::prefetch;
use base::units::{Lpn, Psn, Time};
use flash::nand::Image;

use super::entry::{decode, encode};
use super::layout::{self, MapLayout};
use super::{Answer, Ask, Asker, Counters, Job, MapUnit, Output, Parts, SPAN, Ticket};

/// The most translation pages that are stored at once. The number exceeds the pages that share a program, so that
/// programs are full.
const STORES: usize = 64;

/// The map unit of preconditioning.
#[derive(Clone, Debug)]
pub(crate) struct WriteBack {
    layout: MapLayout,
    entries: Vec<u32>,
    /// For each translation page, true if it has changed since its last store began.
    dirty: Vec<bool>,
    /// The translation pages that are being stored.
    storing: BTreeMap<u32, Image>,
    /// The translation page to test next, while dirty pages are stored.
    next: Option<u32>,
    answers: Vec<(Ticket, Answer)>,
    counters: Counters,
}

impl WriteBack {
    /// The map of `units` mapping units in translation pages of `page` entries. `image` has the content of each page on
    /// flash, if it was ever written.
    pub(super) fn new<'a>(units: u32, page: u32, image: impl Fn(u32) -> Option<&'a [u32]>) -> Self {
        let layout = MapLayout::new(units, page, SPAN);
        let pages = layout.pages();
        let mut entries = vec![encode(None); pages as usize * page as usize];
        for (tvpn, entries) in (0..).zip(entries.chunks_exact_mut(page as usize)) {
            if let Some(image) = image(tvpn) {
                entries.copy_from_slice(image);
            }
        }
        Self {
            layout,
            entries,
            dirty: vec![false; pages as usize],
            storing: BTreeMap::new(),
            next: None,
            answers: Vec::new(),
            counters: Counters::new(1, Parts::Cores),
        }
    }

    /// Requests the store of dirty pages, as many as may be stored at once.
    fn store(&mut self, jobs: &mut Vec<Job>) {
        while let Some(tvpn) = self.next.filter(|_| self.storing.len() < STORES) {
            let Some(dirty) = self.dirty.get_mut(tvpn as usize) else {
                if self.storing.is_empty() {
                    // Collection may have moved mapping units of pages that had been stored: another pass over the
                    // pages follows.
                    self.next = self.dirty.contains(&true).then_some(0);
                    continue;
                }
                return;
            };
            self.next = Some(tvpn + 1);
            if std::mem::take(dirty) {
                let page = self.layout.page as usize;
                let words = self.entries[tvpn as usize * page..][..page].to_vec();
                self.storing.insert(tvpn, Image::new(words));
                self.counters.stores += 1;
                jobs.push(Job::Store(tvpn));
            }
        }
    }
}

impl MapUnit for WriteBack {
    fn ask(&mut self, _: Time, _: Asker, ticket: Ticket, ask: Ask) {
        self.layout.checked_block_of(&ask);
        let (answer, changed) = layout::serve(&ask, &mut self.entries[layout::range(&ask).0.index()..]);
        if changed {
            self.dirty[self.layout.tvpn_of(&ask) as usize] = true;
        }
        self.counters.questions += 1;
        self.counters.cmt_hits += 1;
        self.answers.push((ticket, answer));
    }

    fn loaded(&mut self, _: Time, _: u32, _: Option<&Image>) {
        unreachable!("a map in RAM loads nothing");
    }

    fn stored(&mut self, _: Time, tvpn: u32) {
        self.storing.remove(&tvpn);
    }

    fn advance(&mut self, _: Time, out: &mut Output) {
        out.answers.append(&mut self.answers);
        self.store(&mut out.jobs);
    }

    fn next_event(&self) -> Option<Time> {
        None
    }

    fn image(&self, tvpn: u32) -> &Image {
        &self.storing[&tvpn]
    }

    fn flush(&mut self, _: Time) {
        self.next = Some(0);
    }

    #[inline]
    fn prefetch(&self, unit: usize) {
        prefetch(self.entries.get(unit));
    }

    fn counters(&self, _: Time) -> Counters {
        self.counters.clone()
    }

    fn is_clean(&self) -> bool {
        self.answers.is_empty() && self.storing.is_empty() && !self.dirty.contains(&true)
    }

    fn peek<'a>(&'a self, lpn: Lpn, _: &dyn Fn(u32) -> Option<&'a [u32]>) -> Option<Psn> {
        decode(self.entries[lpn.index()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(unit: &mut WriteBack) -> Output {
        let mut out = Output::default();
        unit.advance(Time::ZERO, &mut out);
        out
    }

    fn update(unit: &mut WriteBack, lpn: u32, to: u32) {
        let ask = Ask::Update { lpn: Lpn::new(lpn), to: Some(Psn::new(to)) };
        unit.ask(Time::ZERO, Asker::Host, Ticket(lpn), ask);
    }

    #[test]
    fn questions_are_answered_at_once_and_pages_are_stored_by_the_flush() {
        let mut unit = WriteBack::new(200, 16, |_| None);
        update(&mut unit, 17, 5);
        update(&mut unit, 3, 6);
        update(&mut unit, 17, 7);
        let out = step(&mut unit);
        let was = Answer::Updated(Some(Psn::new(5)));
        assert_eq!(
            out.answers,
            [(Ticket(17), Answer::Updated(None)), (Ticket(3), Answer::Updated(None)), (Ticket(17), was)]
        );
        assert!(out.jobs.is_empty() && !unit.is_clean());
        unit.flush(Time::ZERO);
        assert_eq!(step(&mut unit).jobs, [Job::Store(0), Job::Store(1)]);
        assert_eq!((unit.image(1)[1], unit.image(1)[0]), (7, encode(None)));
        // A copy moves a mapping unit of a page that is being stored.
        let (lpn, from, to) = (Lpn::new(3), Psn::new(6), Psn::new(9));
        unit.ask(Time::ZERO, Asker::Collector, Ticket(1), Ask::CondUpdate { lpn, from, to });
        assert_eq!(unit.image(0)[3], 6, "the content of the moment");
        unit.stored(Time::ZERO, 0);
        assert!(step(&mut unit).jobs.is_empty(), "the other one is still being stored");
        unit.stored(Time::ZERO, 1);
        assert_eq!(step(&mut unit).jobs, [Job::Store(0)]);
        assert_eq!(unit.image(0)[3], 9);
        unit.stored(Time::ZERO, 0);
        assert!(step(&mut unit).jobs.is_empty() && unit.is_clean());
        assert_eq!(unit.peek(lpn, &|_| None), Some(to));
    }

    #[test]
    fn a_map_unit_begins_with_the_pages_on_flash_and_stores_some_at_once() {
        let on_flash = [4; 16];
        let mut unit = WriteBack::new(16 * 100, 16, |tvpn| (tvpn == 2).then_some(&on_flash[..]));
        assert_eq!([1, 2].map(|tvpn| unit.peek(Lpn::new(16 * tvpn), &|_| None)), [None, Some(Psn::new(4))]);
        assert!(unit.is_clean());
        (0..100).for_each(|tvpn| update(&mut unit, 16 * tvpn, 1));
        unit.flush(Time::ZERO);
        assert_eq!(step(&mut unit).jobs.len(), STORES);
        (0..10).for_each(|tvpn| unit.stored(Time::ZERO, tvpn));
        assert_eq!(step(&mut unit).jobs.len(), 10);
    }
}
