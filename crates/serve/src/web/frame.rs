//! A frame of the live page: the numbers of a drive between two observations.

use std::collections::VecDeque;

use base::units::Span;
use flash::backend::{Account, Cause, Op};
use serde::Serialize;
use ssd::Counters;
use study::run::write_amplification;

use super::zones::ZonesFrame;

use crate::engine::{
    CoarseHistogram, DriveState, Health, Incident, IncidentKind, Incidents, Observation, Power, RaidStatus, Shape,
    TranslationStatus, Wear,
};

/// The causes for which dies work. Work of the host has two causes: reads and writes.
pub(super) const CAUSES: [&str; Cause::COUNT + 1] = [
    "host reads",
    "host writes",
    "garbage collection",
    "merges",
    "wear levelling",
    "map",
    "flushes",
    "padding",
    "recovery",
    "folding",
    "refresh",
    "parity",
];

/// The observations over which the write amplification is computed: five seconds.
const WINDOW: usize = 20;

/// The numbers that the page draws over time.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Point {
    /// Seconds since the drive was served first.
    t: f64,
    reads_per_s: f64,
    writes_per_s: f64,
    others_per_s: f64,
    read_bytes_per_s: f64,
    write_bytes_per_s: f64,
    outstanding: usize,
    /// Simulated times of the requests that were answered since the point before.
    read: Option<Percentiles>,
    write: Option<Percentiles>,
    /// The lateness of the answers, in time of the wall clock.
    lag: Option<Percentiles>,
    late_share: Option<f64>,
    /// Write amplification over the last seconds.
    write_amplification: Option<f64>,
    free_blocks: u64,
    /// The share of the dies' time for each cause.
    die_time: [f64; CAUSES.len()],
}

/// Percentiles of a time in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
struct Percentiles {
    p50: f64,
    p99: f64,
    p99_9: f64,
    max: f64,
}

impl Percentiles {
    fn of(times: &CoarseHistogram) -> Option<Self> {
        let at = |q| times.quantile_us(q);
        Some(Self { p50: at(0.5)?, p99: at(0.99)?, p99_9: at(0.999)?, max: times.max_us()? })
    }
}

/// The numbers of the present moment.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Frame {
    pub(super) point: Point,
    is_on: bool,
    pace: String,
    simulated_s: f64,
    /// Sums since the drive was first served.
    total: Total,
    clients: u64,
    bad_blocks: u64,
    power_cuts: u64,
    lost_writes: bool,
    health: Health,
    raid: Option<RaidStatus>,
    translation: Option<TranslationStatus>,
    arrays: Vec<Dies>,
    /// The parts of the drive, each with the share of its time in which it was busy.
    busy: Vec<(&'static str, f64)>,
    /// Each reclaim unit handle with the written share of its reclaim unit; empty without Flexible Data Placement.
    handles: Vec<(String, f64)>,
    incidents: Vec<Incident>,
    #[serde(skip)]
    pub(super) wear: Option<WearFrame>,
    #[serde(skip)]
    pub(super) zones: Option<ZonesFrame>,
}

/// Sums since the drive was first served.
#[derive(Clone, Debug, Default, Serialize)]
struct Total {
    reads: u64,
    writes: u64,
    others: u64,
    failed: u64,
    read_bytes: u64,
    write_bytes: u64,
    write_amplification: Option<f64>,
}

/// The dies of an array, channel by channel, each with the share of its time in which it was busy.
#[derive(Clone, Debug, Serialize)]
struct Dies {
    /// The drive of the array, if there are several.
    drive: Option<u32>,
    is_slc: bool,
    channels: u32,
    dies: u32,
    busy: Vec<f64>,
}

/// The erase counts of all blocks.
#[derive(Clone, Debug, Serialize)]
pub(super) struct WearFrame {
    least: u32,
    most: u32,
    mean: f64,
    rated: u32,
    /// The number of erase counts in a class.
    width: u32,
    /// Blocks in each class, from the least count on.
    blocks: Vec<u64>,
}

impl From<Wear> for WearFrame {
    fn from(wear: Wear) -> Self {
        let Wear { least, most, mean, rated, blocks, width } = wear;
        let classes = ((most - least) / width + 1) as usize;
        Self { least, most, mean: rounded(mean), rated, width, blocks: blocks[..classes].to_vec() }
    }
}

/// Rounds to a thousandth, which makes the text shorter.
fn rounded(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

/// Makes frames of observations.
#[derive(Default)]
pub(super) struct Frames {
    before: Option<Observation>,
    /// The counters of the last seconds, for the write amplification.
    window: VecDeque<Counters>,
    /// The number of the last incident that a frame had.
    told: u64,
}

impl Frames {
    /// The frame from the last observation to the observation `now`; `None` for the first observation.
    pub(super) fn next(&mut self, now: Observation, incidents: &Incidents) -> Option<Frame> {
        let Some(before) = self.before.take() else {
            self.before = Some(now);
            return None;
        };
        note_failures(&before, &now, incidents);
        if self.window.len() == WINDOW {
            self.window.pop_front();
        }
        self.window.push_back(before.counters.clone());
        let between = ObservationPair::new(&before, &now);
        let recent = self.window.front().and_then(|from| write_amplification(from, &now.counters));
        let new = incidents.after(self.told);
        self.told = new.last().map_or(self.told, |incident| incident.number);
        let frame = Frame {
            point: Point { write_amplification: recent.map(rounded), ..between.point() },
            is_on: now.power == Power::On,
            pace: now.pace.clone(),
            simulated_s: now.now.as_secs_f64(),
            total: total(&now),
            clients: incidents.clients(),
            bad_blocks: now.counters.bad_blocks,
            power_cuts: now.power_cuts,
            lost_writes: now.lost_writes,
            health: now.health,
            raid: now.raid.clone(),
            translation: now.translation.clone(),
            arrays: between.arrays(),
            busy: between.busy(),
            handles: handles(&now.counters),
            incidents: new,
            wear: now.wear.map(WearFrame::from),
            zones: now.zones.as_ref().map(|(reports, shape)| ZonesFrame::of(reports, shape)),
        };
        self.before = Some(now);
        Some(frame)
    }
}

/// The written share of each handle's reclaim unit. A handle without an open reclaim unit has written nothing.
fn handles(counters: &Counters) -> Vec<(String, f64)> {
    let Some(fdp) = &counters.fdp else { return Vec::new() };
    let written = |available: u64| if available == 0 { 0 } else { fdp.unit.saturating_sub(available) };
    let share = |available| rounded(written(available) as f64 / fdp.unit.max(1) as f64);
    let each = fdp.handles.iter().enumerate();
    each.map(|(number, handle)| (format!("handle {number}"), share(handle.available_units))).collect()
}

fn total(now: &Observation) -> Total {
    let [reads, writes, others @ ..] = &now.kinds;
    Total {
        reads: reads.done,
        writes: writes.done,
        others: others.iter().map(|kind| kind.done).sum(),
        failed: now.kinds.iter().map(|kind| kind.failed).sum(),
        read_bytes: reads.sectors.bytes().get(),
        write_bytes: writes.sectors.bytes().get(),
        write_amplification: write_amplification(&now.start, &now.counters).map(rounded),
    }
}

/// Notes new failures as incidents, except failures of a power cut.
fn note_failures(before: &Observation, now: &Observation, incidents: &Incidents) {
    let note = |count: u64, one: &str, many: &str| match count {
        0 => {}
        1 => incidents.note(IncidentKind::Fault, format!("1 {one}")),
        _ => incidents.note(IncidentKind::Fault, format!("{count} {many}")),
    };
    let failed = |of: &Observation| of.kinds.iter().map(|kind| kind.failed).sum::<u64>();
    if before.power == Power::On && now.power == Power::On && before.power_cuts == now.power_cuts {
        note(failed(now) - failed(before), "request failed", "requests failed");
    }
    let retired = now.counters.bad_blocks.saturating_sub(before.counters.bad_blocks);
    note(retired, "block was retired", "blocks were retired");
    if let (Some(before), Some(now)) = (&before.raid, &now.raid) {
        note_drives(before, now, incidents);
    }
}

/// Notes as incidents that drives of a RAID have failed or have been rebuilt.
fn note_drives(before: &RaidStatus, now: &RaidStatus, incidents: &Incidents) {
    for (number, (before, now)) in before.drives.iter().zip(&now.drives).enumerate() {
        let text = match (before.state, now.state) {
            (before, now) if before == now => continue,
            (_, DriveState::Failed) => format!("drive {number} has failed"),
            (_, DriveState::Rebuilt) => format!("drive {number}, a spare, is being rebuilt"),
            (_, DriveState::Whole) => format!("drive {number} is rebuilt"),
            (_, DriveState::Spare | DriveState::Journal) => continue,
        };
        incidents.note(IncidentKind::Fault, text);
    }
}

/// Two observations, to compute differences.
struct ObservationPair<'a> {
    before: &'a Observation,
    now: &'a Observation,
    /// Seconds of the wall clock between the observations.
    wall_s: f64,
    simulated: Span,
}

impl<'a> ObservationPair<'a> {
    fn new(before: &'a Observation, now: &'a Observation) -> Self {
        let wall_s = now.uptime.saturating_sub(before.uptime).as_secs_f64();
        Self { before, now, wall_s, simulated: now.now.saturating_since(before.now) }
    }

    fn per_s(&self, from: u64, to: u64) -> f64 {
        if self.wall_s > 0.0 { rounded((to - from) as f64 / self.wall_s) } else { 0.0 }
    }

    /// The difference of two sums over `many` parts, as a share of the simulated time of the parts.
    fn share(&self, from: Span, to: Span, many: usize) -> f64 {
        let all = self.simulated.as_secs_f64() * many as f64;
        if all > 0.0 { rounded(to.saturating_sub(from).as_secs_f64() / all) } else { 0.0 }
    }

    fn point(&self) -> Point {
        let Self { before, now, .. } = self;
        let jobs = |kinds: std::ops::Range<usize>| {
            let done = |of: &Observation| of.kinds[kinds.clone()].iter().map(|kind| kind.done).sum();
            self.per_s(done(before), done(now))
        };
        let bytes = |kind: usize| {
            let of = |of: &Observation| of.kinds[kind].sectors.bytes().get();
            self.per_s(of(before), of(now))
        };
        let lag = &now.lag;
        Point {
            t: rounded(now.uptime.as_secs_f64()),
            reads_per_s: jobs(0..1),
            writes_per_s: jobs(1..2),
            others_per_s: jobs(2..now.kinds.len()),
            read_bytes_per_s: bytes(0),
            write_bytes_per_s: bytes(1),
            outstanding: now.outstanding,
            read: Percentiles::of(&now.recent.reads),
            write: Percentiles::of(&now.recent.writes),
            lag: Percentiles::of(&lag.times),
            late_share: (lag.times.count() > 0).then(|| rounded(lag.late as f64 / lag.times.count() as f64)),
            write_amplification: None,
            free_blocks: now.counters.free_blocks,
            die_time: self.die_time(),
        }
    }

    /// The share of the dies' time for each cause.
    fn die_time(&self) -> [f64; CAUSES.len()] {
        let accounts =
            |of: &Observation| [of.counters.flash, slc(&of.counters).map_or_else(Account::default, |slc| slc.0)];
        let dies: u32 = self.now.arrays.iter().map(|shape| shape.channels * shape.dies).sum();
        let reads = Counters::time_of_reads(&self.before.counters, &self.now.counters);
        let mut shares = [0.0; CAUSES.len()];
        for (from, to) in accounts(self.before).iter().zip(&accounts(self.now)) {
            for (op, cause, tally) in to.rows() {
                let place = match (cause, op) {
                    (Cause::Host, Op::Read) => 0,
                    (cause, _) => cause as usize + 1,
                };
                let share = self.share(from.of(op, cause).array, tally.array, dies as usize);
                shares[place] += if op == Op::Read { share * reads } else { share };
            }
        }
        shares.map(rounded)
    }

    fn arrays(&self) -> Vec<Dies> {
        // The counters have the dies in the order of the arrays, drive by drive.
        let busy = |of: &Observation| {
            let slc = slc(&of.counters).map(|slc| slc.1).unwrap_or_default();
            of.counters.die_busy.iter().copied().chain(slc).collect::<Vec<_>>()
        };
        let (before, now) = (busy(self.before), busy(self.now));
        let mut each = before.iter().zip(&now).map(|(from, to)| self.share(*from, *to, 1));
        let dies = |&Shape { drive, is_slc, channels, dies }: &Shape| {
            let busy = each.by_ref().take((channels * dies) as usize).collect();
            Dies { drive, is_slc, channels, dies, busy }
        };
        self.now.arrays.iter().map(dies).collect()
    }

    fn busy(&self) -> Vec<(&'static str, f64)> {
        let (from, to) = (&self.before.counters, &self.now.counters);
        let sum = |spans: &[Span]| spans.iter().fold(Span::ZERO, |sum, span| sum + *span);
        let many = |name, from: &[Span], to: &[Span]| {
            (!to.is_empty()).then(|| (name, self.share(sum(from), sum(to), to.len())))
        };
        let one = |name, from: Span, to: Span| (!to.is_zero()).then(|| (name, self.share(from, to, 1)));
        let parts = [
            many("dies", &from.die_busy, &to.die_busy),
            many("planes", &from.plane_busy, &to.plane_busy),
            many("channels", &from.channel_busy, &to.channel_busy),
            many("controllers", &from.controller_busy, &to.controller_busy),
            many("ECC decoders", &from.decoder_busy, &to.decoder_busy),
            one("processor", from.processor_busy, to.processor_busy),
            one("RAM", from.ram_busy, to.ram_busy),
            one("host link, both ways", from.link_busy, to.link_busy),
        ];
        parts.into_iter().flatten().collect()
    }
}

/// The account of an SLC array, and the busy times of its dies.
fn slc(counters: &Counters) -> Option<(Account, Vec<Span>)> {
    counters.slc_array.as_ref().map(|slc| (slc.flash, slc.die_busy.clone()))
}
