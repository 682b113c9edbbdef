//! A second, deliberately simple model of an SSD, to compare the engine with.
//!
//! The model is next-available-time arithmetic. A bus and a link are each the time at which they are next free. A bank
//! is a queue with a cursor into its current request. The loop scans all of them and serves the earliest need. There
//! are no events, no handles and no classes, and the model shares no code with `flash::backend` or `ssd`: only the
//! types of `base::units` and `base::io`. Where both agree, either both have the same mistake or none.
//!
//! **The rules**, in the terms of Dirik and Jacob. The N-th write request goes to bank N mod x, channels counting
//! fastest, and takes the next pages of that bank; with a gang of g pages it begins a new row, because an array
//! operation covers one row. A read asks every bank that holds some of its pages, and one operation brings the pages of
//! one row. A bank works on one request at a time, in the order of arrival. A page to write crosses the bus with its
//! command and then takes tPROG; a page to read takes its command, tR, and then the bus. In cache mode the pages of a
//! request in one block overlap: a page crosses the bus while the page before is programmed; a page is read while the
//! data of the page before crosses the bus, and its command goes ahead of that data. A page read in such a row takes
//! the register copy in addition. A write's data crosses the link first, a read's last, all at once, and the link
//! carries one request at a time.
//!
//! **The model leaves out**, and the comparison avoids:
//! * Garbage collection, bad blocks, buffer, chopped requests, shared and missing controllers, priorities.
//! * Requests that overlap one under way: the host orders those.
//! * Writes of a part of a mapping unit: they read first.
//! * A register copy of cache-mode programs. No part with a published one is fast enough for it to show.
//! * Ties. If two banks ask for a bus at the same instant, the engine serves the one whose event was scheduled first.
//!   The model serves the one whose last wait began first, and of equals the first one scanned: mostly the same, but a
//!   chain of ties (one that decides another) can come out the other way. The model counts ties.

mod bank;

use base::io::{Io, IoKind};
use base::units::{Rate, Span, Time};

use bank::{Bank, BankPart, Grant};

/// The dimensions and times of an SSD in the terms of Dirik and Jacob.
#[derive(Clone, Debug)]
pub struct Shape {
    /// The number of buses.
    pub channels: usize,
    /// The number of banks on each bus.
    pub banks: usize,
    /// The number of pages that one array operation covers.
    pub gang: u64,
    /// The number of rows in a block.
    pub rows: u64,
    /// The number of sectors of a page.
    pub sectors: u64,
    /// Time of an array read (tR).
    pub read: Span,
    /// Time of a program (tPROG).
    pub program: Span,
    /// Time of the register copy of a page read in cache mode; `None` without cache mode.
    pub cache: Option<Span>,
    /// Time of the command and address cycles on the bus.
    pub command: Span,
    /// Time of a page on the bus.
    pub transfer: Span,
    /// Rate of the link; `None` if data takes no time.
    pub link: Option<Rate>,
    /// Time of a request on the link in addition to its data.
    pub overhead: Span,
}

/// The rule for arrivals.
#[derive(Clone, Copy, Debug)]
pub enum Pace<'a> {
    /// Closed loop: this number of requests is outstanding, and each completion lets the next request arrive.
    Closed(usize),
    /// Arrivals at these times; the device works on this number at once, and the others wait.
    Open(&'a [Time], usize),
}

/// The arrival and the end of a served request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestTimes {
    /// Time at which the request arrived.
    pub arrival: Time,
    /// Time at which the request completed.
    pub end: Time,
}

/// The state of the modelled SSD: the bank and the position of every page, and the time.
#[derive(Clone, Debug)]
pub struct Model {
    shape: Shape,
    /// Bank and position in the bank of each page that has been written.
    map: Vec<Option<(usize, u64)>>,
    writes: usize,
    /// The next free position of each bank.
    next: Vec<u64>,
    now: Time,
    ties: u64,
}

struct ModelRun<'a> {
    requests: &'a [Io],
    served: Vec<RequestTimes>,
    /// For each request, the number of parts that banks have not finished, and the latest end of the finished parts.
    parts: Vec<(usize, Time)>,
    banks: Vec<Bank>,
    buses: Vec<Time>,
    link: Time,
    /// Requests that wait for the link, each with the start of its wait.
    wanting: Vec<(Time, usize)>,
    /// Writes whose data is on the link, each with the end of its transfer.
    coming: Vec<(Time, usize)>,
    /// For each place in the device, the time since when it is free; `None` if a request has it.
    places: Vec<Option<Time>>,
    /// The place of each request in the device.
    place: Vec<usize>,
    /// The number of operations on banks so far, which numbers the next operation.
    number: u64,
}

impl Model {
    /// Creates a new device of `pages` host pages.
    #[must_use]
    pub fn new(shape: Shape, pages: usize) -> Self {
        let banks = shape.channels * shape.banks;
        Self { shape, map: vec![None; pages], writes: 0, next: vec![0; banks], now: Time::ZERO, ties: 0 }
    }

    /// The number of choices between equal candidates so far; with none, only one answer is right.
    #[must_use]
    pub const fn ties(&self) -> u64 {
        self.ties
    }

    /// Serves the requests in order; time continues from the end of the last run.
    ///
    /// # Panics
    /// If a page is read that has not been written, or a request is neither a read nor a write.
    pub fn run(&mut self, requests: &[Io], pace: Pace<'_>) -> Vec<RequestTimes> {
        let (depth, arrivals) = match pace {
            Pace::Closed(depth) => (depth, None),
            Pace::Open(arrivals, depth) => (depth, Some(arrivals)),
        };
        let mut run = ModelRun {
            requests,
            served: Vec::new(),
            parts: Vec::new(),
            banks: vec![Bank::new(self.now); self.next.len()],
            buses: vec![self.now; self.shape.channels],
            link: self.now,
            wanting: Vec::new(),
            coming: Vec::new(),
            places: vec![Some(self.now); depth],
            place: Vec::new(),
            number: 0,
        };
        loop {
            let host = run.host(arrivals);
            let reach = (0..run.coming.len()).min_by_key(|i| run.coming[*i]).map(|i| (run.coming[i].0, i));
            let link = (0..run.wanting.len()).min_by_key(|i| run.wanting[*i]).map(|i| (run.wanting[i].0, i));
            let bank = (0..run.banks.len())
                .filter_map(|i| run.banks[i].need().map(|need| (need, i)))
                .min()
                .map(|((ready, ..), i)| (ready, i));
            let Some(earliest) = [host, reach, link, bank].into_iter().flatten().map(|(at, _)| at).min() else { break };
            let due = |need: Option<(Time, usize)>| need.filter(|(at, _)| *at == earliest).map(|(_, i)| i);
            self.ties += u64::from(due(reach).is_some() && due(host).is_some());
            // Data that has crossed the link goes on before the next request comes in.
            if let Some(i) = due(reach) {
                let (_, request) = run.coming.swap_remove(i);
                self.hand_out(&mut run, earliest, request);
            } else if let Some(i) = due(link) {
                let (_, request) = run.wanting.swap_remove(i);
                self.ties += u64::from(run.wanting.iter().any(|(ready, _)| *ready == earliest));
                self.carry(&mut run, earliest, request);
            } else if let Some(place) = due(host) {
                self.take(&mut run, earliest, place, arrivals);
            } else if let Some(i) = due(bank) {
                let first = i / self.shape.banks * self.shape.banks;
                let on_bus = run.banks[first..first + self.shape.banks].iter().filter_map(Bank::need);
                self.ties += u64::from(on_bus.filter(|(ready, ..)| *ready == earliest).count() > 1);
                self.grant(&mut run, i);
            }
        }
        assert_eq!(run.served.len(), requests.len(), "all are served");
        self.now = run.served.iter().map(|served| served.end).fold(self.now, Time::max);
        run.served
    }

    /// Moves a request into a place in the device.
    fn take(&mut self, run: &mut ModelRun<'_>, at: Time, place: usize, arrivals: Option<&[Time]>) {
        let request = run.served.len();
        let arrival = arrivals.map_or(at, |arrivals| arrivals[request]);
        run.served.push(RequestTimes { arrival, end: at });
        run.parts.push((0, at));
        run.place.push(place);
        run.places[place] = None;
        match run.requests[request].kind {
            IoKind::Read => self.hand_out(run, at, request),
            IoKind::Write => run.wanting.push((at, request)),
            kind => panic!("only reads and writes are modelled, and no {}", kind.name()),
        }
    }

    /// Serves a request on the link.
    fn carry(&self, run: &mut ModelRun<'_>, at: Time, request: usize) {
        let io = run.requests[request];
        let data = self.shape.link.map_or(Span::ZERO, |rate| rate.time(io.sectors.bytes()));
        let end = run.link.max(at) + self.shape.overhead + data;
        run.link = end;
        match io.kind {
            IoKind::Write => run.coming.push((end, request)),
            _ => run.end(request, end),
        }
    }

    /// Splits a request into one part per bank.
    fn hand_out(&mut self, run: &mut ModelRun<'_>, at: Time, request: usize) {
        let io = run.requests[request];
        let pages =
            (io.start.get() / self.shape.sectors) as usize..io.end().get().div_ceil(self.shape.sectors) as usize;
        let mut parts: Vec<(usize, BankPart)> = Vec::new();
        if io.kind == IoKind::Write {
            self.writes += 1;
            let counted = self.writes % self.next.len();
            // The N-th bank is on channel N mod c.
            let bank = counted % self.shape.channels * self.shape.banks + counted / self.shape.channels;
            let mut part = BankPart::new(request, at, true);
            // An array operation covers a whole row, so a write begins a new row.
            self.next[bank] = self.next[bank].next_multiple_of(self.shape.gang);
            for page in pages {
                part.add(self.next[bank], &self.shape);
                self.map[page] = Some((bank, self.next[bank]));
                self.next[bank] += 1;
            }
            parts.push((bank, part));
        } else {
            for page in pages {
                let (bank, at_bank) = self.map[page].expect("a read covers written pages only");
                let i = parts.iter().position(|(other, _)| *other == bank).unwrap_or_else(|| {
                    parts.push((bank, BankPart::new(request, at, false)));
                    parts.len() - 1
                });
                parts[i].1.add(at_bank, &self.shape);
            }
        }
        run.parts[request].0 = parts.len();
        for (bank, part) in parts {
            run.number += 1;
            run.banks[bank].push(part, run.number, &self.shape);
        }
    }

    /// Serves the need of a bank for its bus.
    fn grant(&self, run: &mut ModelRun<'_>, bank: usize) {
        let bus = &mut run.buses[bank / self.shape.banks];
        run.number += 1;
        let Grant { until, ended } = run.banks[bank].grant(*bus, run.number, &self.shape);
        *bus = until;
        let Some((request, end)) = ended else { return };
        let (left, latest) = &mut run.parts[request];
        *left -= 1;
        *latest = end.max(*latest);
        let (left, latest) = (*left, *latest);
        if left > 0 {
            return;
        }
        match run.requests[request].kind {
            IoKind::Read => run.wanting.push((latest, request)),
            _ => run.end(request, latest),
        }
    }
}

impl ModelRun<'_> {
    /// The time at which the next request can enter the device, and its place.
    fn host(&self, arrivals: Option<&[Time]>) -> Option<(Time, usize)> {
        let next = self.served.len();
        if next == self.requests.len() {
            return None;
        }
        let arrival = arrivals.map_or(Time::ZERO, |arrivals| arrivals[next]);
        let (free, place) = (0..self.places.len()).filter_map(|i| self.places[i].map(|free| (free, i))).min()?;
        Some((free.max(arrival), place))
    }

    fn end(&mut self, request: usize, at: Time) {
        self.served[request].end = at;
        self.places[self.place[request]] = Some(at);
    }
}

#[cfg(test)]
mod tests;
