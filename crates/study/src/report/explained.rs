//! Where the time of requests went, as bars.

use super::figure::{Axis, Chart, Figure, Number, Part as Piece, Scale, Stack};
use crate::metric::Unit;
use crate::watch::explain::{Band, Explained};
use crate::watch::journey::Part;

const NOTE: &str = "What each part has of the latency, whose mean stands behind the bar.";

/// A bar of some requests, divided by where their time went.
pub(crate) fn stack_of_parts(name: String, band: &Band) -> Stack {
    let piece = |part: Part| Piece {
        name: part.name().into(),
        colour: part as usize,
        value: Number(band.part_us(part) / band.latency_us),
    };
    let parts = Part::ALL.into_iter().filter(|part| band.part_us(*part) > 0.0).map(piece).collect();
    Stack { name, parts, label: Some(Unit::Time.show(band.latency_us)) }
}

/// Such bars as a figure: shares, because the slowest requests take a thousand times as long as the others.
pub(crate) fn parts_of_time(of: &str, rows: Vec<Stack>) -> Figure {
    let x = Axis { to: Some(Number(1.0)), ..Axis::new("share of the latency", Unit::Share, Scale::Linear) };
    Figure::new(format!("Where the time went: {of}"), NOTE, Chart::Stacks { x, rows })
}

/// A figure for each kind of request, a bar for each band of percentiles.
pub(super) fn figures(explained: &[Explained]) -> Vec<Figure> {
    let figure = |of: &Explained| {
        // A kind that takes no time at all has nothing to divide.
        let bands = of.bands.iter().filter(|band| band.latency_us > 0.0);
        let rows: Vec<Stack> = bands.map(|band| stack_of_parts(band.band.into(), band)).collect();
        (!rows.is_empty()).then(|| parts_of_time(of.kind, rows))
    };
    explained.iter().filter_map(figure).collect()
}
