//! The parts that take the most time, the keys that act on them, and the gains and costs of changes, as text.

use std::fmt::Write as _;

use study::explanation::Explanation;
use study::metric::Metric;
use study::summary::Summary;
use study::text::{count, duration, memory, percent};
use study::validity::MOST_FAILED;
use study::what_if::{Culprit, Start, Trial};

use super::grid::fitted;
use super::table::{Table, UnitOfMeasure};

const WIDTH: usize = 80;

/// A column: its heading, the metric or price, and its form for the unchanged drive.
struct TrialColumn {
    heading: &'static str,
    of: fn(&Trial) -> Option<f64>,
    show: fn(f64) -> String,
}

/// The run of a trial; `None` if too many of its requests failed for a comparison.
fn comparable(trial: &Trial) -> Option<&Summary> {
    trial.run.as_ref().filter(|run| !run.fails_too_often())
}

fn latency(trial: &Trial, kind: &str, of: &str) -> Option<f64> {
    comparable(trial)?.kinds.get(kind)?.latency_us.get(of).copied()
}

fn metric(trial: &Trial, name: &str) -> Option<f64> {
    name.parse::<Metric>().expect("a constant, valid name").of(comparable(trial)?)
}

/// The metrics that show the gain of a change.
const GAINS: [TrialColumn; 5] = [
    TrialColumn { heading: "read mean", of: |t| latency(t, "read", "mean"), show: duration },
    TrialColumn { heading: "p99", of: |t| latency(t, "read", "p99"), show: duration },
    TrialColumn { heading: "write mean", of: |t| latency(t, "write", "mean"), show: duration },
    TrialColumn { heading: "p99", of: |t| latency(t, "write", "p99"), show: duration },
    TrialColumn { heading: "req/s", of: |t| comparable(t).and_then(requests_per_s), show: count },
];

const PRICES: [TrialColumn; 5] = [
    TrialColumn { heading: "WAF", of: |t| metric(t, "waf"), show: |value| format!("{value:.2}") },
    TrialColumn { heading: "J/sector", of: |t| metric(t, "energy-per-sector"), show: |value| format!("{value:.1e}") },
    TrialColumn { heading: "RAM", of: |t| Some(t.price.ram_bytes as f64), show: memory },
    TrialColumn { heading: "flash", of: |t| Some(t.price.cost_gib_mlc), show: |value| format!("{value:.2}") },
    TrialColumn { heading: "capacity", of: |t| Some(t.price.capacity_bytes as f64), show: memory },
];

fn requests_per_s(run: &Summary) -> Option<f64> {
    run.requests_per_s
}

/// The parts that take the most time, and the runs with changes if there are any.
#[must_use]
pub fn levers_text(of: &Explanation) -> String {
    let mut text = String::new();
    for culprit in &of.culprits {
        let _ = writeln!(text, "{}", in_words(culprit));
    }
    if of.levers.is_empty() {
        return text;
    }
    if of.what_if.is_empty() {
        let _ = writeln!(text, "These settings act on it; --what-if runs each of them:");
        for set in &of.levers {
            let _ = writeln!(text, "  --set {set}");
        }
        return text;
    }
    text.push_str(
        "\nWhat if: the same requests and seed, one key changed; gains and losses beside the drive as it is\n\n",
    );
    text.push_str(&part("gain", &GAINS, &of.what_if));
    text.push_str(&part("price", &PRICES, &of.what_if));
    text.push_str("Flash is its price in GiB of MLC flash.\n");
    if of.what_if.iter().any(|trial| trial.start == Start::Own) {
        text.push_str("+ starts from a state of its own, because it keeps its data in another way.\n");
    }
    for trial in of.what_if.iter().filter(|trial| trial.run.as_ref().is_some_and(Summary::fails_too_often)) {
        let set = trial.set.as_deref().unwrap_or("the drive as it is");
        let _ = writeln!(text, "{set}: more than {} of the requests failed; no number is given", percent(MOST_FAILED));
    }
    for trial in &of.what_if {
        if let (Some(set), Some(error)) = (&trial.set, &trial.error) {
            let _ = writeln!(text, "{set} cannot run: {error}");
        }
    }
    text
}

/// A culprit as a sentence.
fn in_words(culprit: &Culprit) -> String {
    let Culprit { part, share, queued, causes } = culprit;
    let mut text = format!("{} of the time of all requests is {}", percent(*share), part.name());
    if *queued >= 0.005 {
        let _ = write!(text, " ({} of it in the queue, behind requests in {})", percent(*queued), part.name());
    }
    let causes: Vec<String> =
        causes.iter().take(3).map(|(cause, share)| format!("{} {}", cause.name(), percent(*share))).collect();
    if !causes.is_empty() {
        let _ = write!(text, "; meanwhile the flash works for {}", causes.join(", "));
    }
    text
}

fn part(name: &str, columns: &'static [TrialColumn], trials: &[Trial]) -> String {
    let Some(own) = trials.first() else { return String::new() };
    let shown: Vec<&TrialColumn> = columns.iter().filter(|column| (column.of)(own).is_some()).collect();
    let header: Vec<&str> = [name].into_iter().chain(shown.iter().map(|column| column.heading)).collect();
    let rows = trials.iter().filter(|trial| trial.run.is_some()).map(|trial| {
        let mark = if trial.start == Start::Own { " +" } else { "" };
        let label = trial.set.as_ref().map_or_else(|| "as it is".to_owned(), |set| format!("{set}{mark}"));
        let cell = |column: &&TrialColumn| match ((column.of)(trial), (column.of)(own)) {
            (Some(value), _) if trial.set.is_none() => (column.show)(value),
            (Some(value), Some(own)) => change(value, own),
            _ => "-".to_owned(),
        };
        [label].into_iter().chain(shown.iter().map(cell)).collect()
    });
    fitted(&header, rows.collect(), 1, WIDTH)
}

/// The change from one value to another in per cent.
fn change(value: f64, from: f64) -> String {
    if (value - from).abs() <= f64::EPSILON * from.abs() {
        return "=".to_owned();
    }
    if from <= 0.0 {
        return "-".to_owned();
    }
    let percent = (value / from - 1.0) * 100.0;
    if percent >= 1000.0 { format!("x{:.0}", value / from) } else { format!("{percent:+.1}%") }
}

/// The trials as a table for other programs: one row for each, the unchanged drive first.
#[must_use]
pub fn trial_rows(trials: &[Trial]) -> Table {
    let all = || trials.iter();
    let mut table = Table::default();
    let set = "The changed key and its value, as `--set` takes them; empty for the drive as it is";
    table.text("set", set, all().map(|trial| trial.set.clone().unwrap_or_default()));
    let on = "The part of the time on which the key acts";
    table.text("acts_on", on, all().map(|trial| trial.acts_on.unwrap_or_default()));
    let start = "`same`: the state of the drive as it is; `own`: one of its own, preconditioned in the same way";
    table.text("start", start, all().map(|trial| trial.start.name()));
    for (name, kind, of, meaning) in [
        ("read_mean_us", "read", "mean", "Mean response time of reads"),
        ("read_p99_us", "read", "p99", "99th percentile of the response time of reads"),
        ("write_mean_us", "write", "mean", "Mean response time of writes"),
        ("write_p99_us", "write", "p99", "99th percentile of the response time of writes"),
    ] {
        table.number(name, UnitOfMeasure::Microseconds, meaning, all().map(|trial| latency(trial, kind, of)));
    }
    let rate = "Reads and writes that succeeded per simulated second";
    let of = |trial: &Trial| comparable(trial).and_then(requests_per_s);
    table.number("requests_per_s", UnitOfMeasure::PerSecond, rate, all().map(of));
    let waf = "Mapping units programmed per mapping unit that the host wrote, that the drive did not refuse and no buffer absorbed";
    table.number("write_amplification", UnitOfMeasure::None, waf, all().map(|trial| metric(trial, "waf")));
    let energy = "Energy per sector read or written";
    table.number(
        "energy_per_sector_j",
        UnitOfMeasure::Joules,
        energy,
        all().map(|trial| metric(trial, "energy-per-sector")),
    );
    let ram = "RAM for tables and the write buffer";
    table.count("ram_bytes", UnitOfMeasure::Bytes, ram, all().map(|trial| trial.price.ram_bytes));
    let cost = "Price of the flash, in GiB of MLC flash";
    table.number("cost_gib_mlc", UnitOfMeasure::None, cost, all().map(|trial| Some(trial.price.cost_gib_mlc)));
    let capacity = "Capacity that the host sees";
    table.count("capacity_bytes", UnitOfMeasure::Bytes, capacity, all().map(|trial| trial.price.capacity_bytes));
    let failed = "Share of the requests that failed; above 0.001 no other number of the run is given";
    let of = |trial: &Trial| trial.run.as_ref().map(|run| run.validity.failed);
    table.number("failed", UnitOfMeasure::Share, failed, all().map(of));
    let error = "The reason that the drive cannot run";
    table.text("error", error, all().map(|trial| trial.error.clone().unwrap_or_default()));
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_shares_of_the_drive_as_it_is() {
        assert_eq!(change(80.0, 100.0), "-20.0%");
        assert_eq!(change(100.5, 100.0), "+0.5%");
        assert_eq!(change(100.0, 100.0), "=");
        assert_eq!(change(1.0, 0.0), "-");
        assert_eq!(change(30.0, 1.0), "x30");
    }
}
