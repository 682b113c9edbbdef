//! The controller's end of a TCP connection, which is one queue: it reads capsules, requests data of writes, sends data of reads
//! and responses.
//!
//! The owner passes the host's bytes in ([`Connection::receive`]), sends the connection's bytes ([`Connection::output`]) and carries
//! out the commands ([`ConnectionEvent::Command`]). Commands end in any order ([`Connection::complete`]). The connection checks the rules of
//! the transport only; [`Session`](crate::Session) adds the rules of queues and controllers.
//!
//! NVMe/TCP 1.0 leaves these choices to the controller:
//!
//! * A command whose data digest is wrong fails with Transient Transport Error, and the connection goes on (section 3.5).
//! * More outstanding commands than the queue has entries end the connection with a PDU sequence error.
//! * Data of writes are requested only while all requested data fit into [`Config::bytes`]; later writes wait. Data in capsules
//!   are bounded by the queue's entries.

mod commands;
mod config;

use std::fmt;

use crate::entry::{CompletionEntry, SubmissionEntry, Transfer};
use crate::pdu::{
    Digests, FatalError, Header, InitializeRequest, InitializeResponse, LAST, Output, Reader, Role, SUCCESS,
    StreamPart, TermRequest, encode_data, encode_response, fatal, kind,
};
use crate::status::Status;
use commands::{Commands, OutstandingCommand};
pub use config::Config;

/// Bytes of data that a capsule may have on an admin queue, and in a Fabrics command on any queue (NVMe/TCP 1.0, figure 11).
pub const ADMIN_IN_CAPSULE: u32 = 8192;

/// The reason for which a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The host broke a rule of the transport. The controller sends a termination request.
    Fatal(FatalError),
    /// The host found an error and sent a termination request.
    Terminated(FatalError),
    /// The host shut its controller down.
    Shutdown,
    /// The host reset its controller, or another connection of the controller ended.
    Reset,
    /// The host sent no command for longer than its keep alive timeout.
    KeepAliveExpired,
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fatal(error) => write!(f, "the host broke NVMe/TCP: {error}"),
            Self::Terminated(error) => write!(f, "the host ended the connection: {error}"),
            Self::Shutdown => f.write_str("the host shut the controller down"),
            Self::Reset => f.write_str("the controller was reset"),
            Self::KeepAliveExpired => f.write_str("the host's keep alive timeout has passed"),
        }
    }
}

/// A result of [`Connection::receive`]: a complete command, or the end of the connection.
#[derive(Debug, PartialEq, Eq)]
pub enum ConnectionEvent {
    /// A command, with all data that the host brings.
    Command {
        /// The submission queue entry, as the host sent it.
        entry: SubmissionEntry,
        /// The data to the controller; empty if the command has none.
        data: Vec<u8>,
    },
    /// The connection ends: it receives nothing more. The owner still sends the rest of the output.
    End(End),
}

/// The result of a command, for [`Connection::complete`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// The status of the completion.
    pub status: Status,
    /// Dwords 0 and 1 of the completion.
    pub result: u64,
    /// Data to the host; only a success may have some.
    pub data: Vec<u8>,
}

impl Response {
    /// Success without data, and with zeros in dwords 0 and 1.
    #[must_use]
    pub const fn success() -> Self {
        Self::result(0)
    }

    /// Success with dwords 0 and 1.
    #[must_use]
    pub const fn result(result: u64) -> Self {
        Self { status: Status::SUCCESS, result, data: Vec::new() }
    }

    /// Success with data to the host.
    #[must_use]
    pub const fn data(data: Vec<u8>) -> Self {
        Self { status: Status::SUCCESS, result: 0, data }
    }

    /// A failure with this status, without data.
    #[must_use]
    pub const fn status(status: Status) -> Self {
        Self { status, result: 0, data: Vec::new() }
    }
}

/// The parameters of a queue, from its Connect command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queue {
    /// The queue's identifier: 0 for the admin queue.
    pub id: u16,
    /// The entries of the submission queue.
    pub entries: u32,
    /// True if responses carry the head of the submission queue.
    pub flow_control: bool,
}

#[derive(Debug)]
enum ConnectionPhase {
    /// The initialization request is due.
    Initialize,
    Open,
    Over(End),
}

/// The destination of the data of the present PDU.
#[derive(Clone, Copy, Debug)]
enum Sink {
    /// The command is refused with this status once its data have passed.
    Refused { command_id: u16, status: Status },
    /// The data of a termination request.
    Term(FatalError),
    /// Data in a capsule, after `skip` bytes that no command uses.
    Capsule { command_id: u16, skip: u64 },
    /// Data for an R2T.
    Requested { command_id: u16, tag: u16 },
}

/// The controller's end of a connection.
#[derive(Debug)]
pub struct Connection {
    config: Config,
    reader: Reader,
    phase: ConnectionPhase,
    sink: Option<Sink>,
    digests: Digests,
    /// HPDA: alignment of the data to the host in dwords, less one.
    host_alignment: u8,
    queue: Option<Queue>,
    /// Head of the submission queue.
    head: u16,
    commands: Commands,
    output: Output,
}

impl Connection {
    /// A new connection, on which the host speaks first.
    ///
    /// # Panics
    /// If the configuration contradicts itself, see [`Config::check`].
    #[must_use]
    pub fn new(config: Config) -> Self {
        config.check();
        Self {
            config,
            reader: Reader::new(Role::Controller),
            phase: ConnectionPhase::Initialize,
            sink: None,
            digests: Digests::default(),
            host_alignment: 0,
            queue: None,
            head: 0,
            commands: Commands::new(config),
            output: Output::default(),
        }
    }

    /// The bytes that the owner has to send to the host.
    pub fn output(&mut self) -> &mut Output {
        &mut self.output
    }

    /// The queue; none before the host has connected it.
    #[must_use]
    pub const fn queue(&self) -> Option<Queue> {
        self.queue
    }

    /// The digests that both ends have agreed on.
    #[must_use]
    pub const fn digests(&self) -> Digests {
        self.digests
    }

    /// Commands that have no response yet.
    #[must_use]
    pub fn outstanding(&self) -> usize {
        self.commands.len()
    }

    /// True while the host owes bytes: the rest of a PDU, or data of a write that the controller has requested. While the host owes
    /// nothing, it may be silent.
    #[must_use]
    pub fn is_incomplete(&self) -> bool {
        !self.reader.is_between() || self.commands.await_data()
    }

    /// Bytes of data to the controller that commands hold, or for which they have room.
    #[must_use]
    pub fn memory(&self) -> u64 {
        self.commands.memory()
    }

    /// The entry of an outstanding command.
    #[must_use]
    pub fn entry(&self, command_id: u16) -> Option<&SubmissionEntry> {
        self.commands.entry(command_id)
    }

    /// Makes the connection a queue, after a successful Connect command and before that command's completion.
    ///
    /// # Panics
    /// If the queue is connected already.
    pub fn connect(&mut self, queue: Queue) {
        assert!(self.queue.is_none(), "a connection is one queue");
        self.queue = Some(queue);
    }

    /// Ends the connection without sending a termination request.
    pub fn end(&mut self, end: End) {
        self.phase = ConnectionPhase::Over(end);
    }

    /// Takes bytes from the front of `input`, the host's stream. Returns the number of bytes taken, and the event that they
    /// complete.
    ///
    /// `(0, None)` means that the connection needs more bytes than `input` has; it never needs more than 256. After any other
    /// answer the owner calls again with the remaining bytes, even if there are none. A call takes at most one header, so the owner
    /// decides how much output waits.
    pub fn receive(&mut self, input: &[u8]) -> (usize, Option<ConnectionEvent>) {
        if let ConnectionPhase::Over(end) = self.phase {
            return (0, Some(ConnectionEvent::End(end)));
        }
        match self.reader.step(input) {
            StreamPart::Incomplete => (0, None),
            StreamPart::Fatal { error, header } => (input.len(), Some(self.fail(error, header))),
            StreamPart::Header { taken, header, data, bytes } => match self.header(header, data) {
                Ok(event) => (taken, event),
                Err(error) => (taken, Some(self.fail(error, bytes))),
            },
            StreamPart::Data { data, end } => {
                self.data(data);
                (data.len(), if end { self.end_of_data(true) } else { None })
            }
            StreamPart::Digest { matches } => (crate::pdu::DIGEST, self.end_of_data(matches)),
        }
    }

    fn fail(&mut self, error: FatalError, header: &[u8]) -> ConnectionEvent {
        // A malformed termination request is not answered, but ends the connection, too (NVMe/TCP 1.0, section 3.5).
        if header.first() == Some(&kind::HOST_TERM) {
            self.end(End::Terminated(error));
            return ConnectionEvent::End(End::Terminated(error));
        }
        self.output.push(TermRequest::encode(kind::CONTROLLER_TERM, error, header));
        self.end(End::Fatal(error));
        ConnectionEvent::End(End::Fatal(error))
    }

    fn header(&mut self, header: Header, data: usize) -> Result<Option<ConnectionEvent>, FatalError> {
        match (header, &self.phase) {
            (Header::InitializeRequest(request), ConnectionPhase::Initialize) => {
                self.initialize(&request).map(|()| None)
            }
            (Header::Term(error), _) => {
                if data > 0 {
                    self.sink = Some(Sink::Term(error));
                    return Ok(None);
                }
                self.end(End::Terminated(error));
                Ok(Some(ConnectionEvent::End(End::Terminated(error))))
            }
            (Header::Command(entry), ConnectionPhase::Open) => self.command(entry, data),
            (Header::Data { command_id, tag, offset, length, last, .. }, ConnectionPhase::Open) => {
                self.commands.begin_data(command_id, tag, (offset, length), last)?;
                self.sink = Some(Sink::Requested { command_id, tag });
                Ok(None)
            }
            _ => Err(FatalError::of(fatal::SEQUENCE)),
        }
    }

    /// Agrees on the digests that the host asks for and the configuration offers (NVMe/TCP 1.0, sections 3.1 and 3.3.1.1).
    fn initialize(&mut self, request: &InitializeRequest) -> Result<(), FatalError> {
        if request.version != 0 {
            return Err(FatalError::parameter(8));
        }
        if request.alignment > 31 {
            return Err(FatalError::field(10));
        }
        let Config { digests: offered, alignment, data_pdu, .. } = self.config;
        self.digests = Digests {
            header: offered.header && request.digests & 1 != 0,
            data: offered.data && request.digests & 2 != 0,
        };
        self.host_alignment = request.alignment;
        self.commands.set_r2ts(request.max_r2t);
        let response = InitializeResponse {
            alignment,
            digests: u8::from(self.digests.header) | u8::from(self.digests.data) << 1,
            max_data: data_pdu,
            ..InitializeResponse::default()
        };
        self.output.push(response.encode());
        self.reader.agree(self.digests, alignment);
        self.phase = ConnectionPhase::Open;
        Ok(())
    }

    /// The most bytes of data in a capsule.
    const fn in_capsule(&self) -> u32 {
        match self.queue {
            Some(Queue { id: 1.., .. }) if self.config.in_capsule > ADMIN_IN_CAPSULE => self.config.in_capsule,
            _ => ADMIN_IN_CAPSULE,
        }
    }

    fn command(&mut self, entry: SubmissionEntry, data: usize) -> Result<Option<ConnectionEvent>, FatalError> {
        if data > self.in_capsule() as usize {
            return Err(FatalError::field(4));
        }
        let command_id = entry.command_id();
        let refused = if self.commands.contains(command_id) {
            Some(Status::COMMAND_ID_CONFLICT.do_not_retry())
        } else if self.commands.len() as u32 >= self.queue.map_or(1, |queue| queue.entries) {
            // The host sends a command only if the queue has room for it.
            return Err(FatalError::of(fatal::SEQUENCE));
        } else {
            self.refused(&entry, data).err()
        };
        if let Some(status) = refused {
            if data > 0 {
                self.sink = Some(Sink::Refused { command_id, status });
            } else {
                self.respond(command_id, Response::status(status));
            }
            return Ok(None);
        }
        match entry.transfer() {
            Ok(Transfer::InCapsule { offset, length }) if length > 0 => {
                self.commands.insert(OutstandingCommand::with_data_in_capsule(entry, length));
                self.sink = Some(Sink::Capsule { command_id, skip: offset });
                Ok(None)
            }
            Ok(Transfer::ToController(length)) => {
                self.commands.insert(OutstandingCommand::with_requested_data(entry, length));
                self.request();
                Ok(None)
            }
            _ => {
                self.commands.insert(OutstandingCommand::without_data(entry.clone()));
                Ok(Some(ConnectionEvent::Command { entry, data: Vec::new() }))
            }
        }
    }

    /// Looks for a reason of the transport to refuse a command with `data` bytes in its capsule.
    fn refused(&self, entry: &SubmissionEntry, data: usize) -> Result<(), Status> {
        let transfer = entry.transfer()?;
        let length = match transfer {
            Transfer::InCapsule { offset, length } => {
                if offset.checked_add(u64::from(length)).is_none_or(|end| end > data as u64) {
                    return Err(Status::SGL_OFFSET_INVALID.do_not_retry());
                }
                length
            }
            // Data that no descriptor names.
            _ if data > 0 => return Err(Status::SGL_TYPE_INVALID.do_not_retry()),
            Transfer::ToController(length) | Transfer::ToHost(length) => length,
            Transfer::None => 0,
        };
        if length > self.config.transfer() { Err(Status::INVALID_FIELD.do_not_retry()) } else { Ok(()) }
    }

    /// Requests data for the writes that wait, while all requested data fit into [`Config::bytes`].
    fn request(&mut self) {
        for r2t in self.commands.requests() {
            let range = (r2t.offset, r2t.length);
            self.output.push(encode_data(kind::R2T, 0, (r2t.command_id, r2t.tag), range, (self.digests, 0)));
        }
    }

    /// Takes data of the present PDU.
    fn data(&mut self, data: &[u8]) {
        match &mut self.sink {
            Some(Sink::Capsule { command_id, skip }) => {
                let skipped = data.len().min(usize::try_from(*skip).unwrap_or(usize::MAX));
                *skip -= skipped as u64;
                self.commands.append(*command_id, &data[skipped..]);
            }
            Some(Sink::Requested { command_id, tag }) => self.commands.store(*command_id, *tag, data),
            Some(Sink::Refused { .. } | Sink::Term(_)) | None => {}
        }
    }

    fn end_of_data(&mut self, digest_matches: bool) -> Option<ConnectionEvent> {
        let command_id = match self.sink.take()? {
            Sink::Refused { command_id, status } => {
                self.respond(command_id, Response::status(status));
                return None;
            }
            Sink::Term(error) => {
                self.end(End::Terminated(error));
                return Some(ConnectionEvent::End(End::Terminated(error)));
            }
            Sink::Capsule { command_id, .. } => command_id,
            Sink::Requested { command_id, tag } => {
                self.commands.end_data(command_id, tag);
                command_id
            }
        };
        if !digest_matches {
            self.commands.mark_damaged(command_id);
        }
        let Some((entry, data, damaged)) = self.commands.take_complete(command_id) else {
            self.request();
            return None;
        };
        if damaged {
            self.complete(command_id, Response::status(Status::TRANSIENT_TRANSPORT_ERROR));
            return None;
        }
        Some(ConnectionEvent::Command { entry, data })
    }

    /// Ends a command: sends its data and its response.
    ///
    /// # Panics
    /// If there is no such command, if the host still sends data for it, or if the data are more than the host has room for.
    pub fn complete(&mut self, command_id: u16, response: Response) {
        let entry = self.commands.remove(command_id).expect("a command that runs");
        if let Some(queue) = self.queue {
            self.head = ((u32::from(self.head) + 1) % queue.entries) as u16;
        }
        let room = match entry.transfer() {
            Ok(Transfer::ToHost(length)) => length as usize,
            _ => 0,
        };
        let length = response.data.len();
        assert!(length <= room, "{length} bytes for a host with room for {room}");
        // DATAL is a multiple of dwords (NVMe/TCP 1.0, figure 27).
        let mut response = response;
        response.data.resize(length.next_multiple_of(4).min(room), 0);
        self.respond(command_id, response);
        self.request();
    }

    /// Drops a command that runs without a response, as a reset of the controller does.
    ///
    /// # Panics
    /// If there is no such command, or if the host still sends data for it.
    pub fn discard(&mut self, command_id: u16) {
        self.commands.remove(command_id).expect("a command that runs");
        self.request();
    }

    fn respond(&mut self, command_id: u16, response: Response) {
        let Response { status, result, data } = response;
        let flow_control = self.queue.is_none_or(|queue| queue.flow_control);
        // Without flow control the flag SUCCESS of the last data PDU replaces the response of a success whose result is 0.
        let no_response = !flow_control && status == Status::SUCCESS && result == 0;
        if !data.is_empty() {
            let flags = if no_response { LAST | SUCCESS } else { LAST };
            let range = (0, data.len() as u32);
            let agreed = (self.digests, self.host_alignment);
            self.output.push(encode_data(kind::CONTROLLER_DATA, flags, (command_id, 0), range, agreed));
            let digest = self.digests.data.then(|| crc32c::crc32c(&data));
            self.output.push(data);
            if let Some(digest) = digest {
                self.output.push(digest.to_le_bytes().to_vec());
            }
            if no_response {
                return;
            }
        }
        let head = if flow_control { self.head } else { u16::MAX };
        let entry = CompletionEntry { command_id, status, result, head };
        self.output.push(encode_response(entry, self.digests));
    }
}
