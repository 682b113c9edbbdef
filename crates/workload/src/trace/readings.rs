//! The times and sizes of a trace in other units than the assumed units, for a user who has to choose a unit.

use schemars::JsonSchema;
use serde::Serialize;

use super::survey::ABSURD_RATE;
use super::units::{SizeUnit, TimeUnit};

/// The span and the rate of a trace, if its times have some unit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TimeReading {
    /// The unit of times in this reading.
    #[schemars(with = "String")]
    pub unit: TimeUnit,
    /// True if the reader assumes this unit.
    pub taken: bool,
    /// The time from the first request to the last, in seconds.
    pub span_s: f64,
    /// The number of requests per second.
    pub rate_per_s: f64,
    /// True if the rate exceeds the speed of any drive.
    pub absurd: bool,
}

/// The mean size and the throughput of a trace, if its sizes have some unit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SizeReading {
    /// The unit of sizes in this reading.
    #[schemars(with = "String")]
    pub unit: SizeUnit,
    /// True if the reader assumes this unit.
    pub taken: bool,
    /// Mean bytes per read or write.
    pub bytes_mean: f64,
    /// Bytes per second, with the assumed unit of times.
    pub bytes_per_s: f64,
}

/// The span and the rate for each common unit of times, longest first.
pub(crate) fn time_readings(taken: TimeUnit, span_s: f64, rate_per_s: f64) -> Vec<TimeReading> {
    let common = [TimeUnit::Second, TimeUnit::Millisecond, TimeUnit::Microsecond, TimeUnit::Nanosecond];
    let mut units: Vec<TimeUnit> = common.into_iter().chain([taken]).collect();
    units.sort();
    units.dedup();
    let reading = |unit: TimeUnit| {
        let factor = unit.ps() as f64 / taken.ps() as f64;
        let rate_per_s = rate_per_s / factor;
        TimeReading {
            unit,
            taken: unit == taken,
            span_s: span_s * factor,
            rate_per_s,
            absurd: rate_per_s > ABSURD_RATE,
        }
    };
    units.into_iter().map(reading).collect()
}

/// The mean size and the throughput for sizes in sectors and in pages.
pub(crate) fn size_readings(taken: SizeUnit, bytes_mean: f64, rate_per_s: f64) -> Vec<SizeReading> {
    let mut units = vec![SizeUnit::SECTOR, SizeUnit::PAGE, taken];
    units.sort();
    units.dedup();
    let reading = |unit: SizeUnit| {
        let bytes_mean = bytes_mean * unit.bytes() as f64 / taken.bytes() as f64;
        SizeReading { unit, taken: unit == taken, bytes_mean, bytes_per_s: bytes_mean * rate_per_s }
    };
    units.into_iter().map(reading).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_readings_scale_from_the_one_taken() {
        let times = time_readings(TimeUnit::Nanosecond, 2.0, 5e4);
        assert_eq!(times.iter().map(|t| t.unit.name()).collect::<Vec<_>>(), ["s", "ms", "us", "ns"]);
        assert!((times[2].span_s - 2_000.0).abs() < 1e-9 && (times[2].rate_per_s - 50.0).abs() < 1e-9);
        assert!(times[3].taken && !times[3].absurd && time_readings(TimeUnit::Second, 1.0, 1e5)[1].absurd);
        let sizes = size_readings(SizeUnit::SECTOR, 1024.0, 10.0);
        assert!((sizes[1].bytes_mean - 8192.0).abs() < 1e-9 && (sizes[1].bytes_per_s - 81_920.0).abs() < 1e-9);
    }
}
