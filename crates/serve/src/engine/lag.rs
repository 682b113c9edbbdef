//! The lateness of answers: the server's own error, in time of the wall clock.

use std::time::Duration;

use base::units::Span;
use study::histogram::Histogram;

use super::coarse::CoarseHistogram;

/// An answer is late if its lateness exceeds 1 / `LATE` of its latency.
const LATE: u32 = 20;

/// The lateness of recent answers.
#[derive(Clone, Debug, Default)]
pub(crate) struct RecentLag {
    pub(crate) times: CoarseHistogram,
    /// The number of answers that were late by more than 5 % of their latency.
    pub(crate) late: u64,
}

/// The lateness of answers.
#[derive(Clone, Debug, Default)]
pub struct Lag {
    times: Histogram,
    late: u64,
    /// The lateness since the last observation; `None` before the first observation.
    recent: Option<RecentLag>,
}

impl Lag {
    /// Notes an answer that was given `lag` after it was due, to a request that took `latency` on the wall clock.
    pub fn note(&mut self, lag: Duration, latency: Duration) {
        let ns = u64::try_from(lag.as_nanos()).unwrap_or(u64::MAX / 1000);
        let (span, is_late) = (Span::from_ps(ns.saturating_mul(1000)), lag > latency / LATE);
        self.times.record(span);
        self.late += u64::from(is_late);
        if let Some(recent) = &mut self.recent {
            recent.times.record(span);
            recent.late += u64::from(is_late);
        }
    }

    /// The lateness since the last call; empty at the first call.
    pub(super) fn take_recent(&mut self) -> RecentLag {
        self.recent.replace(RecentLag::default()).unwrap_or_default()
    }

    /// The lags of all answers.
    #[must_use]
    pub const fn times(&self) -> &Histogram {
        &self.times
    }

    /// The share of answers that were late by more than 5 % of their latency; `None` without any.
    #[must_use]
    pub fn late_share(&self) -> Option<f64> {
        (!self.times.is_empty()).then(|| self.late as f64 / self.times.count() as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_late_beyond_a_twentieth_of_its_latency() {
        let mut lag = Lag::default();
        assert_eq!(lag.late_share(), None);
        let us = Duration::from_micros;
        for (late, of) in [(0, 100), (5, 100), (6, 100), (1, 0)] {
            lag.note(us(late), us(of));
        }
        assert_eq!(lag.late_share(), Some(0.5));
        assert_eq!((lag.times().mean(), lag.times().max()), (Some(Span::from_us(3)), Some(Span::from_us(6))));
        assert_eq!(lag.take_recent().times.count(), 0, "nobody had asked before");
        lag.note(us(7), us(100));
        let recent = lag.take_recent();
        assert_eq!((recent.times.count(), recent.late, lag.times().count()), (1, 1, 5));
    }
}
