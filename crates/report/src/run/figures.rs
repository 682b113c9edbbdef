//! The charts of a run: latencies by percentile, waits and parts of the time.

use base::io::IoKind;
use base::units::{Sectors, Span};
use flash::backend::{Cause, Op, Tally};
use ssd::Counters;

use study::histogram::Histogram;
use study::metric::Dimension;
use study::run::{FlowResult, rate, since};
use study::series::Interval;
use study::summary::{Report, shares};

use super::intervals::{HEAT_ROWS, columns, edges, elapsed, time_axis};
use super::{by_cause, life, over_time, power, rounds, wear};
use crate::cumulated::cumulated;
use crate::explained;
use crate::figure::{Axis, BarPart, COLOURS, Chart, Figure, HeatRow, Line, Names, Number, Scale, Stack};
use crate::lanes::lanes;

/// The number of steps along each axis in the line of a distribution: more than a screen shows.
const STEPS: f64 = 400.0;

/// All figures of a run, in the order of the page.
pub(super) fn figures(report: &Report<'_>) -> Vec<Figure> {
    let by_percentile = latency(report);
    let shares = cumulated("Share of requests by latency", &by_percentile);
    // The life comes first, because all other figures have only its last round.
    let mut all: Vec<Figure> = report.life.into_iter().flat_map(life::figures).collect();
    all.push(Figure::new(
        "Latency",
        "By percentile: the slowest request in ten, in a hundred, in a thousand.",
        by_percentile,
    ));
    all.extend(shares);
    if !report.result.flows.is_empty() {
        let note = "Latency by percentile, for each workload that ran at the same time.";
        all.push(Figure::new("Latency by flow", note, by_flow(report)));
    }
    all.extend(explained::figures(report.explained));
    all.extend(report.result.steady.as_ref().map(rounds::figure));
    all.push(Figure::new("Throughput", "Bytes moved per second of simulated time.", throughput(report)));
    all.extend(over_time::figures(report));
    all.push(Figure::new("Latency over time", "Mean of each interval.", latency_over_time(report)));
    all.extend(by_cause::figures(report));
    all.extend(power::figures(report));
    all.push(Figure::new("Busy over time", "Share of time for which each resource was busy.", utilisation(report)));
    if let Some(chart) = dies(report) {
        all.push(Figure::new("Busy dies", "Share of the run for which each die was busy.", chart));
    }
    if report.result.counters().flash.rows().next().is_some() {
        let note = "Mapping units moved by each operation, by cause. Padding is space that a program left empty.";
        let units = Axis::new("mapping units", Dimension::Count, Scale::Linear);
        all.push(Figure::new("Flash data by cause", note, stacked(report, units, |tally| tally.slots as f64)));
        let time = Axis::new("array time", Dimension::Time, Scale::Linear);
        let of = |tally: Tally| tally.array.as_us_f64();
        all.push(Figure::new("Array time by cause", "Busy time of the dies.", stacked(report, time, of)));
    }
    if let Some((chart, left_out)) = report.timeline.and_then(lanes) {
        let rest =
            if left_out > 0 { format!(" {left_out} more are in the file of the timeline.") } else { String::new() };
        let note = format!("Activity of channels and dies in the window of the timeline, by cause.{rest}");
        all.push(Figure::new("Timeline", note, chart));
    }
    all.extend(wear::figures(report));
    all
}

/// The position of a share on an axis of nines.
fn nines(share: f64) -> f64 {
    -(1.0 - share).max(1e-9).log10()
}

/// A distribution as a line; `None` without requests.
fn percentiles(name: String, colour: usize, latency: &Histogram) -> Option<Line> {
    let count = latency.count() as f64;
    let (least, most) = (latency.min()?, latency.max()?);
    // The last of n requests is drawn at 1 - 1/2n, because an axis of nines never reaches 1.
    let last = 1.0 - 0.5 / count;
    let (wide, high) = (nines(last), (most.as_us_f64() / least.as_us_f64().max(1e-6)).log10());
    let (mut seen, mut points): (u64, Vec<[f64; 2]>) = (0, Vec::new());
    let mut bins = latency.bins().peekable();
    while let Some(bin) = bins.next() {
        // A bin covers the shares from `before` to `after`. The exact extremes replace the edges of the outermost bins.
        let us = if bins.peek().is_none() { most } else { bin.up_to.clamp(least, most) }.as_us_f64();
        let before = seen as f64 / count;
        seen += bin.count;
        let after = (seen as f64 / count).min(last);
        let far = points.last().is_none_or(|[share, up_to]| {
            nines(after) - nines(*share) > wide / STEPS || (us / up_to).log10().abs() > high / STEPS
        });
        if far || bins.peek().is_none() {
            points.extend([[before, us], [after, us]]);
        }
    }
    let points = points.into_iter().map(|point| point.map(Number)).collect();
    Some(Line::new(name, colour, points))
}

fn latency(report: &Report<'_>) -> Chart {
    let line = |kind: IoKind| percentiles(kind.name().into(), kind as usize, &report.result.kind(kind).latency);
    by_percentile(IoKind::ALL.into_iter().filter_map(line).collect())
}

fn by_flow(report: &Report<'_>) -> Chart {
    let flows = &report.result.flows;
    let each = flows.iter().flat_map(|flow| IoKind::ALL.into_iter().map(move |kind| (flow, kind)));
    let each = each.filter(|(flow, kind)| !flow.kind(*kind).latency.is_empty()).enumerate();
    let line = |(i, (flow, kind)): (usize, (&FlowResult, IoKind))| {
        percentiles(format!("{} {}", flow.name, kind.name()), i % COLOURS, &flow.kind(kind).latency)
    };
    by_percentile(each.filter_map(line).collect())
}

fn by_percentile(lines: Vec<Line>) -> Chart {
    let x = Axis::new("share of requests that are at least as fast", Dimension::Share, Scale::Nines);
    Chart::Lines { x, y: Axis::new("latency", Dimension::Time, Scale::Log), lines }
}

/// One line per kind of request that occurred, over the intervals of the run.
fn by_kind(report: &Report<'_>, kinds: &[IoKind], value: impl Fn(&Interval<'_>, usize) -> Option<f64>) -> Vec<Line> {
    let occurred = kinds.iter().filter(|kind| !report.result.kind(**kind).latency.is_empty());
    let point = |kind: IoKind, i: Interval<'_>| [elapsed(report, i.to).into(), value(&i, kind as usize).into()];
    let line = |kind: &IoKind| {
        let points = report.result.series.intervals().map(|interval| point(*kind, interval)).collect();
        Line::new(kind.name(), *kind as usize, points)
    };
    occurred.map(line).collect()
}

fn throughput(report: &Report<'_>) -> Chart {
    let lines = by_kind(report, &[IoKind::Read, IoKind::Write], |interval, kind| {
        let moved = Sectors::new(interval.to.sectors[kind] - interval.from.sectors[kind]).bytes();
        Some(rate(moved, interval.span()).unwrap_or(0.0))
    });
    Chart::Lines { x: time_axis(report), y: Axis::new("throughput", Dimension::Rate, Scale::Linear), lines }
}

fn latency_over_time(report: &Report<'_>) -> Chart {
    let lines = by_kind(report, &IoKind::ALL, |interval, kind| interval.windows[kind].mean().map(Span::as_us_f64));
    Chart::Lines { x: time_axis(report), y: Axis::new("mean latency", Dimension::Time, Scale::Log), lines }
}

fn utilisation(report: &Report<'_>) -> Chart {
    type Busy = fn(&Counters) -> &[Span];
    let mut groups: Vec<(&str, Busy)> = vec![
        ("link", |counters| std::slice::from_ref(&counters.link_busy)),
        ("channel", |counters| &counters.channel_busy),
        ("die", |counters| &counters.die_busy),
        ("plane", |counters| &counters.plane_busy),
        ("controller", |counters| &counters.controller_busy),
        ("decoder", |counters| &counters.decoder_busy),
        ("ftl", |counters| counters.map.as_ref().map_or(&[], |map| &map.busy)),
    ];
    if !report.result.after.processor_busy.is_zero() {
        groups.push(("cpu", |counters| std::slice::from_ref(&counters.processor_busy)));
    }
    let total: usize = groups.iter().map(|(_, busy)| busy(&report.result.after).len()).sum();
    let together = total.div_ceil(HEAT_ROWS).max(1);
    let columns = columns(report);
    let mut rows = Vec::new();
    for (name, busy) in groups {
        let count = busy(&report.result.after).len();
        for first in (0..count).step_by(together) {
            let last = (first + together).min(count);
            let name = match (count, last - first) {
                (1, _) => name.to_owned(),
                (_, 1) => format!("{name} {first}"),
                _ => format!("{name} {first}-{}", last - 1),
            };
            let share = |(from, to): &(&Counters, &Counters)| {
                let spans: Vec<Span> = (first..last).map(|i| busy(to)[i] - busy(from)[i]).collect();
                Number(shares(&spans, to.at - from.at).iter().sum::<f64>() / spans.len() as f64)
            };
            rows.push(HeatRow { name, values: columns.iter().map(share).collect() });
        }
    }
    let cover = Some([0.0, 1.0].map(Number));
    let colours = Axis { cover, ..Axis::new("busy", Dimension::Share, Scale::Linear) };
    Chart::Heat { x: time_axis(report), edges: edges(report, &columns), colours, rows }
}

/// The dies of each channel as rows, in the order of `DieId`: channel, chip, die. `None` without dies.
fn dies(report: &Report<'_>) -> Option<Chart> {
    let counted = report.result.counters();
    let (channels, span) = (counted.channel_busy.len(), report.result.after.at - report.result.before.at);
    let busy = shares(&counted.die_busy, span);
    if channels == 0 || busy.is_empty() || !busy.len().is_multiple_of(channels) {
        return None;
    }
    let on_channel = busy.len() / channels;
    let config = || report.about.config.get("device")?.get("flash")?.get("chips")?.as_integer();
    let chips = config().and_then(|chips| usize::try_from(chips).ok()).filter(|chips| *chips > 0);
    let dies = chips.filter(|chips| on_channel.is_multiple_of(*chips)).map(|chips| on_channel / chips);
    let (label, name): (_, Box<dyn Fn(usize) -> String>) = match dies {
        Some(1) => ("chip", Box::new(|i| i.to_string())),
        Some(dies) => ("chip.die", Box::new(move |i| format!("{}.{}", i / dies, i % dies))),
        None => ("die", Box::new(|i| i.to_string())),
    };
    Some(Chart::Grid {
        x: Names::new(label, (0..on_channel).map(name).collect()),
        y: Names::new("channel", (0..channels).map(|i| i.to_string()).collect()),
        values: busy.chunks(on_channel).map(|row| row.iter().copied().map(Number).collect()).collect(),
    })
}

/// One bar for each operation, divided by cause.
fn stacked(report: &Report<'_>, x: Axis, value: impl Fn(Tally) -> f64) -> Chart {
    let counted = since(&report.result.after, &report.result.before).flash;
    let part = |op: Op, cause: Cause| BarPart {
        name: cause.name().to_owned(),
        colour: cause as usize,
        value: Number(value(counted.of(op, cause))),
    };
    let row = |op: Op| Stack {
        name: op.name().to_owned(),
        parts: Cause::ALL.into_iter().map(|cause| part(op, cause)).filter(|part| part.value.0 > 0.0).collect(),
        label: None,
    };
    let rows = Op::ALL.into_iter().map(row).filter(|row| !row.parts.is_empty()).collect();
    Chart::Stacks { x, rows }
}
