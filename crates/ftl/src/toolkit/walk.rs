//! Cursors over the commands of a list and over their slots. They borrow no array, so between two items the caller can
//! change the array or use another array.

use base::engine::Handle;
use flash::backend::{Backend, Command, List, Slot, SlotRef};

/// The commands of a list that has finished.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Commands {
    next: Option<Handle<Command>>,
}

impl Commands {
    #[inline]
    pub(crate) fn of(backend: &Backend, list: Handle<List>) -> Self {
        Self { next: backend.list(list).first() }
    }

    #[inline]
    pub(crate) fn next<'a>(&mut self, backend: &'a Backend) -> Option<(Handle<Command>, &'a Command)> {
        let handle = self.next?;
        let command = backend.command(handle);
        self.next = command.sibling();
        Some((handle, command))
    }
}

/// The slots of all commands of a list that has finished.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slots {
    commands: Commands,
    command: Option<(Handle<Command>, u32)>,
    at: u32,
}

impl Slots {
    #[inline]
    pub(crate) fn of(backend: &Backend, list: Handle<List>) -> Self {
        Self { commands: Commands::of(backend, list), command: None, at: 0 }
    }

    #[inline]
    pub(crate) fn next(&mut self, backend: &Backend) -> Option<(SlotRef, Slot)> {
        loop {
            if let Some((command, _)) = self.command.filter(|(_, count)| self.at < *count) {
                self.at += 1;
                return Some(backend.slot(command, self.at - 1));
            }
            let (handle, command) = self.commands.next(backend)?;
            (self.command, self.at) = (Some((handle, command.count())), 0);
        }
    }
}
