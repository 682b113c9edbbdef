//! Requests that the device refuses before it works on them.

use base::io::Io;
use base::units::{Span, Time};
use flash::backend::CauseSet;
use flash::nand::Sector;

use super::request::{Completion, Request, Status};
use crate::Ssd;

impl<S: Sector> Ssd<S> {
    /// The status with which the device refuses a request; `None` if it takes the request.
    #[inline(always)]
    #[allow(clippy::inline_always)] // One caller.
    pub(super) fn refusal(&mut self, io: &Io) -> Option<Status> {
        let end = io.start.get().checked_add(io.sectors.get());
        if end.is_none_or(|end| end > self.resolved.capacity().get()) {
            return Some(Status::OutOfRange);
        }
        // Two comparisons for the requests of nearly all drives.
        if self.resolved.zones.is_some() || io.kind.is_optional() { self.refusal_of_zones(io) } else { None }
    }

    #[cold]
    #[inline(never)]
    pub(super) fn refuse(&mut self, arrival: Time, request: Request<S>, status: Status) {
        self.host.queues.finished(request.queue);
        self.host.counts.failed[request.io.kind as usize] += 1;
        self.host.completions.push(Completion {
            tag: request.tag,
            queue: request.queue,
            io: request.io,
            status,
            arrival,
            start: self.now,
            end: self.now,
            commands: 0,
            flash_wait: Span::ZERO,
            start_wait: Span::ZERO,
            waited_for: CauseSet::EMPTY,
            data: Vec::new(),
        });
    }
}
