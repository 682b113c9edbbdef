//! Builds the bench of another commit, runs it and today's in turn, and compares their rates.
//!
//! ```text
//! make bench-compare BASE=commit
//! make bench-compare BASE=commit ONLY='requests maps' PAIRS=9
//! ```
//!
//! The exit code is 1 if a row is slower by 5 % or more and outside both spreads, and 2 if something failed.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use clap::Parser;
use floor::compare::{Comparison, Failure, Row, Runs, parse};

/// Compares the speed of another commit with today's.
///
/// The two benches run in turn, section by section, in alternating order. A row is marked if its median has changed by
/// 5 % or more and lies outside the spread of the other's runs, both ways. The exit code is then 1, if it is slower.
#[derive(Parser)]
struct Args {
    /// The commit to compare with
    #[arg(long)]
    base: String,
    /// Number of pairs of runs
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pairs: u32,
    /// Slices per measurement of a run
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// The command that builds
    #[arg(long, default_value = "cargo")]
    cargo: PathBuf,
    /// Compare only these sections; by default those of requests (`bench --help` lists them)
    only: Vec<String>,
}

/// The sections whose rows are rates of requests.
const RATES: [&str; 9] =
    ["requests", "maps", "merges", "map-writes", "logs", "superblocks", "chang", "depth", "observers"];

/// The exit code of a command line that a program does not take.
const USAGE: i32 = 2;

/// A worktree of a commit in a temporary folder. It is removed in the end.
struct Tree {
    at: tempfile::TempDir,
}

impl Tree {
    fn of(commit: &str) -> Result<Self, Failure> {
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

/// Runs a command whose output is for the user.
fn done(command: &mut Command) -> Result<(), Failure> {
    let status = command.stdout(Stdio::null()).status().map_err(|error| format!("{command:?}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{command:?} failed: {status}").into()) }
}

/// Builds the bench of the base. The build folder is kept, because most of a first build is external crates.
fn build(cargo: &Path, tree: &Path, into: &Path) -> Result<PathBuf, Failure> {
    let package = ["build", "--release", "-p", "flashloom-bench", "--target-dir"];
    done(Command::new(cargo).args(package).arg(into).current_dir(tree))?;
    Ok(into.join("release").join(format!("bench{}", std::env::consts::EXE_SUFFIX)))
}

/// The rows of one section; `None` if the bench has no such section.
fn run(bench: &Path, section: &str, rounds: u32) -> Result<Option<Vec<Row>>, Failure> {
    let mut command = Command::new(bench);
    command.args(["--json", "--rounds", &rounds.to_string(), section]);
    let output = command.stderr(Stdio::piped()).output().map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.code() == Some(USAGE) {
        return Ok(None);
    }
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{command:?} failed: {}\n{said}", output.status).into());
    }
    let rows = parse(&String::from_utf8_lossy(&output.stdout)).map_err(|fault| format!("{command:?}: {fault}"))?;
    Ok(Some(rows))
}

fn compare(args: &Args) -> Result<Comparison, Failure> {
    let here = std::env::current_exe().map_err(|error| format!("the path of this program: {error}"))?;
    let now = here.with_file_name(format!("bench{}", std::env::consts::EXE_SUFFIX));
    let target = here.ancestors().nth(2).ok_or("this program is in no build folder")?;
    let tree = Tree::of(&args.base)?;
    let base = build(&args.cargo, tree.at.path(), &target.join("bench-base"))?;
    let sections: Vec<&str> =
        if args.only.is_empty() { RATES.to_vec() } else { args.only.iter().map(String::as_str).collect() };
    let mut runs = [Runs::default(), Runs::default()];
    for section in sections {
        let mut missing = [false; 2];
        for pair in 0..args.pairs {
            let order = if pair % 2 == 0 { [0, 1] } else { [1, 0] };
            for i in order {
                match run([&base, &now][i], section, args.rounds)? {
                    Some(rows) => runs[i].add(rows),
                    None => missing[i] = true,
                }
            }
            // Today's rows are listed even if the base has none; one run is enough for that.
            if missing != [false; 2] {
                break;
            }
            eprintln!("{section}: pair {} of {}", pair + 1, args.pairs);
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
