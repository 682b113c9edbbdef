//! A conversation with a drive that answers at once, for the tests of the protocol.

use std::sync::mpsc::channel;

use base::units::{Lba, Sectors};

use crate::nbd::{BlockStatus, End, Protocol, ProtocolEvent, sample_exports};
use crate::{AllocatedExtent, Allocation, AllocationQuery, JobFailure, Operation};

/// The content of a sector that was never written: its number.
fn fresh(sector: u64) -> [u8; 512] {
    [sector as u8; 512]
}

/// The server's end of a connection, with a drive of 1 MiB.
pub(super) struct Conversation {
    protocol: Protocol,
    disk: Vec<u8>,
    /// The result of every operation of the drive; none to carry out the operations.
    pub(super) failure: Option<JobFailure>,
    /// The operations of the drive, one letter each.
    pub(super) asked: String,
    /// All bytes that the server has sent.
    pub(super) sent: Vec<u8>,
    /// True while the server waits for TLS.
    pub(super) starts_tls: bool,
    /// The reason for which the connection has ended.
    pub(super) end: Option<End>,
    /// Bytes that were passed in, and not taken yet.
    waiting: Vec<u8>,
}

impl Conversation {
    pub(super) fn new() -> Self {
        Self::with(Protocol::new(sample_exports().into()))
    }

    /// A connection to a server that demands TLS.
    pub(super) fn secure() -> Self {
        Self::with(Protocol::requiring_tls(sample_exports().into()))
    }

    fn with(mut protocol: Protocol) -> Self {
        let sent = protocol.take_output();
        let disk = (0..2048).flat_map(fresh).collect();
        Self {
            protocol,
            disk,
            failure: None,
            asked: String::new(),
            sent,
            starts_tls: false,
            end: None,
            waiting: Vec::new(),
        }
    }

    /// Continues as after the TLS handshake.
    pub(super) fn upgrade(&mut self) {
        assert!(std::mem::take(&mut self.starts_tls), "nobody asked for TLS");
        self.protocol.upgraded();
    }

    /// Passes bytes of the client to the server.
    pub(super) fn send(&mut self, bytes: &[u8]) {
        self.waiting.extend_from_slice(bytes);
        let mut taken = 0;
        while self.end.is_none() {
            let (more, event) = self.protocol.receive(&self.waiting[taken..]);
            taken += more;
            self.sent.extend(self.protocol.take_output());
            match event {
                None if more == 0 => break,
                None | Some(ProtocolEvent::Payload(_)) => {}
                Some(ProtocolEvent::StartTls) => self.starts_tls = true,
                Some(ProtocolEvent::Ready(export)) => self.asked.push_str(&format!("[{export}]")),
                Some(ProtocolEvent::End(end)) => self.end = Some(end),
                Some(ProtocolEvent::BlockStatus(status)) => {
                    self.asked.push('s');
                    let BlockStatus { start, sectors, most, ticket } = status;
                    let extents = self.failure.map_or_else(|| Ok(self.extents(start, sectors, most)), Err);
                    ticket.reply_extents(extents, &mut self.sent);
                }
                Some(ProtocolEvent::Request(request)) => {
                    let result = self.failure.map_or_else(|| Ok(self.carry_out(&request)), Err);
                    if request.then_flush {
                        self.asked.push('f');
                    }
                    let data = request.ticket.reply(result, &mut self.sent);
                    self.sent.extend(data);
                }
            }
        }
        self.waiting.drain(..taken);
    }

    /// The extents of a range: sectors of zeros are deallocated.
    fn extents(&self, start: Lba, sectors: Sectors, most: usize) -> Vec<AllocatedExtent> {
        let (to, extents) = channel();
        let answer = Box::new(move |result| to.send(result).expect("it is received"));
        AllocationQuery { start, sectors, most, answer }.answer_by(Sectors::new(1), |sector| {
            match self.disk[sector as usize * 512..][..512].iter().all(|byte| *byte == 0) {
                true => Allocation::Deallocated,
                false => Allocation::Mapped,
            }
        });
        extents.recv().expect("it is answered").expect("extents")
    }

    fn carry_out(&mut self, request: &crate::nbd::Request) -> Vec<u8> {
        let start = request.start.get() as usize * 512;
        let range = start..start + request.sectors.get() as usize * 512;
        let (letter, data) = match &request.operation {
            Operation::Read => ('r', self.disk[range].to_vec()),
            Operation::Write { data, fua } => {
                self.disk[range].copy_from_slice(data);
                (if *fua { 'W' } else { 'w' }, Vec::new())
            }
            Operation::Flush => ('f', Vec::new()),
            Operation::Discard => {
                self.disk[range].fill(0xdd);
                ('d', Vec::new())
            }
            Operation::WriteZeroes { fua } => {
                self.disk[range].fill(0);
                (if *fua { 'Z' } else { 'z' }, Vec::new())
            }
            other => unreachable!("NBD has no {other:?}"),
        };
        self.asked.push(letter);
        data
    }
}
