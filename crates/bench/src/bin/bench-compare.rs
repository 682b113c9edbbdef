//! Builds the bench of another commit, runs it and today's at once on one core, and compares their rates.
//!
//! ```text
//! make bench-compare BASE=commit
//! make bench-compare BASE=commit ONLY='requests maps' ROW='buffered' PAIRS=9
//! ```
//!
//! Two programs on one core alternate every few milliseconds. So both meet the same noise of other programs, and their
//! processor times compare; those of runs one after the other can differ by half. Each slice of one begins with that of
//! the other.
//!
//! The exit code is 1 if a row is slower by 5 % or more, and slower in each pair, and 2 if something failed.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use clap::Parser;
use floor::compare::{Comparison, ComparisonFailure, Runs};
use floor::core::confine;
use floor::pairs::{MeasurementPlan, Way, pair};

/// Compares the speed of another commit with today's.
///
/// The two benches run in pairs, section by section: at once on one core, so that both meet the same noise; where the
/// system confines no program to a core, in turn. A row is marked if the median of its pairs' changes is 5 % or more,
/// and each pair has changed that way. The exit code is then 1, if the row is slower.
#[derive(Parser)]
struct Args {
    /// The commit to compare with
    #[arg(long)]
    base: String,
    /// Number of pairs of runs
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pairs: u32,
    /// Slices per measurement of a run; the median counts
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Compare only the rows whose names contain this
    #[arg(long, value_name = "TEXT", default_value = "")]
    row: String,
    /// The command that builds
    #[arg(long, default_value = "cargo")]
    cargo: PathBuf,
    /// Compare only these sections; by default those of requests (`bench --help` lists them)
    only: Vec<String>,
}

/// The sections whose rows are rates of requests.
const RATES: [&str; 9] =
    ["requests", "maps", "merges", "map-writes", "logs", "superblocks", "chang", "depth", "observers"];

/// A worktree of a commit in a temporary folder, removed on drop.
struct Tree {
    at: tempfile::TempDir,
}

impl Tree {
    fn of(commit: &str) -> Result<Self, ComparisonFailure> {
        let at = tempfile::tempdir().map_err(|error| format!("no temporary folder: {error}"))?;
        done(Command::new("git").args(["worktree", "add", "--quiet", "--detach"]).arg(at.path()).arg(commit))?;
        Ok(Self { at })
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        if let Err(fault) = done(Command::new("git").args(["worktree", "remove", "--force"]).arg(self.at.path())) {
            eprintln!("bench-compare: {fault}");
        }
    }
}

/// Runs a command whose output is shown to the user. Returns an error if it fails.
fn done(command: &mut Command) -> Result<(), ComparisonFailure> {
    let status = command.stdout(Stdio::null()).status().map_err(|error| format!("{command:?}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{command:?} failed: {status}").into()) }
}

/// Builds the bench of the base. The build folder is kept, because most of a first build is external crates.
fn build(cargo: &Path, tree: &Path, into: &Path) -> Result<PathBuf, ComparisonFailure> {
    let package = ["build", "--release", "-p", "flashloom-bench", "--target-dir"];
    done(Command::new(cargo).args(package).arg(into).current_dir(tree))?;
    Ok(into.join("release").join(format!("bench{}", std::env::consts::EXE_SUFFIX)))
}

fn compare(args: &Args) -> Result<Comparison, ComparisonFailure> {
    let here = std::env::current_exe().map_err(|error| format!("the path of this program: {error}"))?;
    let now = here.with_file_name(format!("bench{}", std::env::consts::EXE_SUFFIX));
    let target = here.ancestors().nth(2).ok_or("this program is in no build folder")?;
    let tree = Tree::of(&args.base)?;
    let base = build(&args.cargo, tree.at.path(), &target.join("bench-base"))?;
    let sections: Vec<&str> =
        if args.only.is_empty() { RATES.to_vec() } else { args.only.iter().map(String::as_str).collect() };
    let core = confine();
    let way = Way::of([&base, &now], core.is_some())?;
    if let Some(remark) = way.remark() {
        eprintln!("bench-compare: {remark}");
    }
    let mut runs = [Runs::default(), Runs::default()];
    for section in sections {
        let mut missing = [false; 2];
        for number in 0..args.pairs {
            let order = if number % 2 == 0 { [0, 1] } else { [1, 0] };
            let asked = MeasurementPlan { section, rounds: args.rounds, row: &args.row };
            let rows = pair([&base, &now], order, asked, way)?;
            for (i, rows) in rows.into_iter().enumerate() {
                missing[i] = rows.is_none();
                runs[i].add(rows.unwrap_or_default());
            }
            // Rows of today's bench are listed even if the base has none, and one run is enough for that.
            if missing != [false; 2] {
                break;
            }
            eprintln!("{section}: pair {} of {}", number + 1, args.pairs);
        }
        if missing[1] {
            return Err(format!("`{section}` is no section of the bench; `bench --help` lists them").into());
        }
    }
    let [base, now] = runs;
    Ok(Comparison::new(&base, &now))
}

fn main() -> ExitCode {
    match compare(&Args::parse()) {
        Ok(comparison) => {
            print!("{comparison}");
            if comparison.is_slower() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
        }
        Err(fault) => {
            eprintln!("bench-compare: {fault}");
            ExitCode::from(2)
        }
    }
}
