//! Why a connection ends.

use std::fmt;

/// Why a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The client is done: what is under way is finished and answered before the connection is closed.
    Finished,
    /// The client asked for an export that is not there, by the option that has no error reply.
    NoExport,
    /// The client asked for an export without TLS, by that option, and the server demands TLS.
    NoTls,
    /// The client asked for TLS and sent more in plain, before it had the answer.
    PlainBehindTls,
    /// The bytes are not NBD's.
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
