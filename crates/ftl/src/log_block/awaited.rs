//! The reasons for which a write waits.

/// The event after which the oldest waiting write of a logical block may have a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum AwaitedEvent {
    /// The awaited event may have come: the next pass tries the write.
    #[default]
    Nothing,
    /// The end of a fold of the logical block, or of the merge of the logical block's own log block.
    Merge,
    /// Room in the log. Room depends on the log blocks alone, so all logical blocks of this heap wait for the same
    /// event.
    Log,
    /// The log block for sequential writes (FAST). All logical blocks of this heap wait for the same event.
    Sequential,
    /// A data block for the logical block. Many conditions decide when the logical block may have one, so every pass
    /// tries the write again.
    DataBlock,
}

impl AwaitedEvent {
    pub(super) const EVERY: [Self; 5] = [Self::Nothing, Self::Merge, Self::Log, Self::Sequential, Self::DataBlock];
}
