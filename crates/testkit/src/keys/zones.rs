//! A load on a drive with zones, which takes no random writes.

use base::engine::Rng;
use base::io::{Io, IoKind};
use base::units::{Lba, Sectors, Span};
use ssd::{Completion, Drive, QueueId, Request, ResolvedDevice, Ssd, ZoneShape};

use super::loads::{Load, RunResults};

/// The number of zones that the load writes to: more than may be active.
const ZONES: u64 = 9;

struct Host {
    ssd: Ssd<()>,
    shape: ZoneShape,
    /// The number of sectors of a mapping unit.
    unit: u64,
    rng: Rng,
    tag: u64,
    under_way: usize,
    done: Vec<Completion<()>>,
}

/// Runs a load on a new drive with zones.
pub(super) fn run(device: &ResolvedDevice, shape: ZoneShape, load: Load) -> RunResults {
    let ssd = Ssd::new(device, 7);
    let unit = u64::from(device.geometry.sectors);
    let rng = Rng::stream(11, "keys.zones");
    let mut host = Host { ssd, shape, unit, rng, tag: 0, under_way: 0, done: Vec::new() };
    match load {
        Load::Mixed => (0..400).for_each(|_| host.any(8)),
        Load::Bursts => host.bursts(),
        Load::Hot => host.hot(),
        Load::Shift => (0..40).for_each(|i| host.rewrite(i)),
    }
    while host.step() {}
    RunResults::of(&host.ssd)
}

impl Host {
    fn step(&mut self) -> bool {
        let Some(at) = self.ssd.next_event() else { return false };
        self.ssd.advance(at, &mut self.done);
        self.under_way -= self.done.drain(..).count();
        true
    }

    fn submit(&mut self, io: Io, depth: usize) {
        while self.under_way >= depth && self.step() {}
        let queues = self.ssd.resolved().host.queues.queues.len() as u64;
        let queue = QueueId::new(self.rng.below(queues) as u16);
        let data = vec![(); if io.kind.brings_data() { io.sectors.get() as usize } else { 0 }];
        self.ssd.submit(self.ssd.now(), Request { tag: self.tag, queue, io, data });
        self.tag += 1;
        self.under_way += 1;
    }

    fn submit_to_zone(&mut self, kind: IoKind, zone: u64, sectors: u64, depth: usize) {
        let zone = zone % u64::from(self.shape.zones);
        let start = Lba::new(zone * u64::from(self.shape.size) * self.unit);
        self.submit(Io::new(kind, start, Sectors::new(sectors)), depth);
    }

    /// Returns the unit at the write pointer of a zone.
    fn pointer(&self, zone: u64) -> u64 {
        let first = Lba::new(zone % u64::from(self.shape.zones) * u64::from(self.shape.size) * self.unit);
        u64::from(self.ssd.zone_report(first).expect("zones").write_pointer.get())
    }

    /// Submits a command for a random write area, from the unit at the write pointer of a zone on.
    fn submit_to_area(&mut self, zone: u64, depth: usize) {
        let (pointer, units) = (self.pointer(zone), 1 + self.rng.below(4));
        let offset = self.rng.below(8);
        match self.rng.below(8) {
            0..3 => self.submit_to_zone(IoKind::ZoneOpenZrwa, zone, 0, depth),
            3 => self.submit_at(IoKind::ZrwaFlush, (pointer + units).saturating_sub(1), 0, depth),
            _ => self.submit_at(IoKind::Write, pointer + offset, units, depth),
        }
    }

    /// Submits a request to units of the drive; does nothing if they are beyond its end.
    fn submit_at(&mut self, kind: IoKind, unit: u64, units: u64, depth: usize) {
        let (start, sectors) = (unit * self.unit, units * self.unit);
        if start + sectors < self.ssd.capacity().get() {
            self.submit(Io::new(kind, Lba::new(start), Sectors::new(sectors)), depth);
        }
    }

    /// Submits a random request to a random zone.
    fn any(&mut self, depth: usize) {
        let zone = self.rng.below(ZONES);
        let sectors = (1 + self.rng.below(6)) * self.unit;
        match self.rng.below(if self.shape.zrwa.is_some() { 36 } else { 24 }) {
            24.. => self.submit_to_area(zone, depth),
            0 => self.submit_to_zone(IoKind::ZoneReset, zone, 0, depth),
            1 => self.submit_to_zone(IoKind::ZoneFinish, zone, 0, depth),
            2 => self.submit_to_zone(IoKind::ZoneOpen, zone, 0, depth),
            3 => self.submit_to_zone(IoKind::ZoneClose, zone, 0, depth),
            4..6 => {
                let start = Lba::new(self.rng.below(self.ssd.capacity().get() - sectors));
                self.submit(Io::new(IoKind::Read, start, Sectors::new(sectors)), depth);
            }
            6..8 => self.submit_to_zone(IoKind::Read, zone, sectors, depth),
            8..12 => {
                let start = Lba::new(self.pointer(zone) * self.unit);
                if start.get() + sectors <= self.ssd.capacity().get() {
                    self.submit(Io::new(IoKind::Write, start, Sectors::new(sectors)), depth);
                }
            }
            _ => self.submit_to_zone(IoKind::Append, zone, sectors, depth),
        }
    }

    /// Runs bursts and pauses, a power-off and a power cut.
    fn bursts(&mut self) {
        for round in 0..8 {
            (0..100).for_each(|_| self.any(400));
            if round == 3 {
                let done = self.ssd.power_off();
                self.under_way -= done.len();
                self.ssd.power_on(self.ssd.now());
            } else if round == 5 {
                let lost = self.ssd.cut_power();
                self.under_way -= lost.len();
                self.ssd.power_on(self.ssd.now());
            } else {
                let pause = self.ssd.now() + Span::from_ms(20);
                while self.ssd.now() < pause {
                    self.ssd.advance(pause, &mut self.done);
                    self.under_way -= self.done.drain(..).count();
                }
            }
        }
    }

    /// Rewrites zones of one die until its blocks wear out, beside zones that keep their data for a while.
    fn hot(&mut self) {
        let sectors = u64::from(self.shape.capacity) * self.unit;
        for i in 0..350 {
            if i % 90 == 0 {
                for zone in [12, 16] {
                    self.submit_to_zone(IoKind::ZoneReset, zone, 0, 12);
                    self.submit_to_zone(IoKind::Append, zone, sectors, 12);
                }
            }
            self.rewrite(i % 3 * 4);
        }
    }

    /// Fills a zone, reads a part of it and resets it.
    fn rewrite(&mut self, zone: u64) {
        let sectors = u64::from(self.shape.capacity) * self.unit;
        self.submit_to_zone(IoKind::Append, zone, sectors, 12);
        self.submit_to_zone(IoKind::Read, zone, self.unit, 12);
        self.submit_to_zone(IoKind::ZoneReset, zone, 0, 12);
    }
}
