//! Map units in software: translation pages are divided over cores, and each core has its own part of the caches (Sec.
//! 3.2, last paragraphs, and 5.1).
//!
//! DFTL and CDFTL differ only in how a core fills and writes back a block of the CMT ([`Backing`]).

mod core;

use base::units::{Divisor, Lpn, Psn, Time};
use flash::nand::Image;

use self::core::Core;
use super::backing::{Backing, Plan};
use super::entry::decode;
use super::layout::MapLayout;
use super::{Ask, Asker, Counters, MapUnit, Output, Parts, Ticket, arbiter};

/// A map unit on several cores.
#[derive(Clone, Debug)]
pub(super) struct Software<B> {
    layout: MapLayout,
    by_cores: Divisor,
    cores: Vec<Core<B>>,
    /// The end of each core's step, apart from the cores: every event asks for the next end, and the cores are large.
    due: Vec<Option<Time>>,
}

impl<B: Backing> Software<B> {
    pub(super) fn new(plan: &Plan, mut backing: impl FnMut(u32) -> B) -> Self {
        Self {
            layout: plan.layout,
            by_cores: Divisor::new(plan.cores),
            cores: (0..plan.cores).map(|core| Core::new(plan, core, backing(core))).collect(),
            due: vec![None; plan.cores as usize],
        }
    }

    fn core_of(&self, tvpn: u32) -> usize {
        self.by_cores.split(tvpn).1 as usize
    }

    /// Calls `does` with the core of a translation page, and notes the end of the core's step.
    #[inline]
    fn on_core(&mut self, tvpn: u32, does: impl FnOnce(&mut Core<B>)) {
        let number = self.core_of(tvpn);
        let core = &mut self.cores[number];
        does(core);
        self.due[number] = core.until();
    }

    /// The core whose step ends next, and the end of that step. Of steps with equal ends, the step of the core with the
    /// lowest number comes first; any order would do, because cores share no mapping units.
    #[inline]
    fn next(&self) -> Option<(Time, usize)> {
        let mut next: Option<(Time, usize)> = None;
        for (core, due) in self.due.iter().enumerate() {
            if let Some(at) = *due
                && next.is_none_or(|(first, _)| at < first)
            {
                next = Some((at, core));
            }
        }
        next
    }
}

impl<B: Backing> MapUnit for Software<B> {
    fn ask(&mut self, now: Time, asker: Asker, ticket: Ticket, ask: Ask) {
        self.layout.checked_block_of(&ask);
        self.on_core(self.layout.tvpn_of(&ask), |core| core.ask(now, asker, ticket, ask));
    }

    fn loaded(&mut self, now: Time, tvpn: u32, image: Option<&Image>) {
        self.on_core(tvpn, |core| core.loaded(now, tvpn, image));
    }

    fn stored(&mut self, now: Time, tvpn: u32) {
        self.on_core(tvpn, |core| core.stored(now, tvpn));
    }

    fn advance(&mut self, now: Time, out: &mut Output) {
        while let Some((at, number)) = self.next().filter(|(at, _)| *at <= now) {
            let core = &mut self.cores[number];
            core.finish(at, out);
            self.due[number] = core.until();
        }
    }

    fn next_event(&self) -> Option<Time> {
        self.next().map(|(at, _)| at)
    }

    fn image(&self, tvpn: u32) -> &Image {
        self.cores[self.core_of(tvpn)].backing().image(tvpn)
    }

    fn recycle(&mut self, tvpn: u32, image: Image) {
        let core = self.core_of(tvpn);
        self.cores[core].recycle(image);
    }

    fn flush(&mut self, now: Time) {
        for (core, due) in self.cores.iter_mut().zip(&mut self.due) {
            core.drain(now);
            *due = core.until();
        }
    }

    fn set_timed(&mut self, timed: bool) {
        self.cores.iter_mut().for_each(|core| core.set_timed(timed));
    }

    fn set_collector_weight(&mut self, valid: u32, of: u32) {
        let weights = arbiter::collector_weights(valid, of);
        self.cores.iter_mut().for_each(|core| core.set_weights(weights));
    }

    fn counters(&self, now: Time) -> Counters {
        let mut sum = Counters::new(0, Parts::Cores);
        self.cores.iter().for_each(|core| sum.add(core.counters()));
        sum.cut_off(now, self.due.iter().copied());
        sum
    }

    fn is_clean(&self) -> bool {
        self.cores.iter().all(Core::is_clean)
    }

    fn peek<'a>(&'a self, lpn: Lpn, images: &dyn Fn(u32) -> Option<&'a [u32]>) -> Option<Psn> {
        let block = lpn.get() / self.layout.block;
        let (tvpn, at) = self.layout.page_of(block);
        let inside = (lpn.get() % self.layout.block) as usize;
        let core = &self.cores[self.core_of(tvpn)];
        let entry = match core.cached(block) {
            Some(entries) => Some(entries[inside]),
            None => {
                core.backing().page(tvpn).map(|page| &page[..]).or_else(|| images(tvpn)).map(|page| page[at + inside])
            }
        };
        entry.and_then(decode)
    }
}
