//! The simplest drive: a few servers with equal service times for every request.
//!
//! Its results follow from a formula, with which the tests of runners and observers compare. A test can also plant a
//! bug in the drive, to check that a tool finds it.

use std::collections::{BTreeMap, VecDeque};

use base::engine::EventHash;
use base::io::IoKind;
use base::units::{Sectors, Span, Time};
use flash::backend::{Account, Cause, CauseSet, Op};
use ssd::{Completion, Counters, Drive, Request, Status};

/// A bug that a test plants in a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// Never completes the request with this tag.
    Loses(u64),
    /// Completes the request with this tag under the next tag.
    Mistakes(u64),
    /// Acknowledges the write with this tag but keeps the old content.
    Forgets(u64),
    /// Counts one program too few.
    Miscounts,
}

/// A drive of `servers` servers with a service time of `service` for every request.
#[derive(Clone, Debug)]
pub struct FixedDrive<S> {
    capacity: Sectors,
    granularity: Sectors,
    service: Span,
    now: Time,
    queue: VecDeque<(Time, Request<S>)>,
    // Ordered by end, and so by start: all service times are equal.
    busy: VecDeque<(Time, Time, Request<S>)>,
    servers: usize,
    content: BTreeMap<u64, S>,
    bug: Option<Bug>,
    counters: Counters,
    hash: EventHash,
}

impl<S: Copy + Default> FixedDrive<S> {
    /// Creates a drive without bugs.
    #[must_use]
    pub fn new(capacity: Sectors, servers: usize, service: Span) -> Self {
        let counters = Counters {
            at: Time::ZERO,
            requests: [0; IoKind::COUNT],
            sectors: [0; IoKind::COUNT],
            failed: [0; IoKind::COUNT],
            host_slots: 0,
            refused_slots: 0,
            read_slots: 0,
            unreadable_copies: 0,
            absorbed_slots: 0,
            unmapped_slots: 0,
            unmapped_flash_reads: 0,
            errors: None,
            power: None,
            raid: None,
            translation: None,
            flash: Account::default(),
            channel_busy: vec![Span::ZERO; servers],
            die_busy: vec![Span::ZERO; servers],
            plane_busy: Vec::new(),
            controller_busy: Vec::new(),
            decoder_busy: Vec::new(),
            processor_busy: Span::ZERO,
            link_busy: Span::ZERO,
            ram_busy: Span::ZERO,
            map: None,
            merges: None,
            log_merges: None,
            slc_array: None,
            slc_mlc: None,
            streams: None,
            fdp: None,
            slc_cache: None,
            refresh: None,
            parity: None,
            zones: None,
            free_blocks: 0,
            bad_blocks: 0,
            event_hash: 0,
            events: 0,
        };
        Self {
            capacity,
            granularity: Sectors::new(1),
            service,
            now: Time::ZERO,
            queue: VecDeque::new(),
            busy: VecDeque::new(),
            servers,
            content: BTreeMap::new(),
            bug: None,
            counters,
            hash: EventHash::default(),
        }
    }

    /// Plants a bug in the drive.
    #[must_use]
    pub fn with(mut self, bug: Bug) -> Self {
        self.bug = Some(bug);
        self
    }

    /// Makes the drive discard only whole multiples of `granularity`.
    #[must_use]
    pub fn discarding(mut self, granularity: Sectors) -> Self {
        self.granularity = granularity;
        self
    }

    fn admit(&mut self) {
        while self.busy.len() < self.servers
            && let Some((arrival, request)) = self.queue.pop_front()
        {
            // The end is the start plus the service time.
            self.busy.push_back((arrival, self.now + self.service, request));
        }
    }

    fn complete(&mut self, arrival: Time, request: Request<S>) -> Option<Completion<S>> {
        let Request { mut tag, queue, io, data: written } = request;
        let sectors = io.start.get()..io.end().get();
        let mut read = Vec::new();
        match io.kind {
            IoKind::Read => {
                read.extend(sectors.map(|sector| self.content.get(&sector).copied().unwrap_or_default()));
            }
            IoKind::Write if self.bug != Some(Bug::Forgets(tag)) => self.content.extend(sectors.zip(written)),
            IoKind::Discard => {
                let unit = self.granularity.get();
                let whole = sectors.start.next_multiple_of(unit)..sectors.end / unit * unit;
                self.content.retain(|sector, _| !whole.contains(sector));
            }
            _ => {}
        }
        self.hash.add(self.now, tag);
        let c = &mut self.counters;
        c.requests[io.kind as usize] += 1;
        c.sectors[io.kind as usize] += io.sectors.get();
        let op = match io.kind {
            IoKind::Read => Some(Op::Read),
            IoKind::Write => Some(Op::Program),
            _ => None,
        };
        if let Some(op) = op {
            // One mapping unit of one sector, half of the time on the bus and half in the array.
            let tally = c.flash.at(op, Cause::Host);
            tally.commands += 1;
            tally.pages += 1;
            tally.slots += io.sectors.get();
            tally.bytes += io.sectors.bytes();
            tally.array += self.service / 2;
            tally.bus += self.service / 2;
            // Requests under way have consecutive numbers, so the number modulo `servers` identifies the server of a
            // request.
            let server = (self.hash.events() as usize - 1) % self.servers;
            c.die_busy[server] += self.service / 2;
            c.channel_busy[server] += self.service / 2;
            c.link_busy += self.service / (4 * self.servers as u64);
        }
        if io.kind == IoKind::Write {
            c.host_slots += io.sectors.get();
            if self.bug == Some(Bug::Miscounts) {
                c.flash.at(Op::Program, Cause::Host).slots -= 1;
                c.flash.at(Op::Program, Cause::Host).array -= Span::from_ps(1);
            }
        }
        match self.bug {
            Some(Bug::Loses(lost)) if lost == tag => return None,
            Some(Bug::Mistakes(wrong)) if wrong == tag => tag += 1,
            _ => {}
        }
        let start = Time::from_ps(self.now.as_ps() - self.service.as_ps());
        let mut waited_for = CauseSet::EMPTY;
        if start > arrival {
            waited_for.insert(Cause::Host);
        }
        Some(Completion {
            tag,
            queue,
            io,
            status: Status::Done,
            arrival,
            start,
            end: self.now,
            commands: u32::from(op.is_some()),
            flash_wait: Span::ZERO,
            start_wait: Span::ZERO,
            waited_for,
            data: read,
        })
    }
}

impl<S: Copy + Default> Drive<S> for FixedDrive<S> {
    fn capacity(&self) -> Sectors {
        self.capacity
    }

    fn discard_granularity(&self) -> Sectors {
        self.granularity
    }

    fn submit(&mut self, now: Time, request: Request<S>) {
        assert!(now >= self.now, "submitted in the past");
        self.now = now;
        self.queue.push_back((now, request));
        self.admit();
    }

    fn next_event(&self) -> Option<Time> {
        self.busy.front().map(|(_, end, _)| *end)
    }

    fn advance(&mut self, to: Time, completions: &mut Vec<Completion<S>>) -> Time {
        assert!(to >= self.now, "advanced into the past");
        loop {
            let Some(end) = self.next_event().filter(|end| *end <= to) else {
                self.now = to;
                return to;
            };
            self.now = end;
            let before = completions.len();
            while self.next_event() == Some(end) {
                let (arrival, _, request) = self.busy.pop_front().expect("it is next");
                completions.extend(self.complete(arrival, request));
                self.admit();
            }
            if completions.len() > before {
                return end;
            }
        }
    }

    fn counters(&self) -> Counters {
        Counters { at: self.now, event_hash: self.hash.value(), events: self.hash.events(), ..self.counters.clone() }
    }
}
