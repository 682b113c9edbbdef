//! Recovery: the state of the FTL from the media alone.
//!
//! Every programmed page carries its mapping unit and version, and a block has pages of one logical block only. The
//! chain of a logical block is all its blocks, from the oldest on. If older blocks have all pages of a block in the
//! same versions, the block was the destination of an unfinished merge: it is useless, and is erased. If the merge had
//! taken writes along, the block stays at the young end of the chain, which may exceed its limit until its next merge.

use base::units::SuperblockId;
use flash::nand::{BlockBirth, Media, Spare};

use super::chains::{Block, Chain, State};
use super::dies::Die;
use super::{BlockConfig, BlockFtl, Lbn};
use crate::port::Mount;
use crate::toolkit::recovery::{self, Found};
use crate::toolkit::{DieLists, FreeList, Gates, Holes, Versions};

impl BlockFtl {
    /// Recovers the FTL from the media.
    pub(super) fn mount(config: &BlockConfig, from: &Mount<'_>) -> Self {
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

    fn recover(&mut self, media: &Media) {
        let mut programmed: Vec<(Lbn, BlockBirth, SuperblockId)> = Vec::new();
        for (superblock, found) in recovery::survey(media, self.planted) {
            match found {
                Found::Bad => self.block(superblock).state = State::Bad,
                Found::Erased(erases) => {
                    let die = self.geometry.die_of(superblock).index();
                    self.dies[die].free.push(superblock, erases);
                }
                Found::Programmed(birth) => {
                    *self.block(superblock) = Block { state: State::Used, ..Block::default() };
                    let lbn = self.scan_superblock(media, superblock);
                    if media.is_failing(superblock) {
                        self.fail(superblock);
                    }
                    match lbn {
                        Some(lbn) => programmed.push((lbn, birth, superblock)),
                        None => self.useless.push(superblock),
                    }
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
        // The chains that have waited longest for a merge come first.
        for die in 0..self.dies.len() {
            let mut replaced = std::mem::take(&mut self.dies[die].replaced);
            replaced.make_contiguous().sort_by_cached_key(|lbn| {
                let blocks: Vec<_> = self.chain(*lbn).collect();
                media.birth(blocks[blocks.len() - 2])
            });
            self.dies[die].replaced = replaced;
        }
    }

    /// The logical block of a block's pages, if it has any.
    fn scan_superblock(&mut self, media: &Media, superblock: SuperblockId) -> Option<Lbn> {
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

    /// True if the block has a page that no older block of its chain has in the same version.
    fn adds(&self, media: &Media, superblock: SuperblockId, versions: &mut [Option<u32>]) -> bool {
        let mut adds = false;
        for (offset, known) in (0..).zip(versions) {
            let Some(version) = recovery::version_of(media, self.geometry.slot(superblock, offset)) else { continue };
            if recovery::wins(version, *known, self.planted) {
                *known = Some(version);
                adds = true;
            }
        }
        adds
    }
}
