//! A drive's life in numbers.

use base::units::Age;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::life::{Life, LifePoint, Milestone};

/// A milestone of a drive's life: the written bytes and the time when it was reached.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct LifeMilestone {
    /// Bytes of the host's writes up to the milestone.
    pub written_bytes: u64,
    /// Simulated seconds since the life began.
    pub seconds: f64,
}

/// A point of the curve over a drive's life.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct LifePointSummary {
    /// Bytes of the host's writes that the drive had taken.
    pub written_bytes: u64,
    /// Simulated seconds since the life began.
    pub seconds: f64,
    /// Bytes programmed per byte written since the previous point; missing if nothing was written since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_amplification: Option<f64>,
    /// The number of blocks that had failed up to this point.
    pub failed_blocks: u64,
    /// The share of the spare blocks that was left.
    pub spare_left: f64,
    /// The mean erase count of all blocks.
    pub mean_erases: f64,
    /// The most erases of a block.
    pub max_erases: u32,
}

/// A drive's life: the writes until the drive refused a write because too many of its blocks had failed.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct LifeSummary {
    /// True if the drive refused a write. Otherwise the session ended the life earlier.
    pub worn: bool,
    /// The number of rounds; between two of them the drive was switched off and on.
    pub rounds: u32,
    /// Bytes of the host's writes that the drive took (metric `life.tbw`).
    pub written_bytes: u64,
    /// The warranty time for which drive writes per day are counted, in days.
    pub warranty_days: f64,
    /// Capacities that the host wrote per day of the warranty (metric `life.dwpd`); missing if the drive is not worn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drive_writes_per_day: Option<f64>,
    /// Bytes programmed per byte that the host wrote (metric `life.waf`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_amplification: Option<f64>,
    /// Simulated time in seconds since the life began.
    pub seconds: f64,
    /// The number of blocks of the drive.
    pub blocks: u64,
    /// The number of blocks that were bad when the life began.
    pub bad_at_start: u64,
    /// The number of blocks beyond those that the capacity fills, when the life began.
    pub spare_blocks: u64,
    /// The number of blocks that failed (metric `life.failed`).
    pub failed_blocks: u64,
    /// The share of the spare blocks that is left at the end (metric `life.spare`).
    pub spare_left: f64,
    /// The milestone at which the first block failed; missing if none did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_failure: Option<LifeMilestone>,
    /// The moment at which a hundredth of all blocks had failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percent_failed: Option<LifeMilestone>,
    /// The moment at which half as many blocks had failed as were spare at the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub half_spare_failed: Option<LifeMilestone>,
    /// The curve over the life, in order.
    pub curve: Vec<LifePointSummary>,
}

impl LifeSummary {
    /// Computes the figures of a life from its counts.
    #[must_use]
    pub fn new(life: &Life, warranty: Age) -> Self {
        let totals = life.totals;
        let warranty_days = warranty.as_secs() as f64 / 86_400.0;
        let moment = |at: Milestone| LifeMilestone { written_bytes: at.written, seconds: at.seconds };
        let spare_left = |failed: u64| 1.0 - (failed as f64 / life.spare.max(1) as f64).min(1.0);
        let per_day = totals.written as f64 / (life.capacity().get() as f64 * warranty_days);
        let mut before: Option<LifePoint> = None;
        let curve = life.curve().map(|point| {
            let since = before.replace(point).and_then(|before| Life::amplification(before.totals, point.totals));
            LifePointSummary {
                written_bytes: point.totals.written,
                seconds: point.totals.seconds,
                write_amplification: since,
                failed_blocks: point.failed,
                spare_left: spare_left(point.failed),
                mean_erases: point.mean_erases,
                max_erases: point.max_erases,
            }
        });
        Self {
            worn: life.worn,
            rounds: life.rounds,
            written_bytes: totals.written,
            warranty_days,
            drive_writes_per_day: life.worn.then_some(per_day),
            write_amplification: Life::amplification(Default::default(), totals),
            seconds: totals.seconds,
            blocks: life.blocks,
            bad_at_start: life.bad_at_start,
            spare_blocks: life.spare,
            failed_blocks: life.failed(),
            spare_left: spare_left(life.failed()),
            first_failure: life.first_failure.map(moment),
            percent_failed: life.percent_failed.map(moment),
            half_spare_failed: life.half_spare_failed.map(moment),
            curve: curve.collect(),
        }
    }
}
