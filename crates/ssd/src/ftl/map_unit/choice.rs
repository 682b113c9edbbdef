//! Which map unit a device has. A new one is a variant here and its lines in [`MapSpec::EVERY`], [`AnyUnit::new`]
//! and `each!`.

use flash::units::{Psn, Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::table::Table;
use super::uncached::Uncached;
use super::{Ask, Asker, MapUnit, Output, Ticket};

/// Who knows where every mapping unit is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, tag = "kind", rename_all = "kebab-case")]
pub enum MapSpec {
    /// The full map in RAM, at no cost in time.
    #[default]
    Ram,
    /// The full map in RAM behind a processor that takes its time for each question.
    Table {
        /// Time for a question.
        #[serde(default)]
        service: Span,
    },
    /// No RAM for the map at all: each question reads a translation page from flash, and each change writes it.
    Uncached {
        /// Time for a question, beside that of the flash.
        #[serde(default)]
        service: Span,
    },
}

impl MapSpec {
    /// One of every map unit, with parameters that make a difference on a small device: what the conformance suite
    /// and the swarm are applied to.
    pub const EVERY: [Self; 3] =
        [Self::Ram, Self::Table { service: Span::from_us(2) }, Self::Uncached { service: Span::from_ns(500) }];

    /// True if the map is kept in translation pages on flash.
    #[must_use]
    pub const fn is_paged(&self) -> bool {
        match self {
            Self::Ram | Self::Table { .. } => false,
            Self::Uncached { .. } => true,
        }
    }
}

/// What a map unit finds when the power comes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start<'a> {
    /// The entry of every unit, as the scan of the spare areas found it: for a map unit that keeps all of them.
    pub(crate) found: &'a [u32],
    /// Entries of a translation page.
    pub(crate) entries: u32,
}

/// Any map unit, told apart without a table of functions.
#[derive(Clone, Debug)]
pub(crate) enum AnyUnit {
    Table(Table),
    Uncached(Uncached),
}

impl AnyUnit {
    /// The map unit of a device; none if the FTL has the map itself.
    pub(crate) fn new(spec: &MapSpec, start: &Start<'_>) -> Option<Self> {
        match spec {
            MapSpec::Ram => None,
            MapSpec::Table { service } => Some(Self::Table(Table::new(*service, start.found))),
            MapSpec::Uncached { service } => {
                Some(Self::Uncached(Uncached::new(*service, start.entries, start.found.len())))
            }
        }
    }
}

macro_rules! each {
    ($any:expr, $unit:ident => $do:expr) => {
        match $any {
            AnyUnit::Table($unit) => $do,
            AnyUnit::Uncached($unit) => $do,
        }
    };
}

impl MapUnit for AnyUnit {
    fn ask(&mut self, now: Time, asker: Asker, ticket: Ticket, ask: Ask) {
        each!(self, unit => unit.ask(now, asker, ticket, ask));
    }

    fn loaded(&mut self, now: Time, tvpn: u32, image: Option<&[u32]>) {
        each!(self, unit => unit.loaded(now, tvpn, image));
    }

    fn stored(&mut self, now: Time, tvpn: u32) {
        each!(self, unit => unit.stored(now, tvpn));
    }

    fn advance(&mut self, now: Time, out: &mut Output) {
        each!(self, unit => unit.advance(now, out));
    }

    fn next_event(&self) -> Option<Time> {
        each!(self, unit => unit.next_event())
    }

    fn image(&self, tvpn: u32) -> &[u32] {
        each!(self, unit => unit.image(tvpn))
    }

    fn flush(&mut self, now: Time) {
        each!(self, unit => unit.flush(now));
    }
}

/// The place that an entry of an image names.
pub(crate) fn place(entry: u32) -> Option<Psn> {
    (entry != super::NOWHERE).then(|| Psn::new(entry))
}

/// The entry that names a place.
pub(crate) fn entry(place: Option<Psn>) -> u32 {
    place.map_or(super::NOWHERE, Psn::get)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_map_is_registered() {
        // A new variant does not compile here until it has a place, and fails until it has it in the registry.
        let place = |spec: &MapSpec| match spec {
            MapSpec::Ram => 0,
            MapSpec::Table { .. } => 1,
            MapSpec::Uncached { .. } => 2,
        };
        assert!(MapSpec::EVERY.iter().map(place).eq(0..3));
    }
}
