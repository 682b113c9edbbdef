//! A second, deliberately simple model of an SSD, to hold the engine against.
//!
//! Everything here is next-available-time arithmetic: a bus and a link are the time at which they are free next, a
//! bank is a queue with a cursor into the request it works on, and the loop takes whoever needs something earliest,
//! by looking at all of them. There are no events, no handles and no classes, and no code is shared with
//! `flash::backend` or `ssd`: only the types of `base::units` and `base::io`. Where both say the same, the same
//! mistake has been made twice or none at all.
//!
//! **The rules**, in the terms of Dirik and Jacob. The N-th write request goes to bank N mod x, channels counting
//! fastest, and takes the next pages of that bank; with a gang of g pages it begins a new row, because an array
//! operation covers one. A read asks every bank that holds some of its pages for them, and one operation brings
//! what lies in one row. A bank works on one request at a time, in the order of their coming. A page to write
//! crosses the bus with its command and then takes tPROG; a page to read takes its command, tR, and then the bus. In
//! cache mode the pages of a request in one block overlap: a page crosses the bus while the one before is programmed;
//! a page is read, its command sent before the data of the one before, while that data crosses the bus. A page read
//! in such a row takes the register copy in addition. A write's data crosses the link first, a read's last, all at
//! once, and the link carries one request at a time.
//!
//! **What it leaves out**, and is therefore compared without:
//! * Garbage collection, bad blocks, buffer, chopped requests, shared and missing units, priorities.
//! * Requests that overlap one under way: the host orders those.
//! * Writes of a part of a mapping unit: they read first.
//! * A register copy of cache-mode programs. No part with a published one is fast enough for it to show.
//! * Ties. Of two banks that ask for a bus at the same instant, the engine serves the one whose event was scheduled
//!   first. Here the one whose last wait began first is served, and of equals the one that was looked at first:
//!   mostly the same, but a chain of ties (one that decides another) can come out the other way. Ties are counted.

mod bank;

use base::io::{Io, IoKind};
use base::units::{Rate, Span, Time};

use bank::{Bank, Grant, Part};

/// An SSD in numbers.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Buses.
    pub channels: usize,
    /// Banks on each of them.
    pub banks: usize,
    /// Pages that one array operation covers.
    pub gang: u64,
    /// Rows of so many pages in a block.
    pub rows: u64,
    /// Sectors of a page.
    pub sectors: u64,
    /// tR.
    pub read: Span,
    /// tPROG.
    pub program: Span,
    /// The register copy of a page read in cache mode; `None` without cache mode.
    pub cache: Option<Span>,
    /// Command and address cycles.
    pub command: Span,
    /// A page on the bus.
    pub transfer: Span,
    /// Bytes per second of the link; `None` if data costs no time.
    pub link: Option<Rate>,
    /// Time of a request on the link besides its data.
    pub overhead: Span,
}

/// When requests come.
#[derive(Clone, Copy, Debug)]
pub enum Pace<'a> {
    /// The next as soon as one is done, so many at a time.
    Closed(usize),
    /// At these times; the device works on so many at once and lets the others wait.
    Open(&'a [Time], usize),
}

/// When a request came and when it was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    /// Its arrival.
    pub arrival: Time,
    /// Its end.
    pub end: Time,
}

/// The model: where every page is, and the time.
#[derive(Clone, Debug)]
pub struct Model {
    shape: Shape,
    /// Bank and page of each page that has been written.
    map: Vec<Option<(usize, u64)>>,
    writes: usize,
    /// The next page of each bank.
    next: Vec<u64>,
    now: Time,
    ties: u64,
}

/// A run in progress.
struct Run<'a> {
    requests: &'a [Io],
    served: Vec<Served>,
    /// Parts of each request that banks have not finished, and the latest end of those that are.
    parts: Vec<(usize, Time)>,
    banks: Vec<Bank>,
    buses: Vec<Time>,
    link: Time,
    /// Requests that want the link, since when.
    wanting: Vec<(Time, usize)>,
    /// Writes whose data will have crossed the link.
    coming: Vec<(Time, usize)>,
    /// Places in the device: when each is free, unless a request is in it.
    places: Vec<Option<Time>>,
    /// The place of each request.
    place: Vec<usize>,
    /// Counts what is done to banks.
    number: u64,
}

impl Model {
    /// A new device of so many pages as the host sees them.
    #[must_use]
    pub fn new(shape: Shape, pages: usize) -> Self {
        let banks = shape.channels * shape.banks;
        Self { shape, map: vec![None; pages], writes: 0, next: vec![0; banks], now: Time::ZERO, ties: 0 }
    }

    /// How often it had to choose between equals so far: as long as it had not, there is only one right answer.
    #[must_use]
    pub const fn ties(&self) -> u64 {
        self.ties
    }

    /// Serves the requests, in order, from the time on at which the device was last idle.
    ///
    /// # Panics
    /// If a page is read that has not been written, or a request is neither a read nor a write.
    pub fn run(&mut self, requests: &[Io], pace: Pace<'_>) -> Vec<Served> {
        let (depth, arrivals) = match pace {
            Pace::Closed(depth) => (depth, None),
            Pace::Open(arrivals, depth) => (depth, Some(arrivals)),
        };
        let mut run = Run {
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
            // What has come goes as far as it can before the next request comes.
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

    /// A request gets a place in the device.
    fn take(&mut self, run: &mut Run<'_>, at: Time, place: usize, arrivals: Option<&[Time]>) {
        let request = run.served.len();
        let arrival = arrivals.map_or(at, |arrivals| arrivals[request]);
        run.served.push(Served { arrival, end: at });
        run.parts.push((0, at));
        run.place.push(place);
        run.places[place] = None;
        match run.requests[request].kind {
            IoKind::Read => self.hand_out(run, at, request),
            IoKind::Write => run.wanting.push((at, request)),
            IoKind::Flush | IoKind::Discard => panic!("only reads and writes are modelled"),
        }
    }

    /// A request's turn on the link.
    fn carry(&self, run: &mut Run<'_>, at: Time, request: usize) {
        let io = run.requests[request];
        let data = self.shape.link.map_or(Span::ZERO, |rate| rate.time(io.sectors.bytes()));
        let end = run.link.max(at) + self.shape.overhead + data;
        run.link = end;
        match io.kind {
            IoKind::Write => run.coming.push((end, request)),
            _ => run.end(request, end),
        }
    }

    /// A request is cut into what each bank does for it.
    fn hand_out(&mut self, run: &mut Run<'_>, at: Time, request: usize) {
        let io = run.requests[request];
        let pages =
            (io.start.get() / self.shape.sectors) as usize..io.end().get().div_ceil(self.shape.sectors) as usize;
        let mut parts: Vec<(usize, Part)> = Vec::new();
        if io.kind == IoKind::Write {
            self.writes += 1;
            let counted = self.writes % self.next.len();
            // The N-th bank is on channel N mod c.
            let bank = counted % self.shape.channels * self.shape.banks + counted / self.shape.channels;
            let mut part = Part::new(request, at, true);
            // An array operation covers a row, whatever is in it.
            self.next[bank] = self.next[bank].next_multiple_of(self.shape.gang);
            for page in pages {
                part.add(self.next[bank], &self.shape);
                self.map[page] = Some((bank, self.next[bank]));
                self.next[bank] += 1;
            }
            parts.push((bank, part));
        } else {
            for page in pages {
                let (bank, at_bank) = self.map[page].expect("only what has been written is read");
                let i = parts.iter().position(|(other, _)| *other == bank).unwrap_or_else(|| {
                    parts.push((bank, Part::new(request, at, false)));
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

    /// A bank's turn on its bus.
    fn grant(&self, run: &mut Run<'_>, bank: usize) {
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

impl Run<'_> {
    /// When the next request can be taken, and the place for it.
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
