//! `flashloom ctl`: commands to a drive that `flashloom serve` serves.

use std::io::Write;

use serve::control::{Answer, ControlError, Question, ask};

use crate::args::{CtlArgs, CtlCommand};
use crate::exit::{Failure, note, print};

impl From<ControlError> for Failure {
    fn from(error: ControlError) -> Self {
        Self::Input(error.to_string())
    }
}

/// Sends the command, and prints the answer.
pub(crate) fn ctl(args: &CtlArgs, results: &mut dyn Write) -> Result<(), Failure> {
    match ask(&args.socket, &question(&args.command)?)? {
        Answer::Status(status) => {
            let is_json = matches!(args.command, CtlCommand::Status { json: true });
            let text = match is_json {
                true => serde_json::to_string_pretty(&status).expect("numbers and texts") + "\n",
                false => status.to_string(),
            };
            print(results, &text)
        }
        Answer::Done { message, notes } => {
            notes.iter().for_each(note);
            print(results, &format!("{message}\n"))
        }
        Answer::Refused { message } => Err(Failure::Input(message)),
    }
}

fn question(command: &CtlCommand) -> Result<Question, Failure> {
    Ok(match command {
        CtlCommand::Status { .. } => Question::Status,
        CtlCommand::PowerCut => Question::PowerCut,
        CtlCommand::PowerOff => Question::PowerOff,
        CtlCommand::PowerOn => Question::PowerOn,
        CtlCommand::SetPace { pace } => Question::SetPace { pace: pace.to_string() },
        CtlCommand::Fault { operation, after, count, drive } => {
            Question::Fault { operation: (*operation).into(), after: *after, count: *count, drive: *drive }
        }
        CtlCommand::FailDie { die, drive } => Question::FailDie { die: *die, drive: *drive },
        CtlCommand::FailDrive { drive } => Question::FailDrive { drive: *drive },
        CtlCommand::PowerState { state } => Question::PowerState { state: *state },
        CtlCommand::HostMemory { size } => Question::HostMemory { bytes: size.get() },
        CtlCommand::Snapshot { file, force } => {
            // The server may run in another folder, so the path is sent as an absolute one.
            let path = std::path::absolute(file)
                .map_err(|error| Failure::Input(format!("{}: {error}; write the name of a file", file.display())))?;
            Question::Snapshot { path, force: *force }
        }
    })
}
