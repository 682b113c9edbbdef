//! The interface of all workloads.

use std::path::{Path, PathBuf};

use base::io::Io;
use base::units::{Span, Time};

/// The maximum number of outstanding requests of a closed loop, because each takes memory.
pub const MOST_DEPTH: u32 = 1 << 20;

/// A request and its time of arrival, counted from the first request of its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The time at which the host issues the request. A closed loop ignores it.
    pub at: Time,
    /// Kind, address and length of the request.
    pub io: Io,
    /// The submission queue of the drive, if the source names one; otherwise the queue of the source's flow is used.
    pub queue: Option<u16>,
}

impl Arrival {
    /// Creates an arrival for which the source names no queue.
    #[must_use]
    pub const fn new(at: Time, io: Io) -> Self {
        Self { at, io, queue: None }
    }
}

/// The rule by which the requests of a source are issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pacing {
    /// Each request is issued at its time of arrival, independent of completions.
    Open,
    /// A constant number of requests is outstanding: each completion triggers the next.
    Closed {
        /// The number of requests outstanding.
        depth: u32,
    },
    /// Each request is issued at its time of arrival, or when fewer than `depth` are outstanding, whichever is later:
    /// as a program with `depth` workers replays a trace.
    Replay {
        /// The maximum number of requests outstanding.
        depth: u32,
    },
}

/// The pauses of a closed loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Think {
    /// The length of a pause. It begins when all outstanding requests have completed.
    pub time: Span,
    /// The number of requests from one pause to the next.
    pub every: u32,
}

/// A stream of requests in the order of their arrival.
pub trait Source {
    /// The next request; `None` at the end.
    ///
    /// # Errors
    /// If the source's file is damaged, or a request does not fit the device.
    fn next(&mut self) -> Result<Option<Arrival>, SourceError>;

    /// The requests that [`Source::next`] will return first, as far as the source knows them; empty if it does not draw
    /// ahead. A drive may prefetch the memory that they need.
    fn ahead(&mut self) -> &[Io] {
        &[]
    }

    /// Takes the first `requests` of those that [`Source::ahead`] returned, as that many calls of [`Source::next`]
    /// would.
    ///
    /// # Panics
    ///
    /// If [`Source::ahead`] returned fewer.
    fn pass(&mut self, requests: usize) {
        assert_eq!(requests, 0, "requests are passed that no source has drawn ahead");
    }

    /// The pacing that the source asks for; a user may override it.
    fn pacing(&self) -> Pacing;

    /// The number of requests that the source will yield, if known.
    fn len_hint(&self) -> Option<u64> {
        None
    }

    /// A fault of the most recent request, with its place in the file.
    fn fault(&self, message: String, remedy: String) -> SourceError {
        SourceError::new(message, remedy)
    }

    /// Notes for a reader of the results about the requests read so far, one sentence each.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// The simulated time after which a closed loop issues no more requests; `None` for sources with times of arrival,
    /// which end by themselves.
    fn duration(&self) -> Option<Span> {
        None
    }

    /// The simulated time before the first request of a closed loop. Times of arrival include it.
    fn start(&self) -> Span {
        Span::ZERO
    }

    /// The pauses of a closed loop.
    fn think(&self) -> Option<Think> {
        None
    }
}

impl<W: Source + ?Sized> Source for &mut W {
    fn next(&mut self) -> Result<Option<Arrival>, SourceError> {
        (**self).next()
    }

    fn ahead(&mut self) -> &[Io] {
        (**self).ahead()
    }

    fn pass(&mut self, requests: usize) {
        (**self).pass(requests);
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

    fn start(&self) -> Span {
        (**self).start()
    }

    fn think(&self) -> Option<Think> {
        (**self).think()
    }
}

/// The reason that a workload cannot be read: the file, the place in it, and a remedy.
// Boxed, because every request passes through a `Result` with this error, which should not be larger than the request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceError(Box<SourceFault>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct SourceFault {
    path: Option<PathBuf>,
    line: Option<u64>,
    message: String,
    remedy: String,
}

impl SourceError {
    /// Creates the error with its remedy, without a file.
    #[must_use]
    pub fn new(message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self(Box::new(SourceFault { path: None, line: None, message: message.into(), remedy: remedy.into() }))
    }

    /// Adds the path of the trace to the message of an error.
    #[must_use]
    pub fn in_file(mut self, path: &Path) -> Self {
        self.0.path = Some(path.to_path_buf());
        self
    }

    /// Adds the line, counted from one, to the error.
    #[must_use]
    pub fn at_line(mut self, line: u64) -> Self {
        self.0.line = Some(line);
        self
    }

    /// Returns the file that has the fault; `None` if the source is no file.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.0.path.as_deref()
    }

    /// The line of a text format, counted from one, if known.
    #[must_use]
    pub fn line(&self) -> Option<u64> {
        self.0.line
    }

    /// Returns a sentence that states the fault.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// A sentence that says how to correct the error.
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
