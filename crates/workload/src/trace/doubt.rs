//! Facts that a trace does not state, with the reader's assumptions, and signs that an assumption is wrong.

use std::fmt;

use base::units::{Bytes, Span};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::format::Format;
use super::units::{SizeUnit, TimeUnit};

/// A fact that a trace does not state, and the reader's assumption.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "about", rename_all = "kebab-case")]
pub enum Doubt {
    /// The format: lines of bare numbers have its form and no other sign of it.
    Format {
        /// The format that the reader assumes.
        #[schemars(with = "String")]
        taken: Format,
    },
    /// The file does not state the unit of times.
    TimeUnit {
        /// The format that the layout suggests.
        #[schemars(with = "String")]
        format: Format,
        /// The unit that the reader assumes.
        #[schemars(with = "String")]
        taken: TimeUnit,
        /// True if the decision follows from a decimal point in a time.
        decimals: bool,
    },
    /// The file does not state the unit of sizes.
    SizeUnit {
        /// The unit that the reader assumes.
        #[schemars(with = "String")]
        taken: SizeUnit,
        /// The unit that fits better.
        #[schemars(with = "String")]
        likely: SizeUnit,
        /// The sign that the other unit fits better.
        sign: SizeSign,
        /// The format as which the trace is read.
        #[schemars(with = "String")]
        format: Format,
    },
    /// The unit of addresses: nearly all of them are multiples of 512 of the assumed unit.
    AddressUnit {
        /// The unit that the reader assumes.
        #[schemars(with = "String")]
        taken: SizeUnit,
        /// The share of addresses that are such multiples.
        share: f64,
        /// The format as which the trace is read.
        #[schemars(with = "String")]
        format: Format,
    },
    /// The unit of addresses or sizes: many requests do not begin and end at sectors.
    Alignment {
        /// The share of requests that do not begin and end at sectors.
        share: f64,
        /// The format as which the trace is read.
        #[schemars(with = "String")]
        format: Format,
    },
    /// The column or the unit of addresses: sizes are whole pages of 4 KiB, but addresses lie anywhere in a page.
    Scatter {
        /// The share of the addresses at the three most frequent places in a page.
        share: f64,
    },
    /// The column of addresses: it has few different values.
    Addresses {
        /// The number of requests at the beginning of the trace that were surveyed.
        requests: u64,
        /// The number of different addresses of these requests.
        distinct: u64,
        /// The format as which the trace is read.
        #[schemars(with = "String")]
        format: Format,
    },
    /// The rate at which requests arrive: no drive is so fast.
    Rate {
        /// The unit of times that leads to this rate; `None` if the file states it.
        #[schemars(with = "Option<String>")]
        taken: Option<TimeUnit>,
        /// The number of requests at the beginning of the trace that were surveyed.
        requests: u64,
        /// The time in which the surveyed requests arrive, in seconds.
        span_s: f64,
        /// The format as which the trace is read.
        #[schemars(with = "String")]
        format: Format,
    },
    /// The time in which requests arrive: no recording takes so long.
    Span {
        /// The unit of times that leads to this span; `None` if the file states it.
        #[schemars(with = "Option<String>")]
        taken: Option<TimeUnit>,
        /// The number of requests at the beginning of the trace that were surveyed.
        requests: u64,
        /// The time in which the surveyed requests arrive, in seconds.
        span_s: f64,
        /// The format as which the trace is read.
        #[schemars(with = "String")]
        format: Format,
    },
    /// The unit of times: the first time is a date in another unit.
    Date {
        /// The unit that the reader assumes.
        #[schemars(with = "String")]
        taken: TimeUnit,
        /// The unit in which the first time is a date.
        #[schemars(with = "String")]
        likely: TimeUnit,
        /// The year of the first time, read in the likely unit.
        year: u32,
        /// The format as which the trace is read.
        #[schemars(with = "String")]
        format: Format,
    },
    /// The column of times: many times are earlier than the time before.
    Order {
        /// The share of times that are earlier than the time before.
        share: f64,
        /// The format as which the trace is read.
        #[schemars(with = "String")]
        format: Format,
    },
    /// A column of a CSV: another column fits its meaning better.
    Column {
        /// The meaning: `time`, `op`, `offset` or `size`.
        role: &'static str,
        /// The column that the user named.
        taken: String,
        /// The column that fits better.
        likely: String,
    },
    /// The other CPUs of a recording: the file has the events of only one.
    Cpus {
        /// The number of files of the recording.
        files: u64,
    },
    /// The operations: the format has none, and all requests are read as reads.
    Operations,
    /// The addresses: the format names objects, not sectors.
    Objects {
        /// The unit in which the number of an object is read as an address.
        #[schemars(with = "String")]
        taken: SizeUnit,
    },
    /// The size of a logical block of an NVMe namespace, assumed to be 512 bytes.
    LogicalBlocks,
    /// The times: the file has none, so requests run one after another.
    Times,
    /// The waits of an iolog: their unit differs between fio and its manual.
    Waits,
}

/// The sign that sizes have another unit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum SizeSign {
    /// Many requests begin where an earlier request ends, if sizes have the other unit.
    Continues {
        /// The share of such requests if sizes are in pages.
        pages: f64,
        /// The share of such requests if sizes are in sectors.
        sectors: f64,
    },
    /// Addresses are aligned to eight sectors, but sizes are not.
    Alignment {
        /// The share of aligned addresses.
        addresses: f64,
        /// The share of aligned sizes.
        sizes: f64,
    },
    /// Nearly all requests have the size 1.
    Ones {
        /// The share of these requests.
        share: f64,
    },
    /// Half of the requests are larger than the requests of any recording.
    Large {
        /// Median size of all requests if the assumed unit is right, in bytes.
        median_bytes: u64,
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

/// A number of bytes in words.
fn size(bytes: u64) -> String {
    Bytes::new(bytes).to_string()
}

fn span(seconds: f64) -> Span {
    Span::from_secs_f64(seconds.min(1e7))
}

/// The common units except `taken`, for a remedy.
fn others(taken: TimeUnit) -> String {
    let common = [TimeUnit::Nanosecond, TimeUnit::Microsecond, TimeUnit::Millisecond, TimeUnit::Second];
    let names: Vec<_> = common.into_iter().filter(|unit| *unit != taken).map(TimeUnit::name).collect();
    names.join(", ").replacen(", s", " or s", 1)
}

/// The remedy if times have another unit, or are in another column.
fn time_remedy(format: Format, taken: Option<TimeUnit>) -> String {
    match (format, taken) {
        (Format::Csv, Some(taken)) => {
            format!("if times are not in {taken}, or another column has them, correct `time=` in --columns")
        }
        (_, Some(taken)) => format!("if times are not in {taken}, give --time-unit {}", others(taken)),
        (_, None) => "check how it was recorded, or name another format with --format".to_owned(),
    }
}

/// The remedy if addresses or sizes have another unit, or are in another column.
fn extent_remedy(format: Format, option: &str, key: &str, unit: &str) -> String {
    match format {
        Format::Csv => format!("if it is another column, or has another unit ({unit}), correct `{key}=` in --columns"),
        _ if format.units().is_some() => format!("give {option} {unit} if they do"),
        _ => "check how it was recorded, or name another format with --format".to_owned(),
    }
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
            Self::Alignment { addresses, sizes } => write!(
                f,
                "{} of the first addresses are aligned to 8 sectors, {} of the sizes",
                percent(addresses),
                percent(sizes)
            ),
            Self::Ones { share } => write!(f, "{} of the first requests have the size 1", percent(share)),
            Self::Large { median_bytes } => write!(f, "half of the first requests have {} or more", size(median_bytes)),
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
            Self::TimeUnit { format: format @ Format::LibCacheSim, taken, .. } => write!(
                f,
                "read as {format}, times in {taken}, because more than a million requests would arrive a second in us; if \
                 times are in another unit, give --time-unit {}; --time-unit {taken} confirms",
                others(*taken)
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
            Self::SizeUnit { taken, likely, sign, format: Format::Csv } => write!(
                f,
                "sizes are read as counts of {taken} and look like counts of {likely}: {sign}; if they are, or another \
                 column has the sizes, correct `size=` in --columns"
            ),
            Self::SizeUnit { taken, likely, sign, .. } => write!(
                f,
                "sizes are read as counts of {taken} and look like counts of {likely}: {sign}; give --size-unit {likely} if \
                 they are, --size-unit {taken} if not"
            ),
            Self::AddressUnit { taken, share, format } => write!(
                f,
                "addresses are read as counts of {taken} and look like bytes: {} of the first are multiples of 512; {}",
                percent(*share),
                extent_remedy(*format, "--address-unit", "offset", "B")
            ),
            Self::Alignment { share, format } => write!(
                f,
                "{} of the first requests do not begin and end at sectors of 512 bytes, as those of a drive do: addresses or \
                 sizes may count sectors; {}",
                percent(*share),
                extent_remedy(*format, "--address-unit or --size-unit", "offset=` or `size", "512B")
            ),
            Self::Scatter { share } => write!(
                f,
                "sizes are whole pages of 4 KiB, but only {} of the first addresses lie at the three most frequent places in \
                 a page: they may be no addresses, or have another unit; {}",
                percent(*share),
                extent_remedy(Format::Csv, "", "offset", "B")
            ),
            Self::Addresses { requests, distinct, format } => write!(
                f,
                "the first {requests} requests go to {distinct} different addresses: the column may be no address; {}",
                extent_remedy(*format, "--address-unit", "offset", "512B")
            ),
            Self::Rate { taken, requests, span_s, format } => write!(
                f,
                "the first {requests} requests arrive within {}, {:.3e} a second, which no drive serves; {}",
                span(*span_s),
                *requests as f64 / span_s,
                time_remedy(*format, *taken)
            ),
            Self::Span { taken, requests, span_s, format } => write!(
                f,
                "the first {requests} requests arrive within {}, half of them more than an hour apart, which no recording has; \
                 {}",
                if *span_s < 1e7 { span(*span_s).to_string() } else { format!("{span_s:.3e} s") },
                time_remedy(*format, *taken)
            ),
            Self::Date { taken, likely, year, format } => write!(
                f,
                "times are read in {taken}; in {likely} the first is a date of {year}; {}",
                match format {
                    Format::Csv => format!("write `time=COLUMN:{likely}` in --columns if it is"),
                    _ => format!("give --time-unit {likely} if it is, --time-unit {taken} if not"),
                }
            ),
            Self::Order { share, format } => write!(
                f,
                "{} of the first times are earlier than the one before, which no recording has: the times may be something \
                 else; {}",
                percent(*share),
                match format {
                    Format::Csv => "correct `time=` in --columns",
                    _ => "check how it was recorded, or name another format with --format",
                }
            ),
            Self::Column { role, taken, likely } => write!(
                f,
                "column {taken} is read as the {role}, and column {likely} looks more like it in the first lines; correct \
                 `{role}=` in --columns if it is"
            ),
            Self::Cpus { files } => write!(
                f,
                "the file has the events of one CPU, and the recording has {files} such files; name the recording without \
                 its last number, NAME.blktrace, to read all of them"
            ),
            Self::Operations => f.write_str(
                "the format has no operations: all requests are taken for reads; a trace in another format may tell reads \
                 from writes",
            ),
            Self::Objects { taken } => write!(
                f,
                "the format names objects; their numbers are taken for addresses that count {taken}; give --address-unit if \
                 they count another unit, --address-unit {taken} confirms"
            ),
            Self::LogicalBlocks => f.write_str(
                "NVMe commands count logical blocks, whose size the file does not state; they are taken for 512 bytes; if \
                 `nvme id-ns` says 4096, record block_rq_issue instead",
            ),
            Self::Times => f.write_str(
                "the file has no times: its requests run one after another; record the times, too, or choose how many are \
                 outstanding with --depth",
            ),
            Self::Waits => f.write_str(
                "the waits of an iolog are taken as fio replays them: a request waits until so many ms after the start; fio's \
                 manual calls them us since the wait before: give --time-unit us if the log was written so, --time-unit ms \
                 confirms",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_remedy_is_one_that_the_format_has() {
        let rate = |format, taken| Doubt::Rate { taken, requests: 100, span_s: 1e-6, format }.to_string();
        assert!(rate(Format::Mqsim, Some(TimeUnit::Nanosecond)).ends_with("give --time-unit us, ms or s"));
        assert!(rate(Format::Csv, Some(TimeUnit::Second)).contains("correct `time=` in --columns"));
        assert!(rate(Format::Blkparse, None).contains("check how it was recorded"));
        let aligned = |format| Doubt::Alignment { share: 0.5, format }.to_string();
        assert!(aligned(Format::Msr).contains("give --address-unit or --size-unit 512B"));
        assert!(aligned(Format::Csv).contains("correct `offset=` or `size=` in --columns"));
        let long = Doubt::Span { taken: None, requests: 20, span_s: 1e9, format: Format::Blkparse }.to_string();
        assert!(long.contains("1.000e9 s, half of them more than an hour apart"), "{long}");
    }
}
