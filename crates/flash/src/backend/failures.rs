//! Programs behind a failed program of the same block.
//!
//! A block takes no program after one that failed; the media enforce this. But the FTL learns of a failure only when
//! the list has finished. By then it may have submitted or prepared more programs of the block. A real controller
//! checks the status of each program. So the backend does not begin these programs: they fail as well, and change
//! nothing. The FTL finds that their slots hold no data and programs them elsewhere. Programs that the FTL prepares
//! after it has learned of the failure go to the media, which refuse them.

use std::collections::BTreeMap;

use base::engine::Handle;
use base::units::SuperblockId;

use super::command_table::CommandTable;
use super::{Command, List};

/// The failed programs that the FTL has been told of, or will be.
#[derive(Clone, Debug, Default)]
pub(super) struct Failures {
    /// The number of lists with failed programs that the FTL has taken back.
    reported: u32,
    /// The superblocks in which a program failed, each with the number of the report that told the FTL; none before the
    /// report.
    blocks: BTreeMap<SuperblockId, Option<u32>>,
}

impl Failures {
    /// The number of reports so far. A list remembers this number from its opening.
    #[inline]
    pub(super) const fn reported(&self) -> u32 {
        self.reported
    }

    #[cold]
    fn note(&mut self, superblock: SuperblockId) {
        self.blocks.insert(superblock, None);
    }

    pub(super) fn clear(&mut self) {
        self.blocks.clear();
    }
}

impl CommandTable {
    /// True if a program has failed in the superblock of a command since its list was opened.
    #[cold]
    pub(super) fn has_unheard_failure(&self, handle: Handle<Command>) -> bool {
        let command = &self.commands[handle];
        // Failures before a power loss are not here: the FTL learned of them from the media.
        let reported = self.failures.blocks.get(&command.target.superblock).copied();
        reported.is_some_and(|reported| reported.is_none_or(|reported| self.lists[command.list].known < reported))
    }

    /// Notes a failed program; its list will report it to the FTL.
    #[cold]
    pub(super) fn note_failure(&mut self, handle: Handle<Command>) {
        self.failures.note(self.commands[handle].target.superblock);
    }

    /// Numbers the report of a list's failures, when the FTL takes the list back.
    #[inline]
    pub(super) fn report_failures(&mut self, list: Handle<List>) {
        if !self.failures.blocks.is_empty() {
            self.report_noted_failures(list);
        }
    }

    #[cold]
    fn report_noted_failures(&mut self, list: Handle<List>) {
        let reported = self.failures.reported + 1;
        let mut next = self.lists[list].first;
        while let Some(handle) = next {
            let command = &self.commands[handle];
            next = command.sibling;
            if command.failed
                && !command.refused
                && let Some(unheard) = self.failures.blocks.get_mut(&command.target.superblock)
            {
                *unheard = Some(reported);
                self.failures.reported = reported;
            }
        }
    }
}
