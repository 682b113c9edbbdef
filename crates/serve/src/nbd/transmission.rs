//! The requests of a connection that has chosen an export.

use base::units::{Lba, Sectors};

use super::end::End;
use super::handshake::NegotiationResult;
use super::reply::{ReplyKind, RequestRefusal, Ticket};
use super::wire::{Fields, LARGEST, REQUEST_MAGIC, SECTOR, command, flag};
use crate::Operation;

/// The bytes of a request before its payload.
const HEAD: usize = 28;

/// A valid request, to be carried out by the drive.
#[derive(Debug, PartialEq, Eq)]
pub struct Request {
    /// The operation of the drive.
    pub operation: Operation,
    /// The first sector; zero for a flush.
    pub start: Lba,
    /// The number of sectors; zero for a flush.
    pub sectors: Sectors,
    /// True if a flush follows the operation before the reply.
    pub then_flush: bool,
    /// Makes the reply from the drive's result.
    pub ticket: Ticket,
}

/// A valid BLOCK_STATUS: a query for the allocation of a range.
#[derive(Debug, PartialEq, Eq)]
pub struct BlockStatus {
    /// The first sector of the range.
    pub start: Lba,
    /// The length of the range in sectors.
    pub sectors: Sectors,
    /// The most extents of the reply.
    pub most: usize,
    /// Makes the reply from the drive's answer.
    pub ticket: Ticket,
}

/// The most extents of one reply: clients ask again for the rest.
const EXTENTS: usize = 1024;

pub(super) enum TransmissionStep {
    /// More bytes are needed.
    Incomplete,
    /// The number of bytes that were taken.
    Taken(usize),
    /// A write begins: the bytes taken, and the length of its payload.
    Payload(usize, u32),
    /// The bytes taken, and a complete request.
    Request(usize, Request),
    /// The bytes taken, and a complete allocation query.
    BlockStatus(usize, BlockStatus),
    /// The bytes taken, and the reason for which the connection ends.
    Over(usize, End),
}

#[derive(Debug)]
enum TransmissionPhase {
    Head,
    Payload {
        ticket: Ticket,
        fua: bool,
        data: Vec<u8>,
    },
    /// The rest of the payload of a refused write.
    Skip {
        ticket: Ticket,
        refused: RequestRefusal,
        left: u32,
    },
}

/// The requests of a connection.
#[derive(Debug)]
pub(super) struct Transmission {
    phase: TransmissionPhase,
    capacity: u64,
    structured: bool,
    allocation: bool,
}

impl Transmission {
    pub(super) fn new(chosen: NegotiationResult, capacity: Sectors) -> Self {
        let NegotiationResult { structured, allocation, .. } = chosen;
        Self { phase: TransmissionPhase::Head, capacity: capacity.bytes().get(), structured, allocation }
    }

    /// True while the payload of a write is not complete.
    pub(super) const fn is_in_payload(&self) -> bool {
        !matches!(self.phase, TransmissionPhase::Head)
    }

    pub(super) fn receive(&mut self, input: &[u8], out: &mut Vec<u8>) -> TransmissionStep {
        match &mut self.phase {
            TransmissionPhase::Head => match input.first_chunk() {
                Some(head) => self.head(head, out),
                None => TransmissionStep::Incomplete,
            },
            TransmissionPhase::Payload { ticket, fua, data } => {
                let missing = ticket.length as usize - data.len();
                let taken = input.len().min(missing);
                // Memory is reserved with the first byte of the payload: the owner may wait for room before it passes
                // one in.
                data.reserve_exact(if taken > 0 { missing } else { 0 });
                data.extend_from_slice(&input[..taken]);
                if taken < missing {
                    return if taken == 0 { TransmissionStep::Incomplete } else { TransmissionStep::Taken(taken) };
                }
                let request = request(*ticket, Operation::Write { data: std::mem::take(data), fua: *fua });
                self.phase = TransmissionPhase::Head;
                TransmissionStep::Request(taken, request)
            }
            TransmissionPhase::Skip { ticket, refused, left } => {
                let taken = input.len().min(*left as usize);
                *left -= taken as u32;
                if *left == 0 {
                    ticket.refuse(*refused, out);
                    self.phase = TransmissionPhase::Head;
                } else if taken == 0 {
                    return TransmissionStep::Incomplete;
                }
                TransmissionStep::Taken(taken)
            }
        }
    }

    fn head(&mut self, head: &[u8; HEAD], out: &mut Vec<u8>) -> TransmissionStep {
        let Some((magic, flags, command, cookie, offset, length)) = fields(head) else {
            return TransmissionStep::Incomplete;
        };
        if magic != REQUEST_MAGIC {
            return TransmissionStep::Over(HEAD, End::Garbage);
        }
        let kind = match command {
            command::READ => ReplyKind::Read,
            command::WRITE | command::WRITE_ZEROES => ReplyKind::Write,
            command::DISC => return TransmissionStep::Over(HEAD, End::Finished),
            _ => ReplyKind::Other,
        };
        let ticket = Ticket { cookie, offset, length, kind, structured: self.structured };
        let refused = self.check(command, flags, offset, length).err();
        let fua = flags & flag::FUA != 0;
        let operation = match (command, refused) {
            (command::WRITE, Some(refused)) if length > 0 => {
                self.phase = TransmissionPhase::Skip { ticket, refused, left: length };
                return TransmissionStep::Taken(HEAD);
            }
            (command::WRITE, None) => {
                self.phase = TransmissionPhase::Payload { ticket, fua, data: Vec::new() };
                return TransmissionStep::Payload(HEAD, length);
            }
            (_, Some(refused)) => {
                ticket.refuse(refused, out);
                return TransmissionStep::Taken(HEAD);
            }
            (command::BLOCK_STATUS, None) => {
                let Request { start, sectors, .. } = request(ticket, Operation::Read);
                let most = if flags & flag::REQ_ONE != 0 { 1 } else { EXTENTS };
                return TransmissionStep::BlockStatus(HEAD, BlockStatus { start, sectors, most, ticket });
            }
            (command::READ | command::CACHE, None) => Operation::Read,
            (command::FLUSH, None) => Operation::Flush,
            (command::TRIM, None) => Operation::Discard,
            (_, None) => Operation::WriteZeroes { fua },
        };
        let then_flush = fua && operation == Operation::Discard;
        TransmissionStep::Request(HEAD, Request { then_flush, ..request(ticket, operation) })
    }

    /// Looks for a reason to refuse a request.
    fn check(&self, command: u16, flags: u16, offset: u64, length: u32) -> Result<(), RequestRefusal> {
        let own = match command {
            command::READ if self.structured => flag::DF,
            command::BLOCK_STATUS => flag::REQ_ONE,
            command::WRITE_ZEROES => flag::NO_HOLE | flag::FAST_ZERO,
            command::READ | command::WRITE | command::FLUSH | command::TRIM | command::CACHE => 0,
            _ => return Err(RequestRefusal::Unknown),
        };
        // Every command may have the flag FUA; it has an effect on commands that write only.
        if flags & !(own | flag::FUA) != 0 {
            return Err(RequestRefusal::Flags);
        }
        if command == command::FLUSH {
            return if offset == 0 && length == 0 { Ok(()) } else { Err(RequestRefusal::Range) };
        }
        if length == 0 {
            return Err(RequestRefusal::Empty);
        }
        if !offset.is_multiple_of(u64::from(SECTOR)) || !length.is_multiple_of(SECTOR) {
            return Err(RequestRefusal::Unaligned);
        }
        if matches!(command, command::READ | command::WRITE | command::CACHE) && length > LARGEST {
            return Err(RequestRefusal::TooLong);
        }
        if offset.checked_add(u64::from(length)).is_none_or(|end| end > self.capacity) {
            return Err(RequestRefusal::PastEnd { write: matches!(command, command::WRITE | command::WRITE_ZEROES) });
        }
        if command == command::BLOCK_STATUS && !self.allocation {
            return Err(RequestRefusal::NoContext);
        }
        if flags & flag::FAST_ZERO != 0 {
            return Err(RequestRefusal::SlowZeroes);
        }
        Ok(())
    }
}

/// Magic, flags, command, cookie, offset and length.
fn fields(head: &[u8; HEAD]) -> Option<(u32, u16, u16, u64, u64, u32)> {
    let mut fields = Fields(head);
    Some((fields.u32()?, fields.u16()?, fields.u16()?, fields.u64()?, fields.u64()?, fields.u32()?))
}

fn request(ticket: Ticket, operation: Operation) -> Request {
    let start = Lba::new(ticket.offset / u64::from(SECTOR));
    let sectors = Sectors::new(u64::from(ticket.length / SECTOR));
    Request { operation, start, sectors, then_flush: false, ticket }
}

impl Request {
    /// The bytes of memory that the request and its reply need until the client has the reply.
    #[must_use]
    pub fn memory(&self) -> u32 {
        match self.operation {
            Operation::Read | Operation::Write { .. } => self.ticket.length,
            _ => 0,
        }
    }
}
