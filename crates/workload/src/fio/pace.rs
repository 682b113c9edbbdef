//! The pace of a job: depth, rates, pauses, delays, and the time for which the job runs.

use base::units::{Bytes, Span};

use super::engines::{self, Engine};
use super::options::is_off;
use super::reader::Reader;
use super::sizes::{Sizes, mean, smallest};
use super::value::{bytes, per_kind, time, time_in, whole};
use crate::generate::{FlushSpec, ThinkSpec};
use crate::measure;

/// The kinds of requests that `rate` and `rate_iops` limit, in the order of their values.
const KINDS: [&str; 3] = ["reads", "writes", "trims"];

/// The pace at which each clone of a job issues requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pace {
    /// The number of requests outstanding.
    pub(super) depth: u32,
    /// Requests of each kind per second, if the job has a rate.
    pub(super) rates: Option<[f64; 3]>,
    pub(super) is_poisson: bool,
    pub(super) think: Option<ThinkSpec>,
    /// The time before the first request.
    pub(super) delay: Span,
    pub(super) runtime: Option<Span>,
    /// The part of the job before the measurement.
    pub(super) ramp: Option<measure::Amount>,
}

impl Reader<'_> {
    /// The pace of a job with these `kinds` of requests.
    pub(super) fn pace(&mut self, kinds: &[usize], sizes: &Sizes) -> Pace {
        let is_poisson =
            self.value("rate_process", "linear or poisson", |t| ["linear", "poisson"].iter().position(|p| *p == t), 0)
                == 1;
        let rates = self.rates(kinds, sizes, is_poisson);
        let runtime = self.span("runtime");
        Pace {
            depth: self.depth(rates.is_some()),
            rates,
            is_poisson,
            think: self.think(rates.is_some()),
            delay: self.delay(),
            runtime,
            ramp: self.ramp(),
        }
    }

    /// The value of a time; `None` if it is zero or not given.
    fn span(&mut self, key: &str) -> Option<Span> {
        let span = self.value(key, "a time such as 60 or 10m", |t| time(t).map(Some), None);
        span.filter(|span| !span.is_zero())
    }

    fn ramp(&mut self) -> Option<measure::Amount> {
        let kb_base = self.kb_base;
        let size = self.value("ramp_size", "a size such as 10g", |t| bytes(t, kb_base).map(Some), None);
        let size = size.filter(|size| *size > 0).map(|size| measure::Amount::Bytes(Bytes::new(size)));
        self.span("ramp_time").map(measure::Amount::Time).or(size)
    }

    fn delay(&mut self) -> Span {
        if let Some(setting) = self.job.get("startdelay")
            && setting.value.as_deref().is_some_and(|value| value.contains('-'))
        {
            self.faults.add(setting.path(), "a random delay is not supported", "write one time");
            return Span::ZERO;
        }
        self.span("startdelay").unwrap_or_default()
    }

    /// Requests of each kind per second, if the job has rates.
    fn rates(&mut self, kinds: &[usize], sizes: &Sizes, is_poisson: bool) -> Option<[f64; 3]> {
        let kb_base = self.kb_base;
        let what = "a number per second";
        let parse = |text: &str| per_kind(text, &None, |part| bytes(part, kb_base).map(|n| Some(n).filter(|n| *n > 0)));
        let by_data = self.value("rate", what, parse, [None; 3]);
        let by_count = self.value("rate_iops", what, parse, [None; 3]);
        let key = if by_data.iter().any(Option::is_some) { "rate" } else { "rate_iops" };
        if key == "rate" && by_count.iter().any(Option::is_some) {
            self.fault("rate_iops", "rate and rate_iops exclude each other in fio", "delete one of the two");
            return None;
        }
        // fio's rates count bytes: `rate_iops` counts requests of the smallest size. Only a Poisson process counts
        // requests, and so do equal intervals with bssplit=.
        let is_split = self.job.get("bssplit").is_some();
        let rate = |kind: usize| {
            let (least, mean) = (smallest(&sizes[kind]).get() as f64, mean(&sizes[kind]));
            let by_count = by_count[kind].map(|count| match is_poisson || is_split {
                true => count as f64,
                false => count as f64 * least / mean,
            });
            let by_data = by_data[kind].map(|data| data as f64 / if is_poisson { least } else { mean });
            by_data.or(by_count)
        };
        let given: Vec<Option<f64>> = kinds.iter().map(|kind| rate(*kind)).collect();
        if given.iter().all(Option::is_none) {
            return None;
        }
        let mut rates = [0.0; 3];
        for (kind, rate) in kinds.iter().zip(given) {
            match rate {
                Some(rate) => rates[*kind] = rate,
                None => {
                    let message = format!("a job whose {} have no rate beside others that have one", KINDS[*kind]);
                    self.fault(key, message, "give each kind a rate, or write two jobs");
                    return None;
                }
            }
        }
        if kinds.len() > 1 {
            let reason = "reads and writes have their own rates, which decide the mix as in fio";
            self.remark(&[key], reason);
        }
        Some(rates)
    }

    fn think(&mut self, is_rated: bool) -> Option<ThinkSpec> {
        let parse = |text: &str| time_in(text, "us").map(Some);
        let time = self.value("thinktime", "a time in microseconds", parse, None).filter(|time| !time.is_zero());
        let count = |text: &str| whole(text).and_then(|n| u32::try_from(n).ok()).filter(|n| *n > 0);
        let every = self.value("thinktime_blocks", "a number of requests", count, 1);
        let time = time?;
        if is_rated {
            self.fault("thinktime", "a pause in a job with a rate is not supported", "delete one of the two");
            return None;
        }
        Some(ThinkSpec { time, every })
    }

    /// False if the job's engine sends no requests to a device, or is not one of fio's.
    pub(super) fn has_device(&mut self) -> bool {
        let Some(setting) = self.job.get("ioengine").filter(|setting| !setting.is_computed()) else { return true };
        let name = setting.value.as_deref().unwrap_or_default();
        let (message, remedy) = match engines::find(name) {
            Some(Engine::Synchronous | Engine::Asynchronous) => return true,
            Some(Engine::NoDevice(what)) => (
                format!("the engine `{name}` {what}: it makes no requests of a storage device"),
                "delete the job, or write an engine such as libaio",
            ),
            None => (format!("`{name}` is no engine of fio"), "write libaio, io_uring or another engine of fio"),
        };
        self.faults.add(setting.path(), message, remedy);
        false
    }

    /// True if the job repeats until its time is over. fio ignores `time_based` without a time.
    pub(super) fn is_time_based(&mut self, pace: &Pace) -> bool {
        let is_asked = self.flag("time_based");
        if is_asked && pace.runtime.is_none() {
            self.remark(&["time_based"], "has no effect without runtime, as in fio");
        }
        is_asked && pace.runtime.is_some()
    }

    fn depth(&mut self, is_rated: bool) -> u32 {
        let parse = |t: &str| whole(t).and_then(|n| u32::try_from(n).ok()).filter(|n| (1..=65_536).contains(n));
        let depth = self.value("iodepth", "a number between 1 and 65536", parse, 1);
        let engine = self.job.get("ioengine").and_then(|setting| engines::find(setting.value.as_deref()?));
        let is_synchronous = engine == Some(Engine::Synchronous);
        if is_rated {
            let reason = "requests arrive at their rate whatever the device does; the depth does not hold them back";
            self.remark(&["rate_iops", "rate"], reason);
        } else if is_synchronous && depth > 1 {
            self.remark(&["iodepth"], "a synchronous engine keeps one request outstanding, whatever the depth");
            return 1;
        } else if self.job.get("ioengine").is_none() && depth > 1 {
            let reason = format!("{depth} requests outstanding as written, although fio's default engine keeps one");
            self.remark(&["iodepth"], &reason);
        }
        depth
    }

    /// The rule by which flushes follow writes.
    pub(super) fn flush(&mut self, has_writes: bool, ends_itself: bool) -> Option<FlushSpec> {
        let what = "a number of writes";
        let parse = |t: &str| whole(t).and_then(|n| u32::try_from(n).ok());
        let mut given = Vec::new();
        for key in ["fsync", "fdatasync", "write_barrier"] {
            let every = self.value(key, what, parse, 0);
            if every > 0 {
                given.push((key, FlushSpec::Every(every)));
            }
        }
        for key in ["sync", "writefua"] {
            let value = self.job.get(key).map(|setting| setting.value.as_deref());
            if value.is_some_and(|value| !is_off(key, value)) {
                given.push((key, FlushSpec::Every(1)));
            }
        }
        for key in ["end_fsync", "fsync_on_close"] {
            if !self.flag(key) {
                continue;
            }
            if ends_itself {
                given.push((key, FlushSpec::End));
            } else if has_writes {
                self.remark(&[key], "the job ends by its time, without a flush behind its last request");
            }
        }
        let (key, first) = *given.first()?;
        if !has_writes {
            let reason = format!("job {} writes nothing, so nothing is flushed", self.job.name);
            self.remark(&[key], &reason);
            return None;
        }
        // A flush after each write includes all other rules.
        if given.iter().any(|(_, rule)| *rule == FlushSpec::Every(1)) {
            return Some(FlushSpec::Every(1));
        }
        if let Some((other, _)) = given.iter().find(|(_, rule)| *rule != first) {
            let message = format!("{key} and {other} together are not supported");
            self.fault(other, message, "both flush: give one of them");
            return None;
        }
        Some(first)
    }
}
