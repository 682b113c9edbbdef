//! PDUs of NVMe/TCP: headers, digests, a reader of a stream of bytes, a writer.
//!
//! All layouts are from "NVMe/TCP Transport Specification 1.0", section 3.6.2.

mod error;
mod header;
mod output;
mod reader;

pub use error::FatalError;
pub use output::Output;

pub(crate) use error::fatal;
pub(crate) use header::{
    Header, InitializeRequest, InitializeResponse, LAST, SUCCESS, TermRequest, encode_command, encode_data,
    encode_response, kind,
};
pub(crate) use reader::{Reader, Role, StreamPart};

/// Bytes of a digest: CRC32C, in the byte order of RFC 3385.
pub(crate) const DIGEST: usize = 4;

/// Which digests a connection has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Digests {
    /// Headers are followed by a digest (HDGST).
    pub header: bool,
    /// Data are followed by a digest (DDGST).
    pub data: bool,
}

impl Digests {
    pub(crate) const fn header_bytes(self) -> usize {
        if self.header { DIGEST } else { 0 }
    }

    pub(crate) const fn data_bytes(self) -> usize {
        if self.data { DIGEST } else { 0 }
    }
}
