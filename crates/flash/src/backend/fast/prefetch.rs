//! Prefetches of memory that coming events will need. They change no result.

use base::engine::Handle;
use base::prefetch::{prefetch_all, prefetch_whole};

use crate::backend::effect::is_compared;
use crate::backend::{Backend, Command, Event, List, Op};
use base::units::{Lpn, Psn};

impl Backend {
    /// Prefetches for a read of this mapping unit at its place that will follow: the state of its page, and its spare
    /// area if the read will be compared with it or has content.
    #[inline]
    pub fn prefetch_read(&self, lpn: Lpn, psn: Psn) {
        self.prefetch_read_behind(lpn, psn, None);
    }

    /// Prefetches as [`Self::prefetch_read`] does, unless the same cache lines were prefetched for a read of the slot
    /// `before`.
    #[inline]
    pub fn prefetch_read_behind(&self, lpn: Lpn, psn: Psn, before: Option<Psn>) {
        match self.payload.is_present() || is_compared(lpn) {
            true => self.media.prefetch_spare_behind(psn, before),
            false => self.media.prefetch_state(psn),
        }
    }

    /// The program or copy-back that an event will end, if the event is the end of an array's work.
    #[must_use]
    #[inline]
    pub fn ends_program(&self, event: Event) -> Option<Handle<Command>> {
        let Event::Array { die, .. } = event else { return None };
        let command = self.dies[die as usize].array?;
        matches!(self.table.commands[command].op, Op::Program | Op::CopyBack).then_some(command)
    }

    /// Prefetches the command whose array work an event will end, and its slots.
    #[inline]
    pub fn prefetch_ending(&self, event: Event) {
        let Event::Array { die, .. } = event else { return };
        let Some(command) = self.dies[die as usize].array else { return };
        self.table.commands.prefetch(command);
        let slots = self.table.slots_per_command as usize;
        let first = self.table.first_slot(command);
        prefetch_all(self.table.slots.get(first..first + slots));
    }

    /// Prefetches the spare area that the next command on this command's die will read.
    #[inline]
    pub fn prefetch_behind(&self, command: Handle<Command>) {
        let Some(next) = self.behind(command) else { return };
        if self.table.commands[next].op == Op::Read {
            self.media.prefetch_spare(self.slot(next, 0).1.psn);
        }
    }

    /// Prefetches the command that will begin on a die after `command`, which begins now: a command that waits there,
    /// or else the next list of its controller. If many requests wait, the command is in no cache any more.
    #[inline]
    pub(in crate::backend) fn prefetch_next(&self, command: Handle<Command>) {
        if self.table.commands.is_large() {
            self.prefetch_waiting(command);
        }
    }

    #[inline(never)]
    fn prefetch_waiting(&self, command: Handle<Command>) {
        if let Some(next) = self.behind(command) {
            self.prefetch_command(next);
        } else if let Some(next) = self.next_list(command) {
            self.table.lists.prefetch(next);
        }
    }

    /// Prefetches the slots and the target of the command that will begin on the die next, while the array works for
    /// `command`.
    #[inline]
    pub(in crate::backend) fn prefetch_next_data(&self, command: Handle<Command>) {
        if self.table.commands.is_large() {
            self.prefetch_waiting_data(command);
        }
    }

    #[inline(never)]
    fn prefetch_waiting_data(&self, command: Handle<Command>) {
        if let Some(next) = self.behind(command) {
            self.table.lists.prefetch(self.table.commands[next].list);
        } else if let Some(first) = self.next_list(command).and_then(|next| self.table.lists[next].first) {
            self.prefetch_command(first);
        }
    }

    /// Prefetches a command and its first slot.
    #[inline]
    fn prefetch_command(&self, command: Handle<Command>) {
        self.table.commands.prefetch(command);
        prefetch_whole(self.table.slots.get(self.table.first_slot(command)));
    }

    /// The first command that waits on the die of `command`.
    #[inline]
    fn behind(&self, command: Handle<Command>) -> Option<Handle<Command>> {
        self.dies[self.table.commands[command].unit as usize].queue.peek()
    }

    /// The first list that waits for the controller of a command.
    #[inline]
    fn next_list(&self, command: Handle<Command>) -> Option<Handle<List>> {
        let controller = self.table.lists[self.table.commands[command].list].controller()?;
        self.controllers.peek_next(controller)
    }

    /// Prefetches the pages that a program will write, while its data crosses the channel.
    #[inline]
    pub(in crate::backend) fn prefetch_target(&self, command: Handle<Command>) {
        let target = self.table.commands[command].target;
        let psn = self.media.geometry().slot(target.superblock, target.offset);
        self.media.prefetch_state(psn);
        self.media.prefetch_spare(psn);
    }
}
