//! The metrics of a run by name, for studies and their expectations.

mod catalogue;
mod commands;
mod dimension;
mod errors;
mod fairness;
mod fdp;
mod help;
mod life;
mod log;
mod map;
mod merges;
mod parity;
mod power;
mod raid;
mod refresh;
mod slc;
mod slc_cache;
mod translation;
mod words;
mod zones;

use std::fmt;
use std::str::FromStr;

use base::io::IoKind;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use ssd::Status;

use crate::config::renamed;
use crate::summary::{FlashRow, KindSummary, Latencies, Summary};
use commands::{flash, sum_of};
use errors::ErrorStat;
use fairness::{FairStat, FlowStat, Requests};
use fdp::FdpStat;
use life::LifeStat;
use log::LogStat;
use map::MapStat;
use merges::MergeStat;
use parity::ParityStat;
use power::PowerStat;
use raid::RaidStat;
use refresh::RefreshStat;
use slc::SlcStat;
use slc_cache::SlcCacheStat;
use translation::TranslationStat;
use zones::ZonesStat;

pub(crate) use catalogue::every;
pub use catalogue::{Group, MetricEntry, catalogue, meaning_of_cause, meaning_of_op};
pub use dimension::Dimension;
pub(crate) use dimension::digits;
pub use help::HELP;

/// A number of a run, or the quotient of two numbers: `read.mean`, `write.service / read.service`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metric {
    text: String,
    top: Name,
    bottom: Option<Name>,
}

/// The error of a text that is not a metric.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseMetricError(String);

impl fmt::Display for ParseMetricError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut names = names();
        // A flow may have any name, so only the name of the number after it is checked.
        if let ["flow", flow, ..] = self.0.split('.').collect::<Vec<_>>()[..] {
            names.extend(fairness::names(flow));
        }
        let names = || names.iter().map(String::as_str);
        let meant = match renamed(&self.0, names()) {
            Some(now) => format!("it is called `{now}` now; "),
            None => base::suggest::did_you_mean(&self.0, names()),
        };
        write!(f, "`{}` is not a metric: {meant}write one that `flashloom schema study` lists, e.g. read.mean", self.0)
    }
}

impl std::error::Error for ParseMetricError {}

/// All names of metrics, from which an error message suggests the closest one.
fn names() -> Vec<String> {
    let of = |group: &'static str, all: &'static [&'static str]| all.iter().map(move |stat| format!("{group}.{stat}"));
    let plain = "mean accumulated requests-per-s rate simulated failed unmapped unreadable-copies mount verified waf waf-bytes tbw cost energy \
                 energy-per-sector suspensions suspended suspend-overhead suspend-gain";
    let mut names: Vec<String> = plain.split(' ').map(ToOwned::to_owned).collect();
    names.extend(FairStat::ALL.map(|(name, _)| name.to_owned()));
    for kind in KINDS {
        names.extend(of(kind, &LATENCIES));
        names.extend(of(kind, &STATS));
    }
    names.extend(Status::ALL.map(|status| format!("outcomes.{}", status.name())));
    names.extend(of("erases", &ERASES));
    names.extend(of("busy", &BUSY));
    names.extend(of("power", &power::NAMES));
    names.extend(of("slc-cache", &slc_cache::NAMES));
    names.extend(of("refresh", &refresh::NAMES));
    names.extend(of("parity", &parity::NAMES));
    names.extend(of("raid", &raid::NAMES));
    names.extend(of("translation", &translation::NAMES));
    names.extend(of("fdp", &fdp::NAMES));
    names.extend(of("zones", &zones::NAMES));
    names.extend(of("life", &life::NAMES));
    for group in ["commands", "slots"] {
        names.extend(flash::backend::Op::ALL.into_iter().map(|op| format!("{group}.{}", op.name())));
    }
    names
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Name {
    Mean,
    Accumulated,
    Kind(&'static str, Stat),
    RequestsPerSecond,
    Rate,
    Simulated,
    Failed,
    Outcome(Status),
    Unmapped,
    UnreadableCopies,
    Mount,
    Verified,
    Amplification,
    AmplificationInBytes,
    TotalBytesWritten,
    Cost,
    Energy,
    EnergyPerSector,
    Erases(&'static str),
    Busy(&'static str),
    Map(MapStat),
    Log(LogStat),
    Slc(SlcStat),
    SlcCache(SlcCacheStat),
    /// `refresh.*`: counters of refresh.
    Refresh(RefreshStat),
    /// `parity.*`: counters of parity.
    Parity(ParityStat),
    /// `raid.*`: counters of a RAID.
    Raid(RaidStat),
    /// `translation.*`: counters of a translation over zones.
    Translation(TranslationStat),
    /// `fdp.*`: counters of Flexible Data Placement.
    Fdp(FdpStat),
    /// `zones.*`: counters of zones.
    Zones(ZonesStat),
    /// `life.*`: the drive's life.
    Life(LifeStat),
    Power(PowerStat),
    Merges(MergeStat),
    Errors(ErrorStat),
    Commands(String, Option<String>),
    Slots(String, Option<String>),
    Suspensions,
    Suspended,
    SuspendOverhead,
    SuspendGain,
    Flow(String, FlowStat),
    Fairness(FairStat),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stat {
    Latency(&'static str),
    Wait,
    Service,
    FlashWait,
    StartWait,
    Gap,
    Access,
    Requests,
    Failed,
    RequestsPerSecond,
    Rate,
    Bytes,
}

const STATS: [&str; 9] =
    ["wait", "service", "flash-wait", "access", "requests", "failed", "requests-per-s", "rate", "bytes"];
const ERASES: [&str; 4] = ["mean", "min", "max", "deviation"];
const BUSY: [&str; 8] = ["link", "ram", "channels", "dies", "controllers", "decoders", "processor", "ftl"];
const KINDS: [&str; IoKind::COUNT] = [
    "read",
    "write",
    "flush",
    "discard",
    "append",
    "zone_open",
    "zone_close",
    "zone_finish",
    "zone_reset",
    "zone_open_zrwa",
    "zrwa_flush",
    "handle_update",
];
const LATENCIES: [&str; 10] = ["mean", "min", "p50", "p90", "p95", "p99", "p99_9", "p99_99", "p99_999", "max"];

fn one_of(name: &str, all: &'static [&'static str]) -> Option<&'static str> {
    all.iter().find(|other| **other == name).copied()
}

impl Name {
    fn parse(text: &str) -> Option<Self> {
        let parts: Vec<&str> = text.split('.').collect();
        match parts[..] {
            ["mean"] => Some(Self::Mean),
            ["accumulated"] => Some(Self::Accumulated),
            ["requests-per-s"] => Some(Self::RequestsPerSecond),
            ["rate"] => Some(Self::Rate),
            ["simulated"] => Some(Self::Simulated),
            ["failed"] => Some(Self::Failed),
            ["outcomes", status] => Status::ALL.into_iter().find(|known| known.name() == status).map(Self::Outcome),
            ["unmapped"] => Some(Self::Unmapped),
            ["unreadable-copies"] => Some(Self::UnreadableCopies),
            ["mount"] => Some(Self::Mount),
            ["verified"] => Some(Self::Verified),
            ["waf"] => Some(Self::Amplification),
            ["waf-bytes"] => Some(Self::AmplificationInBytes),
            ["tbw"] => Some(Self::TotalBytesWritten),
            ["cost"] => Some(Self::Cost),
            ["energy"] => Some(Self::Energy),
            ["energy-per-sector"] => Some(Self::EnergyPerSector),
            ["suspensions"] => Some(Self::Suspensions),
            ["suspended"] => Some(Self::Suspended),
            ["suspend-overhead"] => Some(Self::SuspendOverhead),
            ["suspend-gain"] => Some(Self::SuspendGain),
            ["flow", ref rest @ ..] => FlowStat::parse(rest).map(|(flow, stat)| Self::Flow(flow, stat)),
            [name] => FairStat::parse(name).map(Self::Fairness),
            ["erases", stat] => one_of(stat, &ERASES).map(Self::Erases),
            ["busy", what] => one_of(what, &BUSY).map(Self::Busy),
            ["map", ref stat @ ..] => MapStat::parse(stat).map(Self::Map),
            ["log", ref stat @ ..] => LogStat::parse(stat).map(Self::Log),
            ["slc", ref stat @ ..] => SlcStat::parse(stat).map(Self::Slc),
            ["refresh", stat] => RefreshStat::parse(stat).map(Self::Refresh),
            ["parity", stat] => ParityStat::parse(stat).map(Self::Parity),
            ["raid", stat] => RaidStat::parse(stat).map(Self::Raid),
            ["translation", stat] => TranslationStat::parse(stat).map(Self::Translation),
            ["fdp", stat] => FdpStat::parse(stat).map(Self::Fdp),
            ["zones", stat] => ZonesStat::parse(stat).map(Self::Zones),
            ["slc-cache", stat] => SlcCacheStat::parse(stat).map(Self::SlcCache),
            ["life", stat] => LifeStat::parse(stat).map(Self::Life),
            ["power", stat] => PowerStat::parse(stat).map(Self::Power),
            ["errors", stat] => ErrorStat::parse(stat).map(Self::Errors),
            ["merges", stat] => MergeStat::parse(stat).map(Self::Merges),
            ["commands", op] => flash(op, None).map(|(op, cause)| Self::Commands(op, cause)),
            ["commands", op, cause] => flash(op, Some(cause)).map(|(op, cause)| Self::Commands(op, cause)),
            ["slots", op] => flash(op, None).map(|(op, cause)| Self::Slots(op, cause)),
            ["slots", op, cause] => flash(op, Some(cause)).map(|(op, cause)| Self::Slots(op, cause)),
            [kind, stat] => {
                let stat = match stat {
                    "wait" => Stat::Wait,
                    "service" => Stat::Service,
                    "flash-wait" => Stat::FlashWait,
                    "start-wait" => Stat::StartWait,
                    "gap" => Stat::Gap,
                    "access" => Stat::Access,
                    "requests" => Stat::Requests,
                    "failed" => Stat::Failed,
                    "requests-per-s" => Stat::RequestsPerSecond,
                    "rate" => Stat::Rate,
                    "bytes" => Stat::Bytes,
                    _ => Stat::Latency(one_of(stat, &LATENCIES)?),
                };
                Some(Self::Kind(one_of(kind, &KINDS)?, stat))
            }
            _ => None,
        }
    }

    const fn dimension(&self) -> Dimension {
        match self {
            Self::Mean
            | Self::Accumulated
            | Self::Simulated
            | Self::Mount
            | Self::Suspended
            | Self::SuspendOverhead
            | Self::SuspendGain
            | Self::Kind(
                _,
                Stat::Latency(_)
                | Stat::Wait
                | Stat::Service
                | Stat::FlashWait
                | Stat::StartWait
                | Stat::Access
                | Stat::Gap,
            ) => Dimension::Time,
            Self::Verified
            | Self::Outcome(_)
            | Self::UnreadableCopies
            | Self::TotalBytesWritten
            | Self::Kind(_, Stat::Requests | Stat::Failed | Stat::Bytes)
            | Self::Erases(_)
            | Self::Merges(_)
            | Self::Commands(..)
            | Self::Slots(..)
            | Self::Suspensions => Dimension::Count,
            Self::RequestsPerSecond | Self::Kind(_, Stat::RequestsPerSecond) => Dimension::PerSecond,
            Self::Rate | Self::Kind(_, Stat::Rate) => Dimension::Rate,
            Self::Amplification | Self::AmplificationInBytes | Self::Cost | Self::Fairness(_) => Dimension::Plain,
            Self::Flow(_, stat) => stat.dimension(),
            Self::Energy | Self::EnergyPerSector => Dimension::Energy,
            Self::Busy(_) | Self::Failed | Self::Unmapped => Dimension::Share,
            Self::Map(stat) => stat.dimension(),
            Self::Log(stat) => stat.dimension(),
            Self::Slc(stat) => stat.dimension(),
            Self::SlcCache(stat) => stat.dimension(),
            Self::Refresh(stat) => stat.dimension(),
            Self::Parity(stat) => stat.dimension(),
            Self::Raid(stat) => stat.dimension(),
            Self::Translation(stat) => stat.dimension(),
            Self::Fdp(stat) => stat.dimension(),
            Self::Zones(stat) => stat.dimension(),
            Self::Life(stat) => stat.dimension(),
            Self::Power(stat) => stat.dimension(),
            Self::Errors(stat) => stat.dimension(),
        }
    }

    fn of(&self, summary: &Summary) -> Option<f64> {
        let all = Requests::of(summary);
        let mean = |shares: &[f64]| (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64);
        match self {
            Self::Mean
            | Self::Accumulated
            | Self::Kind(..)
            | Self::RequestsPerSecond
            | Self::Rate
            | Self::Simulated => all.number(self),
            Self::Flow(flow, stat) => stat.of(summary, flow),
            Self::Fairness(stat) => stat.of(summary.fairness.as_ref()?),
            Self::Failed => Some(summary.validity.failed),
            Self::Outcome(status) => summary.outcomes.get(status.name()).map(|requests| *requests as f64),
            Self::Unmapped => Some(summary.validity.unmapped_reads),
            Self::UnreadableCopies => Some(summary.unreadable_copies as f64),
            Self::Mount => summary.mount_us,
            Self::Verified => summary.verified.as_ref().and_then(|of| of.get("reads")).map(|reads| *reads as f64),
            Self::Amplification => summary.write_amplification,
            Self::AmplificationInBytes => summary.byte_write_amplification,
            Self::TotalBytesWritten => summary.endurance.as_ref().map(|endurance| endurance.tbw_bytes),
            Self::Cost => summary.cost,
            Self::Energy => summary.energy.as_ref().map(|energy| energy.total_j),
            Self::EnergyPerSector => {
                let energy = summary.energy.as_ref()?.total_j;
                Some(energy * base::units::SECTOR.get() as f64 / all.bytes()).filter(|energy| energy.is_finite())
            }
            Self::Erases(stat) => summary.erases.as_ref().map(|erases| match *stat {
                "min" => f64::from(erases.min),
                "max" => f64::from(erases.max),
                "deviation" => erases.deviation,
                _ => erases.mean,
            }),
            Self::Busy(what) => {
                let used = &summary.utilisation;
                match *what {
                    "link" => Some(used.link),
                    "ram" => used.ram,
                    "channels" => mean(&used.channels),
                    "dies" => mean(&used.dies),
                    "decoders" => mean(&used.decoders),
                    "ftl" => used.ftl,
                    "processor" => Some(used.processor),
                    _ => mean(&used.controllers),
                }
            }
            Self::Map(stat) => stat.of(summary.map.as_ref()?),
            Self::Log(stat) => stat.of(summary.log_merges.as_ref()?),
            Self::Slc(stat) => stat.of(summary.slc_mlc.as_ref()?),
            Self::Life(stat) => stat.of(summary.life.as_ref()?),
            Self::Power(stat) => stat.value(summary.power.as_ref()?),
            Self::SlcCache(stat) => Some(stat.of(summary.slc_cache.as_ref()?)),
            Self::Refresh(stat) => Some(stat.of(summary.refresh.as_ref()?)),
            Self::Parity(stat) => Some(stat.of(summary.parity.as_ref()?)),
            Self::Raid(stat) => stat.of(summary.raid.as_ref()?),
            Self::Translation(stat) => stat.of(summary.translation.as_ref()?),
            Self::Fdp(stat) => Some(stat.of(summary.fdp.as_ref()?)),
            Self::Zones(stat) => stat.of(summary.zones.as_ref()?),
            Self::Merges(stat) => Some(stat.of(summary.merges.as_ref()?)),
            Self::Errors(stat) => stat.of(summary.errors.as_ref()?),
            Self::Commands(op, cause) => Some(flash_sum(summary, op, cause.as_deref(), |row| row.commands)),
            Self::Slots(op, cause) => Some(flash_sum(summary, op, cause.as_deref(), |row| row.slots)),
            Self::Suspensions => Some(summary.flash.iter().map(|row| row.suspensions).sum::<u64>() as f64),
            Self::Suspended => Some(summary.flash.iter().map(|row| row.suspended_s).sum::<f64>() * 1e6),
            Self::SuspendOverhead => Some(summary.flash.iter().map(|row| row.suspend_overhead_s).sum::<f64>() * 1e6),
            Self::SuspendGain => Some(summary.flash.iter().map(|row| row.suspend_gain_s).sum::<f64>() * 1e6),
        }
    }
}

fn flash_sum(summary: &Summary, op: &str, cause: Option<&str>, of: fn(&FlashRow) -> u64) -> f64 {
    sum_of(&summary.flash, op, cause, of)
}

impl Stat {
    fn of(self, kind: &KindSummary) -> Option<f64> {
        let of = |latencies: &Latencies, key: &str| latencies.get(key).copied();
        match self {
            Self::Latency(key) => of(&kind.latency_us, key),
            Self::Wait => of(&kind.queue_wait_us, "mean"),
            Self::Service => of(&kind.service_us, "mean"),
            Self::FlashWait => Some(kind.flash_wait_mean_us),
            Self::StartWait => Some(kind.start_wait_mean_us),
            Self::Gap => Some(kind.longest_gap_us),
            Self::Access => of(&kind.service_us, "mean").map(|service| service - kind.start_wait_mean_us),
            Self::Requests => Some(kind.requests as f64),
            Self::Failed => Some(kind.failed.values().sum::<u64>() as f64),
            Self::RequestsPerSecond => kind.requests_per_s,
            Self::Rate => kind.bytes_per_s,
            Self::Bytes => Some(kind.bytes as f64),
        }
    }
}

impl Metric {
    /// The names of the flows that the metric is about.
    pub(crate) fn flows(&self) -> impl Iterator<Item = &str> {
        [Some(&self.top), self.bottom.as_ref()].into_iter().flatten().filter_map(|name| match name {
            Name::Flow(flow, _) => Some(flow.as_str()),
            _ => None,
        })
    }

    /// True if the metric needs runs of each flow alone.
    pub(crate) fn compares_with_alone(&self) -> bool {
        [Some(&self.top), self.bottom.as_ref()].into_iter().flatten().any(|name| match name {
            Name::Flow(_, stat) => stat.compares_with_alone(),
            Name::Fairness(_) => true,
            _ => false,
        })
    }

    /// The dimension of the metric's values, which decides their unit of measure.
    #[must_use]
    pub const fn dimension(&self) -> Dimension {
        if self.bottom.is_some() { Dimension::Plain } else { self.top.dimension() }
    }

    /// The dimensions of the dividend and the divisor of a quotient.
    #[must_use]
    pub fn quotient(&self) -> Option<(Dimension, Dimension)> {
        self.bottom.as_ref().map(|bottom| (self.top.dimension(), bottom.dimension()))
    }

    /// The metric's value in a run; `None` if the run has no such number, for example a read latency without reads.
    #[must_use]
    pub fn of(&self, summary: &Summary) -> Option<f64> {
        let top = self.top.of(summary)?;
        match &self.bottom {
            None => Some(top),
            Some(bottom) => bottom.of(summary).filter(|bottom| *bottom != 0.0).map(|bottom| top / bottom),
        }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Metric {
    type Err = ParseMetricError;

    fn from_str(text: &str) -> Result<Self, ParseMetricError> {
        let error = || ParseMetricError(text.to_owned());
        let (top, bottom) = match text.split_once('/') {
            Some((top, bottom)) => (top, Some(bottom)),
            None => (text, None),
        };
        let name = |text: &str| Name::parse(text.trim()).ok_or_else(error);
        Ok(Self { text: text.trim().to_owned(), top: name(top)?, bottom: bottom.map(name).transpose()? })
    }
}

impl<'de> Deserialize<'de> for Metric {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

impl Serialize for Metric {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl schemars::JsonSchema for Metric {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Metric".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": format!("A number of a run: {}.", HELP.join("; ")),
            "examples": ["read.mean", "write.service / read.service"],
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use testkit::small;

    use super::*;
    use crate::summary::{Energies, Provenance, Report};
    use crate::testing::settled;

    fn summary() -> Summary {
        let (about, result) = (Provenance::default(), settled(small::mixed()));
        Summary::new(&Report { erase_counts: &[1, 3], ..Report::new(&about, &result) })
    }

    fn of(text: &str) -> Option<f64> {
        text.parse::<Metric>().expect(text).of(&summary())
    }

    #[test]
    fn metrics_are_found_by_name() {
        let summary = summary();
        assert_eq!(of("read.p50"), summary.kinds["read"].latency_us.get("p50").copied());
        assert_eq!(of("erases.mean"), Some(2.0));
        assert_eq!((of("energy"), of("energy-per-sector")), (None, None));
        // Flushes and discards move no data, so they are left out of the numbers over all requests.
        let requests: u64 = ["read", "write"].iter().map(|kind| summary.kinds[kind].requests).sum();
        let accumulated = of("accumulated").expect("requests");
        assert!((accumulated / requests as f64 - of("mean").expect("requests")).abs() < 1e-9);
        assert_eq!(of("read.mean / read.mean"), Some(1.0));
        let programs: u64 = summary.flash.iter().filter(|row| row.op == "program").map(|row| row.commands).sum();
        assert_eq!(of("commands.program"), Some(programs as f64));
        let (reads, writes) = (&summary.kinds["read"], &summary.kinds["write"]);
        let mean = (reads.latency_us["mean"] * reads.requests as f64
            + writes.latency_us["mean"] * writes.requests as f64)
            / (reads.requests + writes.requests) as f64;
        assert!((of("mean").expect("there") - mean).abs() < mean);
        assert_eq!(of("read.bytes"), Some(reads.bytes as f64));
        let rate = (reads.bytes + writes.bytes) as f64 / summary.simulated_s;
        assert!((of("rate").expect("there") / rate - 1.0).abs() < 1e-9);
        assert_eq!(of("merges.merges"), None, "a drive without them");
        let bytes = reads.bytes + writes.bytes;
        let mut spent = summary;
        spent.energy = Some(Energies { total_j: bytes as f64 * 3e-9, by_name_j: BTreeMap::default() });
        let energy = "energy-per-sector".parse::<Metric>().expect("a metric").of(&spent);
        assert!((energy.expect("there") / (512.0 * 3e-9) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn an_unknown_metric_is_refused() {
        for wrong in
            ["", "read", "read.median", "trim.mean", "commands.fly", "commands.erase.whim", "read.mean /", "a / b"]
        {
            assert!(wrong.parse::<Metric>().is_err(), "{wrong}");
        }
        for name in names() {
            assert!(name.parse::<Metric>().is_ok(), "{name}");
        }
        let text = "raed.mean".parse::<Metric>().expect_err("wrong").to_string();
        assert!(text.contains("`raed.mean` is not a metric: did you mean `read.mean`?"), "{text}");
    }
}
