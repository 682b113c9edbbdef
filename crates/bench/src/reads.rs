//! Reads in a bare loop, with only the work that every simulation of them must do.
//!
//! The loop has 4 KiB random reads in a closed loop on 16 channels x 8 chips. A request is one look-up in a random map,
//! a wait for its chip, a wait for its channel, a wait for the host link, and one count in a histogram: three events.
//! The loop has an agenda and queues inside the requests, but no policy, no configuration and no accounting. The times
//! are those of the bench's drive `reads`.

use crate::DEPTH;
use crate::agenda::{self, Agenda, AgendaEvent};
use crate::histogram::Bins;
use crate::random::Random;
use crate::server::{Server, Waits};

pub(crate) const CHANNELS: u32 = 16;
pub(crate) const CHIPS: u32 = 8;
/// The number of entries of the map, as many as on the simulated drive.
const UNITS: u32 = 1 << 22;
/// Times in picoseconds: the array read of FMMU-V2, 4,480 bytes at 667 MB/s, 4 KiB over 16 lanes of PCIe 3.
pub(crate) const READ: u64 = 35_000_000;
pub(crate) const TRANSFER: u64 = 6_716_641;
pub(crate) const LINK: u64 = 260_000;

#[derive(Clone, Copy, Debug, Default)]
struct Request {
    start: u64,
    chip: u32,
    /// The next request in the same queue.
    next: Option<u32>,
}

impl Waits for Request {
    #[inline]
    fn next(&mut self) -> &mut Option<u32> {
        &mut self.next
    }
}

/// The end of a step of a read.
#[derive(Clone, Copy, Debug)]
pub enum ReadStep {
    /// The end of the array read.
    Read,
    /// The end of the transfer over the channel.
    Transferred,
    /// The end of the transfer over the host link.
    Arrived,
}

impl agenda::Step for ReadStep {
    const ALL: &'static [Self] = &[Self::Read, Self::Transferred, Self::Arrived];

    #[inline]
    fn ring(self) -> usize {
        self as usize
    }
}

/// Draws a mapping unit.
#[inline]
const fn unit(random: &mut Random) -> u32 {
    (random.draw() >> 20) as u32 % UNITS
}

/// A bare loop of reads, which runs in slices.
#[derive(Debug)]
pub struct Reads<A> {
    map: Vec<u32>,
    requests: Vec<Request>,
    chips: Vec<Server>,
    channels: Vec<Server>,
    link_free: u64,
    agenda: A,
    random: Random,
    bins: Bins,
    now: u64,
}

impl<A: Agenda<ReadStep>> Default for Reads<A> {
    fn default() -> Self {
        Self::new()
    }
}

impl<A: Agenda<ReadStep>> Reads<A> {
    /// Creates the loop with its first requests submitted.
    #[must_use]
    pub fn new() -> Self {
        let mut random = Random::new(0x243F_6A88_85A3_08D3);
        let mut reads = Self {
            map: (0..UNITS).map(|_| unit(&mut random)).collect(),
            requests: vec![Request::default(); DEPTH as usize],
            chips: vec![Server::default(); (CHANNELS * CHIPS) as usize],
            channels: vec![Server::default(); CHANNELS as usize],
            link_free: 0,
            agenda: A::default(),
            random,
            bins: Bins::default(),
            now: 0,
        };
        (0..DEPTH).for_each(|request| reads.submit(request));
        reads
    }

    #[inline]
    fn submit(&mut self, request: u32) {
        let unit = unit(&mut self.random);
        let chip = self.map[unit as usize] % (CHANNELS * CHIPS);
        let state = &mut self.requests[request as usize];
        (state.start, state.chip) = (self.now, chip);
        if self.chips[chip as usize].enter(&mut self.requests, request) {
            self.agenda.push(self.now + READ, ReadStep::Read, request);
        }
    }

    /// Runs until `requests` more requests have completed.
    pub fn run(&mut self, requests: u64) {
        let mut left = requests;
        while left > 0 {
            let Some(AgendaEvent { at, step, request }) = self.agenda.pop() else { break };
            self.now = at;
            let chip = self.requests[request as usize].chip;
            let channel = &mut self.channels[(chip / CHIPS) as usize];
            match step {
                ReadStep::Read => {
                    if channel.enter(&mut self.requests, request) {
                        self.agenda.push(at + TRANSFER, ReadStep::Transferred, request);
                    }
                }
                ReadStep::Transferred => {
                    if let Some(next) = channel.leave(&mut self.requests) {
                        self.agenda.push(at + TRANSFER, ReadStep::Transferred, next);
                    }
                    if let Some(next) = self.chips[chip as usize].leave(&mut self.requests) {
                        self.agenda.push(at + READ, ReadStep::Read, next);
                    }
                    self.link_free = self.link_free.max(at) + LINK;
                    self.agenda.push(self.link_free, ReadStep::Arrived, request);
                }
                ReadStep::Arrived => {
                    self.bins.count(at - self.requests[request as usize].start);
                    self.submit(request);
                    left -= 1;
                }
            }
        }
    }

    /// The number of simulated requests per simulated second so far.
    #[must_use]
    pub fn simulated_rate(&self) -> f64 {
        self.bins.total() as f64 / (self.now as f64 * 1e-12)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agenda::{Heap, Rings};

    #[test]
    fn both_agendas_simulate_the_same_drive() {
        let (mut heap, mut rings) = (Reads::<Heap<ReadStep>>::new(), Reads::<Rings<3>>::new());
        heap.run(200_000);
        rings.run(200_000);
        let (heap, rings) = (heap.simulated_rate(), rings.simulated_rate());
        assert!((heap / rings - 1.0).abs() < 1e-3, "{heap} and {rings} requests per simulated second");
        // A read takes 6.717 us on a channel of 667 MB/s.
        let most = f64::from(CHANNELS) / (TRANSFER as f64 * 1e-12);
        assert!(heap > 0.8 * most && heap < most, "{heap} requests per second of {most}");
    }
}
