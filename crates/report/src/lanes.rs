//! A timeline as lanes of a page: a row for each channel, decoder, die and plane that reads by itself, a slice for each activity.

use std::collections::BTreeMap;

use flash::backend::Resource;

use study::metric::Dimension;
use study::watch::timeline::Timeline;

use super::figure::{Axis, Chart, Lane, LaneSlice, Number, Scale};
use super::perfetto::label_of;

/// The most slices that a page can scroll smoothly; the file for Perfetto has all of them.
const MOST: usize = 4_000;

/// The lanes of a timeline, and the number of slices left out; `None` for an empty timeline.
pub(crate) fn lanes(timeline: &Timeline) -> Option<(Chart, usize)> {
    let slices = timeline.slices();
    let shown = &slices[..slices.len().min(MOST)];
    let mut lanes: BTreeMap<(u8, u32), Vec<LaneSlice>> = BTreeMap::new();
    for slice in shown {
        let key = match slice.resource {
            Resource::Channel(number) => (0, number),
            Resource::Decoder(number) => (1, number),
            Resource::Array(number) => (2, number),
            Resource::Plane(number) => (3, number),
        };
        let since = |time: base::units::Time| Number(time.saturating_since(timeline.start()).as_us_f64());
        let request = slice.about.request.map_or_else(String::new, |tag| format!(", request {tag}"));
        lanes.entry(key).or_default().push(LaneSlice {
            from: since(slice.from),
            to: since(slice.until),
            colour: slice.cause as usize,
            cause: slice.cause.name(),
            name: format!("{} for {}{request}", label_of(slice.primitive), slice.cause.name()),
        });
    }
    let lane = |((kind, number), slices): ((u8, u32), Vec<LaneSlice>)| Lane {
        name: format!("{} {number}", ["channel", "decoder", "die", "plane"][usize::from(kind)]),
        slices,
    };
    let x = Axis::new("simulated time", Dimension::Time, Scale::Linear);
    (!lanes.is_empty())
        .then(|| (Chart::Lanes { x, lanes: lanes.into_iter().map(lane).collect() }, slices.len() - shown.len()))
}
