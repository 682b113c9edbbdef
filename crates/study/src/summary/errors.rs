//! Bit errors in a summary.

use flash::nand::ErrorCounters;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The reads of a drive with bit errors.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct ErrorSummary {
    /// The number of read commands by the number of attempts after the first: the first entry counts commands without a
    /// retry.
    pub by_retries: Vec<u64>,
    /// The number of codewords read; those that were read several times count once.
    pub codewords: u64,
    /// Mean raw bit error rate of these codewords in a read without retry.
    pub rber: Option<f64>,
    /// The number of read commands that needed soft decoding.
    pub soft: u64,
    /// The number of mapping units that stayed uncorrectable.
    pub uncorrectable: u64,
}

impl ErrorSummary {
    pub(super) fn new(counters: &ErrorCounters) -> Self {
        let mut by_retries = counters.by_retries.clone();
        by_retries.truncate(by_retries.iter().rposition(|reads| *reads > 0).map_or(0, |last| last + 1));
        let codewords = counters.codewords;
        let rber = (codewords > 0).then(|| counters.rber_sum / codewords as f64);
        Self { by_retries, codewords, rber, soft: counters.soft, uncorrectable: counters.uncorrectable }
    }

    /// The number of attempts after the first, over all reads.
    #[must_use]
    pub fn retries(&self) -> u64 {
        (0..).zip(&self.by_retries).map(|(retries, reads)| retries * reads).sum()
    }

    /// The share of the read commands that needed more than one attempt.
    #[must_use]
    pub fn retried(&self) -> Option<f64> {
        let reads: u64 = self.by_retries.iter().sum();
        let at_once = self.by_retries.first().copied().unwrap_or_default();
        (reads > 0).then(|| (reads - at_once) as f64 / reads as f64)
    }
}

#[cfg(test)]
mod tests {
    use testkit::small;

    use crate::metric::Metric;
    use crate::reconcile::reconcile;
    use crate::testing::{settled, summary};

    #[test]
    fn retries_are_keys_and_metrics_of_drives_with_errors() {
        let result = settled(small::with_errors());
        assert_eq!(reconcile(&result), Ok(()));
        let summary = summary(&result);
        let of = |name: &str| name.parse::<Metric>().expect(name).of(&summary).expect(name);
        let errors = summary.errors.clone().expect("errors");
        let reads: u64 = errors.by_retries.iter().sum();
        assert!(errors.retries() > 100 && errors.soft == 0, "{errors:?}");
        // No request is under way when the measurement begins, and few are when it ends.
        assert!(of("errors.retries").max(1.0) / errors.retries() as f64 > 0.9);
        assert!((of("errors.retried") - (reads - errors.by_retries[0]) as f64 / reads as f64).abs() < 1e-12);
        assert!((0.002..0.02).contains(&of("errors.rber")), "{errors:?}");
        assert_eq!((of("errors.soft"), of("errors.uncorrectable")), (0.0, 0.0));
    }

    #[test]
    fn drives_without_errors_have_no_such_keys() {
        let summary = summary(&settled(small::with_log_blocks()));
        let text = serde_json::to_string(&summary).expect("JSON");
        assert!(!text.contains("retries") && !text.contains("rber"), "{text}");
        assert_eq!("errors.retries".parse::<Metric>().expect("a metric").of(&summary), None);
    }
}
