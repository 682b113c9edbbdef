//! The event queue: a 4-ary heap ordered by (time, sequence).

use crate::units::Time;

/// Events in the order of their time, and of their insertion where times are equal.
#[derive(Clone, Debug)]
pub struct EventQueue<E> {
    heap: Vec<Entry<E>>,
    sequence: u64,
}

#[derive(Clone, Copy, Debug)]
struct Entry<E> {
    at: Time,
    sequence: u64,
    event: E,
}

impl<E> Entry<E> {
    #[inline]
    fn before(&self, other: &Self) -> bool {
        (self.at, self.sequence) < (other.at, other.sequence)
    }
}

impl<E: Copy> Default for EventQueue<E> {
    fn default() -> Self {
        Self { heap: Vec::new(), sequence: 0 }
    }
}

impl<E: Copy> EventQueue<E> {
    /// When the next event is due.
    #[must_use]
    #[inline]
    pub fn next_time(&self) -> Option<Time> {
        self.heap.first().map(|entry| entry.at)
    }

    /// Events that wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// True if nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    /// Schedules `event`.
    #[inline]
    pub fn push(&mut self, at: Time, event: E) {
        let entry = Entry { at, sequence: self.sequence, event };
        self.sequence += 1;
        let mut hole = self.heap.len();
        self.heap.push(entry);
        while hole > 0 {
            let parent = (hole - 1) / 4;
            if !entry.before(&self.heap[parent]) {
                break;
            }
            self.heap[hole] = self.heap[parent];
            hole = parent;
        }
        self.heap[hole] = entry;
    }

    /// Takes the next event out.
    #[inline]
    pub fn pop(&mut self) -> Option<(Time, E)> {
        let last = self.heap.pop()?;
        let Some(&top) = self.heap.first() else { return Some((last.at, last.event)) };
        let n = self.heap.len();
        let mut hole = 0;
        loop {
            let first = hole * 4 + 1;
            if first >= n {
                break;
            }
            let mut least = first;
            for child in first + 1..(first + 4).min(n) {
                if self.heap[child].before(&self.heap[least]) {
                    least = child;
                }
            }
            if !self.heap[least].before(&last) {
                break;
            }
            self.heap[hole] = self.heap[least];
            hole = least;
        }
        self.heap[hole] = last;
        Some((top.at, top.event))
    }

    /// Drops everything that waits: the power is gone.
    pub fn clear(&mut self) {
        self.heap.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_a_stable_sort(times in prop::collection::vec(0u64..50, 0..300)) {
            let mut queue = EventQueue::default();
            for (i, t) in times.iter().enumerate() {
                queue.push(Time::from_ps(*t), i);
            }
            let mut expected: Vec<_> = times.iter().copied().enumerate().map(|(i, t)| (Time::from_ps(t), i)).collect();
            expected.sort();
            let drained: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
            prop_assert_eq!(drained, expected);
        }

        #[test]
        fn pushes_between_pops_keep_the_order(steps in prop::collection::vec((0u64..1000, any::<bool>()), 0..300)) {
            let mut queue = EventQueue::default();
            let mut model: Vec<(u64, usize)> = Vec::new();
            let mut now = 0;
            for (i, (delay, pop)) in steps.into_iter().enumerate() {
                queue.push(Time::from_ps(now + delay), i);
                model.push((now + delay, i));
                if pop {
                    model.sort_unstable();
                    let (at, event) = model.remove(0);
                    prop_assert_eq!(queue.next_time(), Some(Time::from_ps(at)));
                    prop_assert_eq!(queue.pop(), Some((Time::from_ps(at), event)));
                    now = at;
                }
            }
        }
    }
}
