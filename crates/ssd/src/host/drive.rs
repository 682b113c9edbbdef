//! The interface of a device: a state machine driven by the caller's clock.

use base::io::Io;
use base::units::{Sectors, Time};

use crate::{Completion, Counters, Request};

/// A drive. The simulator drives it with virtual time, a server with the wall clock.
pub trait Drive<S> {
    /// The number of sectors that the host can address.
    fn capacity(&self) -> Sectors;

    /// The granularity of discards, at least one sector. A discard is rounded inward to multiples of it: sectors of a
    /// partly covered multiple keep their content.
    fn discard_granularity(&self) -> Sectors;

    /// The number of submission queues.
    fn queues(&self) -> usize {
        1
    }

    /// Submits a request that arrives at `now`. It waits in its submission queue while the device works on as many
    /// requests as its queue depth allows.
    ///
    /// # Panics
    /// If `now` is before the present time of the drive, or the drive has no such queue.
    fn submit(&mut self, now: Time, request: Request<S>);

    /// Announces the requests that will follow, for the drive to prefetch the memory that it will need. A later
    /// announcement replaces the rest of an earlier announcement. Neither times nor results change.
    fn announce(&mut self, _coming: &[Io]) {}

    /// The time of the next event; `None` if nothing is under way.
    fn next_event(&self) -> Option<Time>;

    /// Handles all events up to `to`, or up to the first instant at which a request completes, whichever is earlier.
    /// Returns that instant, and appends the requests that completed then to `completions`.
    ///
    /// # Panics
    /// If `to` is before the present time of the drive.
    fn advance(&mut self, to: Time, completions: &mut Vec<Completion<S>>) -> Time;

    /// The number of events handled so far, as in [`Counters::events`]: cheap enough to call at every request.
    fn events(&self) -> u64 {
        self.counters().events
    }

    /// All counters, with busy times up to the present time of the drive.
    fn counters(&self) -> Counters;
}
