//! The event queue: ordered by (time, sequence).
//!
//! Most events of a device are due after a constant span: a page read, a transfer, a program. Events with equal spans
//! are scheduled in the order of their due times, so they share a lane, a sorted ring. An event goes to the first lane
//! whose last event is not later than it. So the last events of the lanes are in descending order, and the first lane
//! that fits is also the one whose last event is the latest. The next event is the earliest of the first events of all
//! lanes. An event that fits no lane goes to a heap.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use crate::units::Time;

/// The number of lanes: a device has fewer different spans under way. With fewer lanes more events go to the heap,
/// which costs more.
const LANES: usize = 12;

/// Events in the order of their time, and of their insertion where times are equal.
#[derive(Clone, Debug)]
pub struct EventQueue<E> {
    lanes: [Lane<E>; LANES],
    /// The key of the first event of each lane, and of the heap after them; `EMPTY` for an empty one.
    heads: [Key; LANES + 1],
    /// The time of each lane's latest event, which may have left the lane.
    tails: [Time; LANES],
    /// Lanes from this index on are empty.
    used: usize,
    heap: BinaryHeap<Reverse<QueueEntry<E>>>,
    /// The lane of the next event (`LANES` for the heap), and the event's key.
    least: (usize, Key),
    /// The lane of the event that was removed last, and its key.
    last: usize,
    present: Key,
    sequence: u64,
}

/// The order of events: the time in the upper half, the number of the insertion in the lower. A comparison of one
/// number needs no branch.
type Key = u128;

/// The key of an empty lane.
const EMPTY: Key = Key::MAX;

#[inline]
const fn key(at: Time, sequence: u64) -> Key {
    (at.as_ps() as u128) << 64 | sequence as u128
}

#[inline]
const fn time(key: Key) -> Time {
    Time::from_ps((key >> 64) as u64)
}

/// A reserved place in the order of events, for an event that is not in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Due(Key);

impl Due {
    /// A place after all others, for no event.
    pub const NEVER: Self = Self(EMPTY);

    /// The time of the event.
    #[must_use]
    #[inline]
    pub const fn at(self) -> Time {
        time(self.0)
    }

    /// The place with its number at another time.
    #[must_use]
    #[inline]
    pub const fn moved_to(self, at: Time) -> Self {
        Self(key(at, self.0 as u64))
    }
}

#[derive(Clone, Copy, Debug)]
struct QueueEntry<E> {
    key: Key,
    event: E,
}

impl<E> PartialEq for QueueEntry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl<E> Eq for QueueEntry<E> {}

impl<E> PartialOrd for QueueEntry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> Ord for QueueEntry<E> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key.cmp(&other.key)
    }
}

/// A ring whose length is a power of two: a place is found with a mask.
#[derive(Clone, Debug)]
struct Lane<E> {
    ring: Vec<QueueEntry<E>>,
    first: usize,
    len: usize,
}

impl<E: Copy> Lane<E> {
    const fn new() -> Self {
        Self { ring: Vec::new(), first: 0, len: 0 }
    }

    #[inline]
    fn push(&mut self, key: Key, event: E) {
        if self.len == self.ring.len() {
            // The reference is to a copy, so that the event itself stays in registers. If it were assembled in memory,
            // the processor would stall: it would read the event back in larger pieces than it was written in, which
            // defeats store forwarding.
            self.grow(key, &{ event });
        }
        let place = (self.first + self.len) & (self.ring.len() - 1);
        let entry = &mut self.ring[place];
        entry.key = key;
        entry.event = event;
        self.len += 1;
    }

    /// Removes the first event. Returns it and the key of the next.
    #[inline]
    fn pop(&mut self) -> (QueueEntry<E>, Key) {
        let mask = self.ring.len() - 1;
        let entry = self.ring[self.first & mask];
        self.first = (self.first + 1) & mask;
        self.len -= 1;
        (entry, if self.len == 0 { EMPTY } else { self.ring[self.first & mask].key })
    }

    /// Doubles the ring, and fills the new places with copies of `event`, of which only the first counts.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, key: Key, event: &E) {
        self.ring.rotate_left(self.first);
        self.first = 0;
        self.ring.resize((2 * self.len).max(4), QueueEntry { key, event: *event });
    }
}

impl<E: Copy> Default for EventQueue<E> {
    fn default() -> Self {
        Self {
            lanes: std::array::from_fn(|_| Lane::new()),
            heads: [EMPTY; LANES + 1],
            tails: [Time::ZERO; LANES],
            used: 0,
            heap: BinaryHeap::new(),
            least: (LANES, EMPTY),
            last: LANES,
            present: 0,
            sequence: 0,
        }
    }
}

impl<E: Copy> EventQueue<E> {
    /// Finds the next event: its lane and its key.
    #[inline(always)]
    #[allow(clippy::inline_always)] // Once for each event.
    fn first(&self) -> (usize, Key) {
        // A loop of constant length needs no branch for each lane.
        match self.used {
            0..=4 => self.first_of::<4>(),
            5..=8 => self.first_of::<8>(),
            _ => self.first_of::<LANES>(),
        }
    }

    /// Finds the next event, if only the first `COUNT` lanes and the heap have events.
    #[inline(always)]
    #[allow(clippy::inline_always)] // Once for each number of lanes.
    fn first_of<const COUNT: usize>(&self) -> (usize, Key) {
        let (mut best, mut least) = (LANES, time(self.heads[LANES]));
        for lane in 0..COUNT {
            let at = time(self.heads[lane]);
            if at == least {
                best = self.earlier(lane, best);
            } else {
                best = if at < least { lane } else { best };
                least = least.min(at);
            }
        }
        (best, self.heads[best])
    }

    /// The lane of the first of two events that are due at the same time, which is rare.
    #[cold]
    fn earlier(&self, one: usize, other: usize) -> usize {
        if self.heads[one] < self.heads[other] { one } else { other }
    }

    /// The time at which the next event is due.
    #[must_use]
    #[inline]
    pub const fn next_time(&self) -> Option<Time> {
        if self.least.1 == EMPTY { None } else { Some(time(self.least.1)) }
    }

    /// The number of events in the queue.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lanes.iter().map(|lane| lane.len).sum::<usize>() + self.heap.len()
    }

    /// True if the queue is empty.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.least.1 == EMPTY
    }

    /// Schedules `event` at `at`, after all events of that time.
    #[inline(always)]
    #[allow(clippy::inline_always)] // Every event passes here: a call would cost each 15 instructions.
    pub fn push(&mut self, at: Time, event: E) {
        let key = key(at, self.sequence);
        self.sequence += 1;
        let found = self.tails.iter().position(|tail| *tail <= at);
        if key < self.least.1 {
            self.least = (found.unwrap_or(LANES), key);
        }
        let Some(lane) = found else { return self.push_apart(key, &{ event }) };
        self.tails[lane] = at;
        if self.lanes[lane].len == 0 {
            self.heads[lane] = key;
            self.used = self.used.max(lane + 1);
        }
        self.lanes[lane].push(key, event);
    }

    /// Puts an event that fits no lane into the heap. Such events are rare, and inline their code would cost each other
    /// event a dozen instructions.
    #[inline(never)]
    fn push_apart(&mut self, key: Key, event: &E) {
        self.heads[LANES] = self.heads[LANES].min(key);
        self.heap.push(Reverse(QueueEntry { key, event: *event }));
    }

    /// Removes the first event of the heap.
    #[inline(never)]
    fn pop_apart(&mut self) -> Option<E> {
        let Reverse(entry) = self.heap.pop()?;
        self.heads[LANES] = self.heap.peek().map_or(EMPTY, |Reverse(next)| next.key);
        Some(entry.event)
    }

    /// The place of the event that was removed last.
    #[must_use]
    #[inline]
    pub const fn present(&self) -> Due {
        Due(self.present)
    }

    /// The place that an event at `at` would get now.
    #[must_use]
    #[inline]
    pub const fn upcoming(&self, at: Time) -> Due {
        Due(key(at, self.sequence))
    }

    /// Reserves the place that an event would get now. An owner of many events can then schedule only the next of them.
    #[inline]
    pub fn reserve(&mut self, at: Time) -> Due {
        let due = Due(key(at, self.sequence));
        self.sequence += 1;
        due
    }

    /// Schedules `event` at a reserved place.
    ///
    /// # Panics
    ///
    /// If the place is [`Due::NEVER`].
    pub fn push_at(&mut self, due: Due, event: E) {
        assert!(due != Due::NEVER, "a reserved place");
        if due.0 < self.least.1 {
            self.least = (LANES, due.0);
        }
        // Only events in the order of their insertion fit a lane.
        self.push_apart(due.0, &event);
    }

    /// True if no event of the queue comes before a reserved place.
    #[must_use]
    #[inline]
    pub const fn none_before(&self, due: Due) -> bool {
        due.0 <= self.least.1
    }

    /// True if an event at a reserved place would already have been removed. `now` is at least the time of the last
    /// removed event. If `now` is later, all events due at `now` count as removed.
    #[must_use]
    #[inline]
    pub fn has_passed(&self, due: Due, now: Time) -> bool {
        due.0 < self.present || time(self.present) != now && due.at() <= now
    }

    /// Marks all events up to `now` as passed, for an action that is not an event of the queue.
    #[inline]
    pub fn pass(&mut self, now: Time) {
        self.present = key(now, self.sequence);
    }

    /// Removes the next event if it is due at `to` or earlier.
    #[inline(always)]
    #[allow(clippy::inline_always)] // Every event passes here, too.
    pub fn pop_due(&mut self, to: Time) -> Option<(Time, E)> {
        let (lane, key) = self.least;
        // No event has the last sequence number, so `EMPTY` is greater for any `to`.
        if key > self::key(to, u64::MAX - 1) {
            return None;
        }
        (self.last, self.present) = (lane, key);
        let event = match self.lanes.get_mut(lane) {
            Some(events) => {
                let (entry, next) = events.pop();
                self.heads[lane] = next;
                if next == EMPTY && lane + 1 == self.used {
                    self.used = self.heads[..lane].iter().rposition(|head| *head != EMPTY).map_or(0, |last| last + 1);
                }
                entry.event
            }
            None => self.pop_apart()?,
        };
        self.least = self.first();
        Some((time(key), event))
    }

    /// The event `distance` places after the one that was removed last, in its lane. Events with one span share a lane,
    /// so this event is probably of the same kind; the caller prefetches the memory that it will need.
    #[must_use]
    #[inline]
    pub fn following(&self, distance: usize) -> Option<E> {
        let lane = self.lanes.get(self.last).filter(|lane| distance > 0 && distance <= lane.len)?;
        Some(lane.ring[(lane.first + distance - 1) & (lane.ring.len() - 1)].event)
    }

    /// Removes the next event.
    #[inline]
    pub fn pop(&mut self) -> Option<(Time, E)> {
        self.pop_due(Time::MAX)
    }

    /// Drops all events. Called at a power loss.
    pub fn clear(&mut self) {
        self.lanes.iter_mut().for_each(|lane| lane.len = 0);
        self.heads = [EMPTY; LANES + 1];
        self.tails = [Time::ZERO; LANES];
        self.used = 0;
        self.heap.clear();
        self.least = (LANES, EMPTY);
        self.present = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_end_of_time_and_more_spans_than_lanes_keep_the_order() {
        let mut queue = EventQueue::default();
        // Descending times fit after no waiting event, so each takes a lane, and the last ones the heap.
        for i in (0..LANES as u64 + 3).rev() {
            queue.push(Time::from_ps(i), i);
        }
        queue.push(Time::MAX, 100);
        queue.push(Time::MAX, 101);
        let first: Vec<_> = std::iter::from_fn(|| queue.pop_due(Time::from_ps(1000))).map(|(_, event)| event).collect();
        assert_eq!(first, (0..LANES as u64 + 3).collect::<Vec<_>>());
        assert_eq!(queue.next_time(), Some(Time::MAX));
        queue.push(Time::from_ps(2000), 99);
        assert_eq!(std::iter::from_fn(|| queue.pop()).map(|(_, event)| event).collect::<Vec<_>>(), [99, 100, 101]);
        queue.push(Time::ZERO, 1);
        queue.clear();
        assert!(queue.is_empty() && queue.pop().is_none());
        queue.push(Time::ZERO, 2);
        assert_eq!(queue.pop(), Some((Time::ZERO, 2)));
    }

    #[test]
    fn the_following_events_are_those_of_the_same_span() {
        let mut queue = EventQueue::default();
        for i in 0..5 {
            queue.push(Time::from_ps(100 + i), i);
            queue.push(Time::from_ps(10 + i), 100 + i);
        }
        assert_eq!(queue.following(1), None, "nothing was removed yet");
        assert_eq!(queue.pop(), Some((Time::from_ps(10), 100)));
        assert_eq!(
            (0..7).map(|i| queue.following(i)).collect::<Vec<_>>(),
            [None, Some(101), Some(102), Some(103), Some(104), None, None]
        );
        (0..4).for_each(|_| _ = queue.pop());
        assert_eq!(queue.following(1), None, "the lane is empty");
        queue.pop();
        assert_eq!(queue.following(4), Some(4));
    }

    #[test]
    fn an_event_at_a_reserved_place_goes_before_those_that_were_pushed_after_the_reservation() {
        let at = Time::from_ps(7);
        let mut queue = EventQueue::default();
        queue.push(at, 1);
        let due = queue.reserve(at);
        assert!(!queue.none_before(due) && due.at() == at && due < Due::NEVER);
        queue.push(at, 3);
        queue.push_at(due, 2);
        assert_eq!(queue.pop(), Some((at, 1)));
        assert!(queue.none_before(due));
        assert_eq!((queue.pop(), queue.pop()), (Some((at, 2)), Some((at, 3))));
        assert!(queue.none_before(Due::NEVER), "the queue is empty");
    }

    #[test]
    fn a_reserved_place_passes_with_the_events_behind_it() {
        let at = Time::from_ps(7);
        let mut queue = EventQueue::default();
        queue.push(at, 1);
        let due = queue.reserve(at);
        queue.push(at, 2);
        assert!(!queue.has_passed(due, Time::from_ps(6)));
        queue.pop();
        assert!(!queue.has_passed(due, at), "it goes behind the first event");
        queue.pop();
        assert!(queue.has_passed(due, at));
        let (due, later) = (queue.reserve(at), Time::from_ps(8));
        assert!(!queue.has_passed(due, at));
        assert!(queue.has_passed(due, later), "at a time without an event");
        queue.pass(at);
        assert!(queue.has_passed(due, at) && !queue.has_passed(queue.clone().reserve(at), at));
    }

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
        fn pushes_between_pops_keep_the_order(steps in prop::collection::vec((0u64..1000, any::<bool>()), 0..300), spread in 1u64..100) {
            let mut queue = EventQueue::default();
            let mut model: Vec<(u64, usize)> = Vec::new();
            let mut now = 0;
            for (i, (delay, pop)) in steps.into_iter().enumerate() {
                let delay = delay / spread * spread;
                queue.push(Time::from_ps(now + delay), i);
                model.push((now + delay, i));
                prop_assert_eq!(queue.len(), model.len());
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
