//! The speed of Flashloom, measured beside a bare event loop in one run.
//!
//! ```text
//! make bench                              a table, in less than ten minutes
//! make bench-compare BASE=commit          rates of that commit and of today, interleaved
//! target/release/bench --json             the table for programs
//! target/release/bench --full             with a drive of 1 TB and the studies of all papers
//! ```
//!
//! Timings are not tests: the exit code does not depend on them, and is 0 unless a run fails.

mod bare;
mod direct;
mod drives;
mod features;
mod hydra;
mod large;
mod memory;
mod observers;
mod requests;
mod runner;
mod studies;
mod traces;

use clap::{Parser, ValueEnum};

use floor::report;
use floor::rounds::{self, Load, Plan};

use crate::bare::BareLoad;

/// Measures the speed of the simulator beside a bare event loop.
///
/// Every row has its unit, its goal and a verdict. Rates are requests for each second of processor time: the median of
/// some slices of work, and their range. `make bench-compare BASE=COMMIT` compares the rates with those of another
/// commit.
#[derive(Parser)]
struct Args {
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
    /// Fill and overwrite a drive of 1 TB instead of a small one, and run the studies of all papers
    #[arg(long)]
    full: bool,
    /// Measure only these; by default all
    #[arg(value_enum)]
    only: Vec<BenchSection>,
    /// Number of slices per measurement; the median counts
    #[arg(long, default_value_t = 5)]
    rounds: u32,
    /// Of rows with rates of requests, measure only those whose names contain this; their shares are of the first of them
    #[arg(long, value_name = "TEXT", default_value = "")]
    row: String,
    /// Say on standard error when a slice may begin, and wait for a line on standard input: so two benches run the same
    /// slices at once (`make bench-compare`)
    #[arg(long)]
    in_step: bool,
}

/// The sections of the bench, as `--only` names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum BenchSection {
    /// Memory and time of a large drive
    Large,
    /// Hydra's prototype: time and memory
    Hydra,
    /// Reading traces
    Traces,
    /// Requests, beside the bare event loop
    Requests,
    /// Reads of a drive with different maps, beside the bare event loop
    Maps,
    /// Writes of a full log-block drive, merges included
    Merges,
    /// Random writes behind FMMU, DFTL and CDFTL
    MapWrites,
    /// Random writes of BAST with few and many log blocks
    Logs,
    /// Random writes of Hydra on drives of three sizes, and on a full one
    Superblocks,
    /// Random writes of Chang's drive
    Chang,
    /// Writes with few and many requests under way
    Depth,
    /// Runs with `--verify` and `--report` beside the same without
    Observers,
    /// A drive with the mechanisms of today beside the same flash without
    Features,
    /// The simulation of `make demo`
    Demo,
    /// A study on one core and on two
    Cores,
    /// The studies of all papers; only with `--full`, or if they are named
    Papers,
}

/// Starts the bare loop with a heap, to which the goals refer because ordinary simulators have one.
fn heap() -> Box<dyn Load> {
    Box::new(BareLoad::reads("heap"))
}

/// Starts the bare loops with a heap and with rings; the second shows the rate that is possible.
fn loops() -> [Box<dyn Load>; 2] {
    [heap(), Box::new(BareLoad::reads("rings"))]
}

fn main() {
    let args = Args::parse();
    let rounds = args.rounds.max(1);
    let plan = Plan { rounds, row: &args.row, in_step: args.in_step };
    let mut rows = Vec::new();
    // Memory is measured first, before other measurements have allocated any.
    for what in BenchSection::value_variants() {
        let wanted =
            if args.only.is_empty() { *what != BenchSection::Papers || args.full } else { args.only.contains(what) };
        if !wanted {
            continue;
        }
        rows.extend(match what {
            BenchSection::Large => large::measure(args.full),
            BenchSection::Hydra => hydra::measure(),
            BenchSection::Traces => traces::measure(rounds),
            BenchSection::Requests => rounds::run_beside_loops(requests::plain(), plan, loops),
            BenchSection::Maps => rounds::run_beside_loops(requests::maps(), plan, loops),
            BenchSection::Merges => rounds::run(requests::fast(), plan, heap),
            BenchSection::MapWrites => rounds::run(requests::map_writes(), plan, heap),
            BenchSection::Logs => rounds::run(requests::bast(), plan, heap),
            BenchSection::Superblocks => rounds::run(requests::hydra(), plan, heap),
            BenchSection::Chang => rounds::run(requests::chang(), plan, heap),
            BenchSection::Depth => rounds::run(requests::depth(), plan, heap),
            BenchSection::Observers => observers::measure(plan, heap),
            BenchSection::Features => features::measure(plan, heap),
            BenchSection::Demo => studies::demo(),
            BenchSection::Cores => studies::cores(rounds),
            BenchSection::Papers => studies::papers(),
        });
    }
    if args.json {
        println!("{}", report::json(&rows));
    } else {
        print!("{}", report::table(&rows));
    }
}
