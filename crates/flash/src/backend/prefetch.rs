//! Prefetches what coming events will need. It changes nothing that anybody sees.

use base::engine::Handle;
use base::prefetch::{prefetch_all, prefetch_whole};

use super::{Backend, Command, Controllers, Event, List, Observer, Op};
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

    /// Prefetches the command that the array of a die will end with an event, and as many slots as it may have.
    #[inline]
    pub fn fetch_ending(&self, event: Event) {
        let Event::Array { die, .. } = event else { return };
        let Some(command) = self.dies[die as usize].array else { return };
        self.commands.fetch(command);
        let slots = self.slots_per_command as usize;
        let first = command.index() * slots;
        prefetch_all(self.slots.get(first..first + slots));
    }

    /// Prefetches the spare area that the command behind this one on its die will read.
    #[inline]
    pub fn fetch_behind(&self, command: Handle<Command>) {
        let Some(next) = self.behind(command) else { return };
        if self.commands[next].op == Op::Read {
            self.media.fetch_spare(self.slot(next, 0).1.psn);
        }
    }

    /// A command begins: prefetches what its die will begin behind it, a command that waits there or else the next list
    /// of its controller. Where many requests wait, no cache has held it since it came.
    #[inline]
    pub(super) fn fetch_next(&self, command: Handle<Command>) {
        if self.commands.is_large() {
            self.fetch_waiting(command);
        }
    }

    #[inline(never)]
    fn fetch_waiting(&self, command: Handle<Command>) {
        if let Some(next) = self.behind(command) {
            self.fetch_command(next);
        } else if let Some(next) = self.next_list(command) {
            self.lists.fetch(next);
        }
    }

    /// The array works for a command: prefetches the rest of what its die will begin behind it.
    #[inline]
    pub(super) fn fetch_next_data(&self, command: Handle<Command>) {
        if self.commands.is_large() {
            self.fetch_waiting_data(command);
        }
    }

    #[inline(never)]
    fn fetch_waiting_data(&self, command: Handle<Command>) {
        if let Some(next) = self.behind(command) {
            self.lists.fetch(self.commands[next].list);
        } else if let Some(first) = self.next_list(command).and_then(|next| self.lists[next].first) {
            self.fetch_command(first);
        }
    }

    /// Prefetches a command and its first slot.
    #[inline]
    fn fetch_command(&self, command: Handle<Command>) {
        self.commands.fetch(command);
        prefetch_whole(self.slots.get(command.index() * self.slots_per_command as usize));
    }

    /// The command that waits first on the die of this one.
    #[inline]
    fn behind(&self, command: Handle<Command>) -> Option<Handle<Command>> {
        self.dies[self.commands[command].die.index()].queue.peek()
    }

    /// The list that waits first for the controller of a command.
    #[inline]
    fn next_list(&self, command: Handle<Command>) -> Option<Handle<List>> {
        let controller = self.lists[self.commands[command].list].controller()?;
        match self.controllers_kind {
            Controllers::PerDie | Controllers::PerChannel => self.controllers[controller as usize].queue.peek(),
            Controllers::None | Controllers::Shared(_) | Controllers::Background(_) => self.shared.peek(),
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
