//! Requests one after another, against a model of the standard's rules that shares no code with the drive.

use base::engine::Rng;
use base::io::{Io, IoKind};
use base::units::{Lba, Sectors};
use flash::nand::Stamp;
use ssd::{Resolved, Ssd, Status, ZoneState};

use super::{Host, stamp};

/// A zone of the model.
#[derive(Clone, Debug, Default)]
struct Zone {
    /// The content of the sectors that are written.
    data: Vec<u64>,
    /// `None`: empty or closed, as the data say.
    open: Option<Open>,
    /// The host has closed the zone, or it has data and is not open.
    closed: bool,
    finished: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Open {
    Implicitly,
    Explicitly,
}

/// The model of a drive.
struct Model {
    zones: Vec<Zone>,
    capacity: u64,
    max_active: usize,
    max_open: usize,
    /// Implicitly open zones, the one that was opened first at the front.
    implicit: Vec<usize>,
}

impl Model {
    fn state(&self, zone: usize) -> ZoneState {
        let Zone { data, open, closed, finished } = &self.zones[zone];
        match open {
            _ if *finished || data.len() as u64 == self.capacity => ZoneState::Full,
            Some(Open::Implicitly) => ZoneState::ImplicitlyOpen,
            Some(Open::Explicitly) => ZoneState::ExplicitlyOpen,
            None if *closed => ZoneState::Closed,
            None => ZoneState::Empty,
        }
    }

    /// Opens a zone, if the limits allow it.
    fn open(&mut self, zone: usize, how: Open) -> Status {
        let is_open = |zone: &&Zone| zone.open.is_some();
        let active = self.zones.iter().filter(|zone| zone.open.is_some() || zone.closed).count();
        let own = &self.zones[zone];
        if own.open.is_none() && !own.closed && active >= self.max_active {
            return Status::TooManyActiveZones;
        }
        if own.open.is_none() && self.zones.iter().filter(is_open).count() >= self.max_open {
            if self.implicit.is_empty() {
                return Status::TooManyOpenZones;
            }
            let oldest = self.implicit.remove(0);
            (self.zones[oldest].open, self.zones[oldest].closed) = (None, true);
        }
        if self.zones[zone].open == Some(Open::Explicitly) {
            return Status::Done;
        }
        if how == Open::Explicitly {
            self.implicit.retain(|other| *other != zone);
        } else if self.zones[zone].open.is_none() {
            self.implicit.push(zone);
        }
        (self.zones[zone].open, self.zones[zone].closed) = (Some(how), false);
        Status::Done
    }

    /// The zone is neither open nor closed any more.
    fn leave(&mut self, zone: usize) {
        self.implicit.retain(|other| *other != zone);
        (self.zones[zone].open, self.zones[zone].closed) = (None, false);
    }

    /// A write of sectors from `at` on in the zone; an append if there is no such place.
    fn write(&mut self, zone: usize, at: Option<u64>, content: &[u64]) -> Status {
        let pointer = self.zones[zone].data.len() as u64;
        if self.state(zone) == ZoneState::Full {
            return Status::ZoneFull;
        }
        if at.is_some_and(|at| at != pointer) {
            return Status::ZoneInvalidWrite;
        }
        if pointer + content.len() as u64 > self.capacity {
            return Status::ZoneBoundary;
        }
        let opened = self.open(zone, Open::Implicitly);
        if opened == Status::Done {
            self.zones[zone].data.extend(content);
            if self.state(zone) == ZoneState::Full {
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
            (IoKind::ZoneOpen, _) => self.open(zone, Open::Explicitly),
            (IoKind::ZoneClose, _) => {
                self.leave(zone);
                self.zones[zone].closed = true;
                Status::Done
            }
            (IoKind::ZoneFinish, _) => {
                self.leave(zone);
                self.zones[zone].finished = true;
                Status::Done
            }
            _ => {
                self.leave(zone);
                self.zones[zone] = Zone::default();
                Status::Done
            }
        }
    }

    /// A power cycle: open zones are closed, or empty if they have no data.
    fn power_cycle(&mut self) {
        self.implicit.clear();
        for zone in 0..self.zones.len() {
            let full = self.state(zone) == ZoneState::Full;
            let own = &mut self.zones[zone];
            (own.open, own.closed) = (None, !full && !own.data.is_empty());
        }
    }
}

/// Plays so many random requests on a new drive, one after another. Now and then the power goes off or fails.
///
/// # Panics
/// If an answer of the drive is not that of the model.
pub fn one_by_one(resolved: &Resolved, seed: u64, requests: u32) {
    let mut rng = Rng::stream(seed, "zones.one-by-one");
    let mut host = Host::new(Ssd::new(resolved, seed));
    let shape = host.shape;
    let [size, capacity] = host.sizes();
    let mut model = Model {
        zones: vec![Zone::default(); shape.zones as usize],
        capacity,
        max_active: shape.max_active as usize,
        max_open: shape.max_open as usize,
        implicit: Vec::new(),
    };
    // As many zones as may be active, and some more.
    let zones = u64::from(shape.zones.min(shape.max_active + 4));
    for number in 0..requests {
        let zone = rng.below(zones);
        let (index, begin) = (zone as usize, host.begin(zone));
        let pointer = model.zones[index].data.len() as u64;
        let most = if rng.chance(0.1) { capacity } else { capacity / 8 + host.unit };
        let sectors = (1 + rng.below(most / host.unit)) * host.unit;
        let content: Vec<u64> = (0..sectors).map(|sector| stamp(host.tag, sector)).collect();
        let bare = |kind| Io::new(kind, Lba::new(begin), Sectors::new(0));
        let (io, wanted) = match rng.below(20) {
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
                // The state comes before the field.
                let full = model.state(index) == ZoneState::Full;
                if full { Status::ZoneFull } else { Status::InvalidField }
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
                true => assert!(host.ssd.cut_power().is_empty(), "no request is under way"),
                false => assert!(host.ssd.power_off().is_empty(), "no request is under way"),
            }
            host.ssd.power_on(host.ssd.now());
            host.run_until_idle();
            model.power_cycle();
        }
        for zone in 0..zones {
            let (report, index) = (host.report(zone), zone as usize);
            assert_eq!(report.state, model.state(index), "zone {zone} after {what}");
            if report.state != ZoneState::Full {
                assert_eq!(host.written(zone), model.zones[index].data.len() as u64, "zone {zone} after {what}");
            }
        }
    }
    host.run_until_idle();
}
