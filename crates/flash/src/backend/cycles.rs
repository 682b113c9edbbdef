//! What a transfer takes besides its data: command and address cycles, and ONFI's waits between them and the data.
//!
//! Each plane of a command and each page of its data has cycles of its own. Ganged chips share their lines, so a gang
//! has those of one chip.

use crate::nand::Sector;
use base::engine::Handle;
use base::units::Span;

use super::{Backend, Command, Observer, Op, Stage, Timing};

impl Timing {
    /// Time of the command and address cycles of an operation on `pages` pages.
    #[must_use]
    pub fn commands(&self, op: Op, pages: u64) -> Span {
        // A copy-back has those of a read and of a program.
        self.command * if op == Op::CopyBack { 2 * pages } else { pages }
    }

    /// The same of a program, up to its data.
    #[must_use]
    pub fn before_data_in(&self, pages: u64) -> Span {
        (self.command + self.cycles.page_in) * pages
    }

    /// Time around the data of `pages` pages that go out.
    #[must_use]
    pub fn around_data_out(&self, pages: u64) -> Span {
        self.cycles.page_out * pages + self.cycles.turnaround
    }
}

impl<S: Sector, O: Observer> Backend<S, O> {
    /// The pages of a command that have cycles of their own: those of its planes and, for a program, of its word line.
    pub(super) fn pages_of(&self, handle: Handle<Command>) -> u64 {
        let command = &self.commands[handle];
        match command.op {
            Op::Erase => u64::from(self.media.geometry().stripe / self.timing.gang),
            // Most commands: a division would cost as much as the rest of their times.
            _ if command.count == 1 => 1,
            Op::Program | Op::CopyBack => u64::from(command.count.div_ceil(self.page_slots)),
            Op::Read => {
                let gang = self.timing.gang;
                let first = handle.index() * self.slots_per_command as usize;
                let slots = &self.slots[first..first + command.count as usize];
                let pages = slots.iter().map(|slot| self.media.geometry().page_of(slot.psn).get());
                let (mut count, mut last) = (0, None);
                for page in pages {
                    // A gang has one page; most reads have no gang, and no division.
                    let page = if gang == 1 { page } else { page / gang };
                    count += u64::from(last.replace(page) != Some(page));
                }
                count
            }
        }
    }

    /// Channel time of the next transfer of a command besides its data.
    #[inline(never)]
    pub(super) fn cycles(&self, handle: Handle<Command>) -> Span {
        let command = &self.commands[handle];
        match command.stage {
            // The second half of a copy-back with data in has cycles of its own.
            Stage::Command if command.sectors > 0 => self.timing.commands(Op::Read, self.pages_of(handle)),
            Stage::Command => self.timing.commands(command.op, self.pages_of(handle)),
            Stage::DataIn | Stage::Patch => self.timing.before_data_in(self.pages_of(handle)),
            Stage::Status => self.timing.cycles.status,
            Stage::DataOut => self.timing.around_data_out(self.pages_of(handle)),
        }
    }
}
