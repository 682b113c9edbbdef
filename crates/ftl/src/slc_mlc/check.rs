//! The invariants that hold between two events.

use base::units::{Psn, SuperblockId};
use flash::nand::{Media, Mode, Spare};

use super::SlcMlcFtl;
use super::chains::Chains;
use super::disk::Disk;
use super::mapping::SlcMlcMapping;
use super::page_map::{PageMap, Role};
use super::slc::SectorSlot;

impl SlcMlcFtl {
    /// Checks the invariants that hold between two events.
    ///
    /// # Panics
    /// If an invariant is broken.
    pub(crate) fn check(&self, media: &Media, slc_array: Option<&Media>) {
        self.tasks.check();
        self.disk.check(media, slc_array);
    }
}

impl Disk {
    fn check(&self, media: &Media, slc_array: Option<&Media>) {
        let blocks = self.mlc.mapping.blocks();
        let mut valid = vec![0; blocks.count() as usize];
        for (lpn, psn) in self.mlc.map.iter() {
            let spare = media.spare(psn);
            assert!(matches!(spare, Spare::Data { lpn: there, .. } if there == lpn), "{lpn}: {spare:?}");
            valid[self.mlc.block_of(psn) as usize] += 1;
        }
        // For each block, the number of chains or roles that use it.
        let mut parts = vec![0; valid.len()];
        match &self.mlc.mapping {
            SlcMlcMapping::Chains(chains) => self.check_chains(chains, media, &mut parts),
            SlcMlcMapping::Pages(pages) => check_pages(pages, &mut parts),
        }
        for block in blocks.spares() {
            assert!(media.is_erased(SuperblockId::new(block)), "block {block} is spare and holds something");
            parts[block as usize] += 1;
        }
        assert_eq!(blocks.spares().count() as u32, blocks.spare(), "spare blocks");
        for (erases, block) in blocks.known_wear() {
            assert_eq!(erases, media.erases(block), "how often {block}, which is spare, was erased");
        }
        for block in 0..blocks.count() {
            assert_eq!(blocks[block].valid, valid[block as usize], "valid pages of block {block}");
            assert!(parts[block as usize] <= 1, "block {block} has two parts");
            let bad = media.is_bad(SuperblockId::new(block));
            assert!(!bad || parts[block as usize] == 0, "block {block} is bad and has a part");
        }
        if let Some(slc_array) = slc_array {
            self.check_slc(slc_array);
        }
    }

    fn check_chains(&self, chains: &Chains, media: &Media, parts: &mut [u32]) {
        for (lpn, psn) in self.mlc.map.iter() {
            let (block, (lba, _)) = (self.mlc.block_of(psn), self.mlc.split(lpn.get()));
            assert_eq!(chains.blocks[block].lba(), Some(lba), "the chain of block {block}");
        }
        let logical = self.mlc.units().div_ceil(self.mlc.pages);
        for lba in 0..logical {
            for block in chains.chain(lba) {
                let known = chains.blocks[block];
                assert_eq!(known.lba(), Some(lba), "block {block} in the chain of {lba}");
                let allowed = known.mode == Mode::Full || chains.is_slc(lba) || self.mlc.density.is_none();
                assert!(allowed, "block {block} is in SLC mode, and logical block {lba} is not");
                let superblock = SuperblockId::new(block);
                let mode = media.mode(superblock);
                assert!(media.is_erased(superblock) || known.mode == mode, "the mode of block {block}");
                parts[block as usize] += 1;
            }
        }
        let in_slc_mode = (0..logical).filter(|lba| chains.is_slc(*lba)).count() as u32;
        let (count, most) = self.mlc.density.as_ref().map_or((0, 0), |density| (density.count, density.most));
        assert!(in_slc_mode == count && count <= most, "{in_slc_mode} logical blocks in SLC mode, {count} of {most}");
        let with_log = (0..logical).filter(|lba| chains.has_log(*lba)).count();
        assert_eq!(chains.by_age().count(), with_log, "logical blocks with log blocks");
    }

    fn check_slc(&self, media: &Media) {
        let Some(slc) = &self.slc else { return };
        let mut held = vec![0; self.mlc.units() as usize];
        let regulars = slc.table.regulars().map(|(sector, place)| SectorSlot { sector, place });
        for SectorSlot { sector, place } in regulars.chain(slc.unplaced.iter().copied()) {
            let spare = media.spare(Psn::new(place));
            assert!(matches!(spare, Spare::Data { lpn, .. } if lpn.get() == sector), "sector {sector}: {spare:?}");
            assert!(slc.log.holds(slc.block_of(place).get()), "sector {sector} is not between tail and head");
            held[(sector / self.mlc.geometry.sectors) as usize] += 1;
        }
        assert_eq!(slc.held, held, "sectors in the SLC flash");
        assert!(slc.log.used() <= slc.log.blocks(), "{} of {} blocks", slc.log.used(), slc.log.blocks());
        // The head may have been taken a moment ago, with its erase still pending.
        let others =
            (0..slc.geometry.superblock_count()).map(SuperblockId::new).filter(|block| *block != slc.log.head());
        for block in others.filter(|block| !media.is_bad(*block)) {
            let holds = slc.log.holds(block.get());
            assert_ne!(holds, media.is_erased(block), "is {block} between tail and head, where nothing is erased?");
        }
    }
}

fn check_pages(pages: &PageMap, parts: &mut [u32]) {
    for (block, role) in pages.roles() {
        if let Role::Closed { valid } = role {
            assert_eq!(valid, pages.blocks[block].valid, "valid pages of closed block {block}");
        }
        parts[block as usize] += 1;
    }
}
