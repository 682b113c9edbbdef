//! The mount after a power cut: the reads that find the content of the zones.

use std::collections::VecDeque;

use base::io::{Io, IoKind};
use base::units::Sectors;
use flash::nand::Sector;
use ssd::{Ssd, ZoneState};

use crate::log::{Log, Usage};
use crate::streams::Streams;

/// The most units that a read of a mount asks for: ASSUMED, 1 MiB with units of 4 KiB.
const MOST_UNITS: u32 = 256;

/// A mount whose reads have not ended.
#[derive(Clone, Debug)]
pub(crate) struct Mount {
    reads: VecDeque<Io>,
    under_way: u32,
}

impl Mount {
    /// Takes the drive's report of its zones, and lists the reads: the summary of a zone that has one, all data of any
    /// other zone.
    pub(crate) fn new<S: Sector, T>(
        log: &mut Log,
        streams: &mut Streams<T>,
        drive: &Ssd<S>,
        takes_newest: bool,
    ) -> Self {
        let shape = *log.shape();
        let mut reads = VecDeque::new();
        for zone in 0..shape.zones.zones {
            let report = drive.zone_report(log.start(zone)).expect("a drive with zones");
            let written = report.write_pointer.get() - zone * shape.zones.size;
            let usage = match report.state {
                ZoneState::Empty => Usage::Free,
                ZoneState::Offline => Usage::Failed,
                _ if written == 0 && !report.state.is_active() => Usage::Failed,
                ZoneState::Full | ZoneState::ReadOnly => Usage::Full,
                _ if written < shape.data => Usage::Open,
                _ => Usage::Full,
            };
            log.found(zone, usage, written);
            let of_log = log.zone_mut(zone);
            of_log.has_failed = report.state == ZoneState::ReadOnly;
            of_log.has_summary = report.state == ZoneState::Full;
            if report.state.is_active() {
                streams.found(zone, usage == Usage::Open);
            }
            let (from, to) = match usage {
                Usage::Free | Usage::Failed => (0, 0),
                Usage::Full if report.state == ZoneState::Full => (shape.data, shape.zones.capacity),
                _ => (0, written),
            };
            for first in (from..to).step_by(MOST_UNITS as usize) {
                let units = u64::from(MOST_UNITS.min(to - first));
                reads.push_back(Io::new(IoKind::Read, log.sector(zone, first), Sectors::new(units * log.unit())));
            }
        }
        log.rebuild(takes_newest);
        Self { reads, under_way: 0 }
    }

    /// The next read to begin.
    pub(crate) fn next(&mut self) -> Option<Io> {
        let read = self.reads.pop_front()?;
        self.under_way += 1;
        Some(read)
    }

    pub(crate) const fn end_read(&mut self) {
        self.under_way -= 1;
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.reads.is_empty() && self.under_way == 0
    }
}
