//! A block-mapped FTL with replacement blocks, the simplest FTL of the textbooks (Ban, US patent 5,937,425; Chung et
//! al., "A Survey of Flash Translation Layer", Journal of Systems Architecture 55, 2009; Sung, Sec. 2.3).
//!
//! The map knows blocks only: a page has a fixed offset in the blocks of its logical block. An overwrite goes to the
//! same offset of a *replacement block*. A logical block is a [chain](chains) of its data block and its replacement
//! blocks. If the chain has its full length, or its die has no free block for a longer one, a [merge] makes one block
//! of it. Without replacement blocks each overwrite is a merge, which includes the new data (Sung, Sec. 2.3).
//!
//! Each die works alone: logical block `l` belongs to die `l` modulo their number, so dies share neither free blocks
//! nor merges. Spare areas name the content of pages, so the FTL keeps no state for pages except the discarded ones.

mod chains;
mod check;
mod config;
mod dies;
mod family;
mod finish;
mod merge;
mod mount;
mod port;
mod read;
mod spec;
#[cfg(test)]
mod tests;
mod write;

use base::engine::Handle;
use base::units::{Divisor, Lpn, SuperblockId};
use flash::backend::{List, Observer, Slot};
use flash::nand::{Geometry, Sector};

use crate::port::{Flash, PageWrite};
use crate::sabotage::Planted;
use crate::toolkit::{DieLists, Gates, Holes, Versions};

use chains::{Block, Chain};
use dies::Die;

pub use config::BlockConfig;
pub(crate) use family::BlockFamily;
pub use spec::BlockSpec;

/// A logical block.
type Lbn = u32;

/// Blocks of each die that never become replacement blocks: one to merge into, one because a merge with host writes
/// keeps its own block over a power cut, and two to replace blocks that fail.
const RESERVE: u32 = 4;

/// The purpose of a list, which is its tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
enum Kind {
    Read,
    Write,
    Merge,
    Erase,
}

impl Kind {
    fn of(list: &List) -> Self {
        [Self::Read, Self::Write, Self::Merge, Self::Erase][list.tag() as usize]
    }
}

/// A block-mapped FTL.
#[derive(Clone, Debug)]
pub struct BlockFtl {
    geometry: Geometry,
    /// Pages of a block.
    pages: Divisor,
    units: u32,
    /// The most replacement blocks of a data block.
    replacements: u32,
    blocks: Vec<Block>,
    /// The blocks of each logical block.
    chains: Vec<Chain>,
    dies: Vec<Die>,
    holes: Holes,
    gates: Gates<Lbn>,
    /// Blocks that a mount found useless and that will be erased.
    useless: Vec<SuperblockId>,
    versions: Versions,
    found: u32,
    /// The open lists of the present request.
    writing: DieLists<Handle<List>>,
    reading: DieLists<Handle<List>>,
    /// Dies at which mapping units of the present request wait.
    stalled: Vec<usize>,
    /// The host writes that a merge includes, by offset; empty between merges.
    along: Vec<Option<PageWrite>>,
    /// The host writes that the ending merge has included; empty otherwise.
    taken: Vec<Slot>,
    planted: Planted,
}

impl BlockFtl {
    /// The logical block of a page, and its offset there.
    #[inline]
    const fn split(&self, lpn: Lpn) -> (Lbn, u32) {
        self.pages.split(lpn.get())
    }

    /// The die that a logical block belongs to.
    #[inline]
    fn home(&self, lbn: Lbn) -> usize {
        lbn as usize % self.dies.len()
    }

    fn block(&mut self, superblock: SuperblockId) -> &mut Block {
        &mut self.blocks[superblock.index()]
    }

    fn submit<S: Sector, O: Observer>(&mut self, flash: &mut Flash<'_, S, O>, die: usize, list: Handle<List>) {
        self.dies[die].under_way += 1;
        flash.submit(list);
    }
}
