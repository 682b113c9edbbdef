//! The one interface of all workloads.

use std::path::{Path, PathBuf};

use base::io::Io;
use base::units::{Span, Time};

/// Requests of a closed loop that can be outstanding at once: each takes memory.
pub const MOST_DEPTH: u32 = 1 << 20;

/// A request and when it arrives, counted from the first request of its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// When the host issues it. A closed loop ignores it.
    pub at: Time,
    /// What is asked.
    pub io: Io,
}

/// How the requests of a source are issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pacing {
    /// At their times of arrival, whatever the device does.
    Open,
    /// As many at once as this, the next as soon as one completes.
    Closed {
        /// Requests outstanding.
        depth: u32,
    },
}

/// A stream of requests in the order of their arrival.
pub trait Source {
    /// The next request, `None` at the end.
    ///
    /// # Errors
    /// If the source is a file and the file is damaged, or a request does not fit the device.
    fn next(&mut self) -> Result<Option<Arrival>, SourceError>;

    /// How the source asks to be issued; a user may say otherwise.
    fn pacing(&self) -> Pacing;

    /// How many requests it will yield, where that is known.
    fn len_hint(&self) -> Option<u64> {
        None
    }

    /// A fault of the request that was yielded last, with its place in the file.
    fn fault(&self, message: String, remedy: String) -> SourceError {
        SourceError::new(message, remedy)
    }

    /// What a reader of the results should know about what was read so far: one sentence each.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// The simulated time after which a closed loop issues no more; a source with times of arrival ends
    /// by itself.
    fn duration(&self) -> Option<Span> {
        None
    }
}

impl<W: Source + ?Sized> Source for &mut W {
    fn next(&mut self) -> Result<Option<Arrival>, SourceError> {
        (**self).next()
    }

    fn pacing(&self) -> Pacing {
        (**self).pacing()
    }

    fn len_hint(&self) -> Option<u64> {
        (**self).len_hint()
    }

    fn fault(&self, message: String, remedy: String) -> SourceError {
        (**self).fault(message, remedy)
    }

    fn notes(&self) -> Vec<String> {
        (**self).notes()
    }

    fn duration(&self) -> Option<Span> {
        (**self).duration()
    }
}

/// Why a workload cannot be read. Each names the file, the place in it, and what to do.
// In a box: sources are asked for each request, and the answer is to be as small as the request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceError(Box<Fault>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Fault {
    path: Option<PathBuf>,
    line: Option<u64>,
    message: String,
    remedy: String,
}

impl SourceError {
    /// A fault with its remedy, in no file yet.
    #[must_use]
    pub fn new(message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self(Box::new(Fault { path: None, line: None, message: message.into(), remedy: remedy.into() }))
    }

    /// The same fault, found in this file.
    #[must_use]
    pub fn in_file(mut self, path: &Path) -> Self {
        self.0.path = Some(path.to_path_buf());
        self
    }

    /// The same fault, found on this line, counted from one.
    #[must_use]
    pub fn at_line(mut self, line: u64) -> Self {
        self.0.line = Some(line);
        self
    }

    /// The file, if there is one.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.0.path.as_deref()
    }

    /// Line of a text format, counted from one.
    #[must_use]
    pub fn line(&self) -> Option<u64> {
        self.0.line
    }

    /// What is wrong.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// What to do about it.
    #[must_use]
    pub fn remedy(&self) -> &str {
        &self.0.remedy
    }
}

impl std::fmt::Display for SourceError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(path) = self.path() {
            write!(f, "{}", path.display())?;
            if let Some(line) = self.line() {
                write!(f, ":{line}")?;
            }
            write!(f, ": ")?;
        }
        write!(f, "{}; {}", self.message(), self.remedy())
    }
}

impl std::error::Error for SourceError {}
