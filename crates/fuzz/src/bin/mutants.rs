//! Finds errors that the tests would miss: cargo-mutants lists all small changes to the crates; a seed draws some of them,
//! and each is made and tested in a worktree.
//!
//! `mutants [COUNT [SEED [FROM]]]` draws `COUNT` of them and begins with the one numbered `FROM`. A mutant is found by
//!
//! 1. the tests beside the code;
//! 2. in a crate of the drive, [`suite`], a selection of the conformance suite that takes seconds;
//! 3. the tests from outside: of whole drives, which include the reference hashes and the estimates of memory, or of the
//!    crate and the command.
//!
//! All others are printed as survivors: each needs a test, or a reason why no test can tell it from the original.
//!
//! `mutants suite` runs that selection.
#![allow(clippy::disallowed_methods)] // It runs programs and edits files; the device does neither.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use base::engine::Rng;
use serde_json::Value;
use testkit::Swarm;
use testkit::conformance::{CHECKS, Effort, Trial, settings};

/// The crates of a drive.
const DRIVE: [&str; 4] = ["base", "flash", "ftl", "ssd"];
/// The other crates to change.
const ABOVE: [&str; 4] = ["workload", "study", "report", "serve"];
/// Packages above the drive that have integration tests, as arguments of cargo.
const OUTSIDE: [&str; 2] = ["-pflashloom-study", "-pflashloom-serve"];
/// The time limit of a step. A mutant that never ends counts as found.
const BUILD_SECONDS: u32 = 1800;
const TEST_SECONDS: u32 = 600;
/// Tests of the workspace and of the suite itself: they test no drive.
const OTHERS: [&str; 4] = ["circles", "newcomers", "sabotage", "tidy"];
/// Less than in the tests: each setting has only one short check.
const EFFORT: Effort = Effort {
    name: "mutants",
    requests: 500,
    cut_requests: 36,
    stride: 5,
    paged_stride: 25,
    lives: 60,
    failures: 6,
    apart: 1,
    erases: 30,
    ways: 1,
    refusals: 1,
};
/// Seeds of random devices in the selection.
const SEEDS: u64 = 12;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == "suite") {
        suite();
        return ExitCode::SUCCESS;
    }
    let numbers: Result<Vec<u64>, _> = arguments.iter().map(|text| text.parse()).collect();
    let Ok(numbers) = numbers else {
        eprintln!("mutants [COUNT [SEED [FROM]]] | mutants suite");
        return ExitCode::from(2);
    };
    let number = |i: usize, default| numbers.get(i).copied().unwrap_or(default);
    match sample(number(0, 300) as usize, number(1, 1), number(2, 0) as usize) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Trouble(message)) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

/// Runs one check of the suite on every setting, cycling through the checks, and some random devices.
///
/// # Panics
/// If anything is wrong.
fn suite() {
    for (i, setting) in settings().iter().enumerate() {
        let check = CHECKS[(i + i / CHECKS.len()) % CHECKS.len()];
        let resolved = setting.spec.resolve().expect("every setting is valid");
        let trial = Trial { resolved: &resolved, seed: i as u64, effort: EFFORT };
        let _ = check.run(&setting.name, &trial).unwrap_or_else(|failure| panic!("{failure}"));
    }
    for seed in 0..SEEDS {
        let _ = Swarm { requests: 150, cuts: 3, faults: seed % 2 == 0, queues: seed % 3 == 0 }.run(seed);
    }
}

/// A small change at one place.
struct Mutant {
    name: String,
    /// From `crates/NAME/` on.
    file: String,
    /// Line and column, both from 1, of the first character of the place and of the first one after it.
    from: (usize, usize),
    to: (usize, usize),
    replacement: String,
}

impl Mutant {
    /// The crate that it changes.
    fn package(&self) -> &str {
        self.file.split('/').nth(1).expect("a file of a crate")
    }
}

/// Why the mutants could not be tried.
#[derive(Debug)]
struct Trouble(String);

impl Trouble {
    /// An error with a file or a program.
    fn with(name: impl std::fmt::Display, error: impl std::fmt::Display) -> Self {
        Self(format!("{name}: {error}"))
    }
}

/// The outcome of a mutant.
enum Fate {
    Unviable,
    Found(&'static str),
    Survives,
}

fn sample(count: usize, seed: u64, from: usize) -> Result<(), Trouble> {
    let mut all = list()?;
    let total = all.len();
    let mut rng = Rng::stream(seed, "mutants");
    let count = count.min(total);
    for i in 0..count {
        let other = i + rng.below((total - i) as u64) as usize;
        all.swap(i, other);
    }
    all.truncate(count);
    let tree = worktree()?;
    println!("{count} of {total} mutants, seed {seed}, in {}", tree.display());
    for name in all.iter().skip(from).map(Mutant::package).collect::<BTreeSet<_>>() {
        if !matches!(fate(&tree, name), Fate::Survives) {
            return Err(Trouble(format!("the tests of {name} fail before anything is changed")));
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

/// Builds and tests the worktree after a change of the crate `name`, the fastest tests first.
fn fate(tree: &Path, name: &str) -> Fate {
    let package = format!("-pflashloom-{name}");
    if !step(tree, BUILD_SECONDS, &["cargo", "build", "--quiet", "--lib", &package]) {
        return Fate::Unviable;
    }
    let is_drive = DRIVE.contains(&name);
    let mut beside = vec!["cargo", "test", "--quiet", "--lib", &package];
    if is_drive {
        beside.extend(["-pflashloom-flash", "-pflashloom-ftl", "-pflashloom-ssd"]);
    }
    if !step(tree, BUILD_SECONDS + TEST_SECONDS, &beside) {
        return Fate::Found("found by tests beside the code");
    }
    let mut outside = vec!["cargo", "test", "--quiet", "--test", "it"];
    if is_drive {
        let build = ["cargo", "build", "--quiet", "-p", "flashloom-fuzz", "--bin", "mutants"];
        let is_built = step(tree, BUILD_SECONDS, &build);
        if !is_built || !step(tree, TEST_SECONDS, &["target/debug/mutants", "suite"]) {
            return Fate::Found("found by the suite");
        }
        outside.extend(["-pflashloom-ssd", "-pflashloom-study", "-pflashloom-testkit", "--"]);
        outside.extend(OTHERS.iter().flat_map(|name| ["--skip", name]));
    } else {
        // Report and workload have no tests of their own from outside.
        outside.push("-pflashloom");
        outside.extend(OUTSIDE.iter().find(|of| of.ends_with(name)));
    }
    if !step(tree, BUILD_SECONDS + 3 * TEST_SECONDS, &outside) {
        return Fate::Found("found by tests from outside");
    }
    Fate::Survives
}

/// Runs a program; returns true if it succeeds within its time limit.
fn step(tree: &Path, seconds: u32, program: &[&str]) -> bool {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=10", &seconds.to_string()]).args(program).current_dir(tree);
    command.env("RUST_BACKTRACE", "0").env("CARGO_TARGET_DIR", "target");
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}
