//! Several flows at once: tenants of one disk, each with its own pacing, queue and results.

use std::collections::VecDeque;

use base::io::Io;
use base::units::Time;
use ssd::{Completion, Drive, QueueId, Tag};
use workload::{Pacing, Source};

use super::error::{RunError, too_late};
use super::flight::{Flight, Flows};
use super::result::{Collected, FlowResult};
use super::time::{arrival, until};
use crate::oracle::Payload;

/// One of the workloads that run at the same time.
pub struct Flow<'a> {
    /// What it is called in results.
    pub name: String,
    /// Its requests.
    pub source: &'a mut dyn Source,
    /// How they are issued; as the source says if `None`.
    pub pacing: Option<Pacing>,
    /// The queue they are submitted to.
    pub queue: QueueId,
}

impl Flow<'_> {
    /// How its requests are issued.
    #[must_use]
    pub fn pacing(&self) -> Pacing {
        self.pacing.unwrap_or_else(|| self.source.pacing())
    }
}

/// A flow under way.
struct State<'a> {
    flow: Flow<'a>,
    pacing: Pacing,
    /// When a closed loop ends.
    until: Time,
    /// The next request of an open loop.
    next: Option<(Time, Io)>,
    /// The source has no more.
    over: bool,
    outstanding: u64,
    /// Requests that it has submitted so far, a warm-up included.
    issued: u64,
    collected: Collected,
}

/// Whose the requests under way are, by tag: tags are given in order and come back in nearly that order.
struct Window {
    first: Tag,
    /// `None` for a request that has completed.
    flows: VecDeque<Option<u16>>,
}

impl Window {
    fn take(&mut self, tag: Tag) -> u16 {
        let place = tag.checked_sub(self.first).and_then(|i| self.flows.get_mut(i as usize));
        let flow = place.and_then(Option::take).expect("a request completed that was not under way");
        while let Some(None) = self.flows.front() {
            self.flows.pop_front();
            self.first += 1;
        }
        flow
    }
}

/// All flows of a run.
pub(super) struct Several<'a> {
    flows: Vec<State<'a>>,
    window: Window,
    /// The flows whose requests have just completed, in that order.
    completed: Vec<u16>,
    start: Time,
    scale: Option<f64>,
}

impl<'a> Several<'a> {
    pub(super) fn new(flows: Vec<Flow<'a>>, start: Time, first: Tag, scale: Option<f64>) -> Self {
        let state = |flow: Flow<'a>| State {
            pacing: flow.pacing(),
            until: until(start, flow.source.duration()),
            flow,
            next: None,
            over: false,
            outstanding: 0,
            issued: 0,
            collected: Collected::default(),
        };
        let window = Window { first, flows: VecDeque::new() };
        Self { flows: flows.into_iter().map(state).collect(), window, completed: Vec::new(), start, scale }
    }

    /// Looks for the next request of an open loop.
    fn fetch(&mut self, i: usize, now: Time) -> Result<(), RunError> {
        let state = &mut self.flows[i];
        state.next = match state.flow.source.next()? {
            None => None,
            Some(next) => {
                let at = arrival(self.start, next.at, self.scale);
                Some((at.ok_or_else(|| too_late(&*state.flow.source, state.issued))?, next.io))
            }
        };
        state.collected.inversions += u64::from(state.next.is_some_and(|(at, _)| at < now));
        Ok(())
    }

    /// When the next request of an open loop is due, and whose it is; of several the first.
    fn due(&self) -> Option<(Time, usize)> {
        let next = |(i, state): (usize, &State<'a>)| state.next.map(|(at, _)| (at, i));
        self.flows.iter().enumerate().filter_map(next).min()
    }

    /// What became of each flow, measured from `from` on.
    pub(super) fn results(self, from: Time) -> Vec<FlowResult> {
        let result = |state: State<'a>| {
            let Flow { name, queue, .. } = state.flow;
            FlowResult::new(name, queue, state.pacing, from, state.collected)
        };
        self.flows.into_iter().map(result).collect()
    }

    fn submitted(&mut self, i: usize) {
        self.window.flows.push_back(Some(i as u16));
        self.flows[i].outstanding += 1;
        self.flows[i].issued += 1;
        self.flows[i].collected.submitted += 1;
    }
}

impl Flows for Several<'_> {
    fn completed<S>(&mut self, completion: &Completion<S>) -> u16 {
        let flow = self.window.take(completion.tag);
        let state = &mut self.flows[usize::from(flow)];
        state.outstanding -= 1;
        state.collected.complete(completion);
        self.completed.push(flow);
        flow
    }

    fn measure(&mut self) {
        for State { outstanding, collected, .. } in &mut self.flows {
            *collected = Collected::with_under_way(*outstanding);
        }
    }
}

impl<S, D: Drive<S>, P: Payload<S>> Flight<'_, '_, S, D, P> {
    /// Runs all flows to their ends.
    pub(super) fn several(&mut self, several: &mut Several<'_>) -> Result<(), RunError> {
        for i in (0..several.flows.len()).filter(|i| several.flows[*i].pacing == Pacing::Open).collect::<Vec<_>>() {
            several.fetch(i, self.now)?;
        }
        // One request of each closed loop in turn, so that none has an advantage.
        let mut more = true;
        while more {
            more = false;
            for i in 0..several.flows.len() {
                more |= self.refill(several, i)?;
            }
        }
        loop {
            let due = several.due().filter(|(at, _)| self.left > 0 && *at < self.stop_at);
            if let Some((at, i)) = due
                && at <= self.now
            {
                let (_, io) = several.flows[i].next.take().expect("it is due");
                self.submit(io, several.flows[i].flow.queue)?;
                several.submitted(i);
                several.fetch(i, self.now)?;
                continue;
            }
            if self.outstanding == 0 && due.is_none() {
                break;
            }
            self.advance(due.map_or(Time::MAX, |(at, _)| at), several)?;
            // Taken out while it is looked at, and put back for its memory.
            let mut completed = std::mem::take(&mut several.completed);
            for i in completed.drain(..) {
                self.refill(several, usize::from(i))?;
            }
            several.completed = completed;
        }
        self.result.inversions = several.flows.iter().map(|state| state.collected.inversions).sum();
        Ok(())
    }

    /// Submits a request of a closed loop that has fewer under way than its depth. False if none was.
    fn refill(&mut self, several: &mut Several<'_>, i: usize) -> Result<bool, RunError> {
        let State { flow, pacing, until, over, outstanding, .. } = &mut several.flows[i];
        let Pacing::Closed { depth } = *pacing else { return Ok(false) };
        if *over || *outstanding >= u64::from(depth) {
            return Ok(false);
        }
        *over = !self.submit_next(&mut *flow.source, flow.queue, *until)?;
        if *over {
            return Ok(false);
        }
        several.submitted(i);
        Ok(true)
    }
}

#[cfg(test)]
mod tests;
