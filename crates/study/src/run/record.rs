//! What is told of a run under way.

use std::io;

use base::io::Io;
use base::units::{Span, Time};
use flash::backend::CauseSet;
use ssd::{QueueId, Status, Tag};

/// A finished request, as a request log takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// The request's number, counted from zero in the order of submission.
    pub tag: Tag,
    /// Its flow, in the order in which they were given.
    pub flow: u16,
    /// The queue it was submitted to.
    pub queue: QueueId,
    /// What was asked.
    pub io: Io,
    /// How it ended.
    pub status: Status,
    /// When it was submitted.
    pub arrival: Time,
    /// When it left its queue.
    pub start: Time,
    /// When it ended.
    pub end: Time,
    /// Flash commands issued on its behalf before it was acknowledged.
    pub commands: u32,
    /// The longest that any of them waited for a unit or a die.
    pub flash_wait: Span,
    /// The causes of the commands it waited behind.
    pub waited_for: CauseSet,
}

/// Takes a record of every request, in the order of their completion.
pub trait RequestLog {
    /// Takes one record.
    ///
    /// # Errors
    /// If it cannot be kept; the run ends.
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

/// How far a run has got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Requests completed.
    pub completed: u64,
    /// Simulated time since the run started.
    pub simulated: Span,
}
