//! The life of a verified drive: clients with requests that overlap, power cuts, and a read of everything at the end.

use base::engine::Rng;
use verify::VerifyStatus;

use super::super::*;

/// Requests under way at a time.
const DEPTH: usize = 16;

/// The requests that the clients of a drive make.
pub(in super::super) trait ClientLoad {
    /// Power cuts among 200 steps.
    const CUTS: u64;
    /// True if the drive has zones, whose write pointers are compared.
    const HAS_ZONES: bool;
    /// The longest time, in nanoseconds, between two steps.
    const PAUSE_NS: u64;

    /// Submits a request, or a few that belong together.
    fn submit(&mut self, bench: &mut Bench, rng: &mut Rng);

    /// Reads all sectors that the clients use.
    fn read_all(&self, bench: &mut Bench);
}

/// A verified drive and its clients.
pub(in super::super) struct VerifiedLife<L> {
    pub(in super::super) bench: Bench,
    pub(in super::super) rng: Rng,
    load: L,
}

impl<L: ClientLoad> VerifiedLife<L> {
    /// The life of a new drive.
    pub(in super::super) fn new(mut core: Core, rng: Rng, load: L) -> Self {
        core.verify(true);
        Self { bench: Bench::new(core), rng, load }
    }

    pub(in super::super) fn submit(&mut self) {
        self.load.submit(&mut self.bench, &mut self.rng);
    }

    pub(in super::super) fn read_all(&mut self) {
        self.load.read_all(&mut self.bench);
    }

    /// Cuts the power and switches it on; in half of the cases reads everything then.
    pub(in super::super) fn cut(&mut self) {
        self.bench.core.cut_power(self.bench.now, &mut self.bench.answers).expect("it is on");
        self.bench.results();
        self.bench.core.power_on(self.bench.now, &mut self.bench.answers).expect("it is off");
        if self.rng.chance(0.5) {
            self.bench.drain();
            self.read_all();
        }
    }

    /// Runs `steps` steps; returns the violations and the status of the verifier.
    pub(in super::super) fn run(mut self, steps: u32) -> (Vec<String>, VerifyStatus) {
        for _ in 0..steps {
            match self.rng.below(200) {
                step if step < L::CUTS => self.cut(),
                step if step == L::CUTS => {
                    self.bench.core.power_off(self.bench.now, &mut self.bench.answers).expect("it is on");
                    self.bench.core.power_on(self.bench.now, &mut self.bench.answers).expect("it is off");
                }
                step if L::HAS_ZONES && step == L::CUTS + 1 => self.bench.core.check_pointers(),
                ..120 if self.bench.core.outstanding() < DEPTH => self.submit(),
                _ => {
                    let span = Span::from_ns(self.rng.below(L::PAUSE_NS));
                    self.bench.advance(span);
                }
            }
        }
        self.bench.drain();
        self.cut();
        self.bench.drain();
        self.read_all();
        let violations = self.bench.core.take_violations().iter().map(ToString::to_string).collect();
        (violations, self.bench.core.status().verify.expect("it is verified"))
    }
}
