//! Metrics of one of several flows by name, and metrics of the drive's fairness to them.

use std::collections::BTreeMap;

use base::io::IoKind;

use super::{KINDS, LATENCIES, Name, STATS};
use crate::metric::dimension::Dimension;
use crate::summary::{FairnessSummary, FlowSummary, KindSummary, Slowdown, Summary};

/// The requests over which a number is taken: of a run, or of one of its flows.
#[derive(Clone, Copy)]
pub(super) struct Requests<'a> {
    kinds: &'a BTreeMap<&'static str, KindSummary>,
    requests_per_s: Option<f64>,
    simulated_s: f64,
}

impl<'a> Requests<'a> {
    pub(super) const fn of(summary: &'a Summary) -> Self {
        let Summary { kinds, requests_per_s, simulated_s, .. } = summary;
        Self { kinds, requests_per_s: *requests_per_s, simulated_s: *simulated_s }
    }

    const fn of_flow(flow: &'a FlowSummary) -> Self {
        let FlowSummary { kinds, requests_per_s, simulated_s, .. } = flow;
        Self { kinds, requests_per_s: *requests_per_s, simulated_s: *simulated_s }
    }

    /// The number of bytes read and written; a discard moves no data.
    pub(super) fn bytes(&self) -> f64 {
        IoKind::DATA.iter().filter_map(|kind| Some(self.kinds.get(kind.name())?.bytes)).sum::<u64>() as f64
    }

    /// The sum of the response times of all reads and writes, and their number; `None` if there are none.
    fn accumulated(&self) -> Option<(f64, u64)> {
        let kinds = || IoKind::DATA.into_iter().filter_map(|kind| self.kinds.get(kind.name()));
        let sum = kinds().filter_map(|kind| Some(kind.latency_us.get("mean")? * kind.requests as f64)).sum();
        let requests = kinds().map(|kind| kind.requests).sum();
        (requests > 0).then_some((sum, requests))
    }

    /// The number of this name; `None` if it is not a number of requests, or the run does not have it.
    pub(super) fn number(&self, name: &Name) -> Option<f64> {
        match name {
            Name::Mean => self.accumulated().map(|(sum, requests)| sum / requests as f64),
            Name::Accumulated => self.accumulated().map(|(sum, _)| sum),
            Name::Kind(kind, stat) => stat.of(self.kinds.get(kind)?),
            Name::RequestsPerSecond => self.requests_per_s,
            Name::Rate => Some(self.bytes() / self.simulated_s).filter(|rate| rate.is_finite()),
            Name::Simulated => Some(self.simulated_s * 1e6),
            _ => None,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FlowStat {
    /// A number of the flow's requests, beside the other flows.
    Of(Box<Name>),
    /// A number of the same requests in a run in which the flow has the drive alone.
    Alone(Box<Name>),
    Slowdown,
    RateSlowdown,
}

/// Names of numbers over all requests that flows have as well.
const PLAIN: [&str; 5] = ["mean", "accumulated", "requests-per-s", "rate", "simulated"];

/// Names of numbers that compare a flow with its run alone.
const COMPARED: [&str; 2] = ["slowdown", "rate-slowdown"];

pub(super) fn names(flow: &str) -> Vec<String> {
    let of_kinds =
        KINDS.iter().flat_map(|kind| LATENCIES.iter().chain(&STATS).map(move |stat| format!("{kind}.{stat}")));
    let own: Vec<String> = PLAIN.into_iter().map(ToOwned::to_owned).chain(of_kinds).collect();
    let alone = own.iter().map(|name| format!("flow.{flow}.alone.{name}"));
    let compared = COMPARED.into_iter().map(|name| format!("flow.{flow}.{name}"));
    own.iter().map(|name| format!("flow.{flow}.{name}")).chain(alone).chain(compared).collect()
}

impl FlowStat {
    /// The flow and the number that a name stands for, from the parts of the name after `flow`.
    pub(super) fn parse(parts: &[&str]) -> Option<(String, Self)> {
        let (flow, rest) = parts.split_first().filter(|(flow, _)| !flow.is_empty())?;
        let of = |stat: &[&str]| match stat {
            [name] if PLAIN.contains(name) => Name::parse(name).map(Box::new),
            [kind, stat] if KINDS.contains(kind) => Name::parse(&format!("{kind}.{stat}")).map(Box::new),
            _ => None,
        };
        let stat = match rest {
            ["slowdown"] => Self::Slowdown,
            ["rate-slowdown"] => Self::RateSlowdown,
            ["alone", stat @ ..] => Self::Alone(of(stat)?),
            stat => Self::Of(of(stat)?),
        };
        Some(((*flow).to_owned(), stat))
    }

    pub(super) const fn dimension(&self) -> Dimension {
        match self {
            Self::Of(name) | Self::Alone(name) => name.dimension(),
            Self::Slowdown | Self::RateSlowdown => Dimension::Plain,
        }
    }

    pub(super) const fn compares_with_alone(&self) -> bool {
        !matches!(self, Self::Of(_))
    }

    pub(super) fn of(&self, summary: &Summary, flow: &str) -> Option<f64> {
        let compared = || -> Option<&Slowdown> { summary.fairness.as_ref()?.flows.iter().find(|of| of.name == flow) };
        match self {
            // A workload that runs alone counts as the flow of its name.
            Self::Of(name) if summary.flows.is_empty() && summary.workload == flow => {
                Requests::of(summary).number(name)
            }
            Self::Of(name) => Requests::of_flow(summary.flows.iter().find(|of| of.name == flow)?).number(name),
            Self::Alone(name) => Requests::of_flow(&compared()?.alone).number(name),
            Self::Slowdown => compared()?.slowdown,
            Self::RateSlowdown => compared()?.rate_slowdown,
        }
    }
}

/// A number over all flows together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FairStat {
    Fairness,
    Unfairness,
    MaxSlowdown,
    WeightedSpeedup,
    HarmonicSpeedup,
}

impl FairStat {
    pub(super) const ALL: [(&'static str, Self); 5] = [
        ("fairness", Self::Fairness),
        ("unfairness", Self::Unfairness),
        ("max-slowdown", Self::MaxSlowdown),
        ("weighted-speedup", Self::WeightedSpeedup),
        ("harmonic-speedup", Self::HarmonicSpeedup),
    ];

    pub(super) fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find_map(|(known, stat)| (known == name).then_some(stat))
    }

    pub(super) const fn of(self, fairness: &FairnessSummary) -> Option<f64> {
        match self {
            Self::Fairness => fairness.fairness,
            Self::Unfairness => fairness.unfairness,
            Self::MaxSlowdown => fairness.max_slowdown,
            Self::WeightedSpeedup => fairness.weighted_speedup,
            Self::HarmonicSpeedup => fairness.harmonic_speedup,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::metric::Metric;

    fn parsed(text: &str) -> Metric {
        text.parse().unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn a_flow_is_named_before_its_number() {
        for (text, flow, compares) in [
            ("flow.reader.read.p99", "reader", false),
            ("flow.alone.mean", "alone", false),
            ("flow.reader.alone.mean", "reader", true),
            ("flow.reader.slowdown", "reader", true),
        ] {
            let metric = parsed(text);
            assert_eq!(metric.flows().collect::<Vec<_>>(), [flow], "{text}");
            assert_eq!(metric.compares_with_alone(), compares, "{text}");
        }
        let quotient = parsed("flow.a.rate / flow.b.alone.rate");
        assert_eq!(quotient.flows().collect::<Vec<_>>(), ["a", "b"]);
        assert!(quotient.compares_with_alone() && parsed("harmonic-speedup").compares_with_alone());
    }

    #[test]
    fn a_misspelt_number_of_a_flow_is_refused_with_a_suggestion() {
        for (wrong, meant) in [
            ("flow.reader.raed.mean", "flow.reader.read.mean"),
            ("flow.reader.slowdwon", "flow.reader.slowdown"),
            ("flow.reader.alone.read.p999", "flow.reader.alone.read.p99"),
            ("unfarness", "unfairness"),
        ] {
            let text = wrong.parse::<Metric>().expect_err(wrong).to_string();
            assert!(text.contains(&format!("did you mean `{meant}`?")), "{text}");
        }
        for wrong in
            ["flow", "flow.mean", "flow.reader", "flow.reader.waf", "flow..mean", "flow.a.busy.dies", "flow.a.b.mean"]
        {
            assert!(wrong.parse::<Metric>().is_err(), "{wrong}");
        }
        for name in super::names("reader") {
            parsed(&name);
        }
    }
}
