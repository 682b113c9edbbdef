//! Assumptions of a reader about facts that a file does not state, and signs against them.
//!
//! The survey reads the beginning of a file before the trace is read. DiskSim's layout does not state its unit of time:
//! the unit is a guess unless the user names it. Sizes in pages beside addresses in sectors leave signs: consecutive
//! requests are eight times their size apart, or aligned addresses have unaligned sizes.

use std::collections::VecDeque;
use std::fmt;

use base::units::Span;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::format::Format;
use super::input::Input;
use super::record::{Context, Record};
use super::units::{SizeUnit, TimeUnit};
use super::{NamedUnits, TraceOptions};
use crate::{Pacing, SourceError};

/// A rate in requests per second beyond any drive: the fastest sold in 2026 promises six million random reads.
pub const ABSURD_RATE: f64 = 1e7;
/// Fewer requests prove nothing.
const FEW: u64 = 64;
/// The number of recent requests among which a predecessor is sought.
const STREAMS: usize = 32;
/// Sectors of a page.
const PAGE: u64 = 8;

/// A fact that a trace does not state, and the reader's assumption.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "about", rename_all = "kebab-case")]
pub enum Doubt {
    /// The format: lines of bare numbers have its form and no other sign of it.
    Format {
        /// The assumed format.
        #[schemars(with = "String")]
        taken: Format,
    },
    /// The unit of times.
    TimeUnit {
        /// The format that the layout suggests.
        #[schemars(with = "String")]
        format: Format,
        /// The assumed unit.
        #[schemars(with = "String")]
        taken: TimeUnit,
        /// True if a decimal point in a time decided it.
        decimals: bool,
    },
    /// The unit of sizes.
    SizeUnit {
        /// The assumed unit.
        #[schemars(with = "String")]
        taken: SizeUnit,
        /// The unit that fits better.
        #[schemars(with = "String")]
        likely: SizeUnit,
        /// The sign for it.
        sign: SizeSign,
    },
    /// The rate at which requests arrive.
    Rate {
        /// The unit of times that gives this rate.
        #[schemars(with = "String")]
        taken: TimeUnit,
        /// The number of requests surveyed.
        requests: u64,
        /// The time in which they arrive, in seconds.
        span_s: f64,
    },
}

/// The sign that sizes count pages although addresses count sectors.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum SizeSign {
    /// Shares of requests that begin where an earlier one ends.
    Continues {
        /// If sizes count pages.
        pages: f64,
        /// If they count sectors.
        sectors: f64,
    },
    /// Addresses are aligned to eight sectors, but sizes are not: shares of the requests.
    Alignment {
        /// Aligned addresses.
        addresses: f64,
        /// Aligned sizes.
        sizes: f64,
    },
    /// Nearly all requests have the size 1.
    Ones {
        /// Their share.
        share: f64,
    },
}

impl Serialize for TimeUnit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Serialize for SizeUnit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Serialize for Format {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

fn percent(share: f64) -> String {
    format!("{:.0}%", share * 100.0)
}

impl fmt::Display for SizeSign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Continues { pages, sectors } => write!(
                f,
                "{} of the first requests begin where an earlier one ends if sizes count pages, {} if they count sectors",
                percent(pages),
                percent(sectors)
            ),
            Self::Alignment { addresses, sizes } => {
                write!(
                    f,
                    "{} of the first addresses are aligned to 8 sectors, {} of the sizes",
                    percent(addresses),
                    percent(sizes)
                )
            }
            Self::Ones { share } => write!(f, "{} of the first requests have the size 1", percent(share)),
        }
    }
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Format { taken } => write!(
                f,
                "read as {taken} ({}) because of the shape of its lines alone: if it is another format, name it with \
                 --format, or its columns with --columns; --format {taken} confirms",
                taken.about()
            ),
            Self::TimeUnit { format, taken, decimals } => {
                let sign = if *decimals { "a time has a decimal point" } else { "times are whole numbers" };
                let others = others(*taken);
                write!(
                    f,
                    "read as {format}, times in {taken}, because {sign}; the file does not name its units: if times are in \
                     another, give --time-unit {others}; --time-unit {taken} confirms"
                )
            }
            Self::SizeUnit { taken, likely, sign } => write!(
                f,
                "sizes are read as counts of {taken} and look like counts of {likely}: {sign}; give --size-unit {likely} if \
                 they are, --size-unit {taken} if not"
            ),
            Self::Rate { taken, requests, span_s } => write!(
                f,
                "the first {requests} requests arrive within {}, {:.3e} a second, which no drive serves; if times are not in \
                 {taken}, give --time-unit {}",
                Span::from_secs_f64(span_s.min(1e7)),
                *requests as f64 / span_s,
                others(*taken)
            ),
        }
    }
}

/// The common units except one, for a remedy.
fn others(taken: TimeUnit) -> String {
    let common = [TimeUnit::Nanosecond, TimeUnit::Microsecond, TimeUnit::Millisecond, TimeUnit::Second];
    let names: Vec<_> = common.into_iter().filter(|unit| *unit != taken).map(TimeUnit::name).collect();
    names.join(", ").replacen(", s", " or s", 1)
}

/// Surveys the beginning of a file and notes doubts. `detected` is false if the user named the format.
pub(crate) fn survey(
    format: Format,
    detected: bool,
    input: &mut Input,
    options: &TraceOptions,
    context: &mut Context,
) -> Result<(), SourceError> {
    let Some(own) = format.units() else { return Ok(()) };
    let NamedUnits { time, size, address } = options.units;
    let taken = options.units.over(own);
    let head = input.head()?.to_vec();
    let path = input.path().to_path_buf();
    let whole = head.len() - head.iter().rev().position(|byte| *byte == b'\n').unwrap_or(0);
    let mut scratch = Context::new(&TraceOptions::default());
    let Ok(mut records) = format.open(Input::of_head(&path, &head[..whole]), options, &mut scratch) else {
        // The reading of the trace reports faults.
        return Ok(());
    };
    let mut signs = Signs::default();
    while let Ok(Some(record)) = records.next(&mut scratch) {
        signs.add(&record);
    }
    if detected && format == Format::Tencent {
        context.doubt(Doubt::Format { taken: format });
    }
    let unsure = matches!(format, Format::Disksim | Format::Mqsim) && detected;
    if unsure && time.is_none() {
        context.doubt(Doubt::TimeUnit { format, taken: taken.time, decimals: format == Format::Disksim });
    }
    if unsure
        && size.is_none()
        && address.is_none()
        && let Some(sign) = signs.pages()
    {
        context.doubt(Doubt::SizeUnit { taken: taken.size, likely: SizeUnit::PAGE, sign });
    }
    let span_s = signs.span() as f64 * 1e-12;
    if time.is_none()
        && records.pacing() == Pacing::Open
        && signs.requests >= FEW
        && span_s > 0.0
        && signs.requests as f64 / span_s > ABSURD_RATE
    {
        context.doubt(Doubt::Rate { taken: taken.time, requests: signs.requests, span_s });
    }
    Ok(())
}

/// Signs in the first requests of a trace.
#[derive(Default)]
struct Signs {
    requests: u64,
    first: Option<i128>,
    last: i128,
    aligned: u64,
    whole_pages: u64,
    ones: u64,
    continues_sectors: u64,
    continues_pages: u64,
    recent: VecDeque<Record>,
}

impl Signs {
    fn add(&mut self, record: &Record) {
        let first = *self.first.get_or_insert(record.at);
        self.first = Some(first.min(record.at));
        self.last = if self.requests == 0 { record.at } else { self.last.max(record.at) };
        self.requests += 1;
        let sectors = u64::from(record.sectors);
        self.aligned += u64::from(record.start.is_multiple_of(PAGE));
        self.whole_pages += u64::from(sectors.is_multiple_of(PAGE));
        self.ones += u64::from(sectors == 1);
        let follows = |factor: u64| {
            let ends = |earlier: &Record| {
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

    fn span(&self) -> i128 {
        self.first.map_or(0, |first| self.last - first)
    }

    /// The sign for sizes in pages, if there is one.
    fn pages(&self) -> Option<SizeSign> {
        if self.requests < FEW {
            return None;
        }
        let share = |count: u64| count as f64 / self.requests as f64;
        let (pages, sectors) = (share(self.continues_pages), share(self.continues_sectors));
        let (addresses, sizes) = (share(self.aligned), share(self.whole_pages));
        if pages >= 0.1 && pages > 4.0 * sectors {
            Some(SizeSign::Continues { pages, sectors })
        } else if addresses >= 0.95 && sizes <= 0.5 {
            Some(SizeSign::Alignment { addresses, sizes })
        } else if share(self.ones) >= 0.9 {
            Some(SizeSign::Ones { share: share(self.ones) })
        } else {
            None
        }
    }
}

/// The times of a trace, read in some unit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TimeReading {
    /// The unit.
    #[schemars(with = "String")]
    pub unit: TimeUnit,
    /// True if it is the assumed unit.
    pub taken: bool,
    /// From the first request to the last, in seconds.
    pub span_s: f64,
    /// Requests per second.
    pub rate_per_s: f64,
    /// True if no drive serves this rate.
    pub absurd: bool,
}

/// The sizes of a trace, read in some unit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SizeReading {
    /// The unit.
    #[schemars(with = "String")]
    pub unit: SizeUnit,
    /// True if it is the assumed unit.
    pub taken: bool,
    /// Mean bytes per read or write.
    pub bytes_mean: f64,
    /// Bytes per second, with the assumed unit of times.
    pub bytes_per_s: f64,
}

/// The times, read in each common unit, longest first.
pub(crate) fn time_readings(taken: TimeUnit, span_s: f64, rate_per_s: f64) -> Vec<TimeReading> {
    let common = [TimeUnit::Second, TimeUnit::Millisecond, TimeUnit::Microsecond, TimeUnit::Nanosecond];
    let mut units: Vec<TimeUnit> = common.into_iter().chain([taken]).collect();
    units.sort();
    units.dedup();
    let reading = |unit: TimeUnit| {
        let factor = unit.ps() as f64 / taken.ps() as f64;
        let rate_per_s = rate_per_s / factor;
        TimeReading {
            unit,
            taken: unit == taken,
            span_s: span_s * factor,
            rate_per_s,
            absurd: rate_per_s > ABSURD_RATE,
        }
    };
    units.into_iter().map(reading).collect()
}

/// The sizes, read in sectors and in pages.
pub(crate) fn size_readings(taken: SizeUnit, bytes_mean: f64, rate_per_s: f64) -> Vec<SizeReading> {
    let mut units = vec![SizeUnit::SECTOR, SizeUnit::PAGE, taken];
    units.sort();
    units.dedup();
    let reading = |unit: SizeUnit| {
        let bytes_mean = bytes_mean * unit.bytes() as f64 / taken.bytes() as f64;
        SizeReading { unit, taken: unit == taken, bytes_mean, bytes_per_s: bytes_mean * rate_per_s }
    };
    units.into_iter().map(reading).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::file;
    use super::*;

    fn doubts(text: &str, options: &TraceOptions) -> Vec<Doubt> {
        super::super::open(file(text.as_bytes()).path(), options).unwrap().doubts().to_vec()
    }

    /// Requests of these sizes, each `step` times the size of the previous one after it.
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
        // 50 ns apart as nanoseconds: 20 million per second. As microseconds: 20 thousand.
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

    #[test]
    fn other_readings_scale_from_the_one_taken() {
        let times = time_readings(TimeUnit::Nanosecond, 2.0, 5e4);
        assert_eq!(times.iter().map(|t| t.unit.name()).collect::<Vec<_>>(), ["s", "ms", "us", "ns"]);
        assert!((times[2].span_s - 2_000.0).abs() < 1e-9 && (times[2].rate_per_s - 50.0).abs() < 1e-9);
        assert!(times[3].taken && !times[3].absurd && time_readings(TimeUnit::Second, 1.0, 1e5)[1].absurd);
        let sizes = size_readings(SizeUnit::SECTOR, 1024.0, 10.0);
        assert!((sizes[1].bytes_mean - 8192.0).abs() < 1e-9 && (sizes[1].bytes_per_s - 81_920.0).abs() < 1e-9);
    }
}
