//! The arguments of `serve`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use base::units::Bytes;
use clap::{Args, ValueEnum};
use serve::engine::{CutPolicy, Pace};
use serve::nvme_tcp::NvmeLimits;
use serve::server::Limits;
use ssd::Precondition;

use super::ReplaceArgs;
use crate::options::{ExportArg, address, block, brief, export, host_nqn, whole};
use crate::progress::{Show, Tell};

/// The arguments of `serve`.
#[derive(Args, Clone, Debug)]
pub(crate) struct ServeArgs {
    /// The drive: a device file, or the name of a device that comes with Flashloom. Clients reach the drive as the
    /// default export and under its own name
    #[arg(value_name = "DEVICE", required_unless_present = "export", conflicts_with = "export")]
    pub(crate) device: Option<PathBuf>,

    /// Serve a further drive under a name; may be given several times
    #[arg(long, value_name = "NAME=DEVICE", value_parser = export)]
    pub(crate) export: Vec<ExportArg>,

    #[command(flatten)]
    pub(crate) clients: ClientArgs,

    #[command(flatten)]
    pub(crate) nvme: NvmeArgs,

    #[command(flatten)]
    pub(crate) time: TimeArgs,

    #[command(flatten)]
    pub(crate) state: ServedStateArgs,

    /// Override a key of the device files, e.g. flash.channels=8
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,

    /// The most memory that a drive may use, instead of the machine's, e.g. 12GiB. The drive's data count, unless
    /// `--state` keeps them
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<Bytes>,

    /// Take commands for the drive on a Unix socket at this path, which only its owner can open; see `flashloom ctl`.
    /// Each drive of `--export` has a socket at PATH.NAME
    #[arg(long, value_name = "PATH")]
    pub(crate) control: Option<PathBuf>,

    /// Serve `/metrics` for Prometheus, and `/healthz`, at this loopback address. Port 0 takes a free port
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address, conflicts_with = "export")]
    pub(crate) metrics: Option<SocketAddr>,

    /// Show the drive live on a web page, e.g. at 127.0.0.1:8080; the page is for this machine only. Port 0 takes a
    /// free port
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address, conflicts_with = "export")]
    pub(crate) web: Option<SocketAddr>,

    /// Record every request of the drive, with its times, as a trace in a Parquet file
    #[arg(long, value_name = "FILE.parquet", conflicts_with = "export")]
    pub(crate) record: Option<PathBuf>,

    /// Compare every read with the data that clients wrote, across power cuts too, and fail at the end if the drive
    /// returned impossible data
    #[arg(long)]
    pub(crate) verify: bool,

    #[command(flatten)]
    pub(crate) replace: ReplaceArgs,

    /// Run this command in a shell, with the URI of the first export in $uri and the Unix socket in $unixsocket, and
    /// with `--nvme` the subsystem in $nqn, its address in $traddr and its port in $trsvcid; serve until the command
    /// ends
    #[arg(long, value_name = "COMMAND")]
    pub(crate) run: Option<String>,

    /// Print the addresses of the drives in one line of JSON; `flashloom schema serve-result` describes the keys
    #[arg(long)]
    pub(crate) json: bool,

    /// Show no progress; the same as `--progress none`
    #[arg(long, conflicts_with = "progress")]
    pub(crate) quiet: bool,

    /// How to show progress, on the standard error [default: auto]
    #[arg(long, value_name = "HOW")]
    pub(crate) progress: Option<Show>,

    /// Report on the standard error the devices, and the reason why each connection ends
    #[arg(long)]
    pub(crate) verbose: bool,
}

impl ServeArgs {
    /// The notices to print while the drives are served.
    pub(crate) const fn notices(&self) -> Tell {
        Tell::new(self.quiet, self.progress, self.verbose)
    }
}

/// The addresses for clients, and the number of clients.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Clients")]
pub(crate) struct ClientArgs {
    /// Listen on a Unix socket at this path, which only its owner can open; by default a socket in a new private
    /// directory
    #[arg(long, value_name = "PATH", conflicts_with = "listen")]
    pub(crate) socket: Option<PathBuf>,

    /// Listen on TCP: on a loopback address, where every user of this machine can connect, or on any other address if
    /// TLS verifies clients. Port 0 takes a free port
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address)]
    pub(crate) listen: Option<SocketAddr>,

    /// Refuse clients without TLS, with `server-cert.pem` and `server-key.pem` of this directory
    #[arg(long, value_name = "DIR")]
    pub(crate) tls_certificates: Option<PathBuf>,

    /// Refuse clients without a certificate that the authority in its `ca-cert.pem` has signed, or that `ca-crl.pem` revokes
    #[arg(long, requires = "tls_certificates")]
    pub(crate) tls_verify_peer: bool,

    /// Connections at a time, each of which may take 32 MiB of memory; further clients wait
    #[arg(long, value_name = "N", default_value_t = Limits::default().connections, value_parser = whole(1_u32, 1024))]
    pub(crate) connections: u32,
}

/// Hosts of NVMe over TCP.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Hosts of NVMe")]
pub(crate) struct NvmeArgs {
    /// Serve the drive as a subsystem of NVMe over TCP at this loopback address, with zones, placement and queues;
    /// drives of `--export` are its namespaces, in order. Port 0 takes a free port; 4420 is the usual port. Clients of
    /// NBD are then served only with `--socket` or `--listen`
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address)]
    pub(crate) nvme: Option<SocketAddr>,

    /// Accept only hosts of NVMe with this qualified name; may be given several times
    #[arg(long, value_name = "NQN", requires = "nvme", value_parser = host_nqn)]
    pub(crate) nvme_host: Vec<String>,

    /// The block of drives without zones, e.g. 4KiB: a power of two. Zones are written in blocks of the mapping unit
    #[arg(long, value_name = "SIZE", requires = "nvme", default_value = "512B", value_parser = block)]
    pub(crate) nvme_block: Bytes,

    /// Controllers at a time, which are associations of hosts; further hosts hear that the subsystem is busy
    #[arg(long, value_name = "N", requires = "nvme", default_value_t = NvmeLimits::default().controllers, value_parser = whole(1_u16, 1024))]
    pub(crate) nvme_controllers: u16,

    /// I/O queues of a controller
    #[arg(long, value_name = "N", requires = "nvme", default_value_t = NvmeLimits::default().io_queues, value_parser = whole(1_u16, 1024))]
    pub(crate) nvme_queues: u16,

    /// The most connections of hosts at a time, one for each queue, each of which may take 34 MiB of memory; further
    /// connections wait
    #[arg(long, value_name = "N", requires = "nvme", default_value_t = NvmeLimits::default().connections, value_parser = whole(1_u32, 4096))]
    pub(crate) nvme_connections: u32,
}

impl NvmeArgs {
    pub(crate) fn limits(&self) -> NvmeLimits {
        NvmeLimits {
            controllers: self.nvme_controllers,
            io_queues: self.nvme_queues,
            connections: self.nvme_connections,
            ..NvmeLimits::default()
        }
    }
}

/// How simulated time passes.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Time and power")]
pub(crate) struct TimeArgs {
    /// The pace of simulated time: `real`, `max` for the full speed of the simulation, or a factor: 0.1 is a tenth of
    /// the real speed
    #[arg(long, value_name = "PACE", default_value_t = Pace::Real)]
    pub(crate) pace: Pace,

    /// Busy-wait for the last part of each wait, e.g. 50us, so that answers are less late. If the user may raise
    /// priorities, as root may on Linux, the drive's thread has the highest priority
    #[arg(long, value_name = "TIME", default_value = "0us", value_parser = brief)]
    pub(crate) spin: Duration,

    /// The fate of connections at a power cut
    #[arg(long, value_name = "WHAT", default_value_t = CutArg::End)]
    pub(crate) on_cut: CutArg,
}

/// The fate of connections at a power cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CutArg {
    /// Connections end, and requests under way fail
    End,
    /// Connections stay, and requests wait until the power is back
    Hold,
}

impl std::fmt::Display for CutArg {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::End => "end",
            Self::Hold => "hold",
        })
    }
}

impl From<CutArg> for CutPolicy {
    fn from(arg: CutArg) -> Self {
        match arg {
            CutArg::End => Self::End,
            CutArg::Hold => Self::Hold,
        }
    }
}

/// The state of the drives before the first request, and after the last.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "State of the drives")]
pub(crate) struct ServedStateArgs {
    /// Keep the flash in files of this directory, and continue from them; each `--export` has a subdirectory of its
    /// name. Without this option drives are in memory, and end with the command
    #[arg(long, value_name = "DIR")]
    pub(crate) state: Option<PathBuf>,

    /// Synchronise the files with their disk before a flush is answered, so that a crash of this machine loses no flushed data
    #[arg(long, requires = "state")]
    pub(crate) sync: bool,

    /// Bring the drives into a state first, without simulating time; see `flashloom run --help`. Their data read as zeros
    #[arg(long, value_name = "STEP", value_delimiter = ',')]
    pub(crate) precondition: Vec<Precondition>,

    /// Start from a state saved by `flashloom run --save-snapshot` or `flashloom ctl SOCKET snapshot`
    #[arg(long, value_name = "FILE", conflicts_with = "export")]
    pub(crate) load_snapshot: Option<PathBuf>,

    /// Seed of all random streams of a new drive
    #[arg(long, default_value_t = 0, value_parser = whole(0, u64::MAX))]
    pub(crate) seed: u64,
}
