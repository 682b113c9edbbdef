//! The MLC flash: its page map, its blocks, and their wear.

use base::engine::Handle;
use base::units::{Lpn, Psn, SuperblockId};
use flash::backend::{Backend, List};
use flash::nand::{Geometry, Media};

use super::cache::MapCache;
use super::density::Density;
use super::due::PageCopy;
use super::mapping::SlcMlcMapping;
use super::throttle::Wear;
use super::wear::DualPool;
use crate::toolkit::{Commands, Map};

/// A scan of spare areas: a block, and the number of its pages to scan.
#[derive(Clone, Copy, Debug)]
pub(super) struct SpareScan {
    pub(super) block: u32,
    pub(super) pages: u32,
}

/// The state of the MLC flash.
#[derive(Clone, Debug)]
pub(super) struct Mlc {
    pub(super) geometry: Geometry,
    pub(super) pages: u32,
    pub(super) endurance: u32,
    /// The place of each page (the paper's second-level mapping).
    pub(super) map: Map,
    pub(super) mapping: SlcMlcMapping,
    pub(super) cache: MapCache,
    /// The scans of a cache miss, which the next list does before its own commands.
    pub(super) spare_scans: Vec<SpareScan>,
    pub(super) levelling: Option<DualPool>,
    /// The state of dynamic density control, if the description has it.
    pub(super) density: Option<Density>,
    /// The sum of the erase counts of all blocks.
    pub(super) erases: u64,
    /// Blocks that recovery found without valid pages, and that are to be erased.
    pub(super) useless: Vec<u32>,
    /// True if no spare block is left to copy to: writes that need one are refused until the next erase.
    pub(super) worn_out: bool,
}

impl Mlc {
    pub(super) const fn units(&self) -> u32 {
        self.map.len()
    }

    /// The logical block of a page, and the page's offset there.
    #[inline]
    pub(super) const fn split(&self, lpn: u32) -> (u32, u32) {
        (lpn / self.pages, lpn % self.pages)
    }

    /// The place of a page.
    #[inline]
    pub(super) fn psn_of(&self, lpn: u32) -> Option<Psn> {
        self.map.get(Lpn::new(lpn))
    }

    /// Maps a page to a slot, or to no slot.
    pub(super) fn set(&mut self, lpn: u32, psn: Option<Psn>) {
        let old = self.map.set(Lpn::new(lpn), psn);
        for (place, valid) in [(old, false), (psn, true)] {
            if let Some(place) = place {
                self.mapping.count(self.block_of(place), valid);
            }
        }
    }

    /// Maps copied pages to their new slots, which are all in the block `to`.
    pub(super) fn move_to(&mut self, to: u32, copies: &[PageCopy]) {
        // Neighbours come from one block, so the counts of that block change together.
        let (mut block, mut pages) = (0..0, 0);
        let mut moved = 0;
        for copy in copies {
            let old = self.map.set(Lpn::new(copy.lpn), Some(copy.target()));
            moved += 1;
            let Some(old) = old.map(Psn::get) else { continue };
            if !block.contains(&old) {
                self.mapping.discount(block.start / self.pages, pages);
                let first = old - old % self.pages;
                (block, pages) = (first..first + self.pages, 0);
            }
            pages += 1;
        }
        self.mapping.discount(block.start / self.pages, pages);
        self.mapping.blocks_mut()[to].valid += moved;
    }

    pub(super) fn slot(&self, block: u32, page: u32) -> Psn {
        self.geometry.slot(SuperblockId::new(block), page)
    }

    pub(super) const fn block_of(&self, psn: Psn) -> u32 {
        psn.get() / self.pages
    }

    /// The erases, blocks and endurance of the MLC flash, for the throttle.
    pub(super) fn wear(&self) -> Wear {
        Wear { erases: self.erases, blocks: self.geometry.superblock_count(), endurance: self.endurance }
    }

    pub(super) fn blocks_erased(&mut self, backend: &mut Backend, list: Handle<List>) {
        let mut erases = Commands::of(backend, list);
        while let Some((_, command)) = erases.next(backend) {
            let (block, failed) = (command.target.superblock.get(), command.failed);
            self.erased(backend.media_mut(), block, failed);
        }
        backend.release(list);
    }

    /// Handles the end of an erase: the block becomes spare, or is retired if the erase `failed`.
    fn erased(&mut self, media: &mut Media, block: u32, failed: bool) {
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

    /// Retires a block without valid pages after a failed program or erase.
    pub(super) fn retire(&mut self, media: &mut Media, block: u32) {
        media.retire(SuperblockId::new(block));
        self.mapping.blocks_mut()[block].lba = None;
        if let Some(levelling) = &mut self.levelling {
            levelling.lost(block);
        }
    }
}
