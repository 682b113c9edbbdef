//! Zones in a summary.

use base::units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ssd::{ZoneCounters, ZrwaCounters};

use super::Report;

/// Counters of the zones of a drive. Mapping units count with all their bytes.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct ZonesSummary {
    /// The number of resets of zones that were not empty.
    pub resets: u64,
    /// The number of finishes of zones that were not full.
    pub finishes: u64,
    /// Bytes of padding with which finishes filled zones.
    pub padded_bytes: u64,
    /// The number of active zones at the end.
    pub active: u32,
    /// The number of open zones at the end.
    pub open: u32,
    /// Counters of the zone random write areas, if the drive has any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zrwa: Option<ZrwaSummary>,
}

/// Counters of the zone random write areas of a drive.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct ZrwaSummary {
    /// Bytes that newer writes replaced in an area, so that they never reached flash.
    pub overwritten_bytes: u64,
    /// Bytes that the write pointer passed before the host had written them: they were programmed as zeros.
    pub unwritten_bytes: u64,
    /// The number of writes behind an area, which moved the write pointer.
    pub implicit_flushes: u64,
    /// The number of commands that moved the write pointer.
    pub explicit_flushes: u64,
    /// The number of zones with an area at the end.
    pub zones: u32,
}

impl ZonesSummary {
    /// Creates the summary; `None` if the array of the drive is not known.
    pub(super) fn new(counters: &ZoneCounters, report: &Report<'_>) -> Option<Self> {
        Some(Self::of(counters, report.about.array?.unit))
    }

    fn of(counters: &ZoneCounters, unit: Bytes) -> Self {
        let ZoneCounters { resets, finishes, padded, active, open, zrwa } = *counters;
        let bytes = |units: u64| units * unit.get();
        let zrwa = zrwa.map(|of: ZrwaCounters| ZrwaSummary {
            overwritten_bytes: bytes(of.overwritten),
            unwritten_bytes: bytes(of.unwritten),
            implicit_flushes: of.implicit_flushes,
            explicit_flushes: of.explicit_flushes,
            zones: of.zones,
        });
        Self { resets, finishes, padded_bytes: bytes(padded), active, open, zrwa }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mapping_units_count_with_all_their_bytes() {
        let zrwa = ZrwaCounters { overwritten: 3, unwritten: 2, implicit_flushes: 7, explicit_flushes: 1, zones: 4 };
        let counters = ZoneCounters { resets: 5, finishes: 6, padded: 10, active: 8, open: 9, zrwa: Some(zrwa) };
        let of = ZonesSummary::of(&counters, Bytes::new(4096));
        assert_eq!((of.resets, of.finishes, of.padded_bytes, of.active, of.open), (5, 6, 40_960, 8, 9));
        let of = of.zrwa.expect("areas");
        assert_eq!((of.overwritten_bytes, of.unwritten_bytes), (12_288, 8192));
        assert_eq!((of.implicit_flushes, of.explicit_flushes, of.zones), (7, 1, 4));
    }
}
