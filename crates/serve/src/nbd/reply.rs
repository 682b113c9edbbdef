//! Replies to requests, simple and structured.

use std::fmt;

use super::wire::{ALLOCATION_ID, Put, SIMPLE_REPLY_MAGIC, STRUCTURED_REPLY_MAGIC, chunk, error, state};
use crate::{AllocatedExtent, Allocation, JobFailure};

/// The reason for which a request is refused before it reaches the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestRefusal {
    Unknown,
    Flags,
    Empty,
    Unaligned,
    TooLong,
    PastEnd { write: bool },
    Range,
    SlowZeroes,
    NoContext,
}

impl RequestRefusal {
    const fn code(self) -> u32 {
        match self {
            Self::PastEnd { write: true } => error::ENOSPC,
            Self::TooLong => error::EOVERFLOW,
            Self::SlowZeroes => error::ENOTSUP,
            _ => error::EINVAL,
        }
    }
}

impl fmt::Display for RequestRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unknown => "unknown command",
            Self::Flags => "a flag does not belong to the command",
            Self::Empty => "the range is empty",
            Self::Unaligned => "offset and length must be multiples of 512",
            Self::TooLong => "the request is longer than 32 MiB",
            Self::PastEnd { .. } => "the range ends behind the drive",
            Self::Range => "a flush has no range",
            Self::SlowZeroes => "zeros are no faster than data",
            Self::NoContext => "no metadata context was chosen",
        })
    }
}

/// The kind of a reply, which decides its data and its errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReplyKind {
    /// The reply carries the data.
    Read,
    /// The reply carries nothing; a range behind the end is "no space".
    Write,
    /// The reply carries nothing.
    Other,
}

/// Makes the reply to one request from the drive's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket {
    pub(super) cookie: u64,
    pub(super) offset: u64,
    pub(super) length: u32,
    pub(super) kind: ReplyKind,
    pub(super) structured: bool,
}

impl Ticket {
    /// Appends the reply to `out`, without the data of a read. The data are returned, and must be sent behind `out`.
    ///
    /// # Panics
    /// If the data of a read have another length than the request.
    #[must_use = "the data of a read belong behind the reply"]
    pub fn reply(&self, result: Result<Vec<u8>, JobFailure>, out: &mut Vec<u8>) -> Vec<u8> {
        match result {
            Err(failed) => {
                self.error(self.code(failed), &failed.to_string(), out);
                Vec::new()
            }
            Ok(data) if self.kind == ReplyKind::Read => {
                assert_eq!(data.len(), self.length as usize, "the drive returns what was asked for");
                if self.structured {
                    self.chunk(chunk::OFFSET_DATA, self.length + 8, out);
                    out.u64(self.offset);
                } else {
                    self.simple(0, out);
                }
                data
            }
            Ok(_) => {
                if self.structured {
                    self.chunk(chunk::NONE, 0, out);
                } else {
                    self.simple(0, out);
                }
                Vec::new()
            }
        }
    }

    const fn code(&self, failed: JobFailure) -> u32 {
        match failed {
            JobFailure::Drive(ssd::Status::Uncorrectable) => error::EIO,
            JobFailure::Drive(ssd::Status::ReadOnly) => error::EPERM,
            JobFailure::Drive(ssd::Status::OutOfRange) if matches!(self.kind, ReplyKind::Write) => error::ENOSPC,
            JobFailure::Drive(ssd::Status::OutOfRange) => error::EINVAL,
            JobFailure::NoPower => error::ESHUTDOWN,
            // Failures of zones, which NBD clients cannot cause.
            _ => error::EINVAL,
        }
    }

    pub(super) fn refuse(&self, refused: RequestRefusal, out: &mut Vec<u8>) {
        self.error(refused.code(), &refused.to_string(), out);
    }

    /// Appends the reply to BLOCK_STATUS to `out`.
    ///
    /// # Panics
    /// If there are no extents, or they exceed the requested range: each answer must make progress.
    pub fn reply_extents(&self, extents: Result<Vec<AllocatedExtent>, JobFailure>, out: &mut Vec<u8>) {
        let extents = match extents {
            Ok(extents) => extents,
            Err(failed) => return self.error(self.code(failed), &failed.to_string(), out),
        };
        let sum: u64 = extents.iter().map(|extent| extent.sectors.bytes().get()).sum();
        assert!(extents.iter().all(|extent| !extent.sectors.is_zero()), "an empty extent");
        assert!(sum > 0 && sum <= u64::from(self.length), "{sum} of {} bytes", self.length);
        self.chunk(chunk::BLOCK_STATUS, 4 + 8 * extents.len() as u32, out);
        out.u32(ALLOCATION_ID);
        for AllocatedExtent { sectors, allocation } in extents {
            out.u32(sectors.bytes().get() as u32);
            out.u32(match allocation {
                Allocation::Mapped => 0,
                Allocation::Deallocated => state::HOLE | state::ZERO,
            });
        }
    }

    fn error(&self, code: u32, message: &str, out: &mut Vec<u8>) {
        if self.structured {
            self.chunk(chunk::ERROR, 6 + message.len() as u32, out);
            out.u32(code);
            out.u16(message.len() as u16);
            out.extend(message.as_bytes());
        } else {
            self.simple(code, out);
        }
    }

    fn simple(&self, code: u32, out: &mut Vec<u8>) {
        out.u32(SIMPLE_REPLY_MAGIC);
        out.u32(code);
        out.u64(self.cookie);
    }

    /// The head of the only chunk of a reply.
    fn chunk(&self, kind: u16, length: u32, out: &mut Vec<u8>) {
        out.u32(STRUCTURED_REPLY_MAGIC);
        out.u16(chunk::DONE);
        out.u16(kind);
        out.u64(self.cookie);
        out.u32(length);
    }
}
