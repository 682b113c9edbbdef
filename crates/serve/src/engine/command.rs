//! What a user may ask of a served drive, beside requests.

use std::path::PathBuf;

use base::units::{Bytes, Span};
use ssd::Recovery;

use super::fault::Fault;
use super::pace::Pace;
use super::power::Cut;
use super::status::Status;

/// A command to a served drive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// What it says of itself.
    Status,
    /// Cuts the power.
    PowerCut,
    /// Switches the power off in order.
    PowerOff,
    /// Switches the power on.
    PowerOn,
    /// Lets simulated time pass at this pace from now on.
    SetPace(Pace),
    /// Lets operations of the flash fail.
    Fault(Fault),
    /// Lets a die of a drive fail as a whole.
    FailDie {
        /// The number of the die.
        die: u32,
        /// The drive, which must be named if there are several.
        drive: Option<u32>,
    },
    /// Lets a drive of a RAID fail as a whole.
    FailDrive(u32),
    /// Selects an operational power state.
    PowerState(u32),
    /// Lets the host give so much memory to the drive; nothing, to take it back.
    HostMemory(Bytes),
    /// Writes what the flash holds into a file, for `--load-snapshot`. Simulated time stands still meanwhile.
    Snapshot {
        /// The file.
        path: PathBuf,
        /// It may replace a file that Flashloom did not write.
        force: bool,
    },
}

/// The answer to a command.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// To a question for the status.
    Status(Box<Status>),
    /// The power was cut.
    Cut(Cut),
    /// The power is off; switching it off takes this long.
    Off(Span),
    /// The power is on.
    On(Recovery),
    /// The pace is this one.
    Pace(Pace),
    /// The fault is planned.
    Fault(Fault),
    /// The die has failed.
    DieFailed(u32),
    /// The drive has failed, and this spare takes its place, if one was left.
    DriveFailed(u32, Option<u32>),
    /// The operational power state is this one, and the drive takes no request for this long.
    PowerState(u32, Span),
    /// The drive uses so much of the host's memory, and no longer reads what it had before after this long.
    HostMemory(Bytes, Span),
    /// The snapshot has its name; notes say what it replaced.
    Snapshot(Vec<String>),
}
