//! Recovery: the state of the FTL from the media alone.
//!
//! Every programmed page carries its mapping unit and version, and a block has pages of one logical block only. The
//! chain of a logical block is all its blocks, from the oldest on. If older blocks have all pages of a block in the
//! same versions, the block was the destination of an unfinished merge: it is useless, and is erased. If the merge had
//! taken writes along, the block stays at the young end of the chain, which may exceed its limit until its next merge.

use base::units::SuperblockId;
use flash::nand::{BlockBirth, Media, Spare};

use super::block_manager::{Block, BlockManager, BlockState};
use super::mapping::Mapping;
use super::{BlockConfig, Lbn};
use crate::port::Mount;
use crate::toolkit::recovery::{self, MountState};

impl Mapping {
    /// Finds the map on the media, and the state of each block.
    pub(super) fn recover(blocks: &mut BlockManager, config: &BlockConfig, from: &Mount<'_>) -> Self {
        let mut mapping = Self::new(config);
        mapping.find_chains(blocks, from);
        mapping
    }

    fn find_chains(&mut self, blocks: &mut BlockManager, from: &Mount<'_>) {
        let media = from.media;
        let mut programmed: Vec<(Lbn, BlockBirth, SuperblockId)> = Vec::new();
        for (superblock, found) in recovery::survey(media, from.planted) {
            match found {
                MountState::Bad => blocks[superblock].state = BlockState::Bad,
                MountState::Erased(erases) => {
                    let die = blocks.geometry.die_of(superblock).index();
                    blocks.dies[die].free.push(superblock, erases);
                }
                MountState::Programmed(birth) => {
                    blocks[superblock] = Block { state: BlockState::Used, ..Block::default() };
                    let lbn = self.scan_superblock(blocks, media, superblock);
                    if media.is_failing(superblock) {
                        blocks.fail(superblock);
                    }
                    match lbn {
                        Some(lbn) => programmed.push((lbn, birth, superblock)),
                        None => blocks.useless.push(superblock),
                    }
                }
            }
        }
        programmed.sort_unstable();
        let mut versions = vec![None; blocks.pages as usize];
        for chain in programmed.chunk_by(|one, other| one.0 == other.0) {
            versions.fill(None);
            for (lbn, _, superblock) in chain {
                if self.adds(blocks, from, *superblock, &mut versions) {
                    self.link(blocks, *lbn, *superblock);
                } else {
                    blocks.useless.push(*superblock);
                }
            }
            self.found += versions.iter().flatten().count() as u32;
        }
        // The chains that have waited longest for a merge come first.
        for die in 0..blocks.dies.len() {
            let mut replaced = std::mem::take(&mut blocks.dies[die].replaced);
            replaced.make_contiguous().sort_by_cached_key(|lbn| {
                let chain: Vec<_> = self.chain(blocks, *lbn).collect();
                media.birth(chain[chain.len() - 2])
            });
            blocks.dies[die].replaced = replaced;
        }
    }

    /// The logical block of a block's pages, if it has any.
    fn scan_superblock(&mut self, blocks: &mut BlockManager, media: &Media, superblock: SuperblockId) -> Option<Lbn> {
        let mut found = None;
        for offset in 0..blocks.pages {
            let spare = media.spare(blocks.geometry.slot(superblock, offset));
            if spare != Spare::Empty {
                blocks[superblock].next = offset + 1;
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
    fn adds(
        &self,
        blocks: &BlockManager,
        from: &Mount<'_>,
        superblock: SuperblockId,
        versions: &mut [Option<u32>],
    ) -> bool {
        let mut adds = false;
        for (offset, known) in (0..).zip(versions) {
            let Some(version) = recovery::version_of(from.media, blocks.geometry.slot(superblock, offset)) else {
                continue;
            };
            if recovery::wins(version, *known, from.planted) {
                *known = Some(version);
                adds = true;
            }
        }
        adds
    }
}
