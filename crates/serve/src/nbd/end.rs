//! The reasons for which a connection ends.

use std::fmt;

/// The reason for which a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The client disconnected in order: outstanding requests are answered before the connection is closed.
    Finished,
    /// The client asked for an unknown export by the option EXPORT_NAME, which has no error reply.
    NoExport,
    /// The client asked for an export by EXPORT_NAME without TLS, and the server demands TLS.
    NoTls,
    /// The client sent plain bytes behind its request for TLS, before it had the answer.
    PlainBehindTls,
    /// The client sent bytes that break the protocol.
    Garbage,
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Finished => "the client is done",
            Self::NoExport => "the client asked for an export that is not there",
            Self::NoTls => "the client asked for an export without TLS",
            Self::PlainBehindTls => "the client asked for TLS and went on in plain",
            Self::Garbage => "the client does not speak NBD",
        })
    }
}
