//! Superblocks that go on without a bad member.
//!
//! Each stripe of such a superblock has a unit of data less. Nothing is programmed at the member's offsets, and the
//! choice of victims counts its slots like valid mapping units, because an erase does not free them.

use base::units::SuperblockId;
use flash::nand::Media;

use super::BlockManager;
use crate::sabotage::Sabotage;

impl BlockManager {
    /// The slots that a superblock lacks because a member is missing.
    pub(in crate::page) fn missing_slots(&self, superblock: SuperblockId) -> u32 {
        if self.table.missing(superblock).is_some() { self.layout.array.superblock_slots() } else { 0 }
    }

    /// Slots of a closed superblock that an erase would not free, as the choice of victims counts them: the valid slots
    /// and the slots of a missing member, but 0 if no slot is valid.
    pub(in crate::page) fn occupied(&self, superblock: SuperblockId) -> u32 {
        match self.table.valid(superblock) {
            0 => 0,
            valid => valid + self.missing_slots(superblock),
        }
    }

    /// Tells the choice of victims that `units` mapping units of a closed superblock have become invalid. The table no
    /// longer counts them.
    #[inline]
    pub(in crate::page) fn note_invalid(&mut self, pool: u32, superblock: SuperblockId, units: u32) {
        if self.is_set_aside(superblock) {
            return;
        }
        let kind = self.kind_in(pool);
        (0..units).for_each(|_| self.victims[kind].invalidated(pool, superblock));
        if self.layout.striping.is_some() && units > 0 && self.table.valid(superblock) == 0 {
            let missing = self.missing_slots(superblock);
            (0..missing).for_each(|_| self.victims[kind].invalidated(pool, superblock));
        }
    }

    /// Slots from an offset on that can be written in a superblock.
    pub(in crate::page) fn room_behind(&self, superblock: SuperblockId, offset: u32) -> u32 {
        let slots = self.layout.shape.superblock_slots();
        let Some(striping) = &self.layout.striping else { return slots - offset };
        let before = |offset| striping.slots_before(self.table.missing(superblock), offset);
        before(slots) - before(offset)
    }

    /// A lower bound on the slots in `free` free superblocks of a pool.
    pub(in crate::page) fn room_of_free(&self, pool: u32, free: u32) -> u32 {
        let missing = self.pools[pool as usize].missing_slots;
        free * self.layout.shape.superblock_slots() - missing.min(free * self.layout.array.superblock_slots())
    }

    /// The first offset from `offset` on that holds data. Notes the offsets of a missing member on the way as passed.
    pub(super) fn skip_missing(&mut self, superblock: SuperblockId, mut offset: u32) -> u32 {
        loop {
            self.note_advance(superblock, offset);
            let missing = self.table.missing(superblock);
            let skipped = self.layout.striping.as_ref().filter(|striping| striping.skips(missing, offset));
            let end = self.layout.shape.superblock_slots();
            let Some(striping) = skipped.filter(|_| offset < end) else { return offset };
            offset += striping.unit.get();
        }
    }

    /// The offset of the first slot with data when a superblock is opened.
    pub(super) fn first_offset(&self, superblock: SuperblockId) -> u32 {
        let missing = self.table.missing(superblock);
        let skipped = self.layout.striping.as_ref().filter(|striping| striping.skips(missing, 0));
        skipped.map_or(0, |striping| striping.unit.get())
    }

    /// At a mount: finds the superblocks that go on without a member.
    pub(in crate::page) fn recall_missing(&mut self, media: &Media) {
        for superblock in (0..self.layout.shape.superblock_count()).map(SuperblockId::new) {
            if let Some(missing) = self.layout.missing(media, superblock)
                && !self.planted.is(Sabotage::MissingForgotten)
            {
                self.note_missing(superblock, missing);
            }
        }
    }

    /// Makes a superblock, erased or free, go on without these members. Returns false if it cannot, and is out of use.
    pub(super) fn go_on_without(&mut self, media: &mut Media, superblock: SuperblockId, lost: &[SuperblockId]) -> bool {
        let [member] = lost else { return lost.is_empty() };
        let Some((_, number)) = self.member(*member).filter(|_| self.can_miss(superblock)) else { return false };
        media.retire(*member);
        self.table.set_failing(superblock, false);
        self.note_missing(superblock, number);
        true
    }

    /// True if a superblock can go on without a member: it has all its members now.
    pub(super) fn can_miss(&self, superblock: SuperblockId) -> bool {
        let can = self.layout.striping.as_ref().is_some_and(|striping| striping.can_miss());
        can && self.table.missing(superblock).is_none()
    }

    /// The superblock of a member, and the member's number.
    fn member(&self, member: SuperblockId) -> Option<(SuperblockId, u32)> {
        self.layout.striping.as_ref().map(|striping| striping.superblock_of(&self.layout.array, member))
    }

    fn note_missing(&mut self, superblock: SuperblockId, number: u32) {
        let pool = self.pool_of(superblock);
        self.table.set_missing(superblock, number);
        self.pools[pool as usize].missing_slots += self.layout.array.superblock_slots();
    }

    /// Moves a superblock, with its missing slots, from the counts of one pool to the counts of another.
    pub(in crate::page) fn move_usable(&mut self, superblock: SuperblockId, from: u32, to: u32) {
        let missing = self.missing_slots(superblock);
        let source = &mut self.pools[from as usize];
        (source.usable, source.missing_slots) = (source.usable - 1, source.missing_slots - missing);
        let target = &mut self.pools[to as usize];
        (target.usable, target.missing_slots) = (target.usable + 1, target.missing_slots + missing);
    }
}
