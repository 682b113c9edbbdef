//! Responses on their way from the drive to a connection.

use nvme::{Response, Status};
use tokio::sync::mpsc::UnboundedSender;

use super::failure::status;
use crate::JobFailure;
use crate::server::intake::AdmissionPermit;

/// A message to the writer of a connection.
pub(super) enum Message {
    /// The session has bytes for the host.
    Output(AdmissionPermit),
    /// A command has ended; the session makes the completion.
    Completed { command_id: u16, response: Response, admitted: AdmissionPermit },
    /// All data are durable, as the shutdown of this controller asked for.
    ShutDown { controller: u16 },
    /// The subsystem has changed: there may be an event for the host, or the controller may have ended.
    Changed,
    /// No output follows the output of the session.
    Last,
    /// A command was dropped by the drive.
    Lost,
}

/// A command that the drive works on. Dropping it without an answer reports it as lost.
pub(super) struct CommandGuard(Option<PendingResponse>);

struct PendingResponse {
    messages: UnboundedSender<Message>,
    command_id: u16,
    admitted: AdmissionPermit,
    /// True if the connection ends with the power: then a command without power gets no response.
    ends_with_power: bool,
}

impl CommandGuard {
    pub(super) const fn new(
        messages: UnboundedSender<Message>,
        command_id: u16,
        admitted: AdmissionPermit,
        ends_with_power: bool,
    ) -> Self {
        Self(Some(PendingResponse { messages, command_id, admitted, ends_with_power }))
    }

    pub(super) fn complete(mut self, response: Response) {
        let Some(PendingResponse { messages, command_id, admitted, .. }) = self.0.take() else { return };
        // The send fails only if the connection has ended.
        let _ = messages.send(Message::Completed { command_id, response, admitted });
    }

    /// Ends the command with a result or a failure of the drive.
    pub(super) fn answer(self, result: Result<Response, JobFailure>) {
        self.answer_with(result, status);
    }

    /// Ends the command with a result, or with the status that a failure of the drive has.
    pub(super) fn answer_with(self, result: Result<Response, JobFailure>, status: impl Fn(JobFailure) -> Status) {
        match result {
            Ok(response) => self.complete(response),
            // Dropping the command reports it as lost.
            Err(JobFailure::NoPower) if self.0.as_ref().is_some_and(|open| open.ends_with_power) => drop(self),
            Err(failed) => self.complete(Response::status(status(failed))),
        }
    }
}

impl Drop for CommandGuard {
    fn drop(&mut self) {
        if let Some(open) = self.0.take() {
            let _ = open.messages.send(Message::Lost);
        }
    }
}
