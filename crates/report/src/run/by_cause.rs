//! Array time and write amplification by cause, over the time of a run.

use flash::backend::Cause;
use ssd::Counters;

use study::metric::Dimension;
use study::run::{array_time_by, write_amplification_by};
use study::summary::Report;

use super::intervals::{columns, edges, elapsed, time_axis};
use crate::figure::{Axis, Chart, Figure, Layer, Number, Scale};

/// The parts of the write amplification: the causes, and the SLC array of a hybrid drive, whose area is hatched.
const PARTS: usize = Cause::COUNT + 1;

/// Both figures, if the run has their numbers.
pub(super) fn figures(report: &Report<'_>) -> Vec<Figure> {
    let work = "Share of the time of all dies that their arrays worked, by cause. Garbage collection is `gc`, merges are `merge`.";
    let written = "Mapping units programmed per mapping unit written, by cause, over each hundredth of the writes.";
    let worked = worked(report).map(|chart| Figure::new("Work of the dies over time", work, chart));
    let amplification = amplification(report).map(|chart| Figure::new("Write amplification", written, chart));
    worked.into_iter().chain(amplification).collect()
}

/// Layers of the parts that are not zero everywhere.
fn layers(parts: impl Iterator<Item = (&'static str, usize, Vec<f64>)>) -> Vec<Layer> {
    let some = parts.filter(|(_, _, values)| values.iter().any(|value| *value > 0.0));
    let layer = |(name, colour, values): (&str, usize, Vec<f64>)| Layer {
        name: name.into(),
        colour,
        values: values.into_iter().map(Number).collect(),
    };
    some.map(layer).collect()
}

fn worked(report: &Report<'_>) -> Option<Chart> {
    let columns = columns(report);
    let dies = |counters: &Counters| {
        let slc = counters.slc_array.as_ref().map_or(0, |slc_array| slc_array.die_busy.len());
        (counters.die_busy.len() + slc) as f64
    };
    let shares = |(from, to): &(&Counters, &Counters)| {
        let whole = (to.at - from.at).as_us_f64() * dies(to);
        array_time_by(from, to).map(|time| if whole > 0.0 { time.as_us_f64() / whole } else { 0.0 })
    };
    let shares: Vec<[f64; Cause::COUNT]> = columns.iter().map(shares).collect();
    let part =
        |cause: Cause| (cause.name(), cause as usize, shares.iter().map(|column| column[cause as usize]).collect());
    let layers = layers(Cause::ALL.into_iter().map(part));
    let y = Axis::new("share of the time of the dies", Dimension::Share, Scale::Linear);
    (!layers.is_empty()).then(|| Chart::Areas { x: time_axis(report), y, edges: edges(report, &columns), layers })
}

fn amplification(report: &Report<'_>) -> Option<Chart> {
    report.result.write_amplification()?;
    // Intervals with few writes are merged with the next, because their own ratio is noise.
    let slots = |counters: &Counters| {
        let left = counters.host_slots.saturating_sub(counters.refused_slots);
        left.saturating_sub(counters.absorbed_slots)
    };
    let (mut from, mut ends) = (&report.result.before, vec![0.0]);
    let mut parts: [Vec<f64>; PARTS] = Default::default();
    let enough = (slots(&report.result.after) - slots(from)).div_ceil(100).max(1);
    for interval in report.result.series.intervals() {
        if slots(interval.to) >= slots(from) + enough {
            let by = write_amplification_by(from, interval.to);
            let part = |name: &str| by.iter().find(|(other, _)| *other == name).map_or(0.0, |(_, part)| *part);
            for (values, (name, _)) in parts.iter_mut().zip(named()) {
                values.push(part(name));
            }
            ends.push(elapsed(report, interval.to));
            from = interval.to;
        }
    }
    let layers = layers(named().zip(parts).map(|((name, colour), values)| (name, colour, values)));
    let y = Axis::new("write amplification", Dimension::Plain, Scale::Linear);
    let edges = ends.into_iter().map(Number).collect();
    (!layers.is_empty()).then(|| Chart::Areas { x: time_axis(report), y, edges, layers })
}

/// The names of the parts of the write amplification and the numbers of their colours.
fn named() -> impl Iterator<Item = (&'static str, usize)> {
    Cause::ALL.into_iter().map(|cause| (cause.name(), cause as usize)).chain([("slc", Cause::COUNT)])
}

#[cfg(test)]
mod tests {
    use testkit::small;

    use super::*;
    use crate::testing::{reported, settled};

    /// The integral of an area chart over the run: each layer's value times the length of its interval.
    fn whole(chart: &Chart) -> f64 {
        let Chart::Areas { edges, layers, .. } = chart else { panic!("areas") };
        let of = |layer: &Layer| {
            let spans = edges.windows(2).map(|two| two[1].0 - two[0].0);
            spans.zip(&layer.values).map(|(span, value)| span * value.0).sum::<f64>()
        };
        layers.iter().map(of).sum()
    }

    #[test]
    fn the_work_of_the_dies_by_cause_is_their_busy_time() {
        for drive in [small::with_log_blocks, small::with_slc] {
            let result = settled(drive());
            reported(&result, &[], |report, _| {
                let chart = worked(&report).expect("a drive with flash");
                let counted = result.counters();
                let slc = counted.slc_array.iter().flat_map(|slc_array| &slc_array.die_busy);
                let dies: Vec<f64> = counted.die_busy.iter().chain(slc).map(|span| span.as_us_f64()).collect();
                let busy = dies.iter().sum::<f64>() / dies.len() as f64;
                assert!((whole(&chart) / busy - 1.0).abs() < 1e-6, "{} drawn, {busy} counted", whole(&chart));
                let Chart::Areas { layers, .. } = &chart else { panic!("areas") };
                assert!(layers.iter().any(|layer| layer.name != "host"), "something else than the host");
            });
        }
    }

    #[test]
    fn the_parts_of_the_write_amplification_add_up_to_it() {
        let result = settled(small::with_log_blocks());
        reported(&result, &[], |report, _| {
            let Chart::Areas { layers, edges, .. } = amplification(&report).expect("writes") else { panic!("areas") };
            assert!(layers.len() > 1 && edges.len() > 10, "{} layers, {} edges", layers.len(), edges.len());
            // Each interval has about as many writes, so the mean over the intervals is about that of the run.
            let count = (edges.len() - 1) as f64;
            let mean = layers.iter().flat_map(|layer| &layer.values).map(|value| value.0).sum::<f64>() / count;
            let of = result.write_amplification().expect("writes");
            assert!((mean / of - 1.0).abs() < 0.1, "{mean} drawn, {of} counted");
        });
    }
}
