//! Map units in software: translation pages are divided over cores, and each core has its own part of the caches (Sec.
//! 3.2, last paragraphs, and 5.1).
//!
//! DFTL and CDFTL treat a question alike until a core fills or writes back a block of the CMT; there they differ
//! ([`Backing`]).

mod core;

use base::units::{Lpn, Psn, Time};

use self::core::Core;
use super::backing::{Backing, Plan};
use super::entry::decode;
use super::layout::Layout;
use super::{Ask, Asker, Counters, MapUnit, Output, Parts, Ticket, arbiter};

/// A map unit on several cores.
#[derive(Clone, Debug)]
pub(super) struct Software<B> {
    layout: Layout,
    cores: Vec<Core<B>>,
}

impl<B: Backing> Software<B> {
    pub(super) fn new(plan: &Plan, mut backing: impl FnMut(u32) -> B) -> Self {
        Self { layout: plan.layout, cores: (0..plan.cores).map(|core| Core::new(plan, core, backing(core))).collect() }
    }

    fn core_of(&self, tvpn: u32) -> usize {
        tvpn as usize % self.cores.len()
    }

    pub(super) fn is_clean(&self) -> bool {
        self.cores.iter().all(Core::is_clean)
    }

    pub(super) fn peek<'a>(&'a self, lpn: Lpn, images: impl Fn(u32) -> Option<&'a [u32]>) -> Option<Psn> {
        let block = lpn.get() / self.layout.block;
        let (tvpn, at) = self.layout.page_of(block);
        let inside = (lpn.get() % self.layout.block) as usize;
        let core = &self.cores[self.core_of(tvpn)];
        let entry = match core.cached(block) {
            Some(entries) => Some(entries[inside]),
            None => core.backing().page(tvpn).or_else(|| images(tvpn)).map(|page| page[at + inside]),
        };
        entry.and_then(decode)
    }
}

impl<B: Backing> MapUnit for Software<B> {
    fn ask(&mut self, now: Time, asker: Asker, ticket: Ticket, ask: Ask) {
        let (tvpn, _) = self.layout.page_of(self.layout.block_of(&ask));
        let core = self.core_of(tvpn);
        self.cores[core].ask(now, asker, ticket, ask);
    }

    fn loaded(&mut self, now: Time, tvpn: u32, image: Option<&[u32]>) {
        let core = self.core_of(tvpn);
        self.cores[core].loaded(now, tvpn, image);
    }

    fn stored(&mut self, now: Time, tvpn: u32) {
        let core = self.core_of(tvpn);
        self.cores[core].stored(now, tvpn);
    }

    fn advance(&mut self, now: Time, out: &mut Output) {
        // Cores share no mapping units, so only the order within a moment is arbitrary; it is by core number.
        loop {
            let due = self.cores.iter_mut().filter_map(|core| core.until().map(|at| (at, core)));
            let Some((at, core)) = due.min_by_key(|(at, _)| *at).filter(|(at, _)| *at <= now) else { return };
            core.finish(at, out);
        }
    }

    fn next_event(&self) -> Option<Time> {
        self.cores.iter().filter_map(Core::until).min()
    }

    fn image(&self, tvpn: u32) -> &[u32] {
        self.cores[self.core_of(tvpn)].backing().image(tvpn)
    }
    fn flush(&mut self, now: Time) {
        self.cores.iter_mut().for_each(|core| core.drain(now));
    }

    fn set_collector_weight(&mut self, valid: u32, of: u32) {
        let weights = arbiter::collector_weights(valid, of);
        self.cores.iter_mut().for_each(|core| core.set_weights(weights));
    }

    fn counters(&self, now: Time) -> Counters {
        let mut sum = Counters::new(0, Parts::Cores);
        self.cores.iter().for_each(|core| sum.add(core.counters()));
        sum.cut_off(now, self.cores.iter().map(Core::until));
        sum
    }
}
