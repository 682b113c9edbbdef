//! Writes in a bare loop, with only the work that every simulation of them must do.
//!
//! The loop has 4 KiB random writes in a closed loop on the drive of [`crate::reads`] with 28 % spare flash, full: a
//! page map, and in each chip a greedy collector with two logs, one for writes and one for copies. A write is a wait
//! for the host link, its chip and its channel, and three events; a copy waits twice for its chip and its channel, and
//! takes four. The blocks have counts and bits of valid pages, and each page knows its mapping unit. The times are
//! those of the bench's drive that writes through. There are no partial writes, no ties to break, no failures, no power
//! cuts, and nothing is checked.

use std::collections::VecDeque;

use crate::DEPTH;
use crate::agenda::{self, Agenda, AgendaEvent};
use crate::array::{ALL_CHIPS, NOWHERE, PAGES, PageArray, UNITS, Wants};
use crate::histogram::Bins;
use crate::random::Random;
use crate::reads::{CHANNELS, CHIPS, LINK, READ, TRANSFER};
use crate::server::{Server, Waits};

/// Times of the flash operations and transfers, in picoseconds.
const PROGRAM: u64 = 390_000_000;
pub(crate) const ERASE: u64 = 4_000_000_000;

/// The end of a step of a write or of a collector.
#[derive(Clone, Copy, Debug)]
pub enum WriteStep {
    /// The data of a write has crossed the host link.
    Received,
    /// A page has crossed its channel.
    Transferred,
    /// A page has been read for a copy.
    Read,
    /// A page has been programmed.
    Programmed,
    /// A block has been erased.
    Erased,
}

impl agenda::Step for WriteStep {
    const ALL: &'static [Self] = &[Self::Received, Self::Transferred, Self::Read, Self::Programmed, Self::Erased];

    #[inline]
    fn ring(self) -> usize {
        self as usize
    }
}

/// A write of the host, or the current operation of a chip's collector.
#[derive(Clone, Copy, Debug, Default)]
struct WriteOperation {
    start: u64,
    unit: u32,
    chip: u32,
    /// The page that a copy reads; [`NOWHERE`] for a write of the host.
    from: u32,
    /// The page that the operation programs.
    to: u32,
    wants: Wants,
    next: Option<u32>,
}

impl Waits for WriteOperation {
    #[inline]
    fn next(&mut self) -> &mut Option<u32> {
        &mut self.next
    }
}

#[derive(Clone, Debug)]
struct Chip {
    server: Server,
    /// The block under collection, and the page up to which it has been collected.
    victim: Option<(u32, u32)>,
    waiting: VecDeque<u32>,
}

/// A bare loop of writes, which runs in slices.
#[derive(Debug)]
pub struct Writes<A> {
    array: PageArray,
    operations: Vec<WriteOperation>,
    chips: Vec<Chip>,
    channels: Vec<Server>,
    link_free: u64,
    agenda: A,
    random: Random,
    bins: Bins,
    now: u64,
    /// The numbers of requests, programs and events in the latest slice.
    slice: [u64; 3],
}

impl<A: Agenda<WriteStep>> Default for Writes<A> {
    fn default() -> Self {
        Self::new()
    }
}

impl<A: Agenda<WriteStep>> Writes<A> {
    /// Creates the loop on a full drive, with its first requests submitted.
    #[must_use]
    pub fn new() -> Self {
        let chip = Chip { server: Server::default(), victim: None, waiting: VecDeque::new() };
        let mut writes = Self {
            array: PageArray::full(1),
            operations: vec![WriteOperation::default(); (DEPTH + ALL_CHIPS) as usize],
            chips: vec![chip; ALL_CHIPS as usize],
            channels: vec![Server::default(); CHANNELS as usize],
            link_free: 0,
            agenda: A::default(),
            random: Random::new(0x243F_6A88_85A3_08D3),
            bins: Bins::default(),
            now: 0,
            slice: [0; 3],
        };
        (0..DEPTH).for_each(|request| writes.submit(request));
        writes
    }

    #[inline]
    fn submit(&mut self, request: u32) {
        let unit = (((self.random.draw() >> 32) * u64::from(UNITS)) >> 32) as u32;
        let operation = &mut self.operations[request as usize];
        (operation.start, operation.unit, operation.chip) = (self.now, unit, unit % ALL_CHIPS);
        operation.from = NOWHERE;
        self.link_free = self.link_free.max(self.now) + LINK;
        self.agenda.push(self.link_free, WriteStep::Received, request);
    }

    /// Starts an operation, or queues it if its chip is busy.
    #[inline]
    fn queue(&mut self, operation: u32) {
        let chip = self.operations[operation as usize].chip;
        if self.chips[chip as usize].server.enter(&mut self.operations, operation) {
            self.begin(operation);
        }
    }

    #[inline]
    fn begin(&mut self, operation: u32) {
        match self.operations[operation as usize].wants {
            Wants::Read => self.agenda.push(self.now + READ, WriteStep::Read, operation),
            Wants::Program => self.cross(operation),
            Wants::Erase => self.agenda.push(self.now + ERASE, WriteStep::Erased, operation),
        }
    }

    /// Starts the transfer of a page, or queues it if the channel is busy.
    #[inline]
    fn cross(&mut self, operation: u32) {
        let channel = self.operations[operation as usize].chip / CHIPS;
        if self.channels[channel as usize].enter(&mut self.operations, operation) {
            self.agenda.push(self.now + TRANSFER, WriteStep::Transferred, operation);
        }
    }

    /// Frees a chip after an operation, and begins the next operation.
    #[inline]
    fn leave(&mut self, chip: u32) {
        if let Some(next) = self.chips[chip as usize].server.leave(&mut self.operations) {
            self.begin(next);
        }
    }

    /// Assigns a page to a write and queues it for its chip. Returns false if the chip has no space.
    #[inline]
    fn admit(&mut self, request: u32) -> bool {
        let chip = self.operations[request as usize].chip;
        let Some(to) = self.array.take_pages(chip, 0, 1) else { return false };
        self.operations[request as usize].to = to;
        self.queue(request);
        true
    }

    /// Begins a collection if the chip needs one and has none.
    #[inline]
    fn collect(&mut self, chip: u32) {
        if self.chips[chip as usize].victim.is_some() {
            return;
        }
        let Some(victim) = self.array.victim(chip) else { return };
        self.chips[chip as usize].victim = Some((victim, victim * PAGES));
        self.copy(chip);
    }

    /// Copies the next valid page of a victim, or erases it.
    fn copy(&mut self, chip: u32) {
        let Some((victim, from)) = self.chips[chip as usize].victim else { return };
        let collector = DEPTH + chip;
        let found = self.array.next_valid(victim, from);
        let operation = &mut self.operations[collector as usize];
        operation.chip = chip;
        if let Some(page) = found {
            self.chips[chip as usize].victim = Some((victim, page + 1));
            let unit = self.array.unit(page);
            (operation.from, operation.unit, operation.wants) = (page, unit, Wants::Read);
        } else {
            operation.wants = Wants::Erase;
        }
        self.queue(collector);
    }

    /// Runs until `requests` more requests have completed.
    pub fn run(&mut self, requests: u64) {
        self.slice = [requests, 0, 0];
        let mut left = requests;
        while left > 0 {
            let Some(AgendaEvent { at, step, request }) = self.agenda.pop() else { break };
            self.now = at;
            self.slice[2] += 1;
            match step {
                WriteStep::Received => self.received(request),
                WriteStep::Read => self.cross(request),
                WriteStep::Transferred => self.transferred(request),
                WriteStep::Programmed => left -= u64::from(self.programmed(request)),
                WriteStep::Erased => self.erased(self.operations[request as usize].chip),
            }
        }
    }

    #[inline]
    fn received(&mut self, request: u32) {
        let chip = self.operations[request as usize].chip;
        if !self.chips[chip as usize].waiting.is_empty() {
            self.chips[chip as usize].waiting.push_back(request);
        } else if !self.admit(request) {
            self.chips[chip as usize].waiting.push_back(request);
            self.collect(chip);
        }
    }

    /// Handles the end of a transfer: the array programs the page, or the collector queues the program of its copy.
    #[inline]
    fn transferred(&mut self, operation: u32) {
        let WriteOperation { chip, wants, .. } = self.operations[operation as usize];
        if let Some(next) = self.channels[(chip / CHIPS) as usize].leave(&mut self.operations) {
            self.agenda.push(self.now + TRANSFER, WriteStep::Transferred, next);
        }
        if wants == Wants::Program {
            return self.agenda.push(self.now + PROGRAM, WriteStep::Programmed, operation);
        }
        self.leave(chip);
        let to = self.array.take_pages(chip, 1, 1).expect("a block is reserved for copies");
        let state = &mut self.operations[operation as usize];
        (state.wants, state.to) = (Wants::Program, to);
        self.queue(operation);
    }

    /// Maps the programmed page, unless it is a copy of a unit that has been written since. Returns true for a write of
    /// the host.
    #[inline]
    fn programmed(&mut self, operation: u32) -> bool {
        let WriteOperation { chip, unit, from, to, start, .. } = self.operations[operation as usize];
        self.slice[1] += 1;
        self.leave(chip);
        if from == NOWHERE {
            self.array.enter(unit, to);
            self.bins.count(self.now - start);
            self.submit(operation);
            self.collect(chip);
            return true;
        }
        self.array.enter_copy(unit, from, to);
        self.copy(chip);
        false
    }

    /// Frees the erased victim, and assigns its pages to the writes that wait for space.
    fn erased(&mut self, chip: u32) {
        self.leave(chip);
        let (victim, _) = self.chips[chip as usize].victim.take().expect("an erase has a victim");
        self.array.erased(chip, victim);
        self.collect(chip);
        while let Some(first) = self.chips[chip as usize].waiting.front().copied() {
            if !self.admit(first) {
                break;
            }
            self.chips[chip as usize].waiting.pop_front();
        }
    }

    /// The number of simulated requests per simulated second so far.
    #[must_use]
    pub fn simulated_rate(&self) -> f64 {
        self.bins.total() as f64 / (self.now as f64 * 1e-12)
    }

    /// The numbers of programs and of events per write in the latest slice.
    #[must_use]
    pub fn per_write(&self) -> [f64; 2] {
        let [requests, programs, events] = self.slice;
        [programs, events].map(|count| count as f64 / requests as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agenda::{Heap, Rings};

    #[test]
    fn both_agendas_simulate_the_same_drive() {
        let (mut heap, mut rings) = (Writes::<Heap<WriteStep>>::new(), Writes::<Rings<5>>::new());
        for writes in [2_500_000, 500_000] {
            heap.run(writes);
            rings.run(writes);
        }
        for (heap, rings) in heap.per_write().into_iter().zip(rings.per_write()) {
            assert!((heap / rings - 1.0).abs() < 1e-2, "{heap} and {rings} for each write");
        }
        // Desnoyers' formula gives 2.2 for a greedy collector with 72 % of the pages in use, not counting the three
        // superblocks of a chip that are not closed.
        let [programs, events] = rings.per_write();
        assert!((2.1..2.3).contains(&programs), "{programs} programs for each write");
        // A write has three events, each of its copies four, and erases add a few.
        let counted = 3.0 + 4.0 * (programs - 1.0) + programs / f64::from(PAGES);
        assert!((events / counted - 1.0).abs() < 1e-2, "{events} events for each write, not {counted}");
        // The two agendas break ties in different ways, so collections come at different moments.
        let (heap, rings) = (heap.simulated_rate(), rings.simulated_rate());
        assert!((heap / rings - 1.0).abs() < 1e-2, "{heap} and {rings} requests per simulated second");
    }

    #[test]
    fn every_mapping_unit_has_one_valid_page() {
        let mut writes = Writes::<Rings<5>>::new();
        writes.run(1_500_000);
        writes.array.check();
    }
}
