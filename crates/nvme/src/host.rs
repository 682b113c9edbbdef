//! A host's end of a connection, for tests and measurements. The host initializes the connection, sends commands and their data,
//! and assembles the answers. It checks the controller's PDUs as the controller checks a host's.

mod answer;
mod command;

use std::collections::BTreeMap;
use std::fmt;

use crate::connection::ADMIN_IN_CAPSULE;
use crate::entry::{SubmissionEntry, Transfer};
use crate::pdu::{
    DIGEST, Digests, FatalError, Header, InitializeRequest, InitializeResponse, LAST, Output, Reader, Role, StreamPart,
    TermRequest, encode_command, encode_data, fatal, kind,
};
use crate::status::Status;
pub use answer::{
    DiscoveryRecord, IdentifiedController, IdentifiedNamespace, discovery_records, namespace_list, zone_descriptors,
};
pub use command::{ConnectRequest, HostCommand};

/// The parameters with which a host initializes a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostConfig {
    /// The digests that the host asks for.
    pub digests: Digests,
    /// Alignment of data to the host in dwords, less one: HPDA.
    pub alignment: u8,
    /// R2Ts for a command at a time, less one: MAXR2T.
    pub max_r2t: u32,
}

/// The end of a command, as the host sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The identifier of the command, as [`Host::submit`] returned it.
    pub command_id: u16,
    /// The status; Data Transfer Error if a digest of the data was wrong.
    pub status: Status,
    /// Dwords 0 and 1.
    pub result: u64,
    /// Head of the submission queue; none if no response was sent beside the data.
    pub head: Option<u16>,
    /// The data that the controller sent for the command.
    pub data: Vec<u8>,
}

/// The reason for which a host gives a connection up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostError {
    /// The controller broke a rule of the transport. The host sends a termination request.
    Fatal(FatalError),
    /// The controller found an error and sent a termination request.
    Terminated(FatalError),
}

impl fmt::Display for HostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fatal(error) => write!(f, "the controller broke NVMe/TCP: {error}"),
            Self::Terminated(error) => write!(f, "the controller ended the connection: {error}"),
        }
    }
}

/// A result of [`Host::receive`].
#[derive(Debug, PartialEq, Eq)]
pub enum HostEvent {
    /// The initialization of the connection is over: the host can send commands.
    Ready,
    /// A command has ended.
    Completed(Completion),
    /// The connection is over.
    Error(HostError),
}

/// A command without a completion.
#[derive(Debug)]
struct PendingCommand {
    /// Data to the controller that it may still request.
    data: Vec<u8>,
    /// Bytes of data that the host takes.
    room: u32,
    received: Vec<u8>,
    damaged: bool,
    /// True once the last data have arrived.
    ended: bool,
}

/// The destination of the data of the present PDU.
#[derive(Clone, Copy, Debug)]
enum Sink {
    Command { command_id: u16, last: bool, success: bool },
    Term(FatalError),
}

/// A host's end of a connection.
#[derive(Debug)]
pub struct Host {
    config: HostConfig,
    reader: Reader,
    output: Output,
    digests: Digests,
    /// CPDA: alignment of the data to the controller in dwords, less one.
    alignment: u8,
    /// MAXH2CDATA: the most bytes of data of an H2CData PDU.
    data_pdu: u32,
    /// Bytes of data that a capsule may have.
    in_capsule: u32,
    ready: bool,
    over: Option<HostError>,
    pending: BTreeMap<u16, PendingCommand>,
    next_id: u16,
    sink: Option<Sink>,
}

impl Host {
    /// A new connection, with its initialization request in the output.
    #[must_use]
    pub fn new(config: HostConfig) -> Self {
        let HostConfig { digests, alignment, max_r2t } = config;
        let digests = u8::from(digests.header) | u8::from(digests.data) << 1;
        let mut output = Output::default();
        output.push(InitializeRequest { alignment, digests, max_r2t, ..InitializeRequest::default() }.encode());
        Self {
            config,
            reader: Reader::new(Role::Host),
            output,
            digests: Digests::default(),
            alignment: 0,
            data_pdu: 0,
            in_capsule: ADMIN_IN_CAPSULE,
            ready: false,
            over: None,
            pending: BTreeMap::new(),
            next_id: 0,
            sink: None,
        }
    }

    /// The bytes that the owner has to send to the controller.
    pub fn output(&mut self) -> &mut Output {
        &mut self.output
    }

    /// Bytes of data that capsules of this queue may have, as Identify Controller says for I/O queues; 0 sends all by R2T.
    pub fn set_in_capsule(&mut self, bytes: u32) {
        self.in_capsule = bytes;
    }

    /// Commands without a completion.
    #[must_use]
    pub fn outstanding(&self) -> usize {
        self.pending.len()
    }

    /// Sends a command and returns its identifier. Data that fit go into the capsule.
    ///
    /// # Panics
    /// If the connection is not ready, or if 65536 commands are outstanding.
    pub fn submit(&mut self, command: HostCommand) -> u16 {
        assert!(self.ready, "the controller has not answered yet");
        assert!(self.pending.len() < usize::from(u16::MAX), "no command identifier is free");
        while self.pending.contains_key(&self.next_id) {
            self.next_id = self.next_id.wrapping_add(1);
        }
        let command_id = self.next_id;
        self.next_id = self.next_id.wrapping_add(1);
        self.submit_as(command_id, command);
        command_id
    }

    /// Sends a command with an identifier of the caller's choice.
    pub fn submit_as(&mut self, command_id: u16, command: HostCommand) {
        let HostCommand { entry, data } = command;
        let entry = entry.with_command_id(command_id);
        let length = data.len() as u32;
        // Connect may bring its data in the capsule on every queue.
        let in_capsule = if entry.fabrics_type().is_some() { ADMIN_IN_CAPSULE } else { self.in_capsule };
        let inside = length > 0 && length <= in_capsule;
        let entry = match length {
            0 => entry,
            _ if inside => entry.with_data_in_capsule(length),
            _ => entry.with_transport_data(length),
        };
        let room = if let Ok(Transfer::ToHost(length)) = entry.transfer() { length } else { 0 };
        let mut pending = PendingCommand { data, room, received: Vec::new(), damaged: false, ended: false };
        if inside {
            let data = std::mem::take(&mut pending.data);
            self.send_capsule(&entry, data);
        } else {
            self.output.push(encode_command(&entry, 0, self.digests, self.alignment));
        }
        self.pending.insert(command_id, pending);
    }

    fn send_capsule(&mut self, entry: &SubmissionEntry, data: Vec<u8>) {
        self.output.push(encode_command(entry, data.len(), self.digests, self.alignment));
        let digest = self.digests.data.then(|| crc32c::crc32c(&data));
        self.output.push(data);
        if let Some(digest) = digest {
            self.output.push(digest.to_le_bytes().to_vec());
        }
    }

    /// Takes bytes from the front of `input`, the controller's stream. Returns the number of bytes taken, and the event that they
    /// complete. `(0, None)` means that the host needs more bytes than `input` has.
    pub fn receive(&mut self, input: &[u8]) -> (usize, Option<HostEvent>) {
        if let Some(error) = self.over {
            return (0, Some(HostEvent::Error(error)));
        }
        match self.reader.step(input) {
            StreamPart::Incomplete => (0, None),
            StreamPart::Fatal { error, header } => (input.len(), Some(self.fail(error, header))),
            StreamPart::Header { taken, header, data, bytes } => match self.header(header, data) {
                Ok(event) => (taken, event),
                Err(error) => (taken, Some(self.fail(error, bytes))),
            },
            StreamPart::Data { data, end } => {
                if let Some(Sink::Command { command_id, .. }) = self.sink
                    && let Some(pending) = self.pending.get_mut(&command_id)
                {
                    pending.received.extend_from_slice(data);
                }
                (data.len(), if end { self.end_of_data(true) } else { None })
            }
            StreamPart::Digest { matches } => (DIGEST, self.end_of_data(matches)),
        }
    }

    fn fail(&mut self, error: FatalError, header: &[u8]) -> HostEvent {
        if header.first() == Some(&kind::CONTROLLER_TERM) {
            return self.end(HostError::Terminated(error));
        }
        self.output.push(TermRequest::encode(kind::HOST_TERM, error, header));
        self.end(HostError::Fatal(error))
    }

    fn end(&mut self, error: HostError) -> HostEvent {
        self.over = Some(error);
        HostEvent::Error(error)
    }

    fn header(&mut self, header: Header, data: usize) -> Result<Option<HostEvent>, FatalError> {
        match header {
            Header::InitializeResponse(response) if !self.ready => self.initialize(&response).map(Some),
            Header::Term(error) if data > 0 => {
                self.sink = Some(Sink::Term(error));
                Ok(None)
            }
            Header::Term(error) => Ok(Some(self.end(HostError::Terminated(error)))),
            Header::Response(entry) if self.ready => {
                let (id, head) = (entry.command_id, Some(entry.head));
                Ok(Some(self.complete(id, entry.status, entry.result, head).ok_or(FatalError::field(8 + 12))?))
            }
            Header::R2t { command_id, tag, offset, length } if self.ready => {
                self.send_data(command_id, tag, offset, length).map(|()| None)
            }
            Header::Data { command_id, offset, length, last, success, .. } if self.ready => {
                let pending = self.pending.get_mut(&command_id).ok_or(FatalError::field(8))?;
                if pending.room == 0 || pending.ended {
                    return Err(FatalError::of(fatal::SEQUENCE));
                }
                let end = offset.checked_add(length).filter(|end| *end <= pending.room);
                end.ok_or(FatalError::of(fatal::DATA_OUT_OF_RANGE))?;
                if offset as usize != pending.received.len() {
                    return Err(FatalError::of(fatal::SEQUENCE));
                }
                if success && !last {
                    return Err(FatalError::field(1));
                }
                pending.ended = last;
                self.sink = Some(Sink::Command { command_id, last, success });
                Ok(None)
            }
            _ => Err(FatalError::of(fatal::SEQUENCE)),
        }
    }

    /// Checks the answer as Linux does (nvme_tcp_init_connection): the digests are those that were asked for.
    fn initialize(&mut self, response: &InitializeResponse) -> Result<HostEvent, FatalError> {
        let digests = Digests { header: response.digests & 1 != 0, data: response.digests & 2 != 0 };
        if response.version != 0 {
            return Err(FatalError::parameter(8));
        }
        let Digests { header, data } = self.config.digests;
        // Digests that were not asked for are an error; a host may refuse a connection without those that it asked for.
        if digests.header && !header || digests.data && !data {
            return Err(FatalError::field(11));
        }
        if digests != self.config.digests {
            return Err(FatalError::parameter(11));
        }
        if response.max_data < 4096 || !response.max_data.is_multiple_of(4) {
            return Err(FatalError::field(12));
        }
        (self.digests, self.alignment, self.data_pdu) = (digests, response.alignment, response.max_data);
        self.reader.agree(digests, self.config.alignment);
        self.ready = true;
        Ok(HostEvent::Ready)
    }

    fn send_data(&mut self, command_id: u16, tag: u16, offset: u32, length: u32) -> Result<(), FatalError> {
        let pending = self.pending.get(&command_id).ok_or(FatalError::field(8))?;
        let range = offset as usize..offset as usize + length as usize;
        let data = pending.data.get(range).filter(|data| !data.is_empty());
        let data = data.ok_or(FatalError::of(fatal::DATA_OUT_OF_RANGE))?;
        let pieces = data.chunks(self.data_pdu as usize);
        let count = pieces.len();
        let mut at = offset;
        for (i, piece) in pieces.enumerate() {
            let flags = if i + 1 == count { LAST } else { 0 };
            let range = (at, piece.len() as u32);
            let agreed = (self.digests, self.alignment);
            self.output.push(encode_data(kind::HOST_DATA, flags, (command_id, tag), range, agreed));
            self.output.push(piece.to_vec());
            if self.digests.data {
                self.output.push(crc32c::crc32c(piece).to_le_bytes().to_vec());
            }
            at += piece.len() as u32;
        }
        Ok(())
    }

    fn end_of_data(&mut self, digest_matches: bool) -> Option<HostEvent> {
        match self.sink.take()? {
            Sink::Term(error) => Some(self.end(HostError::Terminated(error))),
            Sink::Command { command_id, last, success } => {
                if !digest_matches && let Some(pending) = self.pending.get_mut(&command_id) {
                    pending.damaged = true;
                }
                if last && success { self.complete(command_id, Status::SUCCESS, 0, None) } else { None }
            }
        }
    }

    fn complete(&mut self, command_id: u16, status: Status, result: u64, head: Option<u16>) -> Option<HostEvent> {
        let pending = self.pending.remove(&command_id)?;
        // As in Linux: a wrong digest of the data fails the command.
        let status = if pending.damaged && status.is_success() { Status::DATA_TRANSFER_ERROR } else { status };
        Some(HostEvent::Completed(Completion { command_id, status, result, head, data: pending.received }))
    }
}
