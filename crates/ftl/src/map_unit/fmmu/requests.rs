//! The requests of the CMT that wait for the CTP, with the entries of the flushes among them.

use std::collections::VecDeque;

use super::packet::{CtpRequest, PacketKind};
use super::set_wait_queue::SetWaitQueue;

/// The queue to the CTP, and the requests that wait for a block of their set.
#[derive(Clone, Debug)]
pub(super) struct Requests {
    /// Entries of a flushed block.
    width: usize,
    queue: VecDeque<CtpRequest>,
    payload: VecDeque<u32>,
    /// True if the first request cannot proceed before an event frees a block.
    stalled: bool,
    /// Requests that wait for a block of their set, and the entries of the flushes among them.
    pub(super) set_wait_queue: SetWaitQueue<CtpRequest>,
    set_payload: Vec<VecDeque<u32>>,
    flushes_in_sets: usize,
}

impl Requests {
    pub(super) fn new(width: usize, sets: u32, used: bool) -> Self {
        Self {
            width,
            queue: VecDeque::new(),
            payload: VecDeque::new(),
            stalled: false,
            set_wait_queue: SetWaitQueue::new(sets, used),
            set_payload: vec![VecDeque::new(); sets as usize],
            flushes_in_sets: 0,
        }
    }

    pub(super) fn push(&mut self, request: CtpRequest, entries: &[u32]) {
        if request.kind == PacketKind::Flush {
            self.payload.extend(entries);
        }
        self.queue.push_back(request);
    }

    /// The number of requests in the queue to the CTP.
    #[inline]
    pub(super) fn occupied(&self) -> usize {
        self.queue.len() + self.flushes_in_sets
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty() && self.set_wait_queue.is_empty()
    }

    /// True if the first request of the queue can be tried.
    #[inline]
    pub(super) fn is_ready(&self) -> bool {
        self.set_wait_queue.is_ready() || (!self.stalled && !self.queue.is_empty())
    }

    #[inline]
    pub(super) fn first(&self) -> CtpRequest {
        *self.queue.front().expect("a request")
    }

    /// Removes the first request of the queue, which has been executed.
    #[inline]
    pub(super) fn pop(&mut self) {
        self.queue.pop_front();
    }

    /// Marks that the first request of the queue cannot proceed before an event frees a block.
    #[inline]
    pub(super) fn stall(&mut self) {
        self.stalled = true;
    }

    /// Marks that an event has freed a block.
    #[inline]
    pub(super) fn resume(&mut self) {
        self.stalled = false;
    }

    /// Moves the first request of the queue behind those that wait for its set.
    pub(super) fn move_to_set(&mut self, set: u32) {
        let request = self.first();
        self.set_wait_queue.push(set, request);
        if request.kind == PacketKind::Flush {
            self.flushes_in_sets += 1;
            self.set_payload[set as usize].extend(self.payload.drain(..self.width));
        }
        self.queue.pop_front();
    }

    /// Removes the request of a set, which has been executed.
    pub(super) fn take_from_set(&mut self, request: CtpRequest) {
        self.set_wait_queue.went_on();
        self.flushes_in_sets -= usize::from(request.kind == PacketKind::Flush);
    }

    /// The entries of the first flush of a set, or of the queue if no set is given.
    #[inline]
    pub(super) fn entries(&mut self, from: Option<u32>) -> impl Iterator<Item = u32> + '_ {
        let payload = match from {
            None => &mut self.payload,
            Some(set) => &mut self.set_payload[set as usize],
        };
        payload.drain(..self.width)
    }

    /// The newest value of a page's entry that a waiting flush brings. `set` is the set of the page.
    pub(super) fn peek(&self, set: u32, tvpn: u32, at: usize) -> Option<u32> {
        newest(self.width, self.queue.iter(), &self.payload, (tvpn, at))
            .or_else(|| newest(self.width, self.set_wait_queue.chain(set), &self.set_payload[set as usize], (tvpn, at)))
    }
}

/// The newest value of a page's entry among flushes of `width` entries, whose entries lie in `payload` one flush after
/// another.
pub(super) fn newest<'a>(
    width: usize,
    requests: impl DoubleEndedIterator<Item = &'a CtpRequest>,
    payload: &VecDeque<u32>,
    (tvpn, at): (u32, usize),
) -> Option<u32> {
    let mut end = payload.len();
    for request in requests.rev().filter(|request| request.kind == PacketKind::Flush) {
        end -= width;
        // The flush that was sent last has the newest value.
        if request.tvpn == tvpn && (request.at..request.at + width).contains(&at) {
            return Some(payload[end + at - request.at]);
        }
    }
    None
}
