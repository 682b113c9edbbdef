//! The results of all requests of one kind.

use base::units::{Sectors, Span, Time};
use flash::backend::Cause;
use ssd::Status;

use crate::histogram::Histogram;

/// Requests that waited behind flash commands of one cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delay {
    /// The number of requests that waited behind commands of the cause.
    pub requests: u64,
    /// The sum of the latencies of these requests in picoseconds, waits for other causes included.
    pub latency_ps: u128,
}

/// The results of all requests of one kind. Only requests that succeeded count, except in the numbers by outcome.
#[derive(Clone, Debug, Default)]
pub struct KindResult {
    /// The number of requests by outcome.
    pub(super) outcomes: [u64; Status::COUNT],
    /// The times from submission to completion.
    pub latency: Histogram,
    /// The times from submission to leaving the host queue.
    pub queue_wait: Histogram,
    /// The times from leaving the host queue to completion.
    pub service: Histogram,
    latest: Time,
    /// The longest time between two completions.
    pub longest_gap: Span,
    /// The number of sectors of the requests.
    pub sectors: Sectors,
    /// The number of flash commands issued before the acknowledgements.
    pub commands: u64,
    /// The sum over the requests of the longest wait for a controller or a die, in picoseconds.
    pub flash_wait_ps: u128,
    /// The sum over the requests of their waits for the start of their flash commands, in picoseconds.
    pub start_wait_ps: u128,
    /// The requests that waited behind commands of each `Cause`.
    pub delayed: [Delay; Cause::COUNT],
}

impl KindResult {
    /// The number of requests with this outcome.
    #[must_use]
    pub const fn with_status(&self, status: Status) -> u64 {
        self.outcomes[status as usize]
    }

    /// The number of requests that failed.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.outcomes.iter().sum::<u64>() - self.with_status(Status::Done)
    }

    #[inline]
    pub(super) fn note_gap(&mut self, end: Time) {
        if self.latest > Time::ZERO && end > self.latest {
            self.longest_gap = self.longest_gap.max(end - self.latest);
        }
        self.latest = self.latest.max(end);
    }

    /// Counts a request that waited in the host queue. Not inline: a closed loop has few.
    #[inline(never)]
    pub(super) fn waited(&mut self, queue_wait: Span, service: Span) {
        self.queue_wait.record(queue_wait);
        self.service.record(service);
    }
}
