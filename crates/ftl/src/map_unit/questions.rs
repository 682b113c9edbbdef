//! The questions that a map unit has not begun: a queue for each asker.

use std::collections::VecDeque;

use super::arbiter::Arbiter;
use super::{Ask, Asker, Ticket};

/// A queue of questions for each asker, and the choice between them.
#[derive(Clone, Debug)]
pub(super) struct Questions {
    queues: [VecDeque<(Ticket, Ask)>; 2],
    arbiter: Arbiter<2>,
    /// True if the first question of a queue cannot proceed before an event frees a block.
    stalled: [bool; 2],
}

impl Questions {
    pub(super) fn new() -> Self {
        Self { queues: Default::default(), arbiter: Arbiter::new([1, 1]), stalled: [false; 2] }
    }

    pub(super) fn set_weights(&mut self, weights: [u32; 2]) {
        self.arbiter.set(weights);
    }

    #[inline]
    pub(super) fn push(&mut self, asker: Asker, ticket: Ticket, ask: Ask) {
        self.queues[asker as usize].push_back((ticket, ask));
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.queues.iter().all(VecDeque::is_empty)
    }

    /// For each queue: true if its first question can be tried.
    #[inline]
    pub(super) fn ready(&self) -> [bool; 2] {
        [0, 1].map(|queue: usize| !self.stalled[queue] && !self.queues[queue].is_empty())
    }

    /// Of the `ready` queues, the queue whose turn it is.
    #[inline]
    pub(super) fn pick(&mut self, ready: [bool; 2]) -> Option<usize> {
        self.arbiter.pick(ready)
    }

    #[inline]
    pub(super) fn first(&self, queue: usize) -> (Ticket, Ask) {
        *self.queues[queue].front().expect("a question")
    }

    #[inline]
    pub(super) fn pop(&mut self, queue: usize) -> Option<(Ticket, Ask)> {
        self.queues[queue].pop_front()
    }

    /// Marks that the first question of a queue cannot proceed before an event frees a block.
    #[inline]
    pub(super) fn stall(&mut self, queue: usize) {
        self.stalled[queue] = true;
    }

    /// Marks that an event has freed a block.
    #[inline]
    pub(super) fn resume(&mut self) {
        self.stalled = [false; 2];
    }
}
