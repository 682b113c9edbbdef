//! Gates: the order of programs behind a program that waits for a read.

use base::engine::Handle;
use flash::backend::Command;

/// The latest program of each block that waits for a read. Pages of a block are programmed in order, so later programs
/// of the block wait for it. `K` names the block, or another object whose programs have an order.
#[derive(Clone, Debug)]
pub(crate) struct Gates<K>(Vec<(K, Handle<Command>)>);

impl<K> Default for Gates<K> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<K: Copy + PartialEq> Gates<K> {
    /// The program for which later programs of `of` have to wait.
    #[inline]
    pub(crate) fn of(&self, of: K) -> Option<Handle<Command>> {
        self.0.iter().find(|(key, _)| *key == of).map(|(_, command)| *command)
    }

    /// Makes later programs of `of` wait for `command`, which must not be the gate of another block.
    pub(crate) fn set(&mut self, of: K, command: Handle<Command>) {
        match self.0.iter_mut().find(|(key, _)| *key == of) {
            Some((_, gate)) => *gate = command,
            None => self.0.push((of, command)),
        }
    }

    /// Removes a program that has ended.
    #[inline]
    pub(crate) fn done(&mut self, command: Handle<Command>) {
        if let Some(at) = self.0.iter().position(|(_, gate)| *gate == command) {
            self.0.swap_remove(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::num::NonZeroU32;

    #[test]
    fn the_latest_gate_holds_until_its_command_is_done() {
        let command = |number| Handle::from_number(NonZeroU32::new(number).expect("not 0"));
        let (first, second, other) = (command(1), command(2), command(3));
        let mut gates = Gates::default();
        gates.set(1, first);
        gates.set(2, other);
        gates.set(1, second);
        gates.done(first);
        assert_eq!((gates.of(1), gates.of(2), gates.of(3)), (Some(second), Some(other), None));
        gates.done(second);
        assert_eq!((gates.of(1), gates.of(2)), (None, Some(other)));
    }
}
