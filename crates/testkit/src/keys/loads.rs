//! Workloads under which every key of a device can make a difference.

use base::engine::Rng;
use base::io::{Io, IoKind};
use base::units::{Age, Lba, Sectors, Span, Temperature, Time};
use flash::nand::FaultSpec;
use ssd::{Completion, Drive, Precondition, QueueId, Request, ResolvedDevice, Ssd};

use super::{layers, zones};
use crate::requests;

/// A load of requests on a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// Requests of all kinds, small and large, at the host's queue depth, from all queues.
    Mixed,
    /// Bursts and pauses, long and short sequences, and two power cuts.
    Bursts,
    /// Small writes on a small part of the drive, until garbage collection has taken all blocks many times.
    Hot,
    /// Small writes on one part of the drive, and then on another, for keys that take effect after about a thousand
    /// writes.
    Shift,
}

impl Load {
    /// The loads, the shortest first.
    pub const EVERY: [Self; 4] = [Self::Bursts, Self::Mixed, Self::Hot, Self::Shift];
}

/// The results of a run that a test compares to see whether a key has an effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunResults {
    /// Hash of all events: it changes with any duration on any die or channel.
    pub hash: u64,
    /// The erase count of each block, because the choice of a block within a die changes no event.
    pub erases: Vec<u32>,
    /// The number of failed requests by kind, because lost data changes no event.
    pub failed: [u64; IoKind::COUNT],
}

/// Runs a load on a full drive.
#[must_use]
pub fn run(device: &ResolvedDevice, load: Load) -> RunResults {
    if let Some(spec) = &device.spec.raid {
        return layers::run_on_raid(device, spec, load);
    }
    if device.translation.is_some() {
        return layers::run_on_translation(device, load);
    }
    if let Some(shape) = device.zones {
        return zones::run(device, shape, load);
    }
    let mut ssd = Ssd::<()>::new(device, 7);
    let fails = device.spec.flash.faults != FaultSpec::default();
    if !fails {
        ssd.precondition(Precondition::Fill, &mut |_, _| {});
    }
    if ssd.media().has_errors() {
        ssd.age(Age::from_days(30), Temperature::from_celsius(40));
    }
    let mut player = Player { rng: Rng::stream(11, "keys"), ssd, tag: 0, under_way: 0, done: Vec::new() };
    if fails {
        // A fault then shows from the first write on.
        player.fill();
    }
    match load {
        Load::Mixed => player.mixed(),
        Load::Bursts => player.bursts(),
        Load::Hot => player.hot(),
        Load::Shift => player.shift(),
    }
    player.run_until_idle();
    RunResults::of(&player.ssd)
}

impl RunResults {
    /// Collects the results of a drive.
    pub(super) fn of(ssd: &Ssd<()>) -> Self {
        let mut erases = ssd.erase_counts();
        erases.extend(ssd.slc_erase_counts());
        let counters = ssd.counters();
        Self { hash: counters.event_hash, erases, failed: counters.failed }
    }
}

struct Player {
    rng: Rng,
    ssd: Ssd<()>,
    tag: u64,
    under_way: usize,
    done: Vec<Completion<()>>,
}

impl Player {
    fn submit(&mut self, at: Time, io: Io) {
        self.advance(at);
        let queues = self.ssd.resolved().host.queues.queues.len() as u64;
        let queue = QueueId::new(self.rng.below(queues) as u16);
        let data = if io.kind == IoKind::Write { vec![(); io.sectors.get() as usize] } else { Vec::new() };
        self.ssd.submit(at, Request { tag: self.tag, queue, io, data });
        self.tag += 1;
        self.under_way += 1;
    }

    fn advance(&mut self, to: Time) {
        while self.ssd.now() < to {
            self.ssd.advance(to, &mut self.done);
            self.under_way -= self.done.drain(..).count();
        }
    }

    fn step(&mut self) -> bool {
        let Some(at) = self.ssd.next_event() else { return false };
        self.ssd.advance(at, &mut self.done);
        self.under_way -= self.done.drain(..).count();
        true
    }

    /// Advances until the drive is idle.
    fn run_until_idle(&mut self) {
        while self.step() {}
        assert_eq!(self.under_way, 0, "a request that never completes");
    }

    fn closed(&mut self, io: Io, depth: usize) {
        while self.under_way >= depth && self.step() {}
        self.submit(self.ssd.now(), io);
    }

    fn capacity(&self) -> u64 {
        self.ssd.capacity().get()
    }

    fn fill(&mut self) {
        let step = 32;
        for from in (0..self.capacity()).step_by(step) {
            let io = self.io(IoKind::Write, from, step as u64);
            self.closed(io, 8);
        }
    }

    fn mixed(&mut self) {
        for _ in 0..260 {
            let capacity = self.capacity();
            let io = requests::draw(&mut self.rng, capacity);
            self.closed(io, 24);
        }
    }

    fn io(&self, kind: IoKind, start: u64, sectors: u64) -> Io {
        let sectors = sectors.min(self.capacity());
        let start = start % (self.capacity() - sectors + 1);
        Io::new(kind, Lba::new(start), Sectors::new(sectors))
    }

    fn bursts(&mut self) {
        for round in 0..8_u64 {
            let capacity = self.capacity();
            let from = self.rng.below(capacity);
            for i in 0..16 {
                let io = match round % 4 {
                    0 => self.io(IoKind::Write, from + 16 * i, 16),
                    1 => self.io(IoKind::Read, from + 24 * i, 24),
                    2 => self.io(IoKind::Write, 4 * i, 4),
                    _ if i == 0 => self.io(IoKind::Discard, from, 32),
                    _ if i == 9 => Io::FLUSH,
                    _ => {
                        let kind = if self.rng.chance(0.5) { IoKind::Read } else { IoKind::Write };
                        let start = self.rng.below(capacity);
                        self.io(kind, start, 7)
                    }
                };
                let at = self.ssd.now() + Span::from_us(40);
                self.submit(at, io);
            }
            if round == 3 {
                let done = self.ssd.power_off();
                self.under_way -= done.len();
                self.ssd.power_on(self.ssd.now());
            } else if round == 5 {
                let lost = self.ssd.cut_power();
                self.under_way -= lost.len();
                self.ssd.power_on(self.ssd.now());
            } else {
                let pause = self.ssd.now() + Span::from_ms(30);
                self.advance(pause);
            }
        }
        self.run_until_idle();
        self.discarded();
    }

    /// Discards a part of the drive, and reads it after it has left the buffer.
    fn discarded(&mut self) {
        let from = self.rng.below(self.capacity());
        for kind in [IoKind::Discard, IoKind::Flush, IoKind::Read] {
            let io = if kind == IoKind::Flush { Io::FLUSH } else { self.io(kind, from, 64) };
            self.submit(self.ssd.now(), io);
            self.run_until_idle();
        }
    }

    fn hot(&mut self) {
        let capacity = self.capacity();
        let hot = (capacity / 8).max(1);
        for i in 0..700 {
            let start = if i % 16 == 0 { self.rng.below(capacity) } else { self.rng.below(hot) };
            let kind = if i % 9 == 0 { IoKind::Read } else { IoKind::Write };
            let size = if i % 5 == 0 { 8 } else { 2 };
            let io = self.io(kind, start, size);
            self.closed(io, 6);
        }
    }

    fn shift(&mut self) {
        let capacity = self.capacity();
        for i in 0..3_200 {
            let (from, space) = if i < 1_600 { (0, 8) } else { (0, capacity) };
            let start = from + self.rng.below(space);
            let io = self.io(IoKind::Write, start, 1);
            self.closed(io, 4);
        }
    }
}
