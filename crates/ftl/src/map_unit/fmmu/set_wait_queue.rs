//! Wait queues of sets: a request whose set has no free block waits there, so that requests behind it can continue.
//!
//! Each set has a queue, in order of arrival. Later requests for the same set join its queue, so requests about one
//! block stay in order. The hardware needs no memory for these queues: a question is in its asker's memory until the
//! answer, a load is in the block of the CMT that waits for the load, and a flush, which brings data, keeps its place
//! in the queue between the levels.

use std::collections::VecDeque;

#[derive(Clone, Debug)]
pub(super) struct SetWaitQueue<T> {
    /// The queue of each set; empty if wait queues are off.
    sets: Vec<VecDeque<T>>,
    /// Sets that have changed since their first request was tried; `is_ready` marks them.
    ready: VecDeque<u32>,
    is_ready: Vec<bool>,
    /// For each set: true if another attempt of its first request would fail and change nothing.
    is_stuck: Vec<bool>,
    waiting: usize,
}

impl<T: Copy> SetWaitQueue<T> {
    /// Queues for `sets` sets; empty if wait queues are off.
    pub(super) fn new(sets: u32, used: bool) -> Self {
        let sets = if used { sets as usize } else { 0 };
        Self {
            sets: vec![VecDeque::new(); sets],
            ready: VecDeque::new(),
            is_ready: vec![false; sets],
            is_stuck: vec![false; sets],
            waiting: 0,
        }
    }

    /// True if wait queues are on.
    pub(super) fn is_used(&self) -> bool {
        !self.sets.is_empty()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    /// True if a request waits for a set.
    pub(super) fn waits(&self, set: u32) -> bool {
        self.sets.get(set as usize).is_some_and(|chain| !chain.is_empty())
    }

    /// The requests that wait for a set, in order.
    pub(super) fn chain(&self, set: u32) -> impl DoubleEndedIterator<Item = &T> {
        self.sets.get(set as usize).into_iter().flatten()
    }

    pub(super) fn push(&mut self, set: u32, request: T) {
        self.waiting += 1;
        self.sets[set as usize].push_back(request);
    }

    /// Notes a change in a set: its first request may now succeed.
    pub(super) fn note_change(&mut self, set: u32) {
        self.free(set);
        self.mark(set);
    }

    /// Notes that another attempt of a set's first request would fail and change nothing.
    pub(super) fn stick(&mut self, set: u32) {
        if let Some(stuck) = self.is_stuck.get_mut(set as usize) {
            *stuck = true;
        }
    }

    /// Notes that an attempt of a set's first request may have an effect again.
    pub(super) fn free(&mut self, set: u32) {
        if let Some(stuck) = self.is_stuck.get_mut(set as usize) {
            *stuck = false;
        }
    }

    fn mark(&mut self, set: u32) {
        if self.waits(set) && !std::mem::replace(&mut self.is_ready[set as usize], true) {
            self.ready.push_back(set);
        }
    }

    /// Notes a change that may let the first request of any set succeed.
    pub(super) fn mark_all_changed(&mut self) {
        if self.waiting > 0 {
            (0..self.sets.len() as u32).for_each(|set| self.mark(set));
        }
    }

    pub(super) fn is_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// The request to try next.
    pub(super) fn first(&self) -> Option<T> {
        self.ready.front().map(|set| self.sets[*set as usize][0])
    }

    /// True if the attempt of the next request would fail and change nothing.
    pub(super) fn first_is_stuck(&self) -> bool {
        self.ready.front().is_some_and(|set| self.is_stuck[*set as usize])
    }

    /// The set of the request to try next.
    pub(super) fn first_set(&self) -> Option<u32> {
        self.ready.front().copied()
    }

    /// Removes the request that was tried and succeeded; the next request of its set will be tried in turn.
    pub(super) fn went_on(&mut self) {
        let set = self.still_waits();
        self.sets[set as usize].pop_front();
        self.waiting -= 1;
        self.note_change(set);
    }

    /// Keeps the request that was tried and failed in its queue. Returns its set.
    pub(super) fn still_waits(&mut self) -> u32 {
        let set = self.ready.pop_front().expect("one was tried");
        self.is_ready[set as usize] = false;
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_set_keeps_its_order_and_delays_no_other() {
        let mut set_wait_queue = SetWaitQueue::new(3, true);
        [(0, 'a'), (1, 'b'), (0, 'c'), (2, 'd')].into_iter().for_each(|(set, what)| set_wait_queue.push(set, what));
        assert_eq!(set_wait_queue.first(), None, "nothing has changed");
        set_wait_queue.note_change(0);
        set_wait_queue.note_change(0);
        set_wait_queue.note_change(2);
        assert_eq!(set_wait_queue.first(), Some('a'));
        set_wait_queue.stick(0);
        assert!(set_wait_queue.first_is_stuck());
        set_wait_queue.note_change(0);
        assert!(!set_wait_queue.first_is_stuck(), "something has changed in the set");
        set_wait_queue.still_waits();
        assert_eq!(set_wait_queue.first(), Some('d'), "set 0 is not tried again before something changes there");
        set_wait_queue.went_on();
        assert!(!set_wait_queue.is_ready() && !set_wait_queue.waits(2) && set_wait_queue.waits(0));
        set_wait_queue.mark_all_changed();
        let mut order = Vec::new();
        while let Some(request) = set_wait_queue.first() {
            order.push(request);
            set_wait_queue.went_on();
        }
        assert_eq!(order, ['a', 'b', 'c']);
        assert!(set_wait_queue.is_empty());
    }

    #[test]
    fn an_unused_queue_stays_empty() {
        let mut set_wait_queue = SetWaitQueue::<u32>::new(4, false);
        set_wait_queue.note_change(3);
        set_wait_queue.mark_all_changed();
        assert!(
            !set_wait_queue.is_used()
                && set_wait_queue.is_empty()
                && !set_wait_queue.waits(2)
                && !set_wait_queue.is_ready()
        );
    }
}
