//! The end of the command: one clear message, and an exit code that says whether the input or Flashloom is at fault.

use std::fmt;
use std::io::{self, ErrorKind, Write};
use std::sync::{Mutex, PoisonError};

use study::catalogue::WorkloadError;
use study::config::Faults;
use study::execute::ExecuteError;
use study::memory::TooLarge;
use study::output::{OutputError, sweep, sweep_for_good};
use study::session::SessionError;
use workload::SourceError;

/// Exit code for a study whose claims do not hold, for lost data, and for requests that failed.
const UNEXPECTED: u8 = 1;

/// Exit code for faults of the input.
const INPUT: u8 = 2;

/// Exit code for faults of Flashloom; Rust uses it for panics, too.
const BUG: u8 = 101;

/// Exit code after an interruption, as shells report a program that Ctrl-C ended.
const INTERRUPTED: u8 = 130;

/// The most characters in a line of the help: clap breaks longer lines without their indent.
const WIDTH: usize = 100;

/// Every exit code and its meaning.
pub(crate) const CODES: [(u8, &str); 5] = [
    (0, "The command succeeded"),
    (
        UNEXPECTED,
        "A claim of a study fails, and the study states no reason; a drive has lost data; or more than 0.1 % of the requests of \
         a run failed, and neither `--allow-failures` nor the study expects that",
    ),
    (INPUT, "The input has an error: a file, an option, or a path that cannot be written"),
    (BUG, "Flashloom has a bug; the message names the command that reproduces it"),
    (INTERRUPTED, "A signal ended the command (Ctrl-C, SIGTERM, SIGHUP); it leaves no half-written file"),
];

/// The exit codes as the help lists them.
pub(crate) fn codes() -> String {
    let mut text = String::from("Exit codes:\n");
    for (code, meaning) in CODES {
        let mut line = format!("  {code:<4}");
        for word in meaning.split(' ') {
            if line.len() + 1 + word.len() > WIDTH {
                text.push_str(&line);
                line = format!("\n{:6}", "");
            }
            line.push(' ');
            line.push_str(word);
        }
        text.push_str(&line);
        text.push('\n');
    }
    text
}

/// The failure of a command, with its message and its exit code.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The input is at fault, or a path cannot be written.
    Input(String),
    /// The claims of a study do not hold, a drive lost something, or requests failed.
    Unexpected(String),
    /// Flashloom is at fault.
    Bug {
        /// The description of the fault.
        message: String,
        /// The command that repeats the failure.
        replay: String,
    },
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(message) => write!(f, "error: {message}"),
            Self::Unexpected(message) => f.write_str(message),
            Self::Bug { message, replay } => {
                write!(
                    f,
                    "bug: {message}\nThis is a bug in Flashloom. Please report it with the command that reproduces \
                     it: {replay}"
                )
            }
        }
    }
}

impl From<Faults> for Failure {
    fn from(faults: Faults) -> Self {
        Self::Input(faults.to_string())
    }
}

impl From<WorkloadError> for Failure {
    fn from(error: WorkloadError) -> Self {
        Self::Input(error.to_string())
    }
}

impl From<SourceError> for Failure {
    fn from(error: SourceError) -> Self {
        Self::Input(error.to_string())
    }
}

impl From<TooLarge> for Failure {
    fn from(error: TooLarge) -> Self {
        Self::Input(error.to_string())
    }
}

impl From<OutputError> for Failure {
    fn from(error: OutputError) -> Self {
        Self::Input(error.to_string())
    }
}

impl Failure {
    /// The failure for an error of a session; `replay` gives the command that runs the session again.
    pub(crate) fn session(error: &SessionError, replay: impl FnOnce() -> String) -> Self {
        match error.is_bug() {
            true => Self::Bug { message: error.to_string(), replay: replay() },
            false => Self::Input(error.to_string()),
        }
    }

    /// The failure of a study that ended early.
    pub(crate) fn study(error: &ExecuteError) -> Self {
        match error {
            ExecuteError::Session(inner, _) if inner.is_bug() => {
                Self::Bug { message: error.to_string(), replay: "that of the study named above".to_owned() }
            }
            error => Self::Input(error.to_string()),
        }
    }

    pub(crate) const fn code(&self) -> u8 {
        match self {
            Self::Input(_) => INPUT,
            Self::Unexpected(_) => UNEXPECTED,
            Self::Bug { .. } => BUG,
        }
    }
}

/// Writes a text to the standard error. A closed standard error is no fault.
pub(crate) fn say(text: impl fmt::Display) {
    // One write, so that output of other threads cannot split the text.
    let _ = io::stderr().write_all(format!("{text}\n").as_bytes());
}

/// Writes a note: the command succeeds, but the user should know something.
pub(crate) fn note(text: impl fmt::Display) {
    say(format_args!("note: {text}"));
}

/// Prints a result. A reader that closes the pipe early is no failure.
pub(crate) fn print(results: &mut dyn Write, text: &str) -> Result<(), Failure> {
    printed(results.write_all(text.as_bytes()).and_then(|()| results.flush()))
}

fn printed(outcome: io::Result<()>) -> Result<(), Failure> {
    match outcome {
        // The reader has closed the pipe early, as `head` does.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        outcome => outcome.map_err(|error| {
            let remedy = "redirect the standard output to a file or device with free space";
            Failure::Input(format!("the result cannot be printed: {error}; {remedy}"))
        }),
    }
}

/// Prints clap's answer to a request for help or the version, or to a command line with an error.
pub(crate) fn no_command(answer: &clap::Error) -> u8 {
    let shown = answer.print();
    if answer.use_stderr() {
        // If the message cannot be printed, the exit code still reports the error.
        return INPUT;
    }
    code(printed(shown.and_then(|()| io::stdout().flush())))
}

/// Prints the reason of a failure and returns the exit code.
pub(crate) fn code(outcome: Result<(), Failure>) -> u8 {
    match outcome {
        Ok(()) => 0,
        Err(failure) => {
            say(&failure);
            failure.code()
        }
    }
}

/// The function that the first interruption calls instead of ending the process.
static ON_INTERRUPT: Mutex<Option<Box<dyn FnOnce() + Send>>> = Mutex::new(None);

/// Sets the function that the first interruption calls, from another thread. The command then ends by itself; a second interruption
/// ends the process.
pub(crate) fn on_interrupt(end: impl FnOnce() + Send + 'static) {
    *ON_INTERRUPT.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(end));
}

/// Removes half-written files on an interruption (Ctrl-C, SIGTERM, SIGHUP) before the program ends.
pub(crate) fn sweep_on_interrupt() {
    let set = ctrlc::set_handler(|| {
        if let Some(end) = ON_INTERRUPT.lock().unwrap_or_else(PoisonError::into_inner).take() {
            return end();
        }
        sweep_for_good();
        std::process::exit(i32::from(INTERRUPTED));
    });
    // Without a handler an interruption may leave hidden `.part` files; the next run removes them.
    if let Err(error) = set {
        note(format_args!("cannot install the handler of Ctrl-C: {error}"));
    }
}

/// Lets a write beyond the limit of a file's size (`ulimit -f`) fail with an error that names the file. Without a handler the
/// signal would end the program without a message.
#[cfg(unix)]
pub(crate) fn survive_file_size_limit() {
    let heard = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    if let Err(error) = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, heard) {
        note(format_args!("cannot install the handler of SIGXFSZ: {error}"));
    }
}

/// Other systems have no such signal.
#[cfg(not(unix))]
pub(crate) fn survive_file_size_limit() {}

/// Removes half-written files on a panic and exits with [`BUG`], also where panics abort.
pub(crate) fn sweep_on_panic() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        report(panic);
        sweep();
        let command: Vec<_> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
        say(format_args!(
            "This is a bug in Flashloom. Please report it with the command that reproduces it: {}",
            command.join(" ")
        ));
        std::process::exit(i32::from(BUG));
    }));
}
