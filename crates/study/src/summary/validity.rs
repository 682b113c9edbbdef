//! The validity of a run's numbers, under stable keys.

use std::collections::BTreeMap;

use base::io::IoKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::histogram::PERCENTILES;
use crate::name::{self, Name};
use crate::run::RunResult;
use crate::schema;
use crate::spread::Interval;
use crate::steady::{Metric, Round, SteadyResult, Verdict};
use crate::validity::{MOST_FAILED, Overload, Validity, is_supported};

/// Facts about a run from which the validity of its numbers can be judged, and warnings.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct ValiditySummary {
    /// The share of the requests that failed.
    pub failed: f64,
    /// The share of the mapping units that reads asked for and that held no data and took no flash time.
    pub unmapped_reads: f64,
    /// The number of times that the measured requests wrote the capacity of the drive. Writes that failed do not count.
    pub capacities_written: f64,
    /// The number of times that requests wrote the capacity, warm-up included.
    pub capacities_written_with_warm_up: f64,
    /// The five parts of the measurement, with about equally many requests; empty if it was too short to divide.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fifths: Vec<RoundSummary>,
    /// SNIA's rule of steady state on these five parts, by metric.
    #[serde(default, deserialize_with = "name::values", skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("propertyNames" = schema::keys(Metric::ALL.map(Metric::name))))]
    pub steady: BTreeMap<Name, SteadySummary>,
    /// The mean of each metric with its 95 % interval from the batches of this one run (batch means): `rate` in
    /// requests per second, `waf`, `latency` in microseconds. A metric is missing if the run is too short for an
    /// interval, or if its batches depend on each other.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("propertyNames" = schema::keys(Metric::ALL.map(Metric::name))))]
    pub means: BTreeMap<String, Interval>,
    /// The percentiles above the median beyond which fewer than ten requests lie, by kind of request: another sample
    /// would give other values.
    #[serde(default, deserialize_with = "name::lists", skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("propertyNames" = schema::keys(IoKind::ALL.map(IoKind::name))))]
    pub unsupported: BTreeMap<Name, Vec<Name>>,
    /// The load and the part of it that the drive served, if requests came faster than the drive could serve them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overload: Option<OverloadSummary>,
    /// Reasons to doubt the numbers, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// The warm-up, if it waited for steady state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warm_up: Option<WarmUpSummary>,
}

/// The numbers of a round of a warm-up, or of a fifth of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct RoundSummary {
    /// The number of reads and writes that succeeded.
    pub requests: u64,
    /// The length in simulated seconds.
    pub simulated_s: f64,
    /// Reads and writes that succeeded, per simulated second.
    pub requests_per_s: f64,
    /// Write amplification, if the host wrote.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_amplification: Option<f64>,
    /// The mean latency of the round's reads and writes, in microseconds.
    pub latency_mean_us: f64,
    /// The number of flash commands that erased blocks.
    pub erases: u64,
}

/// The result of SNIA's rule of steady state on five rounds.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct SteadySummary {
    /// True in steady state.
    pub steady: bool,
    /// The distance of the lowest value from the highest, as a share of their mean: at most 0.2 in steady state.
    /// Missing if the drive erased nothing while it programmed, which is not a steady state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub excursion: Option<f64>,
    /// The rise of the line fitted to the values, as a share of their mean: at most 0.1 either way in steady state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slope: Option<f64>,
}

/// An open load that exceeds the drive.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct OverloadSummary {
    /// Requests that arrived per simulated second.
    pub offered_per_s: f64,
    /// Requests that succeeded per simulated second.
    pub served_per_s: f64,
    /// The number of outstanding requests when the last request arrived.
    pub backlog: u64,
}

/// A warm-up that waited for steady state.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct WarmUpSummary {
    /// The metric that had to be steady.
    #[serde(deserialize_with = "name::name")]
    pub metric: Name,
    /// The result of SNIA's rule on the last five rounds; missing if the metric had no value or there were fewer
    /// rounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<SteadySummary>,
    /// The rounds of the warm-up, in order.
    pub rounds: Vec<RoundSummary>,
}

impl From<&Round> for RoundSummary {
    fn from(round: &Round) -> Self {
        let Round { requests, span_s, rate, waf, latency_us, programs: _, erases } = *round;
        Self {
            requests,
            simulated_s: span_s,
            requests_per_s: rate,
            write_amplification: waf,
            latency_mean_us: latency_us,
            erases,
        }
    }
}

impl SteadySummary {
    fn of(verdict: Verdict) -> Option<Self> {
        let window = match verdict {
            Verdict::Unknown => return None,
            Verdict::Filling => None,
            Verdict::Steady(window) | Verdict::Drifting(window) => Some(window),
        };
        Some(Self {
            steady: verdict.is_steady(),
            excursion: window.map(|window| window.excursion),
            slope: window.map(|window| window.slope),
        })
    }
}

impl WarmUpSummary {
    fn of(SteadyResult { metric, rounds, verdict }: &SteadyResult) -> Self {
        Self {
            metric: metric.name(),
            verdict: SteadySummary::of(*verdict),
            rounds: rounds.iter().map(RoundSummary::from).collect(),
        }
    }

    /// The warning about a warm-up that ended without steady state; `None` if there is no reason for one.
    fn warning(&self) -> Option<String> {
        let reached = self.verdict.is_some_and(|verdict| verdict.steady);
        (!reached).then(|| {
            format!("no steady state after {} rounds of warm-up; what was measured still drifts", self.rounds.len())
        })
    }
}

impl ValiditySummary {
    /// Drops the rule of steady state for a run until the drive is worn, because write amplification rises as blocks
    /// fail.
    pub(super) fn of_life(mut self, is_life: bool) -> Self {
        self.warnings.retain(|warning| !is_life || !warning.starts_with("no steady state"));
        self
    }

    /// True if a larger share of requests failed than a comparison or a claim allows.
    #[must_use]
    pub fn fails_too_often(&self) -> bool {
        self.failed > MOST_FAILED
    }

    /// Converts the judgement of a run for the summary.
    #[must_use]
    pub fn new(result: &RunResult) -> Self {
        let validity = Validity::of(result);
        let steady = validity.verdicts.iter();
        let warm_up = result.steady.as_ref().map(WarmUpSummary::of);
        let mut warnings = validity.warnings();
        warnings.extend(warm_up.as_ref().and_then(WarmUpSummary::warning));
        let unsupported = |kind: IoKind| {
            let count = result.kind(kind).latency.count();
            let keys: Vec<_> = PERCENTILES.iter().filter(|(q, ..)| !is_supported(*q, count)).map(|of| of.1).collect();
            (count > 0 && !keys.is_empty()).then(|| (kind.name(), keys))
        };
        Self {
            failed: validity.failed(),
            unmapped_reads: validity.unmapped_reads,
            capacities_written: validity.written,
            capacities_written_with_warm_up: validity.written_with_warm_up,
            fifths: validity.fifths.iter().map(RoundSummary::from).collect(),
            steady: steady.filter_map(|(of, verdict)| Some((of.name(), SteadySummary::of(*verdict)?))).collect(),
            means: validity.means.iter().map(|(of, interval)| (of.name().to_owned(), *interval)).collect(),
            unsupported: IoKind::ALL.into_iter().filter_map(unsupported).collect(),
            overload: validity.overload.map(|Overload { offered, served, backlog }| OverloadSummary {
                offered_per_s: offered,
                served_per_s: served,
                backlog,
            }),
            warnings,
            warm_up,
        }
    }
}
