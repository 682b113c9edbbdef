//! The completion queue entry (NVMe base 2.0, section 3.3.3.2).

use crate::layout::{Field, layout};
use crate::status::Status;

layout! {
    /// NVMe base 2.0, section 3.3.3.2. NVMe over Fabrics does not use the submission queue identifier and the phase tag.
    struct CompletionFields [16] {
        0 result: u64,
        8 head: u16,
        12 command_id: u16,
        14 status: u16,
    }
}

/// A completion queue entry: 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompletionEntry {
    /// The identifier of the command that has ended.
    pub command_id: u16,
    /// The status, with its flags.
    pub status: Status,
    /// Dwords 0 and 1.
    pub result: u64,
    /// The head of the submission queue: the host may use the entries before it again.
    pub head: u16,
}

impl CompletionEntry {
    /// Bytes of an entry.
    pub const SIZE: usize = 16;

    /// The entry in these bytes.
    #[must_use]
    pub fn from_bytes(bytes: &[u8; Self::SIZE]) -> Self {
        let CompletionFields { result, head, command_id, status } = CompletionFields::load(bytes);
        Self { command_id, status: Status::from_field(status), result, head }
    }

    /// The bytes of the entry, as they are sent.
    #[must_use]
    pub fn to_bytes(self) -> [u8; Self::SIZE] {
        let Self { command_id, status, result, head } = self;
        let mut bytes = [0; Self::SIZE];
        CompletionFields { result, head, command_id, status: status.field() }.store(&mut bytes);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::CompletionEntry;
    use crate::status::Status;

    #[test]
    fn fields_are_where_the_specification_has_them() {
        let entry = CompletionEntry {
            command_id: 0x0102,
            status: Status::LBA_OUT_OF_RANGE.do_not_retry(),
            result: 0x0807_0605_0403_0201,
            head: 0x0a0b,
        };
        let bytes = entry.to_bytes();
        assert_eq!(bytes, [1, 2, 3, 4, 5, 6, 7, 8, 0x0b, 0x0a, 0, 0, 2, 1, 0x00, 0x81]);
        assert_eq!(CompletionEntry::from_bytes(&bytes), entry);
    }
}
