//! The next requests of a closed loop, which its source draws ahead.

use base::io::Io;
use ssd::Drive;
use workload::Source;

use crate::oracle::Payload;

/// Requests that are copied from the source at once: each request would else be a virtual call.
const MOST: usize = 16;

/// Requests that a source knows and the drive has been told of.
pub(super) struct Coming {
    requests: [Io; MOST],
    taken: usize,
    known: usize,
    /// False once the source knew none: it does not draw ahead, or is at its end.
    asks: bool,
}

impl Default for Coming {
    fn default() -> Self {
        Self { requests: [Io::FLUSH; MOST], taken: 0, known: 0, asks: true }
    }
}

impl Coming {
    /// The next request; `None` if the source has to be asked for it, or is at its end.
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

    /// Asks the source for more requests, and tells the drive and the payload. False if it knows none.
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

    /// Tells the source which of its requests were taken. It keeps the others.
    pub(super) fn settle<W: Source + ?Sized>(&mut self, source: &mut W) {
        source.pass(self.taken);
        (self.taken, self.known) = (0, 0);
    }
}
