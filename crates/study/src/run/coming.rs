//! The next requests of a closed loop, which its source draws ahead.

use base::io::Io;
use ssd::Drive;
use workload::Source;

use crate::oracle::Payload;

/// The number of requests copied from the source at once, to save a virtual call for each.
const MOST: usize = 16;

/// Requests that the source has drawn ahead, and that were announced to the drive.
pub(super) struct AnnouncedRequests {
    requests: [Io; MOST],
    taken: usize,
    known: usize,
    /// False once the source returned none: it does not draw ahead, or is at its end.
    asks: bool,
}

impl Default for AnnouncedRequests {
    fn default() -> Self {
        Self { requests: [Io::FLUSH; MOST], taken: 0, known: 0, asks: true }
    }
}

impl AnnouncedRequests {
    /// The next request that was drawn ahead; `None` if the source must be asked for its next request.
    #[inline(always)]
    #[allow(clippy::inline_always)] // Its fields go to the drive in registers.
    pub(super) fn next<S, W, D, P>(&mut self, source: &mut W, drive: &mut D, payload: &mut P) -> Option<Io>
    where
        W: Source + ?Sized,
        D: Drive<S>,
        P: Payload<S>,
    {
        if self.taken == self.known && !self.look_ahead(source, drive, payload) {
            return None;
        }
        self.taken += 1;
        Some(self.requests[self.taken - 1])
    }

    /// Copies more requests from the source, and announces them to the drive and the payload. Returns false if there
    /// are none.
    #[inline(never)]
    fn look_ahead<S, W, D, P>(&mut self, source: &mut W, drive: &mut D, payload: &mut P) -> bool
    where
        W: Source + ?Sized,
        D: Drive<S>,
        P: Payload<S>,
    {
        if !self.asks {
            return false;
        }
        self.settle(source);
        let ahead = source.ahead();
        let known = ahead.len().min(MOST);
        self.requests[..known].copy_from_slice(&ahead[..known]);
        drive.announce(&ahead[..known]);
        payload.announce(&ahead[..known]);
        (self.known, self.asks) = (known, known > 0);
        self.asks
    }

    /// Tells the source the number of its requests that were taken. The source keeps the others.
    pub(super) fn settle<W: Source + ?Sized>(&mut self, source: &mut W) {
        source.pass(self.taken);
        (self.taken, self.known) = (0, 0);
    }
}
