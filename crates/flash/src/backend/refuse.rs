//! What becomes of the programs behind one that failed.
//!
//! A block takes no program behind one that failed, and the media see to that. But the FTL hears of a failure only when
//! the list has finished, and by then more programs of the block may have been handed in, or be put together. A
//! controller looks at the status of each program, so it does not begin those: they fail as well, untouched. The FTL
//! finds that their slots hold no data and programs them elsewhere. What the FTL asks for after it has heard of the
//! failure is another matter: that goes to the media, and they refuse it.

use std::collections::BTreeMap;

use crate::nand::Sector;
use base::engine::Handle;
use base::units::SuperblockId;

use super::{Backend, Command, List, Observer, Op};

/// The failed programs that the FTL has heard of, or is to hear of.
#[derive(Clone, Debug, Default)]
pub(super) struct Failures {
    /// Lists with failed programs that the FTL has been given back.
    reported: u32,
    /// The superblocks in which a program failed, each with the number of the list that told the FTL of it.
    blocks: BTreeMap<SuperblockId, Option<u32>>,
}

impl Failures {
    /// How much the FTL has heard; a list keeps it from when it was opened.
    #[inline]
    pub(super) const fn reported(&self) -> u32 {
        self.reported
    }

    #[cold]
    fn note(&mut self, superblock: SuperblockId) {
        self.blocks.insert(superblock, None);
    }

    /// Everything is forgotten that the FTL might have heard.
    pub(super) fn clear(&mut self) {
        self.blocks.clear();
    }
}

impl<S: Sector, O: Observer> Backend<S, O> {
    /// True if a program is not begun, because one failed in its block since its list was opened.
    pub(super) fn is_refused(&self, handle: Handle<Command>) -> bool {
        let command = &self.commands[handle];
        if !matches!(command.op, Op::Program | Op::CopyBack) || !self.media.refuses(command.target, command.count) {
            return false;
        }
        // Of one from before the power was lost the FTL knows as much as the media say.
        let reported = self.failures.blocks.get(&command.target.superblock).copied();
        reported.is_some_and(|reported| reported.is_none_or(|reported| self.lists[command.list].known < reported))
    }

    /// A program has failed: its list will tell the FTL.
    #[cold]
    pub(super) fn note_failure(&mut self, handle: Handle<Command>) {
        self.failures.note(self.commands[handle].target.superblock);
    }

    /// The FTL is given a list back, and hears with it of what failed.
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
