//! The state of a block of a cache of map entries.

/// The state of one block, as in Figs. 6 and 7: its key and its bits.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Block {
    /// The number of its content; none if it is empty (the valid bit).
    pub(super) key: Option<u32>,
    /// True while its data are on their way; it must stay meanwhile.
    pub(super) transient: bool,
    /// True if its data are newer than their source.
    pub(super) dirty: bool,
    /// True if it was used since the hand of second chance came by.
    pub(super) referenced: bool,
}
