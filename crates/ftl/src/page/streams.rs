//! Write streams: data of different lifetimes go to different open superblocks.
//!
//! A superblock whose mapping units become invalid at about the same time costs collection few copies. So a drive may
//! keep several open superblocks in each pool: up to 16 for data of the host, among which a [policy](StreamPolicy) chooses
//! for each mapping unit, and up to 16 for copies. A policy is a file here, a variant of [`HostStreamsSpec`] with its
//! line in [`HostStreamsSpec::every`], and a variant of [`HostPolicy`]. Stream 0 is that of the data which will be
//! overwritten first.
//!
//! The FTL's own pages go to stream 0. A policy keeps its tables in RAM only: it begins anew at each mount.
//!
//! A copy never goes to a stream of copies with a lower number than that of its source: a mount scans these streams in
//! ascending order, each from its oldest superblock on, and so finds every original before its copies.

mod bloom_filters;
mod formula;
mod interval;
mod lru;
mod oracle;
mod own;
mod placement_id;
mod queue;
mod size;
mod spec;

use std::fmt::Debug;

use base::io::PlacementId;
use base::units::{Lpn, Sectors};
use flash::nand::{Geometry, Stream};

use super::FdpSpec;
use super::writer::pool_set::PoolSet;
use crate::foresight::Foresight;

use bloom_filters::BloomFilters;
use formula::ByFormula;
use interval::Interval;
use lru::Lru;
use oracle::Oracle;
use placement_id::ByPlacementId;
use queue::ByQueue;
use size::BySize;

pub use own::register_stream_policy;
pub use spec::{CopyStreamsSpec, HostStreamsSpec, StreamsSpec};

/// A write of the host to a mapping unit, as a [`StreamPolicy`] sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostWrite {
    /// The number of the mapping unit that the host writes.
    pub lpn: Lpn,
    /// The size of the request that wrote the mapping unit last; one mapping unit if preconditioning writes it.
    pub request: Sectors,
    /// The submission queue of that request; 0 if preconditioning writes it.
    pub queue: u32,
    /// The placement identifier of that request; 0 if preconditioning writes it.
    pub placement: PlacementId,
    /// The NVM set that the write is confined to; 0 is the whole array.
    pub set: u32,
    /// True if the request does not cover the whole mapping unit.
    pub is_partial: bool,
    /// Mapping units that the host has written before this write since the power came on.
    pub written: u64,
}

/// Chooses the stream of each mapping unit that the host writes.
///
/// A policy learns of a mapping unit once for each write, in the order in which the FTL takes the writes. It allocates
/// nothing for a write, and draws no random numbers, so that a run repeats exactly.
pub trait StreamPolicy: Debug {
    /// The number of the stream. A number beyond the last stream means the last stream.
    fn stream(&mut self, write: &HostWrite) -> u8;
}

/// A policy of the library, or one of the program.
#[derive(Clone, Debug)]
enum HostPolicy {
    Size(BySize),
    Queue(ByQueue),
    PlacementId(ByPlacementId),
    Interval(Interval),
    Lru(Lru),
    BloomFilters(BloomFilters),
    Oracle(Oracle),
    Formula(ByFormula),
    Own(Box<dyn own::CloneablePolicy>),
}

impl StreamPolicy for HostPolicy {
    fn stream(&mut self, write: &HostWrite) -> u8 {
        match self {
            Self::Size(policy) => policy.stream(write),
            Self::Queue(policy) => policy.stream(write),
            Self::PlacementId(policy) => policy.stream(write),
            Self::Interval(policy) => policy.stream(write),
            Self::Lru(policy) => policy.stream(write),
            Self::BloomFilters(policy) => policy.stream(write),
            Self::Oracle(policy) => policy.stream(write),
            Self::Formula(policy) => policy.stream(write),
            Self::Own(policy) => policy.stream(write),
        }
    }
}

/// Mapping units that were programmed in each stream since the power came on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StreamCounters {
    /// Mapping units that the host wrote, and pages of the FTL among them, in each stream of host data.
    pub host: Vec<u64>,
    /// Mapping units that were copied, in each stream of copies.
    pub copies: Vec<u64>,
    /// True if copies stay in the class of their data: copies go to the streams of host data.
    pub classes_stay: bool,
}

impl StreamCounters {
    /// The counts since an earlier moment of the same drive.
    #[must_use]
    pub fn since(&self, from: &Self) -> Self {
        let less = |to: &[u64], from: &[u64]| to.iter().zip(from).map(|(to, from)| to.saturating_sub(*from)).collect();
        Self {
            host: less(&self.host, &from.host),
            copies: less(&self.copies, &from.copies),
            classes_stay: self.classes_stay,
        }
    }
}

/// The streams of a drive that has several for host data or for copies.
#[derive(Clone, Debug)]
pub(super) struct Streams {
    count: StreamCount,
    /// The policy for host data; none if the host has one stream.
    policy: Option<HostPolicy>,
    copies: CopyStreamsSpec,
    written: u64,
    /// Lists of writes of host data in progress.
    pub(super) writing: u32,
    /// Pools with programs that wait for data of their stream, and some that had such programs; the pools take turns.
    pub(super) with_held: PoolSet,
    pub(super) turn: u32,
    pub(super) counters: StreamCounters,
}

/// The numbers of streams of each pool of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StreamCount {
    pub(crate) host: u8,
    pub(crate) copies: u8,
}

impl StreamCount {
    pub(crate) const ONE: Self = Self { host: 1, copies: 1 };

    /// The number of open superblocks of a pool, one for each stream.
    pub(crate) fn open(self) -> u32 {
        u32::from(self.host) + u32::from(self.copies)
    }

    /// True if the host or the copies have several streams.
    pub(crate) const fn is_several(self) -> bool {
        self.host > 1 || self.copies > 1
    }
}

impl Streams {
    /// The streams of a description; `None` if it has one of each kind.
    pub(super) fn new(
        (spec, fdp): (&StreamsSpec, Option<&FdpSpec>),
        geometry: &Geometry,
        foresight: &Foresight,
    ) -> Option<Box<Self>> {
        let count = spec.count();
        let unit = u64::from(geometry.sectors);
        let policy = match &spec.host {
            HostStreamsSpec::One => None,
            HostStreamsSpec::Size { limits } => Some(HostPolicy::Size(BySize::new(limits))),
            HostStreamsSpec::Queue { streams } => Some(HostPolicy::Queue(ByQueue::new(*streams))),
            HostStreamsSpec::PlacementId { streams } => {
                let handles = fdp.copied().unwrap_or(FdpSpec::of_streams(*streams));
                Some(HostPolicy::PlacementId(ByPlacementId::new(handles)))
            }
            HostStreamsSpec::Interval { limits, memory } => {
                Some(HostPolicy::Interval(Interval::new(limits, *memory, unit)))
            }
            HostStreamsSpec::Lru { levels } => Some(HostPolicy::Lru(Lru::new(levels))),
            HostStreamsSpec::BloomFilters { filters, bits, decay, threshold } => {
                Some(HostPolicy::BloomFilters(BloomFilters::new(*filters, *bits, *decay, *threshold)))
            }
            HostStreamsSpec::Oracle { limits } => Some(HostPolicy::Oracle(Oracle::new(limits, unit, foresight))),
            HostStreamsSpec::Formula { number, memory, .. } => {
                let policy = ByFormula::parse(number, *memory, unit).expect("the description is checked");
                Some(HostPolicy::Formula(policy))
            }
            HostStreamsSpec::Own { name, .. } => {
                Some(HostPolicy::Own(own::POLICIES.policy(name).expect("the description is checked").boxed()))
            }
        };
        let zeros = |streams: u8| vec![0; usize::from(streams)];
        let classes_stay = spec.copies == CopyStreamsSpec::Same;
        let counters = StreamCounters { host: zeros(count.host), copies: zeros(count.copies), classes_stay };
        let pools = geometry.die_count() * geometry.groups();
        let with_held = PoolSet::new(pools);
        let streams = Self { count, policy, copies: spec.copies, written: 0, writing: 0, with_held, turn: 0, counters };
        count.is_several().then(|| Box::new(streams))
    }

    /// Bytes of memory of a description's streams.
    pub(super) fn memory(spec: &StreamsSpec) -> u64 {
        let count = spec.count();
        if !count.is_several() {
            return 0;
        }
        let counters = u64::from(count.open()) * size_of::<u64>() as u64;
        let tables = match &spec.host {
            // The memory of a policy of the program is not known.
            HostStreamsSpec::One
            | HostStreamsSpec::Queue { .. }
            | HostStreamsSpec::PlacementId { .. }
            | HostStreamsSpec::Own { .. } => 0,
            HostStreamsSpec::Size { limits } => size_of_val(limits.as_slice()) as u64,
            HostStreamsSpec::Interval { limits, memory } => Interval::memory(limits, *memory),
            HostStreamsSpec::Lru { levels } => Lru::memory(levels),
            HostStreamsSpec::BloomFilters { filters, bits, .. } => BloomFilters::memory(*filters, *bits),
            HostStreamsSpec::Oracle { limits } => Oracle::memory(limits),
            HostStreamsSpec::Formula { number, memory, .. } => ByFormula::memory(number, *memory),
        };
        size_of::<Self>() as u64 + counters + tables
    }

    pub(super) fn of_host(&mut self, write: HostWrite) -> Stream {
        let write = HostWrite { written: self.written, ..write };
        self.written += 1;
        let number = self.policy.as_mut().map_or(0, |policy| policy.stream(&write));
        Stream::host(number.min(self.count.host - 1))
    }

    /// The stream of copies for data of a superblock that was written in stream `source`.
    pub(super) fn of_copies(&self, source: Stream) -> Stream {
        let number = match (self.copies, source.is_host()) {
            (CopyStreamsSpec::One, _) => self.count.copies - 1,
            (CopyStreamsSpec::Same, _) => source.number(),
            (CopyStreamsSpec::Generations { .. }, true) => 0,
            (CopyStreamsSpec::Generations { .. }, false) => source.number().saturating_add(1),
        };
        Stream::copies(number.min(self.count.copies - 1))
    }
}

/// Spreads the bits of a mapping unit's number over 64 bits (the finalizer of `splitmix64`).
const fn spread(number: u64) -> u64 {
    let mut x = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// A write of a whole mapping unit by a request of its own.
#[cfg(test)]
const fn write_of(lpn: u32, written: u64) -> HostWrite {
    HostWrite {
        lpn: Lpn::new(lpn),
        request: Sectors::new(8),
        queue: 0,
        placement: PlacementId::new(0),
        set: 0,
        is_partial: false,
        written,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_keep_their_class_or_count_their_generation_and_never_go_back() {
        let streams = |host, copies| {
            let geometry = Geometry::new(1, 1, 1, 1, 1, 40, 4, 1, 8).expect("small");
            Streams::new((&StreamsSpec { host, copies }, None), &geometry, &Foresight::None).expect("several")
        };
        let queue = HostStreamsSpec::Queue { streams: 3 };
        let same = streams(queue.clone(), CopyStreamsSpec::Same);
        for number in 0..3 {
            assert_eq!(same.of_copies(Stream::host(number)), Stream::copies(number));
            assert_eq!(same.of_copies(Stream::copies(number)), Stream::copies(number));
        }
        let generations = streams(queue.clone(), CopyStreamsSpec::Generations { streams: 3 });
        assert_eq!(generations.of_copies(Stream::host(2)), Stream::copies(0));
        let next = [0, 1, 2].map(|number| generations.of_copies(Stream::copies(number)).number());
        assert_eq!(next, [1, 2, 2], "the last stream takes all older data");
        let one = streams(queue, CopyStreamsSpec::One);
        assert_eq!(one.of_copies(Stream::host(2)), Stream::COPIES);
        for streams in [same, generations, one] {
            let lowest = |number| streams.of_copies(Stream::copies(number)).number();
            assert!((0..streams.count.copies).all(|number| lowest(number) >= number), "a mount scans in this order");
        }
    }

    #[test]
    fn a_drive_with_one_stream_of_each_has_no_streams() {
        let geometry = Geometry::new(1, 1, 1, 1, 1, 40, 4, 1, 8).expect("small");
        assert!(Streams::new((&StreamsSpec::default(), None), &geometry, &Foresight::None).is_none());
        assert_eq!(Streams::memory(&StreamsSpec::default()), 0);
    }

    /// A policy of a user: odd mapping units are hot.
    #[derive(Clone, Debug)]
    struct Odd;

    impl StreamPolicy for Odd {
        fn stream(&mut self, write: &HostWrite) -> u8 {
            u8::from(write.lpn.get().is_multiple_of(2))
        }
    }

    #[test]
    fn any_type_can_be_a_policy() {
        register_stream_policy("odd", "1", Odd).expect("the first of this name");
        register_stream_policy("odd", "1", Odd).expect("the same");
        let taken = register_stream_policy("odd", "2", Odd).expect_err("another version");
        assert!(taken.to_string().starts_with("there is a stream policy `odd` of another version"), "{taken}");
        let own = |name: &str, version: Option<&str>| {
            let (name, version) = (name.to_owned(), version.map(str::to_owned));
            let host = HostStreamsSpec::Own { name, streams: 2, version };
            StreamsSpec { host, copies: CopyStreamsSpec::One }
        };
        let faults = |spec: &StreamsSpec| {
            let mut faults = base::fault::Faults::default();
            spec.check(&crate::GcSpec::default(), &mut faults);
            faults.0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
        };
        assert_eq!(faults(&own("odd", None)), "");
        assert_eq!(
            own("odd", None).written_out(),
            own("odd", Some("1")),
            "its version is a part of the key of results"
        );
        assert!(faults(&own("od", None)).contains("did you mean `odd`?"));
        assert!(faults(&own("odd", Some("2"))).contains("is registered with version \"1\""));
        let geometry = Geometry::new(1, 1, 1, 1, 1, 40, 4, 1, 8).expect("small");
        let mut streams =
            Streams::new((&own("odd", None), None), &geometry, &Foresight::None).expect("two streams").clone();
        assert_eq!([7, 8].map(|lpn| streams.of_host(write_of(lpn, 0))), [Stream::HOST, Stream::host(1)]);
    }
}
