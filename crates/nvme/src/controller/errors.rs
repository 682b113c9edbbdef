//! The error log of a controller (NVMe base 2.0, section 5.16.1, log page 01h).

use std::collections::VecDeque;

use crate::layout::{bytes_of, layout};
use crate::status::Status;

/// Entries that are kept: ELPE is one less.
pub(crate) const ENTRIES: usize = 64;

layout! {
    /// An entry of log page 01h. The transport type (byte 29) stays 0: only errors of the transport have one, and these
    /// end the connection.
    struct ErrorLogEntry [64] {
        0 count: u64,
        8 queue: u16,
        10 command_id: u16,
        12 status: u16,
        /// Bits 7:0: byte, bits 10:8: bit of the wrong parameter; all ones if none is to blame.
        14 location: u16,
        16 lba: u64,
        24 namespace: u32,
        30 command_set: u8,
        31 opcode: u8,
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct CommandFailure {
    pub(crate) queue: u16,
    pub(crate) command_id: u16,
    pub(crate) status: Status,
    pub(crate) lba: u64,
    pub(crate) namespace: u32,
    pub(crate) command_set: u8,
    pub(crate) opcode: u8,
}

/// The latest failures, at most [`ENTRIES`].
#[derive(Debug, Default)]
pub(crate) struct ErrorLog {
    count: u64,
    latest: VecDeque<ErrorLogEntry>,
}

impl ErrorLog {
    pub(crate) fn note(&mut self, failure: CommandFailure) {
        let CommandFailure { queue, command_id, status, lba, namespace, command_set, opcode } = failure;
        self.count += 1;
        self.latest.truncate(ENTRIES - 1);
        self.latest.push_front(ErrorLogEntry {
            count: self.count,
            queue,
            command_id,
            status: status.field(),
            location: u16::MAX,
            lba,
            namespace,
            command_set,
            opcode,
        });
    }

    /// Failures in the controller's life.
    pub(crate) const fn count(&self) -> u64 {
        self.count
    }

    /// The log page: the latest failure first.
    pub(crate) fn page(&self) -> Vec<u8> {
        let mut page: Vec<u8> = self.latest.iter().flat_map(bytes_of).collect();
        page.resize(ENTRIES * 64, 0);
        page
    }
}

#[cfg(test)]
mod tests {
    use super::{CommandFailure, ENTRIES, ErrorLog};
    use crate::status::Status;

    #[test]
    fn the_latest_failures_are_kept() {
        let mut log = ErrorLog::default();
        for command_id in 0..100 {
            log.note(CommandFailure {
                queue: 3,
                command_id,
                status: Status::LBA_OUT_OF_RANGE,
                lba: 0x1234,
                namespace: 1,
                command_set: 2,
                opcode: 0x7d,
            });
        }
        let page = log.page();
        assert_eq!(page.len(), ENTRIES * 64);
        assert_eq!(log.count(), 100);
        assert_eq!(page[0], 100);
        assert_eq!(page[8..16], [3, 0, 99, 0, 0, 1, 0xff, 0xff]);
        assert_eq!(page[16..18], [0x34, 0x12]);
        assert_eq!(page[24..32], [1, 0, 0, 0, 0, 0, 2, 0x7d]);
        assert_eq!(page[63 * 64], 37);
    }
}
