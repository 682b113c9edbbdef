//! The parts of the time of requests in several results side by side: as text, tables and bars. A result has them only
//! if it was observed.

use study::compare::SLOWEST;
use study::text::duration;
use study::watch::explain::{ALL, Band, KindBands};
use study::watch::journey::JourneyPart;

use super::explained::{parts_of_time, stack_of_parts, stack_of_waits, waited_for};
use super::figure::{Figure, Stack};
use super::grid::grid;
use super::page::{Cell, Row, Table};

pub(crate) struct NamedResult<'a> {
    pub(crate) name: &'a str,
    pub(crate) explained: &'a [KindBands],
    /// The JSON pointer of the result's `explained` in the page's result.
    pub(crate) at: String,
}

/// A band of one kind of request in all results.
pub(crate) struct Side<'a> {
    kind: &'static str,
    band: &'static str,
    results: Vec<(&'a str, &'a Band, String)>,
}

/// The bands that are compared: all and the slowest reads and writes, and all flushes. Slowest flushes, and discards,
/// are only in the report of each result.
pub(crate) fn sides<'a>(all: &'a [NamedResult<'a>]) -> Vec<Side<'a>> {
    let side = |kind: &'static str, band: &'static str| {
        let of = |seen: &'a NamedResult<'a>| {
            let (k, of) = seen.explained.iter().enumerate().find(|(_, of)| of.kind == kind)?;
            let b = of.bands.iter().position(|of| of.band == band)?;
            Some((seen.name, &of.bands[b], format!("{}/{k}/bands/{b}", seen.at)))
        };
        Side { kind, band, results: all.iter().filter_map(of).collect() }
    };
    // A flush of a drive without volatile data takes no time.
    let takes_time = |side: &Side<'_>| side.results.iter().any(|(_, band, _)| band.latency_us > 0.0);
    let shown = [("read", ALL), ("read", SLOWEST), ("write", ALL), ("write", SLOWEST), ("flush", ALL)];
    shown.into_iter().map(|(kind, band)| side(kind, band)).filter(takes_time).collect()
}

impl Side<'_> {
    fn heading(&self) -> String {
        if self.band == ALL { self.kind.into() } else { format!("{} {}", self.kind, self.band) }
    }

    /// The parts that take time in any of the results.
    fn parts(&self) -> Vec<JourneyPart> {
        let any = |part: &JourneyPart| self.results.iter().any(|(_, band, _)| band.part_us(*part) > 0.0);
        JourneyPart::ALL.into_iter().filter(any).collect()
    }

    fn header<'a>(first: &'a str, parts: &[JourneyPart]) -> Vec<&'a str> {
        [first, "mean"].into_iter().chain(parts.iter().map(|part| part.name())).collect()
    }

    /// The band as a text table.
    pub(crate) fn text(&self) -> String {
        let (heading, parts) = (self.heading(), self.parts());
        let header = Self::header(&heading, &parts);
        let row = |(name, band, _): &(&str, &Band, String)| {
            let part = |part: &JourneyPart| {
                Some(band.part_us(*part)).filter(|us| *us > 0.0).map_or_else(|| "-".into(), duration)
            };
            [(*name).to_owned(), duration(band.latency_us)].into_iter().chain(parts.iter().map(part)).collect()
        };
        grid(&header, self.results.iter().map(row), 1)
    }

    /// The band as a table of the page; `first` is the heading of the names.
    pub(crate) fn table(&self, first: &str) -> Table {
        let parts = self.parts();
        let row = |(name, band, at): &(&str, &Band, String)| {
            let part = |part: &JourneyPart| match band.part_us(*part) {
                us if us > 0.0 => Cell::of(duration(us), format!("{at}/parts_us/{}", part.name())),
                _ => "-".into(),
            };
            let head = [Cell::from(*name), Cell::of(duration(band.latency_us), format!("{at}/latency_us"))];
            Row { cells: head.into_iter().chain(parts.iter().map(part)).collect(), notes: Vec::new() }
        };
        Table {
            heading: format!("Mean time in each part of the latency: {}", self.heading()),
            header: Self::header(first, &parts).into_iter().map(ToOwned::to_owned).collect(),
            texts: 1,
            rows: self.results.iter().map(row).collect(),
            ..Table::default()
        }
    }

    /// The band as figures with a bar for each result: the causes of the waits, and the parts of the time.
    pub(crate) fn figures(&self) -> Vec<Figure> {
        let stacks = |stack: fn(String, &Band) -> Stack| {
            self.results.iter().map(|(name, band, _)| stack((*name).to_owned(), band)).collect()
        };
        let waits = waited_for(&self.heading(), stacks(stack_of_waits));
        waits.into_iter().chain([parts_of_time(&self.heading(), stacks(stack_of_parts))]).collect()
    }
}
