//! The status of a served drive.

mod layers;
mod prometheus;
mod text;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use study::histogram::Histogram;
use study::run::write_amplification;
use verify::VerifyStatus;

use super::core::Core;
use super::lag::Lag;
use super::tally::{KINDS, has_kind};

pub use layers::{DriveState, DriveStatus, RaidStatus, TranslationStatus};
pub use prometheus::MEDIA_TYPE;

/// Version of the keys; it is raised when a key changes its meaning or disappears.
pub const SCHEMA: &str = "flashloom-served-drive-2";

/// Output of `flashloom ctl status --json`: the status of a served drive.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[schemars(title = SCHEMA)]
pub struct Status {
    /// The version of the keys.
    pub schema: String,
    /// Name of the device in its description.
    pub device: String,
    /// Bytes that a client can address.
    pub capacity_bytes: u64,
    /// The state of the drive's power supply.
    pub power: Power,
    /// `real`, `max`, or the factor by which simulated time passes.
    pub pace: String,
    /// Seconds since the drive was served first.
    pub uptime_s: f64,
    /// Seconds of simulated time.
    pub simulated_s: f64,
    /// Requests of clients that have no answer yet.
    pub outstanding: usize,
    /// Reads and writes carried out in the last whole second of simulated time.
    pub requests_in_second: u64,
    /// Reads and writes carried out in a second of the wall clock, over the whole time.
    pub requests_per_s: f64,
    /// The requests of clients by kind: `read`, `write`, `flush`, `discard`, `write-zeroes`; of a drive with zones also `append` and
    /// `manage-zone`.
    pub requests: Vec<KindStatus>,
    /// The delays of answers behind their due times; missing at the pace `max` and before the first answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lag: Option<LagStatus>,
    /// Mapping units programmed per mapping unit that clients wrote; missing before the first write reached flash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_amplification: Option<f64>,
    /// Free blocks of the FTL.
    pub free_blocks: u64,
    /// Blocks retired, factory-marked ones included.
    pub bad_blocks: u64,
    /// Requests that failed because a sector could not be read from flash.
    #[serde(default)]
    pub uncorrectable_requests: u64,
    /// Requests that were refused because the drive was read-only.
    #[serde(default)]
    pub refused_requests: u64,
    /// True if the last write was refused: the drive is worn out and takes no more writes.
    #[serde(default)]
    pub read_only: bool,
    /// Reads of the files of `--state` that found damaged data; missing without `--state`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub damaged_reads: Option<u64>,
    /// The counts of the verification; missing without `--verify`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify: Option<VerifyStatus>,
    /// The drives of a RAID; missing for other devices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raid: Option<RaidStatus>,
    /// The zones of a translation; missing for other devices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub translation: Option<TranslationStatus>,
    /// Power cuts so far.
    pub power_cuts: u64,
    /// Operations of the flash that were told to fail.
    pub planned_faults: u64,
    /// Seconds of simulated time that the last recovery took; missing before the first recovery.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_recovery_s: Option<f64>,
    /// True if a power cut lost acknowledged writes that were not flushed, while clients were held: every flush fails
    /// until the power has been switched off in order.
    pub lost_writes: bool,
    /// Events that the simulation has handled.
    pub events: u64,
    /// The hash of all handled events; equal hashes mean equal runs.
    pub event_hash: String,
}

/// The power of a drive.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Power {
    /// The drive takes requests, or recovers.
    On,
    /// Requests wait or fail until the power is switched on.
    Off,
}

/// The requests of one kind.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct KindStatus {
    /// The name of the kind: `read`, `write`, `flush`, ...
    pub kind: String,
    /// Requests that were carried out.
    pub done: u64,
    /// Requests that failed.
    pub failed: u64,
    /// Bytes of the requests that were carried out.
    pub bytes: u64,
    /// Simulated microseconds from submission to answer; missing before the first answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<Latency>,
}

/// Percentiles of a time, in microseconds.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct Latency {
    /// The mean, in microseconds.
    pub mean_us: f64,
    /// The median, in microseconds.
    pub p50_us: f64,
    /// The 99th percentile, in microseconds.
    pub p99_us: f64,
    /// The 99.9th percentile, in microseconds.
    pub p99_9_us: f64,
    /// The maximum, in microseconds.
    pub max_us: f64,
}

impl Latency {
    /// The percentiles of a histogram; none if it is empty.
    fn of(times: &Histogram) -> Option<Self> {
        let at = |q| times.quantile(q).map(|span| span.as_us_f64());
        Some(Self {
            mean_us: times.mean()?.as_us_f64(),
            p50_us: at(0.5)?,
            p99_us: at(0.99)?,
            p99_9_us: at(0.999)?,
            max_us: times.max()?.as_us_f64(),
        })
    }
}

/// The delays of answers, in time of the wall clock.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub struct LagStatus {
    /// The number of answers with a due time.
    pub answers: u64,
    /// The times from the due time to the answer.
    #[serde(flatten)]
    pub times: Latency,
    /// The share of answers that were late by more than 5 % of their latency.
    pub late_share: f64,
}

impl LagStatus {
    /// The figures of all answers so far; `None` without any.
    #[must_use]
    pub fn of(lag: &Lag) -> Option<Self> {
        Some(Self { answers: lag.times().count(), times: Latency::of(lag.times())?, late_share: lag.late_share()? })
    }
}

impl Core {
    /// The status of the drive, without the wall clock: the caller adds pace, uptime and lag.
    #[must_use]
    pub fn status(&self) -> Status {
        let counters = self.drive.counters();
        let all = KINDS.iter().zip(&self.tally.kinds).enumerate();
        let known = all.filter(|(place, _)| has_kind(self.drive.description(), *place));
        let kinds = known.map(|(_, (name, kind))| KindStatus {
            kind: (*name).to_owned(),
            done: kind.done,
            failed: kind.failed,
            bytes: kind.sectors.bytes().get(),
            latency: Latency::of(&kind.latency),
        });
        Status {
            schema: SCHEMA.to_owned(),
            device: self.drive.description().spec.name.clone(),
            capacity_bytes: self.capacity().bytes().get(),
            power: if self.is_on() { Power::On } else { Power::Off },
            pace: String::new(),
            uptime_s: 0.0,
            simulated_s: self.now().as_secs_f64(),
            outstanding: self.outstanding(),
            requests_in_second: self.tally.rate(self.now()),
            requests_per_s: 0.0,
            requests: kinds.collect(),
            lag: None,
            write_amplification: write_amplification(&self.tally.start, &counters),
            free_blocks: counters.free_blocks,
            bad_blocks: counters.bad_blocks,
            uncorrectable_requests: self.tally.uncorrectable,
            refused_requests: self.tally.refused,
            read_only: self.tally.is_read_only,
            damaged_reads: None,
            verify: self.verifier.as_ref().map(|verifier| verifier.status()),
            raid: RaidStatus::of(&*self.drive, &self.tally.start),
            translation: TranslationStatus::of(&*self.drive, &self.tally.start),
            power_cuts: self.tally.cuts,
            planned_faults: self.tally.faults,
            last_recovery_s: self.tally.recovery.map(|recovery| recovery.time.as_secs_f64()),
            lost_writes: self.lost_writes,
            events: counters.events,
            event_hash: format!("{:016x}", counters.event_hash),
        }
    }

    /// Reads and writes of clients carried out so far.
    #[must_use]
    pub fn moved(&self) -> u64 {
        self.tally.moved()
    }
}
