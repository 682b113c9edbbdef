//! The firmware of a drive with a volatile buffer of 32 MiB, in which writes are acknowledged.
//!
//! The load is that of [`crate::writes`]. Units leave the buffer, oldest first, in programs of 64 KiB: two pages of 16 KiB
//! in each of two planes. The buffer has an index, in which a newer write of a unit finds the older one. A write waits for
//! the host link and has one event, and with fifteen others it waits for a chip and its channel and has two. A collector
//! reads the valid pages of a block row by row, and programs sixteen of them at once. There are no partial writes, no
//! flushes, no failures, no power cuts, and nothing is checked.

use std::collections::VecDeque;

use crate::DEPTH;
use crate::agenda::Agenda;
use crate::array::PageArray;
use crate::random::Random;
use crate::simulator::{ALL_CHIPS, ArrayOperation, Firmware, Hardware};
use crate::writes::draw_unit;

/// The number of units in the buffer, in a program, and in a row of pages.
const BUFFER: u32 = 8192;
const BATCH: u32 = 16;
const ROW: u32 = 8;
const PROGRAMS: u32 = BUFFER / BATCH;
const NOBODY: u32 = u32::MAX;

/// The data of a program of the buffer, or of the current operation of a chip's collector.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProgramData {
    /// First page of the program.
    to: u32,
    /// The number of units of the program (`count`), and the number of them that a collector has read or is reading
    /// (`read`).
    count: u32,
    read: u32,
    /// Entries of the buffer, or the pages that a collector copies.
    from: [u32; BATCH as usize],
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

/// The firmware of buffered writes. First come the operations of the buffer's programs, then one for each chip's
/// collector.
#[derive(Debug)]
pub struct BufferedWrites {
    array: PageArray,
    buffer: Buffer,
    /// The unit of each request (`units`), and the requests that wait for room (`waiting`).
    units: Vec<u32>,
    waiting: VecDeque<u32>,
    unused: Vec<u32>,
    /// The chip of the next program.
    turn: u32,
}

impl BufferedWrites {
    /// Moves waiting writes to the buffer as far as there is room, and starts programs.
    #[inline]
    fn admit<A: Agenda>(&mut self, hardware: &mut Hardware<A, ProgramData>) {
        while let Some(request) = self.waiting.front().copied() {
            if !self.buffer.take(self.units[request as usize]) {
                if self.buffer.dirty.len() < BATCH as usize || !self.write_back(hardware) {
                    break;
                }
                continue;
            }
            self.waiting.pop_front();
            hardware.complete(request);
            self.submit(hardware, request);
        }
    }

    /// Sends a program to the next chip that has space. Returns false if no chip has space.
    fn write_back<A: Agenda>(&mut self, hardware: &mut Hardware<A, ProgramData>) -> bool {
        for _ in 0..ALL_CHIPS {
            let chip = self.turn;
            self.turn = (chip + 1) % ALL_CHIPS;
            let Some(to) = self.array.take_pages(chip, 0, BATCH) else {
                self.collect(hardware, chip);
                continue;
            };
            let program = self.unused.pop().expect("as many as the buffer fills");
            let operation = hardware.operation(program);
            (operation.chip, operation.array, operation.units) = (chip, ArrayOperation::Program, BATCH);
            (operation.data.to, operation.data.count) = (to, BATCH);
            operation.data.from.iter_mut().for_each(|entry| *entry = self.buffer.send());
            hardware.start(program);
            return true;
        }
        false
    }

    /// Begins a collection if the chip needs one.
    #[inline]
    fn collect<A: Agenda>(&mut self, hardware: &mut Hardware<A, ProgramData>, chip: u32) {
        if self.array.begin_collection(chip) {
            self.copy(hardware, chip);
        }
    }

    /// Gathers the next valid pages of the block under collection, or erases the block.
    fn copy<A: Agenda>(&mut self, hardware: &mut Hardware<A, ProgramData>, chip: u32) {
        let collector = PROGRAMS + chip;
        let operation = hardware.operation(collector);
        let ProgramData { count, read, from, .. } = &mut operation.data;
        (operation.chip, *count, *read) = (chip, 0, 0);
        while *count < BATCH
            && let Some(page) = self.array.take_valid(chip)
        {
            from[*count as usize] = page;
            *count += 1;
        }
        if *count > 0 {
            return self.read(hardware, collector);
        }
        operation.array = ArrayOperation::Erase;
        hardware.start(collector);
    }
}

impl Firmware for BufferedWrites {
    type Data = ProgramData;

    const OPERATIONS: u32 = PROGRAMS + ALL_CHIPS;

    // A program of both planes takes the time of its four pages.
    const PROGRAM: u64 = 4 * 390_000_000;

    fn new(_: &mut Random) -> Self {
        Self {
            array: PageArray::full(BATCH),
            buffer: Buffer::new(),
            units: vec![0; DEPTH as usize],
            waiting: VecDeque::new(),
            unused: (0..PROGRAMS).collect(),
            turn: 0,
        }
    }

    #[inline]
    fn submit<A: Agenda>(&mut self, hardware: &mut Hardware<A, ProgramData>, request: u32) {
        self.units[request as usize] = draw_unit(&mut hardware.random);
        hardware.cross_link(request);
    }

    #[inline]
    fn linked<A: Agenda>(&mut self, hardware: &mut Hardware<A, ProgramData>, request: u32) {
        self.waiting.push_back(request);
        self.admit(hardware);
    }

    /// Reads the next row of the pages that a collector has gathered, or programs them.
    fn read<A: Agenda>(&mut self, hardware: &mut Hardware<A, ProgramData>, collector: u32) {
        let operation = hardware.operation(collector);
        let data = &mut operation.data;
        let rest = &data.from[data.read as usize..data.count as usize];
        if let Some(first) = rest.first() {
            let row = rest.iter().take_while(|page| **page / ROW == first / ROW).count() as u32;
            data.read += row;
            (operation.array, operation.units) = (ArrayOperation::Read, row);
        } else {
            data.to = self.array.take_pages(operation.chip, 1, BATCH).expect("a block is reserved for copies");
            (operation.array, operation.units) = (ArrayOperation::Program, data.count);
        }
        hardware.start(collector);
    }

    /// Maps the programmed pages, and frees the buffer entries of those that came from the buffer.
    fn programmed<A: Agenda>(&mut self, hardware: &mut Hardware<A, ProgramData>, operation: u32) {
        let chip = hardware.operation(operation).chip;
        let ProgramData { to, count, from, .. } = hardware.operation(operation).data;
        hardware.count(count);
        if operation >= PROGRAMS {
            for (to, page) in (to..).zip(&from[..count as usize]) {
                self.array.enter_copy(self.array.unit(*page), *page, to);
            }
            self.array.pad(to, BATCH - count);
            return self.copy(hardware, chip);
        }
        for (to, entry) in (to..).zip(&from) {
            self.array.enter(self.buffer.entries[*entry as usize].unit, to);
            self.buffer.arrived(*entry);
        }
        self.unused.push(operation);
        self.collect(hardware, chip);
        self.admit(hardware);
    }

    /// Frees the erased block, and starts programs that wait for space.
    fn erased<A: Agenda>(&mut self, hardware: &mut Hardware<A, ProgramData>, collector: u32) {
        let chip = hardware.operation(collector).chip;
        self.array.end_collection(chip);
        self.collect(hardware, chip);
        self.admit(hardware);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agenda::Heap;
    use crate::simulator::Simulator;

    #[test]
    fn a_greedy_collector_copies_as_much_as_without_a_buffer() {
        let mut writes = Simulator::<Heap, BufferedWrites>::new();
        writes.run(2_500_000);
        writes.run(500_000);
        // The bounds are those of the loop that writes through.
        let [programs, events] = writes.per_request();
        assert!((2.0..2.3).contains(&programs), "{programs} programmed units for each write");
        // A write has one event, a program of sixteen pages two, and each row of eight pages that is read for copies
        // two: of its pages some five are valid.
        let copies = programs - 1.0;
        let counted = 1.0 + 2.0 * programs / 16.0 + 2.0 * copies / 4.7;
        assert!((events / counted - 1.0).abs() < 0.1, "{events} events for each write, not {counted}");
    }

    #[test]
    fn every_mapping_unit_has_one_valid_page_and_the_buffer_its_newer_data() {
        let mut writes = Simulator::<Heap, BufferedWrites>::new();
        writes.run(1_500_000);
        writes.firmware.array.check();
        let Buffer { heads, entries, free, dirty } = &writes.firmware.buffer;
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
