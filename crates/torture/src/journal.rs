//! The journal of a recorded run: all client requests with their content, all requests that the drive was given, and all answers,
//! in the order of events.
//!
//! The file only grows. It begins with the device, so it is read without other files. Each record has a checksum. If the recording
//! program died, the last record is missing or incomplete: the complete records before it are used.
//!
//! The journal has both sides. Requests of clients and their answers give the promises; requests to the drive give its events. So a
//! replay does not know how a server makes requests of the drive, and a drive that lies is a replay without some of the requests. No
//! event lies between two requests of one time: the recording delays the second by a picosecond.

mod frame;
mod read;

use std::fmt;
use std::io;

use base::io::IoKind;
use base::units::{Lba, Sectors, Time};

pub use frame::MAGIC;
pub(crate) use frame::{FOOT, RecordKind, VERSION, put};

/// The header of a journal: everything that determines the drive before the first request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalHeader {
    /// The resolved description of the device, as TOML.
    pub device: String,
    /// The seed of the drive.
    pub seed: u64,
    /// The steps of preconditioning, in the form of `--precondition`.
    pub precondition: Vec<String>,
}

/// The kind of a client's request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestKind {
    /// Reads the extent, without a promise.
    Read,
    /// Writes the extent; with forced unit access the answer promises that the data is durable.
    Write {
        /// Forced unit access: the answer promises that the data is durable.
        fua: bool,
    },
    /// Makes durable every write that was answered before.
    Flush,
    /// Discards the extent, without a promise.
    Discard,
    /// Writes zeros to the extent.
    WriteZeroes {
        /// Forced unit access: the answer promises that the zeros are durable.
        fua: bool,
    },
}

impl RequestKind {
    /// All kinds. The journal stores the index in this list.
    const ALL: [Self; 7] = [
        Self::Read,
        Self::Write { fua: false },
        Self::Write { fua: true },
        Self::Flush,
        Self::Discard,
        Self::WriteZeroes { fua: false },
        Self::WriteZeroes { fua: true },
    ];

    /// True if the request gives sectors a content.
    #[must_use]
    pub const fn writes(self) -> bool {
        matches!(self, Self::Write { .. } | Self::WriteZeroes { .. })
    }

    /// True if the answer promises that the request's own data is durable.
    #[must_use]
    pub const fn is_fua(self) -> bool {
        matches!(self, Self::Write { fua: true } | Self::WriteZeroes { fua: true })
    }

    /// The number of the kind in a journal.
    pub(crate) fn number(self) -> u64 {
        Self::ALL.iter().position(|kind| *kind == self).unwrap_or_default() as u64
    }

    /// Bytes of content that a request of `sectors` sectors brings.
    pub(crate) const fn content(self, sectors: Sectors) -> u64 {
        if let Self::Write { .. } = self { sectors.bytes().get() } else { 0 }
    }
}

impl fmt::Display for RequestKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Write { fua: false } => "write",
            Self::Write { fua: true } => "FUA write",
            Self::Flush => "flush",
            Self::Discard => "discard",
            Self::WriteZeroes { fua: false } => "write of zeros",
            Self::WriteZeroes { fua: true } => "FUA write of zeros",
        })
    }
}

/// A request of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientRequest {
    /// The simulated time at which the request arrived.
    pub at: Time,
    /// The kind of the request.
    pub kind: RequestKind,
    /// The first sector; zero for a flush.
    pub start: Lba,
    /// The number of sectors; zero for a flush.
    pub sectors: Sectors,
    /// The offset of the request's content in the file.
    pub content: u64,
    /// The index of the request's record.
    pub position: u32,
    /// The answer; `None` if the journal ends before it.
    pub answered: Option<ClientAnswer>,
}

impl ClientRequest {
    /// The first sector behind the extent.
    #[must_use]
    pub fn end(&self) -> Lba {
        self.start + self.sectors
    }
}

/// The answer to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientAnswer {
    /// The time at which the drive completed it.
    pub at: Time,
    /// The index of the answer's record.
    pub position: u32,
    /// False if the request failed, and so promises nothing.
    pub good: bool,
}

/// A request that the drive was given: a client's request, a part of one, or the flush behind a write with forced unit access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DriveRequest {
    /// The number of the client's request to which it belongs.
    pub of: u32,
    /// The kind of the drive's request.
    pub kind: IoKind,
    /// The first sector; zero for a flush.
    pub start: Lba,
    /// The number of sectors; zero for a flush.
    pub sectors: Sectors,
}

/// The end of a run that was recorded as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunEnd {
    /// The simulated time of the last event.
    pub at: Time,
    /// The hash of the drive's events.
    pub hash: u64,
    /// The number of the drive's events.
    pub events: u64,
}

/// A record, without the data that [`Journal`] has in its other lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JournalEvent {
    /// A client asked for this request.
    Asked(u32),
    /// The drive was given the request with this index in [`Journal::submissions`].
    Submitted(u32),
    /// The request with this number was answered.
    Answered(u32),
    /// The workload printed the line with this index in [`Journal::lines`].
    Said(u32),
}

/// A journal without the content of its writes, which stays in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Journal {
    /// The device, the seed and the preconditioning.
    pub header: JournalHeader,
    /// The requests of the clients.
    pub requests: Vec<ClientRequest>,
    /// The requests that the drive was given.
    pub submissions: Vec<DriveRequest>,
    /// The lines that the workload printed.
    pub lines: Vec<String>,
    /// All records in order, each with its time.
    pub(crate) events: Vec<(Time, JournalEvent)>,
    /// The end of the run; `None` if the journal was cut short.
    pub end: Option<RunEnd>,
}

impl Journal {
    /// The simulated time of the last record.
    #[must_use]
    pub fn last(&self) -> Time {
        let last = self.events.last().map_or(Time::ZERO, |(at, _)| *at);
        self.end.map_or(last, |end| end.at)
    }

    /// The number of records between the beginning and the end.
    #[must_use]
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// True if no request was recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }
}

/// The reason for which a journal cannot be read.
#[derive(Debug)]
pub enum JournalError {
    /// The file cannot be read.
    Io(io::Error),
    /// The file is no journal.
    Foreign,
    /// Another version of this program wrote it.
    Version(u32),
    /// The file was changed.
    Damaged {
        /// The offset of the wrong record.
        offset: u64,
        /// The fault, in words.
        fault: &'static str,
    },
}

impl fmt::Display for JournalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(f, "cannot be read: {error}"),
            Self::Foreign => f.write_str("is not a journal; record one with `flashloom torture --journal`"),
            Self::Version(found) => {
                write!(f, "is a journal of version {found}, and this program knows {VERSION}; record it again")
            }
            Self::Damaged { offset, fault } => {
                write!(f, "is damaged: the record at byte {offset} {fault}; record it again")
            }
        }
    }
}

impl std::error::Error for JournalError {}

impl From<io::Error> for JournalError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}
