//! The table `[ftl.streams]` of a description.

use base::fault::Faults;
use base::units::Bytes;
use flash::nand::Stream;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::formula::ByFormula;
use super::{StreamCount, own};
use crate::page::GcSpec;

/// Write streams of a page-mapped FTL: which open superblock of a pool takes a mapping unit. Each stream keeps a
/// superblock of every pool open.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct StreamsSpec {
    /// The streams of data that the host writes.
    pub host: HostStreamsSpec,
    /// The streams of data that collection and wear levelling copy.
    pub copies: CopyStreamsSpec,
}

/// The policy that chooses the stream of a mapping unit that the host writes. Stream 0 is for the data that will be
/// overwritten first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, tag = "policy", rename_all = "kebab-case")]
pub enum HostStreamsSpec {
    /// All data go to one stream.
    #[default]
    One,
    /// By the size of the request, the smallest first. A write buffer counts the request that wrote the mapping unit
    /// last; preconditioning writes requests of one mapping unit.
    Size {
        /// The smallest request of each stream but the first, in ascending order: 1 to 15 sizes for 2 to 16 streams.
        limits: Vec<Bytes>,
    },
    /// By the submission queue of the request: its number modulo `streams`.
    Queue {
        /// Number of streams: 2 to 16.
        streams: u32,
    },
    /// By the placement identifier of the request, as with the streams directive of NVM Express: the identifier is the
    /// number of the stream. Requests without an identifier, or with a number of `streams` or more, go to stream 0. The
    /// newer form of this directive is `ftl.fdp`.
    PlacementId {
        /// Number of streams: 2 to 16.
        streams: u16,
    },
    /// By the update interval: the amount that the host has written since it last wrote the mapping unit. A mapping
    /// unit that is not known counts as the longest interval.
    Interval {
        /// The shortest interval of each stream but the first, in ascending order: 1 to 15 amounts of data.
        limits: Vec<Bytes>,
        /// The size of the table of latest writes: 8 bytes for each mapping unit that it remembers.
        #[serde(default = "table")]
        memory: Bytes,
    },
    /// By lists of recently written mapping units, a stream for each (Chang and Kuo: An Adaptive Striping Architecture for
    /// Flash Memory Storage Systems of Embedded Systems, RTAS 2002). A mapping unit begins in the last list, and each
    /// write moves it to the list before.
    Lru {
        /// Mapping units in each list, the hottest first: 2 to 16 lists. Chang and Kuo have two.
        levels: Vec<u32>,
    },
    /// Hot data and other data, by several Bloom filters of which the oldest is cleared now and then (Park and Du: Hot
    /// Data Identification for Flash-based Storage Systems Using Multiple Bloom Filters, MSST 2011). A filter that
    /// was cleared later weighs more: of `n` filters the latest weighs `n`, the earliest 1.
    BloomFilters {
        /// Number of filters: 2 to 16.
        #[serde(default = "filters")]
        filters: u32,
        /// Bits of each filter: a power of two, from 64 to 16777216.
        #[serde(default = "bits")]
        bits: u32,
        /// Mapping units that are written between two clearings.
        #[serde(default = "decay")]
        decay: u32,
        /// The weight that the filters with a hot mapping unit have together, at least: 1 or more. The default is four
        /// fifths of the weight of four filters, as in the paper.
        #[serde(default = "threshold")]
        threshold: u32,
    },
    /// By the amount that the host will write before it writes the mapping unit again. No real drive knows it: this
    /// policy is the bound for the others. A run is made twice, and the first run notes the writes, 8 bytes of memory
    /// for each. A served drive, and one that a program drives itself, cannot have this policy.
    Oracle {
        /// The shortest distance of each stream but the first, in ascending order: 1 to 15 amounts of data.
        limits: Vec<Bytes>,
    },
    /// By the value of a formula: the number of the stream, rounded down.
    Formula {
        /// The formula, with the operators and functions of `ftl.gc.victim.score`. Names: `size` (bytes of the
        /// request), `address` (of the mapping unit, in bytes), `interval` (bytes that the host has written since it
        /// last wrote the mapping unit; infinite if that is not known), `written` (bytes that the host has written
        /// since the mount), `queue`, `partial` (1 if the request covers a part of the mapping unit), `sequential` (1
        /// if the mapping unit follows the one before it) and `placement` (the placement identifier).
        #[schemars(extend("examples" = ["if(size < 16384, 0, 1)", "sequential"]))]
        number: String,
        /// Number of streams: 2 to 16. The last stream takes all higher numbers.
        streams: u32,
        /// The size of the table of latest writes, if the formula has `interval`: 8 bytes for each mapping unit that it
        /// remembers.
        #[serde(default = "table")]
        memory: Bytes,
    },
    /// By a policy of the program, which the program has registered.
    Own {
        /// The name under which the policy is registered.
        name: String,
        /// Number of streams: 2 to 16.
        streams: u32,
        /// The version with which the policy is registered. A resolved device has the version, so that a store of
        /// results keeps the results of two versions apart.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        version: Option<String>,
    },
}

const fn table() -> Bytes {
    Bytes::new(1 << 20)
}

const fn filters() -> u32 {
    4
}

const fn bits() -> u32 {
    2048
}

const fn decay() -> u32 {
    512
}

const fn threshold() -> u32 {
    8
}

/// The policy that chooses the stream of a copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, tag = "policy", rename_all = "kebab-case")]
pub enum CopyStreamsSpec {
    /// All copies go to one stream.
    #[default]
    One,
    /// A stream of copies for each stream of host data: copies stay with data of their class. If a program would
    /// otherwise be padded, copies of several classes share it in the last stream.
    Same,
    /// By the number of times the data were copied: a copy goes to the stream after its source's stream, and stays in
    /// the last stream.
    Generations {
        /// Number of streams: 2 to 16.
        streams: u32,
    },
}

/// The most Bloom filters, and the most bits of a filter.
const FILTERS: u32 = 16;
const BITS: u32 = 1 << 24;
/// The most mapping units in a list of recently written units.
const UNITS: u32 = 1 << 26;

impl StreamsSpec {
    /// The numbers of streams of each pool of data.
    pub(crate) fn count(&self) -> StreamCount {
        let most = usize::from(Stream::MOST);
        let host = match &self.host {
            HostStreamsSpec::One => 1,
            HostStreamsSpec::Size { limits }
            | HostStreamsSpec::Interval { limits, .. }
            | HostStreamsSpec::Oracle { limits } => limits.len() + 1,
            HostStreamsSpec::Queue { streams }
            | HostStreamsSpec::Formula { streams, .. }
            | HostStreamsSpec::Own { streams, .. } => *streams as usize,
            HostStreamsSpec::PlacementId { streams } => usize::from(*streams),
            HostStreamsSpec::Lru { levels } => levels.len(),
            HostStreamsSpec::BloomFilters { .. } => 2,
        };
        let host = host.clamp(1, most);
        let copies = match self.copies {
            CopyStreamsSpec::One => 1,
            CopyStreamsSpec::Same => host,
            CopyStreamsSpec::Generations { streams } => streams as usize,
        };
        StreamCount { host: host as u8, copies: copies.clamp(1, most) as u8 }
    }

    /// The description, with the version if a policy of the program is registered under its name.
    pub(crate) fn written_out(self) -> Self {
        let host = match self.host {
            HostStreamsSpec::Own { name, streams, .. } => {
                let version = own::POLICIES.version(&name);
                HostStreamsSpec::Own { name, streams, version }
            }
            other => other,
        };
        Self { host, ..self }
    }

    /// The number of streams of copies in addition to the first.
    #[must_use]
    pub fn copies_apart(&self) -> u32 {
        u32::from(self.count().copies) - 1
    }

    /// True if the stream of a write depends on the request that brought the data.
    #[must_use]
    pub const fn asks_for_requests(&self) -> bool {
        matches!(
            self.host,
            HostStreamsSpec::Size { .. }
                | HostStreamsSpec::Queue { .. }
                | HostStreamsSpec::PlacementId { .. }
                | HostStreamsSpec::Formula { .. }
                | HostStreamsSpec::Own { .. }
        )
    }

    /// Adds the faults of numbers that no array allows, and of keys that exclude each other.
    pub(crate) fn check(&self, gc: &GcSpec, faults: &mut Faults) {
        let most = u32::from(Stream::MOST);
        match &self.host {
            HostStreamsSpec::One => {}
            HostStreamsSpec::Size { limits } | HostStreamsSpec::Oracle { limits } => check_limits(limits, faults),
            HostStreamsSpec::Queue { streams } => faults.within("ftl.streams.host.streams", *streams, 2..=most),
            HostStreamsSpec::PlacementId { streams } => {
                faults.within("ftl.streams.host.streams", u32::from(*streams), 2..=most);
            }
            HostStreamsSpec::Interval { limits, memory } => {
                check_limits(limits, faults);
                check_table(*memory, faults);
            }
            HostStreamsSpec::Lru { levels } => {
                if !(2..=most as usize).contains(&levels.len()) {
                    let message = format!("has {} lists", levels.len());
                    faults.add("ftl.streams.host.levels", message, format!("give 2 to {most} lists"));
                }
                for units in levels.iter().filter(|units| !(1..=UNITS).contains(*units)) {
                    faults.within("ftl.streams.host.levels", *units, 1..=UNITS);
                }
            }
            HostStreamsSpec::BloomFilters { filters, bits, decay, threshold } => {
                faults.within("ftl.streams.host.filters", *filters, 2..=FILTERS);
                faults.within("ftl.streams.host.bits", *bits, 64..=BITS);
                if !bits.is_power_of_two() {
                    let message = format!("is {bits}, no power of two");
                    faults.add("ftl.streams.host.bits", message, "use a power of two, e.g. 2048");
                }
                faults.positive("ftl.streams.host.decay", *decay);
                let all = filters.saturating_mul(filters.saturating_add(1)) / 2;
                faults.within("ftl.streams.host.threshold", *threshold, 1..=all.max(1));
            }
            HostStreamsSpec::Formula { number, streams, memory } => {
                faults.within("ftl.streams.host.streams", *streams, 2..=most);
                check_table(*memory, faults);
                if let Err(error) = ByFormula::check(number) {
                    faults.add("ftl.streams.host.number", error.to_string(), "e.g. \"if(size < 16384, 0, 1)\"");
                }
            }
            HostStreamsSpec::Own { name, streams, version } => {
                faults.within("ftl.streams.host.streams", *streams, 2..=most);
                own::POLICIES.check(
                    ("ftl.streams.host.name", "ftl.streams.host.version"),
                    name,
                    version.as_deref(),
                    faults,
                );
            }
        }
        match self.copies {
            CopyStreamsSpec::Generations { streams } => {
                faults.within("ftl.streams.copies.streams", streams, 2..=most);
            }
            CopyStreamsSpec::Same if self.host == HostStreamsSpec::One => {
                let message = "keeps copies with data of their class, and ftl.streams.host has one class";
                faults.add("ftl.streams.copies", message, "leave it out, or give ftl.streams.host another policy");
            }
            CopyStreamsSpec::One | CopyStreamsSpec::Same => {}
        }
        if self.count().is_several() {
            if gc.shared_log {
                let message = "conflicts with ftl.gc.shared-log: one open superblock has no streams";
                faults.add("ftl.streams", message, "leave one of the two out");
            }
            if gc.start == 0 {
                let message = "conflicts with ftl.gc.start = 0: collection cannot wait until the open superblocks of all \
                               streams are full";
                faults.add("ftl.streams", message, "leave it out, or set ftl.gc.start to at least 1");
            }
        }
    }
}

fn check_table(memory: Bytes, faults: &mut Faults) {
    if memory.get() < 8 {
        let message = format!("is {memory}, and one mapping unit takes 8 bytes");
        faults.add("ftl.streams.host.memory", message, "give it 8 bytes for each mapping unit to remember");
    }
}

fn check_limits(limits: &[Bytes], faults: &mut Faults) {
    let most = usize::from(Stream::MOST) - 1;
    if !(1..=most).contains(&limits.len()) {
        let message = format!("has {} values", limits.len());
        faults.add("ftl.streams.host.limits", message, format!("give 1 to {most}"));
    }
    if limits.first().is_some_and(|first| first.get() == 0) || !limits.is_sorted_by(|one, next| one < next) {
        let message = "are not in ascending order, above zero";
        faults.add("ftl.streams.host.limits", message, "give each stream more than the one before it");
    }
}

impl HostStreamsSpec {
    /// Every policy except the default, for the conformance suite and the swarm, with parameters that have an effect on
    /// a small device.
    #[must_use]
    pub fn every() -> [Self; 8] {
        [
            Self::Size { limits: vec![Bytes::new(2048), Bytes::new(4096)] },
            Self::Queue { streams: 2 },
            Self::PlacementId { streams: 3 },
            Self::Interval { limits: vec![Bytes::new(16 << 10)], memory: Bytes::new(256) },
            Self::Lru { levels: vec![4, 8, 16] },
            Self::Oracle { limits: vec![Bytes::new(16 << 10)] },
            Self::BloomFilters { filters: 4, bits: 64, decay: 16, threshold: 6 },
            Self::Formula {
                number: "if(interval < 9000, 0, 1 + sequential)".to_owned(),
                streams: 3,
                memory: Bytes::new(256),
            },
        ]
    }
}

impl CopyStreamsSpec {
    /// Every policy, for the conformance suite and the swarm.
    pub const EVERY: [Self; 3] = [Self::One, Self::Same, Self::Generations { streams: 3 }];
}
