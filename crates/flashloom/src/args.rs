//! The command line: all commands and options, with their help texts.

mod cluster;
mod compare;
mod convert;
mod ctl;
mod foreign;
mod schema;
mod serve;
mod store;
mod torture;
mod trace;

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use base::units::{Age, Bytes, Span, Temperature};
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use clap_complete::Shell;
use ssd::{Precondition, Storage};
use study::plan::TargetState;
use study::run::Amount;
use study::watch::timeline::Window;
use workload::{MOST_DEPTH, Pacing};

use crate::failures::FailuresArgs;
use crate::options::{FlowArg, flow, interval, jobs, positive, requests, seeds, whole};
use crate::progress::{Show, Tell};

pub(crate) use self::serve::ServeArgs;
pub(crate) use cluster::ClusterArgs;
pub(crate) use compare::CompareArgs;
pub(crate) use convert::ConvertArgs;
pub(crate) use ctl::{CtlArgs, CtlCommand};
pub(crate) use schema::Schema;
pub(crate) use store::{GcArgs, MergeArgs, StoreArgs, StoreCommand};
pub(crate) use torture::TortureArgs;
pub(crate) use trace::{ExcerptArgs, FitArgs, PartArgs, ReadingArgs, TraceArgs};

/// A deterministic simulator of solid-state drives.
#[derive(Debug, Parser)]
#[command(name = "flashloom", version, arg_required_else_help = true, after_help = crate::exit::codes())]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Cli {
    /// Reads arguments, the first of which is the name of the program.
    pub(crate) fn read(arguments: impl IntoIterator<Item = OsString>) -> Result<Self, clap::Error> {
        let matches = Self::definition().try_get_matches_from(arguments).map_err(foreign::explained)?;
        Self::from_arg_matches(&matches)
    }

    /// The definition of the commands and their options.
    fn definition() -> clap::Command {
        crate::help::with_examples(Self::plain())
    }

    /// The command line without examples in its help.
    pub(crate) fn plain() -> clap::Command {
        numbers_are_values(Self::command())
    }
}

/// Lets every option take `-1` as a value: the option's parser then refuses it with a reason, and clap does not take it
/// for another option.
fn numbers_are_values(command: clap::Command) -> clap::Command {
    let command = command.mut_args(|arg| match arg.get_long().is_some() && arg.get_action().takes_values() {
        true => arg.allow_negative_numbers(true),
        false => arg,
    });
    command.mut_subcommands(numbers_are_values)
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a workload on a drive and print the results
    Run(Box<RunArgs>),
    /// Run a workload on a drive and show where the time of its requests went
    Explain {
        /// Show the life of a request, step by step, by its number in the order of arrival, from 0
        #[arg(long, value_name = "N", value_parser = whole(0, u64::MAX))]
        request: Option<u64>,
        /// Run the settings that act on the largest parts of the time, each from the same state under the same
        /// requests, and print the gain and the cost of each
        #[arg(long, conflicts_with = "request")]
        what_if: bool,
        /// Run this many settings of --what-if at once; by default one per core. The results do not depend on it
        #[arg(long, value_name = "N", value_parser = jobs, requires = "what_if")]
        jobs: Option<NonZeroUsize>,
        #[command(flatten)]
        run: Box<RunArgs>,
    },
    /// Run studies: many runs along axes, with claims about their results
    Study {
        /// Study files, or names of studies that come with Flashloom
        #[arg(required = true, value_name = "STUDY")]
        studies: Vec<PathBuf>,
        /// Run another workload instead of the studies' own: a trace, a generator, or a workload that comes with
        /// Flashloom. The claims of the studies hold for their own workload and are left out
        #[arg(long, value_name = "WORKLOAD")]
        workload: Option<PathBuf>,
        #[command(flatten)]
        reading: ReadingArgs,
        #[command(flatten)]
        claims: ClaimArgs,
        #[command(flatten)]
        cluster: ClusterArgs,
        #[command(flatten)]
        study: StudyArgs,
    },
    /// Run all studies of a paper and print its claims beside the measurements
    Reproduce {
        /// The paper: chang, dirik, fmmu, hydra or sung; or mix, for mixtures of their mechanisms; or all; see `flashloom
        /// studies`
        paper: String,
        /// Run the studies that take many minutes, too
        #[arg(long)]
        long: bool,
        #[command(flatten)]
        claims: ClaimArgs,
        #[command(flatten)]
        study: StudyArgs,
    },
    /// Run a workload on several drives and print them side by side
    Compare(Box<CompareArgs>),
    /// Serve drives as block devices: other programs read and write them over the NBD protocol, at the drives' speed
    Serve(Box<ServeArgs>),
    /// List, show, merge and remove the results that studies keep
    #[command(subcommand)]
    Store(StoreCommand),
    /// Do the run of a key, and print its result as JSON
    Point {
        /// The file of the key, as `flashloom study --keys` writes it and `flashloom store show DIGEST --key` prints
        /// it; traces must have the content of which the key has the digest
        #[arg(value_name = "KEY.json")]
        key: PathBuf,
        /// Folder of a store: take the result from the store if the store has it, or else keep the new result in the
        /// store
        #[arg(long, value_name = "DIR")]
        store: Option<PathBuf>,
    },
    /// Ask or command a drive that is served: its status, its power, its pace
    Ctl(CtlArgs),
    /// List the studies that come with Flashloom, or print one of them
    Studies {
        /// Name of a study to print
        name: Option<String>,
        /// Print the list as CSV
        #[arg(long, conflicts_with = "name")]
        csv: bool,
    },
    /// Check device files: print a summary of each, or all its errors
    Check {
        /// Device files, names of devices that come with Flashloom, or `-` for a file on the standard input
        #[arg(required = true, value_name = "DEVICE")]
        devices: Vec<PathBuf>,
        /// Override a key of the device files, e.g. flash.channels=8
        #[arg(long, value_name = "KEY=VALUE")]
        set: Vec<String>,
        /// Print JSON instead of tables; `flashloom schema` describes the keys
        #[arg(long)]
        json: bool,
        /// Print CSV instead of tables: a row for each device, the unit of measure in the names of the columns
        #[arg(long, conflicts_with = "json")]
        csv: bool,
    },
    /// Cut the power of a recorded run at thousands of moments, and check the data of each recovered drive
    Torture(TortureArgs),
    /// Convert a configuration of the simulator MQSim into a device file, and its workloads
    #[command(name = "convert-mqsim")]
    ConvertMqsim(ConvertArgs),
    /// Summarise traces and convert them
    #[command(subcommand)]
    Trace(TraceCommand),
    /// List the workloads that come with Flashloom, or print one
    Workloads {
        /// Name of a workload to print
        name: Option<String>,
        /// Print the list as CSV
        #[arg(long, conflicts_with = "name")]
        csv: bool,
    },
    /// List the devices and the NAND parts that come with Flashloom, or print one
    #[command(alias = "parts")]
    Devices {
        /// Name of a device or a part to print
        name: Option<String>,
        /// Print the list as CSV
        #[arg(long, conflicts_with = "name")]
        csv: bool,
    },
    /// Print the JSON schema of a kind of file, or of the results in JSON
    Schema {
        /// The kind of file or of results
        of: Schema,
    },
    /// Write the manual pages of all commands into a directory
    Man {
        /// The directory to write to; created if missing
        dir: PathBuf,
        #[command(flatten)]
        replace: ReplaceArgs,
    },
    /// Print a completion script for a shell
    Completions {
        /// The shell for which the script is written
        shell: Shell,
    },
}

/// The form in which a command prints its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Text,
    Json,
    Csv,
}

impl Form {
    /// The form that the options `--json` and `--csv` ask for.
    pub(crate) const fn of(json: bool, csv: bool) -> Self {
        match (json, csv) {
            (true, _) => Self::Json,
            (_, true) => Self::Csv,
            _ => Self::Text,
        }
    }
}

/// The arguments of `run`.
#[derive(Args, Clone, Debug)]
pub(crate) struct RunArgs {
    /// The drive: a device file, or the name of a device that comes with Flashloom
    #[arg(value_name = "DEVICE")]
    pub(crate) device: PathBuf,

    /// A trace file (`-` for standard input), a generator (.toml), a fio job (.fio), or a workload that comes with
    /// Flashloom
    pub(crate) workload: PathBuf,

    #[command(flatten)]
    pub(crate) issue: IssueArgs,

    #[command(flatten)]
    pub(crate) measured: MeasureArgs,

    #[command(flatten)]
    pub(crate) trace: TraceArgs,

    #[command(flatten)]
    pub(crate) state: StateArgs,

    #[command(flatten)]
    pub(crate) output: OutputArgs,

    /// Seed of all random streams; two runs with the same seed are equal
    #[arg(long, default_value_t = 0, value_parser = whole(0, u64::MAX))]
    pub(crate) seed: u64,

    /// Run with this many seeds, from --seed on, and print the means with their 95 % intervals. A store keeps the results,
    /// and --out and --report have the spread
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = seeds)]
    pub(crate) seeds: u32,

    /// Check that every read returns the newest completed write of each sector
    #[arg(long)]
    pub(crate) verify: bool,

    #[command(flatten)]
    pub(crate) failures: FailuresArgs,

    /// Override a key of the device file, e.g. flash.channels=8
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,

    /// Memory that the simulation may use, instead of the machine's, e.g. 12GiB
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<Bytes>,

    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// Where the claims of studies go.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ClaimArgs {
    /// Write the claims as JUnit XML, which Jenkins and GitLab show: a test case for each claim. A claim that differs
    /// for a known reason is skipped with the reason
    #[arg(long, value_name = "FILE.xml")]
    pub(crate) junit: Option<PathBuf>,
}

/// The options of commands that run studies.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct StudyArgs {
    /// Check in every run that every read returns the newest completed write of each sector
    #[arg(long)]
    pub(crate) verify: bool,

    /// Run this many points at once; by default one per core. The results do not depend on it
    #[arg(long, value_name = "N", value_parser = jobs)]
    pub(crate) jobs: Option<NonZeroUsize>,

    /// Memory that the simulation may use, instead of the machine's, e.g. 12GiB
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<Bytes>,

    /// Print JSON instead of tables; `flashloom schema` describes the keys
    #[arg(long)]
    pub(crate) json: bool,

    /// Print CSV instead of tables: plain numbers, the unit of measure in the names of the columns. `study` prints a row
    /// for each run, `reproduce` for each claim, `compare` for each drive
    #[arg(long, conflicts_with = "json")]
    pub(crate) csv: bool,

    /// Write the results into a directory: study.json, claims.txt, report.html, and the points of each study as
    /// Parquet. Files of an earlier result are replaced; other files in the directory stay
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,

    /// Write the claims and the points of each study as charts on one HTML page
    #[arg(long, value_name = "FILE.html")]
    pub(crate) report: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) replace: ReplaceArgs,

    /// Show no progress, like `--progress none`
    #[arg(long, conflicts_with = "progress")]
    pub(crate) quiet: bool,

    /// How to show progress, on the standard error [default: auto]
    #[arg(long, value_name = "HOW")]
    pub(crate) progress: Option<Show>,

    /// Report each step with its time on the standard error, and the sources of the device and the workload
    #[arg(long)]
    pub(crate) verbose: bool,

    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

impl StudyArgs {
    /// The notices to print while the studies run.
    pub(crate) const fn notices(&self) -> Tell {
        Tell::new(self.quiet, self.progress, self.verbose)
    }
}

/// The pace at which requests are issued, and their number.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct PaceArgs {
    /// Keep this many requests outstanding, instead of the workload's own pacing
    #[arg(long, value_name = "N", value_parser = whole(1, MOST_DEPTH))]
    pub(crate) depth: Option<u32>,

    /// Multiply all arrival times: 0.5 plays a trace twice as fast
    #[arg(long, value_name = "X", value_parser = positive)]
    pub(crate) time_scale: Option<f64>,

    /// Stop after this many requests. A described workload with fewer `requests` goes on up to this number; a trace ends
    /// where it ends, and a note says so
    #[arg(long, value_name = "N", value_parser = requests)]
    pub(crate) limit: Option<u64>,
}

/// Which part of a workload is measured.
#[derive(Args, Clone, Copy, Debug, Default)]
#[command(next_help_heading = "Measuring")]
pub(crate) struct MeasureArgs {
    /// Run this part of the workload first and measure the rest: a number of requests, data (8GiB), simulated time
    /// (2s), or how often the capacity is written (0.5x)
    #[arg(long, value_name = "AMOUNT", conflicts_with = "until")]
    pub(crate) warm_up: Option<Amount>,

    /// Measure only this part of the workload
    #[arg(long, value_name = "AMOUNT", conflicts_with = "limit")]
    pub(crate) measure: Option<Amount>,

    /// Warm up until the drive is in steady state by SNIA's rule, for requests per second (`steady`), write amplification
    /// (`steady:waf`) or mean latency (`steady:latency`); then measure five rounds, unless --measure or --limit is given.
    /// With `worn`, run until the drive refuses a write because too many of its blocks have failed
    #[arg(long, value_name = "STATE")]
    pub(crate) until: Option<TargetState>,

    /// The length of a round of --until. The default writes a tenth of the capacity; with `worn`, a hundred capacities, or
    /// all of a trace, a script or a job file
    #[arg(long, value_name = "AMOUNT", requires = "until")]
    pub(crate) round: Option<Amount>,

    /// End after this many rounds of `--until worn`, even if the drive is not worn; --save-snapshot keeps its life, which
    /// --load-snapshot continues
    #[arg(long, value_name = "N", requires = "until", value_parser = whole(1, u32::MAX))]
    pub(crate) rounds: Option<u32>,

    /// The warranty over which `--until worn` spreads the drive's writes, for drive writes per day [default: 5y]
    #[arg(long, value_name = "TIME", requires = "until")]
    pub(crate) warranty: Option<Age>,
}

/// The treatment of existing files at the paths of outputs.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct ReplaceArgs {
    /// Replace files that Flashloom did not write; without --force the command refuses to. Inputs of the command are
    /// never replaced
    #[arg(long)]
    pub(crate) force: bool,
}

/// How requests are issued.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Issuing requests")]
pub(crate) struct IssueArgs {
    #[command(flatten)]
    pub(crate) pace: PaceArgs,

    /// Issue requests at their arrival times, instead of the workload's own pacing
    #[arg(long, conflicts_with = "depth")]
    pub(crate) open: bool,

    /// Submit the requests to this submission queue of the drive; see `host.queues` in device files
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole(0, u16::MAX))]
    pub(crate) queue: u16,

    /// The placement identifier of the writes that have none of their own; see the policy `placement-id` of
    /// `ftl.streams.host` in device files
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole(0, u16::MAX))]
    pub(crate) placement_id: u16,

    /// The weight of that queue, instead of the drive's own; the device file describes the queue in [[host.queue]]
    #[arg(long, value_name = "N", value_parser = whole(1, u32::MAX))]
    pub(crate) weight: Option<u32>,

    /// Run another workload at the same time, with results of its own: WORKLOAD, then any of queue=N, weight=N (of the
    /// queue), depth=N, open, placement-id=N, name=NAME, each after a comma. May be given several times; --depth, --open,
    /// --queue, --weight and --placement-id are for the first workload only
    #[arg(long, value_name = "FLOW", value_parser = flow)]
    pub(crate) flow: Vec<FlowArg>,

    /// Run each of the workloads alone, too, and print the slowdown of each workload beside the others and the fairness
    /// of the drive
    #[arg(long, requires = "flow")]
    pub(crate) fairness: bool,
}

impl IssueArgs {
    /// The pacing the user asks for, if any.
    pub(crate) fn pacing(&self) -> Option<Pacing> {
        match (self.pace.depth, self.open) {
            (Some(depth), _) => Some(Pacing::Closed { depth }),
            (None, true) => Some(Pacing::Open),
            (None, false) => None,
        }
    }
}

/// The commands of `flashloom trace`.
#[derive(Debug, Subcommand)]
pub(crate) enum TraceCommand {
    /// Summarise a trace: mix, sizes, sequentiality, footprint, rate
    Info {
        /// The trace, compressed or not; `-` for standard input
        trace: PathBuf,
        #[command(flatten)]
        part: ExcerptArgs,
        /// Print JSON instead of a table; `flashloom schema` describes the keys
        #[arg(long)]
        json: bool,
        /// Print CSV instead of a table: a row for each kind of request
        #[arg(long, conflicts_with = "json")]
        csv: bool,
    },
    /// Convert a trace to Parquet
    Convert {
        /// The trace, compressed or not; `-` for standard input
        from: PathBuf,
        /// The Parquet file
        to: PathBuf,
        #[command(flatten)]
        part: ExcerptArgs,
        #[command(flatten)]
        replace: ReplaceArgs,
    },
    /// List the supported formats
    Formats,
}

/// The state of the drive before the run and after preconditioning.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "State of the drive")]
pub(crate) struct StateArgs {
    /// Bring the drive into a state first, without simulating time: fill, preload:PIECE:EXTENT (write the first EXTENT
    /// bytes as requests of PIECE bytes), random:xN (overwrite N capacities at random), steady (overwrite until write
    /// amplification settles) or steady:model (lay out the steady state that a model predicts on a new drive); several
    /// steps run in order
    #[arg(long, value_name = "STEP", value_delimiter = ',')]
    pub(crate) precondition: Vec<Precondition>,

    /// Leave the drive without power for this time after preconditioning, e.g. 90d; or client (a year at 30C) or
    /// enterprise (three months at 40C), the conditions of JESD218. For devices with [flash.errors]
    #[arg(long, value_name = "TIME")]
    pub(crate) age: Option<Storage>,

    /// The temperature meanwhile [default: 30C]
    #[arg(long, value_name = "TEMPERATURE", requires = "age")]
    pub(crate) temperature: Option<Temperature>,

    /// Save the state after preconditioning in a file; with `--until worn`, the state at the end with the drive's life
    #[arg(long, value_name = "FILE")]
    pub(crate) save_snapshot: Option<PathBuf>,

    /// Start from a state saved by --save-snapshot
    #[arg(long, value_name = "FILE")]
    pub(crate) load_snapshot: Option<PathBuf>,
}

/// Where the results of a run go.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// Print JSON instead of a table; `flashloom schema` describes the keys
    #[arg(long)]
    pub(crate) json: bool,

    /// Print CSV instead of a table: plain numbers, the unit of measure in the names of the columns
    #[arg(long, conflicts_with = "json")]
    pub(crate) csv: bool,

    /// Write the results into a directory: Parquet, JSON, the resolved configuration and report.html. Files of an
    /// earlier result are replaced; other files in the directory stay
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,

    /// Write charts, numbers and the configuration on one HTML page that needs no other file
    #[arg(long, value_name = "FILE.html")]
    pub(crate) report: Option<PathBuf>,

    /// Record the course of the run in intervals of this length, e.g. 10ms: percentiles, queue depth, busy dies and
    /// free blocks, by flow if there are several. The JSON lists the intervals, and the files of --out use them
    #[arg(long, value_name = "INTERVAL", value_parser = interval)]
    pub(crate) series: Option<Span>,

    /// Write one row per request into a Parquet file
    #[arg(long, value_name = "FILE")]
    pub(crate) requests: Option<PathBuf>,

    /// Write the activity of every die, channel and controller in a window of the run into a file for Perfetto
    /// (ui.perfetto.dev)
    #[arg(long, value_name = "FILE")]
    pub(crate) timeline: Option<PathBuf>,

    /// The window of the timeline, in simulated time since the start of the run [default: 0s..10ms]
    #[arg(long, value_name = "FROM..UNTIL", requires = "timeline")]
    pub(crate) window: Option<Window>,

    #[command(flatten)]
    pub(crate) replace: ReplaceArgs,

    /// Show no progress, like `--progress none`
    #[arg(long, conflicts_with = "progress")]
    pub(crate) quiet: bool,

    /// How to show progress, on the standard error [default: auto]
    #[arg(long, value_name = "HOW")]
    pub(crate) progress: Option<Show>,

    /// Report each step with its time on the standard error, and the sources of the device and the workload
    #[arg(long)]
    pub(crate) verbose: bool,
}

impl OutputArgs {
    /// The notices to print during the run.
    pub(crate) const fn notices(&self) -> Tell {
        Tell::new(self.quiet, self.progress, self.verbose)
    }
}

#[cfg(test)]
mod tests;
