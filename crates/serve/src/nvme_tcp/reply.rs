//! Responses on their way from the drive to a connection.

use nvme::{Response, Status};
use tokio::sync::mpsc::UnboundedSender;

use super::failure::status;
use crate::Failed;
use crate::server::intake::Admitted;

/// What there is to write, or to do before.
pub(super) enum Message {
    /// The session has output.
    Output(Admitted),
    /// A command has ended.
    Completed { command_id: u16, response: Response, admitted: Admitted },
    /// The drive has made all data durable, as the host of this controller asked before it shuts the controller down.
    ShutDown { controller: u16 },
    /// The subsystem has changed: there may be an event for the host, or the end of the controller.
    Changed,
    /// Nothing follows what the session has in its output.
    Last,
    /// The drive lost a command.
    Lost,
}

/// A command that the drive works on. If it is dropped without an answer, it was lost.
pub(super) struct Pending(Option<Open>);

struct Open {
    messages: UnboundedSender<Message>,
    command_id: u16,
    admitted: Admitted,
    /// The connection ends with the power, so nothing is answered without it.
    ends_with_power: bool,
}

impl Pending {
    pub(super) const fn new(
        messages: UnboundedSender<Message>,
        command_id: u16,
        admitted: Admitted,
        ends_with_power: bool,
    ) -> Self {
        Self(Some(Open { messages, command_id, admitted, ends_with_power }))
    }

    /// Ends the command.
    pub(super) fn complete(mut self, response: Response) {
        let Some(Open { messages, command_id, admitted, .. }) = self.0.take() else { return };
        // Nobody receives it if the connection has ended.
        let _ = messages.send(Message::Completed { command_id, response, admitted });
    }

    /// Ends the command with a result or a failure of the drive.
    pub(super) fn answer(self, result: Result<Response, Failed>) {
        self.answer_with(result, status);
    }

    /// Ends the command with a result, or with the status that a failure of the drive has.
    pub(super) fn answer_with(self, result: Result<Response, Failed>, status: impl Fn(Failed) -> Status) {
        match result {
            Ok(response) => self.complete(response),
            // Dropping the command says that it was lost.
            Err(Failed::NoPower) if self.0.as_ref().is_some_and(|open| open.ends_with_power) => drop(self),
            Err(failed) => self.complete(Response::status(status(failed))),
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if let Some(open) = self.0.take() {
            let _ = open.messages.send(Message::Lost);
        }
    }
}
