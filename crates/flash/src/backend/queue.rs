//! Intrusive queues: the waiting items hold the links, so that no queue allocates. The items of a class leave in the
//! order of their arrival.

use base::engine::{Handle, Slab};

use super::links::Links;
use super::{Class, Order};

/// The number of classes of service in a queue; a class with a lower number goes first.
pub(super) const CLASSES: usize = 5;

impl Order {
    /// The class in which a command or a list waits. `collects` is true for those that [`Order::CollectionFirst`]
    /// prefers.
    #[inline]
    pub(super) const fn queue(self, class: Class, collects: bool) -> usize {
        match (self, class) {
            (Self::Fifo, _) | (Self::ReadFirst, Class::HostRead | Class::PatientRead) => 0,
            (Self::CollectionFirst, _) if collects => 0,
            (Self::CollectionFirst, Class::HostRead | Class::PatientRead) => 1,
            (Self::ReadFirst | Self::CollectionFirst, Class::Other) => CLASSES - 1,
        }
    }
}

/// A first-in first-out queue for each class.
#[derive(Debug)]
pub(super) struct Queue<T> {
    ends: [Option<(Handle<T>, Handle<T>)>; CLASSES],
}

impl<T> Clone for Queue<T> {
    fn clone(&self) -> Self {
        Self { ends: self.ends }
    }
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Self { ends: [None; CLASSES] }
    }
}

impl<T: Links> Queue<T> {
    #[inline]
    pub(super) fn push(&mut self, slab: &mut Slab<T>, class: usize, item: Handle<T>) {
        slab[item].set_next(None);
        self.ends[class] = Some(match self.ends[class] {
            None => (item, item),
            Some((head, tail)) => {
                slab[tail].set_next(Some(item));
                (head, item)
            }
        });
    }

    /// Adds an item before all others of its class.
    pub(super) fn push_front(&mut self, slab: &mut Slab<T>, class: usize, item: Handle<T>) {
        let end = self.ends[class];
        slab[item].set_next(end.map(|(head, _)| head));
        self.ends[class] = Some((item, end.map_or(item, |(_, tail)| tail)));
    }

    /// Removes an item from anywhere in its class. Returns false if the item is not in it.
    pub(super) fn remove(&mut self, slab: &mut Slab<T>, class: usize, item: Handle<T>) -> bool {
        let Some((head, tail)) = self.ends[class] else { return false };
        let after = slab[item].next();
        if head == item {
            self.ends[class] = after.map(|next| (next, tail));
            return true;
        }
        let mut before = head;
        while let Some(next) = slab[before].next() {
            if next == item {
                slab[before].set_next(after);
                self.ends[class] = Some((head, if tail == item { before } else { tail }));
                return true;
            }
            before = next;
        }
        false
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.ends.iter().all(Option::is_none)
    }

    #[inline]
    pub(super) fn peek(&self) -> Option<Handle<T>> {
        self.ends.iter().flatten().next().map(|(head, _)| *head)
    }

    #[inline]
    pub(super) fn pop(&mut self, slab: &Slab<T>) -> Option<Handle<T>> {
        let end = self.ends.iter_mut().find(|end| end.is_some())?;
        let (head, tail) = (*end)?;
        *end = slab[head].next().map(|next| (next, tail));
        Some(head)
    }

    /// Takes the first item for which `wanted` returns true. `wanted` is called for the items in order, up to the taken
    /// item.
    pub(super) fn take_first(
        &mut self,
        slab: &mut Slab<T>,
        mut wanted: impl FnMut(&Slab<T>, Handle<T>) -> bool,
    ) -> Option<Handle<T>> {
        for end in &mut self.ends {
            let Some((head, tail)) = *end else { continue };
            let (mut before, mut at) = (None, Some(head));
            while let Some(item) = at {
                let next = slab[item].next();
                if wanted(slab, item) {
                    match before {
                        Some(before) => {
                            slab[before].set_next(next);
                            *end = Some((head, if item == tail { before } else { tail }));
                        }
                        None => *end = next.map(|next| (next, tail)),
                    }
                    return Some(item);
                }
                (before, at) = (Some(item), next);
            }
        }
        None
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}
