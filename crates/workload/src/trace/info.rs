//! The characteristics of a trace that papers tabulate: counts, shares, sizes, footprint, update ratio, rate,
//! sequentiality.

use std::collections::HashMap;
use std::path::Path;

use base::io::{Io, IoKind};
use schemars::JsonSchema;
use serde::Serialize;

use super::doubt::Doubt;
use super::pass::Pass;
use super::readings::{self, SizeReading, TimeReading};
use super::record::{Context, TraceStats};
use super::stored::TraceFile;
use super::{Format, TraceOptions};
use crate::SourceError;

/// The number of sectors of the unit of footprints: 4 KiB.
const UNIT: u64 = 8;
/// The number of footprint units of a bitmap: 16 MiB of addresses.
const MAP: u64 = 4096;
/// The number of streams followed for the measure of sequentiality.
const STREAMS: usize = 32;

/// The characteristics of one kind of request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct KindInfo {
    /// The number of requests of this kind in the trace.
    pub requests: u64,
    /// The share of this kind among all requests.
    pub share: f64,
    /// Bytes, in whole sectors.
    pub bytes: u64,
    /// The share of the bytes of reads and writes.
    pub byte_share: f64,
    /// The smallest request, in bytes.
    pub bytes_min: u64,
    /// The mean size of requests, in bytes.
    pub bytes_mean: f64,
    /// The largest request, in bytes.
    pub bytes_max: u64,
    /// The number of requests of at least 2^(9+n) and less than 2^(10+n) bytes, for n from zero to the last that
    /// occurs.
    pub size_histogram: Vec<u64>,
    /// The share of requests that start at the sector after the previous request of their kind and volume.
    pub sequential: f64,
    /// The share of requests that continue any of the last 32 requests of their kind: interleaved streams.
    pub sequential_streams: f64,
}

/// The footprint in the address space, in units of 4 KiB. Discards do not count.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Footprint {
    /// The number of units read or written.
    pub units: u64,
    /// The number of units read at least once.
    pub units_read: u64,
    /// The number of units written at least once.
    pub units_written: u64,
}

/// Version of the keys; higher after a key has changed its meaning or disappeared.
const SCHEMA: &str = "flashloom-trace-info-1";

/// The characteristics of a trace: requests, sizes, footprints and rates, as `trace info` prints them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[schemars(title = SCHEMA)]
pub struct TraceInfo {
    /// Version of the keys of this document.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: &'static str,
    /// Name of the format, as the option `--format` takes it.
    pub format: &'static str,
    /// The number of requests of all kinds.
    pub requests: u64,
    /// Number, sizes and sequentiality of the reads.
    pub reads: KindInfo,
    /// Number, sizes and sequentiality of the writes.
    pub writes: KindInfo,
    /// Number and share of the flushes, which have no size.
    pub flushes: KindInfo,
    /// Number, sizes and sequentiality of the discards.
    pub discards: KindInfo,
    /// Addresses that the trace uses.
    pub footprint: Footprint,
    /// The share of the units written (each write counted) that had been written before.
    pub update_ratio: f64,
    /// The time from the first request to the last, in seconds.
    pub span_s: f64,
    /// Requests per second: the number of requests minus one, over the span. Zero if the span is empty.
    pub rate_per_s: f64,
    /// The mean time from one request to the next, in seconds.
    pub interarrival_mean_s: f64,
    /// The byte after the highest one used, in any volume.
    pub end_byte: u64,
    /// The volumes in order of appearance, with their numbers of requests. Footprints keep volumes apart.
    pub volumes: Vec<(String, u64)>,
    /// Counts of skipped and corrected requests.
    pub stats: TraceStats,
    /// Facts that the file does not state, with the assumptions made.
    pub doubts: Vec<Doubt>,
    /// The span and the rate of the trace in other units, if the unit of times is in doubt.
    pub times: Vec<TimeReading>,
    /// The sizes of the trace in other units, if a unit is in doubt.
    pub sizes: Vec<SizeReading>,
}

/// Reads a trace and summarises it. The options' skip, limit, volume, tolerance and gap limit apply. The volume rule
/// and the capacity do not, because no request is placed on a device.
///
/// Memory grows with the footprint, by at most 1 KiB per 16 MiB of addresses used.
///
/// # Errors
/// If the file cannot be read, or has no request.
pub fn info(path: &Path, options: &TraceOptions) -> Result<TraceInfo, SourceError> {
    let mut context = Context::new(options);
    let mut pass = Pass::open(&TraceFile::at(path), options, &mut context)?;
    let mut sums = Sums::default();
    while let Some(timed) = pass.next(&mut context)? {
        sums.add(timed.volume, timed.io);
        sums.span_ps = timed.at.as_ps();
    }
    Ok(sums.finish(pass.format(), options, context))
}

#[derive(Default)]
struct Sums {
    kinds: [KindSums; IoKind::COUNT],
    touched: FootprintBitmaps,
    updates: u64,
    span_ps: u64,
    end: u64,
    volumes: Vec<u64>,
}

#[derive(Default)]
struct KindSums {
    requests: u64,
    sectors: u64,
    min: u64,
    max: u64,
    histogram: Vec<u64>,
    sequential: u64,
    sequential_streams: u64,
    last: Option<(u32, u64)>,
    /// The ends of the last requests; the oldest is overwritten first.
    streams: Vec<(u32, u64)>,
    oldest: usize,
}

impl KindSums {
    fn add(&mut self, volume: u32, io: &Io) {
        let sectors = io.sectors.get();
        self.min = if self.requests == 0 { sectors } else { self.min.min(sectors) };
        self.max = self.max.max(sectors);
        self.requests += 1;
        self.sectors += sectors;
        if io.kind.is_bare() {
            return;
        }
        let class = sectors.max(1).ilog2() as usize;
        if self.histogram.len() <= class {
            self.histogram.resize(class + 1, 0);
        }
        self.histogram[class] += 1;
        let (start, end) = ((volume, io.start.get()), (volume, io.end().get()));
        self.sequential += u64::from(self.last == Some(start));
        self.last = Some(end);
        match self.streams.iter().position(|stream| *stream == start) {
            // The stream continues at its new end.
            Some(stream) => {
                self.sequential_streams += 1;
                self.streams[stream] = end;
            }
            None if self.streams.len() < STREAMS => self.streams.push(end),
            None => {
                self.streams[self.oldest] = end;
                self.oldest = (self.oldest + 1) % STREAMS;
            }
        }
    }

    fn finish(self, requests: u64, sectors: u64) -> KindInfo {
        KindInfo {
            requests: self.requests,
            share: share(self.requests, requests),
            bytes: self.sectors * 512,
            byte_share: share(self.sectors, sectors),
            bytes_min: self.min * 512,
            bytes_mean: share(self.sectors * 512, self.requests),
            bytes_max: self.max * 512,
            size_histogram: self.histogram,
            sequential: share(self.sequential, self.requests),
            sequential_streams: share(self.sequential_streams, self.requests),
        }
    }
}

/// `part` divided by `whole`; zero if the whole is zero.
fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

impl Sums {
    fn add(&mut self, volume: u32, io: Io) {
        self.kinds[io.kind as usize].add(volume, &io);
        if self.volumes.len() <= volume as usize {
            self.volumes.resize(volume as usize + 1, 0);
        }
        self.volumes[volume as usize] += 1;
        self.end = self.end.max(io.end().get());
        match io.kind {
            IoKind::Read => {
                self.touched.add(volume, &io, FootprintBitmaps::READ);
            }
            IoKind::Write => self.updates += self.touched.add(volume, &io, FootprintBitmaps::WRITTEN),
            // An append does not state the address of its data.
            _ => {}
        }
    }

    fn finish(self, format: Format, options: &TraceOptions, context: Context) -> TraceInfo {
        let requests: u64 = self.kinds.iter().map(|kind| kind.requests).sum();
        let moved = self.kinds[IoKind::Read as usize].sectors + self.kinds[IoKind::Write as usize].sectors;
        let [reads, writes, flushes, discards, ..] = self.kinds.map(|kind| kind.finish(requests, moved));
        let span_s = self.span_ps as f64 * 1e-12;
        let gaps = requests.saturating_sub(1) as f64;
        let rate_per_s = if self.span_ps == 0 { 0.0 } else { gaps / span_s };
        let (mut times, mut sizes) = (Vec::new(), Vec::new());
        if let Some(units) = format.units().map(|own| options.units.over(own)).filter(|_| !context.doubts.is_empty()) {
            let bytes = share(moved * 512, reads.requests + writes.requests);
            times = readings::time_readings(units.time, span_s, rate_per_s);
            sizes = readings::size_readings(units.size, bytes, rate_per_s);
        }
        let counts = self.volumes.into_iter().chain(std::iter::repeat(0));
        TraceInfo {
            schema: SCHEMA,
            format: format.name(),
            requests,
            reads,
            writes,
            flushes: KindInfo { byte_share: 0.0, ..flushes },
            discards: KindInfo { byte_share: 0.0, ..discards },
            footprint: self.touched.footprint,
            update_ratio: share(self.updates, self.touched.written),
            span_s,
            rate_per_s,
            interarrival_mean_s: if requests < 2 { 0.0 } else { span_s / gaps },
            end_byte: self.end * 512,
            volumes: context.volumes.names().iter().cloned().zip(counts).filter(|(_, count)| *count > 0).collect(),
            stats: context.stats,
            doubts: context.doubts,
            times,
            sizes,
        }
    }
}

/// Bitmaps of the footprint, one pair for each used range of 16 MiB.
#[derive(Default)]
struct FootprintBitmaps {
    places: HashMap<(u32, u64), usize>,
    maps: Vec<[Option<Box<[u64; MAP as usize / 64]>>; 2]>,
    last: Option<((u32, u64), usize)>,
    footprint: Footprint,
    /// The number of units written, each write counted.
    written: u64,
}

impl FootprintBitmaps {
    const READ: usize = 0;
    const WRITTEN: usize = 1;

    /// Marks an extent; returns the number of its units that already had the mark.
    fn add(&mut self, volume: u32, io: &Io, mark: usize) -> u64 {
        let first = io.start.get() / UNIT;
        let end = io.end().get().div_ceil(UNIT);
        let mut unit = first;
        let mut again = 0;
        while unit < end {
            let stretch = unit / MAP;
            let map = self.map(volume, stretch);
            let stop = end.min((stretch + 1) * MAP);
            while unit < stop {
                let (word, bit) = ((unit % MAP / 64) as usize, unit % 64);
                let count = (64 - bit).min(stop - unit);
                let bits = (u64::MAX >> (64 - count)) << bit;
                again += self.mark(map, word, bits, mark);
                unit += count;
            }
        }
        let units = end - first;
        if mark == Self::WRITTEN {
            self.written += units;
            self.footprint.units_written += units - again;
        } else {
            self.footprint.units_read += units - again;
        }
        again
    }

    fn mark(&mut self, map: usize, word: usize, bits: u64, mark: usize) -> u64 {
        let maps = &mut self.maps[map];
        let other = maps[1 - mark].as_ref().map_or(0, |map| map[word]);
        let own = &mut maps[mark].get_or_insert_with(|| Box::new([0; MAP as usize / 64]))[word];
        let before = *own;
        *own |= bits;
        self.footprint.units += u64::from((bits & !before & !other).count_ones());
        u64::from((bits & before).count_ones())
    }

    fn map(&mut self, volume: u32, stretch: u64) -> usize {
        let key = (volume, stretch);
        match self.last {
            Some((last, map)) if last == key => map,
            _ => {
                let fresh = self.maps.len();
                let map = *self.places.entry(key).or_insert(fresh);
                if map == fresh {
                    self.maps.push([None, None]);
                }
                self.last = Some((key, map));
                map
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::file;
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    #[test]
    fn a_small_trace_is_summarised() {
        let text = "0,0,4096,w,0.0\n0,8,8192,w,1.0\n0,0,4096,w,2.0\n0,24,4096,r,3.0\n0,1000,512,r,4.0\n";
        let info = info(file(text.as_bytes()).path(), &TraceOptions::default()).unwrap();
        assert_eq!((info.requests, info.reads.requests, info.writes.requests), (5, 2, 3));
        assert_eq!(info.footprint, Footprint { units: 5, units_read: 2, units_written: 3 });
        assert!((info.update_ratio - 0.25).abs() < 1e-12);
        assert!((info.rate_per_s - 1.0).abs() < 1e-12 && (info.span_s - 4.0).abs() < 1e-12);
        assert!((info.writes.sequential - 1.0 / 3.0).abs() < 1e-12);
        assert_eq!(info.writes.size_histogram, [0, 0, 0, 2, 1]);
        assert_eq!((info.reads.bytes_min, info.reads.bytes_max, info.end_byte), (512, 4096, 1001 * 512));
        assert_eq!(info.volumes, [("0".to_owned(), 5)]);
        assert!((info.reads.byte_share - 4608.0 / 20_992.0).abs() < 1e-12);
    }

    #[test]
    fn interleaved_streams_are_seen_as_sequential() {
        let text: String = (0..20).map(|n| format!("0,{},4096,r,{n}.0\n", n % 2 * 100_000 + n / 2 * 8)).collect();
        let info = info(file(text.as_bytes()).path(), &TraceOptions::default()).unwrap();
        assert!(info.reads.sequential < 0.01);
        assert!((info.reads.sequential_streams - 0.9).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn footprints_are_those_of_plain_sets(
            ios in prop::collection::vec((0_u32..2, 0_u64..200_000, 1_u64..3_000, any::<bool>()), 1..40)
        ) {
            let mut touched = FootprintBitmaps::default();
            let mut sets: [HashSet<(u32, u64)>; 2] = Default::default();
            let mut updates = 0;
            for (volume, start, sectors, write) in ios {
                let kind = if write { IoKind::Write } else { IoKind::Read };
                let io = Io::new(kind, base::units::Lba::new(start), base::units::Sectors::new(sectors));
                let again = touched.add(volume, &io, usize::from(write));
                let set = &mut sets[usize::from(write)];
                let units = start / 8..(start + sectors).div_ceil(8);
                let old = units.filter(|unit| !set.insert((volume, *unit))).count();
                prop_assert_eq!(again, old as u64);
                updates += if write { again } else { 0 };
            }
            prop_assert_eq!(touched.footprint.units_read, sets[0].len() as u64);
            prop_assert_eq!(touched.footprint.units_written, sets[1].len() as u64);
            prop_assert_eq!(touched.footprint.units, sets[0].union(&sets[1]).count() as u64);
            prop_assert_eq!(touched.written - updates, touched.footprint.units_written);
        }
    }
}
