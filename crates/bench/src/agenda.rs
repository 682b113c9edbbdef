//! Two event queues (agendas): a heap, as any simulator would have, and rings, the cheapest structure that these models
//! allow.

use std::collections::VecDeque;

/// The step of an operation that an event ends. An operation has its own number, or that of its request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The array has read a page or a row.
    Read,
    /// The data have crossed the channel.
    Transferred,
    /// The data have crossed the host link.
    Linked,
    /// The array has programmed the data.
    Programmed,
    /// The array has erased a block.
    Erased,
    /// The first level of a map unit has ended a step.
    FirstLevel,
    /// The second level of a map unit has ended a step.
    SecondLevel,
}

impl Step {
    /// The ring of the step. Map units are measured with reads only, so their levels take the rings of writes.
    #[inline]
    const fn ring(self) -> usize {
        match self {
            Self::Read => 0,
            Self::Transferred => 1,
            Self::Linked => 2,
            Self::Programmed | Self::FirstLevel => 3,
            Self::Erased | Self::SecondLevel => 4,
        }
    }
}

/// The end of a step.
#[derive(Clone, Copy, Debug)]
pub struct AgendaEvent {
    /// Time in picoseconds.
    pub at: u64,
    /// The number of the operation whose step ends.
    pub operation: u32,
    /// The step that ends at this time.
    pub step: Step,
}

/// A queue of events in the order of their times.
pub trait Agenda: Default {
    /// Schedules an event.
    fn push(&mut self, event: AgendaEvent);

    /// Removes the next event and returns it; `None` if there is none.
    fn pop(&mut self) -> Option<AgendaEvent>;
}

/// A heap of events by time, with four children to a parent.
#[derive(Debug, Default)]
pub struct Heap(Vec<AgendaEvent>);

impl Agenda for Heap {
    #[inline]
    fn push(&mut self, event: AgendaEvent) {
        let Self(events) = self;
        let mut hole = events.len();
        events.push(event);
        while hole > 0 {
            let parent = (hole - 1) / 4;
            if events[parent].at <= event.at {
                break;
            }
            events[hole] = events[parent];
            hole = parent;
        }
        events[hole] = event;
    }

    #[inline]
    fn pop(&mut self) -> Option<AgendaEvent> {
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
/// events are scheduled in the order of their times, and no heap is needed. Of events at the same time, that of the last
/// ring comes first.
#[derive(Debug)]
pub struct Rings<const KINDS: usize>([VecDeque<AgendaEvent>; KINDS]);

impl<const KINDS: usize> Default for Rings<KINDS> {
    fn default() -> Self {
        Self(std::array::from_fn(|_| VecDeque::with_capacity(1024)))
    }
}

impl<const KINDS: usize> Agenda for Rings<KINDS> {
    #[inline]
    fn push(&mut self, event: AgendaEvent) {
        self.0[event.step.ring()].push_back(event);
    }

    #[inline]
    fn pop(&mut self) -> Option<AgendaEvent> {
        let Self(rings) = self;
        let heads = rings.each_ref().map(|ring| ring.front().map_or(u64::MAX, |event| event.at));
        let mut first = KINDS - 1;
        for ring in (0..KINDS - 1).rev() {
            first = if heads[ring] < heads[first] { ring } else { first };
        }
        rings[first].pop_front()
    }
}
