//! The mapping of the MLC flash: the common interface of the [chains](super::chains) of blocks and the [map of
//! pages](PageMap).
//!
//! The simulator has an entry for each page in RAM either way; with chains the entries stand for the result of a scan
//! by the controller. A mapping chooses the place of a page, counts the valid pages of a block, and decides where a
//! sector in the tail of the SLC log goes. To make room, chains [fold](super::fold) and the map of pages
//! [collects](super::collect) a block.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::blocks::Blocks;
use super::chains::Chains;
use super::page_map::{Frontier, PageMap};
use super::place::{PagePlace, RESERVE};

/// The mapping of the MLC flash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MappingSpec {
    /// Chains of blocks. Lists of commands run one after another, and so do the commands of a list (Chang, Sec. 3.5).
    #[default]
    Chains,
    /// A map of pages, all of it in RAM. Pages go to open blocks on all dies in rotation, garbage collection takes the
    /// block with the fewest valid pages, and the commands of a list run in parallel. Not in the paper.
    Pages,
}

impl MappingSpec {
    /// All mappings, for the conformance suite and the swarm.
    pub const EVERY: [Self; 2] = [Self::Chains, Self::Pages];
}

#[derive(Clone, Debug)]
pub(super) enum SlcMlcMapping {
    Chains(Chains),
    Pages(PageMap),
}

impl SlcMlcMapping {
    pub(super) const fn blocks(&self) -> &Blocks {
        match self {
            Self::Chains(chains) => &chains.blocks,
            Self::Pages(pages) => &pages.blocks,
        }
    }

    pub(super) const fn blocks_mut(&mut self) -> &mut Blocks {
        match self {
            Self::Chains(chains) => &mut chains.blocks,
            Self::Pages(pages) => &mut pages.blocks,
        }
    }

    /// Finds and takes a place for a page of a logical block.
    pub(super) fn place(&mut self, lba: u32, offset: u32) -> PagePlace {
        match self {
            Self::Chains(chains) => chains.place(lba, offset, RESERVE),
            Self::Pages(pages) => pages.place(Frontier::Host),
        }
    }

    /// Counts a page of a block that has become valid, or invalid if not `valid`.
    pub(super) fn count(&mut self, block: u32, valid: bool) {
        let count = &mut self.blocks_mut()[block].valid;
        *count = count.wrapping_add_signed(if valid { 1 } else { -1 });
        if let Self::Pages(pages) = self {
            pages.counted(block, valid);
        }
    }

    /// Sets the number of valid pages that a mount has found in a block.
    pub(super) fn found(&mut self, block: u32, valid: u32) {
        match self {
            Self::Chains(chains) => chains.blocks[block].valid = valid,
            Self::Pages(_) => (0..valid).for_each(|_| self.count(block, true)),
        }
    }

    pub(super) fn valid_pages(&self) -> u32 {
        self.blocks().valid_pages()
    }

    /// Counts pages of a block of a chain that have become invalid.
    pub(super) fn discount(&mut self, block: u32, pages: u32) {
        debug_assert!(matches!(self, Self::Chains(_)), "a fold of a map without chains");
        self.blocks_mut()[block].valid -= pages;
    }

    /// True if a valid sector in the tail of the SLC log goes to the MLC flash. With chains that is so if its logical
    /// block has a log block (Chang, Sec. 3.6). With a map of pages it is so if the sector was copied to the head
    /// before and has not been written since.
    pub(super) fn takes_back(&self, lba: u32, copied: bool) -> bool {
        match self {
            Self::Chains(chains) => chains.has_log(lba),
            Self::Pages(_) => copied,
        }
    }

    /// True if the commands of a list run in parallel. The old page of a program is then read by an earlier list.
    pub(super) const fn is_parallel(&self) -> bool {
        matches!(self, Self::Pages(_))
    }

    pub(super) fn put(&mut self, block: u32, erases: u32) {
        self.blocks_mut().put(block, erases);
        if let Self::Pages(pages) = self {
            pages.has_room_again();
        }
    }

    /// The chains of the mapping.
    ///
    /// # Panics
    /// If the mapping is a map of pages, which has no chains.
    pub(super) fn chains(&self) -> &Chains {
        let Self::Chains(chains) = self else { panic!("a map of pages has no chains") };
        chains
    }

    /// The chains, mutably; panics like [`SlcMlcMapping::chains`].
    pub(super) fn chains_mut(&mut self) -> &mut Chains {
        let Self::Chains(chains) = self else { panic!("a map of pages has no chains") };
        chains
    }
}

#[cfg(test)]
mod tests {
    use super::MappingSpec;

    #[test]
    fn every_mapping_is_registered() {
        let place = |mapping: &MappingSpec| match mapping {
            MappingSpec::Chains => 0,
            MappingSpec::Pages => 1,
        };
        assert!(MappingSpec::EVERY.iter().map(place).eq(0..2));
    }
}
