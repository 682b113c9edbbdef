//! The reasons for which a command to a served drive is refused.

use std::fmt;

use study::output::OutputError;

use crate::state::StateError;

/// The power already has the state that a command asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WrongPower {
    /// The power is on already.
    On,
    /// The power is off already.
    Off,
}

impl fmt::Display for WrongPower {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::On => "the power is on already; send power-cut or power-off first",
            Self::Off => "the power is off; send power-on first",
        })
    }
}

impl std::error::Error for WrongPower {}

/// The reason for which a command was not carried out.
#[derive(Debug)]
pub enum CommandRefusal {
    /// The power is in the wrong state for the command.
    Power(WrongPower),
    /// The snapshot cannot be written.
    Output(OutputError),
    /// The drive has no such die.
    NoSuchDie {
        /// The number that was asked for.
        die: u32,
        /// The number of dies that the drive has.
        dies: u32,
    },
    /// The drive has no such operational power state.
    NoSuchPowerState {
        /// The number that was asked for.
        state: u32,
        /// The number of states that the drive has.
        states: u32,
    },
    /// The drive uses no memory of the host.
    NoHostMemory,
    /// A die cannot fail, because the drive has no parity to rebuild its data.
    NoParity,
    /// A drive cannot fail, because the device is no RAID.
    NoRaid,
    /// The device has several drives, and the command names none.
    WhichDrive {
        /// The number of drives of the device.
        drives: u32,
    },
    /// The device has no drive with this number.
    NoSuchDrive {
        /// The number that was asked for.
        drive: u32,
        /// The number of drives of the device.
        drives: u32,
    },
    /// The drive with this number has failed before.
    HasFailed(u32),
    /// The device has this layer above its drives, and a snapshot holds one drive alone.
    Layer(&'static str),
    /// The files of the flash have failed, so the drive has no power.
    State(StateError),
    /// The drive is not served any more.
    Stopped,
}

impl fmt::Display for CommandRefusal {
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

impl std::error::Error for CommandRefusal {}

impl From<WrongPower> for CommandRefusal {
    fn from(error: WrongPower) -> Self {
        Self::Power(error)
    }
}

impl From<OutputError> for CommandRefusal {
    fn from(error: OutputError) -> Self {
        Self::Output(error)
    }
}
