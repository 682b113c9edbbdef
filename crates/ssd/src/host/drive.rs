//! The face of a device: a state machine that is handed the time.

use base::units::{Sectors, Time};

use crate::{Completion, Counters, Request};

/// A disk. The simulator drives it with virtual time, a server with the wall clock.
pub trait Drive<S> {
    /// Sectors the host can address.
    fn capacity(&self) -> Sectors;

    /// A discard is rounded inward to whole multiples of this: what it covers only a part of stays as it is.
    /// At least one sector.
    fn discard_granularity(&self) -> Sectors;

    /// Submission queues that requests can be handed in through.
    fn queues(&self) -> usize {
        1
    }

    /// Hands in a request that arrives at `now`. It waits in its submission queue while the device already
    /// works on as many requests as its queue depth allows.
    ///
    /// # Panics
    /// If `now` is before the time already advanced to, or the drive has no such queue.
    fn submit(&mut self, now: Time, request: Request<S>);

    /// When something happens next; `None` if nothing is under way.
    fn next_event(&self) -> Option<Time>;

    /// Lets everything happen up to `to`, or up to the first instant at which a request completes,
    /// whichever is earlier, and returns that instant. Requests that completed then are appended to
    /// `completions`.
    ///
    /// # Panics
    /// If `to` is before the time already advanced to.
    fn advance(&mut self, to: Time, completions: &mut Vec<Completion<S>>) -> Time;

    /// Events handled so far, as [`Counters::events`] has them: cheap enough to be asked for at every request.
    fn events(&self) -> u64 {
        self.counters().events
    }

    /// Everything counted so far, busy times cut off at the time advanced to.
    fn counters(&self) -> Counters;
}
