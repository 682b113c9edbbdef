//! FlowSet flows at once: tenants of one drive, each with its own pacing, queue and results.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use base::io::Io;
use base::steps;
use base::units::{Span, Time};
use ssd::{Completion, Drive, QueueId, Tag};
use workload::{Pacing, Source, Think};

use super::coming::AnnouncedRequests;
use super::error::{RunError, too_late};
use super::flight::{Flight, Flows};
use super::result::{FlowResult, RunSums};
use super::rules::Rules;
use super::time::{arrival, until};
use crate::oracle::Payload;

/// A workload that runs beside others.
pub struct Flow<'a> {
    /// The flow's name in results.
    pub name: String,
    /// The source from which the flow's requests come.
    pub source: &'a mut dyn Source,
    /// The pacing; the source's own if `None`.
    pub pacing: Option<Pacing>,
    /// The queue to which the requests are submitted.
    pub queue: QueueId,
}

impl<'a> Flow<'a> {
    /// The flow of a source, with the source's own pacing, in the first queue.
    #[must_use]
    pub fn of(source: &'a mut dyn Source) -> Self {
        Self { name: String::new(), source, pacing: None, queue: QueueId::default() }
    }

    /// The pacing of the requests.
    #[must_use]
    pub fn pacing(&self) -> Pacing {
        self.pacing.unwrap_or_else(|| self.source.pacing())
    }
}

struct FlowState<'a> {
    flow: Flow<'a>,
    pacing: Pacing,
    /// The time at which a closed loop ends.
    until: Time,
    pause: Pause,
    /// The next request of an open loop or a replay.
    next: Option<(Io, Option<u16>)>,
    /// True if the next request of a replay is due and waits for a completion, because its depth is reached.
    held: bool,
    /// True if the source has ended.
    over: bool,
    outstanding: u64,
    /// The number of requests submitted so far, warm-up included.
    issued: u64,
    /// The requests of a closed loop that were drawn ahead.
    coming: AnnouncedRequests,
    collected: RunSums,
}

/// The pauses of a closed loop.
struct Pause {
    think: Option<Think>,
    /// The number of requests since the last pause.
    since: u32,
    /// True during a pause.
    is_on: bool,
}

impl Pause {
    /// True if a pause begins as soon as all requests of the flow have completed.
    fn is_due(&self) -> bool {
        self.think.is_some_and(|think| self.since >= think.every)
    }
}

/// The flow of each request in flight, by tag. Tags are assigned in order and return in nearly that order.
struct FlightWindow {
    first: Tag,
    /// The flow of each tag, from the oldest tag in flight on; `None` for a completed request.
    flows: VecDeque<Option<u16>>,
}

impl FlightWindow {
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

pub(super) struct FlowSet<'a> {
    flows: Vec<FlowState<'a>>,
    /// The times of the next requests of open loops, and the times at which closed loops begin or end a pause.
    due: BinaryHeap<Reverse<(Time, usize)>>,
    window: FlightWindow,
    /// The flows whose requests have just completed, in order of completion.
    completed: Vec<u16>,
    start: Time,
    scale: Option<f64>,
    /// True if all flows are open loops, whose requests pile up if the drive is too slow.
    open: bool,
    /// True if requests beyond the end of simulated time belong to a later round of a life.
    is_bounded_round: bool,
}

impl<'a> FlowSet<'a> {
    pub(super) fn new(flows: Vec<Flow<'a>>, start: Time, rules: &Rules<'_>) -> Self {
        let state = |flow: Flow<'a>| FlowState {
            pacing: flow.pacing(),
            pause: Pause { think: flow.source.think(), since: 0, is_on: false },
            until: until(start, flow.source.duration()),
            flow,
            next: None,
            held: false,
            over: false,
            outstanding: 0,
            issued: 0,
            coming: AnnouncedRequests::default(),
            collected: RunSums::default(),
        };
        let window = FlightWindow { first: rules.first_tag, flows: VecDeque::new() };
        let flows: Vec<FlowState<'a>> = flows.into_iter().map(state).collect();
        let open = flows.iter().all(|state| state.pacing == Pacing::Open);
        Self {
            flows,
            due: BinaryHeap::new(),
            window,
            completed: Vec::new(),
            start,
            scale: rules.time_scale,
            open,
            is_bounded_round: false,
        }
    }

    /// Draws the next request of an open loop or a replay.
    fn draw(&mut self, i: usize, now: Time) -> Result<(), RunError> {
        let state = &mut self.flows[i];
        state.next = match state.flow.source.next()? {
            None => None,
            Some(next) => {
                let Some(at) = arrival(self.start, next.at, self.scale) else {
                    if self.is_bounded_round {
                        return Ok(());
                    }
                    return Err(too_late(&*state.flow.source, state.issued));
                };
                // A request of a replay may be late without being out of order.
                state.collected.inversions += u64::from(at < now && state.pacing == Pacing::Open);
                self.due.push(Reverse((at, i)));
                Some((next.io, next.queue))
            }
        };
        Ok(())
    }

    /// The time and flow of the next request of an open loop or a replay; the first flow wins a tie.
    fn due(&self) -> Option<(Time, usize)> {
        self.due.peek().map(|Reverse(due)| *due)
    }

    /// Takes the request that is due; `None` if the pause of a closed loop ends.
    fn take_due(&mut self) -> Option<(Io, Option<u16>)> {
        steps::count();
        let Reverse((_, i)) = self.due.pop().expect("it is due");
        let FlowState { next, pause, .. } = &mut self.flows[i];
        pause.is_on = false;
        next.take()
    }

    /// Makes a closed loop pause. A loop whose end comes before the end of the pause ends now.
    fn pause(&mut self, i: usize, from: Time, span: Span) {
        let FlowState { pause, over, until, .. } = &mut self.flows[i];
        (pause.is_on, pause.since) = (true, 0);
        match arrival(from, Time::from_ps(span.as_ps()), None).filter(|at| at < until) {
            Some(at) => self.due.push(Reverse((at, i))),
            None => *over = true,
        }
    }

    /// Holds the request that is due until a request of its flow completes, if its replay has as many outstanding as it
    /// may have. Returns true if so.
    fn hold_due(&mut self) -> bool {
        let Some((_, i)) = self.due() else { return false };
        let state = &mut self.flows[i];
        let Pacing::Replay { depth } = state.pacing else { return false };
        state.held = state.outstanding >= u64::from(depth);
        if state.held {
            self.due.pop();
        }
        state.held
    }

    /// The results of each flow, measured from `from`.
    pub(super) fn results(self, from: Time) -> Vec<FlowResult> {
        let result = |state: FlowState<'a>| {
            let Flow { name, queue, .. } = state.flow;
            FlowResult::new(name, queue, state.pacing, from, state.issued, state.collected)
        };
        self.flows.into_iter().map(result).collect()
    }

    fn submitted(&mut self, i: usize) {
        self.window.flows.push_back(Some(i as u16));
        self.flows[i].outstanding += 1;
        self.flows[i].issued += 1;
        self.flows[i].pause.since = self.flows[i].pause.since.saturating_add(1);
        self.flows[i].collected.submitted += 1;
    }
}

impl Flows for FlowSet<'_> {
    fn completed<S>(&mut self, completion: &Completion<S>) -> u16 {
        let flow = self.window.take(completion.tag);
        let state = &mut self.flows[usize::from(flow)];
        state.outstanding -= 1;
        state.collected.complete(completion);
        self.completed.push(flow);
        flow
    }

    fn end_warm_up(&mut self) {
        for FlowState { outstanding, collected, .. } in &mut self.flows {
            *collected = RunSums::with_under_way(*outstanding);
        }
    }
}

impl<S, D: Drive<S>, P: Payload<S>> Flight<'_, '_, S, D, P> {
    /// Runs all flows to their ends.
    pub(super) fn several(&mut self, several: &mut FlowSet<'_>) -> Result<(), RunError> {
        several.is_bounded_round = self.is_bounded_round();
        for i in 0..several.flows.len() {
            if !matches!(several.flows[i].pacing, Pacing::Closed { .. }) {
                several.draw(i, self.now)?;
            }
        }
        for i in 0..several.flows.len() {
            let FlowState { flow, pacing, .. } = &several.flows[i];
            let delay = flow.source.start();
            if matches!(pacing, Pacing::Closed { .. }) && !delay.is_zero() {
                several.pause(i, self.now, delay);
            }
        }
        // Closed loops take turns to submit one request each, so that none has an advantage.
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
                if several.hold_due() {
                    continue;
                }
                let Some((io, queue)) = several.take_due() else {
                    while self.refill(several, i)? {}
                    continue;
                };
                self.submit(io, self.named(queue, several.flows[i].flow.queue)?)?;
                several.submitted(i);
                self.submitted(i);
                if several.open {
                    self.result.arrived(self.now, self.outstanding);
                }
                several.draw(i, self.now)?;
                continue;
            }
            if self.outstanding == 0 && due.is_none() {
                break;
            }
            self.advance(due.map_or(Time::MAX, |(at, _)| at), several)?;
            // Taken out during the loop and put back, to reuse its allocation.
            let mut completed = std::mem::take(&mut several.completed);
            for i in completed.drain(..) {
                self.refill(several, usize::from(i))?;
            }
            several.completed = completed;
        }
        self.result.inversions = several.flows.iter().map(|state| state.collected.inversions).sum();
        self.next_at = several.due().map(|(at, _)| at);
        for FlowState { coming, flow, .. } in &mut several.flows {
            coming.settle(&mut *flow.source);
        }
        Ok(())
    }

    /// Submits a request of a closed loop with fewer outstanding than its depth, or the request that a replay holds.
    /// Returns false if none is submitted.
    fn refill(&mut self, several: &mut FlowSet<'_>, i: usize) -> Result<bool, RunError> {
        steps::count();
        let FlowState { flow, pacing, until, over, outstanding, coming, pause, held, next, .. } = &mut several.flows[i];
        if let Some((io, queue)) = next.take_if(|_| std::mem::take(held)) {
            if self.left == 0 || self.now >= self.stop_at {
                return Ok(false);
            }
            self.submit(io, self.named(queue, flow.queue)?)?;
            several.submitted(i);
            self.submitted(i);
            several.draw(i, self.now)?;
            return Ok(true);
        }
        let Pacing::Closed { depth } = *pacing else { return Ok(false) };
        if *over || pause.is_on || *outstanding >= u64::from(depth) {
            return Ok(false);
        }
        if let Some(think) = pause.think.filter(|_| pause.is_due()) {
            if *outstanding == 0 {
                several.pause(i, self.now, think.time);
            }
            return Ok(false);
        }
        let Some((io, queue)) = self.next_request(&mut *flow.source, coming, flow.queue, *until)? else {
            *over = true;
            return Ok(false);
        };
        self.submit(io, queue)?;
        several.submitted(i);
        self.submitted(i);
        Ok(true)
    }
}

#[cfg(test)]
mod tests;
