//! Shared units that hold the chips they work with: a chip that one controller uses is closed to the others (Sung,
//! Sec. 4.1).
//!
//! So a unit that is free takes the first list that it can work on. Lists for one chip keep their order. A list whose
//! commands wait for those of another list is not taken before that one: it would hold a unit, and perhaps the last.

use crate::nand::Sector;
use base::engine::{EventQueue, Handle};
use base::units::Time;

use super::{Backend, Event, List, Observer};

impl<S: Sector, O: Observer> Backend<S, O> {
    /// The dies of a list are held, or no longer.
    pub(super) fn hold(&mut self, list: Handle<List>, held: bool) {
        let mut next = self.lists[list].first;
        while let Some(command) = next {
            next = self.commands[command].sibling;
            let die = &mut self.dies[self.commands[command].die.index()];
            die.held_by = if held { die.held_by + 1 } else { die.held_by - 1 };
        }
    }

    /// Free units take what they can work on.
    pub(super) fn assign<E: From<Event> + Copy>(&mut self, now: Time, events: &mut EventQueue<E>) {
        while let Some(controller) = self.controllers.iter().position(|controller| controller.list.is_none()) {
            let Some(list) = self.take_shared() else { return };
            self.hold(list, true);
            self.occupy(now, controller as u32, list, events);
        }
    }

    fn take_shared(&mut self) -> Option<Handle<List>> {
        let Self { shared, lists, commands, dies, .. } = self;
        let mut passed_leader = false;
        // A die that somebody in the queue waits for is held by those before it as much as by a unit.
        let mut passed: u64 = 0;
        shared.take_first(lists, |lists, handle| {
            let list = &lists[handle];
            let mut free = !(list.follows && passed_leader);
            let mut mask = 0;
            let mut next = list.first;
            while let Some(command) = next {
                next = commands[command].sibling;
                let die = commands[command].die;
                // Beyond 64 dies two may share a bit: then a list waits that need not, and none is taken too early.
                let bit = 1 << (die.get() % 64);
                free &= dies[die.index()].held_by == 0 && passed & bit == 0;
                mask |= bit;
            }
            if !free {
                passed |= mask;
                passed_leader |= list.leads;
            }
            free
        })
    }
}
