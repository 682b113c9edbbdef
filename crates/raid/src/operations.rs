//! The operations of a RAID that wait or are under way.

use std::ops::{Index, IndexMut};

use base::engine::{Handle, Order, Slab};

use crate::operation::Operation;

/// All operations, in the order in which they may go on.
#[derive(Clone, Debug)]
pub(crate) struct Operations<S> {
    slab: Slab<Operation<S>>,
    order: Order<Operation<S>>,
    active: Vec<Handle<Operation<S>>>,
    /// Writes and discards of the host that have not ended.
    pub(crate) writing: u32,
    /// Those that have ended.
    pub(crate) written: u64,
}

impl<S> Default for Operations<S> {
    fn default() -> Self {
        Self { slab: Slab::default(), order: Order::default(), active: Vec::new(), writing: 0, written: 0 }
    }
}

impl<S> Operations<S> {
    /// Enters an operation. Says whether it may begin at once.
    pub(crate) fn enter(&mut self, mut operation: Operation<S>) -> (Handle<Operation<S>>, bool) {
        let interval = operation.interval;
        operation.position = self.active.len();
        self.writing += u32::from(operation.changes_data());
        let handle = self.slab.insert(operation);
        self.active.push(handle);
        let before = if interval.is_empty() { Vec::new() } else { self.order.enter(interval, handle) };
        self.slab[handle].blockers = before.len() as u32;
        before.iter().for_each(|other| self.slab[*other].waiters.push(handle));
        (handle, before.is_empty())
    }

    /// Removes an operation that has ended.
    pub(crate) fn leave(&mut self, handle: Handle<Operation<S>>) -> Operation<S> {
        let ended = std::mem::replace(&mut self.slab[handle], Operation::none());
        self.slab.remove(handle);
        if !ended.interval.is_empty() {
            self.order.leave(ended.interval, handle);
        }
        self.active.swap_remove(ended.position);
        if let Some(moved) = self.active.get(ended.position) {
            self.slab[*moved].position = ended.position;
        }
        let changed = ended.changes_data();
        self.writing -= u32::from(changed);
        self.written += u64::from(changed);
        ended
    }

    /// Notes that an operation which another one waits for has ended. Says whether the other one may begin.
    pub(crate) fn unblock(&mut self, waiter: Handle<Operation<S>>) -> bool {
        let blockers = &mut self.slab[waiter].blockers;
        *blockers -= 1;
        *blockers == 0
    }

    /// Those that have not ended, in no order.
    pub(crate) fn active(&self) -> &[Handle<Operation<S>>] {
        &self.active
    }

    /// Forgets all of them.
    pub(crate) fn clear(&mut self) {
        *self = Self { written: self.written, ..Self::default() };
    }
}

impl<S> Index<Handle<Operation<S>>> for Operations<S> {
    type Output = Operation<S>;

    fn index(&self, handle: Handle<Operation<S>>) -> &Operation<S> {
        &self.slab[handle]
    }
}

impl<S> IndexMut<Handle<Operation<S>>> for Operations<S> {
    fn index_mut(&mut self, handle: Handle<Operation<S>>) -> &mut Operation<S> {
        &mut self.slab[handle]
    }
}
