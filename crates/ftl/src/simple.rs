//! A small layer over the port, for a user's own FTL.
//!
//! A [`SimpleFtl`] decides where data goes: it has a map, chooses pages and blocks, and is told when they are
//! programmed, copied and erased. The layer does everything else: it reads, merges partial writes with the sectors that
//! they leave out, keeps the order of the pages of a block, erases a block only when no read of it is under way, counts
//! versions, writes again the data of failed programs, and retires broken blocks.
//!
//! [`register_simple_ftl`](crate::register_simple_ftl) gives the FTL a name, and `kind = "own:NAME"` in a description
//! selects it. `examples/own_ftl.rs` of the library is an FTL of 148 lines.

mod commands;
mod family;
mod layer;
mod traffic;

use std::collections::BTreeMap;
use std::fmt::Debug;

use base::units::{Lpn, Psn, SuperblockId};
use flash::nand::{Geometry, Media, Spare};

use crate::port::PageWrite;

pub use commands::SimpleCommands;
pub(crate) use family::SimpleFamily;

/// A user's own flash translation layer, which decides where data goes.
///
/// Mapping units are pages. A superblock is a block of one plane, and its pages are programmed in order.
pub trait SimpleFtl: Clone + Debug + Send + Sync + 'static {
    /// Makes the FTL of a drive and reads its state from the flash. On a new drive all pages are empty.
    fn mount(drive: &SimpleDrive<'_>) -> Self;

    /// The page that holds a mapping unit; `None` if the mapping unit reads as zeros.
    fn place(&self, lpn: Lpn) -> Option<Psn>;

    /// Takes a write of the host: [program](SimpleCommands::program) it, keep it until there is room, or
    /// [refuse](SimpleCommands::refuse) it. The old place of the mapping unit counts until [`CommandEnd::Written`].
    fn write(&mut self, flash: &mut SimpleCommands<'_, '_>, write: SimpleWrite);

    /// Discards a mapping unit for the host: it reads as zeros from now on.
    fn discard(&mut self, lpn: Lpn);

    /// Tells that a command has ended.
    fn done(&mut self, flash: &mut SimpleCommands<'_, '_>, done: CommandEnd);

    /// Blocks that the FTL needs in addition to those that the data of a full drive fill. The default is, in each die,
    /// one open block, one block for copies and two free blocks.
    #[must_use]
    fn spare_blocks(site: &SimpleSite<'_>) -> u32 {
        site.geometry.die_count() + 3
    }
}

/// The part of a description that decides the spare blocks of a simple FTL.
#[derive(Clone, Copy, Debug)]
pub struct SimpleSite<'a> {
    /// The name under which the FTL was registered. One type may have several names.
    pub name: &'a str,
    /// The shape of the flash array.
    pub geometry: &'a Geometry,
    /// The numbers of `ftl.options` in the description.
    pub options: &'a BTreeMap<String, f64>,
}

/// A mapping unit, or some of its sectors, that the host writes. It can be programmed or refused once.
#[derive(Clone, Debug)]
#[must_use]
pub struct SimpleWrite(pub(crate) PageWrite);

impl SimpleWrite {
    /// The number of the mapping unit.
    #[must_use]
    pub const fn lpn(&self) -> Lpn {
        self.0.lpn
    }

    /// True if the write leaves out sectors of the mapping unit.
    #[must_use]
    pub const fn is_partial(&self, geometry: &Geometry) -> bool {
        !self.0.is_whole(geometry.sectors)
    }
}

/// The end of a command, and its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandEnd {
    /// A write of the host is on flash.
    Written {
        /// The number of the mapping unit.
        lpn: Lpn,
        /// The page that holds it now.
        to: Psn,
    },
    /// A copy is on flash. If the host has written the mapping unit meanwhile, the copy is old.
    Copied {
        /// The number of the mapping unit.
        lpn: Lpn,
        /// The page that was copied.
        from: Psn,
        /// The page that holds the copy.
        to: Psn,
    },
    /// A program has failed: its block takes no more pages, and its data must be copied before it is erased. A write of
    /// the host is offered again.
    Failed {
        /// The block in which the program failed.
        superblock: SuperblockId,
        /// The source if the program was a copy; the copy has failed.
        copy: Option<Psn>,
    },
    /// A block is erased.
    Erased(SuperblockId),
    /// A block that was to be erased is broken, and will not be used again.
    Retired(SuperblockId),
}

/// The drive that an FTL mounts, and the content of its flash.
#[derive(Clone, Copy, Debug)]
pub struct SimpleDrive<'a> {
    /// Mapping units that the host can address.
    pub units: u32,
    /// The name under which the FTL was registered. One type may have several names.
    pub name: &'a str,
    /// The shape of the flash array.
    pub geometry: &'a Geometry,
    /// The numbers of `ftl.options` in the description.
    pub options: &'a BTreeMap<String, f64>,
    pub(crate) media: &'a Media,
}

impl SimpleDrive<'_> {
    /// The number of `ftl.options` with this name, or `default` if the description does not set it.
    #[must_use]
    pub fn option(&self, name: &str, default: f64) -> f64 {
        self.options.get(name).copied().unwrap_or(default)
    }

    /// The blocks of the flash that are not broken.
    pub fn blocks(&self) -> impl Iterator<Item = SuperblockId> + '_ {
        (0..self.geometry.superblock_count()).map(SuperblockId::new).filter(|block| !self.media.is_bad(*block))
    }

    /// True if no page of a block has been programmed since its erase.
    #[must_use]
    pub fn is_erased(&self, block: SuperblockId) -> bool {
        self.media.is_erased(block)
    }

    /// The first page behind all programmed pages of a block; `None` if the block takes no more pages.
    #[must_use]
    pub fn next_page(&self, block: SuperblockId) -> Option<u32> {
        self.media.unwritten_from(block)
    }

    /// True if a program of a block has failed since its erase: an erase retires the block.
    #[must_use]
    pub fn is_failing(&self, block: SuperblockId) -> bool {
        self.media.is_failing(block)
    }

    /// Program/erase cycles of a block.
    #[must_use]
    pub fn erases(&self, block: SuperblockId) -> u32 {
        self.media.erases(block)
    }

    /// The spare area of a page: its mapping unit and version, empty or torn.
    #[must_use]
    pub fn spare(&self, psn: Psn) -> Spare {
        self.media.spare(psn)
    }

    /// The newest copy of each mapping unit on flash: the map as it was before the power went off. Of equal copies one
    /// that is readable. Broken blocks hold no data that is needed.
    #[must_use]
    pub fn newest(&self) -> Vec<Option<Psn>> {
        let mut newest: Vec<Option<(u32, bool, Psn)>> = vec![None; self.units as usize];
        for psn in self.blocks().flat_map(|block| self.geometry.slots_of(block)).map(Psn::new) {
            let Spare::Data { lpn, version } = self.spare(psn) else { continue };
            let Some(known) = newest.get_mut(lpn.index()) else { continue };
            let found = (version, !self.media.is_unreadable(psn), psn);
            if known.is_none_or(|known| (known.0, known.1) < (found.0, found.1)) {
                *known = Some(found);
            }
        }
        newest.into_iter().map(|found| found.map(|(.., psn)| psn)).collect()
    }
}
