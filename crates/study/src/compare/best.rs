//! The best drive of a column: the rule of the star.
//!
//! A star says that a drive is better than each of the others. So equal values have none, and neither has a best mean that
//! cannot be told from another by the runs. All drives run with the same seeds and thus see the same requests, so the runs
//! are compared in pairs (paired-t, see [`crate::spread`]). With one seed nothing is known of the spread; then only the values
//! themselves, as they are printed, must differ.

use crate::spread::{self, Spread};

/// The values of one drive in a column.
pub(super) struct Candidate<'a> {
    /// The number of its row.
    pub(super) row: usize,
    pub(super) spread: &'a Spread,
}

/// The row of the best drive, if there is one that is better than all others that have a value.
pub(super) fn best(candidates: &[Candidate<'_>], more: bool, show: fn(f64) -> String) -> Option<usize> {
    let cost = |of: &Spread| if more { -of.mean } else { of.mean };
    let best = candidates.iter().min_by(|a, b| cost(a.spread).total_cmp(&cost(b.spread)))?;
    let mut others = candidates.iter().filter(|other| other.row != best.row).peekable();
    others.peek()?;
    let is_better = |other: &Candidate<'_>| {
        let differs = spread::differs(&best.spread.values, &other.spread.values).unwrap_or(true);
        differs && show(best.spread.mean) != show(other.spread.mean)
    };
    others.all(is_better).then_some(best.row)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn star(rows: &[&[f64]], more: bool) -> Option<usize> {
        let spreads: Vec<Spread> = rows.iter().map(|values| Spread::of(values.to_vec()).expect("values")).collect();
        let candidates = spreads.iter().enumerate().map(|(row, spread)| Candidate { row, spread });
        best(&candidates.collect::<Vec<_>>(), more, |value| format!("{value:.1}"))
    }

    #[test]
    fn the_best_of_different_values_has_the_star() {
        assert_eq!(star(&[&[3.0], &[2.0], &[4.0]], false), Some(1));
        assert_eq!(star(&[&[3.0], &[2.0], &[4.0]], true), Some(2));
        assert_eq!(star(&[&[3.0, 3.1], &[2.0, 2.1]], false), Some(1));
    }

    #[test]
    fn equal_values_share_no_star() {
        assert_eq!(star(&[&[2.0], &[2.0], &[2.0]], false), None);
        assert_eq!(star(&[&[2.0], &[2.0], &[3.0]], false), None, "the two best are equal");
        assert_eq!(star(&[&[2.01], &[2.04], &[3.0]], false), None, "they print alike");
        assert_eq!((star(&[&[2.0]], false), star(&[], false)), (None, None), "better than nobody");
    }

    #[test]
    fn a_difference_within_the_spread_has_no_star() {
        // Means of 2 and 3, but the seeds disagree on the order.
        assert_eq!(star(&[&[1.0, 2.0, 3.0], &[4.0, 2.0, 3.0]], false), None);
        // The spread over the seeds is as large, and every seed has the same order.
        assert_eq!(star(&[&[1.0, 2.0, 3.0], &[2.0, 3.0, 4.1]], false), Some(0));
        // The third is as good as the first.
        assert_eq!(star(&[&[1.0, 2.0, 3.0], &[2.0, 3.0, 4.1], &[1.2, 1.9, 3.2]], false), None);
    }
}
