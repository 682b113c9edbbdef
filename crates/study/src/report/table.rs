//! A run on the terminal: what matters in eighty columns.

use std::fmt::Write as _;

use base::units::{Bytes, Energy, Rate, SECTOR, Span};
use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};
use flash::backend::Cause;

use super::summary::{Latencies, mean};
use super::{LogSummary, MapSummary, Summary};

/// The order of rows: as people name them.
pub(super) const KINDS: [&str; 4] = ["read", "write", "flush", "discard"];

/// A time given in microseconds, with three digits that count and its natural unit.
pub(crate) fn duration(us: f64) -> String {
    let (value, unit) = match us {
        us if us <= 0.0 => return "0".into(),
        us if us >= 1e6 => (us * 1e-6, "s"),
        us if us >= 1e3 => (us * 1e-3, "ms"),
        us if us >= 1.0 => (us, "us"),
        us => (us * 1e3, "ns"),
    };
    format!("{}{unit}", digits(value))
}

/// Three digits that count.
fn digits(value: f64) -> String {
    match value {
        value if value >= 99.95 => format!("{value:.0}"),
        value if value >= 9.995 => format!("{value:.1}"),
        value => format!("{value:.2}"),
    }
}

/// Bytes of memory, in the units of memory.
pub(crate) fn memory(bytes: f64) -> String {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    let found = units.into_iter().map(|(bits, unit)| (bytes / f64::from(1_u32 << bits), unit)).find(|(n, _)| *n >= 1.0);
    found.map_or_else(|| format!("{bytes:.0}B"), |(value, unit)| format!("{}{unit}", digits(value)))
}

/// A count with a prefix once it is long.
pub(crate) fn count(value: f64) -> String {
    match value {
        value if value >= 1e9 => format!("{}G", digits(value * 1e-9)),
        value if value >= 1e6 => format!("{}M", digits(value * 1e-6)),
        value if value >= 1e4 => format!("{}k", digits(value * 1e-3)),
        value => format!("{value:.0}"),
    }
}

pub(crate) fn percent(share: f64) -> String {
    format!("{:.1}%", share * 100.0)
}

fn of(latencies: &Latencies, key: &str) -> String {
    latencies.get(key).map_or_else(|| "-".into(), |us| duration(*us))
}

/// A table whose first column is text and whose others are numbers.
pub(crate) fn grid(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>, text_columns: usize) -> String {
    let mut table = Table::new();
    table.load_style(style()).set_header(header.to_vec());
    table.add_rows(rows);
    for (i, column) in table.column_iter_mut().enumerate() {
        column.set_padding((u16::from(i > 0), 1));
        column.set_cell_alignment(if i < text_columns { CellAlignment::Left } else { CellAlignment::Right });
    }
    table.lines().map(|line| line.trim_end().to_owned() + "\n").chain(["\n".to_owned()]).collect()
}

/// Columns of a terminal that texts may take.
pub(crate) const WIDTH: usize = 110;

/// A table of texts that are broken where they are long.
pub(crate) fn wrapped(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(style()).set_header(header.to_vec()).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(WIDTH as u16).add_rows(rows);
    for (i, column) in table.column_iter_mut().enumerate() {
        column.set_padding((u16::from(i > 0), 1));
    }
    table.lines().map(|line| line.trim_end().to_owned() + "\n").chain(["\n".to_owned()]).collect()
}

/// A line under the heading and nothing else.
fn style() -> TableStyle {
    TableStyle::new().header_separator(LineStyle::none().fill('\u{2500}').junction('\u{2500}'))
}

/// The run as text, with a newline at its end.
#[must_use]
pub fn table(summary: &Summary) -> String {
    let mut text = String::new();
    let span = Span::from_secs_f64(summary.simulated_s);
    let rate = summary.requests_per_s.map_or_else(String::new, |rate| format!(", {} requests/s", count(rate)));
    let _ = writeln!(text, "{} under {} ({})", summary.device, summary.workload, summary.pacing);
    let _ = writeln!(text, "{} requests in {span} of simulated time{rate}\n", count(summary.requests as f64));
    text.push_str(&requests(summary));
    text.push_str(&flows(summary));
    text.push_str(&flash(summary));
    for line in levels(summary) {
        let _ = writeln!(text, "{line}");
    }
    text
}

fn requests(summary: &Summary) -> String {
    let header = ["", "req/s", "rate", "mean", "p50", "p99", "p99.9", "p99.999", "max"];
    let mut rows = Vec::new();
    for name in KINDS {
        let Some(kind) = summary.kinds.get(name) else { continue };
        let shown = ["mean", "p50", "p99", "p99_9", "p99_999", "max"];
        let row = |label: String, first: [String; 2], latencies: &Latencies| -> Vec<String> {
            [label].into_iter().chain(first).chain(shown.map(|key| of(latencies, key))).collect()
        };
        let rate = kind.bytes_per_s.map_or_else(|| "-".into(), rate);
        rows.push(row(name.into(), [kind.requests_per_s.map_or_else(|| "-".into(), count), rate], &kind.latency_us));
        // Where the time went is worth its lines only where a request waited at all.
        if kind.queue_wait_us.get("max").is_some_and(|us| *us > 0.0) {
            rows.push(row("  queue".into(), Default::default(), &kind.queue_wait_us));
            rows.push(row("  service".into(), Default::default(), &kind.service_us));
        }
    }
    grid(&header, rows, 1)
}

/// A row for each kind of request of each flow.
fn flows(summary: &Summary) -> String {
    if summary.flows.is_empty() {
        return String::new();
    }
    let mut rows = Vec::new();
    for flow in &summary.flows {
        for (i, name) in KINDS.into_iter().filter(|name| flow.kinds.contains_key(name)).enumerate() {
            let kind = &flow.kinds[name];
            let queue = if i == 0 { flow.queue.to_string() } else { String::new() };
            let label = if i == 0 { flow.name.clone() } else { String::new() };
            let per_second = kind.requests_per_s.map_or_else(|| "-".into(), count);
            let rate = kind.bytes_per_s.map_or_else(|| "-".into(), rate);
            let latencies = ["mean", "p99", "max"].map(|key| of(&kind.latency_us, key));
            rows.push([label, queue, name.into(), per_second, rate].into_iter().chain(latencies).collect());
        }
    }
    grid(&["flow", "queue", "", "req/s", "rate", "mean", "p99", "max"], rows, 3)
}

/// Bytes per second with three digits that count.
pub(crate) fn rate(bytes_per_s: u64) -> String {
    match bytes_per_s {
        rate if rate >= 1_000_000_000 => format!("{}GB/s", digits(rate as f64 * 1e-9)),
        rate if rate >= 1_000_000 => format!("{}MB/s", digits(rate as f64 * 1e-6)),
        0 => "-".into(),
        rate => Rate::new(rate).to_string(),
    }
}

fn flash(summary: &Summary) -> String {
    if summary.flash.is_empty() {
        return String::new();
    }
    // Padding is no command of its own: it is in the write amplification.
    let rows = summary.flash.iter().filter(|row| row.commands > 0).map(|row| {
        vec![
            row.op.to_owned(),
            row.cause.to_owned(),
            count(row.commands as f64),
            count(row.pages as f64),
            Bytes::new(row.bytes).to_string(),
            duration(row.array_s * 1e6),
            duration(row.bus_s * 1e6),
        ]
    });
    grid(&["flash", "cause", "commands", "pages", "bytes", "array time", "bus time"], rows, 2)
}

fn levels(summary: &Summary) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(waf) = summary.write_amplification {
        let by = &summary.write_amplification_by;
        let part = |name: &str| by.get(name).map(|waf| format!("{name} {waf:.3}"));
        let parts: Vec<_> = Cause::ALL.into_iter().map(Cause::name).chain(["slc"]).filter_map(part).collect();
        let parts = if parts.len() > 1 { format!(" = {}", parts.join(" + ")) } else { String::new() };
        lines.push(format!("write amplification {waf:.3}{parts}"));
    }
    if summary.absorbed_slots > 0 {
        lines.push(format!("{} units absorbed by the buffer", count(summary.absorbed_slots as f64)));
    }
    if summary.unmapped_slots > 0 {
        let units = count(summary.unmapped_slots as f64);
        lines.push(format!("{units} units read held nothing (never written, or discarded) and cost no flash time"));
    }
    if let Some(map) = &summary.map {
        lines.extend(self::map(map));
    }
    if let Some(of) = &summary.merges {
        let [merges, copied, given, log, maps] =
            [of.merges, of.copied, of.given, of.log_pages, of.maps].map(|n| count(n as f64));
        lines.push(format!(
            "{merges} merges: {copied} rows copied, {given} given; {log} log pages, {maps} maps written"
        ));
        lines.push(format!("recovery would take {}", Span::from_us(of.recovery_us.round() as u64)));
        if of.flush_pages > 0 {
            lines.push(format!("{} pages of flushes without merges", count(of.flush_pages as f64)));
        }
    }
    if let Some(merges) = &summary.log_merges {
        lines.push(log_merges(merges));
    }
    lines.extend(summary.hybrid.iter().flat_map(super::HybridSummary::lines));
    let used = &summary.utilisation;
    let groups = [("channels", &used.channels), ("dies", &used.dies), ("units", &used.units)];
    let processor = (used.processor > 0.0).then_some(("processor", used.processor));
    let busy = groups.into_iter().filter_map(|(name, shares)| mean(shares).map(|mean| (name, mean)));
    let busy: Vec<_> = [("link", used.link)]
        .into_iter()
        .chain(busy)
        .chain(processor)
        .chain(used.ftl.map(|share| ("FTL", share)))
        .map(|(name, s)| format!("{name} {}", percent(s)))
        .collect();
    lines.push(format!("busy: {}", busy.join(", ")));
    if let Some(erases) = &summary.erases {
        let (blocks, min, max) = (count(erases.blocks as f64), erases.min, erases.max);
        let worn = format!("{min} to {max}, mean {:.2}, deviation {:.2}", erases.mean, erases.deviation);
        lines.push(format!("erases per block: {worn} ({blocks} blocks, {} bad)", summary.bad_blocks));
    }
    if let Some(energy) = &summary.energy {
        let parts: Vec<_> =
            energy.by_name_j.iter().map(|(name, joules)| format!("{name} {}", Energy::from_joules(*joules))).collect();
        let bytes: u64 = ["read", "write"].iter().filter_map(|kind| Some(summary.kinds.get(kind)?.bytes)).sum();
        let sector = match bytes / SECTOR.get() {
            0 => String::new(),
            sectors => format!("; {} a sector", Energy::from_joules(energy.total_j / sectors as f64)),
        };
        lines.push(format!("energy: {} ({}){sector}", Energy::from_joules(energy.total_j), parts.join(", ")));
    }
    for (name, what) in [
        ("uncorrectable", "could not be read from flash"),
        ("read_only", "were refused, because the device had become read-only"),
        ("out_of_range", "lay beyond the device"),
    ] {
        if let Some(refused) = summary.outcomes.get(name).filter(|count| **count > 0) {
            lines.push(format!("WARNING: {refused} requests {what}"));
        }
    }
    if summary.inversions > 0 {
        lines.push(format!("WARNING: {} requests came out of order and were issued late", summary.inversions));
    }
    if let Some(verified) = &summary.verified {
        let of = |key| verified.get(key).copied().unwrap_or(0);
        lines.push(format!("verified: {} sectors of {} reads returned what was written", of("sectors"), of("reads")));
    }
    lines.extend(summary.notes.iter().map(|note| format!("note: {note}")));
    lines.push(format!("events {}, hash {}, seed {}", summary.events, summary.event_hash, summary.seed));
    lines
}

/// What the map unit was asked, and what it asked of flash.
fn map(map: &MapSummary) -> [String; 2] {
    let each = |us: Option<f64>| us.map_or_else(String::new, |us| format!(", {} each", duration(us)));
    let hits = |what: &str, share: Option<f64>| {
        share.map_or_else(String::new, |share| format!(", {} in the {what}", percent(share)))
    };
    let asked = [each(map.time_us), hits("CMT", map.hit_ratio), hits("CTP", map.page_hit_ratio)].concat();
    let [questions, loads, stores, flushes] =
        [map.questions, map.loads, map.stores, map.flushes].map(|value| count(value as f64));
    let at_once = if map.loads > 0 { format!(" ({} at once)", map.loads_at_most) } else { String::new() };
    [
        format!("map: {questions} questions{asked}"),
        format!("map: {loads} loads{at_once}, {stores} stores, {flushes} flushes{}", each(map.flush_time_us)),
    ]
}

/// What was merged, and how much that copied.
fn log_merges(merges: &LogSummary) -> String {
    let [switch, partial, full] = [merges.switch, merges.partial, merges.full].map(|value| count(value as f64));
    let pages = |pages: Option<f64>| pages.map_or_else(String::new, |pages| format!(" ({pages:.1} pages)"));
    let k = merges.k.map_or_else(String::new, |k| format!(", k {k:.2}"));
    let (of_partial, of_full) = (pages(merges.pages_of_partial), pages(merges.pages_of_full));
    format!("merges: {switch} switch, {partial} partial{of_partial}, {full} full{of_full}{k}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{About, Report};
    use crate::testing::a_result;

    #[test]
    fn a_table_fits_eighty_columns_and_has_its_units() {
        let about = About { device: "four servers".into(), workload: "a mix".into(), ..About::default() };
        let report = Report {
            about: &about,
            result: &a_result(),
            timeline: None,
            explained: &[],
            erase_counts: &[1, 3],
            energy: &[],
            verified: None,
            notes: &[],
        };
        let text = table(&Summary::new(&report));
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        for wanted in ["100us", "200us", "req/s", "write amplification 1.000", "erases per block: 1 to 3", "dies 37.5%"]
        {
            assert!(text.contains(wanted), "{wanted}: {text}");
        }
    }

    #[test]
    fn flows_have_rows_of_their_own() {
        let result = crate::testing::two_flows();
        let about = About { device: "four servers".into(), workload: "a mix".into(), ..About::default() };
        let report = Report {
            about: &about,
            result: &result,
            timeline: None,
            explained: &[],
            erase_counts: &[],
            energy: &[],
            verified: None,
            notes: &[],
        };
        let summary = Summary::new(&report);
        let text = table(&summary);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        for wanted in ["(2 flows)", "flow     queue ", "\nreader   0       read ", "\nwriter   0       write "] {
            assert!(text.contains(wanted), "{wanted}: {text}");
        }
        let json: serde_json::Value = serde_json::from_str(&Summary::json(&[summary])).expect("JSON");
        assert_eq!(
            (json["flows"][1]["name"].as_str(), json["flows"][1]["requests"].as_u64()),
            (Some("writer"), Some(500))
        );
    }

    #[test]
    fn numbers_keep_three_digits_that_count() {
        assert_eq!(
            [duration(0.25), duration(12.345), duration(999.6), duration(1500.0)],
            ["250ns", "12.3us", "1000us", "1.50ms"]
        );
        assert_eq!([count(999.0), count(12_345.0), count(1_234_567.0)], ["999", "12.3k", "1.23M"]);
    }
}
