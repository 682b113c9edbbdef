//! The numbers of a run under stable keys that include their units of measure.

mod about;
mod commands;
mod curve;
mod endurance;
mod erases;
mod errors;
mod failures;
mod fairness;
mod fdp;
mod life;
mod log;
mod map;
mod merges;
mod parity;
mod power;
mod raid;
mod refresh;
mod series;
mod shares;
mod slc;
mod slc_cache;
mod streams;
mod translation;
mod utilisation;
mod validity;
mod zones;

use std::collections::BTreeMap;

use base::io::IoKind;
use base::units::{Energy, Span};
use flash::backend::Cause;
use flash::nand::Geometry;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use ssd::{PowerDraw, Status};
use workload::Pacing;

use crate::histogram::{Histogram, PERCENTILES};
use crate::name::{self, Name};
use crate::oracle::Verification;
use crate::run::{Delay, FlowResult, KindResult, RunResult};
use crate::schema;
use crate::watch::explain::KindBands;
use crate::watch::timeline::Timeline;

pub use about::Provenance;
pub use commands::FlashRow;
pub use curve::Curve;
pub use endurance::{Array, EnduranceSummary, amplifications_differ};
pub use erases::Erases;
pub use errors::ErrorSummary;
pub use failures::FAILURES;
pub use fairness::{FairnessSummary, Slowdown};
pub use fdp::{FdpEventSummary, FdpSummary, HandleSummary};
pub use life::{LifeMilestone, LifePointSummary, LifeSummary};
pub use log::LogSummary;
pub use map::{HmbSummary, MapSummary, Mshrs};
pub use merges::MergeSummary;
pub use parity::ParitySummary;
pub use power::{OperationalStateSummary, PowerStateSummary, PowerSummary};
pub use raid::{RaidDriveSummary, RaidJournalSummary, RaidSummary};
pub use refresh::RefreshSummary;
pub use series::{CompletedSummary, FlowIntervalSummary, IntervalSummary, SeriesSummary, busy_dies, percentile};
pub use shares::{mean, share, shares};
pub use slc::{EraseRange, SlcMlcSummary};
pub use slc_cache::SlcCacheSummary;
pub use streams::{StreamSummary, StreamsSummary};
pub use translation::TranslationSummary;
pub use utilisation::{Energies, Utilisation};
pub use validity::{OverloadSummary, RoundSummary, SteadySummary, ValiditySummary, WarmUpSummary};
pub use zones::{ZonesSummary, ZrwaSummary};

/// The input of all reports of a run.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    /// The program, device, workload and options behind the numbers.
    pub about: &'a Provenance,
    /// The measured numbers of the run.
    pub result: &'a RunResult,
    /// The results of each flow in its run alone, if the session compared them.
    pub alone: &'a [FlowResult],
    /// The timeline of a window of the run, if an observer recorded it.
    pub timeline: Option<&'a Timeline>,
    /// The parts of the time of the requests, if an observer attributed it.
    pub explained: &'a [KindBands],
    /// The erase count of every block at the end; empty if the device has none.
    pub erase_counts: &'a [u32],
    /// The erase count of every block of the SLC array; empty without one.
    pub slc_erase_counts: &'a [u32],
    /// The shape of the flash array, without an SLC array, if known.
    pub geometry: Option<&'a Geometry>,
    /// The electrical figures of the flash, if known.
    pub power_draw: Option<&'a PowerDraw>,
    /// The time that a mount would take after a power cut at the end, if known.
    pub mount: Option<Span>,
    /// The energy spent during the run, by name; empty if unknown.
    pub energy: &'a [(String, Energy)],
    /// The oracle's comparisons, if it checked data.
    pub verified: Option<Verification>,
    /// The drive's life, if the session ran until it was worn.
    pub life: Option<&'a LifeSummary>,
    /// Notes for a reader, one sentence each.
    pub notes: &'a [String],
}

impl<'a> Report<'a> {
    /// Creates a report without observer, of a device that has only counters.
    #[must_use]
    pub const fn new(about: &'a Provenance, result: &'a RunResult) -> Self {
        Self {
            about,
            result,
            alone: &[],
            timeline: None,
            explained: &[],
            erase_counts: &[],
            slc_erase_counts: &[],
            geometry: None,
            power_draw: None,
            mount: None,
            energy: &[],
            verified: None,
            life: None,
            notes: &[],
        }
    }
}

/// Version of the keys; higher after a key has changed its meaning or disappeared.
pub const SCHEMA: &str = "flashloom-result-3";

/// A run in numbers: the JSON of `--json` and `summary.json`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct Summary {
    /// Version of the keys of this document.
    #[schemars(extend("const" = SCHEMA))]
    #[serde(deserialize_with = "this_schema")]
    pub schema: Name,
    /// Version of the program that did the run.
    pub version: String,
    /// Commit of the program that did the run.
    pub commit: String,
    /// Seed of all random streams.
    pub seed: u64,
    /// Name of the device in its description.
    pub device: String,
    /// Name of the workload in its description.
    pub workload: String,
    /// `open`, or `closed` with its depth.
    pub pacing: String,
    /// Simulated seconds from the first submission to the last completion.
    pub simulated_s: f64,
    /// The number of requests completed, whatever their outcome.
    pub requests: u64,
    /// Reads and writes that succeeded, per simulated second.
    pub requests_per_s: Option<f64>,
    /// The number of requests of an open loop that came out of order.
    pub inversions: u64,
    /// The number of requests by outcome. Rates, latencies, bytes, write amplification and shares of the capacity count
    /// only `done` requests.
    #[schemars(extend("propertyNames" = schema::keys(Status::ALL.map(Status::name))))]
    #[serde(deserialize_with = "name::values")]
    pub outcomes: BTreeMap<Name, u64>,
    /// The results by kind of request; only kinds that occurred.
    #[schemars(extend("propertyNames" = schema::keys(IoKind::ALL.map(IoKind::name))))]
    #[serde(deserialize_with = "name::values")]
    pub kinds: BTreeMap<Name, KindSummary>,
    /// The results of each flow, if there were several; all other numbers are of all flows together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flows: Vec<FlowSummary>,
    /// Measures of the drive's fairness to the flows, if each also ran alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fairness: Option<FairnessSummary>,
    /// Mapping units programmed per mapping unit written.
    pub write_amplification: Option<f64>,
    /// The parts of the write amplification by cause of the program; their sum is the whole.
    #[schemars(extend("propertyNames" = schema::keys(Cause::ALL.map(Cause::name).into_iter().chain(["slc"]))))]
    #[serde(deserialize_with = "name::values")]
    pub write_amplification_by: BTreeMap<Name, f64>,
    /// Bytes programmed on all flash, filling included, per byte of the writes of the host (metric `waf-bytes`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub byte_write_amplification: Option<f64>,
    /// The number of mapping units that writes of the host asked for.
    pub host_slots: u64,
    /// The number of the host's mapping units that the drive refused.
    pub refused_slots: u64,
    /// The number of the host's mapping units that a buffer absorbed.
    pub absorbed_slots: u64,
    /// The number of mapping units that reads of the host asked for.
    pub read_slots: u64,
    /// The number of read mapping units without data, because they were never written, or discarded: these reads took
    /// no flash time, unless `ftl.unmapped-reads` says so.
    pub unmapped_slots: u64,
    /// The number of mapping units stored again by collection, merges or partial writes although their data could not
    /// be read.
    pub unreadable_copies: u64,
    /// Flash commands by operation and cause.
    pub flash: Vec<FlashRow>,
    /// Bit errors and the attempts to read, if the device has errors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errors: Option<ErrorSummary>,
    /// The work of the map unit, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub map: Option<MapSummary>,
    /// The work of a block-mapped FTL, if the device has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merges: Option<MergeSummary>,
    /// The merges of log blocks, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_merges: Option<LogSummary>,
    /// The traffic of the SLC and MLC flash of a hybrid drive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slc_mlc: Option<SlcMlcSummary>,
    /// The write streams, if there are several of host data or of copies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streams: Option<StreamsSummary>,
    /// Counters of Flexible Data Placement, if the drive has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fdp: Option<FdpSummary>,
    /// Counters of the SLC cache, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slc_cache: Option<SlcCacheSummary>,
    /// Counters of refresh, if the drive refreshes data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refresh: Option<RefreshSummary>,
    /// Counters of parity, if superblocks have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parity: Option<ParitySummary>,
    /// Counters of a RAID, if the device is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raid: Option<RaidSummary>,
    /// Counters of a translation over zones, if the device has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub translation: Option<TranslationSummary>,
    /// Counters of the zones, if the drive has any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zones: Option<ZonesSummary>,
    /// Power states and heat, if the device has `[power]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power: Option<PowerSummary>,
    /// The share of the run for which each part of the device was busy.
    pub utilisation: Utilisation,
    /// The parts of the time of the requests, by kind and band of percentiles, if an observer attributed it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub explained: Vec<KindBands>,
    /// The cost of the flash, in GiB of MLC flash; no other part of the device is counted.
    pub cost: Option<f64>,
    /// The number of free blocks at the end.
    pub free_blocks: u64,
    /// The number of bad blocks at the end.
    pub bad_blocks: u64,
    /// The distribution of erase counts at the end.
    pub erases: Option<Erases>,
    /// The rated endurance of the flash and the part of it that the run used, if the run erased blocks and all writes
    /// go to one array.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endurance: Option<EnduranceSummary>,
    /// The drive's life, if the run lasted until the drive was worn: the sums of all rounds. All other numbers are of
    /// the last round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub life: Option<LifeSummary>,
    /// The time of a mount's reads after a power cut at the end, in microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mount_us: Option<f64>,
    /// The energy that the run spent, by use; missing if no energy is known.
    pub energy: Option<Energies>,
    /// The number of the oracle's comparisons, if it checked data.
    #[schemars(extend("propertyNames" = schema::keys(VERIFIED)))]
    #[serde(deserialize_with = "name::values_if_any")]
    pub verified: Option<BTreeMap<Name, u64>>,
    /// The course of the run, if the user chose its intervals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub series: Option<SeriesSummary>,
    /// Checks of the numbers' validity, and warnings.
    pub validity: ValiditySummary,
    /// Notes for a reader, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The number of simulated events.
    pub events: u64,
    /// Hash of all events since the device was created: equal for equal runs.
    pub event_hash: String,
}

/// Writes a rate of at least one as a whole number.
fn whole_from_one_on<S: Serializer>(rate: &Option<f64>, to: S) -> Result<S::Ok, S::Error> {
    match rate {
        Some(rate) if *rate >= 1.0 => (*rate as u64).serialize(to),
        rate => rate.serialize(to),
    }
}

/// Reads the version of the keys, and refuses any version but this program's.
fn this_schema<'de, D: Deserializer<'de>>(from: D) -> Result<Name, D::Error> {
    let name = name::name(from)?;
    if name == SCHEMA { Ok(name) } else { Err(de::Error::custom(format!("{name} is not {SCHEMA}"))) }
}

/// The requests of one kind.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct KindSummary {
    /// The number of requests that succeeded. All other numbers except `failed` count only these requests.
    pub requests: u64,
    /// The number of requests that failed, by outcome.
    #[serde(default, deserialize_with = "name::values", skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("propertyNames" = schema::keys(FAILURES.map(Status::name))))]
    pub failed: BTreeMap<Name, u64>,
    /// Bytes of the requests.
    pub bytes: u64,
    /// Requests per simulated second.
    pub requests_per_s: Option<f64>,
    /// Bytes per simulated second.
    #[serde(serialize_with = "whole_from_one_on")]
    pub bytes_per_s: Option<f64>,
    /// The times from submission to completion.
    #[schemars(extend("propertyNames" = latency_keys()))]
    #[serde(deserialize_with = "name::values")]
    pub latency_us: Latencies,
    /// The whole distribution from submission to completion.
    #[serde(default, skip_serializing_if = "Curve::is_empty")]
    pub latency_curve: Curve,
    /// The times from submission to leaving the queue.
    #[schemars(extend("propertyNames" = latency_keys()))]
    #[serde(deserialize_with = "name::values")]
    pub queue_wait_us: Latencies,
    /// The times from leaving the queue to completion.
    #[schemars(extend("propertyNames" = latency_keys()))]
    #[serde(deserialize_with = "name::values")]
    pub service_us: Latencies,
    /// The longest time between two completions.
    #[serde(default)]
    pub longest_gap_us: f64,
    /// Flash commands per request, issued before its acknowledgement.
    pub flash_commands_per_request: f64,
    /// The mean over the requests of the longest wait of their flash commands.
    pub flash_wait_mean_us: f64,
    /// The mean over the requests of their wait for the start of their flash commands, without waiting for their own.
    pub start_wait_mean_us: f64,
    /// The requests that waited behind flash commands, by the cause of those commands.
    #[schemars(extend("propertyNames" = schema::keys(Cause::ALL.map(Cause::name))))]
    #[serde(deserialize_with = "name::values")]
    pub delayed_by: BTreeMap<Name, DelayedRequests>,
}

/// The results of one of several flows.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct FlowSummary {
    /// Name of the flow: the workload's name, unless the user gives another.
    pub name: String,
    /// The queue to which the flow's requests were submitted.
    pub queue: u16,
    /// `open`, or `closed` with its depth.
    pub pacing: String,
    /// Simulated seconds from the flow's first submission to its last completion.
    pub simulated_s: f64,
    /// The number of the flow's requests completed, whatever their outcome.
    pub requests: u64,
    /// The flow's reads and writes that succeeded, per simulated second.
    pub requests_per_s: Option<f64>,
    /// The number of requests of an open loop that came out of order.
    pub inversions: u64,
    /// The number of the flow's requests by outcome.
    #[schemars(extend("propertyNames" = schema::keys(Status::ALL.map(Status::name))))]
    #[serde(deserialize_with = "name::values")]
    pub outcomes: BTreeMap<Name, u64>,
    /// The results by kind of request; only kinds that occurred. Rates are over the time of the flow.
    #[schemars(extend("propertyNames" = schema::keys(IoKind::ALL.map(IoKind::name))))]
    #[serde(deserialize_with = "name::values")]
    pub kinds: BTreeMap<Name, KindSummary>,
}

/// A distribution of times in microseconds: `mean`, `min`, `p50` to `p99_999`, `max`.
pub type Latencies = BTreeMap<Name, f64>;

/// Requests that waited behind flash commands of one cause.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename = "Delayed")]
pub struct DelayedRequests {
    /// The number of requests that waited behind flash commands of the cause.
    pub requests: u64,
    /// The mean latency of the requests that waited behind flash commands of the cause, in microseconds.
    pub latency_mean_us: f64,
}

/// The schema that lists the keys of a distribution.
fn latency_keys() -> serde_json::Value {
    schema::keys(["mean", "min", "max"].into_iter().chain(PERCENTILES.map(|(_, key, _)| key)))
}

fn latencies(histogram: &Histogram) -> Latencies {
    let ends = [("mean", histogram.mean()), ("min", histogram.min()), ("max", histogram.max())];
    let percentiles = PERCENTILES.into_iter().map(|(q, key, _)| (key, histogram.quantile(q)));
    ends.into_iter().chain(percentiles).filter_map(|(key, span)| span.map(|span| (key, span.as_us_f64()))).collect()
}

fn kind(result: &KindResult, span: Span) -> KindSummary {
    let requests = result.latency.count();
    let bytes = result.sectors.bytes();
    let per_request = |sum: f64| if requests > 0 { sum / requests as f64 } else { 0.0 };
    let delayed = |(delay, cause): (&Delay, Cause)| {
        let latency_mean_us = delay.latency_ps as f64 * 1e-6 / delay.requests.max(1) as f64;
        (cause.name(), DelayedRequests { requests: delay.requests, latency_mean_us })
    };
    let delays = result.delayed.iter().zip(Cause::ALL).filter(|(delay, _)| delay.requests > 0);
    KindSummary {
        requests,
        failed: failures::failed(result),
        bytes: bytes.get(),
        requests_per_s: (!span.is_zero()).then(|| requests as f64 / span.as_secs_f64()),
        bytes_per_s: crate::run::rate(bytes, span),
        latency_us: latencies(&result.latency),
        latency_curve: Curve::of(&result.latency),
        queue_wait_us: latencies(&result.queue_wait),
        service_us: latencies(&result.service),
        longest_gap_us: result.longest_gap.as_us_f64(),
        flash_commands_per_request: per_request(result.commands as f64),
        flash_wait_mean_us: per_request(result.flash_wait_ps as f64 * 1e-6),
        start_wait_mean_us: per_request(result.start_wait_ps as f64 * 1e-6),
        delayed_by: delays.map(delayed).collect(),
    }
}

fn kinds<'a>(of: impl Fn(IoKind) -> &'a KindResult, span: Span) -> BTreeMap<&'static str, KindSummary> {
    let occurred =
        IoKind::ALL.into_iter().filter(|each| Status::ALL.iter().any(|status| of(*each).with_status(*status) > 0));
    occurred.map(|each| (each.name(), kind(of(each), span))).collect()
}

fn outcomes(of: impl Fn(Status) -> u64) -> BTreeMap<&'static str, u64> {
    let shown = Status::ALL.into_iter().filter(|status| !status.is_of_zones() || of(*status) > 0);
    shown.map(|status| (status.name(), of(status))).collect()
}

/// The names of the oracle's counters.
const VERIFIED: [&str; 4] = ["reads", "sectors", "adopted_sectors", "uncorrectable_reads"];

fn pacing(pacing: Pacing) -> String {
    match pacing {
        Pacing::Open => "open".into(),
        Pacing::Closed { depth } => format!("closed, depth {depth}"),
        Pacing::Replay { depth } => format!("replay, depth {depth}"),
    }
}

fn flow(result: &FlowResult) -> FlowSummary {
    FlowSummary {
        name: result.name.clone(),
        queue: result.queue.get(),
        pacing: pacing(result.pacing),
        simulated_s: result.span().as_secs_f64(),
        requests: result.completed,
        requests_per_s: result.requests_per_second(),
        inversions: result.inversions,
        outcomes: outcomes(|status| result.with_status(status)),
        kinds: kinds(|each| result.kind(each), result.span()),
    }
}

impl Summary {
    /// The numbers of a run.
    #[must_use]
    pub fn new(report: &Report<'_>) -> Self {
        let Report { about, result, .. } = report;
        let counted = result.counters();
        let span = result.after.at - result.before.at;
        let erases = Erases::of(report.erase_counts);
        let energy = |energies: &[(String, Energy)]| Energies {
            total_j: energies.iter().map(|(_, energy)| energy.as_joules()).sum(),
            by_name_j: energies.iter().map(|(name, energy)| (name.clone(), energy.as_joules())).collect(),
        };
        Self {
            schema: SCHEMA,
            version: about.version.clone(),
            commit: about.commit.clone(),
            seed: about.seed,
            device: about.device.clone(),
            workload: about.workload.clone(),
            pacing: match result.flows.len() {
                0 => pacing(result.pacing),
                flows => format!("{flows} flows"),
            },
            simulated_s: result.span().as_secs_f64(),
            requests: result.completed,
            requests_per_s: result.requests_per_second(),
            inversions: result.inversions,
            outcomes: outcomes(|status| result.with_status(status)),
            kinds: kinds(|each| result.kind(each), result.span()),
            flows: result.flows.iter().map(flow).collect(),
            fairness: FairnessSummary::new(&result.flows, report.alone),
            write_amplification: result.write_amplification(),
            write_amplification_by: crate::run::write_amplification_by(&result.before, &result.after)
                .into_iter()
                .collect(),
            byte_write_amplification: endurance::amplification(report),
            host_slots: counted.host_slots,
            refused_slots: counted.refused_slots,
            absorbed_slots: counted.absorbed_slots,
            read_slots: counted.read_slots,
            unmapped_slots: counted.unmapped_slots,
            unreadable_copies: counted.unreadable_copies,
            flash: commands::rows(&counted.flash),
            map: counted.map.as_ref().map(MapSummary::new),
            merges: counted.merges.map(MergeSummary::new),
            errors: counted.errors.as_deref().map(ErrorSummary::new),
            log_merges: counted.log_merges.as_ref().map(LogSummary::new),
            slc_mlc: counted.slc_mlc.as_ref().map(|slc_mlc| SlcMlcSummary::new(slc_mlc, &counted, report)),
            streams: counted.streams.as_deref().map(StreamsSummary::new),
            fdp: counted.fdp.as_deref().and_then(|counters| FdpSummary::new(counters, report)),
            slc_cache: counted.slc_cache.as_ref().map(SlcCacheSummary::new),
            refresh: counted.refresh.as_ref().map(RefreshSummary::new),
            parity: counted.parity.as_ref().map(ParitySummary::new),
            raid: counted.raid.as_ref().map(|raid| RaidSummary::new(report, raid)),
            translation: counted.translation.as_ref().map(|counters| TranslationSummary::new(report, counters)),
            zones: counted.zones.as_ref().and_then(|counters| ZonesSummary::new(counters, report)),
            power: counted.power.as_ref().map(|power| {
                let joules = (!report.energy.is_empty()).then(|| energy(report.energy).total_j);
                PowerSummary::new(power, joules, span)
            }),
            utilisation: Utilisation {
                link: share(counted.link_busy, span),
                ram: (!counted.ram_busy.is_zero()).then(|| share(counted.ram_busy, span)),
                channels: shares(&counted.channel_busy, span),
                dies: shares(&counted.die_busy, span),
                planes: shares(&counted.plane_busy, span),
                controllers: shares(&counted.controller_busy, span),
                decoders: shares(&counted.decoder_busy, span),
                ftl: counted.map.as_ref().and_then(|map| map.busy_of_all()).map(|busy| share(busy, span)),
                ftl_parts: counted.map.as_ref().map_or_else(Vec::new, |map| shares(&map.busy, span)),
                processor: share(counted.processor_busy, span),
            },
            explained: report.explained.to_vec(),
            cost: about.cost.map(|cost| cost.total()),
            free_blocks: counted.free_blocks,
            bad_blocks: counted.bad_blocks,
            endurance: EnduranceSummary::new(report, erases.as_ref()),
            erases,
            life: report.life.cloned(),
            mount_us: report.mount.map(Span::as_us_f64),
            energy: (!report.energy.is_empty()).then(|| energy(report.energy)),
            verified: report.verified.map(|Verification { reads, sectors, adopted, uncorrectable }| {
                VERIFIED.into_iter().zip([reads, sectors, adopted, uncorrectable]).collect()
            }),
            series: SeriesSummary::new(result, report.power_draw),
            validity: ValiditySummary::new(result).of_life(report.life.is_some()),
            notes: report.notes.to_vec(),
            events: counted.events,
            event_hash: format!("{:016x}", result.after.event_hash),
        }
    }

    /// Writes these as JSON, indented, with a newline at the end: one object, or an array of several.
    ///
    /// # Panics
    ///
    /// Never: every value can be written as JSON.
    #[must_use]
    pub fn json(all: &[Self]) -> String {
        let results = match all {
            [one] => Results::One(one),
            all => Results::Several(all),
        };
        serde_json::to_string_pretty(&results).expect("numbers, texts and tables") + "\n"
    }
}

/// The document that a run prints with `--json` and writes as `summary.json`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(title = SCHEMA)]
pub enum Results<'a> {
    /// A workload of one stage.
    One(&'a Summary),
    /// The stages of the run, in order.
    Several(&'a [Summary]),
}
