//! Measures of a drive's fairness to several flows, from a comparison of each flow with its run alone.
//!
//! The slowdown of a flow is the mean latency of its requests beside the others, divided by that of the same requests
//! alone (Eyerman and Eeckhout, "System-Level Performance Metrics for Multiprogram Workloads", IEEE Micro 28(3), 2008,
//! compare programs over the same work). A speed-up is the inverse of a slowdown.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use workload::Pacing;

use super::{FlowSummary, flow};
use crate::run::FlowResult;

/// Measures of fairness over all flows, and the comparison of each flow.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct FairnessSummary {
    /// The smallest slowdown divided by the largest: 1 if all flows are slowed down alike (Tavakkol et al., "MQSim",
    /// FAST 2018).
    pub fairness: Option<f64>,
    /// The largest slowdown divided by the smallest (Mutlu and Moscibroda, MICRO 2007).
    pub unfairness: Option<f64>,
    /// The largest slowdown of a flow; missing if none is known.
    pub max_slowdown: Option<f64>,
    /// The sum of the speed-ups; the number of flows if none is slowed down (Snavely and Tullsen, ASPLOS 2000).
    pub weighted_speedup: Option<f64>,
    /// The harmonic mean of the speed-ups: 1 if no flow is slowed down (Luo, Gummaraju and Franklin, ISPASS 2001).
    pub harmonic_speedup: Option<f64>,
    /// For each flow, its results beside the others compared with its results alone.
    pub flows: Vec<Slowdown>,
}

/// A flow beside others, compared with the same requests alone.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct Slowdown {
    /// Name of the flow in results.
    pub name: String,
    /// The mean latency of the flow's requests, divided by the mean latency of the same requests alone.
    pub slowdown: Option<f64>,
    /// For a closed loop: the flow's requests per second alone, divided by its requests per second beside the other
    /// flows.
    pub rate_slowdown: Option<f64>,
    /// The results of the same requests alone on the drive, after the same preconditioning.
    pub alone: FlowSummary,
}

impl FairnessSummary {
    /// Compares flows beside each other with the same flows alone; `None` if none ran alone.
    pub(super) fn new(beside: &[FlowResult], alone: &[FlowResult]) -> Option<Self> {
        let compared = beside.iter().filter_map(|of| Some((of, alone.iter().find(|other| other.name == of.name)?)));
        let flows: Vec<Slowdown> = compared.map(|(beside, alone)| Slowdown::new(beside, alone)).collect();
        // A flow without a slowdown completed no request, so measures over all flows are undefined.
        let slowdowns: Option<Vec<f64>> = flows.iter().map(|flow| flow.slowdown).collect();
        let slowdowns = slowdowns.filter(|all| !all.is_empty() && all.len() == beside.len());
        let of = |number: fn(&[f64]) -> f64| slowdowns.as_deref().map(number);
        (!flows.is_empty()).then(|| Self {
            fairness: of(|all| least(all) / most(all)),
            unfairness: of(|all| most(all) / least(all)),
            max_slowdown: of(most),
            weighted_speedup: of(|all| all.iter().map(|slowdown| 1.0 / slowdown).sum()),
            harmonic_speedup: of(|all| all.len() as f64 / all.iter().sum::<f64>()),
            flows,
        })
    }
}

fn least(all: &[f64]) -> f64 {
    all.iter().copied().fold(f64::INFINITY, f64::min)
}

fn most(all: &[f64]) -> f64 {
    all.iter().copied().fold(0.0, f64::max)
}

impl Slowdown {
    fn new(beside: &FlowResult, alone: &FlowResult) -> Self {
        let quotient =
            |top: Option<f64>, bottom: Option<f64>| Some(top? / bottom?).filter(|of| of.is_finite() && *of > 0.0);
        let rate = quotient(alone.requests_per_second(), beside.requests_per_second());
        Self {
            name: beside.name.clone(),
            slowdown: quotient(beside.mean_latency_us(), alone.mean_latency_us()),
            rate_slowdown: rate.filter(|_| matches!(beside.pacing, Pacing::Closed { .. })),
            alone: flow(alone),
        }
    }
}
