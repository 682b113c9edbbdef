//! Write amplification in bytes, and the bytes that a host can write in a drive's life.

use base::units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ssd::ResolvedDevice;

use super::{Erases, Report};

/// The flash array in which a drive stores its mapping units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Array {
    /// Data bytes of a mapping unit.
    pub unit: Bytes,
    /// Data bytes of all blocks.
    pub bytes: Bytes,
    /// Program/erase cycles that the part is rated for.
    pub rated_cycles: u32,
    /// False if blocks differ in their endurance: on a hybrid SLC/MLC drive, with blocks in SLC mode, or in a RAID of
    /// different drives.
    pub has_one_endurance: bool,
}

impl Array {
    /// The flash of a drive without its SLC array, with the endurance of the drive's part.
    #[must_use]
    pub fn of(drive: &ResolvedDevice) -> Self {
        Self {
            unit: base::units::SECTOR * u64::from(drive.geometry.sectors),
            bytes: drive.raw_capacity(),
            rated_cycles: drive.part.endurance,
            has_one_endurance: drive.groups().all(|(group, _)| {
                let is_plain = group.slc_array.is_none() && group.ftl.slc_cache.is_none();
                is_plain && group.part.endurance == drive.part.endurance
            }),
        }
    }
}

/// The part of the flash's rated endurance that a run used, and the bytes that the host could write until all of it is
/// used.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct EnduranceSummary {
    /// Program/erase cycles that the part is rated for.
    pub rated_cycles: u32,
    /// The mean erase count of the blocks at the end, divided by `rated_cycles`: the part of the endurance that is
    /// used, preconditioning included.
    pub used: f64,
    /// Bytes that the host wrote since the run began, warm-up included; preconditioning does not count.
    pub written_bytes: u64,
    /// Bytes that the host can write in the drive's life (metric `tbw`): data bytes of the flash times `rated_cycles`,
    /// divided by `byte_write_amplification`.
    pub tbw_bytes: f64,
}

/// Write amplification in bytes; `None` if nothing was written, or the array is not known.
pub(super) fn amplification(report: &Report<'_>) -> Option<f64> {
    let unit = report.about.array?.unit;
    let programmed = report.result.programmed_units() * unit.get() as f64;
    let written = report.result.written().get();
    (written > 0).then(|| programmed / written as f64)
}

/// True if write amplifications in mapping units and in bytes differ by at least 1 %, so that both are reported.
#[must_use]
pub fn amplifications_differ(units: f64, bytes: f64) -> bool {
    (bytes - units).abs() >= 0.01 * units
}

impl EnduranceSummary {
    /// Computes the endurance; `None` if the run erased nothing, so that its wear is unknown, or if a second array or
    /// an SLC cache wears in another way.
    pub(super) fn new(report: &Report<'_>, erases: Option<&Erases>) -> Option<Self> {
        let array = report.about.array.filter(|array| array.has_one_endurance)?;
        let amplification = amplification(report).filter(|amplification| *amplification > 0.0)?;
        let used = erases?.mean / f64::from(array.rated_cycles);
        let wears = report.result.erases() > 0;
        wears.then(|| Self {
            rated_cycles: array.rated_cycles,
            used,
            written_bytes: report.result.written_with_warm_up().get(),
            tbw_bytes: array.bytes.get() as f64 * f64::from(array.rated_cycles) / amplification,
        })
    }
}

#[cfg(test)]
mod tests {
    use testkit::small;

    use super::*;
    use crate::summary::{Provenance, Summary};
    use crate::testing::settled;

    const ARRAY: Array =
        Array { unit: Bytes::new(4096), bytes: Bytes::new(1 << 20), rated_cycles: 3_000, has_one_endurance: true };

    fn summary(result: &crate::run::RunResult, array: Array) -> Summary {
        let about = Provenance { array: Some(array), ..Provenance::default() };
        Summary::new(&Report { erase_counts: &[1, 3], ..Report::new(&about, result) })
    }

    #[test]
    fn byte_write_amplification_counts_the_bytes_that_writes_carry() {
        let result = settled(small::mixed());
        let found = summary(&result, ARRAY);
        let units: u64 = found.flash.iter().filter(|row| row.op == "program").map(|row| row.slots).sum();
        let written = found.kinds["write"].bytes;
        let by_hand = (units * 4096) as f64 / written as f64;
        assert!((found.byte_write_amplification.expect("writes") / by_hand - 1.0).abs() < 1e-12, "{found:?}");
        // Units of four times the size, and the same number of them.
        let wide = summary(&result, Array { unit: Bytes::new(16_384), ..ARRAY });
        assert!((wide.byte_write_amplification.expect("writes") / by_hand - 4.0).abs() < 1e-12);
        assert_eq!(wide.write_amplification, found.write_amplification);
        let unknown = Summary::new(&Report::new(&Provenance::default(), &result));
        assert_eq!((unknown.byte_write_amplification, unknown.endurance), (None, None));
    }

    #[test]
    fn the_rated_endurance_is_what_the_host_can_write() {
        let result = settled(small::with_log_blocks());
        assert!(result.erases() > 0, "the run erases blocks");
        let found = summary(&result, ARRAY);
        let endurance = found.endurance.expect("it wears");
        let amplification = found.byte_write_amplification.expect("writes");
        assert_eq!(endurance.rated_cycles, 3_000);
        assert!((endurance.used - 2.0 / 3_000.0).abs() < 1e-12, "{endurance:?}");
        assert!((endurance.tbw_bytes * amplification / (3_000.0 * f64::from(1 << 20)) - 1.0).abs() < 1e-12);
        assert_eq!(endurance.written_bytes, found.kinds["write"].bytes, "there was no warm-up");
        let two_arrays = summary(&result, Array { has_one_endurance: false, ..ARRAY });
        assert_eq!(two_arrays.endurance, None, "each array has an endurance of its own");
        let unworn = settled(small::mixed());
        if unworn.erases() == 0 {
            assert_eq!(summary(&unworn, ARRAY).endurance, None, "nothing was erased");
        }
    }
}
