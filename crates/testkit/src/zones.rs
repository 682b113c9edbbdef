//! Checks of drives with zones, which the conformance suite of random writes cannot use.
//!
//! Three checks run on each drive:
//!
//! * [`one_by_one`]: any request at any time, one after another, against a model of the whole drive: every status, state, write
//!   pointer and sector, and the limits on open and active zones.
//! * [`side_by_side`]: many requests at once to as many zones as may be open. The addresses of appends come from the drive; every
//!   other answer is known beforehand. If the drive has random write areas, every other zone is opened with one.
//! * The same with power cuts at any event, and with failing programs and erases: what was acknowledged is there, and what was not
//!   is there in part, in the order in which the drive admitted it.
//!
//! [`settings()`] has fixed drives; [`draw`] makes a random one.

mod areas;
mod concurrent;
mod cuts;
mod model;
mod settings;
mod under_way;

use base::io::{Io, IoKind};
use base::units::{Lba, Sectors};
use flash::nand::Stamp;
use ssd::{Completion, QueueId, Request, Ssd, Status, ZoneReport, ZoneShape};

use crate::sabotaged::SabotagedDrive;

pub use concurrent::{Stress, side_by_side};
pub use model::one_by_one;
pub use settings::{draw, settings};

/// The stamp of a sector of the request with this tag.
fn stamp(tag: u64, sector: u64) -> u64 {
    (tag + 1) << 20 | sector
}

struct ZoneHost {
    drive: SabotagedDrive,
    shape: ZoneShape,
    /// The number of sectors of a mapping unit.
    unit: u64,
    tag: u64,
    done: Vec<Completion<Stamp>>,
}

impl ZoneHost {
    fn new(ssd: Ssd<Stamp>) -> Self {
        let shape = ssd.resolved().zones.expect("a drive with zones");
        let unit = u64::from(ssd.resolved().geometry.sectors);
        Self { drive: SabotagedDrive::new(ssd), shape, unit, tag: 0, done: Vec::new() }
    }

    /// Returns the number of sectors from one zone to the next, and of those in a zone that can be written.
    fn sizes(&self) -> [u64; 2] {
        [self.shape.size, self.shape.capacity].map(|units| u64::from(units) * self.unit)
    }

    /// Returns the first sector of a zone.
    fn begin(&self, zone: u64) -> u64 {
        zone * self.sizes()[0]
    }

    fn report(&self, zone: u64) -> ZoneReport {
        self.drive.ssd.zone_report(Lba::new(self.begin(zone))).expect("a drive with zones")
    }

    /// The number of sectors below the write pointer of a zone.
    fn written(&self, zone: u64) -> u64 {
        u64::from(self.report(zone).write_pointer.get()) * self.unit - self.begin(zone)
    }

    /// Submits a request at the current time. Returns its tag.
    fn submit(&mut self, io: Io) -> u64 {
        let tag = self.tag;
        self.tag += 1;
        let sectors = if io.kind.brings_data() { io.sectors.get() } else { 0 };
        let data = (0..sectors).map(|sector| Stamp(stamp(tag, sector))).collect();
        self.drive.submit(Request { tag, queue: QueueId::default(), io, data });
        tag
    }

    /// Handles one event. Returns false if there is none.
    fn step(&mut self) -> bool {
        let Some(at) = self.drive.next_event() else { return false };
        self.drive.advance(at, &mut self.done);
        true
    }

    /// Submits a request when no other is under way, and returns its completion.
    fn alone(&mut self, io: Io) -> Completion<Stamp> {
        let tag = self.submit(io);
        while self.done.is_empty() {
            assert!(self.step(), "request {tag} never completes");
        }
        let done = self.done.pop().expect("a completion");
        assert!(self.done.is_empty() && done.tag == tag, "one request has one completion");
        done
    }

    /// Reads all sectors of a zone, the gap behind its capacity included.
    fn read_zone(&mut self, zone: u64) -> Vec<u64> {
        let io = Io::new(IoKind::Read, Lba::new(self.begin(zone)), Sectors::new(self.sizes()[0]));
        let read = self.alone(io);
        assert_eq!(read.status, Status::Done, "zone {zone}");
        read.data.iter().map(|sector| sector.0).collect()
    }

    /// Runs until nothing is under way, and checks the drive.
    fn run_until_idle(&mut self) {
        while self.step() {}
        self.drive.ssd.check();
    }
}
