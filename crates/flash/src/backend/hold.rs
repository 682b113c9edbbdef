//! Shared controllers hold the chips that they work with: no other controller may use such a chip (Sung, Sec. 4.1).
//!
//! So a free controller takes the first list that it can work on. Lists for one chip keep their order. A list whose
//! commands depend on another list is not taken before that list: it would occupy a controller, perhaps the last one.

use crate::nand::Sector;
use base::engine::{EventQueue, Handle};
use base::units::{DieId, Time};

use super::{Backend, Event, List, Observer};

impl<S: Sector, O: Observer> Backend<S, O> {
    /// Marks the dies of a list as held, or releases them.
    pub(super) fn hold(&mut self, list: Handle<List>, held: bool) {
        if let Some(copies) = self.lists[list].copies() {
            return self.hold_copies(copies, held);
        }
        let mut next = self.lists[list].first;
        while let Some(command) = next {
            next = self.commands[command].sibling;
            let die = &mut self.dies[self.commands[command].die.index()];
            die.held_by = if held { die.held_by + 1 } else { die.held_by - 1 };
        }
    }

    /// Gives every free controller the first list that it can work on.
    pub(super) fn assign<E: From<Event> + Copy>(&mut self, now: Time, events: &mut EventQueue<E>) {
        while let Some(controller) = self.controllers.iter().position(|controller| controller.list.is_none()) {
            let Some(list) = self.take_shared() else { return };
            self.hold(list, true);
            self.occupy(now, controller as u32, list, events);
        }
    }

    fn take_shared(&mut self) -> Option<Handle<List>> {
        let Self { shared, lists, commands, copies, dies, .. } = self;
        let mut passed_leader = false;
        // An earlier list in the queue reserves its dies, as if a controller held them.
        let mut passed: u64 = 0;
        shared.take_first(lists, |lists, handle| {
            let list = &lists[handle];
            let mut free = !(list.follows && passed_leader);
            let mut mask = 0;
            let mut wants = |die: DieId| {
                // Beyond 64 dies, two dies may share a bit. Then a list may wait longer than necessary, but none is
                // taken too early.
                let bit = 1 << (die.get() % 64);
                free &= dies[die.index()].held_by == 0 && passed & bit == 0;
                mask |= bit;
            };
            let mut next = list.first;
            while let Some(command) = next {
                next = commands[command].sibling;
                wants(commands[command].die);
            }
            if let Some(at) = list.copies() {
                copies.dies_of(at).iter().for_each(|(die, _)| wants(DieId::new(*die)));
            }
            if !free {
                passed |= mask;
                passed_leader |= list.leads;
            }
            free
        })
    }
}
