//! The bare event loop: only the work that every simulation of these reads must do.
//!
//! 4 KiB random reads in a closed loop on 16 channels x 8 chips. A request is one look-up in a random
//! map, a wait for its chip, a wait for its channel, a wait for the host link, and one count in a
//! histogram: three events. The loop has a heap and queues inside the requests, but no policy, no configuration and no
//! accounting. The times are those of the drive in [`crate::drives`].

use base::engine::Rng;

use crate::DEPTH;
use crate::histogram::Bins;

const CHANNELS: u32 = 16;
const CHIPS: u32 = 8;
/// Entries of the map, as many as the simulated drive's.
const UNITS: u32 = 4 << 20;
/// Picoseconds: the array read of FMMU-V2, 4,480 bytes at 667 MB/s, 4 KiB over 16 lanes of PCIe 3.
const READ: u64 = 35_000_000;
const TRANSFER: u64 = 6_716_641;
const LINK: u64 = 260_000;

#[derive(Clone, Copy)]
enum Step {
    Read,
    Transferred,
    Arrived,
}

#[derive(Clone, Copy)]
struct Event {
    at: u64,
    step: Step,
    request: u32,
}

#[derive(Clone, Copy, Default)]
struct Request {
    start: u64,
    chip: u32,
    /// The next request in the queue.
    next: Option<u32>,
}

/// A server for one request at a time, first come, first served.
#[derive(Clone, Copy, Default)]
struct Server {
    busy: bool,
    ends: Option<(u32, u32)>,
}

impl Server {
    /// Serves the request at once and returns true, or queues it.
    #[inline]
    fn enter(&mut self, requests: &mut [Request], request: u32) -> bool {
        if !self.busy {
            self.busy = true;
            return true;
        }
        requests[request as usize].next = None;
        self.ends = Some(match self.ends {
            None => (request, request),
            Some((head, tail)) => {
                requests[tail as usize].next = Some(request);
                (head, request)
            }
        });
        false
    }

    /// Ends a request; returns the request that is served next.
    #[inline]
    fn leave(&mut self, requests: &[Request]) -> Option<u32> {
        let Some((head, tail)) = self.ends else {
            self.busy = false;
            return None;
        };
        self.ends = requests[head as usize].next.map(|next| (next, tail));
        Some(head)
    }
}

/// A heap of events by time, four children to a parent.
#[derive(Default)]
struct Heap(Vec<Event>);

impl Heap {
    #[inline]
    fn push(&mut self, at: u64, step: Step, request: u32) {
        let Self(events) = self;
        let event = Event { at, step, request };
        let mut hole = events.len();
        events.push(event);
        while hole > 0 {
            let parent = (hole - 1) / 4;
            if events[parent].at <= at {
                break;
            }
            events[hole] = events[parent];
            hole = parent;
        }
        events[hole] = event;
    }

    #[inline]
    fn pop(&mut self) -> Option<Event> {
        let Self(events) = self;
        let last = events.pop()?;
        let Some(top) = events.first().copied() else { return Some(last) };
        let mut hole = 0;
        loop {
            let first = hole * 4 + 1;
            if first >= events.len() {
                break;
            }
            let mut least = first;
            for child in first + 1..(first + 4).min(events.len()) {
                if events[child].at < events[least].at {
                    least = child;
                }
            }
            if events[least].at >= last.at {
                break;
            }
            events[hole] = events[least];
            hole = least;
        }
        events[hole] = last;
        Some(top)
    }
}

/// The loop; it runs in slices.
pub(crate) struct Limit {
    map: Vec<u32>,
    requests: Vec<Request>,
    chips: Vec<Server>,
    channels: Vec<Server>,
    link_free: u64,
    heap: Heap,
    rng: Rng,
    bins: Bins,
    now: u64,
}

impl Limit {
    pub(crate) fn new() -> Self {
        let mut rng = Rng::stream(1, "bench.limit");
        let mut limit = Self {
            map: (0..UNITS).map(|_| rng.below(u64::from(UNITS)) as u32).collect(),
            requests: vec![Request::default(); DEPTH as usize],
            chips: vec![Server::default(); (CHANNELS * CHIPS) as usize],
            channels: vec![Server::default(); CHANNELS as usize],
            link_free: 0,
            heap: Heap::default(),
            rng,
            bins: Bins::default(),
            now: 0,
        };
        (0..DEPTH).for_each(|request| limit.submit(request));
        limit
    }

    #[inline]
    fn submit(&mut self, request: u32) {
        let unit = self.rng.below(u64::from(UNITS));
        let chip = self.map[unit as usize] % (CHANNELS * CHIPS);
        let state = &mut self.requests[request as usize];
        (state.start, state.chip) = (self.now, chip);
        if self.chips[chip as usize].enter(&mut self.requests, request) {
            self.heap.push(self.now + READ, Step::Read, request);
        }
    }

    /// Runs until `requests` more requests have completed.
    pub(crate) fn run(&mut self, requests: u64) {
        let mut left = requests;
        while left > 0 {
            let Some(Event { at, step, request }) = self.heap.pop() else { break };
            self.now = at;
            let chip = self.requests[request as usize].chip;
            let channel = &mut self.channels[(chip / CHIPS) as usize];
            match step {
                Step::Read => {
                    if channel.enter(&mut self.requests, request) {
                        self.heap.push(at + TRANSFER, Step::Transferred, request);
                    }
                }
                Step::Transferred => {
                    if let Some(next) = channel.leave(&self.requests) {
                        self.heap.push(at + TRANSFER, Step::Transferred, next);
                    }
                    if let Some(next) = self.chips[chip as usize].leave(&self.requests) {
                        self.heap.push(at + READ, Step::Read, next);
                    }
                    self.link_free = self.link_free.max(at) + LINK;
                    self.heap.push(self.link_free, Step::Arrived, request);
                }
                Step::Arrived => {
                    self.bins.count(at - self.requests[request as usize].start);
                    self.submit(request);
                    left -= 1;
                }
            }
        }
    }

    /// Simulated requests per simulated second so far.
    pub(crate) fn simulated_rate(&self) -> f64 {
        self.bins.total() as f64 / (self.now as f64 * 1e-12)
    }
}
