//! Parsers of option values that are more than a number or a name.

use std::fmt;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use base::units::{Bytes, Span};
use study::config::did_you_mean;
use study::plan::MOST_SEEDS;
use workload::trace::{Columns, Event, ExtentRule, Format, SizeUnit, TimeUnit};
use workload::{MOST_DEPTH, Pacing, SourceError};

/// An invalid value of an option, with the valid values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BadValue(String);

impl fmt::Display for BadValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadValue {}

/// The rule for addresses with this name.
pub(crate) fn extent(text: &str) -> Result<ExtentRule, BadValue> {
    ExtentRule::ALL.into_iter().find(|rule| rule.name() == text).ok_or_else(|| {
        let names = ExtentRule::ALL.map(ExtentRule::name);
        let meant = did_you_mean(text, names);
        BadValue(format!(
            "`{text}` is not a rule for addresses beyond the drive: {meant}choose one of {}",
            names.join(", ")
        ))
    })
}

/// The event of this name.
pub(crate) fn event(text: &str) -> Result<Event, BadValue> {
    Event::ALL.into_iter().find(|event| event.name() == text).ok_or_else(|| {
        let names = Event::ALL.map(Event::name);
        let meant = did_you_mean(text, names);
        BadValue(format!("`{text}` is not an event of a block trace: {meant}choose one of {}", names.join(", ")))
    })
}

/// The trace format of this name.
pub(crate) fn format(text: &str) -> Result<Format, BadValue> {
    Format::from_name(text).ok_or_else(|| {
        let names: Vec<_> = Format::ALL.iter().map(|format| format.name()).collect();
        let meant = did_you_mean(text, names.iter().copied());
        BadValue(format!("`{text}` is not a known format: {meant}choose one of {}", names.join(", ")))
    })
}

pub(crate) fn columns(text: &str) -> Result<Columns, BadValue> {
    text.parse().map_err(|error: SourceError| BadValue(error.to_string()))
}

pub(crate) fn time_unit(text: &str) -> Result<TimeUnit, BadValue> {
    text.parse().map_err(|error: SourceError| BadValue(error.to_string()))
}

/// A unit of sizes or addresses.
pub(crate) fn size_unit(text: &str) -> Result<SizeUnit, BadValue> {
    text.parse().map_err(|error: SourceError| BadValue(error.to_string()))
}

/// A workload that runs beside the first workload, with its settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FlowArg {
    pub(crate) workload: PathBuf,
    pub(crate) name: Option<String>,
    pub(crate) queue: u16,
    pub(crate) placement_id: u16,
    pub(crate) weight: Option<u32>,
    pub(crate) depth: Option<u32>,
    pub(crate) open: bool,
}

impl FlowArg {
    /// The pacing that the settings ask for, if any.
    pub(crate) const fn pacing(&self) -> Option<Pacing> {
        match (self.depth, self.open) {
            (Some(depth), _) => Some(Pacing::Closed { depth }),
            (None, true) => Some(Pacing::Open),
            (None, false) => None,
        }
    }
}

/// A flow: a workload, and its settings behind commas.
pub(crate) fn flow(text: &str) -> Result<FlowArg, BadValue> {
    let mut parts = text.split(',');
    let workload = PathBuf::from(parts.next().unwrap_or_default());
    let mut flow = FlowArg { workload, name: None, queue: 0, placement_id: 0, weight: None, depth: None, open: false };
    let wrong = |part: &str| {
        let remedy = format!(
            "write WORKLOAD[,queue=N][,weight=N][,depth=N][,open][,placement-id=N][,name=NAME], e.g. oltp,queue=1,depth=8, with a depth of \
             1 to {MOST_DEPTH}"
        );
        BadValue(format!("`{part}` is not a valid part of a flow: {remedy}"))
    };
    for part in parts {
        match part.split_once('=') {
            Some(("queue", number)) => flow.queue = number.parse().map_err(|_| wrong(part))?,
            Some(("placement-id", number)) => flow.placement_id = number.parse().map_err(|_| wrong(part))?,
            Some(("weight", number)) => {
                flow.weight = Some(number.parse().ok().filter(|weight| *weight > 0).ok_or_else(|| wrong(part))?);
            }
            Some(("depth", number)) => {
                flow.depth = Some(
                    number.parse().ok().filter(|depth| (1..=MOST_DEPTH).contains(depth)).ok_or_else(|| wrong(part))?,
                );
            }
            Some(("name", name)) if !name.is_empty() => flow.name = Some(name.to_owned()),
            None if part == "open" => flow.open = true,
            _ => return Err(wrong(part)),
        }
    }
    if flow.workload.as_os_str().is_empty() || (flow.open && flow.depth.is_some()) {
        return Err(wrong(text));
    }
    Ok(flow)
}

/// A drive with the name of its export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ExportArg {
    pub(crate) name: String,
    pub(crate) device: PathBuf,
}

/// Reads a device with an optional export name.
pub(crate) fn export(text: &str) -> Result<ExportArg, BadValue> {
    /// Names of exports have at most 4096 bytes (NBD protocol).
    const LONGEST: usize = 4096;
    match text.split_once('=') {
        Some((name, device)) if !device.is_empty() && name.len() <= LONGEST => {
            Ok(ExportArg { name: name.to_owned(), device: device.into() })
        }
        _ => Err(BadValue(format!("`{text}` is not a name and a device: write NAME=DEVICE, e.g. fast=demo"))),
    }
}

/// An address and a port.
pub(crate) fn address(text: &str) -> Result<std::net::SocketAddr, BadValue> {
    text.parse().map_err(|_| BadValue(format!("`{text}` is not an address and a port: write e.g. 127.0.0.1:10809")))
}

/// The qualified name of a host of NVMe (NVMe base 2.0, section 4.5).
pub(crate) fn host_nqn(text: &str) -> Result<String, BadValue> {
    if text.starts_with("nqn.") && (5..=223).contains(&text.len()) {
        return Ok(text.to_owned());
    }
    Err(BadValue(format!(
        "`{text}` is not the qualified name of a host; write that of its /etc/nvme/hostnqn, e.g. nqn.2014-08.org.nvmexpress:uuid:..."
    )))
}

/// A length of time of at most one second.
pub(crate) fn brief(text: &str) -> Result<Duration, BadValue> {
    match text.parse::<Span>() {
        Ok(span) if span <= Span::from_secs(1) => Ok(Duration::from_nanos(span.as_ns())),
        _ => Err(BadValue(format!("`{text}` is not a length of time up to 1s: write e.g. 50us"))),
    }
}

/// A number above zero.
pub(crate) fn positive(text: &str) -> Result<f64, BadValue> {
    match text.parse::<f64>() {
        Ok(value) if value > 0.0 && value.is_finite() => Ok(value),
        _ => Err(BadValue(format!("`{text}` is not a number above zero: write e.g. 0.5"))),
    }
}

/// An age, with the unit s, m, h or d.
pub(crate) fn age(text: &str) -> Result<Duration, BadValue> {
    let wrong = || BadValue(format!("`{text}` is not an age: write e.g. 30d, with s, m, h or d"));
    let (number, unit) = text.split_at_checked(text.len().saturating_sub(1)).ok_or_else(wrong)?;
    let seconds: u64 = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        _ => return Err(wrong()),
    };
    let number: u64 = number.parse().map_err(|_| wrong())?;
    number.checked_mul(seconds).map(Duration::from_secs).ok_or_else(wrong)
}

/// A length of time above zero.
pub(crate) fn interval(text: &str) -> Result<Span, BadValue> {
    match text.parse::<Span>() {
        Ok(span) if !span.is_zero() => Ok(span),
        _ => Err(BadValue(format!("`{text}` is not a length of time above zero: write e.g. 10ms"))),
    }
}

/// Reads a whole number from `least` to `most`.
pub(crate) fn whole<T>(least: T, most: T) -> impl Fn(&str) -> Result<T, BadValue> + Clone + Send + Sync + 'static
where
    T: Copy + fmt::Display + FromStr + PartialOrd + Send + Sync + 'static,
{
    move |text| match text.parse::<T>() {
        Ok(value) if least <= value && value <= most => Ok(value),
        _ => Err(BadValue(format!("`{text}` is not a whole number from {least} to {most}: write e.g. 8"))),
    }
}

/// The bytes of a block of NVM Express.
pub(crate) fn block(text: &str) -> Result<Bytes, BadValue> {
    match text.parse::<Bytes>() {
        Ok(bytes) if bytes.get().is_power_of_two() && (512..=64 << 10).contains(&bytes.get()) => Ok(bytes),
        _ => Err(BadValue(format!("`{text}` is not a power of two from 512B to 64KiB: write e.g. 4KiB"))),
    }
}

/// A number of requests, which may end with k, M or G: 10k is 10,000.
pub(crate) fn requests(text: &str) -> Result<u64, BadValue> {
    const UNITS: [(char, u64); 3] = [('k', 1_000), ('M', 1_000_000), ('G', 1_000_000_000)];
    let unit = UNITS.iter().find_map(|(unit, size)| Some((text.strip_suffix(*unit)?, *size)));
    let (digits, size) = unit.unwrap_or((text, 1));
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    let number = digits.parse::<u64>().ok().filter(|number| plain && *number > 0);
    number.and_then(|number| number.checked_mul(size)).ok_or_else(|| {
        let most = u64::MAX;
        BadValue(format!("`{text}` is not a number of requests from 1 to {most}: write e.g. 2000 or 2k"))
    })
}

/// The number of runs at once.
pub(crate) fn jobs(text: &str) -> Result<NonZeroUsize, BadValue> {
    let most = 65_536;
    let jobs = whole(1, most)(text)?;
    Ok(NonZeroUsize::new(jobs).expect("it is at least one"))
}

pub(crate) fn seeds(text: &str) -> Result<u32, BadValue> {
    if text.contains(',') {
        let remedy = "write how many to run, e.g. --seeds 5, and the first with --seed";
        return Err(BadValue(format!("`{text}` is a list of seeds: {remedy}")));
    }
    whole(1, MOST_SEEDS)(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_are_parsed() {
        let read = flow("a/b.fio,queue=3,weight=2,depth=16,placement-id=65535,name=tenant").expect("sound");
        assert_eq!(read.weight, Some(2));
        assert_eq!((read.workload, read.name.as_deref()), (PathBuf::from("a/b.fio"), Some("tenant")));
        assert_eq!((read.queue, read.depth, read.open, read.placement_id), (3, Some(16), false, 65_535));
        assert!(flow("w.toml,open").expect("sound").open);
        for wrong in [
            "",
            ",queue=1",
            "w,queue=x",
            "w,queue=-1",
            "w,placement-id=65536",
            "w,depth=0",
            "w,weight=0",
            "w,name=",
            "w,fast",
            "w,open,depth=1",
        ] {
            assert!(flow(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn whole_numbers_are_parsed_in_their_range() {
        assert_eq!(whole(1, u32::MAX)("32"), Ok(32));
        assert_eq!((requests("7"), requests("10k"), requests("2M")), (Ok(7), Ok(10_000), Ok(2_000_000)));
        for wrong in ["0", "0k", "k", "-1", "+1", "1.5k", "10K", "10kB", "99999999999999G"] {
            let said = requests(wrong).expect_err(wrong).to_string();
            assert!(said.starts_with(&format!("`{wrong}` is not a number of requests")), "{said}");
        }
        assert_eq!(jobs("2").map(NonZeroUsize::get), Ok(2));
        for wrong in ["", "0", "-1", "x", "1.5", "4294967296", "99999999999999999999999"] {
            let error = whole(1, u32::MAX)(wrong).expect_err(wrong).to_string();
            assert_eq!(error, format!("`{wrong}` is not a whole number from 1 to 4294967295: write e.g. 8"));
        }
        assert!(jobs("0").is_err());
    }

    #[test]
    fn ages_are_parsed() {
        assert_eq!(
            ["90s", "2m", "0h", "30d"].map(|text| age(text).map(|age| age.as_secs())),
            [90, 120, 0, 2_592_000].map(Ok)
        );
        for wrong in ["", "d", "30", "-1d", "1.5h", "3 d", "7w", "99999999999999999d", "3\u{e9}"] {
            assert_eq!(
                age(wrong).expect_err(wrong).to_string(),
                format!("`{wrong}` is not an age: write e.g. 30d, with s, m, h or d")
            );
        }
    }

    #[test]
    fn seeds_are_counted() {
        assert_eq!(seeds("5"), Ok(5));
        assert!(seeds("1,2").expect_err("a list").to_string().contains("--seeds 5"));
        assert!(seeds("0").is_err() && seeds("10001").is_err());
    }

    #[test]
    fn numbers_above_zero_are_parsed() {
        assert_eq!(positive("0.5"), Ok(0.5));
        for wrong in ["", "0", "-1", "inf", "NaN", "x"] {
            assert!(positive(wrong).is_err(), "{wrong}");
        }
    }
}
