//! A hybrid SLC/MLC drive in a summary: the traffic and wear of both arrays, and the closed form.

use flash::backend::{Account, Op};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ssd::{Counters, SlcMlcCounters, WriteCost};

use super::Report;
use super::commands::{FlashRow, rows};

/// The work of a hybrid drive, or of a conventional one with the same FTL, during the run.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct SlcMlcSummary {
    /// The number of write requests.
    pub writes: u64,
    /// The share of writes that are at most as large as the threshold.
    pub small: Option<f64>,
    /// The share of writes that the SLC flash accepted.
    pub accepted: Option<f64>,
    /// The number of small writes that the throttle rejected.
    pub throttled: u64,
    /// The number of small writes for which the hash table had no free place.
    pub unplaced: u64,
    /// The share of accepted writes that were updates.
    pub updates: Option<f64>,
    /// The threshold at the end, in sectors.
    pub threshold: u32,
    /// The maximum number of blocks of the SLC log at the end.
    pub k: u32,
    /// The factors of the closed form (Chang, Table 3).
    #[serde(flatten)]
    pub factors: WriteCost,
    /// The time of a page write that the closed form gives for these factors.
    pub expected_page_write_us: f64,
    /// The number of chains that became data blocks without a copy.
    pub switches: u64,
    /// The number of chains that wear levelling moved.
    pub levelled: u64,
    /// The number of sectors that moved from the SLC to the MLC flash by cleaning of the log's tail and by folds.
    pub written_back: u64,
    /// The number of sectors of the SLC flash that folds also moved to the MLC flash.
    pub assisted: u64,
    /// Mean erases per SLC block divided by mean erases per MLC block.
    pub wear_ratio: Option<f64>,
    /// The minimum and maximum erase count of SLC blocks.
    pub slc_erases: Option<[u32; 2]>,
    /// The erase counts of the MLC blocks at the end, by ranges of block numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mlc_erase_ranges: Vec<EraseRange>,
    /// The erase counts of the SLC blocks at the end, by ranges of block numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slc_erase_ranges: Vec<EraseRange>,
    /// The price of all flash divided by the price of the MLC flash alone, if the prices are known.
    pub cost: Option<f64>,
    /// The number of logical blocks in SLC mode at the end, under density control.
    pub slc_mode: u32,
    /// The number of logical blocks that folds switched to SLC mode, and the number switched back.
    pub slc_mode_changes: [u64; 2],
    /// The number of pages of the MLC flash programmed in SLC mode.
    pub slc_mode_pages: u64,
    /// Bytes of RAM for the tables.
    pub table_bytes: u64,
    /// Commands of the SLC flash by operation and cause.
    pub slc_flash: Vec<FlashRow>,
}

/// The erase counts of blocks with successive numbers.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct EraseRange {
    /// The number of blocks with successive numbers.
    pub blocks: u32,
    /// The least erase count.
    pub min: u32,
    /// The mean erase count of the blocks.
    pub mean: f64,
    /// The greatest erase count.
    pub max: u32,
}

/// The most ranges of an array.
const RANGES: usize = 32;

/// The erase counts of an array by ranges of blocks, all but the last of one length.
fn ranges(counts: &[u32]) -> Vec<EraseRange> {
    let range = |counts: &[u32]| EraseRange {
        blocks: counts.len() as u32,
        min: counts.iter().copied().min().unwrap_or(0),
        mean: counts.iter().copied().map(f64::from).sum::<f64>() / counts.len() as f64,
        max: counts.iter().copied().max().unwrap_or(0),
    };
    counts.chunks(counts.len().div_ceil(RANGES).max(1)).map(range).collect()
}

fn share(part: u64, of: u64) -> Option<f64> {
    (of > 0).then(|| part as f64 / of as f64)
}

impl SlcMlcSummary {
    pub(super) fn new(of: &SlcMlcCounters, counted: &Counters, report: &Report<'_>) -> Self {
        let factors = of.write_cost();
        let second = counted.slc_array.as_ref();
        let erases = |account: &Account, blocks: u32| account.op(Op::Erase).commands as f64 / f64::from(blocks);
        let wear = second
            .zip(of.slc)
            .map(|(second, slc)| erases(&second.flash, slc.blocks) / erases(&counted.flash, of.mlc.blocks));
        Self {
            writes: of.writes,
            small: share(of.small, of.writes),
            accepted: share(of.accepted, of.writes),
            throttled: of.throttled,
            unplaced: of.unplaced,
            updates: share(of.updates, of.accepted),
            threshold: of.threshold,
            k: of.k,
            factors,
            expected_page_write_us: factors.write(of.slc.map(|slc| slc.times).as_ref(), &of.mlc.times),
            switches: of.switches,
            levelled: of.levelled,
            written_back: of.written_back,
            assisted: of.assisted,
            wear_ratio: wear.filter(|ratio| ratio.is_finite()),
            slc_erases: second.map(|second| second.erases),
            mlc_erase_ranges: ranges(report.erase_counts),
            slc_erase_ranges: ranges(report.slc_erase_counts),
            cost: report.about.cost.map(|price| price.by_array()),
            slc_mode: of.slc_mode,
            slc_mode_changes: [of.to_slc_mode, of.from_slc_mode],
            slc_mode_pages: of.slc_mode_pages,
            table_bytes: of.table_bytes,
            slc_flash: second.map_or_else(Vec::new, |second| rows(&second.flash)),
        }
    }
}

#[cfg(test)]
mod tests {
    use ssd::Cost;
    use testkit::small;

    use super::{EraseRange, ranges};
    use crate::metric::Metric;
    use crate::reconcile::reconcile;
    use crate::summary::{Provenance, Report, Summary};
    use crate::testing::{settled, summary};

    #[test]
    fn results_of_slc_mlc_drives_hold_where_data_went() {
        let result = settled(small::with_slc());
        assert_eq!(reconcile(&result), Ok(()));
        // Sixteen SLC blocks of 32 KiB beside 64 MLC blocks of the same size.
        let about = Provenance { cost: Some(Cost { flash: 4.0, slc_array: 1.0 }), ..Provenance::default() };
        let summary = Summary::new(&Report::new(&about, &result));
        let of = |name: &str| name.parse::<Metric>().expect(name).of(&summary);
        let slc_mlc = summary.slc_mlc.clone().expect("an SLC/MLC drive");
        assert!(slc_mlc.accepted.is_some_and(|share| share > 0.5), "{slc_mlc:?}");
        for (name, value) in [
            ("slc.accepted", slc_mlc.accepted),
            ("slc.alpha", Some(slc_mlc.factors.alpha)),
            ("slc.p2", Some(slc_mlc.factors.p2)),
            ("slc.wear", slc_mlc.wear_ratio),
            ("slc.expected", Some(slc_mlc.expected_page_write_us)),
            ("slc.tables", Some(slc_mlc.table_bytes as f64)),
        ] {
            assert_eq!(of(name), value, "{name}");
        }
        assert_eq!((slc_mlc.cost, of("slc.cost"), of("cost")), (Some(1.25), Some(1.25), Some(5.0)));
        let programs: u64 = slc_mlc.slc_flash.iter().filter(|row| row.op == "program").map(|row| row.commands).sum();
        assert_eq!(of("slc.commands.program"), Some(programs as f64));
        // Programs of both arrays count.
        let by = &summary.write_amplification_by;
        let slots: u64 = slc_mlc.slc_flash.iter().filter(|row| row.op == "program").map(|row| row.slots).sum();
        assert!(slots > 0 && by["slc"] > 0.0 && by.len() > 1, "{by:?}");
        assert!((by.values().sum::<f64>() - summary.write_amplification.expect("writes")).abs() < 1e-9, "{by:?}");
        for wrong in ["slc", "slc.all", "slc.commands", "slc.commands.fly"] {
            assert!(wrong.parse::<Metric>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn erase_counts_are_kept_by_ranges_of_blocks() {
        let counts: Vec<u32> = (0..100).collect();
        let kept = ranges(&counts);
        // Ranges have four blocks: 25 of them hold 100.
        assert_eq!(kept.len(), 25);
        assert_eq!(kept[1], EraseRange { blocks: 4, min: 4, mean: 5.5, max: 7 });
        let odd = ranges(&counts[..35]);
        assert_eq!((odd.len(), odd[17].blocks, odd[17].max), (18, 1, 34));
        assert_eq!(ranges(&[]), []);
        let result = settled(small::with_slc());
        let about = Provenance::default();
        let report = Report { erase_counts: &[1, 3], slc_erase_counts: &[5], ..Report::new(&about, &result) };
        let slc_mlc = Summary::new(&report).slc_mlc.expect("an SLC/MLC drive");
        assert_eq!((slc_mlc.mlc_erase_ranges.len(), slc_mlc.slc_erase_ranges[0].max), (2, 5));
    }

    /// The factors of the closed form are keys of the same table as the other numbers, where earlier versions wrote
    /// them.
    #[test]
    fn the_cost_factors_stand_beside_the_other_numbers() {
        let slc_mlc = summary(&settled(small::with_slc())).slc_mlc.expect("an SLC/MLC drive");
        let ssd::WriteCost { alpha, n1, n2, n3, n4, p1, p2 } = slc_mlc.factors;
        let number = |value: f64| serde_json::to_string(&value).expect("a number");
        let mut expected = format!("\"k\":{},", slc_mlc.k);
        let factors = [("alpha", alpha), ("n1", n1), ("n2", n2), ("n3", n3), ("n4", n4), ("p1", p1), ("p2", p2)];
        for (name, value) in factors.into_iter().chain([("expected_page_write_us", slc_mlc.expected_page_write_us)]) {
            expected += &format!("\"{name}\":{},", number(value));
        }
        let json = serde_json::to_string(&slc_mlc).expect("a summary");
        assert!(json.contains(&expected), "{expected} in {json}");
    }

    #[test]
    fn a_drive_without_slc_flash_reports_no_slc_numbers() {
        let summary = summary(&settled(small::with_log_blocks()));
        assert_eq!("slc.alpha".parse::<Metric>().expect("a metric").of(&summary), None);
        assert_eq!(summary.slc_mlc, None);
    }
}
