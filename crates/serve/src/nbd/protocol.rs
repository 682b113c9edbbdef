//! One connection: the negotiation, then requests.

use std::sync::Arc;

use super::end::End;
use super::handshake::{self, ExportInfo, Handshake};
use super::transmission::{self, BlockStatus, Request, Transmission};

/// A result of [`Protocol::receive`].
#[derive(Debug, PartialEq, Eq)]
pub enum ProtocolEvent {
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
enum ProtocolPhase {
    Handshake(Handshake),
    Transmission(Transmission),
    Over(End),
}

/// The server's end of a connection.
#[derive(Debug)]
pub struct Protocol {
    exports: Arc<[ExportInfo]>,
    phase: ProtocolPhase,
    output: Vec<u8>,
}

impl Protocol {
    /// A new connection, with a greeting in the output.
    #[must_use]
    pub fn new(exports: Arc<[ExportInfo]>) -> Self {
        let mut output = Vec::new();
        let phase = ProtocolPhase::Handshake(Handshake::new(&mut output));
        Self { exports, phase, output }
    }

    /// A new connection whose client must ask for TLS before anything else, with a greeting in the output.
    #[must_use]
    pub fn requiring_tls(exports: Arc<[ExportInfo]>) -> Self {
        let mut protocol = Self::new(exports);
        if let ProtocolPhase::Handshake(handshake) = &mut protocol.phase {
            handshake.require_tls();
        }
        protocol
    }

    /// Continues after the TLS handshake: bytes received from now on were encrypted.
    ///
    /// # Panics
    /// If the last event was not [`ProtocolEvent::StartTls`].
    pub fn upgraded(&mut self) {
        let ProtocolPhase::Handshake(handshake) = &mut self.phase else { panic!("TLS that nobody asked for") };
        handshake.upgraded();
    }

    /// Takes bytes from the front of `input`, the client's stream. Returns the number of bytes taken, and the event that they
    /// complete.
    ///
    /// `(0, None)` means that more bytes than `input` has are needed. Otherwise the owner calls again with the remaining bytes,
    /// even if there are none.
    /// A call reads at most one option or request, so the owner decides how much output waits.
    pub fn receive(&mut self, input: &[u8]) -> (usize, Option<ProtocolEvent>) {
        match &mut self.phase {
            ProtocolPhase::Handshake(handshake) => match handshake.receive(input, &self.exports, &mut self.output) {
                handshake::NegotiationStep::Incomplete => (0, None),
                handshake::NegotiationStep::Taken(taken) => (taken, None),
                handshake::NegotiationStep::StartTls(taken) => (taken, Some(ProtocolEvent::StartTls)),
                handshake::NegotiationStep::Over(taken, Ok(chosen)) => {
                    let capacity = self.exports[chosen.export].capacity;
                    self.phase = ProtocolPhase::Transmission(Transmission::new(chosen, capacity));
                    (taken, Some(ProtocolEvent::Ready(chosen.export)))
                }
                handshake::NegotiationStep::Over(taken, Err(end)) => (taken, Some(self.end(end))),
            },
            ProtocolPhase::Transmission(requests) => match requests.receive(input, &mut self.output) {
                transmission::TransmissionStep::Incomplete => (0, None),
                transmission::TransmissionStep::Taken(taken) => (taken, None),
                transmission::TransmissionStep::Payload(taken, bytes) => (taken, Some(ProtocolEvent::Payload(bytes))),
                transmission::TransmissionStep::Request(taken, request) => {
                    (taken, Some(ProtocolEvent::Request(request)))
                }
                transmission::TransmissionStep::BlockStatus(taken, status) => {
                    (taken, Some(ProtocolEvent::BlockStatus(status)))
                }
                transmission::TransmissionStep::Over(taken, end) => (taken, Some(self.end(end))),
            },
            ProtocolPhase::Over(end) => (0, Some(ProtocolEvent::End(*end))),
        }
    }

    /// True while the payload of a write is not complete.
    #[must_use]
    pub const fn is_in_payload(&self) -> bool {
        match &self.phase {
            ProtocolPhase::Transmission(requests) => requests.is_in_payload(),
            ProtocolPhase::Handshake(_) | ProtocolPhase::Over(_) => false,
        }
    }

    fn end(&mut self, end: End) -> ProtocolEvent {
        self.phase = ProtocolPhase::Over(end);
        ProtocolEvent::End(end)
    }

    /// Takes the output of the protocol itself: answers to options, and replies to requests that need no drive.
    pub fn take_output(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.output)
    }
}
