//! The questions and answers of a conversation, as JSON.

use std::path::PathBuf;

use base::units::Bytes;
use flash::nand::FaultKind;
use serde::{Deserialize, Serialize};

use crate::engine::{Command, CommandRefusal, Cut, Fault, ParsePaceError, Reply, Status};

/// A question of a client: `{"command":"power-cut"}`.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(tag = "command", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Question {
    /// Asks for the status of the drive.
    Status,
    /// Cuts the power at once: data that has not reached flash is lost.
    PowerCut,
    /// Switches the power off in order.
    PowerOff,
    /// Switches the power on; the drive recovers from its flash.
    PowerOn,
    /// Lets simulated time pass at this pace.
    SetPace {
        /// `real`, `max` or a factor.
        pace: String,
    },
    /// Lets the next operations of the flash fail.
    Fault {
        /// The kind of operation that fails.
        operation: FlashOperation,
        /// The number of operations that succeed first.
        after: u64,
        /// The number of operations that fail after these.
        count: u64,
        /// The drive, if there are several.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        drive: Option<u32>,
    },
    /// Lets a die fail as a whole.
    FailDie {
        /// The number of the die within its drive, from 0.
        die: u32,
        /// The drive, if there are several.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        drive: Option<u32>,
    },
    /// Lets a drive of a RAID fail as a whole.
    FailDrive {
        /// The number of the drive in the RAID, from 0.
        drive: u32,
    },
    /// Selects an operational power state.
    PowerState {
        /// The index of the state in `power.operational`, from 0.
        state: u32,
    },
    /// Lets the host give memory to the drive.
    HostMemory {
        /// The bytes; 0 takes the memory back.
        bytes: u64,
    },
    /// Writes the content of the flash into a file.
    Snapshot {
        /// The path of the file, relative to the server.
        path: PathBuf,
        /// True if the snapshot may replace any file.
        force: bool,
    },
}

/// An operation of the flash that can be told to fail.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FlashOperation {
    /// A page program; the block of a failed program is retired.
    Program,
    /// A block erase; the block is then retired.
    Erase,
    /// A page read; the page then stays uncorrectable.
    Read,
}

/// The server's answer to a question.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// The status of the drive.
    Status(Box<Status>),
    /// The command was carried out.
    Done {
        /// One line on the effect of the command.
        message: String,
        /// Further lines, on replaced files and limits.
        notes: Vec<String>,
    },
    /// The command was not carried out.
    Refused {
        /// The reason, and the remedy.
        message: String,
    },
}

impl TryFrom<Question> for Command {
    type Error = ParsePaceError;

    fn try_from(question: Question) -> Result<Self, Self::Error> {
        Ok(match question {
            Question::Status => Self::Status,
            Question::PowerCut => Self::PowerCut,
            Question::PowerOff => Self::PowerOff,
            Question::PowerOn => Self::PowerOn,
            Question::SetPace { pace } => Self::SetPace(pace.parse()?),
            Question::Fault { operation, after, count, drive } => {
                let operation = match operation {
                    FlashOperation::Program => FaultKind::Program,
                    FlashOperation::Erase => FaultKind::Erase,
                    FlashOperation::Read => FaultKind::Read,
                };
                Self::Fault(Fault { operation, after, count, drive })
            }
            Question::FailDie { die, drive } => Self::FailDie { die, drive },
            Question::FailDrive { drive } => Self::FailDrive(drive),
            Question::PowerState { state } => Self::PowerState(state),
            Question::HostMemory { bytes } => Self::HostMemory(Bytes::new(bytes)),
            Question::Snapshot { path, force } => Self::Snapshot { path, force },
        })
    }
}

impl From<Result<Reply, CommandRefusal>> for Answer {
    fn from(reply: Result<Reply, CommandRefusal>) -> Self {
        let done = |message: String| Self::Done { message, notes: Vec::new() };
        match reply {
            Ok(Reply::Status(status)) => Self::Status(status),
            Ok(Reply::Cut(cut)) => Self::Done { message: said(cut), notes: noted(cut) },
            Ok(Reply::Off(time)) => done(format!("the power is off after {time}")),
            Ok(Reply::On(recovery)) => {
                done(format!("the power is on; the scan of the flash takes {} of simulated time", recovery.time))
            }
            Ok(Reply::Pace(pace)) => done(format!("the pace is {pace}")),
            Ok(Reply::Fault(fault)) => done(fault.to_string()),
            Ok(Reply::DieFailed(die)) => done(format!("die {die} has failed")),
            Ok(Reply::DriveFailed(drive, spare)) => done(match spare {
                Some(spare) => format!("drive {drive} has failed; spare {spare} takes its place and is rebuilt"),
                None => format!("drive {drive} has failed"),
            }),
            Ok(Reply::PowerState(state, transition)) => {
                done(format!("the power state is {state}; the drive takes no request for {transition}"))
            }
            Ok(Reply::HostMemory(used, until)) => {
                done(format!("the drive uses {used} of the host's memory; what it had before is free after {until}"))
            }
            Ok(Reply::Snapshot(notes)) => Self::Done { message: "the snapshot is written".to_owned(), notes },
            Err(refused) => Self::Refused { message: refused.to_string() },
        }
    }
}

fn said(cut: Cut) -> String {
    let Cut { torn, failed, held, .. } = cut;
    format!("the power is cut: {torn} requests of the drive were under way, {failed} failed and {held} wait for it")
}

fn noted(cut: Cut) -> Vec<String> {
    let note = "acknowledged writes are lost, and held clients do not know: every flush fails until power-off";
    if cut.lost_writes { vec![note.to_owned()] } else { Vec::new() }
}
