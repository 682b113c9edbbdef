//! The map unit: the exchangeable part of the page-mapped FTL that knows the place of every mapping unit (Woo and Min,
//! "FMMU", 2017, Sec. 3, Fig. 4).
//!
//! The host request manager and the garbage collector ask the map unit for places. The map unit requests loads and
//! stores of translation pages: each page holds as many map entries as fit in one mapping unit, and has a virtual
//! number (TVPN). A map unit is a state machine that receives the time: it knows neither events nor the backend.

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
pub use layout::MapLayout;
pub(crate) use memory::{cached_pages, memory};
pub use own::{MapSetup, OwnMapSpec, OwnMapUnit, register_map_unit};
pub use spec::{CdftlSpec, DftlSpec, FmmuSpec, MapSpec};
pub use table::MapTable;

/// The source of a question. Each source has its own queue, and a map unit may prefer one source to the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asker {
    /// The host request manager.
    Host,
    /// Garbage collection, on behalf of its copies.
    Collector,
}

/// A question. Its mapping units are in one translation page, and in one aligned group of [`SPAN`] mapping units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Asks for the places of `count` mapping units.
    Lookup {
        /// The first mapping unit.
        first: Lpn,
        /// The number of mapping units, from 1 to [`SPAN`].
        count: u32,
    },
    /// Maps a mapping unit to a new place; to `None` if it was discarded.
    Update {
        /// The mapping unit to map.
        lpn: Lpn,
        /// The new place, or `None` for a discard.
        to: Option<Psn>,
    },
    /// Maps a mapping unit to a new place only if the map still points to `from`: garbage collection enters copies with
    /// this question (Sec. 3.4).
    CondUpdate {
        /// The mapping unit that was copied.
        lpn: Lpn,
        /// The place of the copy's source.
        from: Psn,
        /// The place of the copy.
        to: Psn,
    },
}

/// The most mapping units in one lookup: the entries of a cache block of 64 bytes.
pub const SPAN: u32 = 16;

/// The number of a question, which the asker chooses and the answer repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(pub u32);

/// The answer to a question. Two rules order the answers about one mapping unit:
/// * The answers come in the order in which their questions took effect.
/// * The questions of one asker take effect in the order of asking. Questions of different askers have no order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Answers a lookup: the places of its mapping units, from the front of the array on.
    Places([Option<Psn>; SPAN as usize]),
    /// Answers an update: the place before the update.
    Updated(Option<Psn>),
    /// Answers a conditional update: true if the map changed.
    Condition(bool),
}

/// A flash operation that a map unit requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Job {
    /// Read this translation page. [`MapUnit::loaded`] reports the end. If a store of the page is in progress, the read
    /// follows the store.
    Load(u32),
    /// The map unit needs one block of entries of a page. The host's memory sends this block alone; flash reads the whole page.
    LoadPart {
        /// The number of the translation page (TVPN).
        page: u32,
        /// The number of entries in the block.
        entries: u32,
    },
    /// Program a new version of this page, whose content is [`MapUnit::image`] at this moment. [`MapUnit::stored`]
    /// reports the end. A page has at most one store at a time.
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
/// executes the results. No call may be later than `next_event`. An answer or a job leaves the map unit at the end of
/// the service time that it takes.
///
/// A translation page has at most one store or several loads in progress at a time. If a page was never written, the
/// caller may answer its load at once. A load reads the version that was the latest programmed one when the load was
/// issued.
///
/// An image is the content of a translation page: one word for each mapping unit, which [`encode`] writes and
/// [`decode`] reads.
pub trait MapUnit {
    /// Accepts a question. [`MapUnit::advance`] returns the answer, at `now` or later.
    fn ask(&mut self, now: Time, asker: Asker, ticket: Ticket, ask: Ask);

    /// A translation page has been read. `None` says that the page was never written: its mapping units have no place.
    fn loaded(&mut self, now: Time, tvpn: u32, image: Option<&Image>);

    /// The store of a translation page has ended: the page is on flash.
    fn stored(&mut self, now: Time, tvpn: u32);

    /// Does all work that is due by `now`.
    fn advance(&mut self, now: Time, out: &mut Output);

    /// The time of the map unit's next step, if no call comes before; `None` if it has nothing to do.
    fn next_event(&self) -> Option<Time>;

    /// The content of a translation page to be stored.
    fn image(&self, tvpn: u32) -> &Image;

    /// Returns the memory of a replaced version of a translation page, which the map unit may use for the next change
    /// of a page.
    fn recycle(&mut self, _tvpn: u32, _image: Image) {}

    /// Stores all dirty entries, because the power is about to go off in order; no question is under way. A map unit
    /// without dirty entries, or one that leaves them to recovery, does nothing.
    fn flush(&mut self, _now: Time) {}

    /// Switches service times off or on, while no question is under way. They are on in a new map unit. Preconditioning
    /// switches them off, so that the content of flash does not depend on the map unit's speed.
    fn set_timed(&mut self, _timed: bool) {}

    /// Tells that the collector works on a victim with `valid` valid mapping units of `of`. A map unit that alternates
    /// between host and collector gives the collector the share `valid / of`, so that the collector keeps up. Woo and
    /// Min (Sec. 4.6) say that the weights follow this count; the formula is ours.
    fn set_collector_weight(&mut self, _valid: u32, _of: u32) {}

    /// Announces a question about this mapping unit: the map unit may prefetch the memory that the answer needs.
    fn prefetch(&self, _unit: usize) {}

    /// The counters since the map unit was built, which is at power-on; busy times end at `now`.
    fn counters(&self, now: Time) -> Counters;

    /// True if no work is in progress and flash has every entry. A full table (`kind = "table"`) stores nothing in
    /// flash and is always clean while idle.
    fn is_clean(&self) -> bool;

    /// The place of a mapping unit, for checks: takes no simulated time, and is slow. `images` gives the translation
    /// pages in flash.
    fn peek<'a>(&'a self, lpn: Lpn, images: &dyn Fn(u32) -> Option<&'a [u32]>) -> Option<Psn>;
}
