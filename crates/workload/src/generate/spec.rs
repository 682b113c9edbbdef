//! The description of a workload as it stands in a TOML file.

use base::units::{Bytes, Ratio, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::quantity::{Amount, RequestRate, SizeRange};
use base::fault::Fault;

/// A workload that is made up rather than recorded: one or more streams of requests, and when they
/// arrive.
///
/// It ends at the first of its limits (`requests`, `duration`, `total`), or when every stream has
/// reached its own; there must be at least one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GeneratorSpec {
    /// What the workload is called in reports.
    pub name: String,
    /// What it stands for and where its numbers come from.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// End after so many requests, flushes included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
    /// End after so much simulated time. Where requests have times of arrival, the last one arrives
    /// before it; a closed loop has none, so there the run itself is to stop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<Span>,
    /// End with the request that makes so many bytes read, written and discarded; a share is one of
    /// the device's capacity ("300%" is three drive writes).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<Amount>,
    /// When requests arrive.
    pub arrivals: ArrivalSpec,
    /// The streams, interleaved at random by their shares.
    #[serde(rename = "stream")]
    pub streams: Vec<StreamSpec>,
}

/// When requests arrive. The first one arrives at time zero.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ArrivalSpec {
    /// A new request as soon as an outstanding one completes.
    Closed {
        /// Requests outstanding at once.
        depth: u32,
    },
    /// Evenly spaced.
    Fixed {
        /// Requests per second.
        rate: RequestRate,
    },
    /// Independently of each other (exponential gaps).
    Poisson {
        /// Mean requests per second.
        rate: RequestRate,
    },
    /// In bursts of `1 + floor(Exp(length))` requests with exponential gaps inside a burst and
    /// exponential idle times between bursts, as long as the mean rate needs (workload W-D).
    Bursts {
        /// Mean of the exponential part of a burst's length, in requests.
        length: f64,
        /// Mean gap between the requests of a burst.
        gap: Span,
        /// Mean requests per second over bursts and idle times.
        rate: RequestRate,
    },
}

/// One stream of requests: what is asked, how much, and where.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StreamSpec {
    /// What the stream is called; only for the reader of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its share of the requests that arrive. All streams have one and they sum to 100 %, or none
    /// has and they are equal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<Ratio>,
    /// The stream ends after so many requests, flushes not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
    /// The stream ends with the request that makes so many bytes; a share is one of its region
    /// ("100%" is one pass).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<Amount>,
    /// Where it works. Without it, the whole device.
    #[serde(default, skip_serializing_if = "RegionSpec::is_whole")]
    pub region: RegionSpec,
    /// Every address that is drawn is a multiple of this from the start of the region, and sizes
    /// in a range are multiples of it. Without it, the smallest size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub align: Option<Bytes>,
    /// Share of reads; what is neither read nor discard is a write.
    pub reads: Ratio,
    /// Share of discards (TRIM).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub discards: Ratio,
    /// Sizes of all kinds of requests for which there is no histogram of their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sizes: Vec<SizeSpec>,
    /// Sizes of reads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub read_sizes: Vec<SizeSpec>,
    /// Sizes of writes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub write_sizes: Vec<SizeSpec>,
    /// Sizes of discards.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub discard_sizes: Vec<SizeSpec>,
    /// How addresses are chosen.
    pub address: AddressSpec,
    /// How often a request continues where the previous one of its kind ended instead of going to a
    /// new address. Where the region ends, it goes to a new address all the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequential: Option<SequentialSpec>,
    /// When writes are followed by a flush. It arrives together with its write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flush: Option<FlushSpec>,
    /// Every write is preceded by a discard of the same extent, arriving together with it; only the
    /// write counts towards the stream's limits.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub discard_first: bool,
}

/// A part of the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RegionSpec {
    /// Where it begins; a share is one of the capacity, rounded down to `align`. Without it, at the
    /// beginning of the device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<Amount>,
    /// How long it is; a share is one of the capacity. Without it, to the end of the device.
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

/// One bar of a histogram of sizes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SizeSpec {
    /// The size, or a range of which every multiple of `align` from its lower end is as likely.
    pub size: SizeRange,
    /// How often. Only a histogram of one bar may leave it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<Ratio>,
}

/// How addresses are chosen, in units of `align` within the region. A request that would cross the
/// end of the region is moved back until it ends there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "pattern", rename_all = "kebab-case", deny_unknown_fields)]
pub enum AddressSpec {
    /// Everywhere alike.
    Uniform {},
    /// Every unit once per pass, in an order that is new in each pass. All sizes equal `align`.
    Shuffled {},
    /// One after another, each kind of request for itself, from the beginning again at the end.
    Sequential {
        /// Number of sequences; each has an equal slice of the region and they take turns.
        #[serde(default = "one")]
        streams: u32,
    },
    /// The unit of rank k as often as k^-theta.
    Zipf {
        /// The skew: 0.99 is the habit of YCSB, larger is more skewed.
        theta: f64,
        /// Spread the ranks over the region; otherwise the first unit is the hottest.
        #[serde(default = "yes")]
        scrambled: bool,
    },
    /// A self-similar skew: a share `power` of the units gets a share `1 - power` of the requests,
    /// and so on within each part.
    Pareto {
        /// The share, between 0 and 1; 0.2 is the 80/20 rule.
        power: f64,
        /// Spread the ranks over the region; otherwise the first unit is the hottest.
        #[serde(default = "yes")]
        scrambled: bool,
    },
    /// Hot units and cold ones.
    HotCold {
        /// Share of the units that is hot.
        hot_space: Ratio,
        /// Share of the requests that goes to hot units.
        hot_access: Ratio,
        /// Spread the hot units over the region; otherwise they are its beginning.
        #[serde(default = "yes")]
        scrambled: bool,
    },
    /// Several zones of their own temperature, one behind the other.
    Zoned {
        /// The zones in the order of their addresses.
        zones: Vec<ZoneSpec>,
        /// Spread each zone's units over the region; otherwise every zone is contiguous.
        #[serde(default)]
        scrambled: bool,
    },
    /// Everywhere alike within a window that moves.
    WorkingSet {
        /// The window; a share is one of the region.
        size: Amount,
        /// After so many requests the window moves to a new random place; without it, never.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        period: Option<u64>,
    },
}

/// One zone of the region.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ZoneSpec {
    /// Its share of the region.
    pub space: Ratio,
    /// Its share of the requests.
    pub access: Ratio,
}

/// How often a request continues the previous one of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum SequentialSpec {
    /// With this probability: runs of geometric length with mean 1 / (1 - share).
    Share(Ratio),
    /// In runs of so many requests, `[min, max]`, every length as likely.
    Runs([u32; 2]),
}

/// When writes are followed by a flush.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum FlushSpec {
    /// After every so many writes of the stream.
    Every(u32),
    /// After each write with this probability.
    Share(Ratio),
}

const fn one() -> u32 {
    1
}

const fn yes() -> bool {
    true
}

impl GeneratorSpec {
    /// Reads a description. It is not yet checked against a device: see [`GeneratorSpec::validate`].
    ///
    /// # Errors
    /// The first place that is not TOML, not a known key, or not a quantity of the right kind, with
    /// its key and line.
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

/// What is wrong and what to do, from the text of a deserializer.
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
