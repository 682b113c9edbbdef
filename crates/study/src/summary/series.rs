//! The course of a run over time under stable keys, if the user chose its intervals.

use std::collections::BTreeMap;

use base::io::IoKind;
use base::units::{Sectors, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ssd::PowerDraw;

use super::shares;
use crate::name::{self, Name};
use crate::run::{RunResult, since, write_amplification};
use crate::schema;
use crate::series::{Depth, Interval, Latencies, Window};
use crate::validity::is_supported;

/// The course of a run over time.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct SeriesSummary {
    /// The length of an interval; the last may be shorter.
    pub interval_us: f64,
    /// The intervals, in order of time and without gaps.
    pub intervals: Vec<IntervalSummary>,
}

/// The numbers of one interval: completed requests, queue depth, busy dies and free blocks.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct IntervalSummary {
    /// The begin of the interval in microseconds, from the begin of the measurement.
    pub from_us: f64,
    /// The end of the interval in microseconds, from the begin of the measurement.
    pub to_us: f64,
    /// The requests completed in the interval, by kind; only kinds with at least one.
    #[serde(deserialize_with = "name::values")]
    #[schemars(extend("propertyNames" = schema::keys(IoKind::ALL.map(IoKind::name))))]
    pub kinds: BTreeMap<Name, CompletedSummary>,
    /// Mean number of requests outstanding.
    pub queue_depth_mean: f64,
    /// The most requests outstanding.
    pub queue_depth_max: u64,
    /// Mean number of dies that were busy.
    pub busy_dies: f64,
    /// The number of free blocks at the end of the interval.
    pub free_blocks: u64,
    /// Mapping units programmed per mapping unit that the host wrote and no buffer absorbed.
    pub write_amplification: Option<f64>,
    /// Mean power of the drive in watts; missing without `[power]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_w: Option<f64>,
    /// Temperature of the drive at the end of the interval, in degrees Celsius; missing without a thermal model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub celsius: Option<f64>,
    /// The numbers of each flow by its name, if there are several.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub flows: BTreeMap<String, FlowIntervalSummary>,
}

/// Requests that completed in an interval.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct CompletedSummary {
    /// The number of requests completed in the interval.
    pub requests: u64,
    /// Bytes that the completed requests moved per simulated second.
    pub bytes_per_s: f64,
    /// The mean response time, in microseconds.
    pub latency_mean_us: f64,
    /// The median response time, in microseconds; missing if fewer than ten requests lie beyond it.
    pub latency_p50_us: Option<f64>,
    /// The 99th percentile of the response times, in microseconds; missing if fewer than ten requests lie beyond it.
    pub latency_p99_us: Option<f64>,
    /// The 99.9th percentile of the response times, in microseconds; missing if fewer than ten requests lie beyond it.
    pub latency_p99_9_us: Option<f64>,
    /// The longest response time, in microseconds.
    pub latency_max_us: f64,
}

/// The requests of one flow that ended in an interval.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct FlowIntervalSummary {
    /// The flow's requests that completed.
    #[serde(flatten)]
    pub completed: CompletedSummary,
    /// Mean number of the flow's requests outstanding.
    pub queue_depth_mean: f64,
    /// The most requests of the flow outstanding.
    pub queue_depth_max: u64,
}

/// A percentile in microseconds, at most the longest latency; `None` if too few of the requests lie beyond it.
#[must_use]
pub fn percentile(latencies: &Latencies, window: &Window, q: f64) -> Option<f64> {
    let found = latencies.quantile(q).filter(|_| is_supported(q, latencies.count()));
    found.map(|span| span.min(window.max).as_us_f64())
}

/// The mean number of busy dies in an interval.
#[must_use]
pub fn busy_dies(interval: &Interval<'_>) -> f64 {
    shares(&since(interval.to, interval.from).die_busy, interval.span()).iter().sum()
}

fn completed(window: &Window, latencies: &Latencies, moved: Sectors, span: Span) -> CompletedSummary {
    let per_second = if span.is_zero() { 0.0 } else { moved.bytes().get() as f64 / span.as_secs_f64() };
    CompletedSummary {
        requests: window.count,
        bytes_per_s: per_second,
        latency_mean_us: window.mean().map_or(0.0, Span::as_us_f64),
        latency_p50_us: percentile(latencies, window, 0.5),
        latency_p99_us: percentile(latencies, window, 0.99),
        latency_p99_9_us: percentile(latencies, window, 0.999),
        latency_max_us: window.max.as_us_f64(),
    }
}

impl SeriesSummary {
    /// The course of a run; `None` if the user chose no intervals.
    pub(super) fn new(result: &RunResult, draw: Option<&PowerDraw>) -> Option<Self> {
        let (course, series) = result.detailed.as_ref()?;
        course.interval?;
        let intervals = series.intervals().map(|interval| one(&interval, result, draw)).collect();
        Some(Self { interval_us: series.interval().as_us_f64(), intervals })
    }
}

fn one(interval: &Interval<'_>, result: &RunResult, draw: Option<&PowerDraw>) -> IntervalSummary {
    let (span, counted) = (interval.span(), since(interval.to, interval.from));
    let elapsed = |at: base::units::Time| at.saturating_since(result.before.at).as_us_f64();
    let detail = interval.detail.cloned().unwrap_or_default();
    let of_kind = |kind: IoKind| {
        let (window, moved) = (&interval.windows[kind as usize], Sectors::new(counted.sectors[kind as usize]));
        (window.count > 0).then(|| (kind.name(), completed(window, &detail.kinds[kind as usize], moved, span)))
    };
    let depth = |depth: &Depth| (depth.mean(span), depth.max);
    let flows = result.flows.iter().zip(&detail.flows).map(|(flow, of)| {
        let (queue_depth_mean, queue_depth_max) = depth(&of.depth);
        let completed = completed(&of.window, &of.latencies, of.moved, span);
        (flow.name.clone(), FlowIntervalSummary { completed, queue_depth_mean, queue_depth_max })
    });
    let (queue_depth_mean, queue_depth_max) = depth(&detail.depth);
    IntervalSummary {
        from_us: elapsed(interval.from.at),
        to_us: elapsed(interval.to.at),
        kinds: IoKind::ALL.into_iter().filter_map(of_kind).collect(),
        queue_depth_mean,
        queue_depth_max,
        busy_dies: busy_dies(interval),
        free_blocks: interval.to.free_blocks,
        write_amplification: write_amplification(interval.from, interval.to),
        power_w: draw.filter(|draw| draw.has_controller()).and_then(|draw| draw.mean_power(interval.from, interval.to)),
        celsius: interval.to.power.as_ref().and_then(|power| power.celsius).map(|[now, _]| now),
        flows: flows.collect(),
    }
}
