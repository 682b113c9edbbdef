//! How much RAM tables take in a real drive.

/// Bytes of a map entry.
pub(crate) const ENTRY: u64 = 4;
