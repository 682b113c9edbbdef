//! Which map unit a device has. A new one is a variant here and its lines in [`MapSpec::EVERY`], [`AnyUnit::new`]
//! and `each!`.

use base::fault::Fault;
use base::units::{Bytes, Lpn, Psn, Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::spec::ENTRY;
use super::uncached::Uncached;
use super::{
    AnyMapUnit, Ask, Asker, CdftlSpec, Counters, DftlSpec, FmmuSpec, MapUnit, MapUnitSpec, Output, TableSpec, Ticket,
};

/// Who knows where every mapping unit is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
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
        /// Time for a question, one after the other, beside that of the flash.
        #[serde(default)]
        service: Span,
    },
    /// One cache of map entries, in software (Gupta, Kim, Urgaonkar: DFTL, ASPLOS 2009).
    Dftl(DftlSpec),
    /// Two levels of cache, in software (Qin, Wang, Liu, Shao: A Two-Level Caching Mechanism for Demand-Based
    /// Page-Level Address Mapping, RTAS 2011).
    Cdftl(CdftlSpec),
    /// Two levels of cache in hardware that never wait for a miss (Woo and Min: FMMU, 2017).
    Fmmu(FmmuSpec),
}

/// Caches that are full on a small device: 16 blocks of entries, and as few pages as have whole sets on every core.
const SMALL: (Bytes, Bytes) = (Bytes::new(16 * 64), Bytes::new(16 << 10));

impl MapSpec {
    /// One of every map unit, with parameters that make a difference on a small device: what the conformance suite
    /// and the swarm are applied to.
    pub const EVERY: [Self; 6] = [
        Self::Ram,
        Self::Table { service: Span::from_us(2) },
        Self::Uncached { service: Span::from_ns(500) },
        Self::Dftl(DftlSpec { cmt: SMALL.0, cores: 2, write_buffers: 4, ..DftlSpec::PUBLISHED }),
        Self::Cdftl(CdftlSpec {
            cmt: SMALL.0,
            ctp: SMALL.1,
            ways: 2,
            cores: 2,
            outstanding: 4,
            write_buffers: 4,
            ..CdftlSpec::PUBLISHED
        }),
        Self::Fmmu(FmmuSpec { cmt: SMALL.0, ctp: SMALL.1, ways: 2, queue: 4, ..FmmuSpec::PUBLISHED }),
    ];

    /// True if the map is kept in translation pages on flash.
    #[must_use]
    pub const fn is_paged(&self) -> bool {
        match self {
            Self::Ram | Self::Table { .. } => false,
            Self::Uncached { .. } | Self::Dftl(_) | Self::Cdftl(_) | Self::Fmmu(_) => true,
        }
    }

    /// The same as the map units themselves know it; none for those that they do not.
    const fn unit(&self) -> Option<MapUnitSpec> {
        match self {
            Self::Ram | Self::Uncached { .. } => None,
            Self::Table { service } => Some(MapUnitSpec::Table(TableSpec { service: *service })),
            Self::Dftl(spec) => Some(MapUnitSpec::Dftl(*spec)),
            Self::Cdftl(spec) => Some(MapUnitSpec::Cdftl(*spec)),
            Self::Fmmu(spec) => Some(MapUnitSpec::Fmmu(*spec)),
        }
    }

    /// What is wrong with it on a device with mapping units of the size `page`.
    pub(crate) fn faults(&self, page: Bytes) -> Vec<Fault> {
        self.unit().map_or_else(Vec::new, |unit| unit.faults("ftl.map", page))
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
    Uncached(Box<Uncached>),
    Other(Box<AnyMapUnit>),
}

impl AnyUnit {
    /// The map unit of a device; none if the FTL has the map itself.
    pub(crate) fn new(spec: &MapSpec, start: &Start<'_>) -> Option<Self> {
        let units = start.found.len();
        if let MapSpec::Uncached { service } = spec {
            return Some(Self::Uncached(Box::new(Uncached::new(*service, start.entries, units))));
        }
        // A full table has no translation pages; it is asked for as much at once as any other.
        let page = Bytes::new(u64::from(start.entries.max(super::SPAN)) * ENTRY);
        let mut unit = AnyMapUnit::new(&spec.unit()?, units as u32, page);
        if let Some(table) = unit.table() {
            for (lpn, found) in (0..).map(Lpn::new).zip(start.found) {
                table.enter(lpn, place(*found));
            }
        }
        Some(Self::Other(Box::new(unit)))
    }

    /// What was counted since the power came, busy times cut off at `now`.
    pub(crate) fn counters(&self, now: Time) -> Counters {
        match self {
            Self::Uncached(unit) => unit.counters_at(now),
            Self::Other(unit) => unit.counters_at(now),
        }
    }

    /// Says that the collector works on a victim with `valid` units of `of` ([`AnyMapUnit::set_collector_weight`]).
    /// Without a cache each translation page serves host and collector in turns, whatever they have to do.
    pub(crate) fn set_collector_weight(&mut self, valid: u32, of: u32) {
        if let Self::Other(unit) = self {
            unit.set_collector_weight(valid, of);
        }
    }
}

macro_rules! each {
    ($any:expr, $unit:ident => $do:expr) => {
        match $any {
            AnyUnit::Uncached($unit) => $do,
            AnyUnit::Other($unit) => $do,
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
        match self {
            Self::Uncached(unit) => unit.flush(now),
            Self::Other(unit) => unit.flush_all(now),
        }
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
            MapSpec::Dftl(_) => 3,
            MapSpec::Cdftl(_) => 4,
            MapSpec::Fmmu(_) => 5,
        };
        assert!(MapSpec::EVERY.iter().map(place).eq(0..6));
    }
}
