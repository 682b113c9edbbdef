//! A bank: a queue of parts of requests, and the progress of the first part.

use std::collections::VecDeque;

use base::units::{Span, Time};

use super::Shape;

/// The part of a request that one bank serves: operations on some pages of a row each.
#[derive(Clone, Debug)]
pub(super) struct BankPart {
    request: usize,
    came: Time,
    write: bool,
    /// The row and the number of pages of each operation.
    steps: Vec<(u64, u64)>,
}

impl BankPart {
    pub(super) const fn new(request: usize, came: Time, write: bool) -> Self {
        Self { request, came, write, steps: Vec::new() }
    }

    /// Adds a page of the bank; a page of the row of the last operation joins that operation.
    pub(super) fn add(&mut self, page: u64, shape: &Shape) {
        let row = page / shape.gang;
        match self.steps.last_mut() {
            Some((last, pages)) if *last == row => *pages += 1,
            _ => self.steps.push((row, 1)),
        }
    }

    /// Returns true if the operations `i` and `i + 1` overlap: both are in one block, and the device has cache mode.
    fn overlap(&self, i: usize, shape: &Shape) -> bool {
        let block = |i: usize| self.steps.get(i).map(|(row, _)| row / shape.rows);
        shape.cache.is_some() && block(i).is_some() && block(i) == block(i + 1)
    }

    /// Time of the array read of an operation, with the register copy if a neighbour overlaps it.
    fn read(&self, i: usize, shape: &Shape) -> Span {
        let streams = self.overlap(i, shape) || i.checked_sub(1).is_some_and(|before| self.overlap(before, shape));
        shape.read + shape.cache.filter(|_| streams).unwrap_or_default()
    }
}

/// The next need of the first part in the queue for the bus.
#[derive(Clone, Copy, Debug)]
struct Need {
    /// Time since when the part needs the bus.
    ready: Time,
    /// Time at which the wait for `ready` began. Of equal candidates the earlier `since` wins, then the lower `number`.
    since: Time,
    number: u64,
    /// True if the bus carries only the command of a read.
    command: bool,
}

/// A bank with its queue of parts.
#[derive(Clone, Debug)]
pub(super) struct Bank {
    queue: VecDeque<BankPart>,
    /// Position of the current operation in the first part.
    step: usize,
    need: Option<Need>,
    /// Time at which the previous part ended, and time since when that end was certain.
    free: Time,
    since: Time,
    number: u64,
    /// Time at which the array ends the previous operation.
    array: Time,
}

/// A use of the bus by a bank.
pub(super) struct Grant {
    /// Time at which the bus is free again.
    pub(super) until: Time,
    /// The request whose part this use ends, with the end.
    pub(super) ended: Option<(usize, Time)>,
}

impl Bank {
    pub(super) fn new(now: Time) -> Self {
        Self { queue: VecDeque::new(), step: 0, need: None, free: now, since: now, number: 0, array: now }
    }

    /// Returns the time at which the bank needs the bus, the time since when that has been certain, and the number that
    /// decides between equal times.
    pub(super) fn need(&self) -> Option<(Time, Time, u64)> {
        self.need.map(|need| (need.ready, need.since, need.number))
    }

    /// Queues a part. `number` comes from the count of operations on all banks.
    pub(super) fn push(&mut self, part: BankPart, number: u64, shape: &Shape) {
        self.queue.push_back(part);
        if self.queue.len() == 1 {
            self.number = number;
            self.begin(shape);
        }
    }

    /// Begins the first part.
    fn begin(&mut self, shape: &Shape) {
        let Some(part) = self.queue.front() else { return };
        let (start, since) = if part.came > self.free { (part.came, part.came) } else { (self.free, self.since) };
        self.step = 0;
        self.array = start;
        self.ask(start, since, shape);
    }

    /// Begins the operation `step` at `start`, when no other is under way.
    fn ask(&mut self, start: Time, since: Time, shape: &Shape) {
        let part = &self.queue[0];
        let command = !part.write && !shape.command.is_zero();
        self.need = Some(match part.write || command {
            true => Need { ready: start, since, number: self.number, command },
            false => Need { ready: start + part.read(self.step, shape), since: start, number: self.number, command },
        });
    }

    /// Grants the bus, free from `bus` on, to the bank's need.
    pub(super) fn grant(&mut self, bus: Time, number: u64, shape: &Shape) -> Grant {
        self.number = number;
        let need = self.need.take().expect("the bus is given to a bank that needs it");
        let from = bus.max(need.ready);
        let part = &self.queue[0];
        if need.command {
            let until = from + shape.command;
            self.need = Some(Need { ready: until + part.read(self.step, shape), since: until, number, command: false });
            return Grant { until, ended: None };
        }
        let data = shape.transfer * part.steps[self.step].1;
        let overlap = part.overlap(self.step, shape);
        let last = self.step + 1 == part.steps.len();
        self.step += 1;
        if part.write {
            let until = from + shape.command + data;
            let (start, since) = if until > self.array { (until, from) } else { (self.array, self.since) };
            self.array = start + shape.program;
            self.since = start;
            if last {
                return Grant { until, ended: Some(self.finish(self.array, start, shape)) };
            }
            match overlap {
                true => self.ask(start, since, shape),
                false => self.ask(self.array, start, shape),
            }
            return Grant { until, ended: None };
        }
        if !overlap {
            let until = from + data;
            if last {
                return Grant { until, ended: Some(self.finish(until, from, shape)) };
            }
            self.ask(until, from, shape);
            return Grant { until, ended: None };
        }
        // The next operation begins as soon as this page has left the array. The next command, if it needs one, goes
        // ahead of this page's data. The register for the next page is free when this page's data has been sent.
        let start = if shape.command.is_zero() { need.ready } else { from + shape.command };
        let sent = from + shape.command;
        let until = sent + data;
        let read = start + part.read(self.step, shape);
        let (ready, since) = if read > until { (read, start) } else { (until, sent) };
        self.need = Some(Need { ready, since, number, command: false });
        Grant { until, ended: None }
    }

    /// Ends the first part at `end`, which has been certain since `since`.
    fn finish(&mut self, end: Time, since: Time, shape: &Shape) -> (usize, Time) {
        self.free = end;
        self.since = since;
        let part = self.queue.pop_front().expect("it was the first");
        self.begin(shape);
        (part.request, end)
    }
}
