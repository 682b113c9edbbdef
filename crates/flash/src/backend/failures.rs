//! Programs behind a failed program of the same block.
//!
//! A block takes no program after one that failed; the media enforce this. But the FTL learns of a failure only when
//! the list has finished. By then it may have submitted or prepared more programs of the block. A real controller
//! checks the status of each program. So the backend does not begin these programs: they fail as well, and change
//! nothing. The FTL finds that their slots hold no data and programs them elsewhere. Programs that the FTL prepares
//! after it has learned of the failure go to the media, which refuse them.

use std::collections::BTreeMap;

use base::units::SuperblockId;

/// The failed programs that the FTL has been told of, or will be.
#[derive(Clone, Debug, Default)]
pub(super) struct Failures {
    /// The number of lists with failed programs that the FTL has taken back.
    pub(super) reported: u32,
    /// The superblocks in which a program failed, each with the number of the report that told the FTL; none before the
    /// report.
    pub(super) blocks: BTreeMap<SuperblockId, Option<u32>>,
}

impl Failures {
    /// The number of reports so far. A list remembers this number from its opening.
    #[inline]
    pub(super) const fn reported(&self) -> u32 {
        self.reported
    }

    /// Notes that a program has failed in a superblock.
    #[cold]
    pub(super) fn note(&mut self, superblock: SuperblockId) {
        self.blocks.insert(superblock, None);
    }

    pub(super) fn clear(&mut self) {
        self.blocks.clear();
    }
}
