//! The write streams in a summary.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ssd::StreamCounters;

/// The write streams of a page-mapped FTL that has several.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct StreamsSummary {
    /// The streams of host data, in the order of their numbers.
    pub host: Vec<StreamSummary>,
    /// The streams of copies, in the order of their numbers.
    pub copies: Vec<StreamSummary>,
}

/// The units of one write stream.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct StreamSummary {
    /// The number of mapping units programmed in the stream.
    pub units: u64,
    /// The stream's share of the units of all streams of its kind; 0 if there are none.
    pub share: f64,
    /// Mapping units programmed for each unit that the host wrote, in the class of the stream; only for a stream of
    /// host data whose copies go to a stream of their own (`ftl.streams.copies` = `same`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_amplification: Option<f64>,
}

impl StreamsSummary {
    pub(super) fn new(counters: &StreamCounters) -> Self {
        let of = |units: &[u64], amplification: &dyn Fn(usize) -> Option<f64>| {
            let all = units.iter().sum::<u64>().max(1) as f64;
            let stream = |(i, units): (usize, &u64)| StreamSummary {
                units: *units,
                share: *units as f64 / all,
                write_amplification: amplification(i),
            };
            units.iter().enumerate().map(stream).collect()
        };
        let amplification = |i: usize| {
            let (host, copies) = (counters.host[i], *counters.copies.get(i)?);
            (counters.classes_stay && host > 0).then(|| (host + copies) as f64 / host as f64)
        };
        Self { host: of(&counters.host, &amplification), copies: of(&counters.copies, &|_| None) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up_and_classes_that_stay_have_a_write_amplification_of_their_own() {
        let counters = StreamCounters { host: vec![30, 10, 0], copies: vec![15, 5, 0], classes_stay: true };
        let summary = StreamsSummary::new(&counters);
        let of = |streams: &[StreamSummary]| {
            streams.iter().map(|of| (of.units, of.share, of.write_amplification)).collect::<Vec<_>>()
        };
        assert_eq!(of(&summary.host), [(30, 0.75, Some(1.5)), (10, 0.25, Some(1.5)), (0, 0.0, None)]);
        assert_eq!(of(&summary.copies), [(15, 0.75, None), (5, 0.25, None), (0, 0.0, None)]);
        let mixed = StreamsSummary::new(&StreamCounters { classes_stay: false, ..counters });
        assert!(mixed.host.iter().all(|stream| stream.write_amplification.is_none()));
    }
}
