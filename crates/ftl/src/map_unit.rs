//! The map unit: the exchangeable part of the page-mapped FTL that knows where every unit is (Woo and Min,
//! "FMMU", 2017, Sec. 3, Fig. 4).
//!
//! The host request manager and the garbage collector ask it, it answers, and it has translation pages loaded
//! from flash and stored there: pages of as many map entries as fit in one mapping unit, each with a virtual
//! number (TVPN). A map unit is a state machine that is handed the time, like everything here: it knows nothing
//! of events or of the backend.

mod any;
mod arbiter;
mod backing;
mod cache;
mod cdftl;
mod costs;
mod counters;
mod dftl;
mod dtl;
mod entry;
mod fmmu;
mod layout;
mod memory;
mod mshrs;
mod software;
mod spec;
mod table;
#[cfg(test)]
mod tests;
mod uncached;
mod write_buffers;

use base::units::{Lpn, Psn, Time};

pub use any::AnyMapUnit;
pub use costs::{CostSpec, Costs};
pub use counters::{Counters, Parts};
pub(crate) use entry::ENTRY;
pub use entry::{decode, encode};
pub use layout::Layout;
pub(crate) use memory::memory;
pub use spec::{CdftlSpec, DftlSpec, FmmuSpec, MapSpec};
pub use table::Table;

/// Who asks. Each has a queue of its own; a map unit may prefer one to the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asker {
    /// The host request manager.
    Host,
    /// The garbage collector.
    Collector,
}

/// What is asked. One question never crosses the border of a translation page, nor of [`SPAN`] aligned units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Where are these units?
    Lookup {
        /// The first.
        first: Lpn,
        /// How many.
        count: u32,
    },
    /// A unit is here now; `None` if it is nowhere, because it was discarded.
    Update {
        /// Which.
        lpn: Lpn,
        /// Where.
        to: Option<Psn>,
    },
    /// The same, but only if the map still leads to `from`: what a copy is entered with (Sec. 3.4).
    CondUpdate {
        /// Which.
        lpn: Lpn,
        /// Where it was copied from.
        from: Psn,
        /// Where it was copied to.
        to: Psn,
    },
}

/// The most units one lookup covers: the entries of a cache block of 64 bytes.
pub const SPAN: u32 = 16;

/// Names a question; chosen by whoever asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(pub u32);

/// What became of a question. Answers to questions about one unit come in the order in which they took effect, and
/// questions of one asker about one unit take effect in the order in which they were asked. Between the askers there
/// is no order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// To a lookup: the places, those of the units asked for at the front.
    Places([Option<Psn>; SPAN as usize]),
    /// To an update: where the unit was before.
    Updated(Option<Psn>),
    /// To a conditional update: whether it was carried out.
    Condition(bool),
}

/// What a map unit wants of flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Job {
    /// The translation page with this number; the unit hears of it by `loaded`. One that is being stored is read when
    /// that is done.
    Load(u32),
    /// Program a new version of it; the content is [`MapUnit::image`] at this moment, and the unit hears of the
    /// end by `stored`. There is at most one for each page at a time.
    Store(u32),
}

/// What came of letting a map unit work.
#[derive(Clone, Debug, Default)]
pub struct Output {
    /// Answers, in the order in which they took effect.
    pub answers: Vec<(Ticket, Answer)>,
    /// What it wants of flash.
    pub jobs: Vec<Job>,
}

/// A map unit.
///
/// It is driven like this: after each `ask`, `loaded` or `stored`, and at each moment that `next_event` names, call
/// `advance` and carry out what comes of it. Nothing may be asked or told at a time later than `next_event`. What a
/// machine in it does takes effect, as seen from outside, at the end of its service time.
///
/// There is at most one job for each translation page at a time, and whoever drives it may answer a load of a page that
/// was never written at once. A load reads the version of the page that was programmed last when the load was issued.
///
/// An image is the content of a translation page: a word for each unit, which [`decode`] reads and [`encode`] makes.
pub trait MapUnit {
    /// Takes a question. The answer comes from [`MapUnit::advance`], at the same time or later.
    fn ask(&mut self, now: Time, asker: Asker, ticket: Ticket, ask: Ask);

    /// A translation page has been read; `None` if it was never written, and all its units are nowhere.
    fn loaded(&mut self, now: Time, tvpn: u32, image: Option<&[u32]>);

    /// A translation page has been programmed.
    fn stored(&mut self, now: Time, tvpn: u32);

    /// Does everything that is due by `now`.
    fn advance(&mut self, now: Time, out: &mut Output);

    /// When it has something to do next, if nobody asks and nothing is loaded or stored before.
    fn next_event(&self) -> Option<Time>;

    /// The content of a translation page that it wants stored.
    fn image(&self, tvpn: u32) -> &[u32];

    /// The power goes in order: everything that is dirty is to be stored, and no question is under way. A map unit
    /// that has nothing dirty, or leaves it to recovery, does nothing.
    fn flush(&mut self, _now: Time) {}

    /// The collector works on a victim with `valid` units of `of`. One that serves host and collector in turns gives the
    /// collector so many that it keeps up: `valid / of` of them (Woo and Min, Sec. 4.6, say that the weights follow this
    /// count; the formula is ours).
    fn set_collector_weight(&mut self, _valid: u32, _of: u32) {}

    /// What was counted since it was built, which is when the power came, busy times cut off at `now`.
    fn counters(&self, now: Time) -> Counters;
}
