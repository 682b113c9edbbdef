//! The thread that writes a recording, so that the drive waits for no disk.

use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;

use study::output::{AppendFile, Kind, OutFile, OutputError, Outputs};
use workload::trace::{RecordedRequest, TraceWriter};

use super::rows::{RequestCollector, RequestEnd, RequestRow};

/// The file that records the requests of a drive.
#[derive(Clone, Debug)]
pub struct RecordingTarget {
    /// The path of the Parquet file that the recording becomes.
    pub path: PathBuf,
    /// True if the recording may replace a file that Flashloom did not write.
    pub force: bool,
    /// Files that the recording must not replace: the inputs of the command.
    pub inputs: Vec<PathBuf>,
}

/// The result of a recording that was written completely.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    /// The path of the file, which does not exist if there was no request.
    pub path: PathBuf,
    /// The number of requests in the file.
    pub requests: u64,
    /// Notes about replaced files.
    pub notes: Vec<String>,
}

/// A recording under way.
pub(crate) struct Writer {
    thread: JoinHandle<Result<Recording, OutputError>>,
}

impl RecordingTarget {
    /// Checks that the file can be written, before anything is simulated.
    ///
    /// # Errors
    /// If it cannot be written, is an input, or is a file that Flashloom did not write.
    pub(crate) fn open(&self) -> Result<OutFile, OutputError> {
        Outputs::new(&self.inputs, self.force).file("--record", &self.path, Kind::Trace)
    }
}

impl Writer {
    /// Starts the thread that writes the groups of the record into the file.
    pub(crate) fn start(file: OutFile) -> Result<(Self, RequestCollector), OutputError> {
        let recording = Recording { path: file.path().to_owned(), requests: 0, notes: Vec::new() };
        let mut growing = file.growing()?;
        let trace = TraceWriter::new().map_err(|error| growing.failed(&error))?;
        let (to, groups) = channel();
        let refused = growing.failed(&io::Error::other("the system gives no thread for it"));
        let thread = std::thread::Builder::new().name("record".to_owned());
        let thread = thread.spawn(move || write(&groups, trace, &mut growing, recording)).map_err(|_| refused)?;
        Ok((Self { thread }, RequestCollector::new(to)))
    }

    /// Waits until all groups are written. The record must be dropped before.
    pub(crate) fn finish(self) -> Result<Recording, OutputError> {
        match self.thread.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

fn write(
    groups: &Receiver<Vec<RequestRow>>,
    mut trace: TraceWriter,
    growing: &mut AppendFile,
    mut recording: Recording,
) -> Result<Recording, OutputError> {
    for rows in groups {
        let rows: Vec<_> = rows.into_iter().map(recorded).collect();
        let bytes = trace.group(&rows).and_then(|piece| Ok((piece, trace.end()?)));
        let (piece, end) = bytes.map_err(|error| growing.failed(&error))?;
        recording.notes.extend(growing.grow(&piece, &end)?);
        recording.requests += rows.len() as u64;
    }
    Ok(recording)
}

fn recorded(row: RequestRow) -> RecordedRequest {
    let RequestRow { at, io, queue, ended } = row;
    let queue = queue.get();
    match ended {
        RequestEnd::At(end, status) => RecordedRequest { at, io, end, status: status.name(), queue },
        RequestEnd::Lost => RecordedRequest { at, io, end: at, status: "lost", queue },
    }
}
