//! A block-mapped FTL with replacement blocks, as textbooks on flash begin with it (Ban, US patent 5,937,425; Chung et al.,
//! "A Survey of Flash Translation Layer", Journal of Systems Architecture 55, 2009; Sung, Sec. 2.3).
//!
//! The map knows blocks only: a page stands at its own offset in a block of its logical block. What overwrites a page goes
//! to the same offset of a *replacement block*, and a logical block is a [chain](chains) of its data block and the
//! replacement blocks behind it. When the chain is as long as it may be, or its die has no free block for a longer one, a
//! [merge] makes one block of it. Without replacement blocks each overwrite is a merge, which takes the data along
//! (Sung, Sec. 2.3).
//!
//! Everything is local to a die: logical block `l` lives on die `l` modulo their number, so dies share neither free blocks
//! nor merges. What a page holds is read from its spare area, so there is no state for pages beside the discarded ones.

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

/// Blocks of each die that no replacement block is taken from: one to merge into, one because a merge that has taken writes
/// along when the power goes holds on to its own, and two in place of those that fail.
const RESERVE: u32 = 4;

/// What a list is for: its tag.
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
    /// Replacement blocks that may stand behind a data block.
    replacements: u32,
    blocks: Vec<Block>,
    /// The blocks of each logical block.
    chains: Vec<Chain>,
    dies: Vec<Die>,
    holes: Holes,
    gates: Gates<Lbn>,
    /// Blocks that a mount found useless, to be erased.
    useless: Vec<SuperblockId>,
    versions: Versions,
    found: u32,
    /// The lists that the request under way has open.
    writing: DieLists<Handle<List>>,
    reading: DieLists<Handle<List>>,
    /// Dies at which units of the request under way wait.
    stalled: Vec<usize>,
    /// The units that a merge takes along, by offset; empty between merges.
    along: Vec<Option<PageWrite>>,
    /// What a merge that ends has taken along; empty between.
    taken: Vec<Slot>,
    planted: Planted,
}

impl BlockFtl {
    /// The logical block of a page, and its offset there.
    #[inline]
    const fn split(&self, lpn: Lpn) -> (Lbn, u32) {
        self.pages.split(lpn.get())
    }

    /// The die that a logical block lives on.
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
