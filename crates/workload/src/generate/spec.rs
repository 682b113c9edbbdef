//! The description of a synthetic workload in a TOML file.

use base::units::{Bytes, Ratio, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::placement::PlacementIds;
use super::quantity::{Amount, RequestRate, SizeRange};
use crate::measure::{self, MeasureKeys};
use base::fault::Fault;

/// A synthetic workload: one or more streams of requests, and their times of arrival.
///
/// The workload ends at the first of its limits (`requests`, `duration`, `total`), or when every stream has reached its
/// own limit. At least one limit is required.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GeneratorSpec {
    /// The workload's name in reports.
    pub name: String,
    /// The load that the workload represents, and the source of its numbers.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The number of requests after which the workload ends, flushes included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
    /// The simulated time after which the workload ends. The last request with a time of arrival arrives before it. A
    /// closed loop has no times of arrival: there the run itself stops.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<Span>,
    /// The amount of data after which the workload ends: the last request brings the bytes read, written and discarded
    /// to this amount. A share is of the device's capacity ("300%" is three drive writes).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<Amount>,
    /// The part that runs before the measurement, unless the run states another.
    #[serde(default, rename = "warm-up", skip_serializing_if = "Option::is_none")]
    pub warm_up: Option<measure::Amount>,
    /// The part that is measured, unless the run states another. The workload then issues requests until the end of
    /// this part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measure: Option<measure::Amount>,
    /// The condition up to which the drive is warmed up, unless the run states another. `steady`, or `steady:METRIC`
    /// with `rate`, `waf` or `latency`, is the steady state; the measurement is then as long as the five rounds in
    /// which the drive was steady, unless `measure` is given. With `worn` the run lasts until the drive refuses a write
    /// because too many of its blocks have failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<measure::TargetState>,
    /// The length of a round of `until`. The default writes a tenth of the capacity; for `worn`, a hundred capacities.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round: Option<measure::Amount>,
    /// The simulated time before the first request. `duration` counts from its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<Span>,
    /// The pauses of a closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub think: Option<ThinkSpec>,
    /// The times of arrival of requests; a closed loop has none.
    pub arrivals: ArrivalSpec,
    /// The streams, interleaved at random by their shares.
    #[serde(rename = "stream")]
    pub streams: Vec<StreamSpec>,
}

impl GeneratorSpec {
    /// The keys of the description about its measurement.
    #[must_use]
    pub const fn measured(&self) -> MeasureKeys {
        MeasureKeys { warm_up: self.warm_up, until: self.until, round: self.round, measure: self.measure }
    }
}

/// The times of arrival. The first request arrives at time zero.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ArrivalSpec {
    /// Each completion triggers a new request.
    Closed {
        /// The number of requests outstanding.
        depth: u32,
    },
    /// Constant gaps.
    Fixed {
        /// Requests per second.
        rate: RequestRate,
    },
    /// Independent arrivals (exponential gaps).
    Poisson {
        /// Mean requests per second.
        rate: RequestRate,
    },
    /// Bursts of `1 + floor(Exp(length))` requests, with exponential gaps inside a burst and exponential idle times
    /// between bursts. The mean rate determines the mean idle time (workload W-D).
    Bursts {
        /// Mean of the exponential part of a burst's length, in requests.
        length: f64,
        /// Mean gap between the requests of a burst.
        gap: Span,
        /// Mean requests per second, idle times included.
        rate: RequestRate,
    },
}

/// The pauses of a closed loop, as of a user who reads an answer before the next question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ThinkSpec {
    /// The length of a pause, from the completion of all outstanding requests on.
    pub time: Span,
    /// The number of requests from one pause to the next.
    #[serde(default = "one")]
    pub every: u32,
}

/// One stream of requests: their kinds, sizes and addresses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StreamSpec {
    /// The stream's name; only for readers of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The stream's share of the requests that arrive. Either all streams have a share and the shares sum to 100 %, or
    /// none has and all are equal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<Ratio>,
    /// The number of requests after which the stream ends, flushes not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
    /// The amount of data after which the stream ends: its last request brings its bytes to this amount. A share is of
    /// its region ("100%" is one pass).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<Amount>,
    /// The region that the stream uses. Default: the whole device.
    #[serde(default, skip_serializing_if = "RegionSpec::is_whole")]
    pub region: RegionSpec,
    /// The alignment: every drawn address is a multiple of `align` from the start of the region, and sizes in a range
    /// are multiples of `align`. Default: the smallest size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub align: Option<Bytes>,
    /// The share of reads. Requests that are neither reads nor discards are writes.
    pub reads: Ratio,
    /// The share of discards (TRIM).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub discards: Ratio,
    /// Sizes of all kinds of requests without a histogram of their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sizes: Vec<SizeSpec>,
    /// The histogram of the sizes of reads, instead of `sizes`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub read_sizes: Vec<SizeSpec>,
    /// The histogram of the sizes of writes, instead of `sizes`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub write_sizes: Vec<SizeSpec>,
    /// The histogram of the sizes of discards, instead of `sizes`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub discard_sizes: Vec<SizeSpec>,
    /// The address pattern of the stream, e.g. uniform, Zipf or hot and cold.
    pub address: AddressSpec,
    /// The rule by which a request continues at the end of the previous one of its kind, and not at a new address. At
    /// the end of the region it goes to a new address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequential: Option<SequentialSpec>,
    /// The rule by which flushes follow writes. A flush arrives together with its write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flush: Option<FlushSpec>,
    /// True if a discard of the same extent precedes every write and arrives together with it. Only the write counts
    /// towards the stream's limits.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub discard_first: bool,
    /// The placement identifier of the stream's writes, by which the host tells the drive which data belong together
    /// (`ftl.streams.host = { policy = "placement-id" }`). With a list, the writes take its identifiers in turn.
    /// Default: no identifier, which is 0.
    #[serde(default, rename = "placement-id", skip_serializing_if = "Option::is_none")]
    pub placement: Option<PlacementIds>,
}

impl StreamSpec {
    /// The sizes of requests of all kinds.
    pub fn all_sizes(&self) -> impl Iterator<Item = &SizeSpec> {
        [&self.sizes, &self.read_sizes, &self.write_sizes, &self.discard_sizes].into_iter().flatten()
    }
}

/// A part of the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RegionSpec {
    /// The start of the region; a share is of the capacity, rounded down to `align`. Default: the beginning of the
    /// device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<Amount>,
    /// The length of the region; a share is of the capacity. Default: up to the end of the device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Amount>,
}

impl RegionSpec {
    fn is_whole(&self) -> bool {
        *self == Self::default()
    }
}

fn is_zero(ratio: &Ratio) -> bool {
    *ratio == Ratio::ZERO
}

/// A bar of a histogram of sizes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SizeSpec {
    /// The size, or a range: every multiple of `align` from its lower end is equally likely.
    pub size: SizeRange,
    /// The frequency of the bar. Only a histogram of one bar may omit it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<Ratio>,
}

/// The address pattern, in address units of `align` within the region. A request that would cross the end of the region
/// moves back until it ends there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "pattern", rename_all = "kebab-case", deny_unknown_fields)]
pub enum AddressSpec {
    /// All address units equally likely.
    Uniform {},
    /// Every address unit once per pass, in a new order in each pass. All sizes equal `align`.
    Shuffled {},
    /// Consecutive addresses, separately for each kind of request; at the end the sequence starts over.
    Sequential {
        /// Number of sequences, which take turns; each has an equal slice of the region.
        #[serde(default = "one")]
        streams: u32,
    },
    /// The address unit of rank k with a frequency proportional to k^-theta.
    Zipf {
        /// The skew: YCSB has 0.99, larger is more skewed.
        theta: f64,
        /// True to spread the ranks over the region; otherwise the first address unit is the hottest.
        #[serde(default = "yes")]
        scrambled: bool,
    },
    /// A self-similar skew: a share `power` of the address units gets a share `1 - power` of the requests, and so on
    /// within each part.
    Pareto {
        /// The share, between 0 and 1; 0.2 is the 80/20 rule.
        power: f64,
        /// True to spread the ranks over the region; otherwise the first address unit is the hottest.
        #[serde(default = "yes")]
        scrambled: bool,
    },
    /// Hot and cold address units: the hot units have their own share of the requests.
    HotCold {
        /// The share of address units that are hot.
        hot_space: Ratio,
        /// The share of requests to hot address units.
        hot_access: Ratio,
        /// True to spread the hot address units over the region; otherwise the hot units are at its beginning.
        #[serde(default = "yes")]
        scrambled: bool,
    },
    /// Consecutive zones, each with its own share of the requests.
    Zoned {
        /// The zones in order of address, which fill the region.
        zones: Vec<ZoneSpec>,
        /// True to spread each zone's address units over the region; otherwise every zone is contiguous.
        #[serde(default)]
        scrambled: bool,
    },
    /// Zones at equal distances. One zone at a time receives requests; the first one follows the last.
    Strided {
        /// The length of each zone.
        zone: Bytes,
        /// The distance from the start of a zone to the start of the next.
        step: Bytes,
        /// Bytes that a zone receives before the next zone's turn. Default: the length of a zone.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bytes: Option<Bytes>,
        /// The order of addresses within a zone.
        #[serde(default, skip_serializing_if = "StrideOrder::is_sequential")]
        order: StrideOrder,
        /// True if the next zone lies before the current one, not after it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        backwards: bool,
    },
    /// All address units equally likely within a window that moves.
    WorkingSet {
        /// The window's size; a share is of the region.
        size: Amount,
        /// The number of requests after which the window moves to a new random place. Default: never.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        period: Option<u64>,
    },
}

/// The order of addresses within a zone of the pattern `strided`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StrideOrder {
    /// Consecutive addresses; at the end of the zone the sequence starts over.
    #[default]
    Sequential,
    /// All address units equally likely.
    Uniform,
    /// Every address unit once per pass, in a new order in each pass. All sizes equal `align`.
    Shuffled,
}

impl StrideOrder {
    fn is_sequential(&self) -> bool {
        *self == Self::Sequential
    }
}

/// A zone: its share of the region, and its share of the requests.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ZoneSpec {
    /// The zone's share of the region.
    pub space: Ratio,
    /// The zone's share of the requests.
    pub access: Ratio,
}

/// The rule by which a request continues at the end of the previous one of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum SequentialSpec {
    /// With this probability: runs have geometric lengths with mean 1 / (1 - share).
    Share(Ratio),
    /// Runs of `[min, max]` requests, every length equally likely.
    Runs([u32; 2]),
}

/// The rule by which flushes follow writes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum FlushSpec {
    /// A flush follows after this many writes of the stream.
    Every(u32),
    /// A flush follows each write with this probability.
    Share(Ratio),
    /// A flush follows the stream's last request, if the stream's own `requests` or `total` ends it.
    End,
}

const fn one() -> u32 {
    1
}

const fn yes() -> bool {
    true
}

impl GeneratorSpec {
    /// Parses a description. [`GeneratorSpec::validate`] checks it against a device.
    ///
    /// # Errors
    ///
    /// The first place that is not TOML, not a known key, or not a quantity of the right kind, with its key and line.
    pub fn from_toml(text: &str) -> Result<Self, Vec<Fault>> {
        let fault = |error: &toml::de::Error, key: String| {
            let line = error.span().map(|span| text[..span.start.min(text.len())].matches('\n').count() + 1);
            let place = line.map_or_else(String::new, |line| format!("line {line}"));
            let path = if key.is_empty() || key == "." { place } else { format!("{key} ({place})") };
            let (message, remedy) = split(error.message());
            vec![Fault { path, message, remedy }]
        };
        let deserializer = toml::Deserializer::parse(text).map_err(|e| fault(&e, String::new()))?;
        serde_path_to_error::deserialize(deserializer).map_err(|e| fault(e.inner(), e.path().to_string()))
    }
}

/// Splits the text of a deserializer's error into fault and remedy.
fn split(text: &str) -> (String, String) {
    if let Some(at) = text.find(", expected") {
        return (text[..at].to_owned(), format!("delete it or correct it:{}", &text[at + 1..]));
    }
    if let Some((message, remedy)) = text.split_once(": ") {
        return (message.to_owned(), remedy.to_owned());
    }
    let remedy = if text.starts_with("missing field") { "add it" } else { "see the reference of workload files" };
    (text.to_owned(), remedy.to_owned())
}
