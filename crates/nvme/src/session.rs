//! A session: a connection that is a queue of a subsystem's controller.

use std::time::Duration;

use crate::connection::{Connection, ConnectionEvent, End, Response};
use crate::controller::errors::CommandFailure;
use crate::description::Drives;
use crate::entry::{SubmissionEntry, opcode};
use crate::identify::namespace::command_set;
use crate::io::IoRequest;
use crate::pdu::Output;
use crate::status::Status;
use crate::subsystem::{Answer, DriveCommand, Membership, Subsystem};

/// A request of a session to its owner.
#[derive(Debug, PartialEq, Eq)]
pub enum SessionRequest {
    /// An I/O command, which the owner ends with [`Session::complete`].
    Io(IoRequest),
    /// An admin command for the drive.
    Drive {
        /// The command identifier, by which the response finds the command.
        command_id: u16,
        /// The operation of the drive.
        command: DriveCommand,
    },
    /// A host connected a queue.
    Connected {
        /// The identifier of the controller.
        controller: u16,
        /// The queue; 0 for the admin queue.
        queue: u16,
    },
    /// The host shuts its controller down: the owner makes all data durable and calls
    /// [`finish_shutdown`](Subsystem::finish_shutdown).
    Shutdown {
        /// The identifier of the controller.
        controller: u16,
    },
    /// The session ends. The owner still sends the rest of the output.
    End(End),
}

/// A connection of a host with a subsystem.
///
/// Every call must pass the same [`Subsystem`].
#[derive(Debug)]
pub struct Session {
    connection: Connection,
    membership: Option<Membership>,
}

impl Session {
    /// A new connection to a subsystem.
    #[must_use]
    pub fn new(subsystem: &Subsystem) -> Self {
        Self { connection: Connection::new(*subsystem.config()), membership: None }
    }

    /// The bytes that the owner has to send to the host.
    pub fn output(&mut self) -> &mut Output {
        self.connection.output()
    }

    /// The connection below the session, which follows the rules of the transport.
    #[must_use]
    pub const fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Takes bytes from the front of `input`, the host's stream. Returns the number of bytes taken, and the request that they
    /// complete. See [`Connection::receive`].
    pub fn receive(
        &mut self,
        input: &[u8],
        subsystem: &mut Subsystem,
        drives: &dyn Drives,
        now: Duration,
    ) -> (usize, Option<SessionRequest>) {
        if let Some(end) = self.poll(subsystem) {
            return (0, Some(SessionRequest::End(end)));
        }
        let (taken, event) = self.connection.receive(input);
        let request = match event {
            None => None,
            Some(ConnectionEvent::End(end)) => Some(SessionRequest::End(end)),
            Some(ConnectionEvent::Command { entry, data }) => self.command(&entry, data, subsystem, drives, now),
        };
        self.send_events(subsystem);
        (taken, request)
    }

    /// Sends asynchronous events that have happened, and says whether the session has ended for a reason outside of its connection.
    pub fn poll(&mut self, subsystem: &mut Subsystem) -> Option<End> {
        if let Err(end) = self.membership.as_ref().map_or(Ok(()), |membership| subsystem.member(membership).map(drop)) {
            self.connection.end(end);
            return Some(end);
        }
        self.send_events(subsystem);
        None
    }

    /// Ends a command that a [`SessionRequest`] passed to the owner.
    ///
    /// # Panics
    /// If no such command runs, or its response has more data than the host has room for.
    pub fn complete(&mut self, command_id: u16, response: Response, subsystem: &mut Subsystem) {
        let response = self.noted(command_id, response, subsystem);
        self.connection.complete(command_id, response);
    }

    /// Ends the session after its TCP connection has closed. With an admin queue the controller ends, and so do the controller's
    /// other sessions.
    pub fn close(self, subsystem: &mut Subsystem) {
        if let Some(membership) = &self.membership {
            subsystem.leave(membership);
        }
    }

    fn send_events(&mut self, subsystem: &mut Subsystem) {
        let Some(membership) = self.membership.filter(|membership| membership.queue == 0) else { return };
        let Ok(controller) = subsystem.member(&membership) else { return };
        while let Some((command_id, result)) = controller.events.next() {
            self.connection.complete(command_id, Response::result(result));
        }
    }

    fn command(
        &mut self,
        entry: &SubmissionEntry,
        data: Vec<u8>,
        subsystem: &mut Subsystem,
        drives: &dyn Drives,
        now: Duration,
    ) -> Option<SessionRequest> {
        let command_id = entry.command_id();
        let Some(membership) = self.membership else { return self.first_command(entry, &data, subsystem, now) };
        let Ok(controller) = subsystem.member(&membership) else { return None };
        controller.keep_alive.since = now;
        let answer = match entry.fabrics_type() {
            Some(opcode::fabrics::PROPERTY_GET) if membership.queue == 0 => subsystem.property(&membership, entry),
            Some(opcode::fabrics::PROPERTY_SET) if membership.queue == 0 => {
                let (resets, requests) = (controller.resets, controller.events.requests());
                let answer = subsystem.property(&membership, entry);
                // A reset drops the event requests: the host may use their identifiers again.
                if subsystem.member(&membership).is_ok_and(|controller| controller.resets != resets) {
                    requests.into_iter().for_each(|request| self.connection.discard(request));
                }
                answer
            }
            // A queue connects once.
            Some(opcode::fabrics::CONNECT) => Err(Status::COMMAND_SEQUENCE_ERROR.do_not_retry()),
            Some(_) => Err(Status::INVALID_OPCODE.do_not_retry()),
            None if membership.queue > 0 => match subsystem.io(&membership, entry, data) {
                Ok(request) => return Some(SessionRequest::Io(request)),
                Err(status) => Err(status),
            },
            None => {
                if let Some(aborted) = subsystem.abort_event_request(&membership, entry) {
                    self.connection.complete(aborted, Response::status(Status::ABORT_REQUESTED));
                    Ok(Answer::Response(Response::success()))
                } else {
                    subsystem.admin(&membership, entry, &data, drives, now)
                }
            }
        };
        let response = match answer {
            Ok(Answer::Response(response)) => response,
            Ok(Answer::Held) => return None,
            Ok(Answer::Drive(command)) => return Some(SessionRequest::Drive { command_id, command }),
            Ok(Answer::Shutdown) => {
                self.connection.complete(command_id, Response::success());
                return Some(SessionRequest::Shutdown { controller: membership.controller });
            }
            Err(status) => Response::status(status),
        };
        self.complete_entry(entry, response, subsystem);
        None
    }

    /// Before the queue is connected only Connect is allowed (NVMe base 2.0, section 3.3.2.2).
    fn first_command(
        &mut self,
        entry: &SubmissionEntry,
        data: &[u8],
        subsystem: &mut Subsystem,
        now: Duration,
    ) -> Option<SessionRequest> {
        let command_id = entry.command_id();
        if entry.fabrics_type() != Some(opcode::fabrics::CONNECT) {
            let refusal = Response::status(Status::COMMAND_SEQUENCE_ERROR.do_not_retry());
            self.connection.complete(command_id, refusal);
            return None;
        }
        match subsystem.connect(entry, data, now) {
            Err(refusal) => {
                self.connection.complete(command_id, refusal);
                None
            }
            Ok((membership, queue, response)) => {
                self.membership = Some(membership);
                self.connection.connect(queue);
                self.connection.complete(command_id, response);
                Some(SessionRequest::Connected { controller: membership.controller, queue: queue.id })
            }
        }
    }

    /// Ends a command that needed no drive.
    fn complete_entry(&mut self, entry: &SubmissionEntry, response: Response, subsystem: &mut Subsystem) {
        let response = self.noted_entry(entry, response, subsystem);
        self.connection.complete(entry.command_id(), response);
    }

    fn noted(&self, command_id: u16, response: Response, subsystem: &mut Subsystem) -> Response {
        if response.status.is_success() {
            return response;
        }
        match self.connection.entry(command_id).cloned() {
            Some(entry) => self.noted_entry(&entry, response, subsystem),
            None => response,
        }
    }

    /// Notes a failure in the controller's error log.
    fn noted_entry(&self, entry: &SubmissionEntry, mut response: Response, subsystem: &mut Subsystem) -> Response {
        if response.status.is_success() {
            return response;
        }
        let Some(membership) = self.membership else { return response };
        let set = subsystem.description().namespace(entry.namespace()).map_or(0, command_set);
        let Ok(controller) = subsystem.member(&membership) else { return response };
        response.status = response.status.more();
        let is_io = membership.queue > 0;
        controller.errors.note(CommandFailure {
            queue: membership.queue,
            command_id: entry.command_id(),
            status: response.status,
            lba: if is_io { entry.cdw_pair(10) } else { 0 },
            namespace: entry.namespace(),
            command_set: if is_io { set } else { 0 },
            opcode: entry.opcode(),
        });
        response
    }
}
