//! The merges of log blocks in numbers.

use serde::Serialize;
use ssd::LogMerges;

/// What was merged during the run, if the device has log blocks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LogSummary {
    /// Log blocks that became data blocks as they were.
    pub switch: u64,
    /// Log blocks that became data blocks when the rest had been copied into them.
    pub partial: u64,
    /// Log blocks whose pages were copied into new data blocks.
    pub full: u64,
    /// New data blocks for each full merge.
    pub k: Option<f64>,
    /// Pages copied for each partial merge.
    pub pages_of_partial: Option<f64>,
    /// Pages copied for each full merge.
    pub pages_of_full: Option<f64>,
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
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{About, Report, Summary, table};
    use crate::metric::Metric;
    use crate::reconcile::reconcile;
    use crate::testing::{with_log_blocks, with_map};

    #[test]
    fn merges_are_in_every_result() {
        let result = with_log_blocks();
        assert_eq!(reconcile(&result), Ok(()));
        let about = About::default();
        let report =
            Report { about: &about, result: &result, erase_counts: &[], energy: &[], verified: None, notes: &[] };
        let summary = Summary::new(&report);
        let of = |name: &str| name.parse::<Metric>().expect(name).of(&summary);
        let merges = summary.log_merges.clone().expect("log blocks");
        // Overwritten at random: each log block has pages of several data blocks.
        assert!(merges.full > 10 && merges.k.is_some_and(|k| k > 2.0), "{merges:?}");
        for (name, value) in [
            ("log.switch", Some(merges.switch as f64)),
            ("log.partial", Some(merges.partial as f64)),
            ("log.full", Some(merges.full as f64)),
            ("log.k", merges.k),
            ("log.pages.partial", merges.pages_of_partial),
            ("log.pages.full", merges.pages_of_full),
        ] {
            assert_eq!(of(name), value, "{name}");
        }
        // The identity of erases (Sung, Table 2): one for each switch and partial merge, k + 1 for each full one.
        let folds = merges.full as f64 * merges.k.unwrap_or(0.0);
        let erases = of("commands.erase.merge").expect("erases");
        assert!((erases - (merges.switch + merges.partial + merges.full) as f64 - folds).abs() < 1e-6, "{erases}");
        let text = table(&summary);
        assert!(text.contains("merges: ") && text.lines().all(|line| line.chars().count() <= 80), "{text}");
        for wrong in ["log", "log.all", "log.pages", "log.full.k"] {
            assert!(wrong.parse::<Metric>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_device_without_log_blocks_says_nothing_of_merges() {
        let result = with_map("{ kind = \"ram\" }");
        let about = About::default();
        let report =
            Report { about: &about, result: &result, erase_counts: &[], energy: &[], verified: None, notes: &[] };
        let summary = Summary::new(&report);
        assert_eq!("log.full".parse::<Metric>().expect("a metric").of(&summary), None);
        assert!(summary.log_merges.is_none() && !table(&summary).contains("merges"));
    }
}
