//! The summary of a run for the terminal, eighty columns wide.

use std::fmt::Write as _;

use base::io::IoKind;
use base::units::{Bytes, Energy, SECTOR, Span};
use flash::backend::Cause;
use ssd::Status;

use study::metric::Dimension;
use study::summary::{
    FAILURES, FdpSummary, HandleSummary, Latencies, LogSummary, MapSummary, ParitySummary, RefreshSummary,
    SlcCacheSummary, SlcMlcSummary, StreamSummary, StreamsSummary, Summary, amplifications_differ, mean,
};
use study::text::{capacities, count, decimal_bytes, duration, percent, percent_above_zero, rate};
use study::validity::BEYOND;

use super::fairness::fairness;
use super::zones::zones;
use super::{life, power, raid, translation};
use crate::grid::{fitted, grid};
use crate::retries::retries;
use crate::suspensions::suspensions;

/// The width of a terminal in characters.
const WIDTH: usize = 80;

/// The order of rows.
pub(super) const KINDS: [&str; IoKind::COUNT] = {
    let mut names = [""; IoKind::COUNT];
    let mut i = 0;
    while i < IoKind::COUNT {
        names[i] = IoKind::ALL[i].name();
        i += 1;
    }
    names
};

/// The columns of latencies.
const SHOWN: [&str; 6] = ["mean", "p50", "p99", "p99_9", "p99_999", "max"];

fn of(latencies: &Latencies, key: &str) -> String {
    latencies.get(key).map_or_else(|| "-".into(), |us| duration(*us))
}

/// The summary of a run as text, with a newline at its end.
#[must_use]
pub fn table(summary: &Summary) -> String {
    let mut text = String::new();
    let span = Span::from_secs_f64(summary.simulated_s);
    // Flushes and discards move no data, so rates over all requests leave them out.
    let is_other = |kind: &&str| !["read", "write", "append"].contains(kind);
    let others = KINDS.into_iter().filter(is_other).any(|kind| summary.kinds.contains_key(kind));
    let counted = match (others, summary.kinds.contains_key("append")) {
        (false, _) => "requests",
        (true, false) => "reads and writes",
        (true, true) => "reads, writes and appends",
    };
    let rate = summary.requests_per_s.map_or_else(String::new, |rate| format!(", {} {counted}/s", count(rate)));
    let _ = writeln!(text, "{} under {} ({})", summary.device, summary.workload, summary.pacing);
    let _ = writeln!(text, "{} requests in {span} of simulated time{rate}\n", count(summary.requests as f64));
    text.push_str(&requests(summary));
    text.push_str(&failed(summary));
    text.push_str(&unsupported(summary));
    text.push_str(&flows(summary));
    text.push_str(&fairness(summary));
    text.push_str(&flash(summary));
    for line in levels(summary) {
        let _ = writeln!(text, "{line}");
    }
    text
}

/// The line below the table that explains a missing percentile.
fn unsupported(summary: &Summary) -> String {
    let shown = |key: &&str| SHOWN.contains(key);
    if !summary.validity.unsupported.values().flatten().any(shown) {
        return String::new();
    }
    format!("-: fewer than {BEYOND} requests lie beyond this percentile\n\n")
}

fn requests(summary: &Summary) -> String {
    let header = ["", "req/s", "rate", "mean", "p50", "p99", "p99.9", "p99.999", "max"];
    let mut rows = Vec::new();
    for name in KINDS {
        let Some(kind) = summary.kinds.get(name) else { continue };
        let hidden = summary.validity.unsupported.get(name).map_or(&[][..], Vec::as_slice);
        let value = |latencies: &Latencies, key| {
            if hidden.contains(&key) { "-".to_owned() } else { of(latencies, key) }
        };
        let row = |label: String, first: [String; 2], latencies: &Latencies| -> Vec<String> {
            [label].into_iter().chain(first).chain(SHOWN.map(|key| value(latencies, key))).collect()
        };
        let rate = kind.bytes_per_s.map_or_else(|| "-".into(), rate);
        rows.push(row(name.into(), [kind.requests_per_s.map_or_else(|| "-".into(), count), rate], &kind.latency_us));
        // The lines about waits appear only if a request waited.
        if kind.queue_wait_us.get("max").is_some_and(|us| *us > 0.0) {
            rows.push(row("  queue".into(), Default::default(), &kind.queue_wait_us));
            rows.push(row("  service".into(), Default::default(), &kind.service_us));
        }
    }
    fitted(&header, rows, 1, WIDTH)
}

/// The numbers of failed requests by outcome: a row for each kind, over all requests and for each flow.
fn failed(summary: &Summary) -> String {
    let flows = summary.flows.iter().map(|flow| (flow.name.as_str(), &flow.kinds));
    let all: Vec<_> = [("", &summary.kinds)].into_iter().chain(flows).collect();
    // Outcomes of zones have a column only if they occurred.
    let occurs = |status: &Status| {
        let kinds = all.iter().flat_map(|(_, kinds)| kinds.values());
        !status.is_of_zones() || kinds.into_iter().any(|kind| kind.failed.contains_key(status.name()))
    };
    let statuses: Vec<Status> = FAILURES.into_iter().filter(occurs).collect();
    let mut rows = Vec::new();
    for (flow, kinds) in &all {
        for (name, kind) in KINDS.iter().filter_map(|name| Some((*name, kinds.get(name)?))) {
            let failed: u64 = kind.failed.values().sum();
            if failed == 0 {
                continue;
            }
            let each = statuses.iter().map(|status| kind.failed.get(status.name()).copied().unwrap_or_default());
            let share = failed as f64 / (failed + kind.requests) as f64;
            let label = if flow.is_empty() { name.to_owned() } else { format!("{flow} {name}") };
            let each = each.map(|requests| count(requests as f64));
            rows.push([label].into_iter().chain(each).chain([percent_above_zero(share)]).collect());
        }
    }
    if rows.is_empty() {
        return String::new();
    }
    let header: Vec<String> = statuses.iter().map(|status| status.name().replace('_', " ")).collect();
    let header: Vec<&str> = ["failed"].into_iter().chain(header.iter().map(String::as_str)).chain(["share"]).collect();
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

fn flash(summary: &Summary) -> String {
    if summary.flash.is_empty() {
        return String::new();
    }
    // Padding is not a command of its own; write amplification includes it.
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
        lines.extend(in_bytes(waf, summary));
    }
    if let Some(line) = written(summary) {
        lines.push(line);
    }
    lines.extend(intervals(summary));
    // Units that random write areas absorbed are in the line of the zones.
    if summary.absorbed_slots > 0 && summary.zones.is_none() {
        lines.push(format!("the buffer absorbed {} mapping units", count(summary.absorbed_slots as f64)));
    }
    if summary.unmapped_slots > 0 && !summary.validity.warnings.iter().any(|text| text.starts_with("unmapped reads")) {
        let units = count(summary.unmapped_slots as f64);
        let time = if summary.validity.unmapped_reads > 0.0 { "no flash time" } else { "the time of flash reads" };
        lines.push(format!("{units} unwritten or discarded mapping units were read, which took {time}"));
    }
    if let Some(map) = &summary.map {
        lines.extend(self::map(map));
    }
    if let Some(of) = &summary.merges {
        let [merges, copied, given, log, maps] =
            [of.merges, of.copied, of.given, of.log_pages, of.maps].map(|n| count(n as f64));
        lines.push(format!(
            "{merges} merges: {copied} rows copied, {given} rows from the host; written: {log} log pages, {maps} maps"
        ));
        lines.push(format!("recovery after a power loss would take {}", Span::from_us(of.recovery_us.round() as u64)));
        if of.flush_pages > 0 {
            lines.push(format!("flushes wrote {} pages without a merge", count(of.flush_pages as f64)));
        }
    }
    if let Some(merges) = &summary.log_merges {
        lines.push(log_merges(merges));
    }
    lines.extend(summary.slc_mlc.iter().flat_map(slc_mlc));
    // With Flexible Data Placement, the streams are its handles, which have lines of their own.
    lines.extend(summary.streams.iter().filter(|_| summary.fdp.is_none()).flat_map(streams));
    lines.extend(summary.fdp.iter().flat_map(fdp));
    lines.extend(summary.slc_cache.as_ref().map(slc_cache));
    lines.extend(summary.refresh.as_ref().map(refresh));
    lines.extend(summary.parity.as_ref().map(parity));
    lines.extend(summary.raid.iter().flat_map(raid::lines));
    lines.extend(summary.translation.iter().flat_map(translation::lines));
    lines.extend(summary.zones.iter().flat_map(zones));
    lines.extend(summary.power.iter().flat_map(power::lines));
    lines.extend(suspensions(summary));
    lines.extend(retries(summary));
    let used = &summary.utilisation;
    let groups = [
        ("channels", &used.channels),
        ("dies", &used.dies),
        ("controllers", &used.controllers),
        ("decoders", &used.decoders),
    ];
    let processor = (used.processor > 0.0).then_some(("processor", used.processor));
    let busy = groups.into_iter().filter_map(|(name, shares)| mean(shares).map(|mean| (name, mean)));
    let busy: Vec<_> = [("link", used.link)]
        .into_iter()
        .chain(used.ram.map(|share| ("RAM", share)))
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
    lines.extend(endurance(summary));
    lines.extend(summary.life.iter().flat_map(life::lines).map(|line| wrapped(&line)));
    if let Some(energy) = &summary.energy {
        let parts: Vec<_> =
            energy.by_name_j.iter().map(|(name, joules)| format!("{name} {}", Energy::from_joules(*joules))).collect();
        let bytes: u64 = ["read", "write"].iter().filter_map(|kind| Some(summary.kinds.get(kind)?.bytes)).sum();
        let sector = match bytes / SECTOR.get() {
            0 => String::new(),
            sectors => format!("; {} a sector", Energy::from_joules(energy.total_j / sectors as f64)),
        };
        let total = Energy::from_joules(energy.total_j);
        lines.push(wrapped(&format!("energy: {total} ({}){sector}", parts.join(", "))));
    }
    lines.extend(summary.validity.warnings.iter().map(|warning| wrapped(&format!("WARNING: {warning}"))));
    if summary.inversions > 0 {
        lines.push(format!("WARNING: {} requests came out of order and were issued late", summary.inversions));
    }
    if let Some(verified) = &summary.verified {
        let of = |key| verified.get(key).copied().unwrap_or(0);
        lines.push(format!("verified: {} sectors of {} reads returned the newest data", of("sectors"), of("reads")));
    }
    lines.extend(summary.notes.iter().map(|note| format!("note: {note}")));
    lines.push(format!("events {}, hash {}, seed {}", summary.events, summary.event_hash, summary.seed));
    lines
}

/// Wraps the text at the width of a terminal; all lines but the first are indented.
fn wrapped(text: &str) -> String {
    let (mut lines, mut line) = (String::new(), String::new());
    for word in text.split(' ') {
        if !line.trim_start().is_empty() && line.chars().count() + 1 + word.chars().count() > WIDTH {
            lines += &line;
            lines.push('\n');
            line = "  ".to_owned();
        } else if !line.is_empty() {
            line.push(' ');
        }
        line += word;
    }
    lines + &line
}

/// The write amplification in bytes with the reason for its difference; `None` if it equals that in mapping units.
fn in_bytes(units: f64, summary: &Summary) -> Option<String> {
    let bytes = summary.byte_write_amplification.filter(|bytes| amplifications_differ(units, *bytes))?;
    let why = match bytes > units {
        true => "writes are smaller than mapping units",
        false if summary.zones.is_some() => "overwritten data never reached flash",
        false => "the buffer absorbed writes",
    };
    Some(format!("write amplification in bytes {bytes:.3}: {why}"))
}

/// The used share of the rated cycles, the TBW, and the bytes that the host wrote until the drive refused a write.
fn endurance(summary: &Summary) -> Option<String> {
    let of = summary.endurance.as_ref()?;
    let refused = summary.outcomes.get(Status::ReadOnly.name()).is_some_and(|requests| *requests > 0);
    // The second line of a life has this number for all rounds.
    let end = if refused && summary.life.is_none() {
        format!("; the host had written {} when the drive became read-only", decimal_bytes(of.written_bytes as f64))
    } else {
        String::new()
    };
    let used = percent_above_zero(of.used);
    let tbw = decimal_bytes(of.tbw_bytes);
    Some(wrapped(&format!(
        "endurance: {used} of {} rated cycles used; at this write amplification TBW {tbw}{end}",
        of.rated_cycles
    )))
}

/// The line about the amount written, and the steady state of the drive.
fn written(summary: &Summary) -> Option<String> {
    let validity = &summary.validity;
    if validity.capacities_written_with_warm_up <= 0.0 {
        return None;
    }
    let warm_up = validity.capacities_written_with_warm_up - validity.capacities_written;
    let before = if warm_up > 0.0 { format!(" after {} of warm-up", capacities(warm_up)) } else { String::new() };
    let waf = validity.steady.get("waf").map_or("", |verdict| match verdict.steady {
        true => "; WAF in steady state",
        false => "; WAF not in steady state",
    });
    Some(wrapped(&format!("written: {} of the capacity{before}{waf}", capacities(validity.capacities_written))))
}

/// The means with their intervals, from the batches of the run.
fn intervals(summary: &Summary) -> Option<String> {
    let means = &summary.validity.means;
    // Batches with equal values have no spread.
    let mean = |key: &str| means.get(key).filter(|mean| mean.half_width > 0.0);
    let of = |key: &str, name: &str, unit: Dimension| Some(format!("{name} {}", mean(key)?.show(unit)));
    let all = [
        of("latency", "latency", Dimension::Time),
        of("rate", "requests", Dimension::PerSecond),
        of("waf", "WAF", Dimension::Plain),
    ];
    let all: Vec<String> = all.into_iter().flatten().collect();
    (!all.is_empty()).then(|| wrapped(&format!("means at 95 %: {}", all.join(", "))))
}

/// The map unit's lookups, and the flash commands they caused.
fn map(map: &MapSummary) -> Vec<String> {
    let each = |us: Option<f64>| us.map_or_else(String::new, |us| format!(", {} each", duration(us)));
    let hits = |what: &str, share: Option<f64>| {
        share.map_or_else(String::new, |share| format!(", {} in the {what}", percent(share)))
    };
    let asked = [each(map.time_us), hits("CMT", map.hit_ratio), hits("CTP", map.page_hit_ratio)].concat();
    let [questions, loads, stores, flushes] =
        [map.questions, map.loads, map.stores, map.flushes].map(|value| count(value as f64));
    let at_once = if map.loads > 0 { format!(" ({} at once)", map.loads_at_most) } else { String::new() };
    let mut lines = vec![
        format!("map: {questions} questions{asked}"),
        format!("map: {loads} loads{at_once}, {stores} stores, {flushes} flushes{}", each(map.flush_time_us)),
    ];
    lines.extend(map.hmb.as_ref().map(|hmb| {
        let [read, written] = [hmb.read_bytes, hmb.written_bytes].map(|bytes| decimal_bytes(bytes as f64));
        let loads = count((hmb.hits + hmb.misses) as f64);
        let found = hits("HMB", hmb.hit_ratio);
        format!("HMB: {loads} loads{found}{}, {read} read, {written} written", each(hmb.time_us))
    }));
    lines
}

/// The merges of a log-block FTL, and the pages they copied.
fn log_merges(merges: &LogSummary) -> String {
    let [switch, partial, full] = [merges.switch, merges.partial, merges.full].map(|value| count(value as f64));
    let pages = |pages: Option<f64>| pages.map_or_else(String::new, |pages| format!(" ({pages:.1} pages)"));
    let k = merges.k.map_or_else(String::new, |k| format!(", k {k:.2}"));
    let (of_partial, of_full) = (pages(merges.pages_of_partial), pages(merges.pages_of_full));
    format!("merges: {switch} switch, {partial} partial{of_partial}, {full} full{of_full}{k}")
}

/// The share of each write stream, and the write amplification of classes whose copies have a stream of their own.
fn streams(of: &StreamsSummary) -> [String; 2] {
    let each = |streams: &[StreamSummary]| {
        let shares = streams.iter().map(|stream| match stream.write_amplification {
            Some(amplification) => format!("{} (x{amplification:.2})", percent(stream.share)),
            None => percent(stream.share),
        });
        shares.collect::<Vec<_>>().join(", ")
    };
    [format!("streams of the host: {}", each(&of.host)), format!("streams of copies: {}", each(&of.copies))]
}

/// The statistics of Flexible Data Placement, and a line for each of its handles.
fn fdp(of: &FdpSummary) -> Vec<String> {
    let bytes = |bytes: u64| Bytes::new(bytes).to_string();
    let [unit, host, media, erased] =
        [of.reclaim_unit_bytes, of.host_bytes, of.media_bytes, of.erased_bytes].map(bytes);
    let mut lines = vec![format!(
        "FDP: reclaim unit {unit}; host bytes {host}, media bytes {media}, erased bytes {erased}; {} events",
        count(of.events as f64)
    )];
    lines.extend((0..).zip(&of.handles).map(|(number, handle): (u32, _)| {
        let HandleSummary { victims, full_superblocks, partial_superblocks, .. } = *handle;
        let [written, moved, available] = [handle.written_bytes, handle.moved_bytes, handle.available_bytes].map(bytes);
        format!(
            "  handle {number}: written {written}, moved {moved}; superblocks filled {full_superblocks}, not fully written \
             {partial_superblocks}, moved {victims}; {available} available"
        )
    }));
    if of.moved_copy_bytes > 0 {
        lines.push(format!("  copies of all handles: moved again {}", bytes(of.moved_copy_bytes)));
    }
    if of.shared_copy_bytes > 0 {
        lines.push(format!("  copies that share superblocks of another handle: {}", bytes(of.shared_copy_bytes)));
    }
    if of.invalid_identifiers > 0 {
        lines.push(format!("  write commands with an invalid placement identifier: {}", of.invalid_identifiers));
    }
    lines
}

/// The destinations of host data, and the level of the SLC cache.
fn slc_cache(of: &SlcCacheSummary) -> String {
    let (cached, direct) = (percent(of.share), percent(1.0 - of.share));
    format!(
        "SLC cache: {cached} of the host's data, {direct} direct; at the end {} of {} superblocks",
        of.superblocks, of.limit
    )
}

/// The numbers of reads that parity has rebuilt, and of those that it could not.
fn parity(of: &ParitySummary) -> String {
    let ParitySummary { rebuilt, lost, superblocks, waiting } = of;
    let moved = match superblocks + waiting {
        0 => String::new(),
        _ => format!("; superblocks of failed dies moved: {superblocks}, {waiting} wait"),
    };
    format!("parity: {rebuilt} uncorrectable reads of mapping units rebuilt, {lost} lost{moved}")
}

/// The numbers of refreshed superblocks, by reason.
fn refresh(of: &RefreshSummary) -> String {
    let RefreshSummary { patrol_reads, by_age, by_reads, by_errors, superblocks } = of;
    format!(
        "superblocks refreshed: {superblocks}; due by age: {by_age}, by reads: {by_reads}, by errors: {by_errors}; patrol reads: {patrol_reads}"
    )
}

/// The share of writes that went to SLC flash, and the factors of the closed form.
fn slc_mlc(of: &SlcMlcSummary) -> [String; 2] {
    let percent = |share: Option<f64>| share.map_or_else(|| "-".into(), percent);
    let (accepted, updates) = (percent(of.accepted), percent(of.updates));
    let mode = if of.slc_mode_pages > 0 { format!(", {} blocks in SLC mode", of.slc_mode) } else { String::new() };
    let ssd::WriteCost { alpha, n1, n2, n3, n4, p1, p2 } = of.factors;
    let (n, p) = ([n1, n2, n3, n4], [p1, p2]);
    [
        format!(
            "SLC: {accepted} of the writes, {updates} updates, threshold {} sectors, k {}{mode}",
            of.threshold, of.k
        ),
        format!(
            "alpha {alpha:.3}, n {:.1} {:.1} {:.1} {:.2}, p {:.3} {:.4}: {:.0} us a page write",
            n[0], n[1], n[2], n[3], p[0], p[1], of.expected_page_write_us
        ),
    ]
}

#[cfg(test)]
mod tests {
    use study::run::RunResult;
    use testkit::small;

    use super::*;
    use crate::testing::{reported, settled, two_flows};

    fn shown(result: &RunResult) -> String {
        reported(result, &[1, 3], |_, summary| table(summary))
    }

    fn fits(text: &str) -> bool {
        text.lines().all(|line| line.chars().count() <= 80)
    }

    #[test]
    fn the_table_of_a_run_prints_units_of_measure() {
        let text = shown(&settled(small::mixed()));
        assert!(fits(&text), "{text}");
        for wanted in ["100us", "200us", "req/s", "write amplification 1.000", "erases per block: 1 to 3", "dies 37.5%"]
        {
            assert!(text.contains(wanted), "{wanted}: {text}");
        }
        for foreign in ["SLC", "merges", "map: ", "FTL"] {
            assert!(!text.contains(foreign), "{foreign}: {text}");
        }
    }

    #[test]
    fn the_widest_numbers_fit_eighty_columns() {
        let text = reported(&settled(small::mixed()), &[1, 3], |_, summary| {
            let mut summary = summary.clone();
            for (rate, us) in [(123_456.0, 123.456), (987_654.0, 999.4), (999_400_000.0, 99_940.0), (9_994.0, 0.123)] {
                for kind in summary.kinds.values_mut() {
                    (kind.bytes_per_s, kind.requests_per_s) = (Some(rate), Some(99_940.0));
                    for latencies in [&mut kind.latency_us, &mut kind.queue_wait_us, &mut kind.service_us] {
                        latencies.values_mut().for_each(|value| *value = us);
                    }
                }
                assert!(fits(&requests(&summary)), "{}", requests(&summary));
            }
            requests(&summary)
        });
        assert!(text.contains("9.99kB/s") && text.contains("123ns") && text.contains("99.9k"), "{text}");
    }

    #[test]
    fn the_means_of_one_run_have_intervals() {
        use study::spread::Interval;
        let text = reported(&settled(small::mixed()), &[1, 3], |_, summary| {
            let mut summary = summary.clone();
            summary.validity.means = [("latency", 123.4, 2.5), ("rate", 45_678.0, 500.0), ("waf", 3.0, 0.0)]
                .map(|(name, mean, half_width)| (name.to_owned(), Interval { mean, half_width, n: 40 }))
                .into();
            table(&summary)
        });
        assert!(text.contains("\nmeans at 95 %: latency 123.4 \u{b1} 2.5us, requests 45.7 \u{b1} 0.5k/s\n"), "{text}");
    }

    #[test]
    fn byte_write_amplification_stands_beside_that_in_units_where_they_differ() {
        let line = |units: f64, bytes: f64| {
            reported(&settled(small::mixed()), &[1, 3], |_, summary| {
                let mut summary = summary.clone();
                (summary.write_amplification, summary.byte_write_amplification) = (Some(units), Some(bytes));
                let text = table(&summary);
                text.lines().find(|line| line.starts_with("write amplification in bytes")).map(ToOwned::to_owned)
            })
        };
        let small = "write amplification in bytes 6.612: writes are smaller than mapping units";
        assert_eq!(line(1.529, 6.612).as_deref(), Some(small));
        let absorbed = "write amplification in bytes 0.900: the buffer absorbed writes";
        assert_eq!(line(1.0, 0.9).as_deref(), Some(absorbed));
        assert_eq!(line(1.529, 1.530), None, "they are alike");
    }

    #[test]
    fn the_table_of_a_worn_run_says_what_the_flash_can_take() {
        use study::summary::EnduranceSummary;
        reported(&settled(small::mixed()), &[1, 3], |_, summary| {
            let of =
                EnduranceSummary { rated_cycles: 3_000, used: 0.25, written_bytes: 12_340_000_000, tbw_bytes: 21.4e12 };
            let mut summary = Summary { endurance: Some(of), ..summary.clone() };
            let line = "\nendurance: 25.0% of 3000 rated cycles used; at this write amplification TBW";
            let text = table(&summary);
            assert!(text.contains(line) && text.contains("21.4TB\n") && fits(&text), "{text}");
            summary.outcomes.insert(Status::ReadOnly.name(), 7);
            let text = table(&summary);
            let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(
                words.contains("TBW 21.4TB; the host had written 12.3GB when the drive became read-only"),
                "{text}"
            );
            summary.endurance = None;
            assert!(!table(&summary).contains("endurance"));
        });
    }

    #[test]
    fn flows_have_their_own_rows() {
        let text = shown(&two_flows());
        assert!(fits(&text), "{text}");
        for wanted in ["(2 flows)", "flow     queue ", "\nreader   0       read ", "\nwriter   0       write "] {
            assert!(text.contains(wanted), "{wanted}: {text}");
        }
    }

    #[test]
    fn the_table_of_every_family_has_its_lines() {
        let table = "{ kind = \"table\", service = \"2us\" }";
        let fmmu = "{ kind = \"fmmu\", cmt = \"1KiB\", ctp = \"4KiB\", ways = 2 }";
        for (drive, wanted) in [
            (small::with_log_blocks(), &["\nmerges: ", " switch, ", ", k "][..]),
            (small::with_slc(), &["\nSLC: ", "\nalpha "]),
            (small::with_map(table), &["\nmap: ", " loads", ", FTL "]),
            (small::with_map(fmmu), &["\nmap: ", " in the CMT", " in the CTP", " loads", ", FTL "]),
        ] {
            let text = shown(&settled(drive));
            assert!(wanted.iter().all(|wanted| text.contains(wanted)), "{wanted:?}: {text}");
            let (_, lines) = text.split_once("\nwrite amplification").expect("lines below the tables");
            assert!(fits(lines), "{text}");
        }
    }
}
