//! The first level of a core: cached blocks, their entries, and the states of their translation pages.

use super::super::super::block_entries::BlockEntries;
use super::super::super::cache::Cache;
use super::page_states::PageStates;

/// The cached mapping table of a core.
#[derive(Clone, Debug)]
pub(super) struct Cmt {
    pub(super) cache: Cache,
    pub(super) entries: BlockEntries,
    pub(super) pages: PageStates,
    /// Dirty blocks of a page; in use only during a step.
    pub(super) found: Vec<usize>,
}

impl Cmt {
    /// A CMT of blocks of `entries` entries in `cache`, for `pages` translation pages.
    pub(super) fn new(cache: Cache, entries: u32, pages: u32) -> Self {
        let blocks = cache.len();
        Self {
            cache,
            entries: BlockEntries::new(blocks, entries),
            pages: PageStates::new(pages, blocks),
            found: Vec::new(),
        }
    }

    /// The entries of a block, if the CMT holds them.
    pub(super) fn cached(&self, key: u32) -> Option<&[u32]> {
        let found = self.cache.find(key)?;
        (!self.cache.block(found).transient).then(|| self.entries.of(found))
    }
}
