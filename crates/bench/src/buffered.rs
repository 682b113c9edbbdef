//! Writes through a buffer in a bare loop, with only the work that every simulation of them must do.
//!
//! The writes are those of [`crate::writes`], but acknowledged in a volatile buffer of 32 MiB, from which they leave,
//! oldest first, in programs of 64 KiB: two pages of 16 KiB in each of two planes. The buffer has an index, in which a
//! newer write of a unit finds the older one. A write is a wait for the host link and one event, and with fifteen
//! others a wait for a chip and its channel and two events. A collector reads the valid pages of a victim row by row,
//! and programs sixteen of them at once. The times are those of the bench's drive with a buffer. There are no partial
//! writes, no flushes, no failures, no power cuts, and nothing is checked.

use std::collections::VecDeque;

use crate::DEPTH;
use crate::agenda::{self, Agenda, AgendaEvent};
use crate::array::{ALL_CHIPS, PAGES, PageArray, UNITS, Wants};
use crate::histogram::Bins;
use crate::random::Random;
use crate::reads::{CHANNELS, CHIPS, LINK, READ, TRANSFER};
use crate::server::{Server, Waits};
use crate::writes::ERASE;

/// The number of units in the buffer, in a program, and in a row of pages.
const BUFFER: u32 = 8192;
const BATCH: u32 = 16;
const ROW: u32 = 8;
/// Times of the flash operations and transfers, in picoseconds.
const PROGRAM: u64 = 4 * 390_000_000;
const PROGRAMS: u32 = BUFFER / BATCH;
const NOBODY: u32 = u32::MAX;

/// The end of a step of a write or of a collector.
#[derive(Clone, Copy, Debug)]
pub enum BufferStep {
    /// The data of a write has crossed the host link.
    Received,
    /// Data has crossed a channel.
    Transferred,
    /// A row has been read for copies.
    Read,
    /// A program has ended.
    Programmed,
    /// A block has been erased.
    Erased,
}

impl agenda::Step for BufferStep {
    const ALL: &'static [Self] = &[Self::Received, Self::Transferred, Self::Read, Self::Programmed, Self::Erased];

    #[inline]
    fn ring(self) -> usize {
        self as usize
    }
}

/// A program of the buffer, or the current operation of a chip's collector.
#[derive(Clone, Copy, Debug, Default)]
struct BufferOperation {
    chip: u32,
    /// First page of the program.
    to: u32,
    wants: Wants,
    /// The number of units of the program (`count`), and the number of them that a collector has read or is reading
    /// (`read`).
    count: u32,
    read: u32,
    /// The number of units that cross the channel.
    crossing: u32,
    /// Entries of the buffer, or the pages that a collector copies.
    from: [u32; BATCH as usize],
    next: Option<u32>,
}

impl Waits for BufferOperation {
    #[inline]
    fn next(&mut self) -> &mut Option<u32> {
        &mut self.next
    }
}

#[derive(Clone, Copy, Debug)]
struct BufferEntry {
    unit: u32,
    /// The next entry of the same chain in the index.
    next: u32,
    /// `sent`: the unit is on its way to flash. `again`: the host has written the unit since.
    sent: bool,
    again: bool,
}

/// The buffer, with an index of chained entries.
#[derive(Clone, Debug)]
struct Buffer {
    heads: Vec<u32>,
    entries: Vec<BufferEntry>,
    free: Vec<u32>,
    dirty: VecDeque<u32>,
}

impl Buffer {
    fn new() -> Self {
        let entry = BufferEntry { unit: 0, next: NOBODY, sent: false, again: false };
        Self {
            heads: vec![NOBODY; 2 * BUFFER as usize],
            entries: vec![entry; BUFFER as usize],
            free: (0..BUFFER).collect(),
            dirty: VecDeque::with_capacity(BUFFER as usize),
        }
    }

    #[inline]
    fn chain(&self, unit: u32) -> usize {
        unit.wrapping_mul(0x9E37_79B9) as usize >> 18
    }

    /// Takes a unit into the buffer. Returns false if there is no room.
    #[inline]
    fn take(&mut self, unit: u32) -> bool {
        let chain = self.chain(unit);
        let mut at = self.heads[chain];
        while at != NOBODY {
            let entry = &mut self.entries[at as usize];
            if entry.unit == unit {
                entry.again = entry.sent;
                return true;
            }
            at = entry.next;
        }
        let Some(entry) = self.free.pop() else { return false };
        self.entries[entry as usize] = BufferEntry { unit, next: self.heads[chain], sent: false, again: false };
        self.heads[chain] = entry;
        self.dirty.push_back(entry);
        true
    }

    /// Marks the oldest dirty unit as sent to flash, and returns its entry.
    #[inline]
    fn send(&mut self) -> u32 {
        let entry = self.dirty.pop_front().expect("something is dirty");
        self.entries[entry as usize].sent = true;
        entry
    }

    /// Frees the entry of a unit that is on flash, or makes it dirty again if the unit was written meanwhile.
    #[inline]
    fn arrived(&mut self, arrived: u32) {
        let BufferEntry { unit, next, again, .. } = self.entries[arrived as usize];
        if again {
            let entry = &mut self.entries[arrived as usize];
            (entry.sent, entry.again) = (false, false);
            return self.dirty.push_back(arrived);
        }
        let chain = self.chain(unit);
        if self.heads[chain] == arrived {
            self.heads[chain] = next;
        } else {
            let mut before = self.heads[chain];
            while self.entries[before as usize].next != arrived {
                before = self.entries[before as usize].next;
            }
            self.entries[before as usize].next = next;
        }
        self.free.push(arrived);
    }
}

/// A chip with its collector: the block under collection, and the page up to which it has been collected.
#[derive(Clone, Copy, Debug, Default)]
struct Chip {
    server: Server,
    victim: Option<(u32, u32)>,
}

/// A bare loop of buffered writes, which runs in slices.
#[derive(Debug)]
pub struct BufferedWrites<A> {
    array: PageArray,
    buffer: Buffer,
    /// The start and the unit of each request (`requests`), and the requests that wait for room (`waiting`).
    requests: Vec<(u64, u32)>,
    waiting: VecDeque<u32>,
    /// The programs of the buffer, followed by one operation for each chip's collector.
    operations: Vec<BufferOperation>,
    unused: Vec<u32>,
    chips: Vec<Chip>,
    /// The chip of the next program.
    turn: u32,
    channels: Vec<Server>,
    link_free: u64,
    agenda: A,
    random: Random,
    bins: Bins,
    now: u64,
    /// The numbers of requests, programmed units and events in the latest slice.
    slice: [u64; 3],
}

impl<A: Agenda<BufferStep>> Default for BufferedWrites<A> {
    fn default() -> Self {
        Self::new()
    }
}

impl<A: Agenda<BufferStep>> BufferedWrites<A> {
    /// Creates the loop on a full drive, with its first requests submitted.
    #[must_use]
    pub fn new() -> Self {
        let mut writes = Self {
            array: PageArray::full(BATCH),
            buffer: Buffer::new(),
            requests: vec![(0, 0); DEPTH as usize],
            waiting: VecDeque::new(),
            operations: vec![BufferOperation::default(); (PROGRAMS + ALL_CHIPS) as usize],
            unused: (0..PROGRAMS).collect(),
            chips: vec![Chip::default(); ALL_CHIPS as usize],
            turn: 0,
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
        self.requests[request as usize] = (self.now, unit);
        self.link_free = self.link_free.max(self.now) + LINK;
        self.agenda.push(self.link_free, BufferStep::Received, request);
    }

    /// Runs until `requests` more requests have completed.
    pub fn run(&mut self, requests: u64) {
        self.slice = [0; 3];
        while self.slice[0] < requests {
            let Some(AgendaEvent { at, step, request }) = self.agenda.pop() else { break };
            self.now = at;
            self.slice[2] += 1;
            match step {
                BufferStep::Received => {
                    self.waiting.push_back(request);
                    self.admit();
                }
                BufferStep::Read => self.cross(request),
                BufferStep::Transferred => self.transferred(request),
                BufferStep::Programmed => self.programmed(request),
                BufferStep::Erased => self.erased(self.operations[request as usize].chip),
            }
        }
    }

    /// Moves waiting writes to the buffer as far as there is room, and starts programs.
    #[inline]
    fn admit(&mut self) {
        while let Some(request) = self.waiting.front().copied() {
            let (start, unit) = self.requests[request as usize];
            if !self.buffer.take(unit) {
                if self.buffer.dirty.len() < BATCH as usize || !self.write_back() {
                    break;
                }
                continue;
            }
            self.waiting.pop_front();
            self.bins.count(self.now - start);
            self.slice[0] += 1;
            self.submit(request);
        }
    }

    /// Sends a program to the next chip that has space. Returns false if no chip has space.
    fn write_back(&mut self) -> bool {
        for _ in 0..ALL_CHIPS {
            let chip = self.turn;
            self.turn = (chip + 1) % ALL_CHIPS;
            let Some(to) = self.array.take_pages(chip, 0, BATCH) else {
                self.collect(chip);
                continue;
            };
            let program = self.unused.pop().expect("as many as the buffer fills");
            let operation = &mut self.operations[program as usize];
            (operation.chip, operation.to, operation.crossing) = (chip, to, BATCH);
            (operation.wants, operation.count) = (Wants::Program, BATCH);
            operation.from.iter_mut().for_each(|entry| *entry = self.buffer.send());
            self.queue(program);
            return true;
        }
        false
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
            Wants::Read => self.agenda.push(self.now + READ, BufferStep::Read, operation),
            Wants::Program => self.cross(operation),
            Wants::Erase => self.agenda.push(self.now + ERASE, BufferStep::Erased, operation),
        }
    }

    /// Starts the transfer of an operation's data, or queues it if the channel is busy.
    #[inline]
    fn cross(&mut self, operation: u32) {
        let channel = self.operations[operation as usize].chip / CHIPS;
        if self.channels[channel as usize].enter(&mut self.operations, operation) {
            self.transfer(operation);
        }
    }

    #[inline]
    fn transfer(&mut self, operation: u32) {
        let time = TRANSFER * u64::from(self.operations[operation as usize].crossing);
        self.agenda.push(self.now + time, BufferStep::Transferred, operation);
    }

    /// Frees a chip after an operation, and begins the next operation.
    #[inline]
    fn leave(&mut self, chip: u32) {
        if let Some(next) = self.chips[chip as usize].server.leave(&mut self.operations) {
            self.begin(next);
        }
    }

    /// Handles the end of a transfer: the array programs the data, or the collector reads its next row or programs.
    #[inline]
    fn transferred(&mut self, operation: u32) {
        let BufferOperation { chip, wants, .. } = self.operations[operation as usize];
        if let Some(next) = self.channels[(chip / CHIPS) as usize].leave(&mut self.operations) {
            self.transfer(next);
        }
        if wants == Wants::Program {
            return self.agenda.push(self.now + PROGRAM, BufferStep::Programmed, operation);
        }
        self.leave(chip);
        self.read_on(operation);
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

    /// Gathers the next valid pages of a victim, or erases it.
    fn copy(&mut self, chip: u32) {
        let Some((victim, mut cursor)) = self.chips[chip as usize].victim else { return };
        let collector = PROGRAMS + chip;
        let operation = &mut self.operations[collector as usize];
        (operation.chip, operation.count, operation.read) = (chip, 0, 0);
        while let Some(page) = self.array.next_valid(victim, cursor).filter(|_| operation.count < BATCH) {
            operation.from[operation.count as usize] = page;
            operation.count += 1;
            cursor = page + 1;
        }
        self.chips[chip as usize].victim = Some((victim, cursor));
        if operation.count > 0 {
            return self.read_on(collector);
        }
        operation.wants = Wants::Erase;
        self.queue(collector);
    }

    /// Reads the next row of the gathered pages, or programs them.
    fn read_on(&mut self, collector: u32) {
        let operation = &mut self.operations[collector as usize];
        let rest = &operation.from[operation.read as usize..operation.count as usize];
        if let Some(first) = rest.first() {
            let row = rest.iter().take_while(|page| **page / ROW == first / ROW).count() as u32;
            operation.read += row;
            (operation.wants, operation.crossing) = (Wants::Read, row);
        } else {
            let to = self.array.take_pages(operation.chip, 1, BATCH).expect("a block is reserved for copies");
            (operation.wants, operation.crossing, operation.to) = (Wants::Program, operation.count, to);
        }
        self.queue(collector);
    }

    /// Maps the programmed pages, and frees the buffer entries of those that came from the buffer.
    fn programmed(&mut self, operation: u32) {
        let BufferOperation { chip, to, count, from, .. } = self.operations[operation as usize];
        self.slice[1] += u64::from(count);
        self.leave(chip);
        if operation >= PROGRAMS {
            for (to, page) in (to..).zip(&from[..count as usize]) {
                self.array.enter_copy(self.array.unit(*page), *page, to);
            }
            self.array.pad(to, BATCH - count);
            return self.copy(chip);
        }
        for (to, entry) in (to..).zip(&from) {
            self.array.enter(self.buffer.entries[*entry as usize].unit, to);
            self.buffer.arrived(*entry);
        }
        self.unused.push(operation);
        self.collect(chip);
        self.admit();
    }

    /// Frees the erased victim, and starts programs that wait for space.
    fn erased(&mut self, chip: u32) {
        self.leave(chip);
        let (victim, _) = self.chips[chip as usize].victim.take().expect("an erase has a victim");
        self.array.erased(chip, victim);
        self.collect(chip);
        self.admit();
    }

    /// The number of simulated requests per simulated second so far.
    #[must_use]
    pub fn simulated_rate(&self) -> f64 {
        self.bins.total() as f64 / (self.now as f64 * 1e-12)
    }

    /// The numbers of programmed units and of events per write in the latest slice.
    #[must_use]
    pub fn per_write(&self) -> [f64; 2] {
        let [requests, programs, events] = self.slice;
        [programs, events].map(|count| count as f64 / requests as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agenda::Heap;

    #[test]
    fn a_greedy_collector_copies_as_much_as_without_a_buffer() {
        let mut writes = BufferedWrites::<Heap<BufferStep>>::new();
        writes.run(2_500_000);
        writes.run(500_000);
        // The bounds are those of the loop that writes through.
        let [programs, events] = writes.per_write();
        assert!((2.0..2.3).contains(&programs), "{programs} programmed units for each write");
        // A write has one event, a program of sixteen pages two, and each row of eight pages that is read for copies
        // two: of its pages some five are valid.
        let copies = programs - 1.0;
        let counted = 1.0 + 2.0 * programs / 16.0 + 2.0 * copies / 4.7;
        assert!((events / counted - 1.0).abs() < 0.1, "{events} events for each write, not {counted}");
    }

    #[test]
    fn every_mapping_unit_has_one_valid_page_and_the_buffer_its_newer_data() {
        let mut writes = BufferedWrites::<Heap<BufferStep>>::new();
        writes.run(1_500_000);
        writes.array.check();
        let Buffer { heads, entries, free, dirty } = &writes.buffer;
        let mut listed = 0;
        for head in heads {
            let mut at = *head;
            while at != NOBODY {
                listed += 1;
                at = entries[at as usize].next;
            }
        }
        assert_eq!(listed + free.len(), BUFFER as usize);
        assert!(dirty.iter().all(|entry| !entries[*entry as usize].sent));
    }
}
