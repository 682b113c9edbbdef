//! Power cuts at every moment that can differ: at the start and the end of every media operation, and half-way between
//! any two of them. `make test` takes a share of these moments (see [`Effort::stride`](super::Effort)), the soak takes
//! all.
//!
//! At each cut a copy of the drive loses its power, and a new drive is made from its media alone.
//! Durable data must be complete; no older data and no data of another sector may appear. Then the host writes to the
//! new drive, its power fails again, and the host checks all data once more.

use base::engine::Rng;
use base::io::{Io, IoKind};
use base::units::{Lba, Sectors};
use flash::backend::Op;
use ssd::{DiscardSpec, Drive};

use super::{Trial, Work, script};
use crate::{Host, requests};

/// The largest number of requests between a cut and the next.
const LIFE: u64 = 4;

pub(super) fn cuts_of_a_new_drive(trial: &Trial<'_>) -> Work {
    cut_everywhere(trial, trial.host())
}

pub(super) fn cuts_of_a_full_drive(trial: &Trial<'_>) -> Work {
    let host = trial.filled();
    let work = cut_everywhere(trial, host);
    let moments = work.cuts * stride(trial);
    assert!(moments > u64::from(trial.effort.cut_requests), "{moments} moments are not every one");
    work
}

/// The number of moments per power cut of this drive.
const fn stride(trial: &Trial<'_>) -> u64 {
    if trial.resolved.ftl.map.is_paged() { trial.effort.paged_stride } else { trial.effort.stride }
}

/// Cuts the power of one drive many times, so that partly filled superblocks, useless copies and torn pages accumulate.
/// The drive must neither lose data nor run out of room.
pub(super) fn cuts_one_after_another(trial: &Trial<'_>) -> Work {
    let mut host = trial.filled();
    let mut rng = Rng::stream(trial.seed, "conformance.lives");
    for _ in 0..trial.effort.lives {
        for _ in 0..1 + rng.below(LIFE) {
            host.submit(requests::draw(&mut rng, trial.capacity()));
            host.steps(rng.below(8));
        }
        if let Some(middle) = host.middle().filter(|_| rng.chance(0.5)) {
            host.advance(middle);
        }
        host = host.crashed(rng.bits());
    }
    host.run_until_idle();
    host.audit();
    Work { cuts: u64::from(trial.effort.lives), ..Work::of(&host) }
}

/// Overwrites a few mapping units again and again, and cuts the power as soon as a flush completes: the data that the
/// flush covered must be there, and older flushed data must not come back.
pub(super) fn cuts_after_flushes(trial: &Trial<'_>) -> Work {
    if trial.resolved.buffer.is_none() {
        return Work::default();
    }
    let mut host = trial.filled();
    let mut rng = Rng::stream(trial.seed, "conformance.flushes");
    let unit = host.ssd().discard_granularity();
    let flushes = |host: &Host| host.requests()[IoKind::Flush as usize];
    for _ in 0..trial.effort.lives {
        for _ in 0..1 + rng.below(2) {
            for _ in 0..1 + rng.below(LIFE) {
                let start = Lba::new(rng.below(LIFE) * unit.get());
                host.submit(Io::new(IoKind::Write, start, unit));
                host.steps(rng.below(4));
            }
            let before = flushes(&host);
            host.submit(Io::FLUSH);
            while flushes(&host) == before && host.step() {}
        }
        host = host.crashed(rng.bits());
    }
    host.run_until_idle();
    host.audit();
    Work { cuts: u64::from(trial.effort.lives), ..Work::of(&host) }
}

/// Writes and discards a few mapping units again and again, and cuts the power while the records of discards are
/// programmed: discarded units must stay discarded, and units written since must be there.
pub(super) fn cuts_among_discards(trial: &Trial<'_>) -> Work {
    if trial.resolved.ftl.discard != DiscardSpec::Durable {
        return Work::default();
    }
    let mut host = trial.filled();
    let mut rng = Rng::stream(trial.seed, "conformance.discards");
    let unit = host.ssd().discard_granularity();
    for _ in 0..trial.effort.lives {
        for _ in 0..1 + rng.below(2 * LIFE) {
            let kind = if rng.chance(0.5) { IoKind::Write } else { IoKind::Discard };
            let start = Lba::new(rng.below(2 * LIFE) * unit.get());
            host.submit(Io::new(kind, start, Sectors::new(unit.get() * (1 + rng.below(2)))));
            host.steps(rng.below(6));
        }
        // A record may be newer than a write that ends after it, so half of the cuts wait until all requests have
        // ended.
        if rng.chance(0.5) {
            host.run_until_idle();
        } else if let Some(middle) = host.middle().filter(|_| rng.chance(0.5)) {
            host.advance(middle);
        }
        host = host.crashed(rng.bits());
    }
    host.run_until_idle();
    host.audit();
    Work { cuts: u64::from(trial.effort.lives), ..Work::of(&host) }
}

fn cut_everywhere(trial: &Trial<'_>, mut host: Host) -> Work {
    let (capacity, stride) = (trial.capacity(), stride(trial));
    let mut cutter = Cutter { seed: trial.seed, capacity, stride, moments: trial.seed, cuts: 0 };
    for line in script::random(trial.seed, trial.capacity(), trial.effort.cut_requests) {
        host.submit(line.io);
        for _ in 0..line.events {
            cutter.step(&mut host);
        }
    }
    while cutter.step(&mut host) {}
    host.run_until_idle();
    host.audit();
    assert!(host.ssd().counters().flash.op(Op::Program).commands > 0, "nothing was programmed");
    Work { cuts: cutter.cuts, ..Work::of(&host) }
}

struct Cutter {
    seed: u64,
    capacity: u64,
    stride: u64,
    moments: u64,
    cuts: u64,
}

impl Cutter {
    /// Advances to the next event, with a cut half-way to the event and another cut at the event. Returns false if
    /// nothing is under way.
    fn step(&mut self, host: &mut Host) -> bool {
        if let Some(middle) = host.middle() {
            // No event lies before the middle, so the drive itself can advance to it.
            host.advance(middle);
            self.cut(host);
        }
        let more = host.step();
        if more {
            self.cut(host);
        }
        more
    }

    fn cut(&mut self, host: &Host) {
        self.moments += 1;
        if !self.moments.is_multiple_of(self.stride) {
            return;
        }
        self.cuts += 1;
        let mut rng = Rng::stream(self.seed ^ self.cuts << 32, "conformance.cut");
        let mut copy = host.crashed(rng.bits());
        let requests = 1 + rng.below(LIFE);
        for _ in 0..requests {
            copy.submit(requests::draw(&mut rng, self.capacity));
            copy.steps(rng.below(8));
        }
        self.cuts += 1;
        let mut copy = copy.crashed(rng.bits());
        // The recovered drive must still work.
        copy.submit(requests::draw(&mut rng, self.capacity));
        copy.run_until_idle();
        copy.audit();
    }
}
