//! Runs the benches of two builds in pairs.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdin, Command, Stdio};

use crate::compare::{ComparisonFailure, PrintedRow, READY, parse};

/// Exit code of a program that does not know an option or a value of its command line.
const USAGE: i32 = 2;

/// The measurements that a bench is asked for.
#[derive(Clone, Copy, Debug)]
pub struct MeasurementPlan<'a> {
    /// A section of the bench; `bench --help` lists them.
    pub section: &'a str,
    /// The number of slices that count.
    pub rounds: u32,
    /// Text that the names of measured rows contain.
    pub row: &'a str,
}

/// A running bench that measures one section.
struct RunningBench {
    command: Command,
    child: Child,
    to: Option<ChildStdin>,
    says: BufReader<ChildStderr>,
    said: String,
}

impl RunningBench {
    fn start(bench: &Path, asked: MeasurementPlan<'_>, way: Way) -> Result<Self, ComparisonFailure> {
        let mut command = Command::new(bench);
        command.args(["--json", "--rounds", &asked.rounds.to_string(), asked.section]);
        if !asked.row.is_empty() {
            command.args(["--row", asked.row]);
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

    /// Waits until the next slice may begin. Returns false if all slices are done.
    fn is_ready(&mut self) -> Result<bool, ComparisonFailure> {
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

    /// Lets the slice begin. An error is ignored: a bench that has failed reports it at its end.
    fn go(&mut self) {
        if let Some(to) = &mut self.to {
            _ = writeln!(to).and_then(|()| to.flush());
        }
    }

    /// Waits for the end of the bench and returns the rows of the section; `None` if the bench has no such section.
    fn rows(self) -> Result<Option<Vec<PrintedRow>>, ComparisonFailure> {
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

/// Option of a bench that runs in step with another.
const IN_STEP: &str = "--in-step";

/// The way in which the benches of a pair run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// At the same time on one core, and each slice together with the other bench's slice.
    InStep,
    /// At the same time on one core, because the bench of the base has no option to run in step.
    AtOnce,
    /// One after the other, because the system cannot confine a program to a core.
    InTurn,
}

impl Way {
    /// Chooses the best way for these benches; `on_one_core` says whether they can be confined to one core.
    ///
    /// # Errors
    /// If the help text of a bench cannot be read.
    pub fn of(benches: [&Path; 2], on_one_core: bool) -> Result<Self, ComparisonFailure> {
        let knows = |bench: &Path| -> Result<bool, ComparisonFailure> {
            let help = Command::new(bench).arg("--help").output();
            let help = help.map_err(|error| format!("{}: {error}", bench.display()))?;
            Ok(String::from_utf8_lossy(&help.stdout).contains(IN_STEP))
        };
        if !on_one_core {
            return Ok(Self::InTurn);
        }
        Ok(if knows(benches[0])? && knows(benches[1])? { Self::InStep } else { Self::AtOnce })
    }

    /// Describes what makes the comparison less reliable; `None` for benches in step.
    #[must_use]
    pub const fn remark(self) -> Option<&'static str> {
        match self {
            Self::InStep => None,
            Self::AtOnce => Some("the bench of the base cannot run in step: compare row by row (`--row`)"),
            Self::InTurn => Some("the benches run in turn, because they cannot be confined to one core"),
        }
    }
}

/// Runs both benches for one section and returns their rows; `None` for a bench without such a section. The first in
/// the order starts first.
///
/// # Errors
/// If a bench cannot run, fails, or prints no list of rows.
pub fn pair(
    benches: [&Path; 2],
    order: [usize; 2],
    asked: MeasurementPlan<'_>,
    way: Way,
) -> Result<[Option<Vec<PrintedRow>>; 2], ComparisonFailure> {
    let mut rows = [None, None];
    let start = |i: usize| RunningBench::start(benches[i], asked, way);
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

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;

    use super::*;

    /// Writes a program in place of a bench, which notes its arguments and its slices in a file that all such programs
    /// share.
    fn bench(folder: &Path, name: &str, body: &str) -> PathBuf {
        let path = folder.join(name);
        let log = folder.join("log");
        let script = format!("#!/bin/sh\nnote() {{ echo \"{name} $*\" >> '{}'; }}\n{body}\n", log.display());
        // A separate process writes the file: a process that another test starts meanwhile would inherit the open file,
        // and a program that is open for writing cannot be run.
        let mut writer = Command::new("sh");
        writer.arg("-c").arg("cat > \"$0\"").arg(&path).stdin(Stdio::piped());
        let mut writer = writer.spawn().expect("a shell");
        writer.stdin.take().expect("it is piped").write_all(script.as_bytes()).expect("it reads");
        assert!(writer.wait().expect("it ends").success());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("our own file");
        path
    }

    /// Returns a script of `count` slices in step, and a row with this rate.
    fn slices(count: u32, rate: u32) -> String {
        format!(
            "note \"$@\"; echo a warning >&2\nfor slice in $(seq {count}); do echo '{READY}' >&2; read -r go; note slice $slice; done\n\
             echo '[{{ \"name\": \"reads\", \"unit\": \"requests/CPU s\", \"value\": {{ \"median\": {rate} }} }}]'"
        )
    }

    const ASKED: MeasurementPlan<'static> = MeasurementPlan { section: "requests", rounds: 2, row: "reads" };

    fn medians(rows: &[Option<Vec<PrintedRow>>; 2]) -> [Option<f64>; 2] {
        rows.each_ref().map(|rows| rows.as_ref().map(|rows| rows[0].value.median))
    }

    #[test]
    fn a_slice_of_one_begins_when_both_are_ready() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (base, now) = (bench(folder.path(), "base", &slices(3, 100)), bench(folder.path(), "now", &slices(2, 90)));
        let rows = pair([&base, &now], [1, 0], ASKED, Way::InStep).expect("both run");
        assert_eq!(medians(&rows), [Some(100.0), Some(90.0)]);
        let log = fs::read_to_string(folder.path().join("log")).expect("both wrote");
        let (begun, ran): (Vec<_>, Vec<_>) = log.lines().partition(|line| line.contains("--json"));
        let mut begun = begun;
        begun.sort_unstable();
        let all = "--json --rounds 2 requests --row reads --in-step";
        assert_eq!(begun, [format!("base {all}"), format!("now {all}")]);
        // The base has one slice more, and runs it alone.
        let of = |slice: u32| ran.iter().filter(|line| line.ends_with(&format!("slice {slice}"))).count();
        let order: Vec<_> = ran.iter().map(|line| line.rsplit(' ').next().unwrap_or_default()).collect();
        assert_eq!((of(1), of(2), of(3)), (2, 2, 1), "{log}");
        assert_eq!(order, ["1", "1", "2", "2", "3"], "{log}");
    }

    #[test]
    fn benches_run_as_well_as_both_can() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let new = bench(folder.path(), "new", "echo 'Options: --in-step'");
        let old = bench(folder.path(), "old", "echo 'Options: --json'");
        let way = |benches: [&PathBuf; 2], on_one_core| Way::of(benches.map(PathBuf::as_path), on_one_core);
        assert_eq!(way([&new, &new], true), Ok(Way::InStep));
        assert_eq!(way([&old, &new], true), Ok(Way::AtOnce));
        assert_eq!(way([&new, &old], true), Ok(Way::AtOnce));
        assert_eq!(way([&new, &new], false), Ok(Way::InTurn));
        assert!(way([&new, &folder.path().join("none")], true).is_err());
    }

    #[test]
    fn a_section_may_be_missing_but_a_bench_may_not_fail() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let rates = |rate| {
            format!("note \"$@\"\necho '[{{ \"name\": \"a\", \"unit\": \"s\", \"value\": {{ \"median\": {rate} }} }}]'")
        };
        let good = bench(folder.path(), "good", &rates(7));
        let without = bench(folder.path(), "without", "exit 2");
        let failing = bench(folder.path(), "failing", "echo what happened >&2; exit 101");
        let silent = bench(folder.path(), "silent", "exit 0");
        for way in [Way::InStep, Way::AtOnce, Way::InTurn] {
            let rows = pair([&without, &good], [0, 1], ASKED, way).expect("a section may be missing");
            assert_eq!(medians(&rows), [None, Some(7.0)], "{way:?}");
            let failure = |bench: &Path| pair([&good, bench], [0, 1], ASKED, way).expect_err("it fails").to_string();
            assert!(failure(&failing).contains("what happened"), "{way:?}: {}", failure(&failing));
            assert!(failure(&silent).contains("the bench printed no list of rows"), "{way:?}: {}", failure(&silent));
        }
    }
}
