//! What must hold between two events.

use flash::nand::{Media, Mode, Sector, Spare};
use flash::units::{Psn, SuperblockId};

use super::ChangFtl;
use super::chains::NONE;

impl ChangFtl {
    /// Checks everything that must hold between two events.
    ///
    /// # Panics
    /// If something does not hold.
    pub(crate) fn check<S: Sector>(&self, media: &Media<S>, second: Option<&Media<S>>) {
        let mut valid = vec![0; self.geometry.superblock_count() as usize];
        for (lpn, psn) in (0..).zip(&self.map).filter(|(_, psn)| **psn != NONE) {
            let spare = media.spare(Psn::new(*psn));
            assert!(matches!(spare, Spare::Data { lpn: there, .. } if there.get() == lpn), "lpn {lpn}: {spare:?}");
            let block = psn / self.pages;
            assert_eq!(self.chains.block(block).lba, lpn / self.pages, "the chain of block {block}");
            valid[block as usize] += 1;
        }
        let mut places = vec![0; valid.len()];
        for lba in 0..self.units.div_ceil(self.pages) {
            for block in self.chains.chain(lba) {
                let known = self.chains.block(block);
                assert_eq!(known.lba, lba, "block {block} in the chain of {lba}");
                let slc = !known.slc || self.chains.is_slc(lba) || self.density.is_none();
                assert!(slc, "block {block} is in SLC mode, and logical block {lba} is not");
                places[block as usize] += 1;
            }
        }
        for (block, lba) in (0..valid.len() as u32).map(|block| (block, self.chains.block(block).lba)) {
            let superblock = SuperblockId::new(block);
            if lba != NONE && !media.is_erased(superblock) {
                let slc = media.mode(superblock) == Mode::Slc;
                assert_eq!(self.chains.block(block).slc, slc, "the mode of block {block}");
            }
        }
        let in_slc_mode = (0..self.units.div_ceil(self.pages)).filter(|lba| self.chains.is_slc(*lba)).count() as u32;
        let (count, most) = self.density.as_ref().map_or((0, 0), |density| (density.count, density.most));
        assert!(in_slc_mode == count && count <= most, "{in_slc_mode} logical blocks in SLC mode, {count} of {most}");
        for block in self.chains.spares() {
            assert!(media.is_erased(SuperblockId::new(block)), "block {block} is spare and holds something");
            places[block as usize] += 1;
        }
        for block in 0..self.geometry.superblock_count() {
            assert_eq!(self.chains.block(block).valid, valid[block as usize], "valid pages of block {block}");
            assert!(places[block as usize] <= 1, "block {block} has two parts");
            let bad = media.is_bad(SuperblockId::new(block));
            assert!(!bad || places[block as usize] == 0, "block {block} is bad and has a part");
        }
        let with_log = (0..self.units.div_ceil(self.pages)).filter(|lba| self.chains.has_log(*lba)).count();
        assert_eq!(self.chains.by_age().count(), with_log, "logical blocks with log blocks");
        if let Some(second) = second {
            self.check_slc(second);
        }
    }

    fn check_slc<S: Sector>(&self, media: &Media<S>) {
        let Some(slc) = &self.slc else { return };
        let mut held = vec![0; self.units as usize];
        let places = slc.table.regulars().chain(slc.homeless.iter().copied());
        for (sector, place) in places {
            let spare = media.spare(Psn::new(place));
            assert!(matches!(spare, Spare::Data { lpn, .. } if lpn.get() == sector), "sector {sector}: {spare:?}");
            assert!(slc.log.holds(slc.block_of(place).get()), "sector {sector} is not between tail and head");
            held[(sector / self.geometry.sectors) as usize] += 1;
        }
        assert_eq!(slc.held, held, "sectors in the SLC flash");
        assert!(slc.log.used() <= slc.log.blocks(), "{} of {} blocks", slc.log.used(), slc.log.blocks());
    }
}
