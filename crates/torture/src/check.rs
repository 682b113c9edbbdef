//! The check of a user: a command that reads the image of a recovered drive and reports by its exit code whether the image is good.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The most bytes of a command's output that are kept. The end is kept, because it usually has the reason of a failure.
const MOST_OUTPUT: u64 = 16 << 10;

/// A command that checks images.
#[derive(Clone, Debug)]
pub struct Check {
    /// The command, for the shell. `{image}`, `{log}` and `{point}` stand for the image, for the file with the lines that
    /// the workload had printed, and for the number of the cut.
    pub command: String,
    /// The time after which the command is ended.
    pub limit: Duration,
}

/// The end of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckOutcome {
    /// The image is good.
    Good,
    /// The command ended with this exit code.
    Code(i32),
    /// A signal ended the command.
    Signal,
    /// The command exceeded its time limit.
    Late,
}

impl fmt::Display for CheckOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Good => f.write_str("good"),
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::Signal => f.write_str("ended by a signal"),
            Self::Late => f.write_str("took too long"),
        }
    }
}

/// The result of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckResult {
    /// The end of the command.
    pub ending: CheckOutcome,
    /// The last bytes of the command's output.
    pub output: String,
}

/// The error of a check that cannot be run.
#[derive(Debug)]
pub struct CheckError {
    /// The file or the command that failed.
    pub what: PathBuf,
    /// The error of the operating system.
    pub error: io::Error,
}

impl fmt::Display for CheckError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; check that the directory has free space and may be written", self.what.display(), self.error)
    }
}

impl std::error::Error for CheckError {}

/// A path, quoted for the shell.
#[must_use]
pub fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', "'\\''"))
}

impl Check {
    /// The command line with these files filled in.
    #[must_use]
    pub fn line(&self, image: &Path, log: &Path, point: usize) -> String {
        let line = self.command.replace("{image}", &quoted(image)).replace("{log}", &quoted(log));
        line.replace("{point}", &point.to_string())
    }

    /// Runs the check in the directory `dir`, with paths to the image and to the lines of the workload.
    ///
    /// # Errors
    /// If the shell cannot be started, or its output cannot be kept.
    pub fn run(&self, dir: &Path, image: &Path, log: &Path, point: usize) -> Result<CheckResult, CheckError> {
        let path = dir.join("output");
        let at = |what: &Path| {
            let what = what.to_owned();
            move |error| CheckError { what, error }
        };
        let mut output =
            File::options().create(true).truncate(true).read(true).write(true).open(&path).map_err(at(&path))?;
        let streams = output.try_clone().and_then(|out| Ok((out, output.try_clone()?)));
        let (out, err) = streams.map_err(at(&path))?;
        let mut command = Command::new("sh");
        command
            .args(["-c", &self.line(image, log, point)])
            .current_dir(dir)
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(err);
        let ending = ended(&mut command, self.limit).map_err(at(Path::new("sh")))?;
        let text = tail(&mut output).map_err(at(&path))?;
        fs::remove_file(&path).map_err(at(&path))?;
        Ok(CheckResult { ending, output: text })
    }
}

/// The last bytes of a file, as text.
fn tail(file: &mut File) -> io::Result<String> {
    let length = file.seek(SeekFrom::End(0))?;
    file.seek(SeekFrom::Start(length.saturating_sub(MOST_OUTPUT)))?;
    let mut bytes = Vec::new();
    file.take(MOST_OUTPUT).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Runs a command to its end. After the time limit the command and all processes that it started are killed.
#[allow(clippy::disallowed_methods)] // A program of the user takes time of the machine.
fn ended(command: &mut Command, limit: Duration) -> io::Result<CheckOutcome> {
    let begun = Instant::now();
    let mut pause = Duration::from_micros(500);
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    let mut child = command.spawn()?;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(match status.code() {
                Some(0) => CheckOutcome::Good,
                Some(code) => CheckOutcome::Code(code),
                None => CheckOutcome::Signal,
            });
        }
        if begun.elapsed() >= limit {
            kill_group(&mut child);
            child.wait()?;
            return Ok(CheckOutcome::Late);
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(10));
    }
}

/// Kills a child and its process group. The child has not been waited for, so its number is not reused.
fn kill_group(child: &mut std::process::Child) {
    #[cfg(unix)]
    if let Some(group) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
        // The child may have ended just now.
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let _ = child.kill();
}

#[cfg(test)]
mod tests;
