//! The map unit: the exchangeable part of the page-mapped FTL that knows the place of every mapping unit (Woo and Min,
//! "FMMU", 2017, Sec. 3, Fig. 4).
//!
//! The host request manager and the garbage collector ask it, and it answers. It requests loads and stores of
//! translation pages: each page holds as many map entries as fit in one mapping unit, and has a virtual number (TVPN).
//! A map unit is a state machine that receives the time: it knows neither events nor the backend.

mod any;
mod arbiter;
mod backing;
mod block_entries;
mod block_state;
mod cache;
mod cdftl;
mod costs;
mod counters;
mod dftl;
mod dtl;
mod entry;
mod evict;
mod fmmu;
mod hmb_spec;
mod host_memory;
mod layout;
mod memory;
mod mshrs;
mod own;
mod pages;
mod questions;
mod software;
mod spec;
mod table;
#[cfg(test)]
mod tests;
mod uncached;
mod write_back;
mod write_buffers;

use base::units::{Lpn, Psn, Time};
use flash::nand::Image;

pub use any::AnyMapUnit;
pub use costs::{CostSpec, Costs};
pub use counters::{Counters, HmbCounters, Parts};
pub(crate) use entry::ENTRY;
pub use entry::{decode, encode};
pub use evict::{CachedBlock, CachedBlocks, EvictSpec, EvictionPolicy, register_eviction_policy};
pub use hmb_spec::HmbSpec;
pub(crate) use host_memory::{HmbRead, HmbTransfer, HostMemory};
pub use layout::Layout;
pub(crate) use memory::{cached_pages, memory};
pub use own::{MapSetup, OwnMapSpec, OwnMapUnit, register_map_unit};
pub use spec::{CdftlSpec, DftlSpec, FmmuSpec, MapSpec};
pub use table::Table;

/// The source of a question. Each source has its own queue, and a map unit may prefer one to the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asker {
    /// The host request manager.
    Host,
    /// The garbage collector.
    Collector,
}

/// A question. It never crosses the border of a translation page, nor that of [`SPAN`] aligned mapping units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// The places of these mapping units.
    Lookup {
        /// The first.
        first: Lpn,
        /// Their number.
        count: u32,
    },
    /// Maps a mapping unit to a new place; to `None` if it was discarded.
    Update {
        /// The mapping unit.
        lpn: Lpn,
        /// The new place.
        to: Option<Psn>,
    },
    /// The same, but only if the map still points to `from`: garbage collection enters copies with it (Sec. 3.4).
    CondUpdate {
        /// The mapping unit.
        lpn: Lpn,
        /// The place it was copied from.
        from: Psn,
        /// The place it was copied to.
        to: Psn,
    },
}

/// The most mapping units in one lookup: the entries of a cache block of 64 bytes.
pub const SPAN: u32 = 16;

/// The number of a question, which the asker chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(pub u32);

/// The answer to a question. Answers about one mapping unit come in the order in which their questions took effect;
/// questions of one asker about one mapping unit take effect in the order of asking. Between the askers there is no
/// order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// To a lookup: the places, from the front of the array on.
    Places([Option<Psn>; SPAN as usize]),
    /// To an update: the place before.
    Updated(Option<Psn>),
    /// To a conditional update: true if the map changed.
    Condition(bool),
}

/// A flash operation that a map unit requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Job {
    /// Read this translation page; `loaded` reports the end. If a store of the page is in progress, the read follows
    /// it.
    Load(u32),
    /// The map unit needs one block of entries of a page. The host's memory sends this block alone; flash reads the whole page.
    LoadPart {
        /// The page.
        page: u32,
        /// Entries of the block.
        entries: u32,
    },
    /// Program a new version of this page, with [`MapUnit::image`] of this moment as content; `stored` reports the end.
    /// A page has at most one store at a time.
    Store(u32),
}

/// The results of [`MapUnit::advance`].
#[derive(Clone, Debug, Default)]
pub struct Output {
    /// Answers, in the order in which they took effect.
    pub answers: Vec<(Ticket, Answer)>,
    /// Flash operations that the map unit requests.
    pub jobs: Vec<Job>,
}

/// A map unit.
///
/// The caller runs `advance` after each `ask`, `loaded` or `stored` and at each moment that `next_event` names, and
/// executes the results. No call may be later than `next_event`. Work of an internal machine takes effect for the
/// caller at the end of its service time.
///
/// A translation page has at most one store or several loads in progress at a time. If a page was never written, the caller may answer its load at
/// once. A load reads the version that was the latest programmed one when the load was issued.
///
/// An image is the content of a translation page: one word for each mapping unit, which [`encode`] writes and
/// [`decode`] reads.
pub trait MapUnit {
    /// Accepts a question. [`MapUnit::advance`] returns the answer, at the same time or later.
    fn ask(&mut self, now: Time, asker: Asker, ticket: Ticket, ask: Ask);

    /// A translation page has been read. `None` says that it was never written: its mapping units have no place.
    fn loaded(&mut self, now: Time, tvpn: u32, image: Option<&Image>);

    /// A translation page has been programmed.
    fn stored(&mut self, now: Time, tvpn: u32);

    /// Does all work that is due by `now`.
    fn advance(&mut self, now: Time, out: &mut Output);

    /// The time of its next work, if no call comes before.
    fn next_event(&self) -> Option<Time>;

    /// The content of a translation page to be stored.
    fn image(&self, tvpn: u32) -> &Image;

    /// Flash has replaced a version of a translation page: the map unit may use its memory for the next change of a page.
    fn recycle(&mut self, _tvpn: u32, _image: Image) {}

    /// The power is about to go off in order, and no question is under way: the map unit stores all dirty entries. A
    /// map unit without dirty entries, or one that leaves them to recovery, does nothing.
    fn flush(&mut self, _now: Time) {}

    /// Time is switched off or on while no question is under way. A new map unit has it on. With time off no work takes
    /// time, so that what flash gets does not depend on how fast the map unit is.
    fn set_timed(&mut self, _timed: bool) {}

    /// The collector works on a victim with `valid` of `of` mapping units. A map unit that alternates between host and
    /// collector gives the collector the share `valid / of`, so that it keeps up (Woo and Min, Sec. 4.6, say that the
    /// weights follow this count; the formula is ours).
    fn set_collector_weight(&mut self, _valid: u32, _of: u32) {}

    /// A question about this mapping unit will follow: the map unit may prefetch the memory it needs.
    fn fetch(&self, _unit: usize) {}

    /// The counters since the map unit was built, which is at power-on; busy times end at `now`.
    fn counters(&self, now: Time) -> Counters;

    /// True if no work is in progress and flash has every entry. A full table is never in flash and always clean.
    fn is_clean(&self) -> bool;

    /// The place of a mapping unit, at no cost and slowly: for checks. `images` are the translation pages in flash.
    fn peek<'a>(&'a self, lpn: Lpn, images: &dyn Fn(u32) -> Option<&'a [u32]>) -> Option<Psn>;
}
