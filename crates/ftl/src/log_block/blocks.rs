//! The life of a block: taken, programmed, marked for erase, erased or retired.

use base::units::SuperblockId;
use flash::backend::{Cause, Class};

use super::logs::LogId;
use super::{Kind, LogBlockFtl};
use crate::port::Flash;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum State {
    /// Erased, and in a free list.
    #[default]
    Free,
    /// A data block, a log block, or the destination of a merge.
    Used,
    /// All its pages are obsolete; reads of it may still be under way.
    Doomed,
    /// An erase is under way.
    Erasing,
    /// Retired.
    Bad,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Block {
    pub(super) state: State,
    /// A program in it has failed: it takes no more pages, and is retired instead of erased.
    pub(super) failing: bool,
    /// Reads under way.
    pub(super) pins: u32,
    /// Programs under way, if it is a data block.
    pub(super) programs: u32,
    /// The first page that may be programmed, if it is a data block.
    pub(super) next: u32,
    /// Its log block, if it is one.
    pub(super) log: Option<LogId>,
}

impl Block {
    /// Takes the block into use.
    pub(super) fn open(&mut self) {
        *self = Self { state: State::Used, ..Self::default() };
    }
}

impl LogBlockFtl {
    pub(super) fn block(&mut self, superblock: SuperblockId) -> &mut Block {
        &mut self.blocks[superblock.index()]
    }

    /// Marks a block for erase: it is erased, or retired if it is failing, once no read of it is under way. Returns
    /// true if that takes time.
    pub(super) fn mark_for_erase(&mut self, flash: &mut Flash<'_>, superblock: SuperblockId, cause: Cause) -> bool {
        self.block(superblock).state = State::Doomed;
        if self.block(superblock).pins > 0 {
            return true;
        }
        if self.block(superblock).failing {
            self.retire(flash, superblock);
            return false;
        }
        self.block(superblock).state = State::Erasing;
        let list = flash.backend.open_list(Class::Other, Kind::Erase.tag(0));
        flash.backend.add_erase(list, cause, superblock);
        self.submit(flash, list);
        true
    }

    /// This many reads of a block have ended.
    pub(super) fn unpin(&mut self, flash: &mut Flash<'_>, superblock: SuperblockId, reads: u32) {
        let block = self.block(superblock);
        block.pins = block.pins.checked_sub(reads).expect("a pin for every unpin");
        if block.pins == 0 && block.state == State::Doomed && !self.mark_for_erase(flash, superblock, Cause::Merge) {
            self.gone(superblock);
        }
    }

    /// An erase has finished.
    pub(super) fn erased(&mut self, flash: &mut Flash<'_>, superblock: SuperblockId, failed: bool) {
        if failed {
            self.retire(flash, superblock);
        } else {
            self.block(superblock).state = State::Free;
            let erases = flash.backend.media().erases(superblock);
            self.allocator.put(self.geometry.die_of(superblock), superblock, erases);
        }
        self.gone(superblock);
    }

    pub(super) fn retire(&mut self, flash: &mut Flash<'_>, superblock: SuperblockId) {
        flash.backend.media_mut().retire(superblock);
        self.block(superblock).state = State::Bad;
    }

    /// A marked block is free or retired: merges and writes that waited for it go on.
    fn gone(&mut self, superblock: SuperblockId) {
        self.changed_pools = true;
        let under_way = self.jobs.iter_mut().take(self.spec.parallel as usize);
        under_way.for_each(|job| job.erasing.retain(|block| *block != superblock));
    }
}
