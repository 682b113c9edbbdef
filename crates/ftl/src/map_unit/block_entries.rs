//! The entries of the blocks of a cache.

use super::entry::encode;

/// The entries of all blocks, one block after another. All blocks have the same number of entries.
#[derive(Clone, Debug)]
pub(super) struct BlockEntries {
    width: usize,
    entries: Vec<u32>,
}

impl BlockEntries {
    pub(super) fn new(blocks: u32, width: u32) -> Self {
        Self { width: width as usize, entries: vec![encode(None); blocks as usize * width as usize] }
    }

    #[inline]
    pub(super) fn of(&self, block: usize) -> &[u32] {
        &self.entries[block * self.width..][..self.width]
    }

    #[inline]
    pub(super) fn of_mut(&mut self, block: usize) -> &mut [u32] {
        &mut self.entries[block * self.width..][..self.width]
    }
}
