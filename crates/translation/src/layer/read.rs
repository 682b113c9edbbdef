//! Reads of the user, and reads of the rest of partly written units.

use base::io::{Io, IoKind};
use base::units::Sectors;
use flash::nand::Sector;
use ssd::Status;

use super::{OperationId, Translation};
use crate::operation::{OperationPhase, Piece};

impl<S: Sector> Translation<S> {
    /// Reads `sectors` sectors of the unit at a place, after the first `skipped`, into an operation's data from `at`
    /// on.
    pub(super) fn issue_read(&mut self, handle: OperationId<S>, place: u32, at: usize, (skipped, sectors): (u64, u64)) {
        let (zone, unit) = self.log.split(place);
        self.log.zone_mut(zone).reads += 1;
        let start = self.log.sector(zone, unit) + Sectors::new(skipped);
        let io = Io::new(IoKind::Read, start, Sectors::new(sectors));
        self.issue(handle, io, Piece { zone, at, sectors });
    }

    /// Reads the sectors that the user asked for, with one request for each run of adjacent units.
    pub(super) fn read(&mut self, handle: OperationId<S>) {
        let io = self.operations[handle].completion.io;
        self.operations[handle].phase = OperationPhase::Reading;
        self.operations[handle].completion.data = vec![S::default(); io.sectors.get() as usize];
        for run in self.log.runs(io.start.get()..io.end().get()) {
            match run.place {
                None => self.counts.unmapped += 1,
                Some(place) if self.log.is_lost(place) => {
                    self.operations[handle].completion.status = Status::Uncorrectable
                }
                Some(place) => self.issue_read(handle, place, run.at, (run.skipped, run.sectors)),
            }
        }
        self.end_phase(handle);
    }

    /// Reads the sectors of the first and the last unit that a write leaves out.
    pub(super) fn read_rest(&mut self, handle: OperationId<S>) {
        let unit = self.log.unit();
        let operation = &mut self.operations[handle];
        let (start, end) = (operation.completion.io.start.get(), operation.completion.io.end().get());
        let (first, last) = (start / unit, end.div_ceil(unit));
        let mut data = vec![S::default(); ((last - first) * unit) as usize];
        let skipped = (start - first * unit) as usize;
        data[skipped..skipped + operation.completion.data.len()].copy_from_slice(&operation.completion.data);
        (operation.completion.data, operation.phase) = (data, OperationPhase::Reading);
        for (of, skipped, sectors) in self.log.rests(start, end) {
            let Some(place) = self.log.place_of(of as u32) else { continue };
            if self.log.is_lost(place) {
                self.operations[handle].completion.status = Status::Uncorrectable;
                continue;
            }
            self.counts.own.rest_reads += 1;
            self.issue_read(handle, place, ((of - first) * unit + skipped) as usize, (skipped, sectors));
        }
        self.end_phase(handle);
    }
}
