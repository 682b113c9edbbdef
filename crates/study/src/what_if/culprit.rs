//! The parts of the time of requests that take the largest share.

use std::collections::BTreeMap;
use std::iter::zip;

use flash::backend::Cause;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::schema;
use crate::watch::explain::{ALL, Band, KindBands};
use crate::watch::journey::JourneyPart;

/// A part of the time of all requests. Time in the queue counts for the parts of the requests ahead.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Culprit {
    /// The part of a request's time.
    #[serde(serialize_with = "name")]
    #[schemars(with = "&str", extend("enum" = JourneyPart::ALL.map(JourneyPart::name)))]
    pub part: JourneyPart,
    /// The share of the part in the time of all requests.
    pub share: f64,
    /// The share of the culprit's time that requests spent in the queue, while requests ahead were in this part.
    pub queued: f64,
    /// The causes for which the flash worked meanwhile, with their shares, the largest first; empty for a part that is
    /// not a wait.
    #[serde(serialize_with = "by_name")]
    #[schemars(with = "BTreeMap<&str, f64>", extend("propertyNames" = schema::keys(Cause::ALL.map(Cause::name))))]
    pub causes: Vec<(Cause, f64)>,
}

fn name<S: Serializer>(part: &JourneyPart, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(part.name())
}

fn by_name<S: Serializer>(shares: &[(Cause, f64)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(shares.iter().map(|(cause, share)| (cause.name(), share)))
}

/// The smallest share of the time that makes a part a culprit.
const LEAST: f64 = 0.01;

/// Times by part or cause.
type Sums<const COUNT: usize> = [f64; COUNT];

/// The time of all requests of all kinds, in microseconds.
#[derive(Default)]
struct Totals {
    latency: f64,
    parts: Sums<{ JourneyPart::COUNT }>,
    ahead: Sums<{ JourneyPart::COUNT }>,
    behind: Sums<{ Cause::COUNT }>,
    meanwhile: Sums<{ Cause::COUNT }>,
}

impl Totals {
    fn add(&mut self, band: &Band) {
        let requests = band.requests as f64;
        self.latency += band.latency_us * requests;
        let of = |times: &[(&'static str, f64)], name: &str| {
            times.iter().find(|(other, _)| *other == name).map_or(0.0, |(_, us)| us * requests)
        };
        for part in JourneyPart::ALL {
            self.parts[part as usize] += of(&band.parts_us, part.name());
            self.ahead[part as usize] += of(&band.ahead_us, part.name());
        }
        for cause in Cause::ALL {
            self.behind[cause as usize] += of(&band.behind_us, cause.name());
            self.meanwhile[cause as usize] += of(&band.meanwhile_us, cause.name());
        }
    }
}

impl Culprit {
    /// The parts with the most time over all requests, at most `count`, the largest first. Parts below `LEAST` are
    /// left out.
    #[must_use]
    pub fn largest(explained: &[KindBands], count: usize) -> Vec<Self> {
        let mut all = Totals::default();
        explained.iter().flat_map(|of| &of.bands).filter(|band| band.band == ALL).for_each(|band| all.add(band));
        // Time in the queue that was divided among the parts is subtracted from the queue.
        let queued: f64 = all.ahead.iter().sum();
        all.parts[JourneyPart::Queue as usize] -= queued;
        zip(&mut all.parts, all.ahead).for_each(|(part, ahead)| *part += ahead);
        let culprit = |part: JourneyPart| Self {
            part,
            share: all.parts[part as usize] / all.latency,
            queued: all.ahead[part as usize] / all.parts[part as usize],
            causes: causes(match part {
                JourneyPart::Queue | JourneyPart::Overlap | JourneyPart::Buffer | JourneyPart::Ftl => &all.meanwhile,
                JourneyPart::Controller | JourneyPart::Die | JourneyPart::Channel | JourneyPart::Suspended => {
                    &all.behind
                }
                JourneyPart::Link
                | JourneyPart::Array
                | JourneyPart::Transfer
                | JourneyPart::Decode
                | JourneyPart::Retry
                | JourneyPart::Rebuild
                | JourneyPart::PowerCap
                | JourneyPart::PowerState
                | JourneyPart::Throttle
                | JourneyPart::HostMemory
                | JourneyPart::Journal
                | JourneyPart::Layer => &[0.0; Cause::COUNT],
            }),
        };
        let mut largest: Vec<Self> =
            JourneyPart::ALL.into_iter().map(culprit).filter(|culprit| culprit.share >= LEAST).collect();
        largest.sort_by(|a, b| b.share.total_cmp(&a.share));
        largest.truncate(count);
        largest
    }
}

/// The shares, without zeros, the largest first.
fn causes(sums: &Sums<{ Cause::COUNT }>) -> Vec<(Cause, f64)> {
    let all: f64 = sums.iter().sum();
    let mut shares: Vec<(Cause, f64)> = zip(Cause::ALL, sums).map(|(cause, us)| (cause, us / all)).collect();
    shares.retain(|(_, share)| *share > 0.0);
    shares.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    fn band(requests: u64, latency_us: f64, parts_us: &[(&'static str, f64)]) -> Band {
        let none = Vec::new;
        let parts_us = parts_us.to_vec();
        Band {
            band: ALL,
            requests,
            latency_us,
            parts_us,
            behind_us: none(),
            ahead_us: none(),
            meanwhile_us: none(),
            drives_us: Vec::new(),
        }
    }

    #[test]
    fn time_in_the_queue_belongs_to_what_those_ahead_were_doing() {
        let mut read = band(10, 100.0, &[("queue", 60.0), ("array", 40.0)]);
        read.ahead_us = vec![("buffer", 45.0), ("array", 5.0)];
        read.meanwhile_us = vec![("merge", 36.0), ("host", 12.0)];
        let write = band(1, 400.0, &[("array", 400.0)]);
        let explained = [("read", read), ("write", write)].map(|(kind, band)| KindBands { kind, bands: vec![band] });
        let largest = Culprit::largest(&explained, 9);
        let seen: Vec<_> = largest.iter().map(|of| (of.part, of.share, of.queued)).collect();
        // Of 1,400 us in all: 400 + 50 + 400 us in the array, 450 us for the buffer, and 100 us in the queue while no
        // request completed.
        let wanted = [(JourneyPart::Array, 850.0 / 1400.0, 50.0 / 850.0), (JourneyPart::Buffer, 450.0 / 1400.0, 1.0)];
        assert_eq!(seen[..2], wanted);
        assert_eq!(seen[2], (JourneyPart::Queue, 100.0 / 1400.0, 0.0));
        assert_eq!(largest[1].causes, [(Cause::Merge, 0.75), (Cause::Host, 0.25)]);
        assert_eq!(largest[0].causes, [], "the array works for the request itself");
        assert_eq!(Culprit::largest(&explained, 1).len(), 1);
        assert_eq!(Culprit::largest(&[], 2), []);
    }
}
