//! Explains response times: the parts of the time of typical and of the slowest requests.

use std::collections::BTreeMap;

use base::io::IoKind;
use base::units::{Span, Time};
use flash::backend::{Cause, Resource};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ssd::Tag;

use super::journey::{Journey, JourneyPart, Leg};
use super::sums::{Sum, Sums};
use crate::name::{self, Name};
use crate::schema;

/// The bands of a run: their names, and the shares of the requests at which they begin and end, fastest first.
const BANDS: [(&str, f64, f64); 6] = [
    ("to p50", 0.0, 0.5),
    ("p50 to p90", 0.5, 0.9),
    ("p90 to p99", 0.9, 0.99),
    ("p99 to p99.9", 0.99, 0.999),
    ("beyond p99.9", 0.999, 1.0),
    (ALL, 0.0, 1.0),
];

/// The band of all requests of a kind.
pub const ALL: &str = "all";

/// Microseconds by name of a part or cause, without zeros.
pub type Times = Vec<(Name, f64)>;

/// The requests of a kind between two percentiles.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct Band {
    /// Name of the band: its percentiles, or `all`.
    #[serde(deserialize_with = "name::name")]
    pub band: Name,
    /// The number of requests between the band's percentiles.
    pub requests: u64,
    /// The mean latency of these requests, in microseconds: the sum of the parts.
    pub latency_us: f64,
    /// The parts of the mean latency, in microseconds.
    #[serde(deserialize_with = "name::in_order", serialize_with = "by_name")]
    #[schemars(with = "BTreeMap<&str, f64>", extend("propertyNames" = schema::keys(JourneyPart::ALL.map(JourneyPart::name))))]
    pub parts_us: Times,
    /// The waits for controllers, dies and channels, and the suspensions, divided by the cause for which these
    /// resources worked meanwhile, in microseconds.
    #[serde(deserialize_with = "name::in_order", serialize_with = "by_name")]
    #[schemars(with = "BTreeMap<&str, f64>", extend("propertyNames" = schema::keys(Cause::ALL.map(Cause::name))))]
    pub behind_us: Times,
    /// The time in the queue, divided by the parts of the requests that completed meanwhile, in microseconds.
    #[serde(deserialize_with = "name::in_order", serialize_with = "by_name")]
    #[schemars(with = "BTreeMap<&str, f64>", extend("propertyNames" = schema::keys(JourneyPart::ALL.map(JourneyPart::name))))]
    pub ahead_us: Times,
    /// The time in the queue, behind an overlapping request, for the buffer and in the FTL, divided by the cause for
    /// which the dies worked meanwhile, in microseconds.
    #[serde(deserialize_with = "name::in_order", serialize_with = "by_name")]
    #[schemars(with = "BTreeMap<&str, f64>", extend("propertyNames" = schema::keys(Cause::ALL.map(Cause::name))))]
    pub meanwhile_us: Times,
    /// The time for which the requests waited for each drive of a RAID, the drive of a journal included, in
    /// microseconds; empty for other drives.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drives_us: Vec<f64>,
}

fn by_name<S: serde::Serializer>(times: &Times, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(times.iter().copied())
}

/// Where the time of one kind of request went, by bands of latency percentiles.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename = "Explained")]
pub struct KindBands {
    /// Kind of the requests.
    #[schemars(extend("enum" = IoKind::ALL.map(IoKind::name)))]
    #[serde(deserialize_with = "name::name")]
    pub kind: Name,
    /// The bands, fastest first; the last has all requests.
    pub bands: Vec<Band>,
}

fn us(span: Span) -> f64 {
    span.as_us_f64()
}

/// Times by part, without zeros.
fn parts(of: impl Fn(JourneyPart) -> f64) -> Times {
    JourneyPart::ALL.into_iter().map(|part| (part.name(), of(part))).filter(|(_, us)| *us > 0.0).collect()
}

/// Times by cause, without zeros.
fn causes(of: impl Fn(Cause) -> f64) -> Times {
    Cause::ALL.into_iter().map(|cause| (cause.name(), of(cause))).filter(|(_, us)| *us > 0.0).collect()
}

/// The time of this name; zero if it is not listed.
fn named(times: &Times, name: &str) -> f64 {
    times.iter().find(|(other, _)| *other == name).map_or(0.0, |(_, us)| *us)
}

fn band(name: &'static str, requests: u64, of: &Sum) -> Band {
    let mean = |sum: f64| sum / requests as f64;
    Band {
        band: name,
        requests,
        latency_us: mean(of.latency_us),
        parts_us: parts(|part| mean(of.parts_us[part as usize])),
        behind_us: causes(|cause| mean(of.behind_us[cause as usize])),
        ahead_us: parts(|part| mean(of.ahead_us[part as usize])),
        meanwhile_us: causes(|cause| mean(of.meanwhile_us[cause as usize])),
        drives_us: of.drives_us.iter().map(|us| mean(*us)).collect(),
    }
}

impl Band {
    /// Combines several bands into one, also over runs with other seeds; `None` without bands.
    pub fn together<'a>(name: &'static str, bands: impl Iterator<Item = &'a Self> + Clone) -> Option<Self> {
        let requests: u64 = bands.clone().map(|band| band.requests).sum();
        let mean = |of: &dyn Fn(&Self) -> f64| {
            bands.clone().map(|band| of(band) * band.requests as f64).sum::<f64>() / requests as f64
        };
        (requests > 0).then(|| Self {
            band: name,
            requests,
            latency_us: mean(&|band| band.latency_us),
            parts_us: parts(|part| mean(&|band| band.part_us(part))),
            behind_us: causes(|cause| mean(&|band| named(&band.behind_us, cause.name()))),
            ahead_us: parts(|part| mean(&|band| named(&band.ahead_us, part.name()))),
            meanwhile_us: causes(|cause| mean(&|band| named(&band.meanwhile_us, cause.name()))),
            drives_us: (0..bands.clone().map(|band| band.drives_us.len()).max().unwrap_or(0))
                .map(|drive| mean(&|band| band.drives_us.get(drive).copied().unwrap_or(0.0)))
                .collect(),
        })
    }

    /// A part's time, in microseconds.
    #[must_use]
    pub fn part_us(&self, part: JourneyPart) -> f64 {
        named(&self.parts_us, part.name())
    }
}

/// The bands of every kind of request that occurred.
#[must_use]
pub fn explain(sums: &Sums) -> Vec<KindBands> {
    let of_kind = |kind: IoKind| {
        let all = sums.requests(kind);
        let cut = |share: f64| (all as f64 * share).round() as u64;
        let bands = BANDS.into_iter().map(|(name, from, to)| (name, cut(from), cut(to)));
        let bands = bands.filter(|(_, from, to)| from < to);
        let bands = bands.map(|(name, from, to)| band(name, to - from, &sums.between(kind, from, to)));
        KindBands { kind: kind.name(), bands: bands.collect() }
    };
    IoKind::ALL.into_iter().map(of_kind).filter(|explained| !explained.bands.is_empty()).collect()
}

/// A single request with all its legs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct OneRequest {
    /// Tag of the request, which is its number in the run.
    pub request: Tag,
    /// Name of the request's kind.
    #[schemars(extend("enum" = IoKind::ALL.map(IoKind::name)))]
    pub kind: &'static str,
    /// The first sector of the request.
    pub start_sector: u64,
    /// The length in sectors of 512 bytes.
    pub sectors: u64,
    /// The latency of the request, in microseconds.
    pub latency_us: f64,
    /// The legs of the request, in order and without gaps.
    pub legs: Vec<OneLeg>,
}

/// A part of a request's time, with the resource and the cause.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct OneLeg {
    /// The start of the leg, in microseconds after the request's arrival.
    pub from_us: f64,
    /// The length of the leg, in microseconds.
    pub took_us: f64,
    /// Name of the part of the time, e.g. the wait for a die.
    #[schemars(extend("enum" = JourneyPart::ALL.map(JourneyPart::name)))]
    pub part: &'static str,
    /// The number of the drive of a RAID that the leg waited for; missing for other drives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drive: Option<u32>,
    /// The name of the die or the channel, if the leg is spent at one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
}

impl OneRequest {
    /// Describes a request by its legs.
    #[must_use]
    pub fn new(journey: &Journey, legs: &[Leg]) -> Self {
        let since = |time: Time| us(time - journey.arrival);
        let leg = |leg: &Leg| OneLeg {
            from_us: since(leg.from),
            took_us: us(leg.until - leg.from),
            part: leg.part.name(),
            drive: leg.drive,
            at: leg.at.map(|at| match at {
                Resource::Array(number) => format!("die {number}"),
                Resource::Plane(number) => format!("plane {number}"),
                Resource::Channel(number) => format!("channel {number}"),
                Resource::Decoder(number) => format!("decoder {number}"),
            }),
        };
        Self {
            request: journey.tag,
            kind: journey.io.kind.name(),
            start_sector: journey.io.start.get(),
            sectors: journey.io.sectors.get(),
            latency_us: us(journey.latency()),
            legs: legs.iter().map(leg).collect(),
        }
    }
}
