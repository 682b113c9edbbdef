//! The commands that a user may give to a served drive, besides requests.

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
    /// Asks for the status of the drive.
    Status,
    /// Cuts the power at once: unflushed data in a volatile buffer is lost.
    PowerCut,
    /// Switches the power off in order.
    PowerOff,
    /// Switches the power on; the drive recovers from its flash.
    PowerOn,
    /// Lets simulated time pass at this pace from now on.
    SetPace(Pace),
    /// Lets operations of the flash fail.
    Fault(Fault),
    /// Lets a die of a drive fail as a whole.
    FailDie {
        /// The number of the die within its drive, from 0.
        die: u32,
        /// The drive, which must be named if there are several.
        drive: Option<u32>,
    },
    /// Lets a drive of a RAID fail as a whole.
    FailDrive(u32),
    /// Selects an operational power state.
    PowerState(u32),
    /// Lets the host give this much memory to the drive; 0 takes the memory back.
    HostMemory(Bytes),
    /// Writes the content of the flash into a file, for `--load-snapshot`. Simulated time stands still meanwhile.
    Snapshot {
        /// The path of the file, in the file system of the server.
        path: PathBuf,
        /// True if the snapshot may replace a file that Flashloom did not write.
        force: bool,
    },
}

/// The answer to a command that was carried out.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// The status of the drive.
    Status(Box<Status>),
    /// The power was cut.
    Cut(Cut),
    /// The power is off; switching it off takes this long.
    Off(Span),
    /// The power is on, after this recovery.
    On(Recovery),
    /// The pace that now holds.
    Pace(Pace),
    /// The fault is planned: the next operations of its kind fail.
    Fault(Fault),
    /// The die with this number has failed.
    DieFailed(u32),
    /// The drive has failed. If a spare was left, the second number names the spare that replaces the drive.
    DriveFailed(u32, Option<u32>),
    /// The operational power state, and the time for which the drive takes no request.
    PowerState(u32, Span),
    /// The memory of the host that the drive uses, and the time after which it stops reading the memory that it had
    /// before.
    HostMemory(Bytes, Span),
    /// The snapshot is complete; the notes name replaced files.
    Snapshot(Vec<String>),
}
