//! Fatal errors of a connection (NVMe/TCP 1.0, section 3.5, figures 22 and 23).

use std::fmt;

/// Values of the Fatal Error Status (FES).
pub(crate) mod fatal {
    pub(crate) const INVALID_HEADER_FIELD: u16 = 1;
    pub(crate) const SEQUENCE: u16 = 2;
    pub(crate) const HEADER_DIGEST: u16 = 3;
    pub(crate) const DATA_OUT_OF_RANGE: u16 = 4;
    /// To a host: the data transfer limit is exceeded. To a controller: the limit of R2Ts is exceeded.
    pub(crate) const LIMIT_EXCEEDED: u16 = 5;
    pub(crate) const UNSUPPORTED_PARAMETER: u16 = 6;
}

/// An error after which the connection cannot go on. The end that found the error sends a termination request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FatalError {
    /// FES: the kind of the error.
    pub(crate) status: u16,
    /// FEI: the offset of the field in the header, or the digest that was received.
    pub(crate) information: u32,
}

impl FatalError {
    /// A field of a header is wrong; its offset.
    pub(crate) const fn field(offset: u32) -> Self {
        Self { status: fatal::INVALID_HEADER_FIELD, information: offset }
    }

    /// A parameter is not supported; its offset.
    pub(crate) const fn parameter(offset: u32) -> Self {
        Self { status: fatal::UNSUPPORTED_PARAMETER, information: offset }
    }

    /// An error without further information.
    pub(crate) const fn of(status: u16) -> Self {
        Self { status, information: 0 }
    }

    /// FES: the reason for which the connection ends (NVMe/TCP 1.0, Fatal Error Status).
    #[must_use]
    pub const fn status(self) -> u16 {
        self.status
    }

    /// The Fatal Error Information: the offset of the wrong field in the header, or the digest that was received.
    #[must_use]
    pub const fn information(self) -> u32 {
        self.information
    }
}

impl fmt::Display for FatalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let information = self.information;
        match self.status {
            fatal::INVALID_HEADER_FIELD => write!(f, "byte {information} of a PDU's header is wrong"),
            fatal::SEQUENCE => f.write_str("a PDU is out of sequence"),
            fatal::HEADER_DIGEST => write!(f, "the header digest {information:#010x} does not match the header"),
            fatal::DATA_OUT_OF_RANGE => f.write_str("data are outside of their range"),
            fatal::LIMIT_EXCEEDED => f.write_str("a limit is exceeded"),
            fatal::UNSUPPORTED_PARAMETER => {
                write!(f, "byte {information} of a PDU's header asks for what is not supported")
            }
            other => write!(f, "fatal error status {other}"),
        }
    }
}
