//! Sentences that explain the marks of a comparison.

use super::Comparison;
use crate::text::percent;
use crate::validity::MOST_FAILED;

impl Comparison {
    /// Explains the star, and how the spread over the seeds was computed.
    #[must_use]
    pub fn explain_marks(&self) -> String {
        match self.seeds() {
            0 | 1 => "The mark is only in columns that no run changes. All other values are from one seed, which says nothing of \
                      their spread; --seeds 5 measures the spread, and marks the best of each column."
                .into(),
            seeds => format!(
                "\u{b1} is the 95 % interval of the mean over {seeds} seeds (Student's t). The mark is on the best value of a column \
                 and on each value that cannot be told from the best: with 95 % confidence the best drive is among the marked \
                 ones (paired t-tests over the seeds, Bonferroni). A column without a mark tells no drive from the best."
            ),
        }
    }

    /// Names the drives that have no star because too many of their requests failed; `None` if there are no such
    /// drives.
    #[must_use]
    pub fn explain_missing_marks(&self) -> Option<String> {
        let failed: Vec<&str> =
            self.rows.iter().filter(|row| !row.is_comparable).map(|row| row.device.as_str()).collect();
        (!failed.is_empty()).then(|| {
            format!(
                "No mark on {}: more than {} of the requests failed, and what a drive refuses costs it no time; \
                 --allow-failures compares it all the same.",
                failed.join(", "),
                percent(MOST_FAILED)
            )
        })
    }
}
