//! The invariants that hold between two events.

use flash::nand::{Media, Spare};

use super::HydraFtl;
use super::superblocks::SuperblockState;

impl HydraFtl {
    /// Checks the invariants that hold between two events.
    ///
    /// # Panics
    /// If an invariant is broken.
    pub(crate) fn check(&self, media: &Media) {
        let layout = &self.mapping.layout;
        self.superblocks.check(media);
        let mut there = vec![None; layout.physical() as usize];
        for logical in 0..layout.logical {
            let Some(superblock) = self.mapping.place_of(logical) else { continue };
            let (superchip, _) = self.superblocks.split(superblock);
            assert_eq!(superchip, layout.superchip_of(logical), "logical superblock {logical} left its superchip");
            assert_eq!(self.superblocks.state(superblock), SuperblockState::Mapped, "superblock {superblock}");
            let other = there[superblock as usize].replace(logical);
            assert_eq!(other, None, "superblock {superblock} holds two logical ones");
            self.check_rows(media, logical, superblock);
        }
        let count = |state| (0..layout.physical()).filter(|i| self.superblocks.state(*i) == state).count();
        assert_eq!(count(SuperblockState::Mapped), there.iter().flatten().count(), "mapped");
        self.merges.check(&self.journal, count(SuperblockState::Target));
        if let Some(log) = &self.flush_log {
            log.check(media, |lpn| self.mapping.row_version(&self.superblocks, media, lpn));
        }
    }

    /// Checks that each row carries its own address, and that no row is half programmed.
    fn check_rows(&self, media: &Media, logical: u32, superblock: u32) {
        let layout = &self.mapping.layout;
        for row in 0..layout.rows() {
            let (chip, page) = layout.chip_and_page(row);
            let psn = media.geometry().slot(self.superblocks.block(superblock, chip), page);
            match media.spare(psn) {
                Spare::Empty => {}
                Spare::Torn => panic!("row {row} of logical superblock {logical} is torn"),
                Spare::Data { lpn, .. } => {
                    assert_eq!(lpn, layout.join(logical, row), "row {row} of logical superblock {logical}");
                }
            }
        }
    }
}
