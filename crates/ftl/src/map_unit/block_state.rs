//! The state of a block of a cache of map entries.

/// The state of one block, as in Figs. 6 and 7: its key and its bits.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CacheBlockState {
    /// The number of the block's content; none if the block is empty (the valid bit).
    pub(super) key: Option<u32>,
    /// True while the data of the block are on their way; the block must stay meanwhile.
    pub(super) transient: bool,
    /// True if the data of the block are newer than their source.
    pub(super) dirty: bool,
    /// True if the block was used since the hand of second chance passed it.
    pub(super) referenced: bool,
}
