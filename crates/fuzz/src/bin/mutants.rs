//! Finds errors that the tests would miss: cargo-mutants lists all small changes to the crates; a seed draws some of them,
//! and each is made and tested in a worktree.
//!
//! `mutants [COUNT [SEED [FROM [CRATE...]]]]` draws `COUNT` of them, of these crates or of all, and begins with the one
//! numbered `FROM`. A mutant is found by
//!
//! 1. the tests beside the code;
//! 2. the tests from outside: of whole drives, which include the conformance suite, the reference hashes and the estimates
//!    of memory, or of studies, servers and the command.
//!
//! All others are printed as survivors: each needs a test, or a reason why no test can tell it from the original.
#![allow(clippy::disallowed_methods)] // It runs programs and edits files; the device does neither.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use base::engine::Rng;
use serde_json::Value;

/// The crates of a drive, and of the layers that a host puts above drives.
const DRIVE: [&str; 6] = ["base", "flash", "ftl", "raid", "ssd", "translation"];
/// The other crates to change.
const ABOVE: [&str; 6] = ["workload", "study", "report", "verify", "serve", "torture"];
/// The time limit of a command: twice the time of the longest one on two busy cores. A mutant that never ends counts as found.
const SECONDS: u32 = 3600;
/// Tests of the workspace and of the suite itself: they test no drive.
const OTHERS: [&str; 4] = ["circles", "newcomers", "sabotage", "tidy"];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (numbers, crates) = arguments.split_at(arguments.len().min(3));
    let numbers: Result<Vec<u64>, _> = numbers.iter().map(|text| text.parse()).collect();
    let known = |name: &String| DRIVE.iter().chain(&ABOVE).any(|known| known == name);
    let (Ok(numbers), true) = (numbers, crates.iter().all(known)) else {
        eprintln!(
            "mutants [COUNT [SEED [FROM [CRATE...]]]], with crates of {}",
            [&DRIVE[..], &ABOVE].concat().join(", ")
        );
        return ExitCode::from(2);
    };
    let number = |i: usize, default| numbers.get(i).copied().unwrap_or(default);
    match sample(number(0, 300) as usize, number(1, 1), number(2, 0) as usize, crates) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Trouble(message)) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

/// A small change at one place of a file.
struct Mutant {
    name: String,
    /// The path below the repository, from `crates/` on.
    file: String,
    /// Line and column, both from 1, of the first character of the place and of the first one after it.
    from: (usize, usize),
    to: (usize, usize),
    replacement: String,
}

impl Mutant {
    /// The crate that the mutant changes.
    fn package(&self) -> &str {
        self.file.split('/').nth(1).expect("a file of a crate")
    }
}

/// The reason for which the mutants could not be tried.
#[derive(Debug)]
struct Trouble(String);

impl Trouble {
    /// The error of a file or a program named `name`.
    fn with(name: impl std::fmt::Display, error: impl std::fmt::Display) -> Self {
        Self(format!("{name}: {error}"))
    }
}

enum Fate {
    Unviable,
    Found(&'static str),
    Survives,
}

fn sample(count: usize, seed: u64, from: usize, crates: &[String]) -> Result<(), Trouble> {
    let mut all = list()?;
    all.retain(|mutant| crates.is_empty() || crates.iter().any(|name| name == mutant.package()));
    let total = all.len();
    let mut rng = Rng::stream(seed, "mutants");
    let count = count.min(total);
    for i in 0..count {
        let other = i + rng.below((total - i) as u64) as usize;
        all.swap(i, other);
    }
    all.truncate(count);
    // Mutants are sorted by crate: after a mutant of the same crate less is built.
    all.sort_by(|a, b| a.package().cmp(b.package()));
    let tree = worktree()?;
    println!("{count} of {total} mutants, seed {seed}, in {}", tree.display());
    for run in all.iter().skip(from).flat_map(|mutant| test_runs(mutant.package())).collect::<BTreeSet<_>>() {
        if !succeeds(&tree, &run.command) {
            return Err(Trouble(format!("this fails before anything is changed: {}", run.command.join(" "))));
        }
    }
    let mut survivors = Vec::new();
    let (mut found, mut unviable) = (0, 0);
    for (i, mutant) in all.iter().enumerate().skip(from) {
        let file = tree.join(&mutant.file);
        let original = fs::read_to_string(&file).map_err(|error| Trouble::with(file.display(), error))?;
        write(&file, &changed(&original, mutant))?;
        let fate = fate(&tree, mutant.package());
        write(&file, &original)?;
        let word = match fate {
            Fate::Unviable => {
                unviable += 1;
                "does not compile"
            }
            Fate::Found(by) => {
                found += 1;
                by
            }
            Fate::Survives => {
                survivors.push(&mutant.name);
                "SURVIVES"
            }
        };
        println!("{i}: {word}: {}", mutant.name);
    }
    println!("{found} found, {unviable} that do not compile, {} survivors:", survivors.len());
    survivors.iter().for_each(|name| println!("{name}"));
    Ok(())
}

/// All mutants, in the order of files and lines.
fn list() -> Result<Vec<Mutant>, Trouble> {
    let mut command = Command::new("cargo");
    command.args(["mutants", "--list", "--json", "--no-config"]);
    for name in DRIVE.iter().chain(&ABOVE) {
        command.args(["-p", &format!("flashloom-{name}")]);
    }
    let output = command.stderr(Stdio::inherit()).output().map_err(|error| Trouble::with("cargo", error))?;
    if !output.status.success() {
        let remedy = "`cargo install --locked cargo-mutants`";
        return Err(Trouble::with("the list of mutants comes from cargo-mutants", remedy));
    }
    let all: Value = serde_json::from_slice(&output.stdout).map_err(|error| Trouble::with("cargo mutants", error))?;
    let place = |value: &Value| Some((value["line"].as_u64()? as usize, value["column"].as_u64()? as usize));
    let mutant = |value: &Value| {
        Some(Mutant {
            name: value["name"].as_str()?.into(),
            file: value["file"].as_str()?.into(),
            from: place(&value["span"]["start"])?,
            to: place(&value["span"]["end"])?,
            replacement: value["replacement"].as_str()?.into(),
        })
    };
    let all: Option<Vec<_>> = all.as_array().and_then(|all| all.iter().map(mutant).collect());
    let mut all = all.ok_or_else(|| Trouble("cargo mutants lists something else than mutants".into()))?;
    all.sort_by(|a, b| (&a.file, a.from, &a.name).cmp(&(&b.file, b.from, &b.name)));
    Ok(all)
}

/// Creates a worktree of the current commit, with a build folder of its own.
fn worktree() -> Result<PathBuf, Trouble> {
    let tree = PathBuf::from("target/mutants");
    let git = |arguments: &[&str]| {
        let status = Command::new("git").args(arguments).status().map_err(|error| Trouble::with("git", error))?;
        if status.success() { Ok(()) } else { Err(Trouble(format!("git {} failed", arguments.join(" ")))) }
    };
    let path = tree.to_str().expect("plain letters");
    if tree.exists() {
        git(&["-C", path, "checkout", "--quiet", "--force", "--detach", head()?.as_str()])?;
    } else {
        git(&["worktree", "add", "--quiet", "--detach", path, "HEAD"])?;
    }
    Ok(tree)
}

fn head() -> Result<String, Trouble> {
    let output =
        Command::new("git").args(["rev-parse", "HEAD"]).output().map_err(|error| Trouble::with("git", error))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn write(file: &Path, text: &str) -> Result<(), Trouble> {
    fs::write(file, text).map_err(|error| Trouble::with(file.display(), error))
}

/// The text of a file with the mutant's change.
fn changed(text: &str, mutant: &Mutant) -> String {
    let at = |(line, column): (usize, usize)| {
        let before: usize = text.split_inclusive('\n').take(line - 1).map(str::len).sum();
        let rest = &text[before..];
        before + rest.char_indices().nth(column - 1).map_or(rest.len(), |(at, _)| at)
    };
    format!("{}{}{}", &text[..at(mutant.from)], mutant.replacement, &text[at(mutant.to)..])
}

/// A command that tests a mutant, with the text that is printed if it fails.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct TestRun {
    finder: &'static str,
    command: Vec<String>,
}

/// The tests of a change of the crate `name`, the fastest first.
///
/// Each has `flashloom` or `testkit` among its packages: their tests select the features of all crates, so that none is
/// compiled twice.
fn test_runs(name: &str) -> [TestRun; 2] {
    let package = format!("-pflashloom-{name}");
    let run = |finder, target: &[&str], packages: &[&str]| {
        let command = [&["cargo", "test", "--quiet"], target, packages].concat();
        TestRun { finder, command: command.into_iter().map(str::to_owned).collect() }
    };
    let (beside, outside) = ("found by tests beside the code", "found by tests from outside");
    let (lib, it): (&[&str], &[&str]) = (&["--lib"], &["--test", "it"]);
    if DRIVE.contains(&name) {
        let drive = ["-pflashloom-flash", "-pflashloom-ftl", "-pflashloom-ssd", "-pflashloom-testkit"];
        let skipped: Vec<&str> = OTHERS.iter().flat_map(|name| ["--skip", name]).collect();
        let suites = [
            "-pflashloom-raid",
            "-pflashloom-ssd",
            "-pflashloom-study",
            "-pflashloom-testkit",
            "-pflashloom-translation",
        ];
        let whole = [&suites[..], &["--"], &skipped[..]].concat();
        [run(beside, lib, &[&[&*package], &drive[..]].concat()), run(outside, it, &whole)]
    } else {
        let whole = ["-pflashloom", "-pflashloom-study", "-pflashloom-serve"];
        [run(beside, lib, &[&package, "-pflashloom"]), run(outside, it, &whole)]
    }
}

/// Compiles and tests the worktree after a change of the crate `name`.
fn fate(tree: &Path, name: &str) -> Fate {
    let check = ["cargo", "check", "--quiet", "--lib", &format!("-pflashloom-{name}")].map(str::to_owned);
    if !succeeds(tree, &check) {
        return Fate::Unviable;
    }
    let found = test_runs(name).into_iter().find(|run| !succeeds(tree, &run.command));
    found.map_or(Fate::Survives, |run| Fate::Found(run.finder))
}

/// Runs a program; returns true if it succeeds within the time limit.
fn succeeds(tree: &Path, program: &[String]) -> bool {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=10", &SECONDS.to_string()]).args(program).current_dir(tree);
    command.env("RUST_BACKTRACE", "0").env("CARGO_TARGET_DIR", "target");
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}
