//! Prefetches what coming events will need. It changes nothing that anybody sees.

use base::engine::Handle;

use super::{Backend, Command, Event, Observer, Op};
use crate::nand::Sector;

impl<S: Sector, O: Observer> Backend<S, O> {
    /// The program or copy-back that will end with an event, if it is such an event.
    #[must_use]
    #[inline]
    pub fn ends_program(&self, event: Event) -> Option<Handle<Command>> {
        let Event::Array { die, .. } = event else { return None };
        let command = self.dies[die as usize].array?;
        matches!(self.commands[command].op, Op::Program | Op::CopyBack).then_some(command)
    }

    /// Prefetches the spare area that the command behind this one on its die will read.
    #[inline]
    pub fn fetch_behind(&self, command: Handle<Command>) {
        let die = self.commands[command].die;
        let Some(next) = self.dies[die.index()].queue.peek() else { return };
        if self.commands[next].op == Op::Read {
            self.media.fetch_spare(self.slot(next, 0).1.psn);
        }
    }

    /// Prefetches the pages that a program will write, while its data crosses the channel.
    #[inline]
    pub(super) fn fetch_target(&self, command: Handle<Command>) {
        let target = self.commands[command].target;
        let psn = self.media.geometry().slot(target.superblock, target.offset);
        self.media.fetch_state(psn);
        self.media.fetch_spare(psn);
    }
}
