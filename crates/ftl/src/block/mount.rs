//! The state of the FTL from nothing but the media.
//!
//! Every programmed page carries its unit and version, and a block has pages of one logical block only. The chain of a logical
//! block is what it has, from the oldest block on. A block whose pages are all in older ones, in the same version, is what
//! a merge had begun to copy to: it is useless, and erased. One that also took writes along stays, at the young end of
//! a chain that may be longer than it should be until it is merged again.

use base::units::SuperblockId;
use flash::nand::{BlockBirth, Media, Sector, Spare};

use super::chains::{Block, Chain, State};
use super::dies::Die;
use super::{BlockConfig, BlockFtl, Lbn};
use crate::port::Mount;
use crate::sabotage::Sabotage;
use crate::toolkit::{DieLists, FreeList, Gates, Holes, Versions};

impl BlockFtl {
    /// The FTL of a device, with its state read from the media.
    pub(super) fn mount<S: Sector>(config: &BlockConfig, from: &Mount<'_, S>) -> Self {
        let geometry = config.geometry.clone();
        let (dies, pages) = (geometry.die_count(), geometry.superblock_slots());
        let free = || FreeList::new(config.wear.dynamic, geometry.superblock_count() / dies);
        let mut ftl = Self {
            pages: base::units::Divisor::new(pages),
            units: config.units,
            replacements: config.spec.replacements,
            blocks: vec![Block::default(); geometry.superblock_count() as usize],
            chains: vec![Chain::default(); config.logical() as usize],
            dies: (0..dies).map(|_| Die::new(free())).collect(),
            holes: Holes::new(config.logical(), pages),
            gates: Gates::default(),
            useless: Vec::new(),
            versions: Versions::default(),
            found: 0,
            writing: DieLists::new(dies),
            reading: DieLists::new(dies),
            stalled: Vec::new(),
            along: vec![None; pages as usize],
            taken: Vec::new(),
            planted: from.planted,
            geometry,
        };
        ftl.recover(from.media);
        ftl
    }

    fn recover<S: Sector>(&mut self, media: &Media<S>) {
        let mut programmed: Vec<(Lbn, BlockBirth, SuperblockId)> = Vec::new();
        for superblock in (0..self.geometry.superblock_count()).map(SuperblockId::new) {
            if media.is_bad(superblock) {
                self.block(superblock).state = State::Bad;
            } else if media.is_erased(superblock) {
                let die = self.geometry.die_of(superblock).index();
                self.dies[die].free.push(superblock, media.erases(superblock));
            } else {
                *self.block(superblock) = Block { state: State::Used, ..Block::default() };
                let found = self.look_at(media, superblock);
                if media.is_failing(superblock) {
                    self.fail(superblock);
                }
                match found {
                    Some(lbn) => programmed.push((lbn, media.birth(superblock), superblock)),
                    None => self.useless.push(superblock),
                }
            }
        }
        programmed.sort_unstable();
        let mut versions = vec![None; self.pages.get() as usize];
        for chain in programmed.chunk_by(|one, other| one.0 == other.0) {
            versions.fill(None);
            for (lbn, _, superblock) in chain {
                if self.adds(media, *superblock, &mut versions) {
                    self.link(*lbn, *superblock);
                } else {
                    self.useless.push(*superblock);
                }
            }
            self.found += versions.iter().flatten().count() as u32;
        }
        // Those that have waited longest for a merge come first.
        for die in 0..self.dies.len() {
            let mut replaced = std::mem::take(&mut self.dies[die].replaced);
            replaced.make_contiguous().sort_by_cached_key(|lbn| {
                let blocks: Vec<_> = self.chain(*lbn).collect();
                media.birth(blocks[blocks.len() - 2])
            });
            self.dies[die].replaced = replaced;
        }
    }

    /// The logical block whose pages a block has, if there are any.
    fn look_at<S: Sector>(&mut self, media: &Media<S>, superblock: SuperblockId) -> Option<Lbn> {
        let mut found = None;
        for offset in 0..self.pages.get() {
            let spare = media.spare(self.geometry.slot(superblock, offset));
            if spare != Spare::Empty {
                self.block(superblock).next = offset + 1;
            }
            if let Spare::Data { lpn, version } = spare {
                self.versions.note(version);
                let (lbn, at) = self.split(lpn);
                assert!(
                    at == offset && found.is_none_or(|found| found == lbn),
                    "{superblock} has a page of another block"
                );
                found = Some(lbn);
            }
        }
        found
    }

    /// True if a block has a page that no older block of its chain has in the same version.
    fn adds<S: Sector>(&self, media: &Media<S>, superblock: SuperblockId, versions: &mut [Option<u32>]) -> bool {
        let mut adds = false;
        for (offset, known) in (0..).zip(versions) {
            let Spare::Data { version, .. } = media.spare(self.geometry.slot(superblock, offset)) else { continue };
            let newer = known.is_none_or(|known| version > known) != self.planted.is(Sabotage::OlderRecovered);
            adds |= newer;
            if newer {
                *known = Some(version);
            }
        }
        adds
    }
}
