//! The amount of requests, data or time that ends a part of a run: the warm-up, a round or the measurement.

use base::units::{SECTOR, Sectors, Time};

use super::time::until;
use workload::measure::Amount;

/// An amount of completed requests, data or time that ends a part of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct RunTarget {
    requests: u64,
    /// The number of sectors read and written.
    moved: u64,
    /// The number of sectors written; if there are no writes, of sectors read.
    written: u64,
    /// The time at which the part ends.
    pub(super) at: Time,
}

/// The sums over completed requests. Requests that failed count, too: a drive that refuses every write would otherwise
/// never reach an end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CompletionSums {
    pub(super) requests: u64,
    pub(super) read: u64,
    /// The number of sectors of writes.
    pub(super) written: u64,
    /// The number of reads and writes that succeeded.
    pub(super) served: u64,
    pub(super) latency_ps: u128,
}

impl CompletionSums {
    pub(super) const fn since(self, earlier: Self) -> Self {
        Self {
            requests: self.requests - earlier.requests,
            read: self.read - earlier.read,
            written: self.written - earlier.written,
            served: self.served - earlier.served,
            latency_ps: self.latency_ps - earlier.latency_ps,
        }
    }
}

impl RunTarget {
    /// A target that is never reached.
    pub(super) const NEVER: Self = Self { requests: u64::MAX, moved: u64::MAX, written: u64::MAX, at: Time::MAX };

    /// The target of a part that begins now, on a drive of this capacity.
    pub(super) fn new(amount: Amount, now: Time, capacity: Sectors) -> Self {
        match amount {
            Amount::Requests(requests) => Self { requests, ..Self::NEVER },
            Amount::Bytes(bytes) => Self { moved: bytes.get().div_ceil(SECTOR.get()), ..Self::NEVER },
            Amount::Time(span) => Self { at: until(now, Some(span)), ..Self::NEVER },
            Amount::Capacities(times) => Self { written: (times * capacity.get() as f64).ceil() as u64, ..Self::NEVER },
        }
    }

    /// True if the sums `moved` or the time `now` have reached the target.
    pub(super) fn is_reached(&self, moved: CompletionSums, now: Time) -> bool {
        let CompletionSums { requests, read, written, .. } = moved;
        requests >= self.requests
            || read + written >= self.moved
            || (if written > 0 { written } else { read }) >= self.written
            || now >= self.at
    }
}

#[cfg(test)]
mod tests {
    use base::units::{Bytes, Span};

    use super::*;

    const CAPACITY: Sectors = Sectors::new(1_000);

    fn at(amount: Amount) -> RunTarget {
        RunTarget::new(amount, Time::from_ps(7), CAPACITY)
    }

    #[test]
    fn each_amount_ends_at_its_own_count() {
        let moved = CompletionSums { requests: 10, read: 300, written: 100, served: 0, latency_ps: 0 };
        let now = Time::from_ps(107);
        let reached = |amount| at(amount).is_reached(moved, now);
        assert!(reached(Amount::Requests(10)) && !reached(Amount::Requests(11)));
        assert!(reached(Amount::Bytes(Bytes::new(400 * 512))) && !reached(Amount::Bytes(Bytes::new(400 * 512 + 1))));
        assert!(reached(Amount::Time(Span::from_ps(100))) && !reached(Amount::Time(Span::from_ps(101))));
        assert!(reached(Amount::Capacities(0.1)) && !reached(Amount::Capacities(0.101)));
        assert!(!RunTarget::NEVER.is_reached(moved, now));
    }

    #[test]
    fn capacities_are_read_if_nothing_is_written() {
        let reads = CompletionSums { requests: 10, read: 300, written: 0, served: 0, latency_ps: 0 };
        assert!(at(Amount::Capacities(0.3)).is_reached(reads, Time::ZERO));
        assert!(!at(Amount::Capacities(0.31)).is_reached(reads, Time::ZERO));
    }
}
