//! Counters of the merges of a log-block FTL.

use std::ops::Sub;

use base::units::Span;

/// Counts and pages of merges that have ended since power-on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogMerges {
    /// Switch merges: a full log block in order became the data block, and nothing was copied.
    pub switch: u64,
    /// Partial merges: a log block in order became the data block, after its missing pages had been copied into it.
    pub partial: u64,
    /// Full merges: pages of a log block and of their data blocks were copied into new data blocks.
    pub full: u64,
    /// Data blocks that full merges made: a merge makes one for each logical block with pages in the log block.
    pub folds: u64,
    /// Pages copied by partial merges.
    pub partial_pages: u64,
    /// Pages copied by full merges.
    pub full_pages: u64,
    /// Time that the allocation method would save in these merges on an idle drive (Sung, Fig. 11 to 13).
    pub saving: Span,
}

impl Sub for LogMerges {
    type Output = Self;
    /// The counts between two moments. A power cut resets the counts; a difference is therefore at least zero.
    fn sub(self, earlier: Self) -> Self {
        let since = |now: u64, then: u64| now.saturating_sub(then);
        Self {
            switch: since(self.switch, earlier.switch),
            partial: since(self.partial, earlier.partial),
            full: since(self.full, earlier.full),
            folds: since(self.folds, earlier.folds),
            partial_pages: since(self.partial_pages, earlier.partial_pages),
            full_pages: since(self.full_pages, earlier.full_pages),
            saving: self.saving.saturating_sub(earlier.saving),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_difference_of_two_counters_subtracts_every_count() {
        let merges = |n: u64| LogMerges {
            switch: n,
            partial: 2 * n,
            full: 3 * n,
            folds: 5 * n,
            partial_pages: 7 * n,
            full_pages: 11 * n,
            saving: Span::from_us(13 * n),
        };
        assert_eq!(merges(9) - merges(4), merges(5));
        assert_eq!(merges(4) - LogMerges::default(), merges(4));
    }
}
