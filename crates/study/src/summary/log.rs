//! The merges of log blocks in a summary.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ssd::LogMerges;

/// The merges of the run, if the device has log blocks.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct LogSummary {
    /// The number of switch merges: log blocks that became data blocks without a copy.
    pub switch: u64,
    /// The number of partial merges: log blocks that became data blocks after the missing pages were copied into them.
    pub partial: u64,
    /// The number of full merges: log blocks whose pages were copied into new data blocks.
    pub full: u64,
    /// New data blocks per full merge.
    pub k: Option<f64>,
    /// Pages copied per partial merge.
    pub pages_of_partial: Option<f64>,
    /// Pages copied per full merge.
    pub pages_of_full: Option<f64>,
    /// The number of erases that the merges cause: one for each merge, and for a full merge one more for each new data
    /// block (Sung, Table 3).
    pub erases: u64,
    /// The saving of the allocation method on an idle device, in seconds: the sum over the merges of the time with one
    /// controller for both source and destination, minus the time with two controllers (Sung, Fig. 11 to 13).
    pub saving_s: f64,
}

impl LogSummary {
    pub(super) fn new(merges: &LogMerges) -> Self {
        let each = |what: u64, of: u64| (of > 0).then(|| what as f64 / of as f64);
        Self {
            switch: merges.switch,
            partial: merges.partial,
            full: merges.full,
            k: each(merges.folds, merges.full),
            pages_of_partial: each(merges.partial_pages, merges.partial),
            pages_of_full: each(merges.full_pages, merges.full),
            erases: merges.switch + merges.partial + merges.full + merges.folds,
            saving_s: merges.saving.as_secs_f64(),
        }
    }
}

#[cfg(test)]
mod tests {
    use testkit::small;

    use crate::metric::Metric;
    use crate::reconcile::reconcile;
    use crate::testing::{settled, summary};

    #[test]
    fn results_of_log_block_drives_hold_the_merges() {
        let result = settled(small::with_log_blocks());
        assert_eq!(reconcile(&result), Ok(()));
        let summary = summary(&result);
        let of = |name: &str| name.parse::<Metric>().expect(name).of(&summary);
        let merges = summary.log_merges.clone().expect("log blocks");
        // Random overwrites: each log block has pages of several data blocks.
        assert!(merges.full > 10 && merges.k.is_some_and(|k| k > 2.0), "{merges:?}");
        for (name, value) in [
            ("log.merges", Some((merges.switch + merges.partial + merges.full) as f64)),
            ("log.switch", Some(merges.switch as f64)),
            ("log.partial", Some(merges.partial as f64)),
            ("log.full", Some(merges.full as f64)),
            ("log.k", merges.k),
            ("log.pages.partial", merges.pages_of_partial),
            ("log.pages.full", merges.pages_of_full),
            ("log.erases", Some(merges.erases as f64)),
            ("log.saving", Some(merges.saving_s * 1e6)),
        ] {
            assert_eq!(of(name), value, "{name}");
        }
        // The identity of erases (Sung, Table 3): one for each switch and partial merge, k + 1 for each full merge.
        assert_eq!(of("commands.erase.merge"), Some(merges.erases as f64));
        // A full merge saves at least one erase and one page, and at most two erases and all its copies.
        assert!(merges.saving_s > 0.0 && merges.saving_s < merges.erases as f64 * 0.02, "{merges:?}");
        for wrong in ["log", "log.all", "log.pages", "log.full.k"] {
            assert!(wrong.parse::<Metric>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_drive_without_log_blocks_reports_no_merges() {
        let summary = summary(&settled(small::with_map("{ kind = \"ram\" }")));
        assert_eq!("log.full".parse::<Metric>().expect("a metric").of(&summary), None);
        assert_eq!(summary.log_merges, None);
    }
}
