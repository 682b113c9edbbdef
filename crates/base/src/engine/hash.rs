//! The hash of an event stream: two runs with the same events at the same times share it.

use crate::units::Time;

/// A running hash over (time, event) pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventHash {
    state: u64,
    events: u64,
}

impl Default for EventHash {
    fn default() -> Self {
        Self { state: 0x243F_6A88_85A3_08D3, events: 0 }
    }
}

impl EventHash {
    /// Adds one event.
    #[inline]
    pub fn add(&mut self, at: Time, event: u64) {
        // One multiplication per word. The order of events counts, because the state goes into each product.
        let x = (self.state ^ at.as_ps()).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.state = (x ^ (x >> 32) ^ event).wrapping_mul(0xD6E8_FEB8_6659_FD93).rotate_left(29);
        self.events += 1;
    }

    /// The hash so far.
    #[must_use]
    pub const fn value(&self) -> u64 {
        self.state
    }

    /// The number of events in the hash.
    #[must_use]
    pub const fn events(&self) -> u64 {
        self.events
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_depends_on_order_time_and_event() {
        let of = |events: &[(u64, u64)]| {
            let mut h = EventHash::default();
            events.iter().for_each(|(t, e)| h.add(Time::from_ps(*t), *e));
            h
        };
        assert_eq!(of(&[(1, 2), (3, 4)]), of(&[(1, 2), (3, 4)]));
        assert_ne!(of(&[(1, 2), (3, 4)]), of(&[(3, 4), (1, 2)]));
        assert_ne!(of(&[(1, 2)]), of(&[(1, 3)]));
        assert_ne!(of(&[(1, 2)]), of(&[(2, 2)]));
    }
}
