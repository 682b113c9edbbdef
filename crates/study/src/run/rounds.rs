//! The rounds of a warm-up that lasts until the drive is in steady state.

use base::units::{Sectors, Time};
use flash::backend::Op;
use ssd::Counters;

use super::result::write_amplification;
use super::rules::Steady;
use super::target::{CompletionSums, RunTarget};
use crate::steady::{Round, SteadyResult, Verdict};

/// The rounds of a warm-up so far.
#[derive(Debug)]
pub(super) struct Rounds {
    rule: Steady,
    capacity: Sectors,
    done: Vec<Round>,
    /// The counters and sums at the end of the last round.
    from: Counters,
    moved: CompletionSums,
    /// The end of the current round.
    target: RunTarget,
}

/// The numbers of a round, between two snapshots of the counters. In it `requests` reads and writes succeeded, whose
/// latencies add up to `latency_ps` picoseconds.
pub(crate) fn part(from: &Counters, to: &Counters, requests: u64, latency_ps: u128) -> Round {
    let flash = to.flash.since(&from.flash);
    let commands = |op| flash.op(op).commands;
    let span_s = (to.at - from.at).as_secs_f64();
    Round {
        requests,
        span_s,
        rate: if span_s > 0.0 { requests as f64 / span_s } else { 0.0 },
        waf: write_amplification(from, to),
        latency_us: latency_ps as f64 * 1e-6 / requests.max(1) as f64,
        programs: commands(Op::Program) + commands(Op::CopyBack),
        erases: commands(Op::Erase),
    }
}

impl Rounds {
    pub(super) fn new(rule: Steady, capacity: Sectors, from: Counters) -> Self {
        let target = RunTarget::new(rule.round, from.at, capacity);
        Self { rule, capacity, done: Vec::new(), from, moved: CompletionSums::default(), target }
    }

    /// The time at which the current round ends, if its length is a time.
    pub(super) const fn due(&self) -> Time {
        self.target.at
    }

    /// True if the current round is over.
    pub(super) fn is_over(&self, moved: CompletionSums, now: Time) -> bool {
        self.target.is_reached(moved.since(self.moved), now)
    }

    /// Ends the round and begins the next. Returns true if the warm-up is over.
    pub(super) fn next(&mut self, moved: CompletionSums, counters: Counters) -> bool {
        let CompletionSums { served, latency_ps, .. } = moved.since(self.moved);
        self.done.push(part(&self.from, &counters, served, latency_ps));
        self.target = RunTarget::new(self.rule.round, counters.at, self.capacity);
        (self.from, self.moved) = (counters, moved);
        self.verdict().is_steady() || self.done.len() >= self.rule.at_most as usize
    }

    fn verdict(&self) -> Verdict {
        Verdict::of(&self.done, self.rule.metric)
    }

    pub(super) fn end(self) -> SteadyResult {
        SteadyResult { metric: self.rule.metric, verdict: self.verdict(), rounds: self.done }
    }
}
