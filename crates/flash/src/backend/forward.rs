//! The prioritised forwarder: gives host reads the shortest way to a die (Seong et al., Sec. 3.4).
//!
//! With host reads first at the dies and on the channels, a host read waits only for work that cannot be interrupted: a
//! primitive on its channel, and the whole operation under way on its die. An operation that has not begun waits behind
//! the host read. An operation that has begun goes first on its channel, so that it ends soon.

use base::engine::{EventQueue, Handle};
use base::units::Time;

use super::queue::CLASSES;
use super::{Backend, Class, Command, CommandState, Event, Order};

/// The queues of host reads and of all other commands, which are the same under both orders.
const FIRST: usize = Order::ReadFirst.queue(Class::HostRead, false);
const LAST: usize = Order::ReadFirst.queue(Class::Other, false);
const _: () = assert!(FIRST < LAST && LAST < CLASSES);

impl Backend {
    /// The queue in which a command waits for its channel, if host reads go first there.
    pub(super) fn urgency(&self, handle: Handle<Command>) -> usize {
        let command = &self.table.commands[handle];
        let awaited = self.rules.forwards && self.host_read_waits(command.die.get());
        if awaited { FIRST } else { Order::ReadFirst.queue(command.class, false) }
    }

    fn host_read_waits(&self, die: u32) -> bool {
        let mut heads = self.rules.units_of(die).filter_map(|unit| self.dies[unit as usize].queue.peek());
        heads.any(|head| self.table.commands[head].class.is_host_read())
    }

    /// Speeds up the commands that occupy a die, if a host read waits for the die.
    pub(super) fn forward_to<E: From<Event> + Copy>(&mut self, now: Time, die: u32, events: &mut EventQueue<E>) {
        let state = &self.dies[die as usize];
        let occupants = [state.array, state.register];
        if !self.host_read_waits(die) {
            return;
        }
        for handle in occupants.into_iter().flatten() {
            let command = &self.table.commands[handle];
            let untouched =
                matches!(command.state, CommandState::CommandCycles | CommandState::DataIn) && command.crossed == 0;
            // The command behind an occupant that has begun steps back later, when that occupant is done.
            if untouched && occupants.iter().all(Option::is_some) {
                continue;
            }
            let channel = self.channel_of(handle) as usize;
            // Only a command that waits for the channel can move to another queue.
            if !self.channels[channel].queue.remove(&mut self.table.commands, LAST, handle) {
                continue;
            }
            if untouched {
                let command = &mut self.table.commands[handle];
                command.wait += now - command.ready;
                (command.ready, command.state) = (now, CommandState::Queued);
                let state = &mut self.dies[die as usize];
                (state.array, state.register) = (None, None);
                let class = self.class_at_die(handle);
                self.dies[die as usize].queue.push_front(&mut self.table.commands, class, handle);
                return self.next_command(now, die, events);
            }
            self.channels[channel].queue.push(&mut self.table.commands, FIRST, handle);
        }
    }
}
