//! A check of requests one after another, against a model of the standard's rules that shares no code with the drive.

use base::engine::Rng;
use base::io::{Io, IoKind};
use base::units::{Lba, Sectors};
use flash::nand::Stamp;
use ssd::{ResolvedDevice, Ssd, Status, ZoneState};

use super::{ZoneHost, stamp};

/// A zone as the standard describes it.
#[derive(Clone, Debug, Default)]
struct ModelZone {
    /// The content of the sectors up to the last written one; 0 for one that is not written.
    data: Vec<u64>,
    /// The number of sectors below the write pointer.
    pointer: u64,
    /// True if the zone has a random write area.
    has_area: bool,
    /// How the zone was opened; `None` if it is not open.
    open: Option<OpenState>,
    /// True if the host has closed the zone, or if it has data and is not open.
    closed: bool,
    finished: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OpenState {
    Implicitly,
    Explicitly,
}

/// The random write areas of a drive: their sizes in sectors, and the number of zones that may have one.
#[derive(Clone, Copy, Debug)]
struct Areas {
    size: u64,
    granularity: u64,
    zones: usize,
}

/// A drive with zones as the standard describes it.
struct Model {
    zones: Vec<ModelZone>,
    capacity: u64,
    max_active: usize,
    max_open: usize,
    areas: Option<Areas>,
    /// Implicitly open zones in the order in which they were opened.
    implicit: Vec<usize>,
}

impl Model {
    fn state(&self, zone: usize) -> ZoneState {
        let ModelZone { pointer, open, closed, finished, .. } = &self.zones[zone];
        match open {
            _ if *finished || *pointer == self.capacity => ZoneState::Full,
            Some(OpenState::Implicitly) => ZoneState::ImplicitlyOpen,
            Some(OpenState::Explicitly) => ZoneState::ExplicitlyOpen,
            None if *closed => ZoneState::Closed,
            None => ZoneState::Empty,
        }
    }

    /// Returns the status of a command that opens a zone, as far as it depends on the limits on open and active zones.
    fn may_open(&self, zone: usize) -> Status {
        let is_open = |zone: &&ModelZone| zone.open.is_some();
        let active = self.zones.iter().filter(|zone| zone.open.is_some() || zone.closed).count();
        let own = &self.zones[zone];
        if own.open.is_none() && !own.closed && active >= self.max_active {
            return Status::TooManyActiveZones;
        }
        let has_room = own.open.is_some() || self.zones.iter().filter(is_open).count() < self.max_open;
        if has_room || !self.implicit.is_empty() { Status::Done } else { Status::TooManyOpenZones }
    }

    /// Opens a zone, if the limits allow it.
    fn open(&mut self, zone: usize, how: OpenState) -> Status {
        let may_open = self.may_open(zone);
        if may_open != Status::Done {
            return may_open;
        }
        let open = self.zones.iter().filter(|zone| zone.open.is_some()).count();
        if self.zones[zone].open.is_none() && open >= self.max_open {
            let oldest = self.implicit.remove(0);
            (self.zones[oldest].open, self.zones[oldest].closed) = (None, true);
        }
        if self.zones[zone].open == Some(OpenState::Explicitly) {
            return Status::Done;
        }
        if how == OpenState::Explicitly {
            self.implicit.retain(|other| *other != zone);
        } else if self.zones[zone].open.is_none() {
            self.implicit.push(zone);
        }
        (self.zones[zone].open, self.zones[zone].closed) = (Some(how), false);
        Status::Done
    }

    /// Marks the zone as neither open nor closed.
    fn leave(&mut self, zone: usize) {
        self.implicit.retain(|other| *other != zone);
        (self.zones[zone].open, self.zones[zone].closed, self.zones[zone].has_area) = (None, false, false);
    }

    /// Writes sectors from `at` on in the zone, or appends them if `at` is `None`.
    fn write(&mut self, zone: usize, at: Option<u64>, content: &[u64]) -> Status {
        let pointer = self.zones[zone].pointer;
        if self.state(zone) == ZoneState::Full {
            return Status::ZoneFull;
        }
        let area = self.areas.filter(|_| self.zones[zone].has_area);
        let sectors = content.len() as u64;
        match (area, at) {
            (Some(_), None) => return Status::InvalidZoneOperation,
            (Some(area), Some(at)) if at < pointer || at + sectors > pointer + 2 * area.size => {
                return Status::ZoneInvalidWrite;
            }
            (None, Some(at)) if at != pointer => return Status::ZoneInvalidWrite,
            _ => {}
        }
        let begin = at.unwrap_or(pointer);
        if begin + sectors > self.capacity {
            return Status::ZoneBoundary;
        }
        let opened = self.open(zone, OpenState::Implicitly);
        if opened == Status::Done {
            let own = &mut self.zones[zone];
            let end = begin + sectors;
            own.data.resize(own.data.len().max(end as usize), 0);
            own.data[begin as usize..end as usize].copy_from_slice(content);
            match area {
                None => own.pointer = end,
                Some(area) => {
                    while own.pointer + area.size < end {
                        own.pointer += area.granularity;
                    }
                }
            }
            if self.state(zone) == ZoneState::Full {
                self.leave(zone);
            }
        }
        opened
    }

    /// Opens a zone with a random write area, if the limits allow it.
    fn open_with_area(&mut self, zone: usize) -> Status {
        if self.areas.is_none() || self.state(zone) != ZoneState::Empty {
            return Status::InvalidZoneOperation;
        }
        let may_open = self.may_open(zone);
        if may_open != Status::Done {
            return may_open;
        }
        let held = self.zones.iter().filter(|zone| zone.has_area).count();
        if self.areas.is_some_and(|areas| held >= areas.zones) {
            return Status::ZrwaUnavailable;
        }
        self.zones[zone].has_area = true;
        self.open(zone, OpenState::Explicitly)
    }

    /// Moves the write pointer to `end`.
    fn flush_area(&mut self, zone: usize, end: u64) -> Status {
        let pointer = self.zones[zone].pointer;
        let Some(area) = self.areas.filter(|_| self.zones[zone].has_area) else { return Status::InvalidZoneOperation };
        let most = (pointer + area.size).min(self.capacity);
        if end <= pointer || end > most || !(end - pointer).is_multiple_of(area.granularity) {
            return Status::InvalidZoneOperation;
        }
        let opened = self.open(zone, OpenState::Implicitly);
        if opened == Status::Done {
            self.zones[zone].pointer = end;
            if end == self.capacity {
                self.leave(zone);
            }
        }
        opened
    }

    fn manage(&mut self, zone: usize, kind: IoKind) -> Status {
        match (kind, self.state(zone)) {
            (IoKind::ZoneOpen, ZoneState::Full) | (IoKind::ZoneClose, ZoneState::Full | ZoneState::Empty) => {
                Status::InvalidZoneTransition
            }
            (IoKind::ZoneOpen, _) => self.open(zone, OpenState::Explicitly),
            (IoKind::ZoneClose, _) => {
                let has_area = self.zones[zone].has_area;
                self.leave(zone);
                (self.zones[zone].closed, self.zones[zone].has_area) = (true, has_area);
                Status::Done
            }
            (IoKind::ZoneFinish, _) => {
                self.leave(zone);
                self.zones[zone].finished = true;
                Status::Done
            }
            _ => {
                self.leave(zone);
                self.zones[zone] = ModelZone::default();
                Status::Done
            }
        }
    }

    /// Models a power cycle: open zones are closed, or empty if they have no data.
    fn power_cycle(&mut self) {
        self.implicit.clear();
        for zone in 0..self.zones.len() {
            let full = self.state(zone) == ZoneState::Full;
            let own = &mut self.zones[zone];
            (own.open, own.closed) = (None, !full && (own.pointer > 0 || !own.data.is_empty()));
            own.has_area &= own.closed;
        }
    }
}

/// Submits random requests to a new drive, one after another. Now and then the power goes off or fails.
///
/// # Panics If an answer of the drive differs from the model's.
pub fn one_by_one(resolved: &ResolvedDevice, seed: u64, requests: u32) {
    let mut rng = Rng::stream(seed, "zones.one-by-one");
    let mut host = ZoneHost::new(Ssd::new(resolved, seed));
    let shape = host.shape;
    let [size, capacity] = host.sizes();
    let mut model = Model {
        zones: vec![ModelZone::default(); shape.zones as usize],
        capacity,
        max_active: shape.max_active as usize,
        max_open: shape.max_open as usize,
        areas: shape.zrwa.map(|zrwa| Areas {
            size: u64::from(zrwa.size) * host.unit,
            granularity: u64::from(zrwa.granularity) * host.unit,
            zones: zrwa.zones as usize,
        }),
        implicit: Vec::new(),
    };
    // The check uses four zones more than may be active.
    let zones = u64::from(shape.zones.min(shape.max_active + 4));
    for number in 0..requests {
        let zone = rng.below(zones);
        let (index, begin) = (zone as usize, host.begin(zone));
        let pointer = model.zones[index].pointer;
        let most = if rng.chance(0.1) { capacity } else { capacity / 8 + host.unit };
        let sectors = (1 + rng.below(most / host.unit)) * host.unit;
        let content: Vec<u64> = (0..sectors).map(|sector| stamp(host.tag, sector)).collect();
        let bare = |kind| Io::new(kind, Lba::new(begin), Sectors::new(0));
        let (io, wanted) = match rng.below(if model.areas.is_some() { 34 } else { 22 }) {
            20 => (bare(IoKind::ZoneOpenZrwa), model.open_with_area(index)),
            22..24 => (bare(IoKind::ZoneOpenZrwa), model.open_with_area(index)),
            21 | 24..27 => {
                // Most of these ranges are multiples of the granularity, which the drive requires.
                let granularity = model.areas.map_or(host.unit, |areas| areas.granularity);
                let step = if rng.chance(0.8) { granularity } else { host.unit };
                let end = (pointer + rng.below(6) * step).clamp(host.unit, size);
                let last = Lba::new(begin + end - host.unit);
                (Io::new(IoKind::ZrwaFlush, last, Sectors::new(0)), model.flush_area(index, end))
            }
            27..34 => {
                let window = 2 * model.areas.map_or(0, |areas| areas.size);
                let at = pointer + rng.below(window / host.unit + 1) * host.unit;
                let sectors = sectors.min(window).min(size);
                let at = at.min(size - sectors);
                let content: Vec<u64> = content[..sectors as usize].to_vec();
                let io = Io::new(IoKind::Write, Lba::new(begin + at), Sectors::new(sectors));
                (io, model.write(index, Some(at), &content))
            }
            0..6 => {
                let io = Io::new(IoKind::Append, Lba::new(begin), Sectors::new(sectors));
                (io, model.write(index, None, &content))
            }
            6..9 => {
                let io = Io::new(IoKind::Write, Lba::new(begin + pointer.min(size - sectors)), Sectors::new(sectors));
                (io, model.write(index, Some(pointer.min(size - sectors)), &content))
            }
            9 => {
                let at = rng.below(size / host.unit - sectors / host.unit + 1) * host.unit;
                let io = Io::new(IoKind::Write, Lba::new(begin + at), Sectors::new(sectors));
                (io, model.write(index, Some(at), &content))
            }
            10 if host.unit > 1 => {
                let io = Io::new(IoKind::Write, Lba::new(begin + pointer.min(size - 1)), Sectors::new(1));
                (io, Status::InvalidField)
            }
            11 => (Io::new(IoKind::Append, Lba::new(begin + host.unit), Sectors::new(host.unit)), {
                // The drive checks the state of the zone before the fields of the command.
                match model.state(index) {
                    ZoneState::Full => Status::ZoneFull,
                    _ if model.zones[index].has_area => Status::InvalidZoneOperation,
                    _ => Status::InvalidField,
                }
            }),
            12 => (bare(IoKind::ZoneOpen), model.manage(index, IoKind::ZoneOpen)),
            13 => (bare(IoKind::ZoneClose), model.manage(index, IoKind::ZoneClose)),
            14 => (bare(IoKind::ZoneFinish), model.manage(index, IoKind::ZoneFinish)),
            15 => (bare(IoKind::ZoneReset), model.manage(index, IoKind::ZoneReset)),
            16 => (Io::new(IoKind::Discard, Lba::new(begin), Sectors::new(sectors)), Status::InvalidOpcode),
            17 => (Io::FLUSH, Status::Done),
            _ => (Io::new(IoKind::Read, Lba::new(begin), Sectors::new(size)), Status::Done),
        };
        let done = host.alone(io);
        let what = format!("request {number}, a {} to zone {zone} at {pointer}", io.kind.name());
        assert_eq!(done.status, wanted, "{what}");
        if io.kind == IoKind::Append && wanted == Status::Done {
            assert_eq!(done.io.start.get(), begin + pointer, "the address of {what}");
        }
        if io.kind == IoKind::Read {
            let mut content = model.zones[index].data.clone();
            content.resize(size as usize, 0);
            assert!(done.data.iter().map(|sector: &Stamp| sector.0).eq(content), "the data of {what}");
        }
        if rng.chance(0.04) {
            match rng.chance(0.5) {
                true => assert!(host.drive.cut_power().is_empty(), "no request is under way"),
                false => assert!(host.drive.ssd.power_off().is_empty(), "no request is under way"),
            }
            host.drive.ssd.power_on(host.drive.ssd.now());
            host.run_until_idle();
            model.power_cycle();
        }
        for zone in 0..zones {
            let (report, index) = (host.report(zone), zone as usize);
            assert_eq!(report.state, model.state(index), "zone {zone} after {what}");
            if report.state != ZoneState::Full {
                assert_eq!(host.written(zone), model.zones[index].pointer, "zone {zone} after {what}");
            }
        }
    }
    host.run_until_idle();
}
