//! The survey of the beginning of a trace: signs that a unit, a column or the format differs from the reader's
//! assumption.
//!
//! The survey reads the first requests in the same way as the reader will, measures a few properties, and compares each
//! with those of recordings of drives. The rules do not depend on the format: a rate or a span that no recording has;
//! times that are dates in another unit or that often go back; requests that are not whole sectors; addresses and sizes
//! that look like counts of another unit. A unit that the user names is not doubted.

use std::collections::{HashSet, VecDeque};

use base::io::IoKind;

use super::doubt::{Doubt, SizeSign};
use super::format::Format;
use super::head::Head;
use super::input::Input;
use super::record::{Context, TraceRecord};
use super::units::{SizeUnit, TimeUnit, Units};
use super::{TraceOptions, parquet, profile, tencent};
use crate::{Pacing, SourceError};

/// A rate in requests per second beyond any drive: the fastest one sold in 2026 promises six million random reads.
pub const ABSURD_RATE: f64 = 1e7;
/// A rate in requests per second that some drives reach for a moment, but never in a recording whose clock gives many
/// requests one time.
const COARSE_RATE: f64 = 1e6;
/// If at least this share of requests has the time of another request, the clock is too coarse for the rate.
const COARSE: f64 = 0.25;
/// The longest median time between requests, in picoseconds: an hour. A clock that was set makes only few long gaps.
const LONGEST_GAP: i128 = 3_600 * 1_000_000_000_000;
/// The least number of requests for doubts about a rate, a span or a date.
const SOME: u64 = 16;
/// The least number of requests for doubts about sizes and addresses that follow each other.
const FEW: u64 = 64;
/// The least number of requests for doubts about the order of times, and about whole sectors.
const PAIR: u64 = 4;
/// The share of times that go back from which on the column has no times of arrival. Recordings that are sorted by
/// completion reach a quarter.
const BACKWARD: f64 = 0.4;
/// The share of requests that are not whole sectors from which on the unit is in doubt.
const UNALIGNED: f64 = 0.1;
/// The median size, in bytes, that no recording reaches.
const LARGE: u64 = 2 << 20;
/// The least number of different addresses in a recording.
const ADDRESSES: u64 = 4;
/// The number of recent requests among which a predecessor is sought.
const STREAMS: usize = 32;
const PAGE: u64 = 8;
/// The largest number of requests surveyed.
const MOST: u64 = 4_096;

/// Surveys the beginning of a file and notes doubts. `detected` is false if the user named the format.
pub(crate) fn survey(
    format: Format,
    detected: bool,
    input: &mut Input,
    options: &TraceOptions,
    context: &mut Context,
) -> Result<(), SourceError> {
    let head = input.head()?.to_vec();
    let path = input.path().to_path_buf();
    let binary = head.contains(&0);
    // A cut last line would be a fault, so it is left out. A cut last record ends the survey.
    let whole = head.len() - head.iter().rev().position(|byte| *byte == b'\n').unwrap_or(0);
    let sample = match format {
        // The columns of the format state their units, and opening it compares the checksum of the whole file.
        Format::Parquet => return Ok(()),
        // Parquet is read from the end of a file.
        _ if head.starts_with(parquet::MAGIC) && input.is_plain_file() => Input::open(&path)?,
        _ if head.starts_with(parquet::MAGIC) => return Ok(()),
        _ => Input::of_head(&path, if binary { &head } else { &head[..whole] }),
    };
    let mut scratch = Context::new(&TraceOptions::default());
    let Ok(mut records) = format.open(sample, options, &mut scratch) else {
        // The fault is reported later, when the trace is read.
        return Ok(());
    };
    let mut signs = Signs::default();
    while signs.requests < MOST
        && let Ok(Some(record)) = records.next(&mut scratch)
    {
        signs.add(&record);
    }
    if detected && format == Format::Tencent && !Head::of(&head).any_line(tencent::is_header) {
        context.doubt(Doubt::Format { taken: format });
    }
    let time = options.units.time;
    let unsure = matches!(format, Format::Disksim | Format::Mqsim | Format::LibCacheSim) && detected;
    if unsure && time.is_none() {
        let taken = options.units_of(format).time;
        context.doubt(Doubt::TimeUnit { format, taken, decimals: format == Format::Disksim });
    }
    let taken = Assumptions::of(format, options);
    let timed = records.pacing() == Pacing::Open;
    signs.doubts(&taken, timed).into_iter().for_each(|doubt| context.doubt(doubt));
    if let (Format::Csv, Some(columns), false) = (format, &options.columns, binary) {
        profile::doubts(&head[..whole], columns).into_iter().for_each(|doubt| context.doubt(doubt));
    }
    Ok(())
}

struct Assumptions {
    format: Format,
    /// The unit of times, unless the user named it or the file states it.
    time: Option<TimeUnit>,
    /// True if the user named the unit of times: then it is not doubted.
    time_named: bool,
    /// The units of addresses and sizes, unless the user named one of them or the file states them.
    extents: Option<(SizeUnit, SizeUnit)>,
    /// False if, by the format's own description, addresses are not sectors of a drive.
    sectors: bool,
}

impl Assumptions {
    fn of(format: Format, options: &TraceOptions) -> Self {
        let own = match (format, &options.columns) {
            (Format::Csv, Some(columns)) => Some(columns.units),
            _ => format.units(),
        };
        let Units { time, address, size } = options.units.over(own.unwrap_or(EXACT));
        let named = options.units;
        Self {
            format,
            time: own.map(|_| time),
            time_named: named.time.is_some(),
            extents: (own.is_some() && named.address.is_none() && named.size.is_none()).then_some((address, size)),
            sectors: named.address.is_none() && named.size.is_none() && format != Format::Thesios,
        }
    }
}

/// The units of files that state their units.
const EXACT: Units = Units::new(TimeUnit::Picosecond, SizeUnit::BYTE, SizeUnit::BYTE);

/// Measured properties of the first requests of a trace.
#[derive(Default)]
struct Signs {
    requests: u64,
    first: i128,
    earliest: i128,
    latest: i128,
    previous: i128,
    gaps: Vec<i128>,
    /// The number of requests with the time of the request before.
    shared: u64,
    /// The number of requests with an earlier time than the request before.
    backward: u64,
    /// The number of reads and writes.
    moves: u64,
    widened: u64,
    aligned: u64,
    /// The number of addresses that are multiples of 512 sectors.
    coarse: u64,
    coarse_sizes: u64,
    whole_pages: u64,
    ones: u64,
    continues_sectors: u64,
    continues_pages: u64,
    /// The number of reads and writes that begin at each sector of a page.
    places: [u64; PAGE as usize],
    sizes: Vec<u32>,
    addresses: HashSet<(u32, u64)>,
    recent: VecDeque<TraceRecord>,
}

impl Signs {
    fn add(&mut self, record: &TraceRecord) {
        let at = record.at;
        if self.requests == 0 {
            (self.first, self.earliest, self.latest) = (at, at, at);
        } else {
            self.shared += u64::from(at == self.previous);
            self.backward += u64::from(at < self.previous);
            self.gaps.push(at - self.previous);
        }
        self.earliest = self.earliest.min(at);
        self.latest = self.latest.max(at);
        self.previous = at;
        self.requests += 1;
        if matches!(record.kind, IoKind::Read | IoKind::Write) {
            self.add_extent(record);
        }
    }

    fn add_extent(&mut self, record: &TraceRecord) {
        let sectors = u64::from(record.sectors);
        self.moves += 1;
        self.widened += u64::from(record.widened);
        self.aligned += u64::from(record.start.is_multiple_of(PAGE));
        self.coarse += u64::from(record.start.is_multiple_of(512));
        self.coarse_sizes += u64::from(sectors.is_multiple_of(512));
        self.whole_pages += u64::from(sectors.is_multiple_of(PAGE));
        self.ones += u64::from(sectors == 1);
        self.places[(record.start % PAGE) as usize] += 1;
        self.sizes.push(record.sectors);
        self.addresses.insert((record.volume, record.start));
        let follows = |factor: u64| {
            let ends = |earlier: &TraceRecord| {
                let sectors = u64::from(earlier.sectors);
                earlier.volume == record.volume && earlier.start.saturating_add(factor * sectors) == record.start
            };
            u64::from(self.recent.iter().any(ends))
        };
        let (by_sectors, by_pages) = (follows(1), follows(PAGE));
        self.continues_sectors += by_sectors;
        self.continues_pages += by_pages;
        if self.recent.len() == STREAMS {
            self.recent.pop_front();
        }
        self.recent.push_back(*record);
    }

    /// `count` as a share of the reads and writes.
    fn share(&self, count: u64) -> f64 {
        count as f64 / self.moves.max(1) as f64
    }

    fn doubts(&self, taken: &Assumptions, timed: bool) -> Vec<Doubt> {
        let mut doubts = Vec::new();
        if timed && !taken.time_named {
            doubts.extend(self.rate(taken));
            doubts.extend(self.span(taken));
            doubts.extend(taken.time.and_then(|unit| self.date(taken.format, unit)));
        }
        let steps = self.requests.saturating_sub(1);
        let share = self.backward as f64 / steps.max(1) as f64;
        if timed && steps >= PAIR && share >= BACKWARD {
            doubts.push(Doubt::Order { share, format: taken.format });
        }
        if taken.sectors {
            doubts.extend(self.extents(taken));
        }
        doubts
    }

    fn rate(&self, taken: &Assumptions) -> Option<Doubt> {
        let span_s = (self.latest - self.earliest) as f64 * 1e-12;
        if self.requests < SOME || span_s <= 0.0 {
            return None;
        }
        let rate = self.requests as f64 / span_s;
        let coarse = self.shared as f64 / self.requests as f64 >= COARSE;
        let absurd = self.requests >= FEW && rate > ABSURD_RATE || coarse && rate > COARSE_RATE;
        let Assumptions { time, format, .. } = *taken;
        absurd.then_some(Doubt::Rate { taken: time, requests: self.requests, span_s, format })
    }

    fn span(&self, taken: &Assumptions) -> Option<Doubt> {
        let span_s = (self.latest - self.earliest) as f64 * 1e-12;
        let mut gaps = self.gaps.clone();
        gaps.sort_unstable();
        let absurd = self.requests >= SOME && gaps.get(gaps.len() / 2).is_some_and(|median| *median > LONGEST_GAP);
        let Assumptions { time, format, .. } = *taken;
        absurd.then_some(Doubt::Span { taken: time, requests: self.requests, span_s, format })
    }

    /// The doubt that times are dates of this century in another unit, in which the requests come at a usual rate.
    fn date(&self, format: Format, taken: TimeUnit) -> Option<Doubt> {
        let year = |unit: TimeUnit| {
            let seconds =
                self.first / i128::from(taken.ps()) * i128::from(unit.ps()) / i128::from(TimeUnit::Second.ps());
            let from = if unit == TimeUnit::FileTime { 1601 } else { 1970 };
            let year = from + seconds / 31_556_952;
            u32::try_from(year).ok().filter(|year| (2004..2040).contains(year))
        };
        if year(taken).is_some() || self.first <= 0 {
            return None;
        }
        let usual = |unit: TimeUnit| {
            let factor = unit.ps() as f64 / taken.ps() as f64;
            let span_s = (self.latest - self.earliest) as f64 * 1e-12 * factor;
            let rate = self.requests as f64 / span_s;
            self.requests >= PAIR && (span_s == 0.0 || (0.01..=COARSE_RATE).contains(&rate))
        };
        let units = TimeUnit::ALL.into_iter().filter(|unit| *unit != taken && *unit != TimeUnit::Picosecond);
        let (likely, year) = units.filter(|unit| usual(*unit)).find_map(|unit| Some((unit, year(unit)?)))?;
        Some(Doubt::Date { taken, likely, year, format })
    }

    fn extents(&self, taken: &Assumptions) -> Vec<Doubt> {
        let Assumptions { format, extents, .. } = *taken;
        let mut doubts = Vec::new();
        let widened = self.share(self.widened);
        if self.moves >= PAIR && widened >= UNALIGNED {
            doubts.push(Doubt::Alignment { share: widened, format });
        }
        let distinct = self.addresses.len() as u64;
        if self.moves >= FEW && distinct <= ADDRESSES {
            doubts.push(Doubt::Addresses { requests: self.moves, distinct, format });
        }
        if let Some((address, size)) = extents {
            let share = self.share(self.coarse);
            let odd_sizes = self.share(self.coarse_sizes) < 0.5 || self.median_bytes() >= LARGE;
            let bytes =
                address != SizeUnit::BYTE && self.moves >= SOME && distinct >= PAGE && share >= 0.95 && odd_sizes;
            if let Some(sign) = self.pages(size) {
                doubts.push(Doubt::SizeUnit { taken: size, likely: SizeUnit::PAGE, sign, format });
            } else if let Some(sign) = self.large(size, bytes) {
                doubts.push(Doubt::SizeUnit { taken: size, likely: SizeUnit::BYTE, sign, format });
            }
            if bytes {
                doubts.push(Doubt::AddressUnit { taken: address, share, format });
            }
        }
        // The addresses within one partition or volume begin at few different sectors of a page.
        let mut places = self.places;
        places.sort_unstable();
        let share = self.share(places.iter().rev().take(3).sum());
        let spread = distinct >= SOME && self.share(self.whole_pages) >= 0.9 && share < 0.6;
        // Only in a CSV is the column in doubt; a simulated load may begin anywhere.
        if format == Format::Csv && self.moves >= FEW && spread {
            doubts.push(Doubt::Scatter { share });
        }
        doubts
    }

    /// The sign for sizes in pages beside addresses in sectors, if there is one.
    fn pages(&self, size: SizeUnit) -> Option<SizeSign> {
        if self.moves < FEW || size != SizeUnit::SECTOR {
            return None;
        }
        let (pages, sectors) = (self.share(self.continues_pages), self.share(self.continues_sectors));
        let (addresses, sizes) = (self.share(self.aligned), self.share(self.whole_pages));
        if pages >= 0.1 && pages > 4.0 * sectors {
            Some(SizeSign::Continues { pages, sectors })
        } else if addresses >= 0.95 && sizes <= 0.5 {
            Some(SizeSign::Alignment { addresses, sizes })
        } else if self.share(self.ones) >= 0.9 {
            Some(SizeSign::Ones { share: self.share(self.ones) })
        } else {
            None
        }
    }

    /// The median of the sizes of reads and writes.
    fn median_bytes(&self) -> u64 {
        let mut sizes = self.sizes.clone();
        sizes.sort_unstable();
        sizes.get(sizes.len() / 2).map_or(0, |sectors| u64::from(*sectors) * 512)
    }

    /// The sign that sizes are in bytes but read in a larger unit, if there is one. `addresses` is true if addresses
    /// are in bytes, too; otherwise requests that follow each other, as in a copy, may be large.
    fn large(&self, size: SizeUnit, addresses: bool) -> Option<SizeSign> {
        let median_bytes = self.median_bytes();
        let large = self.moves >= PAIR && size != SizeUnit::BYTE && median_bytes >= LARGE;
        let follow = self.share(self.continues_sectors) >= 0.1;
        (large && (addresses || !follow)).then_some(SizeSign::Large { median_bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::super::NamedUnits;
    use super::super::testing::file;
    use super::*;

    fn doubts(text: &str, options: &TraceOptions) -> Vec<Doubt> {
        super::super::open(file(text.as_bytes()).path(), options).unwrap().doubts().to_vec()
    }

    /// Requests of these sizes. Each begins `step` times the size of the previous one after the previous one.
    fn run(unit: &str, gap: u64, sizes: &[u64], step: u64) -> String {
        let mut start = 8 * 1_000;
        let line = |n: u64| {
            let size = sizes[n as usize % sizes.len()];
            let line = format!("{}{unit} 0 {start} {size} 1\n", 100 + n * gap);
            start += size * step;
            line
        };
        (0..200).map(line).collect()
    }

    #[test]
    fn a_guessed_unit_of_time_is_reported_and_a_given_one_is_not() {
        let text = run("", 100_000, &[8], 8);
        let told = doubts(&text, &TraceOptions::default());
        let [Doubt::TimeUnit { format: Format::Mqsim, taken: TimeUnit::Nanosecond, decimals: false }, ..] = told[..]
        else {
            panic!("{told:?}")
        };
        let note = told[0].to_string();
        assert!(note.contains("--time-unit us, ms or s; --time-unit ns confirms"), "{note}");
        let units = NamedUnits { time: Some(TimeUnit::Microsecond), ..NamedUnits::default() };
        let named = |options: &TraceOptions| doubts(&run("", 100_000, &[8], 1), options);
        assert_eq!(named(&TraceOptions { units, ..TraceOptions::default() }), []);
        assert_eq!(named(&TraceOptions { format: Some(Format::Mqsim), ..TraceOptions::default() }), []);
        assert!(matches!(
            doubts(&run(".5", 1, &[8], 1), &TraceOptions::default())[..],
            [Doubt::TimeUnit { decimals: true, .. }]
        ));
        let numbers = doubts("1538000000,64,8,1,17\n", &TraceOptions::default());
        assert!(
            matches!(numbers[..], [Doubt::Format { taken: Format::Tencent }])
                && numbers[0].to_string().contains("--columns")
        );
        assert_eq!(doubts("0,0,512,w,1.0\n0,8,512,r,2.0\n", &TraceOptions::default()), []);
    }

    #[test]
    fn a_rate_beyond_every_drive_is_reported() {
        let rates = |text: &str, options: &TraceOptions| {
            doubts(text, options).iter().filter(|doubt| matches!(doubt, Doubt::Rate { .. })).count()
        };
        // 50 ns apart, the requests have a rate of 20 million per second; in microseconds, 20 thousand.
        let fast = run("", 50, &[8], 1);
        assert_eq!(rates(&fast, &TraceOptions::default()), 1);
        assert_eq!(rates(&fast, &TraceOptions { format: Some(Format::Ssdsim), ..TraceOptions::default() }), 1);
        let units = NamedUnits { time: Some(TimeUnit::Microsecond), ..NamedUnits::default() };
        assert_eq!(rates(&fast, &TraceOptions { units, ..TraceOptions::default() }), 0);
        assert_eq!(rates(&run("", 200, &[8], 1), &TraceOptions::default()), 0);
        // Equal time stamps give no rate.
        assert_eq!(rates(&run("", 0, &[8], 1), &TraceOptions::default()), 0);
    }

    #[test]
    fn sizes_that_look_like_pages_are_reported() {
        let sign = |text: &str| {
            doubts(text, &TraceOptions::default()).into_iter().find_map(|doubt| match doubt {
                Doubt::SizeUnit { likely: SizeUnit::PAGE, sign, .. } => Some(sign),
                _ => None,
            })
        };
        assert!(matches!(sign(&run(".5", 1, &[2, 3, 5], 8)), Some(SizeSign::Continues { .. })));
        assert!(matches!(sign(&run(".5", 1, &[2, 4, 6], 8 * 5)), Some(SizeSign::Alignment { .. })));
        assert!(matches!(sign(&run(".5", 1, &[1], 13)), Some(SizeSign::Ones { .. })));
        assert_eq!(sign(&run(".5", 1, &[2, 3, 5], 1)), None);
        assert_eq!(sign(&run(".5", 1, &[8, 16], 8)), Some(SizeSign::Continues { pages: 199.0 / 200.0, sectors: 0.0 }));
        assert_eq!(sign(&run(".5", 1, &[8, 16], 3)), None);
        let text = run(".5", 1, &[2, 3, 5], 8);
        for size in [SizeUnit::SECTOR, SizeUnit::PAGE] {
            let units = NamedUnits { size: Some(size), ..NamedUnits::default() };
            let told = doubts(&text, &TraceOptions { units, ..TraceOptions::default() });
            assert!(!told.iter().any(|doubt| matches!(doubt, Doubt::SizeUnit { .. })), "{told:?}");
        }
    }

    fn csv(columns: &str, text: &str) -> Vec<Doubt> {
        doubts(text, &TraceOptions { columns: Some(columns.parse().unwrap()), ..TraceOptions::default() })
    }

    /// Lines `time,operation,address,size` of a plausible trace: a request about every 40 ms.
    fn plausible(requests: u64, line: impl Fn(u64, u64, u64) -> String) -> String {
        let mixed = |n: u64| n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
        (0..requests).map(|n| line(n * 40 + mixed(n) % 20, mixed(n + 7) * 8, 8 << (mixed(n + 3) % 5))).collect()
    }

    #[test]
    fn a_plausible_trace_has_no_doubt() {
        let text = plausible(100, |ms, sector, sectors| format!("{ms},R,{sector},{}\n", sectors * 512));
        assert_eq!(csv("time=1:ms,op=2,offset=3:512B,size=4:B", &text), []);
        let text = plausible(100, |ms, sector, sectors| format!("0,{sector},{},w,{ms}.5\n", sectors * 512));
        assert_eq!(doubts(&text, &TraceOptions::default()), []);
    }

    #[test]
    fn times_in_another_unit_are_reported_in_every_format() {
        // Whole seconds in which many requests arrive, read as microseconds.
        let coarse = plausible(100, |ms, sector, _| format!("{},R,{sector},4096\n", 7_000 + ms / 1_000));
        let told = csv("time=1:us,op=2,offset=3:512B,size=4:B", &coarse);
        assert!(
            matches!(told[..], [Doubt::Rate { taken: Some(TimeUnit::Microsecond), format: Format::Csv, .. }]),
            "{told:?}"
        );
        assert_eq!(csv("time=1:s,op=2,offset=3:512B,size=4:B", &coarse), []);
        // Milliseconds read as millions of seconds.
        let long = plausible(100, |ms, sector, _| format!("0,{sector},4096,w,{}\n", ms * 1_000_000));
        let told = doubts(
            &long,
            &TraceOptions { gap_limit: Some(base::units::Span::from_secs(1)), ..TraceOptions::default() },
        );
        assert!(matches!(told[..], [Doubt::Span { format: Format::Spc, .. }]), "{told:?}");
        // Dates in another unit.
        let dates = plausible(20, |ms, sector, _| format!("{},R,{sector},4096\n", 1_577_808_000_000_u64 + ms));
        let told = csv("time=1:us,op=2,offset=3:512B,size=4:B", &dates);
        let wanted =
            |doubt: &Doubt| matches!(doubt, Doubt::Date { likely: TimeUnit::Millisecond, year: 2019 | 2020, .. });
        assert!(matches!(&told[..], [date] if wanted(date)), "{told:?}");
        let file_times =
            plausible(20, |ms, sector, _| format!("{},R,{sector},4096\n", 128_166_372_003_061_629_u64 + ms * 10_000));
        let told = csv("time=1:ns,op=2,offset=3:512B,size=4:B", &file_times);
        assert!(matches!(told[..], [Doubt::Date { likely: TimeUnit::FileTime, year: 2007, .. }]), "{told:?}");
    }

    #[test]
    fn times_that_go_back_are_reported() {
        let text = plausible(30, |ms, sector, _| format!("{},R,{sector},4096\n", ms % 7));
        let told = csv("time=1:ms,op=2,offset=3:512B,size=4:B", &text);
        assert!(told.iter().any(|doubt| matches!(doubt, Doubt::Order { .. })), "{told:?}");
    }

    #[test]
    fn addresses_and_sizes_in_another_unit_are_reported() {
        let sectors = plausible(100, |ms, sector, sectors| format!("{ms},R,{},{}\n", sector + 1, sectors * 512));
        // Sectors read as bytes: most are not multiples of 512.
        let told = csv("time=1:ms,op=2,offset=3:B,size=4:B", &sectors);
        assert!(told.iter().any(|doubt| matches!(doubt, Doubt::Alignment { share, .. } if *share > 0.9)), "{told:?}");
        // Bytes read as sectors.
        let bytes = plausible(100, |ms, sector, sectors| format!("{ms},R,{},{}\n", sector * 512, sectors * 512));
        let told = csv("time=1:ms,op=2,offset=3:512B,size=4:B", &bytes);
        assert!(matches!(told[..], [Doubt::AddressUnit { .. }]), "{told:?}");
        let told = csv("time=1:ms,op=2,offset=3:B,size=4:512B", &bytes);
        assert!(
            matches!(told[..], [Doubt::SizeUnit { likely: SizeUnit::BYTE, sign: SizeSign::Large { .. }, .. }]),
            "{told:?}"
        );
        assert_eq!(csv("time=1:ms,op=2,offset=3:B,size=4:B", &bytes), []);
        // Addresses and sizes in bytes, for requests that follow each other.
        let copy = plausible(100, |ms, _, _| format!("{ms}.5 0 {} 4096 1\n", 1_000 * 4096 + ms / 40 * 4096));
        let told = doubts(&copy, &TraceOptions::default());
        let kinds = |is: fn(&Doubt) -> bool| told.iter().filter(|doubt| is(doubt)).count();
        assert_eq!(kinds(|doubt| matches!(doubt, Doubt::SizeUnit { likely: SizeUnit::BYTE, .. })), 1, "{told:?}");
        assert_eq!(kinds(|doubt| matches!(doubt, Doubt::AddressUnit { .. })), 1, "{told:?}");
        // The process number read as the address: few values, at any sector of a page.
        let few = plausible(100, |ms, sector, _| format!("{ms},R,{},4096\n", 4_000 + sector % 3));
        let told = csv("time=1:ms,op=2,offset=3:512B,size=4:B", &few);
        assert!(told.iter().any(|doubt| matches!(doubt, Doubt::Addresses { distinct: 1..=3, .. })), "{told:?}");
        let odd = plausible(100, |ms, sector, _| format!("{ms},R,{},4096\n", sector / 8));
        let told = csv("time=1:ms,op=2,offset=3:512B,size=4:B", &odd);
        assert!(told.iter().any(|doubt| matches!(doubt, Doubt::Scatter { .. })), "{told:?}");
    }
}
