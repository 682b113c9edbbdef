//! The bare event loop: chips, channels and a host link, in front of the least firmware that a load needs.
//!
//! The drive has 16 channels x 8 chips. An operation waits for its chip and, while it holds the chip, for its channel,
//! first come, first served; the host link carries one request after the other. Each of these steps ends with an event.
//! The loop has an agenda and queues inside the operations, but no policy, no configuration and no accounting. The times
//! are those of the bench's drives.

use crate::DEPTH;
use crate::agenda::{Agenda, AgendaEvent, Step};
use crate::histogram::Bins;
use crate::random::Random;
use crate::server::{Server, Waits};

pub(crate) const CHANNELS: u32 = 16;
const CHIPS: u32 = 8;
pub(crate) const ALL_CHIPS: u32 = CHANNELS * CHIPS;
/// Times in picoseconds: the array read and the erase of FMMU-V2, 4,480 bytes at 667 MB/s, and 4 KiB over 16 lanes of
/// PCIe 3.
const READ: u64 = 35_000_000;
const ERASE: u64 = 4_000_000_000;
pub(crate) const TRANSFER: u64 = 6_716_641;
const LINK: u64 = 260_000;

/// The array operation that a chip carries out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ArrayOperation {
    #[default]
    Read,
    /// A program, before which the data cross the channel.
    Program,
    Erase,
}

/// An operation of flash. Those with the numbers of requests belong to the requests, later ones to the firmware.
#[derive(Clone, Copy, Debug)]
pub struct Operation<D> {
    pub(crate) chip: u32,
    pub(crate) array: ArrayOperation,
    /// The number of mapping units that cross the channel.
    pub(crate) units: u32,
    /// The firmware's data of the operation.
    pub(crate) data: D,
    /// The next operation in the queue in which this operation waits.
    pub(crate) next: Option<u32>,
}

impl<D> Waits for Operation<D> {
    #[inline]
    fn next(&mut self) -> &mut Option<u32> {
        &mut self.next
    }
}

/// The counts of a slice of a run.
#[derive(Clone, Copy, Debug, Default)]
struct SliceCounts {
    requests: u64,
    events: u64,
    /// The number of the commands that the firmware counts.
    commands: u64,
}

/// The hardware, as the firmware sees it.
#[derive(Debug)]
pub struct Hardware<A, D> {
    pub(crate) operations: Vec<Operation<D>>,
    chips: Vec<Server>,
    channels: Vec<Server>,
    link_free: u64,
    agenda: A,
    pub(crate) random: Random,
    /// The time at which each request was submitted.
    pub(crate) starts: Vec<u64>,
    bins: Bins,
    now: u64,
    slice: SliceCounts,
}

impl<A: Agenda, D: Clone> Hardware<A, D> {
    fn new(operations: u32, data: D) -> Self {
        let operation = Operation { chip: 0, array: ArrayOperation::Read, units: 1, data, next: None };
        Self {
            operations: vec![operation; operations as usize],
            chips: vec![Server::default(); ALL_CHIPS as usize],
            channels: vec![Server::default(); CHANNELS as usize],
            link_free: 0,
            agenda: A::default(),
            random: Random::new(0x243F_6A88_85A3_08D3),
            starts: vec![0; DEPTH as usize],
            bins: Bins::default(),
            now: 0,
            slice: SliceCounts::default(),
        }
    }

    #[inline]
    pub(crate) fn operation(&mut self, operation: u32) -> &mut Operation<D> {
        &mut self.operations[operation as usize]
    }

    /// Schedules the end of a step that begins now.
    #[inline]
    pub(crate) fn schedule(&mut self, time: u64, step: Step, operation: u32) {
        self.agenda.push(AgendaEvent { at: self.now + time, operation, step });
    }

    /// Starts an operation of flash, or queues it if its chip is busy.
    #[inline]
    pub(crate) fn start(&mut self, operation: u32) {
        let chip = self.operations[operation as usize].chip;
        if self.chips[chip as usize].enter(&mut self.operations, operation) {
            self.begin(operation);
        }
    }

    #[inline]
    fn begin(&mut self, operation: u32) {
        match self.operations[operation as usize].array {
            ArrayOperation::Read => self.schedule(READ, Step::Read, operation),
            ArrayOperation::Program => self.cross_channel(operation),
            ArrayOperation::Erase => self.schedule(ERASE, Step::Erased, operation),
        }
    }

    /// Starts the transfer of an operation's data over the channel, or queues it if the channel is busy.
    #[inline]
    fn cross_channel(&mut self, operation: u32) {
        let channel = self.operations[operation as usize].chip / CHIPS;
        if self.channels[channel as usize].enter(&mut self.operations, operation) {
            self.transfer(operation);
        }
    }

    #[inline]
    fn transfer(&mut self, operation: u32) {
        let time = TRANSFER * u64::from(self.operations[operation as usize].units);
        self.schedule(time, Step::Transferred, operation);
    }

    /// Frees a channel for the next transfer.
    #[inline]
    fn leave_channel(&mut self, chip: u32) {
        if let Some(next) = self.channels[(chip / CHIPS) as usize].leave(&mut self.operations) {
            self.transfer(next);
        }
    }

    /// Frees a chip for its next operation.
    #[inline]
    fn leave_chip(&mut self, chip: u32) {
        if let Some(next) = self.chips[chip as usize].leave(&mut self.operations) {
            self.begin(next);
        }
    }

    /// Carries 4 KiB of a request over the host link.
    #[inline]
    pub(crate) fn cross_link(&mut self, request: u32) {
        self.link_free = self.link_free.max(self.now) + LINK;
        self.schedule(self.link_free - self.now, Step::Linked, request);
    }

    /// Completes a request. The host submits the next request with this number at the same instant.
    #[inline]
    pub(crate) fn complete(&mut self, request: u32) {
        self.slice.requests += 1;
        let start = std::mem::replace(&mut self.starts[request as usize], self.now);
        self.bins.count(self.now - start);
    }

    /// Counts commands of the kind that the firmware counts.
    #[inline]
    pub(crate) fn count(&mut self, commands: u32) {
        self.slice.commands += u64::from(commands);
    }
}

/// The firmware of a drive, which turns requests into operations. A firmware implements the ends of those steps that it
/// starts.
pub trait Firmware: Sized {
    /// The firmware's data of an operation.
    type Data: Clone + Default;

    /// The number of operations that may be under way.
    const OPERATIONS: u32;

    /// The time of a program in picoseconds: by default that of FMMU-V2.
    const PROGRAM: u64 = 390_000_000;

    /// Creates the firmware.
    fn new(random: &mut Random) -> Self;

    /// Begins a new request.
    fn submit<A: Agenda>(&mut self, hardware: &mut Hardware<A, Self::Data>, request: u32);

    /// The data of a request have crossed the host link.
    fn linked<A: Agenda>(&mut self, hardware: &mut Hardware<A, Self::Data>, request: u32);

    /// The data of a read have crossed the channel.
    fn read<A: Agenda>(&mut self, hardware: &mut Hardware<A, Self::Data>, operation: u32);

    /// A program has ended.
    fn programmed<A: Agenda>(&mut self, _: &mut Hardware<A, Self::Data>, operation: u32) {
        unreachable!("operation {operation} is no program");
    }

    /// An erase has ended.
    fn erased<A: Agenda>(&mut self, _: &mut Hardware<A, Self::Data>, operation: u32) {
        unreachable!("operation {operation} is no erase");
    }

    /// The first level of the map unit has ended a step.
    fn first_level_ended<A: Agenda>(&mut self, _: &mut Hardware<A, Self::Data>) {
        unreachable!("there is no map unit");
    }

    /// The second level of the map unit has ended a step.
    fn second_level_ended<A: Agenda>(&mut self, _: &mut Hardware<A, Self::Data>) {
        unreachable!("there is no map unit");
    }
}

/// A bare event loop, which runs in slices.
#[derive(Debug)]
pub struct Simulator<A, F: Firmware> {
    pub(crate) hardware: Hardware<A, F::Data>,
    pub(crate) firmware: F,
}

impl<A: Agenda, F: Firmware> Default for Simulator<A, F> {
    fn default() -> Self {
        Self::new()
    }
}

impl<A: Agenda, F: Firmware> Simulator<A, F> {
    /// Creates the loop with its first requests submitted.
    #[must_use]
    pub fn new() -> Self {
        let mut hardware = Hardware::new(F::OPERATIONS, F::Data::default());
        let firmware = F::new(&mut hardware.random);
        let mut simulator = Self { hardware, firmware };
        (0..DEPTH).for_each(|request| simulator.submit(request));
        simulator
    }

    #[inline]
    fn submit(&mut self, request: u32) {
        self.firmware.submit(&mut self.hardware, request);
    }

    /// Runs until at least `requests` more requests have completed.
    pub fn run(&mut self, requests: u64) {
        let Self { hardware, firmware } = self;
        hardware.slice = SliceCounts::default();
        while hardware.slice.requests < requests {
            let Some(AgendaEvent { at, operation, step }) = hardware.agenda.pop() else { break };
            hardware.now = at;
            hardware.slice.events += 1;
            match step {
                Step::Linked => firmware.linked(hardware, operation),
                Step::Read => hardware.cross_channel(operation),
                Step::Transferred => {
                    let Operation { chip, array, .. } = *hardware.operation(operation);
                    hardware.leave_channel(chip);
                    if array == ArrayOperation::Program {
                        hardware.schedule(F::PROGRAM, Step::Programmed, operation);
                    } else {
                        hardware.leave_chip(chip);
                        firmware.read(hardware, operation);
                    }
                }
                Step::Programmed => {
                    hardware.leave_chip(hardware.operations[operation as usize].chip);
                    firmware.programmed(hardware, operation);
                }
                Step::Erased => {
                    hardware.leave_chip(hardware.operations[operation as usize].chip);
                    firmware.erased(hardware, operation);
                }
                Step::FirstLevel => firmware.first_level_ended(hardware),
                Step::SecondLevel => firmware.second_level_ended(hardware),
            }
        }
    }

    /// The number of simulated requests per simulated second so far.
    #[must_use]
    pub fn simulated_rate(&self) -> f64 {
        self.hardware.bins.total() as f64 / (self.hardware.now as f64 * 1e-12)
    }

    /// The numbers of the firmware's commands and of events per request in the latest slice.
    #[must_use]
    pub fn per_request(&self) -> [f64; 2] {
        let SliceCounts { requests, events, commands } = self.hardware.slice;
        [commands, events].map(|count| count as f64 / requests as f64)
    }
}
