//! The run as one page that needs nothing but itself.

use std::fmt::Write as _;

use flash::backend::{Cause, Op};
use flash::io::IoKind;
use flash::units::{Sectors, Span};
use ssd::Counters;

use super::chart::{Axis, Heat, Line, Scale, Stack, bars, escape, heat, lines, stacks};
use super::summary::shares;
use super::{Report, Summary, table};
use crate::histogram::Histogram;
use crate::run::{rate, since, write_amplification};

const STYLE: &str = include_str!("page.css");

/// Rows of a heat map beyond which neighbours are shown together.
const HEAT_ROWS: usize = 64;

/// Colours of the palette.
const COLOURS: usize = 8;

/// The report as HTML.
#[must_use]
pub fn page(report: &Report<'_>, summary: &Summary) -> String {
    let Summary { version, commit, seed, event_hash, .. } = summary;
    let mut html = head(
        &format!("{} under {}", summary.device, summary.workload),
        &format!("flashloom {version} ({commit}), seed {seed}, event hash {event_hash}"),
    );
    let mut figure = |heading: &str, note: &str, chart: String| html.push_str(&self::figure(heading, note, &chart));
    let time = || time_axis(report);
    figure("Latency", "By percentile: the slowest request in ten, in a hundred, in a thousand.", latency(report));
    if !report.result.flows.is_empty() {
        figure("Latency by flow", "The same for each of the workloads that ran at the same time.", by_flow(report));
    }
    figure("Throughput", "Bytes moved per second of simulated time.", throughput(report, &time()));
    figure("Latency over time", "Mean of each interval.", latency_over_time(report, &time()));
    if let Some(chart) = amplification(report, &time()) {
        figure(
            "Write amplification",
            "Units programmed per unit written, over each hundredth of what was written.",
            chart,
        );
    }
    figure("Busy over time", "Pale is idle, full colour is busy all the time.", utilisation(report, &time()));
    if !summary.flash.is_empty() {
        figure(
            "Flash data by cause",
            "How many mapping units each operation carried, and why. Padding is space that a program left empty.",
            causes(report),
        );
        figure("Array time by cause", "Time the dies worked.", array_time(report));
    }
    if !report.erase_counts.is_empty() {
        figure("Erases", "How often each block had been erased at the end.", erases(report.erase_counts));
    }
    let _ = write!(
        html,
        "</main>\n<details open><summary>Numbers</summary><pre>{}</pre></details>\n\
         <details><summary>Configuration</summary><pre>{}</pre></details>\n</body>\n</html>\n",
        escape(&table(summary)),
        escape(&report.about.config.to_string())
    );
    html
}

/// The beginning of a page, up to its figures.
pub(crate) fn head(title: &str, about: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{0}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<header>\n<h1>{0}</h1>\n\
         <p>{1}</p>\n</header>\n<main>\n",
        escape(title),
        escape(about)
    )
}

/// A chart with its heading.
pub(crate) fn figure(heading: &str, note: &str, chart: &str) -> String {
    format!("<figure>\n<figcaption><h2>{heading}</h2><p>{note}</p></figcaption>\n{chart}</figure>\n")
}

/// Seconds of the interval from the start of the run.
fn seconds(report: &Report<'_>, counters: &Counters) -> f64 {
    counters.at.saturating_since(report.result.before.at).as_secs_f64()
}

fn time_axis(report: &Report<'_>) -> Axis {
    Axis::between("simulated time (s)", Scale::Linear, 0.0, seconds(report, &report.result.after).max(1e-12))
}

/// A distribution as a line; `None` of nothing.
fn percentiles(name: String, colour: usize, latency: &Histogram) -> Option<Line> {
    let (mut seen, mut points) = (0, Vec::new());
    for bin in latency.bins() {
        // A bin holds the requests between the share before it and the share after it.
        points.push((seen as f64 / latency.count() as f64, bin.up_to.as_us_f64()));
        seen += bin.count;
        let share = (seen as f64 / latency.count() as f64).min(1.0 - 0.5 / latency.count() as f64);
        points.push((share, bin.up_to.as_us_f64()));
    }
    (!points.is_empty()).then_some(Line { name, colour, points })
}

fn latency(report: &Report<'_>) -> String {
    let line = |kind: IoKind| percentiles(kind.name().into(), kind as usize, &report.result.kind(kind).latency);
    by_percentile(&IoKind::ALL.into_iter().filter_map(line).collect::<Vec<_>>())
}

fn by_flow(report: &Report<'_>) -> String {
    let flows = &report.result.flows;
    let each = flows.iter().flat_map(|flow| IoKind::ALL.into_iter().map(move |kind| (flow, kind)));
    let each = each.filter(|(flow, kind)| !flow.kind(*kind).latency.is_empty()).enumerate();
    let line = |(i, (flow, kind)): (usize, (&crate::run::FlowResult, IoKind))| {
        percentiles(format!("{} {}", flow.name, kind.name()), i % COLOURS, &flow.kind(kind).latency)
    };
    by_percentile(&each.filter_map(line).collect::<Vec<_>>())
}

fn by_percentile(all: &[Line]) -> String {
    let points = || all.iter().flat_map(|line| line.points.iter());
    let x = Axis::over("share of requests that are at least as fast", Scale::Nines, points().map(|(x, _)| *x));
    let y = Axis::over("latency (us)", Scale::Log, points().map(|(_, y)| *y));
    lines("Latency by percentile", &x, &y, all)
}

/// One line per kind of request that occurred, over the intervals of the run.
fn by_kind(
    report: &Report<'_>,
    kinds: &[IoKind],
    value: impl Fn(&crate::series::Interval<'_>, usize) -> f64,
) -> Vec<Line> {
    let occurred = kinds.iter().filter(|kind| !report.result.kind(**kind).latency.is_empty());
    let line = |kind: &IoKind| Line {
        name: kind.name().into(),
        colour: *kind as usize,
        points: report.result.series.intervals().map(|i| (seconds(report, i.to), value(&i, *kind as usize))).collect(),
    };
    occurred.map(line).collect()
}

fn throughput(report: &Report<'_>, time: &Axis) -> String {
    let all = by_kind(report, &[IoKind::Read, IoKind::Write], |interval, kind| {
        let moved = Sectors::new(interval.to.sectors[kind] - interval.from.sectors[kind]).bytes();
        rate(moved, interval.span()).map_or(0.0, |rate| rate.get() as f64 * 1e-6)
    });
    let y = Axis::over("MB/s", Scale::Linear, all.iter().flat_map(|line| line.points.iter().map(|(_, y)| *y)));
    lines("Throughput over time", time, &y, &all)
}

fn latency_over_time(report: &Report<'_>, time: &Axis) -> String {
    let all = by_kind(report, &IoKind::ALL, |interval, kind| {
        interval.windows[kind].mean().map_or(f64::NAN, |mean| mean.as_us_f64())
    });
    let y =
        Axis::over("mean latency (us)", Scale::Log, all.iter().flat_map(|line| line.points.iter().map(|(_, y)| *y)));
    lines("Mean latency over time", time, &y, &all)
}

fn amplification(report: &Report<'_>, time: &Axis) -> Option<String> {
    report.result.write_amplification()?;
    // An interval in which next to nothing was written says next to nothing.
    let slots = |counters: &Counters| counters.host_slots - counters.absorbed_slots.min(counters.host_slots);
    let (mut from, mut points) = (&report.result.before, Vec::new());
    let enough = (slots(&report.result.after) - slots(from)).div_ceil(100).max(1);
    for interval in report.result.series.intervals() {
        if slots(interval.to) >= slots(from) + enough {
            points.push((seconds(report, interval.to), write_amplification(from, interval.to).unwrap_or(f64::NAN)));
            from = interval.to;
        }
    }
    let y = Axis::over("write amplification", Scale::Linear, points.iter().map(|(_, y)| *y));
    Some(lines(
        "Write amplification over time",
        time,
        &y,
        &[Line { name: "write amplification".into(), colour: 1, points }],
    ))
}

fn utilisation(report: &Report<'_>, time: &Axis) -> String {
    type Busy = fn(&Counters) -> &[Span];
    let mut groups: Vec<(&str, Busy)> = vec![
        ("link", |counters| std::slice::from_ref(&counters.link_busy)),
        ("chan", |counters| &counters.channel_busy),
        ("die", |counters| &counters.die_busy),
        ("unit", |counters| &counters.unit_busy),
        ("ftl", |counters| counters.map.as_ref().map_or(&[], |map| &map.busy)),
    ];
    if !report.result.after.processor_busy.is_zero() {
        groups.push(("cpu", |counters| std::slice::from_ref(&counters.processor_busy)));
    }
    let total: usize = groups.iter().map(|(_, busy)| busy(&report.result.after).len()).sum();
    let together = total.div_ceil(HEAT_ROWS).max(1);
    let mut rows: Vec<Heat> = Vec::new();
    for (name, busy) in groups {
        let count = busy(&report.result.after).len();
        for first in (0..count).step_by(together) {
            let last = (first + together).min(count);
            let row = match (count, last - first) {
                (1, _) => name.to_owned(),
                (_, 1) => format!("{name} {first}"),
                _ => format!("{name} {first}-{}", last - 1),
            };
            let cell = |interval: crate::series::Interval<'_>| {
                let spans: Vec<Span> = (first..last).map(|i| busy(interval.to)[i] - busy(interval.from)[i]).collect();
                let share = shares(&spans, interval.span()).iter().sum::<f64>() / spans.len() as f64;
                (seconds(report, interval.from), seconds(report, interval.to), share)
            };
            rows.push((row, report.result.series.intervals().map(cell).collect()));
        }
    }
    heat("Utilisation over time", time, &rows)
}

/// One bar per operation, divided by cause.
fn stacked(report: &Report<'_>, label: &str, unit: &str, value: impl Fn(flash::backend::Tally) -> f64) -> String {
    let counted = since(&report.result.after, &report.result.before).flash;
    let part = |op: Op, cause: Cause| (cause as usize, cause.name().to_owned(), value(counted.of(op, cause)));
    let row = |op: Op| -> Stack {
        let parts = Cause::ALL.into_iter().map(|cause| part(op, cause)).filter(|(_, _, value)| *value > 0.0);
        (op.name().to_owned(), parts.collect())
    };
    let rows: Vec<Stack> = Op::ALL.into_iter().map(row).filter(|(_, parts)| !parts.is_empty()).collect();
    stacks(label, unit, &rows)
}

fn causes(report: &Report<'_>) -> String {
    stacked(report, "Mapping units by operation and cause", "units", |tally| tally.slots as f64)
}

fn array_time(report: &Report<'_>) -> String {
    stacked(report, "Array time by operation and cause", "s", |tally| tally.array.as_secs_f64())
}

fn erases(counts: &[u32]) -> String {
    let (least, most) = counts.iter().fold((u32::MAX, 0), |(least, most), count| (least.min(*count), most.max(*count)));
    let width = (most - least + 1).div_ceil(40);
    let mut blocks = vec![0u64; ((most - least) / width + 1) as usize];
    counts.iter().for_each(|count| blocks[((count - least) / width) as usize] += 1);
    let bar = |(i, blocks): (usize, &u64)| {
        let from = f64::from(least) + i as f64 * f64::from(width);
        (from, from + f64::from(width), *blocks as f64)
    };
    let all: Vec<_> = blocks.iter().enumerate().map(bar).collect();
    let end = all.last().map_or(1.0, |(_, to, _)| *to);
    let x = Axis::between("erases of a block", Scale::Linear, f64::from(least), end);
    let y = Axis::over("blocks", Scale::Linear, all.iter().map(|(_, _, blocks)| *blocks));
    bars("Erase counts", &x, &y, &all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::About;
    use crate::testing::a_result;

    #[test]
    fn the_page_stands_alone_and_holds_no_broken_number() {
        let about = About { device: "a <disk>".into(), workload: "a mix".into(), ..About::default() };
        let result = a_result();
        let erase_counts: Vec<u32> = (0..500).map(|i| 100 + i * i % 97).collect();
        let report = Report {
            about: &about,
            result: &result,
            erase_counts: &erase_counts,
            energy: &[],
            verified: None,
            notes: &[],
        };
        let html = page(&report, &Summary::new(&report));
        assert!(!html.contains("NaN") && !html.contains("inf\""), "a number is broken");
        assert!(!html.contains("http") && !html.contains("<script"), "it needs something else");
        assert_eq!(html.matches("<svg").count(), html.matches("</svg>").count());
        assert_eq!(html.matches("<figure>").count(), 8);
        assert!(html.contains("a &lt;disk&gt;"));
        if let Some(path) = option_env!("FLASHLOOM_SAMPLE_PAGE") {
            std::fs::write(path, html).expect("written");
        }
    }
}
