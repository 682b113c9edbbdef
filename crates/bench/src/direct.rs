//! A drive in the smallest loop: random 4 KiB requests, and one histogram count for each.

use base::engine::Rng;
use base::io::{Io, IoKind};
use base::units::{Lba, Sectors, Time};
use flash::backend::Op;
use ssd::{Completion, Drive, QueueId, Request, Ssd};

use floor::DEPTH;
use floor::histogram::Bins;
use floor::rounds::Load;

const SECTORS: Sectors = Sectors::new(8);

/// A closed loop around a drive, which runs in slices.
pub(crate) struct Direct {
    drive: Ssd<()>,
    kind: IoKind,
    units: u64,
    rng: Rng,
    completions: Vec<Completion<()>>,
    bins: Bins,
    submitted: u64,
    /// The numbers of flash commands and of events of the drive before the first request.
    before: [u64; 2],
    /// The next requests, which the loop has announced to the drive.
    coming: [Io; AHEAD],
}

/// The number of requests that are drawn together.
const AHEAD: usize = 16;

impl Direct {
    /// Creates a loop with as many requests outstanding as in the bare event loop.
    pub(crate) fn new(drive: Ssd<()>, kind: IoKind) -> Self {
        Self::at_depth(drive, kind, DEPTH)
    }

    pub(crate) fn at_depth(drive: Ssd<()>, kind: IoKind, depth: u32) -> Self {
        let units = drive.capacity().get() / SECTORS.get();
        let rng = Rng::stream(1, "bench.direct");
        let before = [commands(&drive), drive.counters().events];
        let mut direct = Self {
            before,
            drive,
            kind,
            units,
            rng,
            completions: Vec::new(),
            bins: Bins::default(),
            submitted: 0,
            coming: [Io::FLUSH; AHEAD],
        };
        (0..depth).for_each(|_| direct.submit(direct.drive.now()));
        direct
    }

    #[inline]
    fn submit(&mut self, now: Time) {
        let place = self.submitted as usize % AHEAD;
        if place == 0 {
            for io in &mut self.coming {
                let start = Lba::new(self.rng.below(self.units) * SECTORS.get());
                *io = Io::new(self.kind, start, SECTORS);
            }
            self.drive.announce(&self.coming);
        }
        let io = self.coming[place];
        let data = vec![(); if self.kind == IoKind::Write { SECTORS.get() as usize } else { 0 }];
        self.drive.submit(now, Request { tag: self.submitted, queue: QueueId::default(), io, data });
        self.submitted += 1;
    }
}

fn commands(drive: &Ssd<()>) -> u64 {
    let flash = drive.counters().flash;
    [Op::Read, Op::Program, Op::Erase, Op::CopyBack].into_iter().map(|op| flash.op(op).commands).sum()
}

impl Load for Direct {
    fn slice(&mut self, requests: u64) -> u64 {
        let mut done = 0;
        while done < requests {
            let now = self.drive.advance(Time::MAX, &mut self.completions);
            let finished = self.completions.len() as u64;
            assert!(finished > 0, "nothing completes any more");
            for completion in self.completions.drain(..) {
                self.bins.count(completion.latency().as_ps());
            }
            (0..finished).for_each(|_| self.submit(now));
            done += finished;
        }
        done
    }

    fn note(&self) -> String {
        let counters = self.drive.counters();
        let rate = self.bins.total() as f64 / (self.drive.now() - Time::ZERO).as_secs_f64();
        let [commands_before, events_before] = self.before;
        let each = |now: u64, before: u64| (now - before) as f64 / self.bins.total() as f64;
        let events = each(counters.events, events_before);
        let simulated = format!("{events:.1} events each, {:.0} thousand requests per simulated second", rate / 1e3);
        if self.kind == IoKind::Read {
            return match &counters.map {
                Some(map) if map.loads > 0 => {
                    let loads = map.loads as f64 / map.questions as f64;
                    format!("{loads:.3} loads of translation pages for each, {simulated}")
                }
                _ => simulated,
            };
        }
        let programmed = counters.flash.op(Op::Program).slots + counters.flash.op(Op::CopyBack).slots;
        let amplification = programmed as f64 / counters.host_slots as f64;
        let commands = each(commands(&self.drive), commands_before);
        format!("write amplification {amplification:.2}, {commands:.1} flash commands each, {simulated}")
    }
}
