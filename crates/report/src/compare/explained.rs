//! Where the time of requests went on each drive, as text, tables and bars. A comparison has it only if it was
//! observed.

use study::compare::{AXIS, Row, SLOWEST};
use study::text::duration;
use study::watch::explain::{ALL, Band};
use study::watch::journey::Part;

use crate::explained::{parts_of_time, stack_of_parts};
use crate::figure::Figure;
use crate::grid::grid;
use crate::page::{Cell, Row as Cells, Table};

/// One band of one kind of requests, on all drives.
struct Side<'a> {
    kind: &'static str,
    band: &'static str,
    /// The drive's name, its band, and the band's JSON pointer in the result.
    disks: Vec<(&'a str, &'a Band, String)>,
}

impl Side<'_> {
    fn heading(&self) -> String {
        if self.band == ALL { self.kind.into() } else { format!("{} {}", self.kind, self.band) }
    }

    /// The parts that take time on any of the drives.
    fn parts(&self) -> Vec<Part> {
        let any = |part: &Part| self.disks.iter().any(|(_, band, _)| band.part_us(*part) > 0.0);
        Part::ALL.into_iter().filter(any).collect()
    }
}

/// All and the slowest reads and writes, and all flushes. The result alone has the slowest flushes, and discards.
fn sides(rows: &[Row]) -> Vec<Side<'_>> {
    let side = |kind: &'static str, band: &'static str| {
        let of = |(i, row): (usize, &'_ Row)| {
            let (k, of) = row.explained.iter().enumerate().find(|(_, of)| of.kind == kind)?;
            let b = of.bands.iter().position(|of| of.band == band)?;
            Some((i, k, b))
        };
        let disk = |(i, k, b): (usize, usize, usize)| {
            let at = format!("/rows/{i}/explained/{k}/bands/{b}");
            (rows[i].device.as_str(), &rows[i].explained[k].bands[b], at)
        };
        Side { kind, band, disks: rows.iter().enumerate().filter_map(of).map(disk).collect() }
    };
    // A flush of a drive without volatile data takes no time.
    let takes_time = |side: &Side<'_>| side.disks.iter().any(|(_, band, _)| band.latency_us > 0.0);
    let shown = [("read", ALL), ("read", SLOWEST), ("write", ALL), ("write", SLOWEST), ("flush", ALL)];
    shown.into_iter().map(|(kind, band)| side(kind, band)).filter(takes_time).collect()
}

/// A text table for each band; empty without observations.
pub(super) fn text(rows: &[Row]) -> String {
    let table = |side: Side<'_>| {
        let (heading, parts) = (side.heading(), side.parts());
        let header: Vec<&str> =
            [heading.as_str(), "mean"].into_iter().chain(parts.iter().map(|part| part.name())).collect();
        let row = |(device, band, _): &(&str, &Band, String)| {
            let times = std::iter::once(band.latency_us).chain(parts.iter().map(|part| band.part_us(*part)));
            let cell = |us: f64| if us > 0.0 { duration(us) } else { "-".into() };
            std::iter::once((*device).to_owned()).chain(times.map(cell)).collect()
        };
        grid(&header, side.disks.iter().map(row), 1)
    };
    sides(rows).into_iter().map(table).collect()
}

/// A table of the page for each band.
pub(super) fn tables(rows: &[Row]) -> Vec<Table> {
    let table = |side: Side<'_>| {
        let parts = side.parts();
        let row = |(device, band, at): &(&str, &Band, String)| {
            let part = |part: &Part| match band.part_us(*part) {
                us if us > 0.0 => Cell::of(duration(us), format!("{at}/parts_us/{}", part.name())),
                _ => "-".into(),
            };
            let first = [Cell::from(*device), Cell::of(duration(band.latency_us), format!("{at}/latency_us"))];
            Cells { cells: first.into_iter().chain(parts.iter().map(part)).collect(), notes: Vec::new() }
        };
        Table {
            heading: format!("Where the time went: {}", side.heading()),
            header: [AXIS, "mean"]
                .into_iter()
                .chain(parts.iter().map(|part| part.name()))
                .map(ToOwned::to_owned)
                .collect(),
            texts: 1,
            rows: side.disks.iter().map(row).collect(),
            ..Table::default()
        }
    };
    sides(rows).into_iter().map(table).collect()
}

/// A figure for each band, with a bar for each drive.
pub(super) fn figures(rows: &[Row]) -> Vec<Figure> {
    let figure = |side: Side<'_>| {
        let stacks = side.disks.iter().map(|(device, band, _)| stack_of_parts((*device).to_owned(), band)).collect();
        parts_of_time(&side.heading(), stacks)
    };
    sides(rows).into_iter().map(figure).collect()
}
