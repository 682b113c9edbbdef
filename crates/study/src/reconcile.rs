//! Checks that the counters of a run agree.
//!
//! Numbers that are counted at two places must be equal; a run with a contradiction has no result. Every check has a
//! name and prints both numbers.

use std::fmt;

use base::io::IoKind;
use base::units::Span;
use flash::backend::{Cause, Op, Tally};
use ssd::{Counters, Status};

use crate::run::{FlowResult, RunResult, since};

/// The required relation of two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// The left number equals the right one.
    Equal,
    /// The left number does not exceed the right one.
    AtMost,
}

/// A relation between two numbers that are counted independently, with its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// The compared numbers, in words.
    pub name: &'static str,
    /// Number on the left of the relation.
    pub left: u128,
    /// The relation that must hold between the two numbers.
    pub relation: Relation,
    /// Number on the right of the relation.
    pub right: u128,
}

impl Check {
    /// True if the numbers agree.
    #[must_use]
    pub const fn holds(&self) -> bool {
        match self.relation {
            Relation::Equal => self.left == self.right,
            Relation::AtMost => self.left <= self.right,
        }
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let relation = match (self.relation, self.holds()) {
            (Relation::Equal, true) => "=",
            (Relation::Equal, false) => "is not",
            (Relation::AtMost, true) => "<=",
            (Relation::AtMost, false) => "exceeds",
        };
        write!(f, "{}: {} {relation} {}", self.name, self.left, self.right)
    }
}

/// The failed checks of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedChecks(pub Vec<Check>);

impl fmt::Display for FailedChecks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the counters of the run do not reconcile")?;
        self.0.iter().try_for_each(|check| write!(f, "\n  {check}"))
    }
}

impl std::error::Error for FailedChecks {}

/// All checks of a run. Checks that need an idle device run only if the run waited for the end of background work
/// and it ended.
#[must_use]
pub fn checks(result: &RunResult) -> Vec<Check> {
    let mut book = Book(Vec::new());
    let counted = result.counters();
    book.requests(result, &counted);
    book.flows(result);
    book.times(result, &counted);
    if let Some(settled) = &result.settled {
        // Checked only from idle to idle, because commands in flight are counted in part.
        book.at_rest(&since(settled, &result.at_rest));
    }
    book.0
}

/// Makes all checks.
///
/// # Errors
/// The failed checks.
pub fn reconcile(result: &RunResult) -> Result<(), FailedChecks> {
    let failed: Vec<_> = checks(result).into_iter().filter(|check| !check.holds()).collect();
    if failed.is_empty() { Ok(()) } else { Err(FailedChecks(failed)) }
}

struct Book(Vec<Check>);

impl Book {
    fn equal(&mut self, name: &'static str, left: impl Into<u128>, right: impl Into<u128>) {
        self.0.push(Check { name, left: left.into(), relation: Relation::Equal, right: right.into() });
    }

    fn at_most(&mut self, name: &'static str, left: impl Into<u128>, right: impl Into<u128>) {
        self.0.push(Check { name, left: left.into(), relation: Relation::AtMost, right: right.into() });
    }

    /// Compares the run's numbers with the device's counters.
    fn requests(&mut self, result: &RunResult, counted: &Counters) {
        self.equal("requests submitted and completed", result.submitted, result.completed);
        let by_status: u64 = Status::ALL.into_iter().map(|status| result.with_status(status)).sum();
        self.equal("requests completed and the sum over their outcomes", result.completed, by_status);
        const REQUESTS: [&str; IoKind::COUNT] = [
            "reads that succeeded, as seen by the host and by the device",
            "writes that succeeded, as seen by the host and by the device",
            "flushes that succeeded, as seen by the host and by the device",
            "discards that succeeded, as seen by the host and by the device",
            "appends that succeeded, as seen by the host and by the device",
            "zone opens that succeeded, as seen by the host and by the device",
            "zone closes that succeeded, as seen by the host and by the device",
            "zone finishes that succeeded, as seen by the host and by the device",
            "zone resets that succeeded, as seen by the host and by the device",
            "zone opens with ZRWA that succeeded, as seen by the host and by the device",
            "ZRWA flushes that succeeded, as seen by the host and by the device",
            "handle updates that succeeded, as seen by the host and by the device",
        ];
        const FAILED: [&str; IoKind::COUNT] = [
            "reads that failed, as seen by the host and by the device",
            "writes that failed, as seen by the host and by the device",
            "flushes that failed, as seen by the host and by the device",
            "discards that failed, as seen by the host and by the device",
            "appends that failed, as seen by the host and by the device",
            "zone opens that failed, as seen by the host and by the device",
            "zone closes that failed, as seen by the host and by the device",
            "zone finishes that failed, as seen by the host and by the device",
            "zone resets that failed, as seen by the host and by the device",
            "zone opens with ZRWA that failed, as seen by the host and by the device",
            "ZRWA flushes that failed, as seen by the host and by the device",
            "handle updates that failed, as seen by the host and by the device",
        ];
        const SECTORS: [&str; IoKind::COUNT] = [
            "sectors read, as seen by the host and by the device",
            "sectors written, as seen by the host and by the device",
            "sectors flushed, as seen by the host and by the device",
            "sectors discarded, as seen by the host and by the device",
            "sectors appended, as seen by the host and by the device",
            "sectors of zone opens, as seen by the host and by the device",
            "sectors of zone closes, as seen by the host and by the device",
            "sectors of zone finishes, as seen by the host and by the device",
            "sectors of zone resets, as seen by the host and by the device",
            "sectors of zone opens with ZRWA, as seen by the host and by the device",
            "sectors of ZRWA flushes, as seen by the host and by the device",
            "sectors of handle updates, as seen by the host and by the device",
        ];
        for kind in IoKind::ALL {
            let (i, seen) = (kind as usize, result.kind(kind));
            self.equal(REQUESTS[i], seen.latency.count(), counted.requests[i]);
            self.equal(FAILED[i], seen.failed(), counted.failed[i]);
            self.equal(SECTORS[i], seen.sectors.get(), counted.sectors[i]);
            // Queue wait and service are the two parts of a latency, to the picosecond.
            self.equal(
                "latency and the sum of queue wait and service, in ps",
                seen.latency.sum_ps(),
                seen.queue_wait.sum_ps() + seen.service.sum_ps(),
            );
        }
    }

    /// Compares the flows with the run as a whole.
    fn flows(&mut self, result: &RunResult) {
        if result.flows.is_empty() {
            return;
        }
        let sum = |of: fn(&FlowResult) -> u64| result.flows.iter().map(of).sum::<u64>();
        self.equal("requests submitted by all flows and in the run", sum(|flow| flow.submitted), result.submitted);
        self.equal("requests completed of all flows and of the run", sum(|flow| flow.completed), result.completed);
        for kind in IoKind::ALL {
            let each = || result.flows.iter().map(|flow| flow.kind(kind));
            let all = result.kind(kind);
            let sectors: u64 = each().map(|of| of.sectors.get()).sum();
            self.equal("sectors of one kind of request of all flows and of the run", sectors, all.sectors.get());
            let latency: u128 = each().map(|of| of.latency.sum_ps()).sum();
            self.equal("latencies of one kind of request of all flows and of the run", latency, all.latency.sum_ps());
        }
    }

    /// Checks that no part is busy for longer than the run.
    fn times(&mut self, result: &RunResult, counted: &Counters) {
        let span = (result.after.at - result.before.at).as_ps();
        let longest = |busy: &[Span]| busy.iter().map(|busy| busy.as_ps()).max().unwrap_or(0);
        self.at_most("busiest channel and the span of the run, in ps", longest(&counted.channel_busy), span);
        self.at_most("busiest die and the span of the run, in ps", longest(&counted.die_busy), span);
        if !counted.plane_busy.is_empty() {
            self.at_most("busiest plane and the span of the run, in ps", longest(&counted.plane_busy), span);
        }
        self.at_most("busiest controller and the span of the run, in ps", longest(&counted.controller_busy), span);
        self.at_most("busiest decoder and the span of the run, in ps", longest(&counted.decoder_busy), span);
        if let Some(second) = &counted.slc_array {
            self.at_most("SLC flash and the span of the run, in ps", longest(&second.die_busy), span);
        }
        if let Some(map) = &counted.map {
            self.at_most("busiest part of the map unit and the span of the run, in ps", longest(&map.busy), span);
        }
        self.at_most("RAM and the span of the run, in ps", counted.ram_busy.as_ps(), span);
        self.at_most("processor and the span of the run, in ps", counted.processor_busy.as_ps(), span);
    }

    /// Checks an idle device, in which every command that started has been counted.
    fn at_rest(&mut self, counted: &Counters) {
        let all = Op::ALL.into_iter().fold(Tally::default(), |mut sum, op| {
            sum += counted.flash.op(op);
            sum
        });
        let total = |busy: &[Span]| busy.iter().map(|busy| u128::from(busy.as_ps())).sum::<u128>();
        let (dies, planes) = (total(&counted.die_busy), total(&counted.plane_busy));
        let array = u128::from(all.array.as_ps());
        if counted.plane_busy.is_empty() {
            self.equal("time of all dies and array time of all commands, in ps", dies, array);
        } else {
            // The time of a die is a share of that of its planes, rounded for each die.
            let of_die = (counted.plane_busy.len() / counted.die_busy.len()) as u128;
            let apart = (dies + planes).abs_diff(array + planes / of_die);
            let name = "time of all dies and planes beside array time of all commands, in ps";
            self.at_most(name, apart, counted.die_busy.len() as u128);
        }
        self.equal(
            "time of all channels and bus time of all commands, in ps",
            total(&counted.channel_busy),
            all.bus.as_ps(),
        );
        self.equal(
            "time of all decoders and decoding time of all commands, in ps",
            total(&counted.decoder_busy),
            all.decode.as_ps(),
        );
        if let Some(errors) = &counted.errors {
            let retries: u64 = (0..).zip(&errors.by_retries).map(|(retries, reads)| retries * reads).sum();
            self.equal("retries of all reads, as drawn and as they were read", retries, all.retries);
            let reads: u64 = errors.by_retries.iter().sum();
            self.at_most("reads by their retries, and read commands", reads, counted.flash.op(Op::Read).commands);
        }
        if let Some(second) = &counted.slc_array {
            let all = Op::ALL.into_iter().fold(Tally::default(), |mut sum, op| {
                sum += second.flash.op(op);
                sum
            });
            self.equal(
                "time of the SLC flash and array time of its commands, in ps",
                total(&second.die_busy),
                all.array.as_ps(),
            );
            self.equal(
                "time of its bus and bus time of its commands, in ps",
                total(&second.channel_busy),
                all.bus.as_ps(),
            );
        }
        if let (Some(slc_mlc), Some(second)) = (&counted.slc_mlc, &counted.slc_array) {
            // After a failed program, the drive programs the sectors again.
            let programmed = second.flash.of(Op::Program, Cause::Host).slots;
            self.at_most("sectors taken by the SLC flash, and programmed there", slc_mlc.slc_sectors, programmed);
        }
        if let Some(map) = &counted.map {
            // A translation page that was never written is loaded without a flash read.
            let read = counted.flash.of(Op::Read, Cause::Map).commands;
            self.at_most("translation pages read from flash and loaded by the map unit", read, map.loads);
        }
        if let Some(merges) = &counted.log_merges {
            // After a failed program, the drive programs the page again.
            let programmed = counted.flash.of(Op::Program, Cause::Merge).slots;
            let copied = merges.partial_pages + merges.full_pages;
            self.at_most("pages copied by merges, and programmed for them", copied, programmed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::Blank;
    use crate::run::Rules;
    use crate::testing::{settled, two_flows};
    use testkit::{Bug, List, small};
    use workload::Pacing;

    #[test]
    fn the_counters_of_a_correct_drive_reconcile() {
        let result = settled(small::mixed());
        assert_eq!(reconcile(&result), Ok(()));
        assert!(checks(&result).len() > 15);
    }

    #[test]
    fn flows_that_do_not_add_up_to_the_run_are_refused() {
        let mut result = two_flows();
        assert_eq!(reconcile(&result), Ok(()));
        result.flows.pop();
        let text = reconcile(&result).expect_err("one is missing").to_string();
        assert!(text.contains("requests completed of all flows and of the run: 1000 is not 1500"), "{text}");
    }

    #[test]
    fn a_drive_that_miscounts_is_refused() {
        let mut source = List::cycle(&[IoKind::Write], 100, 8, 256, 0, Pacing::Closed { depth: 1 });
        let rules = Rules::settle(Span::from_secs(1));
        let mut drive = small::four_servers().with(Bug::Miscounts);
        let result = rules.run(&mut drive, &mut source, &mut Blank).expect("it runs");
        let text = reconcile(&result).expect_err("it miscounts").to_string();
        assert!(text.contains("time of all dies and array time of all commands, in ps: 5000000000 is not"), "{text}");
    }
}
