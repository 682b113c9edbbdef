//! Runs as a table for other programs: one row for each kind of request of each flow.

use std::borrow::Cow;

use ssd::Status;
use study::histogram::PERCENTILES;
use study::summary::{KindSummary, Latencies, Summary};

use super::table::KINDS;
use crate::table::{Column, Field, Table, UnitOfMeasure, Values};

struct KindRow<'a> {
    /// The number of the run, from 1.
    stage: u64,
    summary: &'a Summary,
    /// The flow's name; empty for all flows together.
    flow: &'a str,
    kind: &'static str,
    of: &'a KindSummary,
    /// The keys of percentiles that too few requests support.
    hidden: &'a [&'static str],
}

impl KindRow<'_> {
    /// A latency; `None` if too few requests support it.
    fn latency(&self, key: &str) -> Option<f64> {
        if self.hidden.contains(&key) { None } else { self.of.latency_us.get(key).copied() }
    }
}

/// The table of these runs, one after another.
#[must_use]
pub fn rows(summaries: &[Summary]) -> Table {
    let mut all = Vec::new();
    for (stage, summary) in (1..).zip(summaries) {
        let hidden = |kind| summary.validity.unsupported.get(kind).map_or(&[][..], Vec::as_slice);
        for kind in KINDS {
            if let Some(of) = summary.kinds.get(kind) {
                all.push(KindRow { stage, summary, flow: "", kind, of, hidden: hidden(kind) });
            }
        }
        for flow in &summary.flows {
            for kind in KINDS {
                if let Some(of) = flow.kinds.get(kind) {
                    all.push(KindRow { stage, summary, flow: &flow.name, kind, of, hidden: &[] });
                }
            }
        }
    }
    table(&all)
}

fn table(rows: &[KindRow<'_>]) -> Table {
    let mut table = Table::default();
    let owned = |text: &str| -> Cow<'static, str> { text.to_owned().into() };
    table.text("device", "The device's name", rows.iter().map(|row| owned(&row.summary.device)));
    table.text("workload", "The workload's name", rows.iter().map(|row| owned(&row.summary.workload)));
    table.count("seed", UnitOfMeasure::None, "The seed of the run", rows.iter().map(|row| row.summary.seed));
    let stage = "Number of the workload's stage, from 1";
    table.count("stage", UnitOfMeasure::None, stage, rows.iter().map(|row| row.stage));
    let flow = "The flow's name; empty for all flows together";
    table.text("flow", flow, rows.iter().map(|row| owned(row.flow)));
    table.text("kind", "`read`, `write`, `flush`, `discard`, or a kind of zones", rows.iter().map(|row| row.kind));
    let requests = "Requests that succeeded: all other numbers but those of failed requests are about them";
    table.count("requests", UnitOfMeasure::None, requests, rows.iter().map(|row| row.of.requests));
    table.count("bytes", UnitOfMeasure::Bytes, "Bytes that they asked for", rows.iter().map(|row| row.of.bytes));
    for (status, meaning) in [
        (Status::Uncorrectable, "Requests that failed because their data could not be read from flash"),
        (Status::ReadOnly, "Requests that the drive refused because it was read-only"),
        (Status::OutOfRange, "Requests for sectors beyond the drive"),
    ] {
        let of = rows.iter().map(|row| row.of.failed.get(status.name()).copied().unwrap_or_default());
        table.count(status.name(), UnitOfMeasure::None, meaning, of);
    }
    let failed = |row: &KindRow<'_>, status: Status| row.of.failed.get(status.name()).copied().unwrap_or_default();
    // The list of all columns is made without rows, and has every status.
    let is_shown = |status: &Status| rows.is_empty() || rows.iter().any(|row| failed(row, *status) > 0);
    for status in Status::ALL.into_iter().filter(|status| status.is_of_zones()).filter(is_shown) {
        let name = status.name();
        let meaning = format!("Requests that the drive refused with the status `{name}` of zones; there if any were");
        let values = rows.iter().map(|row| failed(row, status)).collect();
        table.push(Field::named(name.to_owned(), Values::Count, UnitOfMeasure::None, meaning), Column::Count(values));
    }
    let rate = "Requests per simulated second";
    table.number("requests_per_s", UnitOfMeasure::PerSecond, rate, rows.iter().map(|row| row.of.requests_per_s));
    let bytes = rows.iter().map(|row| row.of.bytes_per_s);
    table.number("bytes_per_s", UnitOfMeasure::BytesPerSecond, "Bytes per simulated second", bytes);
    let keys = ["mean", "min"].into_iter().chain(PERCENTILES.map(|(_, key, _)| key)).chain(["max"]);
    for key in keys {
        let name = format!("{key}_us");
        let meaning = format!("Response time: {key}; a percentile is empty if too few requests lie beyond it");
        let values = rows.iter().map(|row| row.latency(key)).collect();
        table.push(Field::named(name, Values::Number, UnitOfMeasure::Microseconds, meaning), Column::Number(values));
    }
    let mean = |of: &Latencies| of.get("mean").copied();
    let waits = rows.iter().map(|row| mean(&row.of.queue_wait_us));
    table.number("queue_wait_mean_us", UnitOfMeasure::Microseconds, "Mean time in the submission queue", waits);
    let services = rows.iter().map(|row| mean(&row.of.service_us));
    let service = "Mean time from leaving the submission queue to completion";
    table.number("service_mean_us", UnitOfMeasure::Microseconds, service, services);
    let waf = "Write amplification of the whole run";
    table.number(
        "write_amplification",
        UnitOfMeasure::None,
        waf,
        rows.iter().map(|row| row.summary.write_amplification),
    );
    let waf = "Write amplification in bytes of the whole run (metric `waf-bytes`)";
    let of = rows.iter().map(|row| row.summary.byte_write_amplification);
    table.number("byte_write_amplification", UnitOfMeasure::None, waf, of);
    let failed = "Share of the requests that failed, of the whole run";
    table.number("failed", UnitOfMeasure::Share, failed, rows.iter().map(|row| Some(row.summary.validity.failed)));
    let unmapped = "Share of the mapping units that reads asked for and that held no data, of the whole run";
    let of = rows.iter().map(|row| Some(row.summary.validity.unmapped_reads));
    table.number("unmapped_reads", UnitOfMeasure::Share, unmapped, of);
    let copies = "Mapping units stored again although their data could not be read, of the whole run";
    table.count("unreadable_copies", UnitOfMeasure::None, copies, rows.iter().map(|row| row.summary.unreadable_copies));
    let simulated = "Simulated time of the whole run";
    table.number(
        "simulated_s",
        UnitOfMeasure::Seconds,
        simulated,
        rows.iter().map(|row| Some(row.summary.simulated_s)),
    );
    table
}

#[cfg(test)]
mod tests {
    use testkit::small;

    use super::*;
    use crate::testing::{reported, settled, two_flows};

    #[test]
    fn each_kind_of_request_is_a_row() {
        let result = settled(small::mixed());
        reported(&result, &[1, 2], |_, summary| {
            let table = rows(std::slice::from_ref(summary));
            assert_eq!(table.rows(), summary.kinds.len());
            let text = table.csv();
            let head: Vec<&str> = text.lines().next().expect("a header").split(',').collect();
            let read = text.lines().find(|line| line.contains(",read,")).expect("reads");
            let cell = |name: &str| {
                read.split(',').nth(head.iter().position(|other| *other == name).expect(name)).expect("a cell")
            };
            let reads = &summary.kinds["read"];
            assert_eq!(cell("requests"), reads.requests.to_string());
            assert_eq!(cell("p50_us").parse::<f64>().ok(), reads.latency_us.get("p50").copied());
            assert_eq!(cell("p99_999_us"), "", "too few requests");
            assert_eq!(cell("device"), "a <drive>");
        });
    }

    #[test]
    fn each_flow_has_rows_of_its_own() {
        let result = two_flows();
        reported(&result, &[], |_, summary| {
            let all: usize = summary.flows.iter().map(|flow| flow.kinds.len()).sum();
            assert!(all >= 2);
            assert_eq!(rows(std::slice::from_ref(summary)).rows(), summary.kinds.len() + all);
        });
    }
}
