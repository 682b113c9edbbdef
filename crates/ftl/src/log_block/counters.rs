//! What merges a hybrid-mapped FTL has made.

use std::ops::Sub;

use base::units::Span;

/// Merges since the power came, as they ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogMerges {
    /// A full log block in order became the data block; nothing was copied.
    pub switch: u64,
    /// A log block in order became the data block, after the rest had been copied into it.
    pub partial: u64,
    /// A log block whose pages were copied, with those of their data blocks, into new data blocks.
    pub full: u64,
    /// Data blocks that the full merges made anew: k for each of them.
    pub folds: u64,
    /// Pages copied by partial merges.
    pub partial_pages: u64,
    /// Pages copied by full merges.
    pub full_pages: u64,
    /// What the allocation method saves of all this on an idle device (Sung, Fig. 11 to 13).
    pub saving: Span,
}

impl Sub for LogMerges {
    type Output = Self;
    /// What happened in between. Counts begin anew after a power cut, and then none is less than nothing.
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
    fn what_happened_in_between_is_the_difference_of_every_count() {
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
