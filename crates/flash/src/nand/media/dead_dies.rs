//! Dies that have failed as a whole.
//!
//! Reads of a failed die are uncorrectable, and its programs and erases fail. Each takes the time that it takes on a
//! good die: no publication says how long a failed die keeps a controller waiting, and the time depends on the failure.

use base::units::{DieId, Psn, SuperblockId};

use super::Media;

impl Media {
    /// Makes a die fail as a whole, for good.
    ///
    /// # Panics
    ///
    /// If the array has no such die.
    pub fn fail_die(&mut self, die: DieId) {
        assert!(die.get() < self.geometry.die_count(), "the array has no {die}");
        if self.dead_dies.contains(&die) {
            return;
        }
        self.dead_dies.push(die);
        let superblocks = self.geometry.superblock_count() / self.geometry.die_count();
        let first = die.get() * superblocks;
        (first..first + superblocks).for_each(|superblock| self.store_blocks(SuperblockId::new(superblock)));
    }

    /// The dies that have failed as a whole.
    #[must_use]
    pub fn dead_dies(&self) -> impl ExactSizeIterator<Item = DieId> + '_ {
        self.dead_dies.iter().copied()
    }

    /// True if the die of a superblock has failed as a whole.
    #[must_use]
    #[inline]
    pub fn is_dead(&self, superblock: SuperblockId) -> bool {
        !self.dead_dies.is_empty() && self.dead_dies.contains(&self.geometry.die_of(superblock))
    }

    /// True if a slot lies in a die that has failed as a whole.
    #[inline]
    pub(super) fn is_in_dead_die(&self, psn: Psn) -> bool {
        !self.dead_dies.is_empty() && self.is_dead(self.geometry.locate(psn).0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nand::{FaultSpec, Faults, Geometry, Mode, SectorKind, Spare, Stream, Target};
    use base::units::Lpn;

    #[test]
    fn a_failed_die_takes_no_program_and_no_erase_and_cannot_be_read() {
        let geometry = Geometry::new(2, 1, 1, 1, 1, 3, 4, 1, 1).expect("two dies");
        let mut media = Media::new(geometry.clone(), 10, 1, Faults::new(&FaultSpec::default(), 1));
        let program = |media: &mut Media, superblock, offset| {
            let target = Target { superblock: SuperblockId::new(superblock), offset };
            let spare = |_| (Spare::Data { lpn: Lpn::new(7), version: 1 }, false);
            media.program(target, 1, (Stream::HOST, Mode::Full), spare, &[])
        };
        assert!(program(&mut media, 3, 0) && program(&mut media, 0, 0) && media.cannot_fail());
        media.fail_die(DieId::new(1));
        let slot = |superblock| geometry.slot(SuperblockId::new(superblock), 0);
        let readable = |media: &mut Media, superblock| media.read(slot(superblock), &mut []).readable;
        assert!(!media.cannot_fail() && !media.is_all_readable());
        assert!(readable(&mut media, 0) && !readable(&mut media, 3));
        assert!(program(&mut media, 0, 1) && !program(&mut media, 4, 0));
        assert!(media.erase(SuperblockId::new(0)) && !media.erase(SuperblockId::new(3)));
        let mut saved = Vec::new();
        media.save(&mut saved).expect("into memory");
        let faults = Faults::new(&FaultSpec::default(), 1);
        let loaded = Media::load(SectorKind::Nothing, geometry, 10, 1, faults, None, &mut saved.as_slice());
        assert_eq!(loaded.expect("just saved").dead_dies().collect::<Vec<_>>(), [DieId::new(1)]);
    }
}
