//! The time and the bytes of a transfer on a channel.

use base::units::{Bytes, Span};

/// The time and the bytes of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TransferLoad {
    pub(super) time: Span,
    pub(super) bytes: Bytes,
}
