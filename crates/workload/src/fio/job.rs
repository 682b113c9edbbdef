//! The options of one job as streams of requests.

use base::units::{Bytes, Ratio, SECTOR, Span};

use super::Note;
use super::convert::note;
use super::file::{Job, Setting};
use super::value::{boolean, bytes, per_kind, percent, time, whole};
use crate::fault::Faults;
use crate::generate::{
    AddressSpec, Amount, FlushSpec, RegionSpec, SequentialSpec, SizeRange, SizeSpec, StreamSpec, ZoneSpec,
};

/// A parsed job.
#[derive(Debug)]
pub(super) struct Parsed {
    /// One stream per clone.
    pub(super) streams: Vec<StreamSpec>,
    /// Requests outstanding per clone.
    pub(super) depth: u32,
    /// Requests per second per clone.
    pub(super) rate: Option<f64>,
    pub(super) poisson: bool,
    pub(super) runtime: Option<Span>,
    /// The time before the measurement.
    pub(super) ramp: Option<Span>,
    pub(super) stonewall: bool,
}

/// Engines that wait for every request.
const SYNCHRONOUS: &[&str] =
    &["sync", "psync", "vsync", "pvsync", "pvsync2", "mmap", "splice", "libpmem", "dev-dax", "ime_psync"];
/// Engines that keep `iodepth` requests outstanding.
const ASYNCHRONOUS: &[&str] = &[
    "libaio",
    "io_uring",
    "io_uring_cmd",
    "posixaio",
    "solarisaio",
    "windowsaio",
    "sg",
    "null",
    "xnvme",
    "libblkio",
    "nbd",
    "rbd",
    "libiscsi",
    "spdk",
    "ime_aio",
];

/// The meaning of `rw`.
#[derive(Clone, Copy, Debug)]
struct Mode {
    random: bool,
    /// Shares of reads, writes and trims; `None` for the mix of `rwmixread`.
    shares: Option<[f64; 3]>,
    trim_first: bool,
    /// The number after the colon.
    suffix: Option<u64>,
}

/// Parses one job; `None` if it has faults.
pub(super) fn job(job: &Job, notes: &mut Vec<Note>, faults: &mut Faults) -> Option<Parsed> {
    let mut own = Faults::default();
    let parsed = Reader { job, notes, faults: &mut own, kb_base: 1024 }.read();
    let sound = own.len() == 0;
    faults.append(own);
    parsed.filter(|_| sound)
}

struct Reader<'a> {
    job: &'a Job,
    notes: &'a mut Vec<Note>,
    faults: &'a mut Faults,
    kb_base: u64,
}

impl<'a> Reader<'a> {
    fn read(&mut self) -> Option<Parsed> {
        self.kb_base = self.value("kb_base", "1000 or 1024", |t| whole(t).filter(|b| [1000, 1024].contains(b)), 1024);
        let mode = self.mode()?;
        // Parsed even if unused, as fio does, because it may be faulty.
        let mix = self.mix();
        let shares = mode.shares.unwrap_or(mix);
        let mixed = mode.shares.is_none();
        let sizes = self.sizes()?;
        let used = |kind: &usize| shares[*kind] > 0.0;
        let smallest = |kind: usize| sizes[kind].iter().map(|bar| bar.size.min).min().expect("a histogram has a bar");
        let kinds: Vec<usize> = (0..3).filter(used).collect();
        let min = kinds.iter().map(|kind| smallest(*kind)).min().expect("a job does something");
        let one_size =
            kinds.iter().all(|kind| sizes[*kind] == [SizeSpec { size: SizeRange::exactly(min), share: None }]);
        if mode.random && kinds.iter().any(|kind| smallest(*kind) != min) {
            let reason = format!("all random requests are aligned to the smallest size, {min}");
            self.remark(&["bssplit", "bsrange", "bs"], &reason);
        }
        let (address, sequential) = self.address(mode, &kinds, one_size)?;
        let align = self.align(&kinds)?.unwrap_or(min);
        let flush = self.flush(shares[1] > 0.0);
        let runtime = self.value("runtime", "a time such as 60 or 10m", |t| time(t).map(Some), None);
        let runtime = runtime.filter(|span| !span.is_zero());
        let ramp = self.value("ramp_time", "a time such as 60 or 10m", |t| time(t).map(Some), None);
        let ramp = ramp.filter(|span| !span.is_zero());
        let time_based = self.flag("time_based");
        if time_based && runtime.is_none() {
            self.fault("time_based", "the job would never end", "add runtime=");
        }
        let loops = self.value("loops", "a number of at least 1", |t| whole(t).filter(|n| *n > 0), 1);
        let requests =
            self.value("number_ios", "a number of at least 1", |t| whole(t).filter(|n| *n > 0).map(Some), None);
        if requests.is_some() && loops > 1 {
            self.fault(
                "loops",
                "loops and number_ios together are not supported",
                "multiply number_ios and delete loops",
            );
        }
        let total = (!time_based).then(|| self.total(loops)).flatten();
        let stream = StreamSpec {
            name: Some(self.job.name.clone()),
            share: None,
            requests,
            total,
            region: RegionSpec { start: self.amount("offset"), size: self.amount("size").filter(|size| !is_all(size)) },
            align: Some(align),
            reads: Ratio::new(shares[0]),
            discards: Ratio::new(shares[2]),
            sizes: Vec::new(),
            read_sizes: if used(&0) { sizes[0].clone() } else { Vec::new() },
            write_sizes: if used(&1) { sizes[1].clone() } else { Vec::new() },
            discard_sizes: if used(&2) { sizes[2].clone() } else { Vec::new() },
            address,
            sequential,
            flush,
            discard_first: mode.trim_first,
        };
        let rate = self.rate(mixed, &kinds);
        let poisson =
            self.value("rate_process", "linear or poisson", |t| ["linear", "poisson"].iter().position(|p| *p == t), 0)
                == 1;
        let depth = self.depth(rate.is_some());
        Some(Parsed {
            streams: self.clones(&stream)?,
            depth,
            rate,
            poisson,
            runtime,
            ramp,
            stonewall: self.flag("stonewall"),
        })
    }

    fn fault(&mut self, key: &str, message: impl Into<String>, remedy: impl Into<String>) {
        let path = match self.job.get(key) {
            Some(setting) => setting.path(),
            None => format!("line {}, [{}] {key}", self.job.line, self.job.name),
        };
        self.faults.add(path, message, remedy);
    }

    /// Adds a note about the first of `keys` that is given, or about the job.
    fn remark(&mut self, keys: &[&str], reason: &str) {
        let made = match keys.iter().find_map(|key| self.job.get(key)) {
            Some(setting) => note(setting, reason),
            None => Note {
                line: self.job.line,
                job: self.job.name.clone(),
                option: keys[0].to_owned(),
                reason: reason.to_owned(),
            },
        };
        self.notes.push(made);
    }

    /// The value of `key`, or `default`; a value that does not parse is a fault.
    fn value<T>(&mut self, key: &str, what: &str, parse: impl Fn(&str) -> Option<T>, default: T) -> T {
        let Some(setting) = self.job.get(key) else { return default };
        match setting.value.as_deref().and_then(parse) {
            Some(value) => value,
            None => {
                self.wrong(setting, what);
                default
            }
        }
    }

    fn wrong(&mut self, setting: &Setting, what: &str) {
        let message = match &setting.value {
            Some(value) => format!("`{value}` is not {what}"),
            None => "the option has no value".to_owned(),
        };
        self.faults.add(setting.path(), message, format!("write {what}"));
    }

    fn flag(&mut self, key: &str) -> bool {
        let Some(setting) = self.job.get(key) else { return false };
        boolean(setting.value.as_deref()).unwrap_or_else(|| {
            self.wrong(setting, "0 or 1");
            false
        })
    }

    fn mode(&mut self) -> Option<Mode> {
        const MODES: &str =
            "one of read, write, trim, randread, randwrite, randtrim, rw, randrw, trimwrite, randtrimwrite";
        let text = self.job.get("rw").map_or(Some("read"), |setting| setting.value.as_deref()).unwrap_or("");
        let (word, suffix) = text.split_once(':').map_or((text, None), |(word, suffix)| (word, Some(suffix)));
        let (random, kind) = match word {
            "readwrite" => (false, "rw"),
            _ => word.strip_prefix("rand").map_or((false, word), |kind| (true, kind)),
        };
        let (shares, trim_first) = match kind {
            "read" => (Some([1.0, 0.0, 0.0]), false),
            "write" => (Some([0.0, 1.0, 0.0]), false),
            "trim" => (Some([0.0, 0.0, 1.0]), false),
            "rw" => (None, false),
            "trimwrite" => (Some([0.0, 1.0, 0.0]), true),
            _ => {
                self.fault("rw", format!("`{word}` is not a pattern that is supported"), format!("write {MODES}"));
                return None;
            }
        };
        let suffix = match suffix {
            None => None,
            Some(_) if !random => {
                self.fault("rw", "sequential requests with holes are not supported", "delete what follows the colon");
                return None;
            }
            Some(text) => match whole(text).filter(|n| (1..=u64::from(u32::MAX)).contains(n)) {
                Some(n) => Some(n),
                None => {
                    self.fault("rw", format!("`{text}` is not a number of requests"), "write e.g. rw=randread:8");
                    return None;
                }
            },
        };
        Some(Mode { random, shares, trim_first, suffix })
    }

    /// The mix of reads and writes; the later of two contradicting options wins.
    fn mix(&mut self) -> [f64; 3] {
        let what = "a percentage between 0 and 100";
        let reads = self.value("rwmixread", what, |t| percent(t).map(Some), None);
        let writes = self.value("rwmixwrite", what, |t| percent(t).map(Some), None);
        let line = |key| self.job.get(key).map_or(0, |setting| setting.line);
        let reads = match (reads, writes) {
            (Some(_), Some(writes)) if line("rwmixwrite") > line("rwmixread") => 100.0 - writes,
            (Some(reads), _) => reads,
            (None, Some(writes)) => 100.0 - writes,
            (None, None) => 50.0,
        } / 100.0;
        [reads, 1.0 - reads, 0.0]
    }

    /// The histograms of sizes of reads, writes and trims: `bssplit`, or the later of `bs` and `bsrange`.
    fn sizes(&mut self) -> Option<[Vec<SizeSpec>; 3]> {
        let kb_base = self.kb_base;
        let size = move |text: &str| bytes(text, kb_base).filter(|n| *n > 0).map(Bytes::new);
        let exactly = |size| vec![SizeSpec { size: SizeRange::exactly(size), share: None }];
        let default = exactly(Bytes::new(4096));
        let range = |text: &str| {
            let (min, max) = text.split_once(['-', ':'])?;
            let (min, max) = (size(min)?, size(max)?);
            let size = SizeRange { min: min.min(max), max: min.max(max) };
            Some(vec![SizeSpec { size, share: None }])
        };
        let line = |key| self.job.get(key).map(|setting| setting.line);
        let sizes = if line("bssplit").is_some() {
            let split = |text: &str| {
                let parts = shared(text)?;
                let bar = |(text, share): (&str, f64)| Some((SizeRange::exactly(size(text)?), Ratio::new(share)));
                let bars = parts.into_iter().map(bar).collect::<Option<Vec<_>>>()?;
                Some(bars.into_iter().map(|(size, share)| SizeSpec { size, share: Some(share) }).collect())
            };
            let what = "sizes with percentages that sum to 100, e.g. 4k/70:64k/30";
            self.value("bssplit", what, |t| per_kind(t, &default, split), Default::default())
        } else if line("bsrange") > line("bs") {
            let what = "a range of sizes, e.g. 4k-64k";
            self.value("bsrange", what, |t| per_kind(t, &default, range), Default::default())
        } else {
            let every = [default.clone(), default.clone(), default.clone()];
            self.value("bs", "a size, e.g. 4k", |t| per_kind(t, &default, |t| size(t).map(exactly)), every)
        };
        let key = ["bssplit", "bsrange", "bs"].into_iter().find(|key| line(key).is_some()).unwrap_or("bs");
        for bar in sizes.iter().flatten() {
            let SizeRange { min, max } = bar.size;
            if min.sectors().is_none() || max.sectors().is_none() {
                self.fault(key, "a size is not a multiple of a sector", "write multiples of 512");
                return None;
            }
            if !max.get().is_multiple_of(min.get()) {
                let message = format!("{max} is not a multiple of {min}, and no request can have this size");
                self.fault(key, message, "write a multiple of the smallest size");
                return None;
            }
        }
        sizes.iter().all(|bars| !bars.is_empty()).then_some(sizes)
    }

    /// `blockalign`, which must be equal for all kinds in use.
    fn align(&mut self, kinds: &[usize]) -> Option<Option<Bytes>> {
        let kb_base = self.kb_base;
        let parse = |text: &str| bytes(text, kb_base).filter(|n| *n > 0 && n.is_multiple_of(SECTOR.get())).map(Some);
        let aligns = self.value("blockalign", "a multiple of 512", |t| per_kind(t, &None, parse), [None; 3]);
        let first = aligns[kinds[0]];
        if kinds.iter().any(|kind| aligns[*kind] != first) {
            self.fault("blockalign", "different alignments for reads and writes are not supported", "write one value");
            return None;
        }
        Some(first.map(Bytes::new))
    }

    /// The address pattern and the sequential runs.
    fn address(
        &mut self,
        mode: Mode,
        kinds: &[usize],
        one_size: bool,
    ) -> Option<(AddressSpec, Option<SequentialSpec>)> {
        if !mode.random {
            return Some((AddressSpec::Sequential { streams: 1 }, None));
        }
        let parse = |text: &str| per_kind(text, &100.0, percent);
        let random = self.value("percentage_random", "a percentage between 0 and 100", parse, [100.0; 3]);
        let share = random[kinds[0]];
        if kinds.iter().any(|kind| (random[*kind] - share).abs() > 1e-9) {
            let message = "different percentages for reads and writes are not supported";
            self.fault("percentage_random", message, "write one percentage, or two jobs");
            return None;
        }
        let runs = self.runs(mode)?;
        if runs.is_some() && share < 100.0 {
            let message = "percentage_random together with a number after rw is not supported";
            self.fault("percentage_random", message, "delete one of the two");
            return None;
        }
        let pattern = self.distribution()?;
        if share <= 0.0 {
            return Some((AddressSpec::Sequential { streams: 1 }, None));
        }
        let sequential =
            if share < 100.0 { Some(SequentialSpec::Share(Ratio::new(1.0 - share / 100.0))) } else { runs };
        // fio's map of visited blocks is on by default, but only for uniformly distributed offsets.
        let mapped = !self.flag("norandommap") && self.job.get("blockalign").is_none();
        let address = match pattern {
            Some(skewed) => skewed,
            None if !mapped => AddressSpec::Uniform {},
            None if one_size && sequential.is_none() => AddressSpec::Shuffled {},
            None => {
                let reason = "a pass may visit a block more than once: only requests of one size without runs have a \
                              map of visited blocks";
                self.remark(&["norandommap", "rw"], reason);
                AddressSpec::Uniform {}
            }
        };
        Some((address, sequential))
    }

    /// The runs of `rw=randread:8`.
    fn runs(&mut self, mode: Mode) -> Option<Option<SequentialSpec>> {
        let identical = self.value(
            "rw_sequencer",
            "sequential or identical",
            |t| ["sequential", "identical"].iter().position(|s| *s == t),
            0,
        ) == 1;
        let Some(n) = mode.suffix.filter(|n| *n > 1) else { return Some(None) };
        if identical {
            self.fault("rw_sequencer", "a repeated offset is not supported", "write rw_sequencer=sequential");
            return None;
        }
        Some(Some(SequentialSpec::Runs([n as u32, n as u32])))
    }

    /// The pattern of `random_distribution`; the inner `None` is a uniform one.
    fn distribution(&mut self) -> Option<Option<AddressSpec>> {
        const WHAT: &str = "random, zipf:theta, pareto:power, or zoned:access/space:...";
        let Some(setting) = self.job.get("random_distribution") else { return Some(None) };
        let text = setting.value.as_deref().unwrap_or("");
        let (word, rest) = text.split_once(':').unwrap_or((text, ""));
        let number = |valid: fn(f64) -> bool| {
            let plain = !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit() || b == b'.');
            rest.parse().ok().filter(|x: &f64| plain && valid(*x))
        };
        let pattern = match word {
            "random" if rest.is_empty() => return Some(None),
            "zipf" => number(|x| x > 0.0).map(|theta| AddressSpec::Zipf { theta, scrambled: true }),
            "pareto" => number(|x| x > 0.0 && x < 1.0).map(|power| AddressSpec::Pareto { power, scrambled: true }),
            "zoned" => zones(rest).map(|zones| AddressSpec::Zoned { zones, scrambled: false }),
            _ => None,
        };
        if pattern.is_none() {
            self.faults.add(setting.path(), format!("`{text}` is not supported"), format!("write {WHAT}"));
        }
        pattern.map(Some)
    }

    fn flush(&mut self, writes: bool) -> Option<FlushSpec> {
        let what = "a number of writes";
        let parse = |t: &str| whole(t).and_then(|n| u32::try_from(n).ok());
        let (sync, data) = (self.value("fsync", what, parse, 0), self.value("fdatasync", what, parse, 0));
        if sync > 0 && data > 0 {
            self.fault("fdatasync", "fsync and fdatasync together are not supported", "both flush: give one of them");
            return None;
        }
        let every = sync.max(data);
        if every > 0 && !writes {
            self.remark(
                &["fsync", "fdatasync"],
                &format!("job {} writes nothing, so nothing is flushed", self.job.name),
            );
            return None;
        }
        (every > 0).then_some(FlushSpec::Every(every))
    }

    /// A size in bytes, or a percentage.
    fn amount(&mut self, key: &str) -> Option<Amount> {
        let kb_base = self.kb_base;
        let parse = move |text: &str| match text.trim().strip_suffix('%') {
            Some(number) => percent(number).map(|p| Some(Amount::Share(Ratio::new(p / 100.0)))),
            None => bytes(text, kb_base).map(|n| Some(Amount::Bytes(Bytes::new(n)))),
        };
        self.value(key, "a size such as 10g, or a percentage", parse, None)
    }

    /// The amount that one job transfers: `io_size` or the size of its region, for every loop.
    fn total(&mut self, loops: u64) -> Option<Amount> {
        match self.amount("io_size") {
            Some(Amount::Bytes(bytes)) => match bytes.get().checked_mul(loops) {
                Some(total) => Some(Amount::Bytes(Bytes::new(total))),
                None => {
                    self.fault("loops", "more bytes than a counter of 64 bits holds", "write fewer loops");
                    None
                }
            },
            Some(Amount::Share(share)) => Some(Amount::Share(Ratio::new(share.get() * loops as f64))),
            None => Some(Amount::Share(Ratio::new(loops as f64))),
        }
    }

    fn rate(&mut self, mixed: bool, kinds: &[usize]) -> Option<f64> {
        let kb_base = self.kb_base;
        let parse = |text: &str| per_kind(text, &None, |part| bytes(part, kb_base).filter(|n| *n > 0).map(Some));
        let rates = self.value("rate_iops", "a number of requests per second", parse, [None; 3]);
        if mixed && rates.iter().any(Option::is_some) {
            let message = "fio caps reads and writes separately, which would distort the mix: not supported";
            let remedy = "write a job of reads and a job of writes with rate_process=poisson, or a TOML workload";
            self.fault("rate_iops", message, remedy);
            return None;
        }
        rates[kinds[0]].map(|rate| rate as f64)
    }

    fn depth(&mut self, rated: bool) -> u32 {
        let parse = |t: &str| whole(t).and_then(|n| u32::try_from(n).ok()).filter(|n| (1..=65_536).contains(n));
        let depth = self.value("iodepth", "a number between 1 and 65536", parse, 1);
        let engine = self.job.get("ioengine").map(|setting| setting.value.as_deref().unwrap_or(""));
        let synchronous = engine.is_some_and(|engine| SYNCHRONOUS.contains(&engine));
        if let Some(engine) = engine.filter(|engine| !synchronous && !ASYNCHRONOUS.contains(engine)) {
            let message = format!("the engine `{engine}` does not read and write a block device: not supported");
            self.fault("ioengine", message, "write libaio, io_uring or another engine for block devices");
        }
        if rated {
            let reason = "requests arrive at their rate whatever the device does; the depth does not hold them back";
            self.remark(&["rate_iops"], reason);
        } else if synchronous && depth > 1 {
            self.remark(&["iodepth"], "a synchronous engine keeps one request outstanding, whatever the depth");
            return 1;
        } else if engine.is_none() && depth > 1 {
            let reason = format!("{depth} requests outstanding as written, although fio's default engine keeps one");
            self.remark(&["iodepth"], &reason);
        }
        depth
    }

    /// The clones of `numjobs`, each shifted by `offset_increment`.
    fn clones(&mut self, stream: &StreamSpec) -> Option<Vec<StreamSpec>> {
        let parse = |t: &str| whole(t).filter(|n| (1..=4096).contains(n));
        let clones = self.value("numjobs", "a number between 1 and 4096", parse, 1);
        let increment = self.amount("offset_increment");
        let mut made = Vec::with_capacity(clones as usize);
        for i in 0..clones {
            let mut clone = stream.clone();
            clone.region.start = match (stream.region.start, increment) {
                (start, None) => start,
                (None, Some(Amount::Bytes(step))) => Some(Amount::Bytes(Bytes::new(step.get().checked_mul(i)?))),
                (None, Some(Amount::Share(step))) => Some(Amount::Share(Ratio::new(step.get() * i as f64))),
                (Some(Amount::Bytes(start)), Some(Amount::Bytes(step))) => {
                    Some(Amount::Bytes(Bytes::new(start.get().checked_add(step.get().checked_mul(i)?)?)))
                }
                (Some(Amount::Share(start)), Some(Amount::Share(step))) => {
                    Some(Amount::Share(Ratio::new(start.get() + step.get() * i as f64)))
                }
                _ => {
                    let message = "a percentage and a number of bytes cannot be added";
                    self.fault("offset_increment", message, "write offset and offset_increment alike");
                    return None;
                }
            };
            made.push(clone);
        }
        Some(made)
    }
}

/// True for 100 %.
fn is_all(amount: &Amount) -> bool {
    matches!(amount, Amount::Share(share) if share.get() >= 1.0)
}

/// Items with percentages, `a/70:b/30`; blank ones share the remainder equally. `None` unless they sum to 100.
fn shared(text: &str) -> Option<Vec<(&str, f64)>> {
    let mut parts = Vec::new();
    for part in text.split(':') {
        let (thing, share) = part.split_once('/').unwrap_or((part, ""));
        parts.push((thing, if share.trim().is_empty() { None } else { Some(percent(share)?) }));
    }
    let given: f64 = parts.iter().filter_map(|(_, share)| *share).sum();
    let blanks = parts.iter().filter(|(_, share)| share.is_none()).count();
    let each = if blanks > 0 { (100.0 - given) / blanks as f64 } else { 0.0 };
    let fits = if blanks > 0 { each >= 0.0 } else { (given - 100.0).abs() < 1e-6 };
    fits.then(|| parts.into_iter().map(|(thing, share)| (thing, share.unwrap_or(each) / 100.0)).collect())
}

/// The zones of `zoned:60/10:30/20:10/`: shares of the requests over shares of the space.
fn zones(text: &str) -> Option<Vec<ZoneSpec>> {
    let zone = |(access, space): (&str, f64)| {
        Some(ZoneSpec { space: Ratio::new(space), access: Ratio::new(percent(access)? / 100.0) })
    };
    let zones: Vec<ZoneSpec> = shared(text)?.into_iter().map(zone).collect::<Option<_>>()?;
    let access: f64 = zones.iter().map(|zone| zone.access.get()).sum();
    ((access - 1.0).abs() < 1e-6).then_some(zones)
}
