//! A small layer over the port, for an FTL of one's own.
//!
//! A [`SimpleFtl`] decides where data goes: it has a map, chooses pages and blocks, and hears when they are programmed, copied
//! and erased. The layer does the rest: it reads, merges partial writes with the sectors that they leave out, keeps the order of
//! the pages of a block, erases a block only when nobody reads it any more, counts versions, writes again what a failed program
//! has lost, and retires broken blocks.
//!
//! [`register_simple_ftl`](crate::register_simple_ftl) gives it a name, and `kind = "own:NAME"` in a description is it.
//! `examples/own_ftl.rs` of the library is one of 148 lines.

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

/// A flash translation layer of one's own: where the data goes.
///
/// Mapping units are pages. A superblock is a block of one plane, and its pages are programmed in order.
pub trait SimpleFtl: Clone + Debug + Send + Sync + 'static {
    /// Makes the FTL of a drive and reads its state from the flash: on a new drive all pages are empty.
    fn mount(drive: &SimpleDrive<'_>) -> Self;

    /// The page that holds a mapping unit; `None` if it reads as zeros.
    fn place(&self, lpn: Lpn) -> Option<Psn>;

    /// The host writes a mapping unit: [program](SimpleCommands::program) it, keep it until there is room, or
    /// [refuse](SimpleCommands::refuse) it. Its old place counts until [`Done::Written`].
    fn write(&mut self, flash: &mut SimpleCommands<'_, '_>, write: SimpleWrite);

    /// The host discards a mapping unit: it reads as zeros from now on.
    fn discard(&mut self, lpn: Lpn);

    /// A command has ended.
    fn done(&mut self, flash: &mut SimpleCommands<'_, '_>, done: Done);

    /// Blocks that the FTL needs beside those that the data of a full drive fill. By default one that is open in each die, one
    /// for copies and two free ones.
    #[must_use]
    fn spare_blocks(site: &SimpleSite<'_>) -> u32 {
        site.geometry.die_count() + 3
    }
}

/// What a description says of a drive that a simple FTL may get.
#[derive(Clone, Copy, Debug)]
pub struct SimpleSite<'a> {
    /// The name under which the FTL was registered. One type may have several names.
    pub name: &'a str,
    /// The shape of the flash.
    pub geometry: &'a Geometry,
    /// The numbers of `ftl.options` in the description.
    pub options: &'a BTreeMap<String, f64>,
}

/// A mapping unit that the host writes, or sectors of it. It is used once.
#[derive(Clone, Debug)]
#[must_use]
pub struct SimpleWrite(pub(crate) PageWrite);

impl SimpleWrite {
    /// The mapping unit.
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

/// The end of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    /// A write of the host is on flash.
    Written {
        /// The mapping unit.
        lpn: Lpn,
        /// Its place.
        to: Psn,
    },
    /// A copy is on flash. The host may have written the mapping unit meanwhile: then the copy is old.
    Copied {
        /// The mapping unit.
        lpn: Lpn,
        /// The source.
        from: Psn,
        /// The copy.
        to: Psn,
    },
    /// A program has failed: its block takes no more, and what it holds must be copied before it is erased. A write of the host
    /// comes again.
    Failed {
        /// The block.
        superblock: SuperblockId,
        /// The source, if it was a copy: it is not copied yet.
        copy: Option<Psn>,
    },
    /// A block is erased.
    Erased(SuperblockId),
    /// A block that was to be erased is broken, and out of use for good.
    Retired(SuperblockId),
}

/// A drive that an FTL mounts.
#[derive(Clone, Copy, Debug)]
pub struct SimpleDrive<'a> {
    /// Mapping units that the host can address.
    pub units: u32,
    /// The name under which the FTL was registered. One type may have several names.
    pub name: &'a str,
    /// The shape of the flash.
    pub geometry: &'a Geometry,
    /// The numbers of `ftl.options` in the description.
    pub options: &'a BTreeMap<String, f64>,
    pub(crate) media: &'a Media,
}

impl SimpleDrive<'_> {
    /// A number of `ftl.options`, or a default.
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

    /// The first page behind all programmed ones of a block; `None` if the block takes no more.
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

    /// What the spare area of a page says.
    #[must_use]
    pub fn spare(&self, psn: Psn) -> Spare {
        self.media.spare(psn)
    }

    /// The newest copy of each mapping unit on flash: a map as it was before the power went. Of equal ones it is one that can
    /// be read. Blocks that are broken hold nothing that is needed.
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
