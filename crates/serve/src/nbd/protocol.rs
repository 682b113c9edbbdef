//! One connection: the negotiation, then requests.

use std::sync::Arc;

use super::end::End;
use super::handshake::{self, ExportInfo, Handshake};
use super::transmission::{self, BlockStatus, Request, Transmission};

/// What has happened.
#[derive(Debug, PartialEq, Eq)]
pub enum Event {
    /// The client waits for TLS: once the output is sent, the connection's bytes are those of TLS, and after its handshake
    /// the owner calls [`Protocol::upgraded`]. What the client has sent already is passed in before, and ends the connection.
    StartTls,
    /// The client has chosen this export, and requests follow.
    Ready(usize),
    /// A write begins; so many bytes of payload follow. They are kept once they are passed in, so the owner may wait with
    /// them until it has room.
    Payload(u32),
    /// A valid request, to be carried out.
    Request(Request),
    /// A valid question for the allocation of a range.
    BlockStatus(BlockStatus),
    /// The connection ends: nothing more is received.
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

    /// The same for a client that must ask for TLS before anything else.
    #[must_use]
    pub fn requiring_tls(exports: Arc<[ExportInfo]>) -> Self {
        let mut protocol = Self::new(exports);
        if let Phase::Handshake(handshake) = &mut protocol.phase {
            handshake.require_tls();
        }
        protocol
    }

    /// TLS is on: what is received from now on was encrypted.
    ///
    /// # Panics
    /// If the last event was not [`Event::StartTls`].
    pub fn upgraded(&mut self) {
        let Phase::Handshake(handshake) = &mut self.phase else { panic!("TLS that nobody asked for") };
        handshake.upgraded();
    }

    /// Takes bytes from the front of what the client has sent: how many, and what they mean.
    ///
    /// With `(0, None)` it needs more than `input` has. Otherwise it is called again with what follows, which may be empty.
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

    /// True while the payload of a write is on its way.
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

    /// Takes what the protocol itself has to say: answers to options, and replies to requests that need no drive.
    pub fn take_output(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.output)
    }
}
