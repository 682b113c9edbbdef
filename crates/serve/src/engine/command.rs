//! What a user may ask of a served drive, beside requests.

use std::fmt;
use std::path::PathBuf;

use base::units::{Bytes, Span};
use ssd::Recovery;
use study::output::OutputError;

use super::fault::Fault;
use super::pace::Pace;
use super::power::{Cut, WrongPower};
use super::status::Status;
use crate::state::StateError;

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

/// Why a command was not carried out.
#[derive(Debug)]
pub enum Refused {
    /// The power is not as it must be.
    Power(WrongPower),
    /// The snapshot cannot be written.
    Output(OutputError),
    /// The drive has no such die.
    NoSuchDie {
        /// The number that was asked for.
        die: u32,
        /// The dies that it has.
        dies: u32,
    },
    /// The drive has no such operational power state.
    NoSuchPowerState {
        /// The number that was asked for.
        state: u32,
        /// The states that it has.
        states: u32,
    },
    /// The drive does not ask for the host's memory.
    NoHostMemory,
    /// The drive could not rebuild the data of a die.
    NoParity,
    /// A single drive cannot lose a drive.
    NoRaid,
    /// There are several drives, and none is named.
    WhichDrive {
        /// The drives that there are.
        drives: u32,
    },
    /// There is no such drive.
    NoSuchDrive {
        /// The number that was asked for.
        drive: u32,
        /// The drives that there are.
        drives: u32,
    },
    /// The drive has failed before.
    HasFailed(u32),
    /// A snapshot holds one drive and no layer above it.
    Layer(&'static str),
    /// The files of its flash have failed, and so it has no power.
    State(StateError),
    /// The drive is not served any more.
    Stopped,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Power(error) => error.fmt(f),
            Self::Output(error) => error.fmt(f),
            Self::NoSuchDie { die, dies } => {
                write!(f, "die {die} is none of the {dies} dies of the drive; use 0 to {}", dies - 1)
            }
            Self::NoSuchPowerState { states: 0, .. } => {
                f.write_str("the drive has no operational power states; serve a drive with `power.operational`")
            }
            Self::NoSuchPowerState { state, states } => {
                let last = states - 1;
                write!(f, "power state {state} is none of the {states} operational ones of the drive; use 0 to {last}")
            }
            Self::NoParity => f.write_str(
                "without parity nothing would be left of the data in the die; serve a drive with `ftl.parity = true`",
            ),
            Self::NoRaid => {
                f.write_str("the device is no RAID, and nothing would be left of it; serve a device with `[raid]`")
            }
            Self::WhichDrive { drives } => {
                write!(f, "the device has {drives} drives; say which one with --drive, from 0 to {}", drives - 1)
            }
            Self::NoSuchDrive { drives: 1, .. } => f.write_str("the device is one drive; leave --drive out"),
            Self::NoSuchDrive { drive, drives } => {
                write!(f, "drive {drive} is none of the {drives} drives; use 0 to {}", drives - 1)
            }
            Self::HasFailed(drive) => write!(f, "drive {drive} has failed before; choose another one"),
            Self::Layer(layer) => write!(
                f,
                "a snapshot holds one drive, and what [{layer}] knows of its drives is not kept; serve a device without \
                 [{layer}]"
            ),
            Self::NoHostMemory => {
                f.write_str("the drive does not ask for the host's memory; serve a drive with `ftl.map.hmb`")
            }
            Self::State(error) => error.fmt(f),
            Self::Stopped => f.write_str("the drive is not served any more; start `flashloom serve` again"),
        }
    }
}

impl std::error::Error for Refused {}

impl From<WrongPower> for Refused {
    fn from(error: WrongPower) -> Self {
        Self::Power(error)
    }
}

impl From<OutputError> for Refused {
    fn from(error: OutputError) -> Self {
        Self::Output(error)
    }
}
