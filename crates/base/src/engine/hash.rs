//! The hash of the events of a run, equal for runs with the same events at the same times.

use crate::units::Time;

/// A hash over a set of (time, event) pairs: the sum of a hash of each pair. So the order of the events of one moment
/// does not matter, and a component may add an event late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventHash {
    sum: u64,
    events: u64,
}

/// An arbitrary number: the first digits of pi.
const SALT: u64 = 0x243F_6A88_85A3_08D3;

impl Default for EventHash {
    fn default() -> Self {
        Self { sum: SALT, events: 0 }
    }
}

impl EventHash {
    /// The hash of no events, to be added to another.
    pub const NOTHING: Self = Self { sum: 0, events: 0 };

    /// Mixes the time and the number of one event into the hash.
    #[inline]
    pub fn add(&mut self, at: Time, event: u64) {
        // Two rounds, so that sums of related times and events differ.
        let x = (at.as_ps() ^ event.rotate_left(40) ^ SALT).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let x = (x ^ (x >> 32) ^ event).wrapping_mul(0xD6E8_FEB8_6659_FD93);
        self.sum = self.sum.wrapping_add(x ^ (x >> 29));
        self.events += 1;
    }

    /// Adds the events of another hash.
    #[must_use]
    #[inline]
    pub const fn with(self, other: Self) -> Self {
        Self { sum: self.sum.wrapping_add(other.sum), events: self.events + other.events }
    }

    /// The hash so far.
    #[must_use]
    pub const fn value(&self) -> u64 {
        self.sum
    }

    /// The number of events hashed so far.
    #[must_use]
    pub const fn events(&self) -> u64 {
        self.events
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(events: &[(u64, u64)]) -> EventHash {
        let mut hash = EventHash::default();
        events.iter().for_each(|(at, event)| hash.add(Time::from_ps(*at), *event));
        hash
    }

    #[test]
    fn the_hash_depends_on_times_and_events_and_their_number() {
        assert_eq!(of(&[(1, 2), (3, 4)]), of(&[(1, 2), (3, 4)]));
        assert_ne!(of(&[(1, 2)]), of(&[(1, 3)]));
        assert_ne!(of(&[(1, 2)]), of(&[(2, 2)]));
        assert_ne!(of(&[(1, 2), (3, 4)]).value(), of(&[(1, 4), (3, 2)]).value(), "which event came when");
        assert_ne!(of(&[(1, 2)]).value(), of(&[(1, 2), (1, 2)]).value(), "twice");
        assert_ne!(of(&[(0, 0)]).events(), of(&[]).events());
    }

    #[test]
    fn neighbouring_times_and_events_have_different_sums() {
        // Pairs of events with exchanged times, as after an error in the order of a queue.
        let sums = (0..64u64).flat_map(|i| (0..64u64).map(move |j| of(&[(1000 + i, j), (1000 + j, i + 64)]).value()));
        let all: std::collections::BTreeSet<_> = sums.collect();
        assert_eq!(all.len(), 64 * 64);
    }

    proptest! {
        #[test]
        fn parts_add_up_in_any_order(events in prop::collection::vec((0u64..100, 0u64..100), 0..50), at in 0usize..50) {
            let (first, second) = events.split_at(at.min(events.len()));
            let mut rest = EventHash::NOTHING;
            second.iter().rev().for_each(|(at, event)| rest.add(Time::from_ps(*at), *event));
            prop_assert_eq!(of(&events), of(first).with(rest));
        }
    }
}
