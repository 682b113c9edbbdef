//! The commands of a list, and their slots, one after another. Both are cursors that borrow no array, so what is found can be
//! used on the other array, or changed, before the next is asked for.

use base::engine::Handle;
use flash::backend::{Backend, Command, List, Observer, Slot, SlotRef};
use flash::nand::Sector;

/// The commands of a list that has finished.
#[derive(Clone, Copy, Debug)]
pub(super) struct Commands {
    next: Option<Handle<Command>>,
}

impl Commands {
    pub(super) fn of<S: Sector, O: Observer>(backend: &Backend<S, O>, list: Handle<List>) -> Self {
        Self { next: backend.list(list).first() }
    }

    pub(super) fn next<S: Sector, O: Observer>(&mut self, backend: &Backend<S, O>) -> Option<Handle<Command>> {
        let command = self.next?;
        self.next = backend.command(command).sibling();
        Some(command)
    }
}

/// The slots of all commands of a list that has finished.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slots {
    commands: Commands,
    command: Option<Handle<Command>>,
    at: u32,
}

impl Slots {
    pub(super) fn of<S: Sector, O: Observer>(backend: &Backend<S, O>, list: Handle<List>) -> Self {
        Self { commands: Commands::of(backend, list), command: None, at: 0 }
    }

    pub(super) fn next<S: Sector, O: Observer>(&mut self, backend: &Backend<S, O>) -> Option<(SlotRef, Slot)> {
        loop {
            if let Some(command) = self.command.filter(|command| self.at < backend.command(*command).count()) {
                self.at += 1;
                return Some(backend.slot(command, self.at - 1));
            }
            (self.command, self.at) = (Some(self.commands.next(backend)?), 0);
        }
    }
}
