//! Two event queues (agendas): a heap, as any simulator would have, and rings, the cheapest structure that these models
//! allow.

use std::collections::VecDeque;

/// The end of a step of a request. Each kind of step has a ring of its own.
pub trait Step: Copy + 'static {
    /// All kinds of steps; of events at the same time, events of the last kind come first.
    const ALL: &'static [Self];

    /// Returns the position of the kind in [`Self::ALL`].
    fn ring(self) -> usize;
}

/// The end of a step of a request, at its time.
#[derive(Clone, Copy, Debug)]
pub struct AgendaEvent<S> {
    /// Time in picoseconds.
    pub at: u64,
    /// The step that ends at this time.
    pub step: S,
    /// The number of the request whose step ends.
    pub request: u32,
}

/// A queue of events in the order of their times.
pub trait Agenda<S>: Default {
    /// Schedules an event.
    fn push(&mut self, at: u64, step: S, request: u32);

    /// Removes the next event and returns it; `None` if there is none.
    fn pop(&mut self) -> Option<AgendaEvent<S>>;
}

/// A heap of events by time, with four children to a parent.
#[derive(Debug)]
pub struct Heap<S>(Vec<AgendaEvent<S>>);

impl<S> Default for Heap<S> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<S: Step> Agenda<S> for Heap<S> {
    #[inline]
    fn push(&mut self, at: u64, step: S, request: u32) {
        let Self(events) = self;
        let event = AgendaEvent { at, step, request };
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
    fn pop(&mut self) -> Option<AgendaEvent<S>> {
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

/// A ring for each kind of step. Every step takes a constant time or ends in the order of a first-come queue, so its
/// events are scheduled in the order of their times, and no heap is needed.
#[derive(Debug)]
pub struct Rings<const KINDS: usize>([VecDeque<(u64, u32)>; KINDS]);

impl<const KINDS: usize> Default for Rings<KINDS> {
    fn default() -> Self {
        Self(std::array::from_fn(|_| VecDeque::with_capacity(1024)))
    }
}

impl<S: Step, const KINDS: usize> Agenda<S> for Rings<KINDS> {
    #[inline]
    fn push(&mut self, at: u64, step: S, request: u32) {
        self.0[step.ring()].push_back((at, request));
    }

    #[inline]
    fn pop(&mut self) -> Option<AgendaEvent<S>> {
        let Self(rings) = self;
        let heads = rings.each_ref().map(|ring| ring.front().map_or(u64::MAX, |(at, _)| *at));
        let mut first = KINDS - 1;
        for ring in (0..KINDS - 1).rev() {
            first = if heads[ring] < heads[first] { ring } else { first };
        }
        let (at, request) = rings[first].pop_front()?;
        Some(AgendaEvent { at, step: S::ALL[first], request })
    }
}
