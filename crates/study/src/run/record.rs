//! Records and progress of a run.

use std::io;

use base::io::Io;
use base::units::{Span, Time};
use flash::backend::CauseSet;
use ssd::{QueueId, Status, Tag};

/// A completed request for a request log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// The request's tag: its number in order of submission, from zero.
    pub tag: Tag,
    /// The index of the request's flow.
    pub flow: u16,
    /// The queue to which the request was submitted.
    pub queue: QueueId,
    /// The kind and the extent of the request.
    pub io: Io,
    /// Success, or the reason of the failure.
    pub status: Status,
    /// The time of the request's submission.
    pub arrival: Time,
    /// The time at which the request left its queue.
    pub start: Time,
    /// The time of the request's completion.
    pub end: Time,
    /// The number of flash commands issued for the request before its acknowledgement.
    pub commands: u32,
    /// The longest wait of any of these commands for a controller or a die.
    pub flash_wait: Span,
    /// The causes of the commands that these commands waited behind.
    pub waited_for: CauseSet,
}

/// Receives a record of every request, in order of completion.
pub trait RequestLog {
    /// Takes one record.
    ///
    /// # Errors
    /// If the record cannot be kept; the run ends.
    fn record(&mut self, record: &Record) -> io::Result<()>;
}

impl RequestLog for Vec<Record> {
    fn record(&mut self, record: &Record) -> io::Result<()> {
        self.push(*record);
        Ok(())
    }
}

impl<L: RequestLog + ?Sized> RequestLog for &mut L {
    fn record(&mut self, record: &Record) -> io::Result<()> {
        (**self).record(record)
    }
}

/// The progress of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The number of completed requests.
    pub completed: u64,
    /// Simulated time since the run started.
    pub simulated: Span,
}
