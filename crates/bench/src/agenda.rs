//! Two agendas of events: a heap, as any simulator would have, and rings, the least that this model allows.

use std::collections::VecDeque;

/// The end of a step of a request.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// Its array read.
    Read,
    /// Its transfer over the channel.
    Transferred,
    /// Its transfer over the host link.
    Arrived,
}

/// An event.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// The time in picoseconds.
    pub at: u64,
    /// The step that ends.
    pub step: Step,
    /// The request.
    pub request: u32,
}

/// Events in the order of their time.
pub trait Agenda: Default {
    /// Schedules an event.
    fn push(&mut self, at: u64, step: Step, request: u32);

    /// Removes the next event.
    fn pop(&mut self) -> Option<Event>;
}

/// A heap of events by time, four children to a parent.
#[derive(Debug, Default)]
pub struct Heap(Vec<Event>);

impl Agenda for Heap {
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

/// A ring for each step. Every step takes a constant time or ends in the order of a first-come queue, so its events
/// are scheduled in the order of their times, and no heap is needed.
#[derive(Debug)]
pub struct Rings([VecDeque<(u64, u32)>; 3]);

impl Default for Rings {
    fn default() -> Self {
        Self(std::array::from_fn(|_| VecDeque::with_capacity(1024)))
    }
}

impl Agenda for Rings {
    #[inline]
    fn push(&mut self, at: u64, step: Step, request: u32) {
        self.0[step as usize].push_back((at, request));
    }

    #[inline]
    fn pop(&mut self) -> Option<Event> {
        let Self(rings) = self;
        let head = |ring: &VecDeque<(u64, u32)>| ring.front().map_or(u64::MAX, |(at, _)| *at);
        let [read, transferred, arrived] = rings.each_ref().map(head);
        let step = if arrived <= transferred && arrived <= read {
            Step::Arrived
        } else if transferred <= read {
            Step::Transferred
        } else {
            Step::Read
        };
        let (at, request) = rings[step as usize].pop_front()?;
        Some(Event { at, step, request })
    }
}
