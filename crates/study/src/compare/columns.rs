//! The columns of a comparison.

use base::units::SECTOR;

use super::Row;
use super::best::Ranking;
use crate::catalogue::Device;
use crate::metric::{Dimension, Metric};
use crate::spread::Spread;
use crate::summary::{Summary, amplifications_differ};
use crate::text::{count, duration, memory, percent_above_zero, rate};

/// A column of the comparison.
pub struct Column {
    /// The key in JSON, with its unit of measure.
    pub key: &'static str,
    /// Heading of the column in the printed table.
    pub heading: &'static str,
    of: fn(&Summary, &Device) -> Option<f64>,
    /// Function that formats a value with its unit of measure.
    pub show: fn(f64) -> String,
    /// The dimension in which a value with its interval is written. `show` decides the unit of measure.
    dimension: Dimension,
    /// True if a higher value is better.
    more: bool,
    /// True if the description of the drive alone determines the value: no run and no seed changes it.
    is_fixed: bool,
}

/// A latency of a run in seconds; `None` for a percentile that too few requests support.
fn latency(summary: &Summary, kind: &str, of: &str) -> Option<f64> {
    let hidden = summary.validity.unsupported.get(kind).is_some_and(|keys| keys.contains(&of));
    summary.kinds.get(kind)?.latency_us.get(of).copied().filter(|_| !hidden)
}

fn metric(summary: &Summary, name: &str) -> Option<f64> {
    name.parse::<Metric>().expect("a constant, valid name").of(summary)
}

/// The columns with the speed of the drives.
pub const LATENCIES: [Column; 8] = [
    Column {
        key: "read_mean_us",
        heading: "read mean",
        of: |s, _| latency(s, "read", "mean"),
        show: duration,
        dimension: Dimension::Time,
        more: false,
        is_fixed: false,
    },
    Column {
        key: "read_p99_us",
        heading: "p99",
        of: |s, _| latency(s, "read", "p99"),
        show: duration,
        dimension: Dimension::Time,
        more: false,
        is_fixed: false,
    },
    Column {
        key: "read_p99_9_us",
        heading: "p99.9",
        of: |s, _| latency(s, "read", "p99_9"),
        show: duration,
        dimension: Dimension::Time,
        more: false,
        is_fixed: false,
    },
    Column {
        key: "write_mean_us",
        heading: "write mean",
        of: |s, _| latency(s, "write", "mean"),
        show: duration,
        dimension: Dimension::Time,
        more: false,
        is_fixed: false,
    },
    Column {
        key: "write_p99_us",
        heading: "p99",
        of: |s, _| latency(s, "write", "p99"),
        show: duration,
        dimension: Dimension::Time,
        more: false,
        is_fixed: false,
    },
    Column {
        key: "write_p99_9_us",
        heading: "p99.9",
        of: |s, _| latency(s, "write", "p99_9"),
        show: duration,
        dimension: Dimension::Time,
        more: false,
        is_fixed: false,
    },
    Column {
        key: "requests_per_s",
        heading: "req/s",
        of: |s, _| s.requests_per_s,
        show: count,
        dimension: Dimension::Count,
        more: true,
        is_fixed: false,
    },
    Column {
        key: "bytes_per_s",
        heading: "rate",
        of: |s, _| metric(s, "rate"),
        show: rate,
        dimension: Dimension::Rate,
        more: true,
        is_fixed: false,
    },
];

/// The key of the column of failed requests.
const FAILED: &str = "failed";

/// The key of the column of write amplification in mapping units.
const IN_UNITS: &str = "write_amplification";

const IN_BYTES: &str = "byte_write_amplification";

/// The note below a table, on its last column.
pub const COST: &str = "Cost is that of the flash alone, in GiB of MLC flash";

/// The columns of flash, energy and RAM.
pub const FLASH: [Column; 10] = [
    Column {
        key: FAILED,
        heading: "failed",
        of: |s, _| Some(s.validity.failed),
        show: percent_above_zero,
        dimension: Dimension::Share,
        more: false,
        is_fixed: false,
    },
    Column {
        key: IN_UNITS,
        heading: "WAF",
        of: |s, _| s.write_amplification,
        show: |value| format!("{value:.2}"),
        dimension: Dimension::Plain,
        more: false,
        is_fixed: false,
    },
    Column {
        key: IN_BYTES,
        heading: "in bytes",
        of: |s, _| s.byte_write_amplification,
        show: |value| format!("{value:.2}"),
        dimension: Dimension::Plain,
        more: false,
        is_fixed: false,
    },
    Column {
        key: "erases",
        heading: "erases",
        // Erases of the SLC flash of a hybrid drive are included.
        of: |s, _| metric(s, "commands.erase").map(|all| all + metric(s, "slc.commands.erase").unwrap_or(0.0)),
        show: count,
        dimension: Dimension::Count,
        more: false,
        is_fixed: false,
    },
    Column {
        key: "erase_deviation",
        heading: "wear spread",
        of: |s, _| s.erases.as_ref().map(|erases| erases.deviation),
        show: |value| format!("{value:.2}"),
        dimension: Dimension::Plain,
        more: false,
        is_fixed: false,
    },
    Column {
        key: "energy_j_per_gb",
        heading: "energy",
        of: |s, _| metric(s, "energy-per-sector").map(|joules| joules / SECTOR.get() as f64 * 1e9),
        show: |value| format!("{value:.3}J/GB"),
        dimension: Dimension::Plain,
        more: false,
        is_fixed: false,
    },
    Column {
        key: "table_ram_bytes",
        heading: "tables",
        of: |_, device| Some(device.resolved.table_ram().get() as f64),
        show: memory,
        dimension: Dimension::Count,
        more: false,
        is_fixed: true,
    },
    Column {
        key: "buffer_ram_bytes",
        heading: "buffer",
        of: |_, device| Some(device.resolved.buffer_ram().get() as f64),
        show: memory,
        dimension: Dimension::Count,
        more: false,
        is_fixed: true,
    },
    Column {
        key: "flash_bytes",
        heading: "flash",
        of: |_, device| {
            let second = device.resolved.slc_array.as_ref().map_or(0, |second| second.capacity().get());
            Some((device.resolved.raw_capacity().get() + second) as f64)
        },
        show: memory,
        dimension: Dimension::Count,
        more: false,
        is_fixed: true,
    },
    Column {
        key: "cost_gib_mlc",
        heading: "cost",
        of: |s, _| s.cost,
        show: |value| format!("{value:.2}"),
        dimension: Dimension::Plain,
        more: false,
        is_fixed: true,
    },
];

/// All columns, in the order of the tables.
pub(super) fn columns() -> impl Iterator<Item = &'static Column> {
    LATENCIES.iter().chain(&FLASH)
}

impl Column {
    /// The column's value of a run; `None` if the column does not apply.
    pub(super) fn of(&self, summary: &Summary, device: &Device) -> Option<f64> {
        (self.of)(summary, device)
    }

    /// The rules by which the values of the column rank.
    pub(super) const fn ranking(&self) -> Ranking {
        Ranking { more: self.more, is_fixed: self.is_fixed, show: self.show }
    }

    /// True if a table of these rows shows the column, because a value in it is informative: for the share of failed
    /// requests a value above zero, for write amplification in bytes a value other than that in mapping units, for all
    /// other columns any value.
    #[must_use]
    pub fn is_shown(&self, rows: &[Row]) -> bool {
        let says_something = |row: &Row| match (self.key, row.values.get(self.key)) {
            (_, None) => false,
            (FAILED, Some(share)) => *share > 0.0,
            (IN_BYTES, Some(bytes)) => {
                row.values.get(IN_UNITS).is_none_or(|units| amplifications_differ(*units, *bytes))
            }
            _ => true,
        };
        rows.iter().any(says_something)
    }

    /// The value of a row as text, with its interval if there are several seeds; `None` if the row has no such value.
    #[must_use]
    pub fn text(&self, row: &Row) -> Option<String> {
        let interval = row.spread.get(self.key).and_then(Spread::interval).filter(|interval| interval.half_width > 0.0);
        match interval {
            // The text of the value has the unit of measure already.
            Some(interval) if self.key == "energy_j_per_gb" => Some(format!("{}J/GB", interval.show(self.dimension))),
            Some(interval) => Some(interval.show(self.dimension)),
            None => row.values.get(self.key).map(|value| (self.show)(*value)),
        }
    }
}
