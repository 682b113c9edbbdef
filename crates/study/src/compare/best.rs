//! The drives of a column that may be the best, which a table marks with a star.
//!
//! The marked drives are a confidence set of the best one: the drive with the best mean, and each drive that the runs
//! cannot tell from it. All drives run with the same seeds and thus get the same requests, so the runs are compared in
//! pairs (paired t-test, see [`crate::spread`]). A column of k drives takes k - 1 comparisons, each of which asks only
//! whether the other drive is worse. So each comparison has the one-sided error 5 % / (k - 1) (Bonferroni), at most the
//! 2.5 % of a 95 % interval, and the best drive is among the marked ones with 95 % confidence. Values with equal
//! printed texts count as equal.
//!
//! A column in which no drive can be told from the best has no mark. With one seed, which has no spread, the only marks
//! are in columns that no run changes.

use crate::spread::{self, CONFIDENCE, Spread};

/// The values of one drive in a column.
pub(super) struct Candidate<'a> {
    /// The number of the drive's row.
    pub(super) row: usize,
    pub(super) spread: &'a Spread,
}

/// The rules by which the values of a column rank.
#[derive(Clone, Copy)]
pub(super) struct Ranking {
    /// True if a higher value is better.
    pub(super) more: bool,
    /// True if the description of the drive alone determines the value.
    pub(super) is_fixed: bool,
    pub(super) show: fn(f64) -> String,
}

impl Ranking {
    /// The rows of the drives that may be the best; empty if all of them may be.
    pub(super) fn best(self, candidates: &[Candidate<'_>]) -> Vec<usize> {
        let cost = |of: &Spread| if self.more { -of.mean } else { of.mean };
        let Some(best) = candidates.iter().min_by(|a, b| cost(a.spread).total_cmp(&cost(b.spread))) else {
            return Vec::new();
        };
        let comparisons = candidates.len().saturating_sub(1).max(1);
        // Half of the error of a two-sided interval lies on the side of worse values.
        let error = (1.0 - CONFIDENCE) * f64::min(1.0, 2.0 / comparisons as f64);
        let may_be_best =
            |other: &&Candidate<'_>| other.row == best.row || !self.differs(best.spread, other.spread, error);
        let marked: Vec<usize> = candidates.iter().filter(may_be_best).map(|candidate| candidate.row).collect();
        if marked.len() < candidates.len() { marked } else { Vec::new() }
    }

    fn differs(self, best: &Spread, other: &Spread, error: f64) -> bool {
        let runs_differ = || spread::differs_with_error(&best.values, &other.values, error).unwrap_or(false);
        (self.show)(best.mean) != (self.show)(other.mean) && (self.is_fixed || runs_differ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stars_of(rows: &[&[f64]], more: bool, is_fixed: bool) -> Vec<usize> {
        let spreads: Vec<Spread> = rows.iter().map(|values| Spread::of(values.to_vec()).expect("values")).collect();
        let candidates = spreads.iter().enumerate().map(|(row, spread)| Candidate { row, spread });
        let ranking = Ranking { more, is_fixed, show: |value| format!("{value:.1}") };
        ranking.best(&candidates.collect::<Vec<_>>())
    }

    fn stars(rows: &[&[f64]], more: bool) -> Vec<usize> {
        stars_of(rows, more, false)
    }

    #[test]
    fn the_best_of_different_values_has_the_star() {
        let rows: [&[f64]; 3] = [&[3.0, 3.1, 3.2], &[2.0, 2.1, 2.2], &[4.0, 4.1, 4.2]];
        assert_eq!((stars(&rows, false), stars(&rows, true)), (vec![1], vec![2]));
    }

    #[test]
    fn one_seed_gives_no_star_to_what_a_run_measures() {
        let rows: [&[f64]; 3] = [&[3.0], &[2.0], &[4.0]];
        assert!(stars(&rows, false).is_empty(), "the spread is not known");
        assert_eq!(stars_of(&rows, false, true), [1], "the description has no spread");
    }

    #[test]
    fn values_that_are_printed_alike_share_the_star() {
        let fixed = |rows: &[&[f64]]| stars_of(rows, false, true);
        assert!(fixed(&[&[2.0], &[2.0], &[2.0]]).is_empty(), "all are alike");
        assert_eq!(fixed(&[&[2.0], &[2.0], &[3.0]]), [0, 1]);
        assert_eq!(fixed(&[&[2.01], &[2.04], &[3.0]]), [0, 1]);
        assert!(fixed(&[&[2.0]]).is_empty() && fixed(&[]).is_empty(), "there is nothing to compare");
    }

    #[test]
    fn a_drive_that_the_seeds_cannot_tell_from_the_best_shares_its_star() {
        // Means of 2 and 3, but the seeds disagree on the order.
        assert!(stars(&[&[1.0, 2.0, 3.0], &[4.0, 2.0, 3.0]], false).is_empty());
        // The spread over the seeds is as large, but every seed has the drives in one order.
        assert_eq!(stars(&[&[1.0, 2.0, 3.0], &[2.0, 3.0, 4.1]], false), [0]);
        // The third is as good as the first.
        assert_eq!(stars(&[&[1.0, 2.0, 3.0], &[2.0, 3.0, 4.1], &[1.2, 1.9, 3.2]], false), [0, 2]);
    }

    #[test]
    fn more_drives_need_a_larger_difference() {
        // t is 5.20 with two degrees of freedom: beyond the 4.30 of one comparison, within the 6.21 of four.
        let (best, other): (&[f64], &[f64]) = (&[1.0, 1.0, 1.0], &[1.8, 2.2, 2.6]);
        let far: &[f64] = &[90.0, 90.0, 90.0];
        assert_eq!(stars(&[best, other], false), [0]);
        assert_eq!(stars(&[best, other, far, far, far], false), [0, 1]);
    }
}
