//! One connection: the negotiation, then requests.

use std::sync::Arc;

use super::end::End;
use super::handshake::{self, ExportInfo, Handshake};
use super::transmission::{self, BlockStatus, Request, Transmission};

/// A result of [`Protocol::receive`].
#[derive(Debug, PartialEq, Eq)]
pub enum Event {
    /// The client waits for TLS. Once the output is sent, the owner begins TLS on the connection, and calls [`Protocol::upgraded`]
    /// after the TLS handshake. Bytes that the client sent in plain before are passed to [`Protocol::receive`], which ends the
    /// connection.
    StartTls,
    /// The client has chosen this export, and requests follow.
    Ready(usize),
    /// A write begins, with this many bytes of payload. The protocol keeps the payload once it is passed in, so the owner may wait
    /// until it has room.
    Payload(u32),
    /// A valid request, to be carried out.
    Request(Request),
    /// A valid BLOCK_STATUS: a query for the allocation of a range.
    BlockStatus(BlockStatus),
    /// The connection ends: it receives nothing more.
    End(End),
}

#[derive(Debug)]
enum Phase {
    Handshake(Handshake),
    Transmission(Transmission),
    Over(End),
}

/// The server's end of a connection.
#[derive(Debug)]
pub struct Protocol {
    exports: Arc<[ExportInfo]>,
    phase: Phase,
    output: Vec<u8>,
}

impl Protocol {
    /// A new connection, with a greeting in the output.
    #[must_use]
    pub fn new(exports: Arc<[ExportInfo]>) -> Self {
        let mut output = Vec::new();
        let phase = Phase::Handshake(Handshake::new(&mut output));
        Self { exports, phase, output }
    }

    /// A new connection whose client must ask for TLS before anything else, with a greeting in the output.
    #[must_use]
    pub fn requiring_tls(exports: Arc<[ExportInfo]>) -> Self {
        let mut protocol = Self::new(exports);
        if let Phase::Handshake(handshake) = &mut protocol.phase {
            handshake.require_tls();
        }
        protocol
    }

    /// Continues after the TLS handshake: bytes received from now on were encrypted.
    ///
    /// # Panics
    /// If the last event was not [`Event::StartTls`].
    pub fn upgraded(&mut self) {
        let Phase::Handshake(handshake) = &mut self.phase else { panic!("TLS that nobody asked for") };
        handshake.upgraded();
    }

    /// Takes bytes from the front of `input`, the client's stream. Returns the number of bytes taken, and the event that they
    /// complete.
    ///
    /// `(0, None)` means that more bytes than `input` has are needed. Otherwise the owner calls again with the remaining bytes,
    /// even if there are none.
    /// A call reads at most one option or request, so the owner decides how much output waits.
    pub fn receive(&mut self, input: &[u8]) -> (usize, Option<Event>) {
        match &mut self.phase {
            Phase::Handshake(handshake) => match handshake.receive(input, &self.exports, &mut self.output) {
                handshake::Step::Incomplete => (0, None),
                handshake::Step::Taken(taken) => (taken, None),
                handshake::Step::StartTls(taken) => (taken, Some(Event::StartTls)),
                handshake::Step::Over(taken, Ok(chosen)) => {
                    let capacity = self.exports[chosen.export].capacity;
                    self.phase = Phase::Transmission(Transmission::new(chosen, capacity));
                    (taken, Some(Event::Ready(chosen.export)))
                }
                handshake::Step::Over(taken, Err(end)) => (taken, Some(self.end(end))),
            },
            Phase::Transmission(requests) => match requests.receive(input, &mut self.output) {
                transmission::Step::Incomplete => (0, None),
                transmission::Step::Taken(taken) => (taken, None),
                transmission::Step::Payload(taken, bytes) => (taken, Some(Event::Payload(bytes))),
                transmission::Step::Request(taken, request) => (taken, Some(Event::Request(request))),
                transmission::Step::BlockStatus(taken, status) => (taken, Some(Event::BlockStatus(status))),
                transmission::Step::Over(taken, end) => (taken, Some(self.end(end))),
            },
            Phase::Over(end) => (0, Some(Event::End(*end))),
        }
    }

    /// True while the payload of a write is not complete.
    #[must_use]
    pub const fn is_in_payload(&self) -> bool {
        match &self.phase {
            Phase::Transmission(requests) => requests.is_in_payload(),
            Phase::Handshake(_) | Phase::Over(_) => false,
        }
    }

    fn end(&mut self, end: End) -> Event {
        self.phase = Phase::Over(end);
        Event::End(end)
    }

    /// Takes the output of the protocol itself: answers to options, and replies to requests that need no drive.
    pub fn take_output(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.output)
    }
}
