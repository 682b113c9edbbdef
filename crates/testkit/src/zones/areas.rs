//! A model of one zone with a random write area, for a drive that carries out the requests to it in the order of their
//! submission.
//!
//! The model shares no code with the drive. The checks of many requests at once keep two models of a zone: one as its
//! completed requests have left it, and one as all submitted requests will leave it.

use base::engine::Rng;
use base::io::{Io, IoKind};
use base::units::{Lba, Sectors};
use ssd::{Status, ZoneReport, ZoneShape, ZoneState};

use super::stamp;

/// A zone and the sizes of its random write area, in sectors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AreaZone {
    begin: u64,
    capacity: u64,
    unit: u64,
    size: u64,
    granularity: u64,
    /// The content of the zone up to its last written sector; 0 where a sector is not written.
    pub(super) data: Vec<u64>,
    pointer: u64,
    has_area: bool,
    finished: bool,
}

impl AreaZone {
    /// Creates the empty zone that begins at a sector; `None` if the drive has no random write areas.
    pub(super) fn new(begin: u64, shape: ZoneShape, unit: u64) -> Option<Self> {
        let zrwa = shape.zrwa?;
        let [capacity, size, granularity] =
            [shape.capacity, zrwa.size, zrwa.granularity].map(|units| u64::from(units) * unit);
        let (data, pointer) = (Vec::new(), 0);
        Some(Self { begin, capacity, unit, size, granularity, data, pointer, has_area: false, finished: false })
    }

    fn is_full(&self) -> bool {
        self.finished || self.pointer == self.capacity
    }

    /// Draws a random request.
    pub(super) fn draw(&self, rng: &mut Rng, size: u64) -> Io {
        let bare = |kind| Io::new(kind, Lba::new(self.begin), Sectors::new(0));
        match rng.below(20) {
            0 => bare(IoKind::ZoneReset),
            1 if rng.chance(0.5) => bare(IoKind::ZoneFinish),
            1..4 => bare(IoKind::ZoneOpenZrwa),
            4..6 => {
                let granules = rng.below(self.size / self.granularity + 2);
                let last = (self.pointer + granules * self.granularity).saturating_sub(self.unit).min(size - self.unit);
                Io::new(IoKind::ZrwaFlush, Lba::new(self.begin + last), Sectors::new(0))
            }
            // The drive refuses an append to a zone with an area, so its order does not matter.
            6 if self.has_area => Io::new(IoKind::Append, Lba::new(self.begin), Sectors::new(self.unit)),
            7..15 => {
                let room = 2 * self.size / self.unit;
                let offset = if self.has_area { rng.below(room) } else { 0 };
                let sectors = (1 + rng.below((room - offset).min(self.size / self.unit + 1))) * self.unit;
                let at = (self.pointer + offset * self.unit).min(size - sectors.min(size));
                Io::new(IoKind::Write, Lba::new(self.begin + at), Sectors::new(sectors.min(size)))
            }
            _ => {
                let sectors = 1 + rng.below(size / 2);
                let at = self.begin + rng.below(size - sectors + 1);
                Io::new(IoKind::Read, Lba::new(at), Sectors::new(sectors))
            }
        }
    }

    /// Carries out a request with a tag. Returns its status; a request that fails changes nothing.
    pub(super) fn carry_out(&mut self, io: &Io, tag: u64) -> Status {
        let (at, sectors) = (io.start.get() - self.begin, io.sectors.get());
        match io.kind {
            IoKind::ZoneReset => {
                (self.data, self.pointer, self.has_area, self.finished) = (Vec::new(), 0, false, false);
            }
            IoKind::ZoneFinish => (self.finished, self.has_area) = (true, false),
            IoKind::ZoneOpenZrwa if self.is_full() || self.has_area || self.pointer > 0 => {
                return Status::InvalidZoneOperation;
            }
            IoKind::ZoneOpenZrwa => self.has_area = true,
            IoKind::ZrwaFlush => {
                let end = at + self.unit;
                let most = (self.pointer + self.size).min(self.capacity);
                let is_granular = end > self.pointer && (end - self.pointer).is_multiple_of(self.granularity);
                if !self.has_area || end > most || !is_granular {
                    return Status::InvalidZoneOperation;
                }
                self.pointer = end;
                self.has_area = end < self.capacity;
            }
            IoKind::Append | IoKind::Write if sectors > self.capacity => return Status::ZoneBoundary,
            IoKind::Append | IoKind::Write if self.is_full() => return Status::ZoneFull,
            IoKind::Append if self.has_area => return Status::InvalidZoneOperation,
            IoKind::Append => return self.write(self.pointer, sectors, (tag, 0)),
            IoKind::Write => return self.write(at, sectors, (tag, 0)),
            _ => {}
        }
        Status::Done
    }

    /// Carries out a request that has completed. Writes to a zone without an area may complete in an order that differs
    /// from the order in which the drive admitted them.
    pub(super) fn complete(&mut self, io: &Io, tag: u64) -> Status {
        if self.has_area || io.kind != IoKind::Write {
            return self.carry_out(io, tag);
        }
        let at = io.start.get() - self.begin;
        let pointer = std::mem::replace(&mut self.pointer, at);
        let status = self.write(at, io.sectors.get(), (tag, 0));
        self.pointer = self.pointer.max(pointer);
        status
    }

    /// Writes sectors from `at` on; with the stamps of the request `tag` from its sector `first` on.
    fn write(&mut self, at: u64, sectors: u64, (tag, first): (u64, u64)) -> Status {
        let end = at + sectors;
        let is_placed = match self.has_area {
            true => at >= self.pointer && end <= self.pointer + 2 * self.size,
            false => at == self.pointer,
        };
        if !is_placed {
            return Status::ZoneInvalidWrite;
        }
        if end > self.capacity {
            return Status::ZoneBoundary;
        }
        self.data.resize(self.data.len().max(end as usize), 0);
        for (sector, place) in (first..).zip(&mut self.data[at as usize..end as usize]) {
            *place = stamp(tag, sector);
        }
        if !self.has_area {
            self.pointer = end;
        }
        self.flush_for(end);
        Status::Done
    }

    /// Flushes implicitly for a write that ends at `end`.
    const fn flush_for(&mut self, end: u64) {
        while end > self.pointer + self.size && self.has_area {
            self.pointer += self.granularity;
        }
    }

    /// Returns true if after a power cycle a drive may hold `found` and report this for the zone.
    fn is(&self, found: &[u64], report: ZoneReport) -> bool {
        let state = match self.pointer {
            _ if self.is_full() => ZoneState::Full,
            0 if self.data.is_empty() => ZoneState::Empty,
            _ => ZoneState::Closed,
        };
        let pointer = u64::from(report.write_pointer.get()) * self.unit - self.begin;
        let (data, rest) = found.split_at(self.data.len());
        report.state == state
            && (state == ZoneState::Full || pointer == self.pointer)
            && data == self.data
            && rest.iter().all(|sector| *sector == 0)
    }

    /// Returns the zone after a power cut among unanswered requests if it then may hold `found`: the drive has carried
    /// out the first of the requests, and the first mapping units of the next request.
    pub(super) fn after_cut(&self, lost: &[(u64, Io)], found: &[u64], report: ZoneReport) -> Option<Self> {
        let mut zone = self.clone();
        if zone.is(found, report) {
            return Some(zone.after_power_on());
        }
        for (tag, io) in lost {
            let before = zone.clone();
            if zone.carry_out(io, *tag) != Status::Done {
                continue;
            }
            if io.kind == IoKind::Write {
                let mut part = before;
                let at = io.start.get() - self.begin;
                for first in (0..io.sectors.get()).step_by(self.unit as usize) {
                    // The drive flushes for a unit, then waits until there is room for the unit, so a cut may come
                    // between the two.
                    part.flush_for(at + first + self.unit);
                    if part.is(found, report) {
                        return Some(part.after_power_on());
                    }
                    assert_eq!(part.write(at + first, self.unit, (*tag, first)), Status::Done, "a part of a write");
                    if part.is(found, report) {
                        return Some(part.after_power_on());
                    }
                }
            }
            if zone.is(found, report) {
                return Some(zone.after_power_on());
            }
        }
        None
    }

    fn after_power_on(mut self) -> Self {
        self.has_area &= self.pointer > 0 || !self.data.is_empty();
        self
    }

    /// Marks the sectors that unanswered requests may have written as unknown.
    pub(super) fn forget(&mut self, lost: &[(u64, Io)]) {
        for (_, io) in lost {
            let at = io.start.get() - self.begin;
            let end = if io.kind == IoKind::Write { at + io.sectors.get() } else { 0 };
            let range = at.min(self.data.len() as u64) as usize..end.min(self.data.len() as u64) as usize;
            match io.kind {
                IoKind::ZoneReset => self.data.fill(0),
                _ if !range.is_empty() => self.data[range].fill(0),
                _ => {}
            }
        }
    }

    /// Checks the zone when nothing is under way.
    pub(super) fn check(&self, number: u64, report: ZoneReport, found: &[u64]) {
        assert_eq!(report.state == ZoneState::Full, self.is_full(), "zone {number}");
        if !self.is_full() {
            let pointer = u64::from(report.write_pointer.get()) * self.unit - self.begin;
            assert_eq!(pointer, self.pointer, "the write pointer of zone {number}");
        }
        let (data, rest) = found.split_at(self.data.len());
        assert_eq!(data, self.data, "zone {number}");
        assert!(rest.iter().all(|sector| *sector == 0), "zone {number} holds what was not written");
    }
}
