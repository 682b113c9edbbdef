//! How the MLC flash is mapped: what differs between [chains](super::chains) of blocks and a [map of pages](PageMap).
//!
//! Either way there is an entry for each page in RAM here; chains have it to know what the controller would have to look for.
//! They are asked where a page goes, which block has fewer valid pages now, and what becomes of a sector in the tail of the SLC
//! log. What is copied and freed to make room is a [fold](super::fold) of a chain or the [collection](super::collect) of a
//! block.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::blocks::Blocks;
use super::chains::Chains;
use super::page_map::{Frontier, PageMap};
use super::place::{Place, RESERVE};

/// How the MLC flash is mapped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MappingSpec {
    /// By chains of blocks, one list of commands after another, its commands too (Chang, Sec. 3.5).
    #[default]
    Chains,
    /// By pages, all of the map in RAM: pages go to open blocks on all dies in turn, the block with the fewest valid pages is
    /// collected, and the commands of a list work beside each other. Not in the paper.
    Pages,
}

impl MappingSpec {
    /// All of them.
    pub const EVERY: [Self; 2] = [Self::Chains, Self::Pages];
}

/// The mapping of a disk.
#[derive(Clone, Debug)]
pub(super) enum Mapping {
    Chains(Chains),
    Pages(PageMap),
}

impl Mapping {
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

    /// Finds a place for this page of a logical block, and takes it.
    pub(super) fn place(&mut self, lba: u32, offset: u32) -> Place {
        match self {
            Self::Chains(chains) => chains.place(lba, offset, RESERVE),
            Self::Pages(pages) => pages.place(Frontier::Host),
        }
    }

    /// The map leads to a page of this block from now on, or not any more.
    pub(super) fn count(&mut self, block: u32, valid: bool) {
        let count = &mut self.blocks_mut()[block].valid;
        *count = count.wrapping_add_signed(if valid { 1 } else { -1 });
        if let Self::Pages(pages) = self {
            pages.counted(block, valid);
        }
    }

    /// True if a valid sector in the tail of the SLC log goes to the MLC flash: its logical block has a log block that takes
    /// it (Chang, Sec. 3.6), or, where there are none, it was copied to the head once and has not been written since.
    pub(super) fn takes_back(&self, lba: u32, copied: bool) -> bool {
        match self {
            Self::Chains(chains) => chains.has_log(lba),
            Self::Pages(_) => copied,
        }
    }

    /// True if the commands of a list work beside each other: what a program needs is then read by a list before it.
    pub(super) const fn is_parallel(&self) -> bool {
        matches!(self, Self::Pages(_))
    }

    /// A block is erased.
    pub(super) fn put(&mut self, block: u32, erases: u32) {
        self.blocks_mut().put(block, erases);
        if let Self::Pages(pages) = self {
            pages.has_room_again();
        }
    }

    /// The chains.
    ///
    /// # Panics
    /// If pages are mapped: nothing is folded there.
    pub(super) fn chains(&self) -> &Chains {
        let Self::Chains(chains) = self else { panic!("a map of pages has no chains") };
        chains
    }

    /// The same, to be changed.
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
