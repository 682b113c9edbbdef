//! The speed of Flashloom, measured beside a bare event loop in one run.
//!
//! ```text
//! make bench                              a table, in about three minutes
//! target/release/bench --json             the same for programs
//! target/release/bench --full             with a drive of 1 TB
//! ```
//!
//! Timings are not tests: the exit code does not depend on them, and is 0 unless a run fails.

mod bare;
mod direct;
mod drives;
mod hydra;
mod large;
mod memory;
mod report;
mod rounds;
mod runner;
mod traces;

use base::io::IoKind;
use base::units::Span;
use clap::{Parser, ValueEnum};
use ssd::MapSpec;
use ssd::map_unit::FmmuSpec;

use direct::Direct;
use drives::Writes;
use rounds::{Contestant, Target};
use runner::Run;

/// Measures the speed of the simulator beside a bare event loop.
#[derive(Parser)]
struct Args {
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
    /// Fill and overwrite a drive of 1 TB instead of a small one
    #[arg(long)]
    full: bool,
    /// Measure only these; by default all
    #[arg(value_enum)]
    only: Vec<What>,
    /// Number of slices per measurement; the median counts
    #[arg(long, default_value_t = 5)]
    rounds: u32,
}

/// The measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum What {
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
}

fn main() {
    let args = Args::parse();
    let rounds = args.rounds.max(1);
    let wanted = |what| args.only.is_empty() || args.only.contains(&what);
    let mut rows = Vec::new();
    // Memory comes first, before anything else has allocated any.
    if wanted(What::Large) {
        rows.extend(large::measure(args.full));
    }
    if wanted(What::Hydra) {
        rows.extend(hydra::measure());
    }
    if wanted(What::Traces) {
        rows.extend(traces::measure(rounds));
    }
    if wanted(What::Requests) {
        rows.extend(rounds::run(&mut contestants(), rounds));
    }
    if wanted(What::Maps) {
        rows.extend(rounds::run(&mut maps(), rounds));
    }
    if wanted(What::Merges) {
        rows.extend(rounds::run(&mut merges(), rounds));
    }
    if args.json {
        println!("{}", report::json(&rows));
    } else {
        print!("{}", report::table(&rows));
    }
}

/// One drive with different maps: the differences are the cost of a map unit in the simulator.
fn maps() -> Vec<Contestant> {
    let reads = |map| Direct::new(drives::mapped(map), IoKind::Read);
    let table = MapSpec::Table { service: Span::ZERO };
    let fmmu = MapSpec::Fmmu(FmmuSpec::PUBLISHED);
    let target = Target { ratio: 0.2, rate: 0.0 };
    vec![
        Contestant::new("4 KiB random reads, map in RAM", 1_000_000, None, reads(MapSpec::Ram)),
        Contestant::new("4 KiB random reads, table that takes no time", 1_000_000, None, reads(table)),
        Contestant::new("4 KiB random reads, FMMU", 500_000, Some(target), reads(fmmu)),
    ]
}

fn merges() -> Vec<Contestant> {
    let target = Target { ratio: 0.0, rate: 0.05e6 };
    let writes = Direct::new(drives::logged(), IoKind::Write);
    vec![Contestant::new("4 KiB random writes, FAST, 28 % spare", 100_000, Some(target), writes)]
}

fn contestants() -> Vec<Contestant> {
    let reads = Some(Target { ratio: 0.5, rate: 0.0 });
    let writes = Some(Target { ratio: 0.25, rate: 0.5e6 });
    let (device, drive) = drives::full();
    let steady = |over_provisioning, how| Direct::new(drives::steady(over_provisioning, how), IoKind::Write);
    vec![
        Contestant::new("4 KiB random reads", 2_000_000, reads, Direct::new(drive.clone(), IoKind::Read)),
        Contestant::new("4 KiB random reads, runner and generator", 2_000_000, reads, Run::new(device, drive)),
        Contestant::new("4 KiB random writes, buffered, 28 % spare", 500_000, writes, steady(0.28, Writes::Buffered)),
        Contestant::new("4 KiB random writes, buffered, 15 % spare", 500_000, writes, steady(0.15, Writes::Buffered)),
        Contestant::new("4 KiB random writes, through, 28 % spare", 500_000, writes, steady(0.28, Writes::Through)),
    ]
}
