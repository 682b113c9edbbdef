//! The arguments of `ctl`.

use std::path::PathBuf;

use base::units::Bytes;
use clap::{Args, Subcommand, ValueEnum};
use serve::control::FlashOperation;
use serve::engine::Pace;

use crate::options::whole;

/// A served drive, and the command for it.
#[derive(Args, Clone, Debug)]
#[command(subcommand_precedence_over_arg = true)]
pub(crate) struct CtlArgs {
    /// The socket for commands that `flashloom serve` names
    #[arg(value_name = "SOCKET")]
    pub(crate) socket: PathBuf,

    #[command(subcommand)]
    pub(crate) command: CtlCommand,
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum CtlCommand {
    /// Print the drive's counters, its latencies and the delays of its answers
    Status {
        /// Print JSON instead of a table; `flashloom schema` describes the keys
        #[arg(long)]
        json: bool,
    },
    /// Cut the power: data that has not reached the flash is lost, and programs under way are torn
    PowerCut,
    /// Switch the power off in order: requests complete, and the write buffer is written back
    PowerOff,
    /// Switch the power on; the drive takes requests after its recovery
    PowerOn,
    /// Let simulated time pass at another pace
    SetPace {
        /// real, max, or a factor: 0.1 is a tenth of the speed
        pace: Pace,
    },
    /// Let operations of the flash fail
    Fault {
        /// The operation: a page program or a block erase, whose block is then retired, or a page read, whose page stays
        /// uncorrectable
        operation: FaultArg,
        /// Let this many operations of the kind succeed first
        #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole(0, 1_u64 << 40))]
        after: u64,
        /// Let this many operations of the kind fail, one after another
        #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole(1, 1_u64 << 16))]
        count: u64,
        /// The drive of a RAID whose operations fail, from 0 on
        #[arg(long, value_name = "N", value_parser = whole(0_u32, 31))]
        drive: Option<u32>,
    },
    /// Let a whole die fail for good; its data is rebuilt from parity
    FailDie {
        /// The number of the die within its drive, channel by channel, from 0 on
        die: u32,
        /// The drive of a RAID whose die fails, from 0 on
        #[arg(long, value_name = "N", value_parser = whole(0_u32, 31))]
        drive: Option<u32>,
    },
    /// Let a whole drive of a RAID fail for good; a spare is rebuilt in its place while clients go on
    FailDrive {
        /// The number of the drive: the drives of the stripes from 0 on, then the spares, then the drive of the journal
        drive: u32,
    },
    /// Select an operational power state until the power goes; during the transition the drive takes no request
    PowerState {
        /// The number of the state in power.operational, from 0 on
        state: u32,
    },
    /// Let the host give memory for the map to the drive, or take the memory back; the drive begins with empty memory
    HostMemory {
        /// The size, for example 64MiB; 0B takes the memory back
        size: Bytes,
    },
    /// Write the content of the flash into a file, for --load-snapshot. Simulated time stands still meanwhile
    Snapshot {
        /// The snapshot file to write
        file: PathBuf,
        /// Replace a file that Flashloom did not write
        #[arg(long)]
        force: bool,
    },
}

/// An operation of the flash that can be told to fail.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum FaultArg {
    /// A page program
    Program,
    /// A block erase
    Erase,
    /// A page read
    Read,
}

impl From<FaultArg> for FlashOperation {
    fn from(argument: FaultArg) -> Self {
        match argument {
            FaultArg::Program => Self::Program,
            FaultArg::Erase => Self::Erase,
            FaultArg::Read => Self::Read,
        }
    }
}
