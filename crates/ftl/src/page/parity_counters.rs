//! Counters of parity.

/// Counters of parity since the power came on, in mapping units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ParityCounters {
    /// Reads that were uncorrectable, and rebuilt from the other dies.
    pub rebuilt: u64,
    /// Reads that were uncorrectable, and had no parity or needed another slot that was uncorrectable as well.
    pub lost: u64,
}

impl ParityCounters {
    /// Counts a read.
    pub(in crate::page) const fn note(&mut self, well: bool) {
        if well {
            self.rebuilt += 1;
        } else {
            self.lost += 1;
        }
    }

    /// The counts since an earlier moment of the same drive.
    #[must_use]
    pub const fn since(&self, from: &Self) -> Self {
        Self { rebuilt: self.rebuilt.saturating_sub(from.rebuilt), lost: self.lost.saturating_sub(from.lost) }
    }
}
