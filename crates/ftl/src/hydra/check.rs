//! The invariants that hold between two events.

use flash::nand::{Media, Spare};

use super::HydraFtl;
use super::merge::Stage;
use super::superblocks::State;

impl HydraFtl {
    /// Checks the invariants that hold between two events.
    ///
    /// # Panics
    /// If an invariant is broken.
    pub(crate) fn check(&self, media: &Media) {
        self.superblocks.check(media);
        let mut there = vec![None; self.layout.physical() as usize];
        for logical in 0..self.layout.logical {
            let Some(superblock) = self.place_of(logical) else { continue };
            let (superchip, _) = self.superblocks.split(superblock);
            assert_eq!(superchip, self.layout.superchip_of(logical), "logical superblock {logical} left its superchip");
            assert_eq!(self.superblocks.state(superblock), State::Mapped, "superblock {superblock}");
            let other = there[superblock as usize].replace(logical);
            assert_eq!(other, None, "superblock {superblock} holds two logical ones");
            self.check_rows(media, logical, superblock);
        }
        let count = |state| (0..self.layout.physical()).filter(|i| self.superblocks.state(*i) == state).count();
        assert_eq!(count(State::Mapped), there.iter().flatten().count(), "mapped");
        self.check_merges(count(State::Target));
        if let Some(log) = &self.flush_log {
            log.check(media, |lpn| self.row_version(media, lpn));
        }
    }

    /// Each row carries its own address, and none is torn.
    fn check_rows(&self, media: &Media, logical: u32, superblock: u32) {
        for row in 0..self.layout.rows() {
            let (chip, page) = self.layout.chip_and_page(row);
            let psn = media.geometry().slot(self.superblocks.block(superblock, chip), page);
            match media.spare(psn) {
                Spare::Empty => {}
                Spare::Torn => panic!("row {row} of logical superblock {logical} is torn"),
                Spare::Data { lpn, .. } => {
                    assert_eq!(lpn, self.layout.join(logical, row), "row {row} of logical superblock {logical}");
                }
            }
        }
    }

    fn check_merges(&self, targets: usize) {
        let under_way = |stage| !matches!(stage, Stage::Nothing | Stage::Waiting);
        let merges: Vec<_> = self.merges.iter().filter(|merge| under_way(merge.stage)).collect();
        assert!(merges.len() == targets || self.read_only, "{targets} targets of {} merges", merges.len());
        let working = merges.iter().filter(|merge| merge.stage != Stage::Logging).count();
        assert_eq!(working, self.working as usize, "merges that are worked on");
        let mut logical: Vec<_> = merges.iter().map(|merge| merge.logical).collect();
        logical.sort_unstable();
        assert!(logical.windows(2).all(|pair| pair[0] != pair[1]), "two merges of a logical superblock at once");
        let waiting = self.merges.iter().filter(|merge| merge.stage == Stage::Waiting).count();
        assert_eq!(waiting, self.waiting.len(), "merges that wait");
        // If nothing were writing the log, these merges would wait for ever.
        let logging = merges.iter().any(|merge| merge.stage == Stage::Logging);
        assert!(!logging || !self.journal.is_idle(), "a merge waits for a log that is not written");
    }
}
