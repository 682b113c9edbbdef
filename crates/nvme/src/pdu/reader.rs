//! Reads PDUs from a stream of bytes that arrives in any pieces. Headers are taken whole, data as they come, so the reader keeps
//! no bytes.

use super::header::{Header, Sizes, check, header_length, kind};
use super::{DIGEST, Digests, FatalError, fatal};

/// Which end reads: it decides which PDUs may come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Controller,
    Host,
}

impl Role {
    const fn takes(self, kind: u8) -> bool {
        match self {
            Self::Controller => {
                matches!(kind, kind::INITIALIZE_REQUEST | kind::HOST_TERM | kind::COMMAND | kind::HOST_DATA)
            }
            Self::Host => matches!(
                kind,
                kind::INITIALIZE_RESPONSE | kind::CONTROLLER_TERM | kind::RESPONSE | kind::CONTROLLER_DATA | kind::R2T
            ),
        }
    }
}

/// The next part of the stream, at the front of the input.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum StreamPart<'a> {
    /// More bytes are needed.
    Incomplete,
    /// A header, its bytes without digest, and the number of bytes of `data` that follow.
    Header { taken: usize, header: Header, data: usize, bytes: &'a [u8] },
    /// Some of the data; at the `end` of the data if no digest follows.
    Data { data: &'a [u8], end: bool },
    /// The digest behind the data.
    Digest { matches: bool },
    /// An error, with the header at fault.
    Fatal { error: FatalError, header: &'a [u8] },
}

#[derive(Clone, Copy, Debug)]
enum ReaderPhase {
    Header,
    /// `left` bytes of data are to come; `checksum` is the checksum of the data before; `digest` says whether a digest
    /// follows.
    Data {
        left: usize,
        checksum: u32,
        digest: bool,
    },
}

#[derive(Debug)]
pub(crate) struct Reader {
    role: Role,
    digests: Digests,
    /// CPDA or HPDA, as this end has said.
    alignment: u8,
    phase: ReaderPhase,
}

impl Reader {
    pub(crate) const fn new(role: Role) -> Self {
        Self { role, digests: Digests { header: false, data: false }, alignment: 0, phase: ReaderPhase::Header }
    }

    /// Sets the digests and the alignment that both ends have agreed on, from the next PDU on.
    pub(crate) const fn agree(&mut self, digests: Digests, alignment: u8) {
        (self.digests, self.alignment) = (digests, alignment);
    }

    /// True if the header of a PDU comes next.
    pub(crate) const fn is_between(&self) -> bool {
        matches!(self.phase, ReaderPhase::Header)
    }

    pub(crate) fn step<'a>(&mut self, input: &'a [u8]) -> StreamPart<'a> {
        match self.phase {
            ReaderPhase::Header => self.header(input),
            ReaderPhase::Data { left: 0, checksum, .. } => {
                let Some(received) = input.first_chunk::<DIGEST>() else { return StreamPart::Incomplete };
                self.phase = ReaderPhase::Header;
                StreamPart::Digest { matches: u32::from_le_bytes(*received) == checksum }
            }
            ReaderPhase::Data { .. } if input.is_empty() => StreamPart::Incomplete,
            ReaderPhase::Data { left, checksum, digest } => {
                let data = &input[..input.len().min(left)];
                let checksum = if digest { crc32c::crc32c_append(checksum, data) } else { 0 };
                let left = left - data.len();
                let end = left == 0 && !digest;
                self.phase = if end { ReaderPhase::Header } else { ReaderPhase::Data { left, checksum, digest } };
                StreamPart::Data { data, end }
            }
        }
    }

    fn header<'a>(&mut self, input: &'a [u8]) -> StreamPart<'a> {
        // Type and length of the header come first: they say where its digest is.
        let Some(common) = input.get(..8) else { return StreamPart::Incomplete };
        let Some(length) = header_length(common[0]).filter(|_| self.role.takes(common[0])) else {
            return StreamPart::Fatal { error: FatalError::field(0), header: common };
        };
        if usize::from(common[2]) != length {
            return StreamPart::Fatal { error: FatalError::field(2), header: common };
        }
        let Some(header) = input.get(..length) else { return StreamPart::Incomplete };
        let plain = matches!(
            common[0],
            kind::INITIALIZE_REQUEST | kind::INITIALIZE_RESPONSE | kind::HOST_TERM | kind::CONTROLLER_TERM
        );
        if self.digests.header && !plain {
            let Some(received) = input[length..].first_chunk::<DIGEST>() else { return StreamPart::Incomplete };
            let received = u32::from_le_bytes(*received);
            if received != crc32c::crc32c(header) {
                let error = FatalError { status: fatal::HEADER_DIGEST, information: received };
                return StreamPart::Fatal { error, header };
            }
        }
        let Sizes { data_offset, data, .. } = match check(header, self.digests, self.alignment) {
            Ok(sizes) => sizes,
            Err(error) => return StreamPart::Fatal { error, header },
        };
        if input.len() < data_offset {
            return StreamPart::Incomplete;
        }
        if data > 0 {
            self.phase = ReaderPhase::Data { left: data, checksum: 0, digest: self.digests.data && !plain };
        }
        StreamPart::Header { taken: data_offset, header: Header::load(header), data, bytes: header }
    }
}
