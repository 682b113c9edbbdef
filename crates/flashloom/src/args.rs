//! The command line.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use base::units::{Bytes, Sectors, Span};
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use clap_complete::Shell;
use ssd::Precondition;
use study::plan::RunSpec;
use study::watch::timeline::Window;
use workload::trace::{Columns, Event, ExtentRule, Format, NamedUnits, SizeUnit, TimeUnit, TraceOptions, VolumeRule};
use workload::{MOST_DEPTH, Pacing};

use crate::exit::Failure;
use crate::lists::Schema;
use crate::options::{FlowArg, columns, event, extent, flow, format, jobs, positive, size_unit, time_unit, whole};

/// A deterministic simulator of solid-state disks.
#[derive(Debug, Parser)]
#[command(name = "flashloom", version, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Cli {
    /// What is asked on the command line.
    pub(crate) fn asked() -> Result<Self, clap::Error> {
        Self::from_arg_matches(&Self::told().try_get_matches()?)
    }

    /// The command line as it is read.
    fn told() -> clap::Command {
        numbers_are_values(Self::command())
    }
}

/// Takes `-1` behind an option for its value, which it may refuse with its reasons, and not for another option.
fn numbers_are_values(command: clap::Command) -> clap::Command {
    let command = command.mut_args(|arg| match arg.get_long().is_some() && arg.get_action().takes_values() {
        true => arg.allow_negative_numbers(true),
        false => arg,
    });
    command.mut_subcommands(numbers_are_values)
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a workload on a disk and say what came of it
    Run(Box<RunArgs>),
    /// Run a workload on a disk and say where the time of its requests went
    Explain {
        /// Show every leg of this request's way; requests count from zero in the order of their arrival
        #[arg(long, value_name = "N", value_parser = whole(0, u64::MAX))]
        request: Option<u64>,
        #[command(flatten)]
        run: Box<RunArgs>,
    },
    /// Run studies: many runs along axes, and what is expected of them
    Study {
        /// Study files, or names of studies that come with Flashloom
        #[arg(required = true, value_name = "STUDY")]
        studies: Vec<PathBuf>,
        /// Run another workload instead of the studies' own: a trace, a generator, or one that comes with Flashloom. What
        /// the studies claim is about their own and is left out
        #[arg(long, value_name = "WORKLOAD")]
        workload: Option<PathBuf>,
        #[command(flatten)]
        reading: ReadingArgs,
        #[command(flatten)]
        lab: LabArgs,
    },
    /// Run all studies of a paper and print its claims beside what is measured
    Reproduce {
        /// The paper: chang, dirik, fmmu, hydra or sung; or mix, for mixtures of their mechanisms; see `flashloom studies`
        paper: String,
        #[command(flatten)]
        lab: LabArgs,
    },
    /// Run a workload on several disks and print them side by side
    Compare(Box<CompareArgs>),
    /// List the studies that come with Flashloom, or print one
    Studies {
        /// Print this one
        name: Option<String>,
    },
    /// Check device files and say what they come to
    Check {
        /// Device files, or names of devices that come with Flashloom
        #[arg(required = true, value_name = "DEVICE")]
        devices: Vec<PathBuf>,
        /// Override a key of the device files, e.g. flash.channels=8
        #[arg(long, value_name = "KEY=VALUE")]
        set: Vec<String>,
        /// Print JSON instead of tables; `flashloom schema` says what is in it
        #[arg(long)]
        json: bool,
    },
    /// Look into traces and convert them
    #[command(subcommand)]
    Trace(TraceCommand),
    /// List the workloads that come with Flashloom, or print one
    Workloads {
        /// Print this one
        name: Option<String>,
    },
    /// List the devices and the NAND parts that come with Flashloom, or print one
    #[command(alias = "parts")]
    Devices {
        /// Print this one
        name: Option<String>,
    },
    /// Print the JSON schema of a kind of file, or of the results in JSON
    Schema {
        /// Of which
        of: Schema,
    },
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
}

/// Everything `run` can be told.
#[derive(Args, Clone, Debug)]
pub(crate) struct RunArgs {
    /// The disk: a device file, or the name of one that comes with Flashloom
    #[arg(value_name = "DEVICE")]
    pub(crate) device: PathBuf,

    /// A trace file (`-` for standard input), a generator (.toml) or a fio job (.fio); or one that comes with Flashloom
    pub(crate) workload: PathBuf,

    #[command(flatten)]
    pub(crate) issue: IssueArgs,

    #[command(flatten)]
    pub(crate) trace: TraceArgs,

    #[command(flatten)]
    pub(crate) state: StateArgs,

    #[command(flatten)]
    pub(crate) output: OutputArgs,

    /// Seed of all random streams; two runs of one seed are equal
    #[arg(long, default_value_t = 0, value_parser = whole(0, u64::MAX))]
    pub(crate) seed: u64,

    /// Check that every read returns the newest completed write of each sector
    #[arg(long)]
    pub(crate) verify: bool,

    /// Override a key of the device file, e.g. flash.channels=8
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,

    /// Take this for the memory that there is, instead of what the machine says, e.g. 12GiB
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<Bytes>,
}

/// Everything `compare` can be told.
#[derive(Args, Clone, Debug)]
pub(crate) struct CompareArgs {
    /// A trace, a generator or a fio job; or a workload that comes with Flashloom
    pub(crate) workload: PathBuf,

    /// Device files, or names of devices that come with Flashloom; the disks of the papers, scaled to one array of
    /// chips, one capacity and one link, if none is named
    #[arg(value_name = "DEVICE")]
    pub(crate) devices: Vec<PathBuf>,

    /// The disks of the papers as each has it, not scaled
    #[arg(long, conflicts_with = "devices")]
    pub(crate) as_published: bool,

    /// Bring each disk into a state first, as in `flashloom run`; `none` for new ones
    #[arg(long, value_name = "STEP", value_delimiter = ',', default_value = "fill")]
    pub(crate) precondition: Vec<String>,

    /// Keep this many requests outstanding, whatever the workload says
    #[arg(long, value_name = "N", value_parser = whole(1, MOST_DEPTH))]
    pub(crate) depth: Option<u32>,

    /// Multiply all times of arrival: 0.5 plays a trace twice as fast
    #[arg(long, value_name = "X", value_parser = positive)]
    pub(crate) time_scale: Option<f64>,

    /// Stop after this many requests
    #[arg(long, value_name = "N", value_parser = whole(1, u64::MAX))]
    pub(crate) limit: Option<u64>,

    /// Leave out so many requests at the beginning of a trace
    #[arg(long, value_name = "N", value_parser = whole(0, u64::MAX))]
    pub(crate) skip: Option<u64>,

    /// What becomes of addresses of a trace beyond the disks: error, wrap or compact
    #[arg(long, value_name = "RULE", default_value = "wrap", value_parser = extent)]
    pub(crate) extent: ExtentRule,

    /// Only the requests of this volume of a trace
    #[arg(long, value_name = "NAME")]
    pub(crate) volume: Option<String>,

    /// What becomes of several volumes of a trace: single, overlay or stride:SIZE
    #[arg(long, value_name = "RULE", default_value = "overlay")]
    pub(crate) volumes: String,

    #[command(flatten)]
    pub(crate) reading: ReadingArgs,

    /// Say also where the time of the requests went, on the mean and of the slowest in a hundred; a report always does
    #[arg(long)]
    pub(crate) explain: bool,

    /// Seeds; a result is the mean over them
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "0", value_parser = whole(0, u64::MAX))]
    pub(crate) seeds: Vec<u64>,

    #[command(flatten)]
    pub(crate) lab: LabArgs,
}

/// What the numbers of a trace mean.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct LayoutArgs {
    /// Columns of a CSV that is of no known format, e.g. time=ts:us,op=rw,offset=lba:512B,size=len:B; a column is a name
    /// in the header line or a number from 1, and after a colon its unit. Also volume=COLUMN, read=WORD/WORD,
    /// write=WORD/WORD, delimiter=comma|semicolon|tab|bar|colon|blanks, decimal=comma, header=yes|no
    #[arg(long, value_name = "COLUMNS", value_parser = columns)]
    pub(crate) csv: Option<Columns>,

    /// Unit of the times of the trace, instead of that of its format: s, ms, us, 100ns, ns or ps
    #[arg(long, value_name = "UNIT", value_parser = time_unit)]
    pub(crate) time_unit: Option<TimeUnit>,

    /// Unit of the sizes of the trace, instead of that of its format: B, 512B (a sector), 4KiB (a page) ...
    #[arg(long, value_name = "UNIT", value_parser = size_unit)]
    pub(crate) size_unit: Option<SizeUnit>,

    /// Unit of the addresses of the trace, instead of that of its format: B, 512B, 4KiB ...
    #[arg(long, value_name = "UNIT", value_parser = size_unit)]
    pub(crate) address_unit: Option<SizeUnit>,
}

impl LayoutArgs {
    /// The units that were named.
    fn units(&self) -> NamedUnits {
        NamedUnits { time: self.time_unit, address: self.address_unit, size: self.size_unit }
    }
}

/// What a trace does not say of itself, where several disks play it.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ReadingArgs {
    /// Format of the trace, instead of the detected one; see `flashloom trace formats`
    #[arg(long, value_name = "NAME", value_parser = format)]
    pub(crate) format: Option<Format>,

    #[command(flatten)]
    pub(crate) layout: LayoutArgs,

    /// Shorten gaps between requests of the trace to this
    #[arg(long, value_name = "TIME")]
    pub(crate) gap_limit: Option<Span>,

    /// How far back a time of the trace may go behind the latest before it; such requests are sorted
    #[arg(long, value_name = "TIME")]
    pub(crate) tolerance: Option<Span>,
}

impl ReadingArgs {
    /// Refuses these options, and others about the reading of traces, where no trace is read.
    pub(crate) fn check(&self, traces: bool, also: &[(&str, bool)]) -> Result<(), Failure> {
        let own = [
            ("--format", self.format.is_some()),
            ("--csv", self.layout.csv.is_some()),
            ("--time-unit", self.layout.time_unit.is_some()),
            ("--size-unit", self.layout.size_unit.is_some()),
            ("--address-unit", self.layout.address_unit.is_some()),
            ("--gap-limit", self.gap_limit.is_some()),
            ("--tolerance", self.tolerance.is_some()),
        ];
        let given = own.iter().chain(also).filter(|(_, given)| *given && !traces);
        let lines: Vec<String> = given
            .map(|(option, _)| {
                format!("{option}: has no effect here: no workload is a trace; leave it out, or run a trace")
            })
            .collect();
        if lines.is_empty() { Ok(()) } else { Err(Failure::Input(lines.join("\n"))) }
    }

    /// Has a trace read like this.
    pub(crate) fn apply(&self, run: &mut RunSpec) {
        run.format = self.format.map(|format| format.name().into()).or_else(|| run.format.take());
        let layout = &self.layout;
        run.csv = layout.csv.as_ref().map(ToString::to_string).or_else(|| run.csv.take());
        run.time_unit = layout.time_unit.map(|unit| unit.to_string()).or_else(|| run.time_unit.take());
        run.size_unit = layout.size_unit.map(|unit| unit.to_string()).or_else(|| run.size_unit.take());
        run.address_unit = layout.address_unit.map(|unit| unit.to_string()).or_else(|| run.address_unit.take());
        run.gap_limit = self.gap_limit.or(run.gap_limit);
        run.tolerance = self.tolerance.or(run.tolerance);
    }
}

/// How studies are run, and what is kept of them.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct LabArgs {
    /// Check in every run that every read returns the newest completed write of each sector
    #[arg(long)]
    pub(crate) verify: bool,

    /// Run so many points at once; as many as there are cores by default. The results do not depend on it
    #[arg(long, value_name = "N", value_parser = jobs)]
    pub(crate) jobs: Option<NonZeroUsize>,

    /// Take this for the memory that there is, instead of what the machine says, e.g. 12GiB
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<Bytes>,

    /// Print JSON instead of tables; `flashloom schema` says what is in it
    #[arg(long)]
    pub(crate) json: bool,

    /// Write the results into a directory: study.json, claims.txt, report.html, and the points of each study
    /// as Parquet. They replace an earlier result; other files in it stay
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,

    /// Write one page to look at: the claims and the points of each study as charts
    #[arg(long, value_name = "FILE.html")]
    pub(crate) report: Option<PathBuf>,

    /// Replace files that Flashloom did not write; without it they are left alone, and the command ends. Inputs of the
    /// command are never replaced
    #[arg(long)]
    pub(crate) force: bool,

    /// Show no progress
    #[arg(long)]
    pub(crate) quiet: bool,
}

/// How requests are issued.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Issuing requests")]
pub(crate) struct IssueArgs {
    /// Keep this many requests outstanding, whatever the workload says
    #[arg(long, value_name = "N", value_parser = whole(1, MOST_DEPTH), conflicts_with = "open")]
    pub(crate) depth: Option<u32>,

    /// Issue requests at their times of arrival, whatever the workload says
    #[arg(long)]
    pub(crate) open: bool,

    /// Multiply all times of arrival: 0.5 plays a trace twice as fast
    #[arg(long, value_name = "X", value_parser = positive)]
    pub(crate) time_scale: Option<f64>,

    /// Stop after this many requests, those of all flows together
    #[arg(long, value_name = "N", value_parser = whole(1, u64::MAX))]
    pub(crate) limit: Option<u64>,

    /// Submit the requests to this submission queue of the disk; see `host.queues` in device files
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole(0, u16::MAX))]
    pub(crate) queue: u16,

    /// Run another workload at the same time, with results of its own: WORKLOAD, and behind it, each after a
    /// comma, queue=N, depth=N, open, name=NAME. May be given several times; --depth and --open are about the first
    /// workload only
    #[arg(long, value_name = "FLOW", value_parser = flow)]
    pub(crate) flow: Vec<FlowArg>,
}

impl IssueArgs {
    /// The pacing the user asks for, if any.
    pub(crate) fn pacing(&self) -> Option<Pacing> {
        match (self.depth, self.open) {
            (Some(depth), _) => Some(Pacing::Closed { depth }),
            (None, true) => Some(Pacing::Open),
            (None, false) => None,
        }
    }
}

/// How a trace is read.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Reading traces")]
pub(crate) struct TraceArgs {
    /// Format of the trace, instead of the detected one; see `flashloom trace formats`
    #[arg(long, value_name = "NAME", value_parser = format)]
    pub(crate) format: Option<Format>,

    #[command(flatten)]
    pub(crate) layout: LayoutArgs,

    /// Only the requests of this volume
    #[arg(long, value_name = "NAME")]
    pub(crate) volume: Option<String>,

    /// What to do with several volumes: single (an error), overlay (all in one address space) or
    /// stride:SIZE (one behind the other, so far apart)
    #[arg(long, value_name = "RULE", default_value = "single")]
    pub(crate) volumes: VolumeRule,

    /// Which event stands for a request in blktrace and blkparse files: auto, queue, issue or complete
    #[arg(long, value_name = "NAME", default_value = "auto", value_parser = event)]
    pub(crate) event: Event,

    /// How far back a time may go behind the latest before it; such requests are sorted
    #[arg(long, value_name = "TIME", default_value = "1s")]
    pub(crate) tolerance: Option<Span>,

    /// Shorten gaps between requests to this
    #[arg(long, value_name = "TIME")]
    pub(crate) gap_limit: Option<Span>,

    /// Leave out this many requests at the start
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole(0, u64::MAX))]
    pub(crate) skip: u64,

    /// Play the trace this many times
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole(1, u32::MAX))]
    pub(crate) repeat: u32,

    /// What to do with addresses beyond the disk: error, wrap (start again at the first sector) or
    /// compact (push the addresses that are used together)
    #[arg(long, value_name = "RULE", default_value = "error", value_parser = extent)]
    pub(crate) extent: ExtentRule,
}

impl TraceArgs {
    /// The same for the reader, on a disk of this capacity.
    pub(crate) fn options(&self, capacity: Option<Sectors>) -> TraceOptions {
        TraceOptions {
            format: self.format,
            columns: self.layout.csv.clone(),
            units: self.layout.units(),
            volume: self.volume.clone(),
            volumes: self.volumes,
            event: self.event,
            tolerance: self.tolerance.unwrap_or(TraceOptions::default().tolerance),
            gap_limit: self.gap_limit,
            skip: self.skip,
            repeat: self.repeat,
            extent: self.extent,
            capacity,
            ..TraceOptions::default()
        }
    }
}

/// Which part of a trace is looked at.
#[derive(Args, Clone, Debug)]
pub(crate) struct PartArgs {
    /// Format of the trace, instead of the detected one; see `flashloom trace formats`
    #[arg(long, value_name = "NAME", value_parser = format)]
    pub(crate) format: Option<Format>,

    #[command(flatten)]
    pub(crate) layout: LayoutArgs,

    /// Only the requests of this volume
    #[arg(long, value_name = "NAME")]
    pub(crate) volume: Option<String>,

    /// Leave out this many requests at the start
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole(0, u64::MAX))]
    pub(crate) skip: u64,

    /// Stop after this many requests
    #[arg(long, value_name = "N", value_parser = whole(1, u64::MAX))]
    pub(crate) limit: Option<u64>,
}

impl PartArgs {
    /// The same for the reader.
    pub(crate) fn options(&self) -> TraceOptions {
        let Self { format, layout, volume, skip, limit } = self.clone();
        let (units, columns) = (layout.units(), layout.csv);
        TraceOptions { format, columns, units, volume, skip, limit, ..TraceOptions::default() }
    }
}

/// What can be done with a trace.
#[derive(Debug, Subcommand)]
pub(crate) enum TraceCommand {
    /// Sum up a trace: mix, sizes, sequentiality, footprint, rate
    Info {
        /// The trace, compressed or not; `-` for standard input
        trace: PathBuf,
        #[command(flatten)]
        part: PartArgs,
        /// Print JSON instead of a table; `flashloom schema` says what is in it
        #[arg(long)]
        json: bool,
    },
    /// Convert a trace to Parquet
    Convert {
        /// The trace, compressed or not; `-` for standard input
        from: PathBuf,
        /// The Parquet file
        to: PathBuf,
        #[command(flatten)]
        part: PartArgs,
        /// Replace files that Flashloom did not write; without it they are left alone, and the command ends. Inputs of the
        /// command are never replaced
        #[arg(long)]
        force: bool,
    },
    /// List the formats that are understood
    Formats,
}

/// The state of the disk before the run and after it.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "State of the disk")]
pub(crate) struct StateArgs {
    /// Bring the disk into a state first, without simulating time: fill, preload:PIECE:EXTENT (write the
    /// first EXTENT bytes as requests of PIECE bytes), random:xN (overwrite N capacities at random) or
    /// steady; several are done in turn
    #[arg(long, value_name = "STEP", value_delimiter = ',')]
    pub(crate) precondition: Vec<Precondition>,

    /// Keep the state after preconditioning in a file
    #[arg(long, value_name = "FILE")]
    pub(crate) save_snapshot: Option<PathBuf>,

    /// Start from a state kept by --save-snapshot
    #[arg(long, value_name = "FILE")]
    pub(crate) load_snapshot: Option<PathBuf>,
}

/// What is kept of a run.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// Print JSON instead of a table; `flashloom schema` says what is in it
    #[arg(long)]
    pub(crate) json: bool,

    /// Write the results into a directory: Parquet, JSON, the resolved configuration and report.html. They replace an
    /// earlier result; other files in it stay
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,

    /// Write one page to look at: charts, numbers and the configuration, in a file that needs nothing else
    #[arg(long, value_name = "FILE.html")]
    pub(crate) report: Option<PathBuf>,

    /// Write every request into a Parquet file
    #[arg(long, value_name = "FILE")]
    pub(crate) requests: Option<PathBuf>,

    /// Write what every die, channel and unit did in a window of the run into a file that Perfetto
    /// (ui.perfetto.dev) shows
    #[arg(long, value_name = "FILE")]
    pub(crate) timeline: Option<PathBuf>,

    /// The window of the timeline, in simulated time since the start of the run [default: 0s..10ms]
    #[arg(long, value_name = "FROM..UNTIL", requires = "timeline")]
    pub(crate) window: Option<Window>,

    /// Replace files that Flashloom did not write; without it they are left alone, and the command ends. Inputs of the
    /// command are never replaced
    #[arg(long)]
    pub(crate) force: bool,

    /// Show no progress
    #[arg(long)]
    pub(crate) quiet: bool,
}

#[cfg(test)]
mod tests;
