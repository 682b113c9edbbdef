//! The results of a run: sums and histograms by kind of request and by flow.

use base::io::IoKind;
use base::units::{Bytes, Sectors, Span, Time};
use flash::backend::{Account, Cause, Op};
use ssd::{Completion, Counters, QueueId, Status};
use workload::Pacing;

use super::backlog::{Backlog, Level, PARTS};
use super::course::Course;
use super::kind_result::KindResult;
use super::target::CompletionSums;
use crate::histogram::Histogram;
use crate::series::Series;
use crate::steady::SteadyResult;

pub(crate) const fn index(kind: IoKind) -> usize {
    kind as usize
}

/// The arrivals of an open loop, or of flows that are all open loops, with the numbers of outstanding requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrivals {
    /// Time of the last arrival, at which the load ends.
    pub last: Time,
    /// The number of requests outstanding at the last arrival.
    pub outstanding: u64,
    /// The range of outstanding requests for each fifth of the arrivals; `None` if there were too few arrivals.
    pub fifths: Option<[Level; PARTS]>,
}

/// The sums that the runner collects during a run.
#[derive(Debug)]
pub(super) struct RunSums {
    pub(super) submitted: u64,
    pub(super) completed: u64,
    pub(super) inversions: u64,
    /// The number of sectors of all reads and of all writes, whatever their outcome.
    asked: [u64; 2],
    kinds: [KindResult; IoKind::ALL.len()],
    /// Latencies of the requests that did not wait in the host queue. Their latency equals their service time, so only
    /// one histogram is updated, which saves a cache miss per request. The end of the run adds them to the other
    /// histograms.
    prompt: [Histogram; IoKind::ALL.len()],
    first_arrival: Time,
    last_end: Time,
    /// If the loop is open: the time of the last arrival, and the requests outstanding at that time.
    last_arrival: Option<(Time, u64)>,
    /// The requests outstanding at all arrivals of an open loop.
    backlog: Backlog,
}

impl Default for RunSums {
    fn default() -> Self {
        Self {
            submitted: 0,
            completed: 0,
            inversions: 0,
            asked: [0; 2],
            kinds: Default::default(),
            prompt: Default::default(),
            first_arrival: Time::MAX,
            last_end: Time::ZERO,
            last_arrival: None,
            backlog: Backlog::default(),
        }
    }
}

impl RunSums {
    /// Creates the sums of a measurement that begins with this many requests in flight.
    pub(super) fn with_under_way(submitted: u64) -> Self {
        Self { submitted, ..Self::default() }
    }

    /// Counts the arrival of a request of an open loop, with `outstanding` requests in flight.
    #[inline]
    pub(super) fn arrived(&mut self, now: Time, outstanding: u64) {
        self.last_arrival = Some((now, outstanding));
        self.backlog.arrived(outstanding);
    }

    /// The arrivals, if the loop was open.
    fn arrivals(&self) -> Option<Arrivals> {
        let (last, outstanding) = self.last_arrival?;
        Some(Arrivals { last, outstanding, fifths: self.backlog.parts() })
    }

    #[inline(always)]
    #[allow(clippy::inline_always)] // Every request passes one of its two callers.
    pub(super) fn complete<S>(&mut self, completion: &Completion<S>) {
        self.completed += 1;
        self.first_arrival = self.first_arrival.min(completion.arrival);
        self.last_end = self.last_end.max(completion.end);
        match completion.io.kind {
            IoKind::Read => self.asked[0] += completion.io.sectors.get(),
            IoKind::Write | IoKind::Append => self.asked[1] += completion.io.sectors.get(),
            _ => {}
        }
        let kind = &mut self.kinds[index(completion.io.kind)];
        kind.outcomes[completion.status as usize] += 1;
        if completion.status != Status::Done {
            return;
        }
        let latency = completion.latency();
        let queue_wait = completion.queue_wait();
        let of_latency = if queue_wait.is_zero() {
            &mut self.prompt[index(completion.io.kind)]
        } else {
            kind.waited(queue_wait, completion.service());
            &mut kind.latency
        };
        of_latency.record(latency);
        kind.note_gap(completion.end);
        kind.sectors += completion.io.sectors;
        kind.commands += u64::from(completion.commands);
        kind.flash_wait_ps += u128::from(completion.flash_wait.as_ps());
        kind.start_wait_ps += u128::from(completion.start_wait.as_ps());
        for cause in completion.waited_for.iter() {
            let delay = &mut kind.delayed[cause as usize];
            delay.requests += 1;
            delay.latency_ps += u128::from(latency.as_ps());
        }
    }

    /// The number of sectors of the writes that succeeded, and true if the drive refused one.
    pub(super) const fn writes(&self) -> (Sectors, bool) {
        let [writes, appends] = [&self.kinds[index(IoKind::Write)], &self.kinds[index(IoKind::Append)]];
        let refused = writes.with_status(Status::ReadOnly) + appends.with_status(Status::ReadOnly);
        (Sectors::new(writes.sectors.get() + appends.sectors.get()), refused > 0)
    }

    /// The sectors of the completed requests, and the number and latencies of the reads and writes that succeeded.
    pub(super) fn moved(&self) -> CompletionSums {
        let [read, written] = self.asked;
        let served = IoKind::DATA.map(index).into_iter().map(|i| self.kinds[i].with_status(Status::Done)).sum();
        let latencies = IoKind::DATA.map(index).into_iter().flat_map(|i| [&self.kinds[i].latency, &self.prompt[i]]);
        let latency_ps = latencies.map(Histogram::sum_ps).sum();
        CompletionSums { requests: self.completed, read, written, served, latency_ps }
    }

    /// The results by kind. Latencies of prompt requests are added to all histograms.
    fn kinds(&mut self) -> [KindResult; IoKind::ALL.len()] {
        let mut kinds = std::mem::take(&mut self.kinds);
        for (kind, prompt) in kinds.iter_mut().zip(&self.prompt) {
            kind.latency.merge(prompt);
            kind.service.merge(prompt);
            kind.queue_wait.record_many(Span::ZERO, prompt.count());
        }
        kinds
    }
}

/// The results of one flow of a run.
#[derive(Clone, Debug)]
pub struct FlowResult {
    /// Name of the flow: the workload's name, unless the user gives another.
    pub name: String,
    /// The queue to which the flow's requests were submitted.
    pub queue: QueueId,
    /// The pacing of the flow's requests.
    pub pacing: Pacing,
    /// The number of the flow's requests completed in the warm-up. No other field counts them.
    pub warmed_up: u64,
    /// The number of requests submitted to the device.
    pub submitted: u64,
    /// The number of requests completed, whatever their outcome.
    pub completed: u64,
    /// The number of requests of an open loop that the workload yielded after a later request, and that were therefore
    /// issued late.
    pub inversions: u64,
    /// The submission time of the flow's first request.
    pub started: Time,
    /// The completion time of the flow's last request.
    pub ended: Time,
    kinds: [KindResult; IoKind::ALL.len()],
}

impl FlowResult {
    /// The results of a flow that issued this many requests, measured from `from`.
    pub(super) fn new(
        name: String,
        queue: QueueId,
        pacing: Pacing,
        from: Time,
        issued: u64,
        mut collected: RunSums,
    ) -> Self {
        let kinds = collected.kinds();
        let RunSums { submitted, completed, inversions, first_arrival, last_end, .. } = collected;
        Self {
            name,
            queue,
            pacing,
            warmed_up: issued - submitted,
            submitted,
            completed,
            inversions,
            started: first_arrival.max(from),
            ended: last_end,
            kinds,
        }
    }

    /// The results of the flow's requests of one kind.
    #[must_use]
    pub const fn kind(&self, kind: IoKind) -> &KindResult {
        &self.kinds[index(kind)]
    }

    /// The mean latency in microseconds of the flow's reads and writes that succeeded; `None` if none did.
    #[must_use]
    pub fn mean_latency_us(&self) -> Option<f64> {
        let sum: u128 = IoKind::DATA.map(|kind| self.kind(kind).latency.sum_ps()).into_iter().sum();
        let served = served(&self.kinds);
        (served > 0).then(|| sum as f64 * 1e-6 / served as f64)
    }

    /// The number of the flow's requests with this outcome.
    #[must_use]
    pub fn with_status(&self, status: Status) -> u64 {
        self.kinds.iter().map(|kind| kind.with_status(status)).sum()
    }

    /// Simulated time from the flow's first submission to its last completion.
    #[must_use]
    pub fn span(&self) -> Span {
        self.ended.saturating_since(self.started)
    }

    /// The flow's reads and writes that succeeded per simulated second of [`FlowResult::span`]; `None` if that span is
    /// empty.
    #[must_use]
    pub fn requests_per_second(&self) -> Option<f64> {
        (!self.span().is_zero()).then(|| served(&self.kinds) as f64 / self.span().as_secs_f64())
    }
}

/// The numbers that are known when the measurement begins.
pub(super) struct MeasurementStart {
    /// The number of requests completed in the warm-up.
    pub(super) warmed: u64,
    pub(super) settled: Option<SteadyResult>,
    pub(super) capacity: Sectors,
}

/// The counters of a device at the milestones of a run.
pub(super) struct Books {
    pub(super) at_rest: Counters,
    pub(super) before: Counters,
    pub(super) after: Counters,
    pub(super) settled: Option<Counters>,
}

/// The measured numbers of one run, before they are converted to a summary.
#[derive(Clone, Debug)]
pub struct RunResult {
    /// The pacing of the requests.
    pub pacing: Pacing,
    /// The arrivals, if the loop was open.
    pub arrivals: Option<Arrivals>,
    /// The number of requests submitted to the device.
    pub submitted: u64,
    /// The number of requests completed, whatever their outcome.
    pub completed: u64,
    /// The number of sectors of all reads and of all writes, whatever their outcome.
    pub asked: [Sectors; 2],
    /// The number of requests of an open loop that the workload yielded after a later request, and that were therefore
    /// issued late.
    pub inversions: u64,
    /// The submission time of the first request.
    pub started: Time,
    /// The completion time of the last request.
    pub ended: Time,
    /// The number of requests completed in the warm-up. No other field counts them.
    pub warmed_up: u64,
    /// The rounds of a warm-up that waited for steady state.
    pub steady: Option<SteadyResult>,
    /// The number of sectors that the host can address.
    pub capacity: Sectors,
    /// The counters at the start of the run, with nothing in flight.
    pub at_rest: Counters,
    /// The counters at the start of the measurement: before the first request, or at the end of the warm-up.
    pub before: Counters,
    /// The counters at the completion of the last request.
    pub after: Counters,
    /// The counters at the end of all background work, if the run waited for it and it ended.
    pub settled: Option<Counters>,
    /// The course of the run: the numbers of each interval.
    pub series: Series,
    /// The detailed time series, if one was asked for.
    pub detailed: Option<(Course, Series)>,
    /// The results of each flow, if there were several.
    pub flows: Vec<FlowResult>,
    kinds: [KindResult; IoKind::ALL.len()],
}

impl RunResult {
    pub(super) fn new(
        mut collected: RunSums,
        pacing: Pacing,
        MeasurementStart { warmed, settled: steady, capacity }: MeasurementStart,
        Books { at_rest, before, after, settled }: Books,
        series: Series,
        flows: Vec<FlowResult>,
    ) -> Self {
        let (kinds, arrivals) = (collected.kinds(), collected.arrivals());
        let asked = collected.asked.map(Sectors::new);
        let RunSums { submitted, completed, inversions, first_arrival, last_end, .. } = collected;
        Self {
            pacing,
            arrivals,
            submitted,
            completed,
            asked,
            inversions,
            // Requests in flight at the end of the warm-up may have arrived during it.
            started: first_arrival.max(before.at),
            ended: last_end,
            warmed_up: warmed,
            steady,
            capacity,
            at_rest,
            before,
            after,
            settled,
            series,
            detailed: None,
            flows,
            kinds,
        }
    }

    /// The results of all requests of one kind.
    #[must_use]
    pub const fn kind(&self, kind: IoKind) -> &KindResult {
        &self.kinds[index(kind)]
    }

    /// The number of requests with this outcome.
    #[must_use]
    pub fn with_status(&self, status: Status) -> u64 {
        self.kinds.iter().map(|kind| kind.with_status(status)).sum()
    }

    /// The number of reads and writes that succeeded.
    #[must_use]
    pub fn served(&self) -> u64 {
        served(&self.kinds)
    }

    /// The sectors of the run's writes, divided by the capacity; if it had no writes, the sectors of its reads.
    #[must_use]
    pub fn capacities_asked(&self) -> f64 {
        let [read, written] = self.asked;
        let sectors = if written.is_zero() { read } else { written };
        sectors.get() as f64 / self.capacity.get().max(1) as f64
    }

    /// Simulated time from the first submission to the last completion.
    #[must_use]
    pub fn span(&self) -> Span {
        self.ended.saturating_since(self.started)
    }

    /// The counts of the run. Levels (free and bad blocks, event hash) are those at its end.
    #[must_use]
    pub fn counters(&self) -> Counters {
        since(&self.after, &self.before)
    }

    /// Reads and writes that succeeded per simulated second; `None` if the run took no simulated time.
    #[must_use]
    pub fn requests_per_second(&self) -> Option<f64> {
        (!self.span().is_zero()).then(|| self.served() as f64 / self.span().as_secs_f64())
    }

    /// Bytes per simulated second of one kind of request; `None` if there were none.
    #[must_use]
    pub fn throughput(&self, kind: IoKind) -> Option<f64> {
        rate(self.kind(kind).sectors.bytes(), self.span())
    }

    /// The number of mapping units programmed on all flash, filling included.
    #[must_use]
    pub fn programmed_units(&self) -> f64 {
        programmed(&self.before, &self.after)
    }

    /// The bytes of the host's writes that succeeded.
    #[must_use]
    pub fn written(&self) -> Bytes {
        written(&self.before, &self.after)
    }

    /// The bytes of the host's writes that succeeded, including the warm-up.
    #[must_use]
    pub fn written_with_warm_up(&self) -> Bytes {
        written(&self.at_rest, &self.after)
    }

    /// The number of erase commands in the measurement.
    #[must_use]
    pub fn erases(&self) -> u64 {
        self.after.flash.since(&self.before.flash).op(Op::Erase).commands
    }

    /// Write amplification over the run; `None` if nothing was written.
    #[must_use]
    pub fn write_amplification(&self) -> Option<f64> {
        write_amplification(&self.before, &self.after)
    }
}

/// The number of reads and writes that succeeded.
fn served(kinds: &[KindResult; IoKind::ALL.len()]) -> u64 {
    IoKind::DATA.into_iter().map(|kind| kinds[index(kind)].with_status(Status::Done)).sum()
}

/// Bytes per second, rounded down to whole bytes if at least 1; `None` if the bytes or the span are zero.
#[must_use]
pub fn rate(bytes: Bytes, span: Span) -> Option<f64> {
    if span.is_zero() || bytes.is_zero() {
        return None;
    }
    match u128::from(bytes.get()) * 1_000_000_000_000 / u128::from(span.as_ps()) {
        0 => Some(bytes.get() as f64 / span.as_secs_f64()),
        whole => Some(whole as f64),
    }
}

/// Mapping units programmed per mapping unit that the host wrote, that the drive did not refuse and that no buffer
/// absorbed, between two snapshots of the counters. Programs of the SLC array of a hybrid drive count, too. A buffer
/// may absorb a write later than it accepted it, so a short interval can have a divisor of zero.
#[must_use]
pub fn write_amplification(from: &Counters, to: &Counters) -> Option<f64> {
    host_slots(from, to).map(|host| programmed(from, to) / host as f64)
}

/// Mapping units programmed on the main array between two snapshots of the counters.
pub(crate) fn programmed_units(from: &Counters, to: &Counters) -> u64 {
    programmed_by(from, to).into_iter().sum()
}

/// Mapping units programmed on all flash between two snapshots of the counters.
fn programmed(from: &Counters, to: &Counters) -> f64 {
    programmed_units(from, to) as f64 + slc_units(from, to)
}

/// Bytes that the writes of the host carried between two snapshots of the counters.
fn written(from: &Counters, to: &Counters) -> Bytes {
    Sectors::new(to.sectors_written() - from.sectors_written()).bytes()
}

/// Mapping units programmed on the SLC array.
fn slc_units(from: &Counters, to: &Counters) -> f64 {
    to.slc_controllers() - from.slc_controllers()
}

/// The parts of the write amplification by cause of the programs, and the part of the SLC flash of a hybrid drive. Zero
/// parts are left out.
#[must_use]
pub fn write_amplification_by(from: &Counters, to: &Counters) -> Vec<(&'static str, f64)> {
    let Some(host) = host_slots(from, to) else { return Vec::new() };
    let parts = Cause::ALL.map(Cause::name).into_iter().zip(programmed_by(from, to));
    let parts = parts.map(|(name, slots)| (name, slots as f64)).chain([("slc", slc_units(from, to))]);
    parts.filter(|(_, units)| *units > 0.0).map(|(name, units)| (name, units / host as f64)).collect()
}

/// Mapping units programmed and copied between two snapshots, by cause, without the SLC array.
#[must_use]
pub fn programmed_by(from: &Counters, to: &Counters) -> [u64; Cause::COUNT] {
    let flash = to.flash.since(&from.flash);
    Cause::ALL.map(|cause| flash.of(Op::Program, cause).slots + flash.of(Op::CopyBack, cause).slots)
}

/// The time that all dies worked between two snapshots, by cause, dies of an SLC array included. A plane that reads by
/// itself counts as in [`Counters::die_busy`].
#[must_use]
pub fn array_time_by(from: &Counters, to: &Counters) -> [Span; Cause::COUNT] {
    let slc_array = from.slc_array.as_ref().zip(to.slc_array.as_ref());
    let slc_array = slc_array.map(|(from, to)| to.flash.since(&from.flash));
    let accounts = [Some(to.flash.since(&from.flash)), slc_array];
    let reads = Counters::time_of_reads(from, to);
    Cause::ALL.map(|cause| {
        let of = |account: &Account| {
            Op::ALL.map(|op| match account.of(op, cause).array {
                time if op == Op::Read && reads < 1.0 => Span::from_ps((time.as_ps() as f64 * reads).round() as u64),
                time => time,
            })
        };
        accounts.iter().flatten().flat_map(of).fold(Span::ZERO, |sum, span| sum + span)
    })
}

/// The number of mapping units that the host wrote, that the drive did not refuse and that no buffer absorbed; `None`
/// if zero. A write may be refused later than it was counted, so the difference can be negative in a short interval; it
/// then counts as zero.
fn host_slots(from: &Counters, to: &Counters) -> Option<u64> {
    let host = (to.host_slots - from.host_slots).checked_sub(to.refused_slots - from.refused_slots)?;
    let host = host.checked_sub(to.absorbed_slots - from.absorbed_slots)?;
    (host > 0).then_some(host)
}

/// The counts between two snapshots of one device. Levels (free and bad blocks, the maxima of the map unit, the event
/// hash) are taken from the later snapshot.
///
/// # Panics
///
/// If `from` is later than `to`.
#[must_use]
pub fn since(to: &Counters, from: &Counters) -> Counters {
    let busy = |to: &[Span], from: &[Span]| to.iter().zip(from).map(|(to, from)| *to - *from).collect();
    let mut counted = to.clone();
    for kind in IoKind::ALL {
        counted.requests[index(kind)] -= from.requests[index(kind)];
        counted.sectors[index(kind)] -= from.sectors[index(kind)];
        counted.failed[index(kind)] -= from.failed[index(kind)];
    }
    counted.host_slots -= from.host_slots;
    counted.refused_slots -= from.refused_slots;
    counted.read_slots -= from.read_slots;
    counted.unreadable_copies -= from.unreadable_copies;
    counted.absorbed_slots -= from.absorbed_slots;
    counted.unmapped_slots -= from.unmapped_slots;
    counted.unmapped_flash_reads -= from.unmapped_flash_reads;
    counted.flash = to.flash.since(&from.flash);
    counted.channel_busy = busy(&to.channel_busy, &from.channel_busy);
    counted.die_busy = busy(&to.die_busy, &from.die_busy);
    counted.plane_busy = busy(&to.plane_busy, &from.plane_busy);
    counted.controller_busy = busy(&to.controller_busy, &from.controller_busy);
    counted.decoder_busy = busy(&to.decoder_busy, &from.decoder_busy);
    counted.processor_busy = to.processor_busy - from.processor_busy;
    counted.ram_busy = to.ram_busy - from.ram_busy;
    counted.link_busy = to.link_busy - from.link_busy;
    if let (Some(counted), Some(from)) = (&mut counted.merges, from.merges) {
        *counted = *counted - from;
    }
    if let (Some(counted), Some(from)) = (&mut counted.map, &from.map) {
        *counted = counted.since(from);
    }
    if let (Some(counted), Some(from)) = (&mut counted.errors, &from.errors) {
        **counted = counted.since(from);
    }
    if let (Some(counted), Some(from)) = (&mut counted.log_merges, from.log_merges) {
        *counted = *counted - from;
    }
    if let (Some(counted), Some(from)) = (&mut counted.slc_mlc, &from.slc_mlc) {
        **counted = **counted - **from;
    }
    if let (Some(counted), Some(from)) = (&mut counted.streams, &from.streams) {
        **counted = counted.since(from);
    }
    if let (Some(counted), Some(from)) = (&mut counted.fdp, &from.fdp) {
        **counted = counted.since(from);
    }
    if let (Some(counted), Some(from)) = (&mut counted.slc_cache, &from.slc_cache) {
        *counted = counted.since(from);
    }
    if let (Some(counted), Some(from)) = (&mut counted.refresh, &from.refresh) {
        *counted = counted.since(from);
    }
    if let (Some(counted), Some(from)) = (&mut counted.parity, &from.parity) {
        *counted = counted.since(from);
    }
    if let (Some(counted), Some(from)) = (&mut counted.zones, &from.zones) {
        *counted = counted.since(from);
    }
    if let (Some(counted), Some(from)) = (&mut counted.power, &from.power) {
        **counted = counted.since(from);
    }
    if let (Some(counted), Some(from)) = (&mut counted.raid, &from.raid) {
        **counted = counted.since(from);
    }
    if let (Some(counted), Some(from)) = (&mut counted.translation, &from.translation) {
        **counted = counted.since(from);
    }
    if let (Some(counted), Some(from)) = (&mut counted.slc_array, &from.slc_array) {
        counted.flash = counted.flash.since(&from.flash);
        counted.channel_busy = busy(&counted.channel_busy, &from.channel_busy);
        counted.die_busy = busy(&counted.die_busy, &from.die_busy);
    }
    counted.events -= from.events;
    counted
}
