//! The reasons for which a write waits.

/// What the oldest waiting write of a logical block waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Awaited {
    /// Nothing: what it waited for may have come.
    #[default]
    Nothing,
    /// The end of a fold of its logical block, or of the merge of its logical block's own log block.
    Merge,
    /// Room in the log. It depends on the log blocks alone, so it is the same for all logical blocks of this heap.
    Log,
    /// The log block for sequential writes (FAST), in the same way.
    Sequential,
    /// A data block for its logical block. Many things decide when it may have one, so every pass tries it again.
    DataBlock,
}

impl Awaited {
    pub(super) const EVERY: [Self; 5] = [Self::Nothing, Self::Merge, Self::Log, Self::Sequential, Self::DataBlock];
}
