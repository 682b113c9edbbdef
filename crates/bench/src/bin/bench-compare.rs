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

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdin, Command, ExitCode, Stdio};

use clap::Parser;
use floor::compare::{Comparison, Failure, READY, Row, Runs, parse};
use floor::core::confine;

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

/// A bench that measures one section.
struct Running {
    command: Command,
    child: Child,
    to: Option<ChildStdin>,
    says: BufReader<ChildStderr>,
    said: String,
}

impl Running {
    fn start(bench: &Path, section: &str, args: &Args, way: Way) -> Result<Self, Failure> {
        let mut command = Command::new(bench);
        command.args(["--json", "--rounds", &args.rounds.to_string(), section]);
        if !args.row.is_empty() {
            command.args(["--row", &args.row]);
        }
        if way == Way::InStep {
            command.arg(IN_STEP);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| format!("{command:?}: {error}"))?;
        let to = child.stdin.take();
        let says = BufReader::new(child.stderr.take().ok_or("a bench without a standard error")?);
        Ok(Self { command, child, to, says, said: String::new() })
    }

    /// Waits until the next slice may begin. False if there is none.
    fn is_ready(&mut self) -> Result<bool, Failure> {
        loop {
            let mut line = String::new();
            match self.says.read_line(&mut line) {
                Ok(0) => return Ok(false),
                Ok(_) if line.trim_end() == READY => return Ok(true),
                Ok(_) => self.said.push_str(&line),
                Err(error) => return Err(format!("{:?}: {error}", self.command).into()),
            }
        }
    }

    /// Lets the slice begin. A bench that has failed says so at its end.
    fn go(&mut self) {
        if let Some(to) = &mut self.to {
            _ = writeln!(to).and_then(|()| to.flush());
        }
    }

    /// The rows of the section; `None` if the bench has no such section.
    fn rows(self) -> Result<Option<Vec<Row>>, Failure> {
        let Self { command, child, to, mut says, mut said } = self;
        drop(to);
        let ended = child.wait_with_output();
        let read = says.read_to_string(&mut said);
        let output = ended.and_then(|output| read.map(|_| output)).map_err(|error| format!("{command:?}: {error}"))?;
        if output.status.code() == Some(USAGE) {
            return Ok(None);
        }
        if !output.status.success() {
            return Err(format!("{command:?} failed: {}\n{said}", output.status).into());
        }
        let rows = parse(&String::from_utf8_lossy(&output.stdout)).map_err(|fault| format!("{command:?}: {fault}"))?;
        Ok(Some(rows))
    }
}

/// The option of a bench that runs in step.
const IN_STEP: &str = "--in-step";

/// How the benches of a pair run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// At once on one core, each slice with that of the other.
    InStep,
    /// At once on one core, because the bench of the base does not know how to run in step.
    AtOnce,
    /// One after the other, because the system confines no program to a core.
    InTurn,
}

impl Way {
    fn of(benches: [&Path; 2], on_one_core: bool) -> Result<Self, Failure> {
        let knows = |bench: &Path| -> Result<bool, Failure> {
            let help = Command::new(bench).arg("--help").output();
            let help = help.map_err(|error| format!("{}: {error}", bench.display()))?;
            Ok(String::from_utf8_lossy(&help.stdout).contains(IN_STEP))
        };
        if !on_one_core {
            return Ok(Self::InTurn);
        }
        Ok(if knows(benches[0])? && knows(benches[1])? { Self::InStep } else { Self::AtOnce })
    }

    /// What makes the comparison less sure than it could be.
    const fn remark(self) -> Option<&'static str> {
        match self {
            Self::InStep => None,
            Self::AtOnce => Some("the bench of the base cannot run in step: compare row by row (`--row`)"),
            Self::InTurn => Some("the benches run in turn, because they cannot be confined to one core"),
        }
    }
}

/// The rows of both benches of one section.
fn pair(
    benches: [&Path; 2],
    order: [usize; 2],
    section: &str,
    (args, way): (&Args, Way),
) -> Result<[Option<Vec<Row>>; 2], Failure> {
    let mut rows = [None, None];
    let start = |i: usize| Running::start(benches[i], section, args, way);
    let [first, second] = order;
    if way == Way::InTurn {
        rows[first] = start(first)?.rows()?;
        rows[second] = start(second)?.rows()?;
        return Ok(rows);
    }
    let (mut one, mut other) = (start(first)?, start(second)?);
    if way == Way::InStep {
        loop {
            let ready = [one.is_ready()?, other.is_ready()?];
            if ready == [false; 2] {
                break;
            }
            [&mut one, &mut other].into_iter().zip(ready).filter(|(_, ready)| *ready).for_each(|(bench, _)| bench.go());
        }
    }
    (rows[first], rows[second]) = (one.rows()?, other.rows()?);
    Ok(rows)
}

fn compare(args: &Args) -> Result<Comparison, Failure> {
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
            let rows = pair([&base, &now], order, section, (args, way))?;
            for (i, rows) in rows.into_iter().enumerate() {
                missing[i] = rows.is_none();
                runs[i].add(rows.unwrap_or_default());
            }
            // Today's rows are listed even if the base has none; one run is enough for that.
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
