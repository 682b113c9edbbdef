//! The RAM of the drive. The write buffer and the look-ups of the map share its rate, first come, first served.

use base::units::{Bytes, Span, Time};

use crate::spec::RamSpec;

/// A RAM, and the time at which it is free; a RAM without a rate takes no time.
#[derive(Clone, Debug)]
pub(crate) struct Ram {
    spec: Option<RamSpec>,
    free: Time,
    busy: Span,
}

impl Ram {
    pub(crate) const fn new(spec: Option<RamSpec>) -> Self {
        Self { spec, free: Time::ZERO, busy: Span::ZERO }
    }

    /// Moves bytes as soon as the RAM is free. Returns the time of their end, or `None` if they take no time.
    #[inline]
    pub(crate) fn carry(&mut self, now: Time, bytes: Bytes) -> Option<Time> {
        let time = self.spec?.rate.time(bytes);
        if time.is_zero() {
            return None;
        }
        self.free = self.free.max(now) + time;
        self.busy += time;
        Some(self.free)
    }

    /// Looks up `units` mapping units in the map. Returns the time of the end, or `None` if the look-up takes no time.
    #[inline]
    pub(crate) fn look_up(&mut self, now: Time, units: u32) -> Option<Time> {
        let bytes = self.spec?.look_up?;
        self.carry(now, bytes * u64::from(units))
    }

    /// The time for which the RAM worked until `now`. Transfers promised beyond `now` follow without a gap.
    pub(crate) fn busy(&self, now: Time) -> Span {
        self.busy.saturating_sub(self.free.saturating_since(now))
    }

    /// Drops the transfers promised beyond `now`, and keeps the busy time.
    pub(crate) fn reset(&mut self, now: Time) {
        self.busy = self.busy(now);
        self.free = now;
    }

    pub(crate) const fn reset_count(&mut self) {
        self.busy = Span::ZERO;
    }
}
