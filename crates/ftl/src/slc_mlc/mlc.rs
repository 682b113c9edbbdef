//! The MLC flash: what leads to its pages, its blocks, and how they wear.

use base::engine::Handle;
use base::units::{Lpn, Psn, SuperblockId};
use flash::backend::{Backend, List, Observer};
use flash::nand::{Geometry, Media, Sector};

use super::cache::MapCache;
use super::density::Density;
use super::mapping::Mapping;
use super::throttle::Wear;
use super::wear::DualPool;
use crate::toolkit::{Commands, Map};

/// A block whose spare areas are looked at, and how many of its pages.
#[derive(Clone, Copy, Debug)]
pub(super) struct SpareScan {
    pub(super) block: u32,
    pub(super) pages: u32,
}

/// The MLC flash and what is known of it.
#[derive(Clone, Debug)]
pub(super) struct Mlc {
    pub(super) geometry: Geometry,
    /// Pages of a block.
    pub(super) pages: u32,
    pub(super) endurance: u32,
    /// Where each page is: what the second-level mapping leads to.
    pub(super) map: Map,
    pub(super) mapping: Mapping,
    pub(super) cache: MapCache,
    /// What the mapping cache did not have, and the next list looks at first.
    pub(super) spare_scans: Vec<SpareScan>,
    pub(super) levelling: Option<DualPool>,
    /// Dynamic density control, if there is any.
    pub(super) density: Option<Density>,
    /// Sum of all erases.
    pub(super) erases: u64,
    /// Blocks that recovery found useless, to be erased.
    pub(super) useless: Vec<u32>,
    /// No spare block is left to copy to: what needs one is refused, until something has been erased.
    pub(super) worn_out: bool,
}

impl Mlc {
    pub(super) const fn units(&self) -> u32 {
        self.map.len()
    }

    /// The logical block of a page, and its offset there.
    #[inline]
    pub(super) const fn split(&self, lpn: u32) -> (u32, u32) {
        (lpn / self.pages, lpn % self.pages)
    }

    /// Where a page is.
    #[inline]
    pub(super) fn psn_of(&self, lpn: u32) -> Option<Psn> {
        self.map.get(Lpn::new(lpn))
    }

    /// The map leads to this place from now on, or to none.
    pub(super) fn set(&mut self, lpn: u32, psn: Option<Psn>) {
        let old = self.map.set(Lpn::new(lpn), psn);
        for (place, valid) in [(old, false), (psn, true)] {
            if let Some(place) = place {
                self.mapping.count(self.block_of(place), valid);
            }
        }
    }

    /// The slot of a page of a block.
    pub(super) fn slot(&self, block: u32, page: u32) -> Psn {
        self.geometry.slot(SuperblockId::new(block), page)
    }

    /// The block of a slot.
    pub(super) const fn block_of(&self, psn: Psn) -> u32 {
        psn.get() / self.pages
    }

    /// How far it is worn.
    pub(super) fn wear(&self) -> Wear {
        Wear { erases: self.erases, blocks: self.geometry.superblock_count(), endurance: self.endurance }
    }

    /// A list of erases is done.
    pub(super) fn blocks_erased<S: Sector, O: Observer>(&mut self, backend: &mut Backend<S, O>, list: Handle<List>) {
        let mut erases = Commands::of(backend, list);
        while let Some((_, command)) = erases.next(backend) {
            let (block, failed) = (command.target.superblock.get(), command.failed);
            self.erased(backend.media_mut(), block, failed);
        }
        backend.release(list);
    }

    /// A block has been erased, or could not be.
    fn erased<S: Sector>(&mut self, media: &mut Media<S>, block: u32, failed: bool) {
        self.erases += 1;
        if let Some(levelling) = &mut self.levelling {
            levelling.erased(block);
        }
        if failed {
            self.retire(media, block);
        } else {
            self.worn_out = false;
            self.mapping.put(block, media.erases(SuperblockId::new(block)));
        }
    }

    /// A block is given up, because a program or an erase failed and nothing is left there.
    pub(super) fn retire<S: Sector>(&mut self, media: &mut Media<S>, block: u32) {
        media.retire(SuperblockId::new(block));
        self.mapping.blocks_mut()[block].lba = None;
        if let Some(levelling) = &mut self.levelling {
            levelling.lost(block);
        }
    }
}
