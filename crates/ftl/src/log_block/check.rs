//! The invariants that hold between two events.

use std::collections::BTreeSet;

use base::units::Lpn;
use flash::nand::{Media, Spare};

use super::LogBlockFtl;
use super::block_manager::BlockState;
use super::merge::MergePhase;

impl LogBlockFtl {
    /// Checks that the maps lead to every page and that every block has one use. Slow: for tests.
    ///
    /// # Panics
    /// If an invariant is broken.
    pub(super) fn check(&self, media: &Media) {
        for lpn in (0..self.mapping.units).map(Lpn::new) {
            if self.merges.is_in_buffer(self.mapping.address.split(lpn).0) {
                continue;
            }
            if let Some(psn) = self.mapping.place_of(media, lpn) {
                match media.spare(psn) {
                    Spare::Data { lpn: found, .. } => assert_eq!(found, lpn, "{lpn} maps to {psn}"),
                    other => panic!("{lpn} maps to {psn}, which holds {other:?}"),
                }
            }
        }
        self.mapping.logs.check();
        self.writer.waiting.check(|unit| self.mapping.address.split(unit.lpn).0);
        self.check_waiting();
        let queued = self.merges.jobs.iter().skip(self.merges.parallel as usize);
        assert!(
            queued.clone().all(|job| job.fold.phase == MergePhase::Idle && job.erasing.is_empty()),
            "a queued merge began"
        );
        let mut used = BTreeSet::new();
        let mut orphans = 0;
        let mut in_log = vec![0; self.mapping.logs.iter().map(|(id, _)| id as usize + 1).max().unwrap_or(0)];
        for lbn in 0..self.mapping.address.blocks() {
            orphans += u32::from(self.mapping.is_orphan(lbn));
            let buffered = self.merges.is_in_buffer(lbn);
            if let Some(block) = self.mapping.data[lbn as usize].filter(|_| !buffered) {
                assert!(used.insert(block), "{block} is the data block of two logical blocks");
                assert_eq!(self.blocks[block].log, None, "{block} is a data block");
            }
            let mut offsets = BTreeSet::new();
            for (offset, place) in self.mapping.logs.chain(lbn) {
                assert!(offsets.insert(offset), "page {offset} of block {lbn} is in the log twice");
                in_log[self.mapping.logs.locate(place).0 as usize] += 1;
            }
        }
        assert_eq!(self.mapping.orphans, orphans, "logical blocks with pages in the log and no data block");
        for (id, log) in self.mapping.logs.iter() {
            assert_eq!(log.valid, in_log[id as usize], "valid pages of log block {id}");
            // A log block may have its last pages in the buffer, or be marked for erase. It stays a log block until all
            // blocks that its merge has marked are erased; by then the physical block may be in use again.
            let given_up = self.merges.jobs.iter().any(|job| job.log == id && (job.dying || job.emptied));
            let over = given_up || self.blocks[log.superblock].state != BlockState::Used;
            assert!(over || used.insert(log.superblock), "{} is a log block, and something else", log.superblock);
        }
        for block in used {
            assert_eq!(self.blocks[block].state, BlockState::Used, "state of {block}");
        }
        let erased = self
            .blocks
            .in_state(BlockState::Free)
            .inspect(|block| assert!(media.is_erased(*block), "{block} is free, and not erased"));
        assert_eq!(erased.count(), self.blocks.allocator.count() as usize, "free blocks");
        for (erases, block) in self.blocks.allocator.known_wear() {
            assert_eq!(erases, media.erases(block), "how often {block}, which is free, was erased");
        }
    }

    /// Checks for each waiting write that a pass would skip that an attempt to place the write would do nothing.
    fn check_waiting(&self) {
        for (lbn, awaited) in self.writer.waiting.iter() {
            let unit = self.writer.waiting.first(lbn);
            let (_, offset) = self.mapping.address.split(unit.lpn);
            let in_buffer = !unit.is_whole(self.blocks.geometry.sectors) && self.merges.is_in_buffer(lbn);
            if in_buffer || self.is_worth_trying(awaited, lbn) {
                continue;
            }
            let data = self.mapping.data[lbn as usize].map(|block| &self.blocks[block]);
            let in_place = data.is_none_or(|block| !block.failing && offset >= block.next);
            assert!(!in_place || self.merges.is_folding(lbn), "{} waits, and its data block has room", unit.lpn);
            let choice = self.mapping.policy.place(&self.mapping.logs, self.blocks.pages, lbn, offset);
            assert!(!self.could_follow(choice), "{} waits, and the policy chooses {choice:?}", unit.lpn);
        }
    }
}
