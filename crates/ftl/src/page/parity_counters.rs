//! Counters of parity.

/// Counters of parity since the power came on, in mapping units or superblocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ParityCounters {
    /// Reads that were uncorrectable, and rebuilt from the other dies.
    pub rebuilt: u64,
    /// Reads that were uncorrectable, and could not be rebuilt: they had no parity, or another slot of the stripe was
    /// uncorrectable as well.
    pub lost: u64,
    /// Superblocks whose data the drive has begun to move because one of their dies had failed.
    pub rebuilt_superblocks: u64,
    /// Superblocks whose data waits to be moved now.
    pub waiting_superblocks: u64,
}

impl ParityCounters {
    /// Counts an uncorrectable read, which was rebuilt if `well` and lost otherwise.
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
        Self {
            rebuilt: self.rebuilt.saturating_sub(from.rebuilt),
            lost: self.lost.saturating_sub(from.lost),
            rebuilt_superblocks: self.rebuilt_superblocks.saturating_sub(from.rebuilt_superblocks),
            waiting_superblocks: self.waiting_superblocks,
        }
    }
}
