//! Recovery: the state of the FTL from the media alone.
//!
//! * Of several copies of a mapping unit [the newest counts](recovery), and among equal ones the copy in the older
//!   block. So the destination of an interrupted merge has no valid page, and is erased.
//! * A block whose pages all have their own offset can be a data block. If a logical block has several such blocks, the
//!   block with the most valid pages becomes its data block.
//! * Any other block with a valid page is a log block. There may be more log blocks than the limit, until merges have
//!   removed the surplus.

use base::units::SuperblockId;
use flash::nand::Spare;

use super::LogBlockConfig;
use super::address::Lbn;
use super::block_manager::{BlockManager, BlockState};
use super::logs::Role;
use super::mapping::Mapping;
use crate::port::Mount;
use crate::sabotage::Sabotage;
use crate::toolkit::Map;
use crate::toolkit::recovery::{self, MountState};

/// The state of a block as its spare areas show it.
#[derive(Clone, Copy, Debug)]
struct BlockContent {
    superblock: SuperblockId,
    /// Pages that hold the newest copy.
    valid: u32,
    /// The logical block of all its pages, if they have only one.
    block: Option<Lbn>,
    /// True if each page is at its own offset.
    in_place: bool,
    /// True if the block is in place, and no page is missing before the last programmed page.
    in_order: bool,
    /// The page after the last programmed one, or the number of pages if a program failed.
    next: u32,
}

impl Mapping {
    /// Finds the maps on the media, and the state of each block.
    pub(super) fn recover(blocks: &mut BlockManager, config: &LogBlockConfig, from: &Mount<'_>) -> Self {
        let mut mapping = Self::new(config);
        mapping.find_blocks(blocks, from);
        mapping
    }

    fn find_blocks(&mut self, blocks: &mut BlockManager, from: &Mount<'_>) {
        let (media, planted) = (from.media, from.planted);
        let mut programmed = Vec::new();
        for (superblock, found) in recovery::survey(media, planted) {
            match found {
                MountState::Bad => blocks[superblock].state = BlockState::Bad,
                MountState::Erased(erases) => {
                    blocks.allocator.put(blocks.geometry.die_of(superblock), superblock, erases)
                }
                MountState::Programmed(birth) => {
                    blocks[superblock].open();
                    blocks[superblock].failing = media.is_failing(superblock);
                    programmed.push((birth, superblock));
                }
            }
        }
        programmed.sort_unstable();
        // A new drive has no pages to find.
        let mut newest = Map::new(if programmed.is_empty() { 0 } else { self.units });
        let superblocks = programmed.iter().map(|(_, superblock)| *superblock);
        recovery::find_newest(media, superblocks.clone(), &mut newest, &mut self.versions, planted);
        self.found = newest.iter().count() as u32;
        let found: Vec<BlockContent> =
            superblocks.map(|block| self.scan_superblock(blocks, from, block, &newest)).collect();
        let data = self.choose_data_blocks(&found);
        let mut logs = Vec::new();
        for block in found {
            match block.block.filter(|lbn| data[*lbn as usize] == Some(block.superblock)) {
                Some(lbn) => {
                    self.data[lbn as usize] = Some(block.superblock);
                    blocks[block.superblock].next = block.next;
                }
                None if block.valid > 0 => logs.push(block),
                None => blocks.useless.push(block.superblock),
            }
        }
        self.take_logs(blocks, from, &logs, &newest);
        self.orphans = (0..self.address.blocks()).filter(|lbn| self.is_orphan(*lbn)).count() as u32;
    }

    fn scan_superblock(
        &self,
        blocks: &BlockManager,
        from: &Mount<'_>,
        superblock: SuperblockId,
        newest: &Map,
    ) -> BlockContent {
        let media = from.media;
        let mut found = BlockContent { superblock, valid: 0, block: None, in_place: true, in_order: true, next: 0 };
        let mut logical = 0;
        let mut pages = 0;
        for page in 0..blocks.pages {
            let psn = blocks.geometry.slot(superblock, page);
            let spare = media.spare(psn);
            let torn = spare == Spare::Torn && from.planted.is(Sabotage::TornPageForgotten);
            if spare != Spare::Empty && !torn {
                found.next = page + 1;
            }
            let Spare::Data { lpn, .. } = spare else { continue };
            let (lbn, offset) = self.address.split(lpn);
            if found.block != Some(lbn) {
                found.block = Some(lbn);
                logical += 1;
            }
            pages += 1;
            found.in_place &= offset == page;
            found.valid += u32::from(newest.leads(lpn, psn));
        }
        found.block = found.block.filter(|_| logical == 1);
        found.in_place &= found.block.is_some();
        found.in_order = found.in_place && pages == found.next;
        if media.is_failing(superblock) {
            // A failing block takes no more pages.
            (found.next, found.in_order) = (blocks.pages, false);
        }
        found
    }

    /// The data block of each logical block, if some block can be its data block.
    fn choose_data_blocks(&self, found: &[BlockContent]) -> Vec<Option<SuperblockId>> {
        let mut best: Vec<Option<&BlockContent>> = vec![None; self.address.blocks() as usize];
        for block in found.iter().filter(|block| block.in_place && block.valid > 0) {
            let Some(lbn) = block.block else { continue };
            let best = &mut best[lbn as usize];
            if best.is_none_or(|best| block.valid > best.valid) {
                *best = Some(block);
            }
        }
        best.into_iter().map(|best| Some(best?.superblock)).collect()
    }

    /// Opens the log blocks, in their old roles as far as no other log block has taken the role.
    fn take_logs(&mut self, blocks: &mut BlockManager, from: &Mount<'_>, logs: &[BlockContent], newest: &Map) {
        let kinds: Vec<_> = logs.iter().map(|log| (log.block, log.in_order)).collect();
        let trusted = from.planted.is(Sabotage::InOrderTrusted);
        for (found, role) in logs.iter().zip(self.policy.roles(&kinds)) {
            let id = self.logs.open(found.superblock, role);
            blocks[found.superblock].log = Some(id);
            let log = self.logs.log_mut(id);
            log.next = found.next;
            log.in_order = (found.in_order || trusted) && role != Role::Random;
            for page in 0..found.next {
                let psn = blocks.geometry.slot(found.superblock, page);
                let Spare::Data { lpn, .. } = from.media.spare(psn) else { continue };
                if newest.leads(lpn, psn) {
                    let (lbn, offset) = self.address.split(lpn);
                    self.logs.link(lbn, offset, self.logs.place(id, page));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::LogBlockFtl;
    use base::engine::Rng;

    use crate::rig::Rig;

    #[test]
    fn log_blocks_are_in_the_order_of_their_ages_after_a_power_cut() {
        for kind in ["bast", "fast"] {
            let mut rig = Rig::new(&format!(
                r"flash = {{ part = 'K9K8G08U0M', channels = 1, chips = 2, blocks = 40, pages = 8, planes = 1 }}
[ftl]
kind = '{kind}'
over-provisioning = '60%'
log = {{ blocks = 9 }}",
            ));
            let mut rng = Rng::stream(3, kind);
            let units = u64::from(rig.units());
            (0..units as u32).for_each(|lpn| rig.write(&[lpn], None));
            for _ in 0..600 {
                rig.write(&[rng.below(units) as u32], None);
                rig.run_until_idle();
            }
            rig.cut_power();
            let ftl = rig.ftl.downcast_ref::<LogBlockFtl>().expect("log blocks");
            let logs: Vec<_> = ftl.mapping.logs.by_age().map(|(_, log)| log.superblock).collect();
            assert!(logs.len() > 5 && !logs.is_sorted(), "{kind}: their numbers say nothing of their ages: {logs:?}");
            assert!(logs.is_sorted_by_key(|superblock| rig.backend.media().birth(*superblock)), "{kind}: {logs:?}");
        }
    }
}
