//! Failing blocks: a block in which a program has failed takes no more programs before it is erased.
//!
//! Real parts have this rule: pages programmed earlier stay readable, and the FTL should retire the block. A page torn
//! by a power loss has not failed, because no status reported it.

use base::units::{Psn, SuperblockId};

use super::{Media, Target};
use crate::nand::Spare;

impl Media {
    /// The rated program/erase cycles of a block.
    #[must_use]
    pub const fn endurance(&self) -> u32 {
        self.endurance
    }

    /// True if a slot holds data: its program neither failed nor was torn.
    #[must_use]
    #[inline]
    pub fn holds_data(&self, psn: Psn) -> bool {
        matches!(self.spare(psn), Spare::Data { .. })
    }

    /// True if a program has failed in any block of a superblock since it was erased.
    #[must_use]
    pub fn is_failing(&self, superblock: SuperblockId) -> bool {
        self.failing > 0 && self.planes(superblock).iter().any(|block| block.failing)
    }

    /// True if a program of `count` slots from `target` on goes to a block in which a program has failed.
    #[inline]
    pub(crate) fn refuses(&self, target: Target, count: u32) -> bool {
        // Nearly all drives have no failing block, and pay for one comparison.
        self.failing > 0 && self.goes_to_failing(target, count)
    }

    #[cold]
    fn goes_to_failing(&self, target: Target, count: u32) -> bool {
        let slots = self.geometry.slots;
        let is_failing = |slot: u32| {
            let (_, plane) = self.geometry.page_and_plane(target.offset + slot);
            self.blocks[self.geometry.block(target.superblock, plane).index()].failing
        };
        (0..count).step_by(slots as usize).any(is_failing)
    }

    /// Marks the blocks in which the last program failed. Returns false, as the result of that program.
    #[cold]
    pub(super) fn note_failures(&mut self, target: Target, count: u32) -> bool {
        for first in (0..count).step_by(self.geometry.slots as usize) {
            let (_, plane) = self.geometry.page_and_plane(target.offset + first);
            let psn = self.geometry.slot(target.superblock, target.offset + first);
            if self.spare(psn) == Spare::Torn {
                self.set_failing(target.superblock, plane, true);
            }
        }
        false
    }

    pub(super) fn set_failing(&mut self, superblock: SuperblockId, plane: u32, failing: bool) {
        let block = self.block_mut(superblock, plane);
        let before = std::mem::replace(&mut block.failing, failing);
        self.failing = self.failing + u32::from(failing) - u32::from(before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nand::{FaultSpec, Faults, Geometry, Mode, Stream};
    use base::units::Lpn;

    const BLOCK: SuperblockId = SuperblockId::new(1);

    /// An array of superblocks of two planes, with rows of four slots in two pages; the `nth` page program fails.
    fn media(one_shot: u32, nth: u64) -> Media {
        let geometry = Geometry::new(1, 1, 1, 2, 2, 4, 6, 2, 2).expect("a small array");
        let mut media =
            Media::new(geometry, 10, one_shot, Faults::new(&FaultSpec::default(), 1)).with_slc_mode(2, None);
        media.faults_mut().fail_program(nth);
        media
    }

    fn program_for(media: &mut Media, what: (Stream, Mode), offset: u32, count: u32) -> bool {
        let spare = |i: usize| (Spare::Data { lpn: Lpn::new(i as u32), version: 1 }, false);
        media.program(Target { superblock: BLOCK, offset }, count, what, spare, &[])
    }

    fn program(media: &mut Media, offset: u32, count: u32) -> bool {
        program_for(media, (Stream::HOST, Mode::Full), offset, count)
    }

    #[test]
    #[should_panic(expected = "behind a program that failed")]
    fn a_block_takes_no_program_behind_one_that_failed() {
        let mut media = media(1, 0);
        assert!(!program(&mut media, 0, 4));
        program(&mut media, 4, 4);
    }

    #[test]
    #[should_panic(expected = "behind a program that failed")]
    fn a_block_takes_no_program_of_another_stream_behind_a_failure() {
        let mut media = media(1, 1);
        assert!(!program(&mut media, 0, 4));
        program_for(&mut media, (Stream::COPIES, Mode::Full), 6, 2);
    }

    #[test]
    #[should_panic(expected = "behind a program that failed")]
    fn a_block_in_slc_mode_takes_no_program_behind_a_failure() {
        let mut media = media(1, 0);
        assert!(!program_for(&mut media, (Stream::HOST, Mode::Slc), 0, 4));
        program_for(&mut media, (Stream::HOST, Mode::Slc), 4, 4);
    }

    #[test]
    #[should_panic(expected = "behind a program that failed")]
    fn a_block_takes_no_word_line_behind_one_that_failed_in_part() {
        let mut media = media(3, 4);
        assert!(!program(&mut media, 0, 12), "the third page of the first plane fails, and the command goes on");
        assert!(matches!(media.spare(media.geometry.slot(BLOCK, 11)), Spare::Data { .. }));
        program(&mut media, 12, 12);
    }

    #[test]
    fn the_other_plane_of_a_superblock_has_not_failed() {
        let mut media = media(1, 1);
        assert!(!program(&mut media, 0, 4));
        assert!(media.is_failing(BLOCK) && !media.is_failing(SuperblockId::new(0)));
        let at = |offset| Target { superblock: BLOCK, offset };
        assert_eq!([4, 6].map(|offset| media.refuses(at(offset), 2)), [false, true], "one page, of either plane");
        assert!(media.refuses(at(4), 4) && !media.refuses(at(4), 1));
        assert!(program(&mut media, 4, 2));
    }

    #[test]
    fn pages_before_a_failure_stay_readable_and_an_erase_clears_it() {
        let mut media = media(1, 2);
        assert!(program(&mut media, 0, 4));
        assert!(!program(&mut media, 4, 4));
        assert!(media.read(media.geometry.slot(BLOCK, 3), &mut []).readable);
        assert!(media.erase(BLOCK));
        assert!(!media.is_failing(BLOCK));
        assert!(program(&mut media, 0, 4));
    }

    #[test]
    fn a_program_torn_by_a_power_cut_is_no_failure() {
        let mut media = media(1, 0);
        assert!(!program(&mut media, 0, 4), "it would have failed");
        media.tear_program(Target { superblock: BLOCK, offset: 0 }, 4);
        assert_eq!(media.spare(media.geometry.slot(BLOCK, 0)), Spare::Torn);
        assert!(!media.is_failing(BLOCK));
        assert!(program(&mut media, 4, 4), "the FTL decides whether it goes on behind a torn page");
    }
}
