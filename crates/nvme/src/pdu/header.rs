//! The headers of PDUs.

use super::{DIGEST, Digests, FatalError};
use crate::entry::{CompletionEntry, SubmissionEntry};
use crate::layout::{Field, bytes_of, layout};

/// Types of PDUs (NVMe/TCP 1.0, figure 10).
pub(crate) mod kind {
    pub(crate) const INITIALIZE_REQUEST: u8 = 0x00;
    pub(crate) const INITIALIZE_RESPONSE: u8 = 0x01;
    pub(crate) const HOST_TERM: u8 = 0x02;
    pub(crate) const CONTROLLER_TERM: u8 = 0x03;
    pub(crate) const COMMAND: u8 = 0x04;
    pub(crate) const RESPONSE: u8 = 0x05;
    pub(crate) const HOST_DATA: u8 = 0x06;
    pub(crate) const CONTROLLER_DATA: u8 = 0x07;
    pub(crate) const R2T: u8 = 0x09;
}

/// Flags of the common header.
pub(crate) const HEADER_DIGEST: u8 = 1 << 0;
pub(crate) const DATA_DIGEST: u8 = 1 << 1;
/// The last data PDU of a command or of an R2T.
pub(crate) const LAST: u8 = 1 << 2;
/// No response follows the data: the command succeeded.
pub(crate) const SUCCESS: u8 = 1 << 3;

layout! {
    /// The common header (NVMe/TCP 1.0, figure 19).
    struct Common [8] {
        0 kind: u8,
        1 flags: u8,
        /// Bytes of the header, without digest.
        2 header_length: u8,
        /// PDO: offset of the data from the start of the PDU.
        3 data_offset: u8,
        /// Bytes of the PDU with all digests.
        4 length: u32,
    }
}

layout! {
    /// ICReq (NVMe/TCP 1.0, figure 20).
    struct InitializeRequest [128] {
        0 common: Common,
        /// PFV: 0 for version 1.0.
        8 version: u16,
        /// HPDA: alignment of the data to the host, in dwords, less one.
        10 alignment: u8,
        /// Bit 0: header digest. Bit 1: data digest.
        11 digests: u8,
        /// R2Ts that may be outstanding for a command, less one.
        12 max_r2t: u32,
    }
}

layout! {
    /// ICResp (NVMe/TCP 1.0, figure 21).
    struct InitializeResponse [128] {
        0 common: Common,
        8 version: u16,
        /// CPDA: alignment of the data to the controller, in dwords, less one.
        10 alignment: u8,
        11 digests: u8,
        /// The most bytes of data of an H2CData PDU.
        12 max_data: u32,
    }
}

layout! {
    /// H2CTermReq and C2HTermReq (NVMe/TCP 1.0, figures 22 and 23). The header of the PDU at fault follows.
    struct TermRequest [24] {
        0 common: Common,
        8 status: u16,
        10 information: u32,
    }
}

layout! {
    /// H2CData, C2HData and R2T (NVMe/TCP 1.0, figures 26 to 28).
    struct DataHeader [24] {
        0 common: Common,
        8 command_id: u16,
        /// The transfer tag; not used in C2HData.
        10 tag: u16,
        /// Offset in the command's data.
        12 offset: u32,
        16 length: u32,
    }
}

/// Bytes of the header of a CapsuleCmd: the common header and the submission queue entry.
const COMMAND_HEADER: usize = Common::SIZE + SubmissionEntry::SIZE;
/// Bytes of the header of a CapsuleResp.
const RESPONSE_HEADER: usize = Common::SIZE + CompletionEntry::SIZE;

/// The most bytes of the header that a termination request repeats (NVMe/TCP 1.0, section 3.5).
pub(crate) const TERM_DATA: usize = 128;

/// A decoded header, without the lengths and offsets that only delimit the PDU in the stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Header {
    InitializeRequest(InitializeRequest),
    InitializeResponse(InitializeResponse),
    /// A termination request of either end.
    Term(FatalError),
    Command(SubmissionEntry),
    Response(CompletionEntry),
    Data {
        command_id: u16,
        tag: u16,
        offset: u32,
        length: u32,
        last: bool,
        success: bool,
    },
    R2t {
        command_id: u16,
        tag: u16,
        offset: u32,
        length: u32,
    },
}

/// The bytes of a header's parts, as its common header has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sizes {
    /// The header without digest.
    pub(crate) header: usize,
    /// From the start of the PDU to its data.
    pub(crate) data_offset: usize,
    /// The data, without digest.
    pub(crate) data: usize,
}

/// The length of the header of each type; none for a type that does not exist.
pub(crate) const fn header_length(kind: u8) -> Option<usize> {
    match kind {
        kind::INITIALIZE_REQUEST => Some(InitializeRequest::SIZE),
        kind::INITIALIZE_RESPONSE => Some(InitializeResponse::SIZE),
        kind::HOST_TERM | kind::CONTROLLER_TERM => Some(TermRequest::SIZE),
        kind::COMMAND => Some(COMMAND_HEADER),
        kind::RESPONSE => Some(RESPONSE_HEADER),
        kind::HOST_DATA | kind::CONTROLLER_DATA | kind::R2T => Some(DataHeader::SIZE),
        _ => None,
    }
}

impl Header {
    /// Decodes a header whose length is right for its type.
    pub(crate) fn load(bytes: &[u8]) -> Self {
        let common = Common::load(&bytes[..Common::SIZE]);
        match common.kind {
            kind::INITIALIZE_REQUEST => Self::InitializeRequest(Field::load(bytes)),
            kind::INITIALIZE_RESPONSE => Self::InitializeResponse(Field::load(bytes)),
            kind::HOST_TERM | kind::CONTROLLER_TERM => {
                let TermRequest { status, information, .. } = Field::load(bytes);
                Self::Term(FatalError { status, information })
            }
            kind::COMMAND => {
                let entry = bytes[Common::SIZE..].try_into().expect("the length of the header was checked");
                Self::Command(SubmissionEntry::from_bytes(entry))
            }
            kind::RESPONSE => {
                let entry = bytes[Common::SIZE..].try_into().expect("the length of the header was checked");
                Self::Response(CompletionEntry::from_bytes(entry))
            }
            _ => {
                let DataHeader { command_id, tag, offset, length, .. } = Field::load(bytes);
                if common.kind == kind::R2T {
                    return Self::R2t { command_id, tag, offset, length };
                }
                let (last, success) = (common.flags & LAST != 0, common.flags & SUCCESS != 0);
                Self::Data { command_id, tag, offset, length, last, success }
            }
        }
    }
}

/// The offset of data behind a header, aligned as the receiver asks (`alignment` is HPDA or CPDA).
fn data_offset(header: usize, digests: Digests, alignment: u8) -> usize {
    (header + digests.header_bytes()).next_multiple_of((usize::from(alignment) + 1) * 4)
}

/// Completes the common header of `pdu`, which is a header with zeros in place of its common header, and adds its digest.
/// If data follow, the bytes end where they begin.
fn finish(mut pdu: Vec<u8>, kind: u8, flags: u8, data: usize, digests: Digests, alignment: u8) -> Vec<u8> {
    let header = pdu.len();
    let data_offset = if data > 0 { data_offset(header, digests, alignment) } else { 0 };
    let mut flags = flags;
    let mut length = header + digests.header_bytes();
    if digests.header {
        flags |= HEADER_DIGEST;
    }
    if data > 0 {
        length = data_offset + data + digests.data_bytes();
        if digests.data {
            flags |= DATA_DIGEST;
        }
    }
    let common = Common {
        kind,
        flags,
        header_length: header as u8,
        data_offset: data_offset as u8,
        length: u32::try_from(length).expect("a PDU is shorter than 4 GiB"),
    };
    common.store(&mut pdu[..Common::SIZE]);
    if digests.header {
        let digest = crc32c::crc32c(&pdu);
        pdu.extend(digest.to_le_bytes());
    }
    if data > 0 {
        pdu.resize(data_offset, 0);
    }
    pdu
}

impl InitializeRequest {
    pub(crate) fn encode(&self) -> Vec<u8> {
        finish(bytes_of(self), kind::INITIALIZE_REQUEST, 0, 0, Digests::default(), 0)
    }
}

impl InitializeResponse {
    pub(crate) fn encode(&self) -> Vec<u8> {
        finish(bytes_of(self), kind::INITIALIZE_RESPONSE, 0, 0, Digests::default(), 0)
    }
}

impl TermRequest {
    /// A termination request, with the header of the PDU at fault. It has no digests.
    pub(crate) fn encode(kind: u8, error: FatalError, header: &[u8]) -> Vec<u8> {
        let term = Self { status: error.status, information: error.information, ..Self::default() };
        let header = &header[..header.len().min(TERM_DATA)];
        let mut pdu = finish(bytes_of(&term), kind, 0, header.len(), Digests::default(), 0);
        // The header at fault is no data with an offset of its own.
        pdu[3] = 0;
        pdu.extend(header);
        pdu
    }
}

/// The header of a command capsule; `data` bytes follow.
pub(crate) fn encode_command(entry: &SubmissionEntry, data: usize, digests: Digests, alignment: u8) -> Vec<u8> {
    let mut pdu = vec![0; Common::SIZE];
    pdu.extend(entry.to_bytes());
    finish(pdu, kind::COMMAND, 0, data, digests, alignment)
}

/// A response capsule, with its digest if headers have digests.
pub(crate) fn encode_response(entry: CompletionEntry, digests: Digests) -> Vec<u8> {
    let mut pdu = vec![0; Common::SIZE];
    pdu.extend(entry.to_bytes());
    finish(pdu, kind::RESPONSE, 0, 0, digests, 0)
}

/// The header of H2CData or C2HData, which `length` bytes follow, or an R2T for this many bytes.
pub(crate) fn encode_data(
    kind: u8,
    flags: u8,
    (command_id, tag): (u16, u16),
    (offset, length): (u32, u32),
    (digests, alignment): (Digests, u8),
) -> Vec<u8> {
    let header = DataHeader { command_id, tag, offset, length, ..DataHeader::default() };
    let data = if kind == kind::R2T { 0 } else { length as usize };
    finish(bytes_of(&header), kind, flags, data, digests, alignment)
}

/// Checks the common header of a PDU whose header and digest have arrived.
///
/// # Errors
/// The first field that is wrong, by its offset.
pub(crate) fn check(header: &[u8], digests: Digests, alignment: u8) -> Result<Sizes, FatalError> {
    let Common { kind, flags, data_offset, length, .. } = Common::load(&header[..Common::SIZE]);
    let plain =
        matches!(kind, kind::INITIALIZE_REQUEST | kind::INITIALIZE_RESPONSE | kind::HOST_TERM | kind::CONTROLLER_TERM);
    let digests = if plain { Digests::default() } else { digests };
    let (header_end, length) = (header.len() + digests.header_bytes(), length as usize);
    if (flags & HEADER_DIGEST != 0) != digests.header {
        return Err(FatalError::field(1));
    }
    let has_data = match kind {
        kind::COMMAND => length > header_end,
        kind::HOST_DATA | kind::CONTROLLER_DATA => true,
        kind::HOST_TERM | kind::CONTROLLER_TERM => {
            let data = length.checked_sub(header_end).filter(|data| *data <= TERM_DATA).ok_or(FatalError::field(4))?;
            return Ok(Sizes { header: header.len(), data_offset: header_end, data });
        }
        _ => false,
    };
    if !has_data {
        let sizes = Sizes { header: header.len(), data_offset: header_end, data: 0 };
        return if length == header_end { Ok(sizes) } else { Err(FatalError::field(4)) };
    }
    if (flags & DATA_DIGEST != 0) != digests.data {
        return Err(FatalError::field(1));
    }
    let data_offset = usize::from(data_offset);
    if data_offset < header_end || !data_offset.is_multiple_of((usize::from(alignment) + 1) * 4) {
        return Err(FatalError::field(3));
    }
    let data = length.checked_sub(data_offset + if digests.data { DIGEST } else { 0 });
    let data = data.filter(|data| *data > 0).ok_or(FatalError::field(4))?;
    if matches!(kind, kind::HOST_DATA | kind::CONTROLLER_DATA) {
        let stated: DataHeader = Field::load(header);
        if stated.length as usize != data {
            return Err(FatalError::field(16));
        }
    }
    Ok(Sizes { header: header.len(), data_offset, data })
}
