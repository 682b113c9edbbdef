//! The state of a run: the code that submits requests, takes completions and accounts for every request.

use std::sync::atomic::{AtomicBool, Ordering};

use base::io::Io;
use base::units::{Sectors, Span, Time};
use flash::backend::{Op, Tally};
use ssd::{Completion, Counters, Drive, QueueId, Request, Status, Tag};
use workload::{Pacing, Source};

use super::coming::AnnouncedRequests;
use super::course::{Course, SERIES_INTERVAL, SERIES_POINTS};
use super::error::{RunError, too_late};
use super::record::{Progress, Record, RequestLog};
use super::result::{Books, FlowResult, MeasurementStart, RunResult, RunSums};
use super::rounds::Rounds;
use super::rules::{Rules, Stop, WarmUp};
use super::target::RunTarget;
use super::time::{END, LAST, arrival, until};
use super::wear::{Hooks, WearWatch};
use crate::life::LONGEST_ROUND;
use crate::oracle::Payload;
use crate::series::Series;
use crate::steady::SteadyResult;
use workload::measure::Amount;

/// The number of completions between two calls of the progress callback.
const PROGRESS_EVERY: u64 = 1 << 14;

/// The number of completions between two checks of the interruption: some hundredths of a second for a drive that
/// merges.
const INTERRUPTION_EVERY: u64 = 1 << 10;

/// Events per mapping unit of a drive, without a submission or completion, after which a request counts as lost. The
/// longest request touches about every mapping unit, each takes some dozens of events, and garbage collection copies
/// some hundred mapping units for each one written. A limit in simulated time would be wrong for slow drives.
const LOST_AFTER: u64 = 1 << 14;

/// The state of a run.
pub(super) struct Flight<'a, 'l, S, D, P> {
    pub(super) drive: &'a mut D,
    payload: &'a mut P,
    capacity: Sectors,
    /// The number of requests that may still be submitted.
    pub(super) left: u64,
    /// The time at which submission ends.
    pub(super) stop_at: Time,
    stop: Stop,
    /// The arrival of the first request after the end of submission, if it is known.
    pub(super) next_at: Option<Time>,
    /// The amount of data at which submission ends, if the stop rule measures data.
    enough: Option<RunTarget>,
    /// The warm-up, until it ends.
    warm_up: Option<Warm<'l, D>>,
    /// The number of requests completed in the warm-up.
    warmed: u64,
    /// The result of a warm-up that waited for steady state.
    settled: Option<SteadyResult>,
    /// The life that records the drive's wear, if the run is a round of one.
    wear: Option<WearWatch<'l, D>>,
    /// The longest time that background work may take after the last completion.
    settle: Option<Span>,
    first_tag: Tag,
    scale: Option<f64>,
    interrupt: Option<&'l AtomicBool>,
    log: Option<&'l mut dyn RequestLog>,
    progress: Option<&'l mut dyn FnMut(Progress)>,
    completions: Vec<Completion<S>>,
    /// A sum over the tags in flight. It is zero again if each tag came back exactly once.
    ledger: u64,
    pub(super) outstanding: u64,
    pub(super) now: Time,
    /// The time of the last submission or completion, and the number of events that the device had handled at that
    /// time.
    last_sign: (Time, u64),
    /// The counters at the start, with nothing in flight.
    at_rest: Counters,
    /// The number of events without a submission or completion after which a request counts as lost.
    patience: u64,
    before: Counters,
    series: Series,
    /// The detailed time series, if the user asked for one.
    detailed: Option<(Course, Series)>,
    pub(super) result: RunSums,
}

/// A warm-up that has not ended.
struct Warm<'l, D> {
    /// The warm-up ends when this is reached,
    target: RunTarget,
    /// or when these rounds are steady.
    rounds: Option<Rounds>,
    /// The request log, which begins with the measurement.
    log: Option<&'l mut dyn RequestLog>,
    /// Called when the warm-up ends.
    end_warm_up: fn(&mut D, Time),
}

/// A tag's contribution to the ledger: scrambled, so that two wrong tags do not cancel each other.
fn entry(tag: Tag) -> u64 {
    let x = (tag + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (x ^ (x >> 31)).wrapping_mul(0xD6E8_FEB8_6659_FD93)
}

/// The number of events without a submission or completion after which a request counts as lost. `unit` is the size of
/// a mapping unit.
fn patience(capacity: Sectors, unit: Sectors) -> u64 {
    (capacity.get() / unit.get().max(1)).max(64).saturating_mul(LOST_AFTER)
}

/// True if a sum of busy times has reached the maximum of a span, so that it may have overflowed.
fn is_beyond_telling(counters: &Counters) -> bool {
    let second = counters.slc_array.iter().map(|second| &second.flash);
    let accounts = std::iter::once(&counters.flash).chain(second);
    Op::ALL.into_iter().any(|op| {
        accounts.clone().any(|account| {
            let Tally { array, bus, .. } = account.op(op);
            array == Span::MAX || bus == Span::MAX
        })
    })
}

/// The flows to which the requests in flight belong.
pub(super) trait Flows {
    /// Accounts for a completed request and returns the index of its flow.
    fn completed<S>(&mut self, completion: &Completion<S>) -> u16;

    /// Ends the warm-up: requests in flight count, earlier requests do not.
    fn end_warm_up(&mut self) {}
}

/// The only flow of a run: its results are the run's results.
struct SingleFlow;

impl Flows for SingleFlow {
    #[inline]
    fn completed<S>(&mut self, _: &Completion<S>) -> u16 {
        0
    }
}

impl<'a, 'l, S, D: Drive<S>, P: Payload<S>> Flight<'a, 'l, S, D, P> {
    /// Creates the state of a run with this many flows, or with one workload if `flows` is zero.
    pub(super) fn new(
        rules: Rules<'l>,
        drive: &'a mut D,
        payload: &'a mut P,
        hooks: Hooks<'l, D>,
        flows: usize,
    ) -> Self {
        let before = drive.counters();
        let capacity = drive.capacity();
        let end_warm_up = hooks.end_warm_up;
        let until = |target, rounds| Some(Warm { target, rounds, log: None, end_warm_up });
        let warm = |amount: Amount| match amount.is_nothing() {
            true => None,
            false => until(RunTarget::new(amount, before.at, capacity), None),
        };
        let rounds = |rule| Some(Rounds::new(rule, capacity, before.clone()));
        let mut flight = Self {
            capacity: drive.capacity(),
            patience: patience(drive.capacity(), drive.discard_granularity()),
            drive,
            payload,
            left: u64::MAX,
            stop_at: Time::MAX,
            next_at: None,
            stop: rules.stop,
            enough: None,
            warm_up: match rules.warm_up {
                WarmUp::None => None,
                WarmUp::Requests(requests) => warm(Amount::Requests(requests)),
                WarmUp::Time(span) => warm(Amount::Time(span)),
                WarmUp::Bytes(bytes) => warm(Amount::Bytes(bytes)),
                WarmUp::Capacities(times) => warm(Amount::Capacities(times)),
                WarmUp::Steady(rule) => until(RunTarget::NEVER, rounds(rule)),
            },
            warmed: 0,
            settled: None,
            wear: WearWatch::new(hooks),
            settle: rules.settle,
            first_tag: rules.first_tag,
            scale: rules.time_scale,
            interrupt: rules.interrupt,
            log: rules.log,
            progress: rules.progress,
            completions: Vec::new(),
            ledger: 0,
            outstanding: 0,
            now: before.at,
            last_sign: (before.at, before.events),
            at_rest: before.clone(),
            series: Series::new(before.clone(), SERIES_INTERVAL, SERIES_POINTS),
            detailed: rules.course.map(|course| (course, course.series(before.clone(), &vec![0; flows]))),
            before,
            result: RunSums::default(),
        };
        match &mut flight.warm_up {
            Some(warm) => warm.log = flight.log.take(),
            None => flight.limit(),
        }
        flight
    }

    /// Applies the stop rule from now on.
    fn limit(&mut self) {
        match self.stop {
            Stop::AtEnd => {}
            // Requests in flight count for the limit, and have already been submitted.
            Stop::Requests(requests) => self.left = requests.saturating_sub(self.outstanding),
            Stop::Time(span) => self.stop_at = until(self.now, Some(span)),
            Stop::Bytes(bytes) => self.enough = Some(RunTarget::new(Amount::Bytes(bytes), self.now, self.capacity)),
            Stop::Capacities(times) => {
                self.enough = Some(RunTarget::new(Amount::Capacities(times), self.now, self.capacity));
            }
            Stop::Worn(None) => {}
            Stop::Worn(Some(round)) => {
                self.stop_at = until(self.now, Some(LONGEST_ROUND));
                self.enough = Some(RunTarget::new(round, self.now, self.capacity));
            }
        }
    }

    /// Ends the warm-up. Requests in flight continue and are the first to be measured.
    #[cold]
    fn end_warm_up(&mut self, flows: &mut impl Flows) {
        let Some(Warm { log, end_warm_up, rounds, .. }) = self.warm_up.take() else { return };
        self.settled = rounds.map(Rounds::end);
        self.warmed = self.result.completed;
        self.log = log;
        end_warm_up(self.drive, self.now);
        flows.end_warm_up();
        // The numbering of tags continues.
        self.first_tag += self.result.submitted - self.outstanding;
        self.result = RunSums::with_under_way(self.outstanding);
        self.before = self.drive.counters();
        self.series = Series::new(self.before.clone(), SERIES_INTERVAL, SERIES_POINTS);
        if let Some((course, series)) = &mut self.detailed {
            *series = course.series(self.before.clone(), &series.outstanding());
        }
        self.limit();
    }

    /// True if the run is a round of a life that may end before its workload does.
    pub(super) const fn is_bounded_round(&self) -> bool {
        matches!(self.stop, Stop::Worn(Some(_)))
    }

    /// The time at which the measurement began.
    pub(super) fn measured_from(&self) -> Time {
        self.before.at
    }

    /// Runs a closed loop until `until`: keeps `depth` requests outstanding and replaces each at the instant of its
    /// completion.
    pub(super) fn closed<W: Source + ?Sized>(
        &mut self,
        source: &mut W,
        queue: QueueId,
        depth: u32,
        until: Time,
    ) -> Result<(), RunError> {
        let (mut coming, mut more) = (AnnouncedRequests::default(), true);
        let mut free = u64::from(depth);
        loop {
            while more && free > 0 {
                match self.next_request(source, &mut coming, queue, until)? {
                    Some((io, queue)) => self.submit(io, queue)?,
                    None => more = false,
                }
                free -= 1;
            }
            if self.outstanding == 0 {
                break;
            }
            free = self.advance(Time::MAX, &mut SingleFlow)?;
        }
        coming.settle(source);
        Ok(())
    }

    /// Runs an open loop: submits each request at its time of arrival, counted from now. With a `depth`, a request also
    /// waits until fewer than `depth` requests are outstanding, and is then late.
    pub(super) fn open<W: Source + ?Sized>(
        &mut self,
        source: &mut W,
        queue: QueueId,
        depth: Option<u32>,
    ) -> Result<(), RunError> {
        let start = self.now;
        while self.left > 0 {
            let Some(next) = source.next()? else { break };
            let at = arrival(start, next.at, self.scale);
            let Some(at) = at else {
                if self.is_bounded_round() {
                    break;
                }
                return Err(too_late(source, self.first_tag + self.result.submitted));
            };
            // A request of a replay may be late without being out of order.
            self.result.inversions += u64::from(at < self.now && depth.is_none());
            if at >= self.stop_at {
                self.next_at = Some(at);
                break;
            }
            while self.now < at {
                self.advance(at, &mut SingleFlow)?;
            }
            while depth.is_some_and(|depth| self.outstanding >= u64::from(depth)) {
                self.advance(Time::MAX, &mut SingleFlow)?;
            }
            // The warm-up may have ended meanwhile; the stop rule then counts from now and may be fulfilled at once.
            let issue = if depth.is_some() { self.now } else { at };
            if self.left == 0 || issue >= self.stop_at {
                break;
            }
            self.submit(next.io, self.named(next.queue, queue)?)?;
            if depth.is_none() {
                self.result.arrived(self.now, self.outstanding);
            }
        }
        while self.outstanding > 0 {
            self.advance(Time::MAX, &mut SingleFlow)?;
        }
        Ok(())
    }

    /// The next request of a closed loop and its queue. `None` if the source has no more, or the loop ends at `until`.
    #[inline(always)]
    #[allow(clippy::inline_always)] // Every request of a closed loop passes here.
    pub(super) fn next_request<W: Source + ?Sized>(
        &mut self,
        source: &mut W,
        coming: &mut AnnouncedRequests,
        queue: QueueId,
        until: Time,
    ) -> Result<Option<(Io, QueueId)>, RunError> {
        if self.left == 0 || self.now >= until.min(self.stop_at) {
            return Ok(None);
        }
        if let Some(io) = coming.next(source, self.drive, self.payload) {
            return Ok(Some((io, queue)));
        }
        let Some(next) = source.next()? else { return Ok(None) };
        Ok(Some((next.io, self.named(next.queue, queue)?)))
    }

    /// The queue that the source names for a request; if it names none, the queue of the flow.
    #[inline]
    pub(super) fn named(&self, queue: Option<u16>, of_flow: QueueId) -> Result<QueueId, RunError> {
        let Some(queue) = queue.map(QueueId::new) else { return Ok(of_flow) };
        let queues = self.drive.queues();
        if queue.index() < queues { Ok(queue) } else { Err(RunError::NoQueue { queue, queues }) }
    }

    #[inline(always)]
    #[allow(clippy::inline_always)] // Every request passes here.
    pub(super) fn submit(&mut self, io: Io, queue: QueueId) -> Result<(), RunError> {
        let tag = self.first_tag + self.result.submitted;
        if io.end().get() > self.capacity.get() {
            return Err(RunError::BeyondCapacity { tag, io, capacity: self.capacity });
        }
        let data = self.payload.content(tag, &io);
        self.drive.submit(self.now, Request { tag, queue, io, data });
        self.result.submitted += 1;
        self.left -= 1;
        self.outstanding += 1;
        self.ledger = self.ledger.wrapping_add(entry(tag));
        self.last_sign = (self.now, self.drive.events());
        Ok(())
    }

    /// Advances the device to `to`, the next point of the series or the first completion, whichever comes first.
    /// Returns the number of completed requests.
    #[inline(always)]
    #[allow(clippy::inline_always)] // Every completion passes here.
    pub(super) fn advance(&mut self, to: Time, flows: &mut impl Flows) -> Result<u64, RunError> {
        let due = match &self.warm_up {
            None => self.due(),
            Some(warm) => Some(warm.target.at.min(warm.rounds.as_ref().map_or(Time::MAX, Rounds::due))),
        };
        let to = due.map_or(to, |due| due.min(to)).min(Time::END);
        let before = self.now;
        self.now = self.drive.advance(to, &mut self.completions);
        if let Some((_, series)) = &mut self.detailed {
            series.pass(self.outstanding, self.now.saturating_since(before));
        }
        if self.now > END {
            return Err(self.end_of_time());
        }
        let finished = self.completions.len() as u64;
        if finished > 0 {
            self.last_sign = (self.now, self.drive.events());
            // Taken out during the loop and put back, to reuse its allocation.
            let mut completions = std::mem::take(&mut self.completions);
            for completion in &completions {
                self.complete(completion, flows)?;
            }
            completions.clear();
            self.completions = completions;
        } else if self.now == Time::END {
            return Err(self.end_of_time());
        } else if self.outstanding > 0 {
            self.look_for_lost();
        }
        if self.warm_up.is_some() {
            if self.is_warm() {
                self.end_warm_up(flows);
            }
        } else if due.is_some_and(|due| self.now >= due) {
            self.close();
            self.look_for_interruption()?;
        }
        if self.enough.is_some_and(|enough| enough.is_reached(self.result.moved(), self.now)) {
            self.left = 0;
        }
        if let Some(wear) = &mut self.wear
            && finished > 0
            && wear.note(self.drive, self.now, &self.result)
        {
            self.left = 0;
        }
        Ok(finished)
    }

    /// The time of the next point of a series.
    fn due(&self) -> Option<Time> {
        match &self.detailed {
            None => self.series.due(),
            Some((_, series)) => self.series.due().into_iter().chain(series.due()).min(),
        }
    }

    /// Closes the intervals that are over.
    #[cold]
    fn close(&mut self) {
        let is_over = |series: &Series| series.due().is_some_and(|due| self.now >= due);
        if is_over(&self.series) {
            self.series.close(self.drive.counters());
        }
        if let Some((_, series)) = self.detailed.as_mut().filter(|(_, series)| is_over(series)) {
            series.close(self.drive.counters());
        }
    }

    /// Notes the flow of the request that was just submitted.
    #[inline]
    pub(super) fn submitted(&mut self, flow: usize) {
        if let Some((_, series)) = &mut self.detailed {
            series.submitted(flow);
        }
    }

    /// True if the warm-up is over. Ends its current round if that is over.
    fn is_warm(&mut self) -> bool {
        let Some(Warm { target, rounds, .. }) = &mut self.warm_up else { return false };
        let moved = self.result.moved();
        match rounds {
            Some(rounds) if rounds.is_over(moved, self.now) => rounds.next(moved, self.drive.counters()),
            _ => target.is_reached(moved, self.now),
        }
    }

    #[inline(always)]
    #[allow(clippy::inline_always)] // One caller.
    fn complete(&mut self, completion: &Completion<S>, flows: &mut impl Flows) -> Result<(), RunError> {
        self.payload.completed(completion).map_err(RunError::Mismatch)?;
        self.outstanding = self.outstanding.checked_sub(1).expect("a request completed that was not under way");
        self.ledger = self.ledger.wrapping_sub(entry(completion.tag));
        self.result.complete(completion);
        let flow = flows.completed(completion);
        let is_done = completion.status == Status::Done;
        if is_done {
            self.series.record(completion.io.kind, completion.latency());
        }
        match &mut self.detailed {
            None => {}
            Some((_, series)) if !is_done => series.failed(flow),
            Some((_, series)) => {
                series.completed(flow, completion.io.kind, completion.io.sectors, completion.latency())
            }
        }
        if let Some(log) = &mut self.log {
            let Completion { tag, queue, io, status, arrival, start, end, commands, flash_wait, waited_for, .. } =
                *completion;
            let record = Record { tag, flow, queue, io, status, arrival, start, end, commands, flash_wait, waited_for };
            log.record(&record).map_err(RunError::Log)?;
        }
        if self.result.completed.is_multiple_of(INTERRUPTION_EVERY) {
            self.report_progress()?;
        }
        Ok(())
    }

    /// Reports progress, and ends the run if it was interrupted.
    #[cold]
    fn report_progress(&mut self) -> Result<(), RunError> {
        if let Some(progress) = &mut self.progress
            && self.result.completed.is_multiple_of(PROGRESS_EVERY)
        {
            let simulated = self.now.saturating_since(self.at_rest.at);
            progress(Progress { completed: self.warmed + self.result.completed, simulated });
        }
        self.look_for_interruption()
    }

    fn look_for_interruption(&self) -> Result<(), RunError> {
        match self.interrupt {
            Some(flag) if flag.load(Ordering::Relaxed) => Err(RunError::Interrupted),
            _ => Ok(()),
        }
    }

    fn look_for_lost(&self) {
        let Self { outstanding, now, .. } = self;
        assert!(self.drive.next_event().is_some(), "{outstanding} requests are under way, but nothing is ({now})");
        let events = self.drive.events().saturating_sub(self.last_sign.1);
        assert!(
            events < self.patience,
            "{outstanding} requests are under way, but none was submitted or completed for {events} events ({now})"
        );
    }

    fn end_of_time(&self) -> RunError {
        RunError::EndOfTime { outstanding: self.outstanding, last_sign: self.last_sign.0 }
    }

    pub(super) fn finish(mut self, pacing: Pacing, flows: Vec<FlowResult>) -> Result<RunResult, RunError> {
        let warming = self.warm_up.is_some();
        if warming || self.warmed > 0 && self.result.submitted == 0 {
            let requests = if warming { self.result.completed } else { self.warmed };
            return Err(if requests == 0 { RunError::Empty } else { RunError::OnlyWarmUp { requests } });
        }
        if self.result.submitted == 0 {
            return Err(RunError::Empty);
        }
        if let Some(wear) = self.wear.as_mut().filter(|_| self.left > 0 && self.stop_at < Time::MAX) {
            wear.idle_until(self.next_at.unwrap_or(self.stop_at).min(LAST));
        }
        assert!(self.ledger == 0, "the tags that came back are not those that were handed in");
        if self.drive.next_event() == Some(Time::MAX) {
            return Err(self.end_of_time());
        }
        let after = self.drive.counters();
        self.series.finish(after.clone());
        if let Some((_, series)) = &mut self.detailed {
            series.finish(after.clone());
        }
        let settled = self.settle.and_then(|at_most| self.settle(at_most));
        if [Some(&after), settled.as_ref()].into_iter().flatten().any(is_beyond_telling) {
            return Err(RunError::BusyTime);
        }
        let books = Books { at_rest: self.at_rest, before: self.before, after, settled };
        let before = MeasurementStart { warmed: self.warmed, settled: self.settled, capacity: self.capacity };
        let mut result = RunResult::new(self.result, pacing, before, books, self.series, flows);
        result.detailed = self.detailed;
        Ok(result)
    }

    /// Lets background work finish. Returns the counters at its end, or `None` if it takes longer than `at_most`.
    fn settle(&mut self, at_most: Span) -> Option<Counters> {
        let deadline = until(self.now, Some(at_most));
        while let Some(next) = self.drive.next_event() {
            if next > deadline || next == Time::MAX {
                return None;
            }
            self.drive.advance(next, &mut self.completions);
            assert!(self.completions.is_empty(), "a request completed that was not under way");
        }
        Some(self.drive.counters())
    }
}
