//! Counters of the requests that a host sends to several drives as one, or to a layer above a drive.

use base::io::{Io, IoKind};

use crate::{Counters, Status};

/// The host's requests that a layer above drives counts. The drives below count the requests of the layer.
#[derive(Clone, Debug, Default)]
pub struct HostCounts {
    requests: [u64; IoKind::COUNT],
    sectors: [u64; IoKind::COUNT],
    failed: [u64; IoKind::COUNT],
    host_slots: u64,
    refused_slots: u64,
    read_slots: u64,
}

impl HostCounts {
    /// Counts a request that has ended. `unit` is the number of sectors of a mapping unit.
    pub fn count(&mut self, io: Io, status: Status, unit: u64) {
        let slots = io.end().get().div_ceil(unit) - io.start.get() / unit;
        if status == Status::Done {
            self.requests[io.kind as usize] += 1;
            self.sectors[io.kind as usize] += io.sectors.get();
        } else {
            self.failed[io.kind as usize] += 1;
        }
        match io.kind {
            IoKind::Read => self.read_slots += slots,
            IoKind::Write => {
                self.host_slots += slots;
                self.refused_slots += if status == Status::Done { 0 } else { slots };
            }
            _ => {}
        }
    }

    /// Copies the counters of the drives, with the host's requests in place of the layer's.
    #[must_use]
    pub fn above(&self, drives: Counters) -> Counters {
        Counters {
            requests: self.requests,
            sectors: self.sectors,
            failed: self.failed,
            host_slots: self.host_slots,
            refused_slots: self.refused_slots,
            read_slots: self.read_slots,
            ..drives
        }
    }
}
