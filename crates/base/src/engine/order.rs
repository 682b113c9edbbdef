//! The order of operations that overlap: each begins when all earlier conflicting operations have ended.

use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::ops::{Index, IndexMut};

use super::conflicts::{Conflicts, Interval};
use super::{Handle, Slab};

#[derive(Clone, Debug)]
struct Turn<T> {
    /// The operation; `None` in a free place.
    operation: Option<T>,
    interval: Interval,
    /// The number of operations that go first.
    blockers: u32,
    /// Operations that wait for this operation.
    waiters: Vec<Handle<T>>,
}

/// The operations under way and those that wait for them. Indexing panics if the operation has left.
#[derive(Clone, Debug)]
pub struct Order<T> {
    turns: Slab<Turn<T>>,
    present: BTreeSet<NonZeroU32>,
    conflicts: Conflicts<T>,
}

impl<T> Default for Order<T> {
    fn default() -> Self {
        Self { turns: Slab::default(), present: BTreeSet::new(), conflicts: Conflicts::default() }
    }
}

impl<T> Order<T> {
    /// Enters an operation that touches an interval; an empty interval conflicts with nothing. Returns true with the
    /// handle if the operation may begin at once.
    pub fn enter(&mut self, operation: T, interval: Interval) -> (Handle<T>, bool) {
        let turn = Turn { operation: Some(operation), interval, blockers: 0, waiters: Vec::new() };
        let handle = Handle::from_number(self.turns.insert(turn).number());
        self.present.insert(handle.number());
        if interval.is_empty() {
            return (handle, true);
        }
        let before = self.conflicts.enter(interval, handle);
        self.turn_mut(handle).blockers = before.len() as u32;
        before.iter().for_each(|other| self.turn_mut(*other).waiters.push(handle));
        (handle, before.is_empty())
    }

    /// Removes an operation that has ended. Returns it, and the operations that may begin now, in the order in which
    /// they were entered.
    ///
    /// # Panics
    ///
    /// If the operation has left already.
    pub fn leave(&mut self, handle: Handle<T>) -> (T, Vec<Handle<T>>) {
        let turn = self.turn_mut(handle);
        let operation = turn.operation.take().expect("an operation leaves once");
        let (interval, mut waiters) = (turn.interval, std::mem::take(&mut turn.waiters));
        self.turns.remove(Handle::from_number(handle.number()));
        self.present.remove(&handle.number());
        if !interval.is_empty() {
            self.conflicts.leave(interval, handle);
        }
        waiters.retain(|waiter| {
            let blockers = &mut self.turn_mut(*waiter).blockers;
            *blockers -= 1;
            *blockers == 0
        });
        (operation, waiters)
    }

    /// All operations, by the numbers of their handles.
    pub fn handles(&self) -> impl Iterator<Item = Handle<T>> {
        self.present.iter().map(|number| Handle::from_number(*number))
    }

    fn turn_mut(&mut self, handle: Handle<T>) -> &mut Turn<T> {
        &mut self.turns[Handle::from_number(handle.number())]
    }
}

impl<T> Index<Handle<T>> for Order<T> {
    type Output = T;

    fn index(&self, handle: Handle<T>) -> &T {
        self.turns[Handle::from_number(handle.number())].operation.as_ref().expect("the handle of an operation")
    }
}

impl<T> IndexMut<Handle<T>> for Order<T> {
    fn index_mut(&mut self, handle: Handle<T>) -> &mut T {
        self.turn_mut(handle).operation.as_mut().expect("the handle of an operation")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn touches(first: u64, end: u64, changes: bool) -> Interval {
        Interval { first, end, changes }
    }

    #[test]
    fn an_operation_begins_when_the_last_one_before_it_has_ended() {
        let mut order = Order::default();
        let (read, read_begins) = order.enter("read", touches(0, 8, false));
        let (other, other_begins) = order.enter("read behind it", touches(4, 12, false));
        let (write, write_begins) = order.enter("write", touches(6, 7, true));
        let (late, late_begins) = order.enter("late read", touches(6, 7, false));
        let (_, flush_begins) = order.enter("flush", touches(0, 0, false));
        assert_eq!(
            [read_begins, other_begins, write_begins, late_begins, flush_begins],
            [true, true, false, false, true]
        );
        assert_eq!(order.leave(read), ("read", Vec::new()));
        assert_eq!(order.leave(other), ("read behind it", vec![write]));
        assert_eq!(order.leave(write), ("write", vec![late]));
        order[late] = "changed";
        assert_eq!(order.handles().map(|handle| order[handle]).collect::<Vec<_>>(), ["changed", "flush"]);
    }

    #[test]
    #[should_panic(expected = "the handle of an operation")]
    fn an_operation_that_has_left_is_not_there() {
        let mut order = Order::default();
        let (handle, _) = order.enter(1, touches(0, 1, true));
        order.leave(handle);
        let _ = order[handle];
    }
}
