//! Turns a description into a generator: checks every value against the others and the device, and reports all faults
//! at once.

use base::engine::Rng;
use base::units::{Bytes, Ratio, SECTOR, Sectors, Span, Time};

use super::address::{AddressZone, Addresses, Pattern, Units};
use super::arrivals::{Arrivals, Process, mean_burst};
use super::generator::{DrawnRequests, Generator};
use super::permute::Permutation;
use super::placement::PlacementTurns;
use super::quantity::Amount;
use super::sizes::{Bar, Sizes};
use super::spec::{
    AddressSpec, ArrivalSpec, FlushSpec, GeneratorSpec, SequentialSpec, SizeSpec, StreamSpec, StrideOrder, ThinkSpec,
};
use super::stream::{Continue, Flushes, Kinds, RemainingLimits, Runs, Stream};
use super::stride::{Stride, ZoneLayout};
use super::zipf::Zipf;
use crate::Think;
use crate::fault::Faults;
use base::fault::Fault;

/// The maximum number of sequences of a stream, because each takes memory.
const MOST_SEQUENCES: u32 = 1 << 20;

impl GeneratorSpec {
    /// Checks the description against a device of `capacity` sectors.
    ///
    /// # Errors
    /// All faults at once, each with its path in the file and the remedy.
    pub fn validate(&self, capacity: Sectors) -> Result<(), Vec<Fault>> {
        generator(self, capacity, 0).map(|_| ())
    }
}

/// Builds the generator, or returns all faults of the description.
pub(super) fn generator(spec: &GeneratorSpec, capacity: Sectors, seed: u64) -> Result<Generator, Vec<Fault>> {
    let mut faults = Faults::default();
    if let Some((message, remedy)) = base::fault::wrong_name(&spec.name) {
        faults.add("name", message, remedy);
    }
    for fault in spec.measured().conflicts() {
        faults.add(fault.path, fault.message, fault.remedy);
    }
    let process = arrivals(&spec.arrivals, &mut faults);
    let left = RemainingLimits {
        requests: positive("requests", spec.requests, &mut faults),
        sectors: limit("total", spec.total, capacity.get(), &mut faults),
    };
    if spec.duration.is_some_and(base::units::Span::is_zero) {
        faults.add("duration", "a duration of zero", "write a time above zero, or leave it out");
    }
    if spec.streams.is_empty() {
        faults.add("stream", "there is no stream: the workload would issue no request", "add a [[stream]] table");
    }
    let endless = |stream: &StreamSpec| stream.requests.is_none() && stream.total.is_none();
    let limited = left.requests.is_some() || left.sectors.is_some() || spec.duration.is_some();
    if !limited && let Some(i) = spec.streams.iter().position(endless) {
        let message = format!("the workload never ends: neither the workload nor stream[{i}] has a limit");
        faults.add("requests", message, "give `requests`, `duration` or `total`");
    }
    let weights = weights(&spec.streams, &mut faults);
    let mut streams = Vec::with_capacity(spec.streams.len());
    for (i, stream) in spec.streams.iter().enumerate() {
        let mut scope = Scope { path: format!("stream[{i}]"), faults: &mut faults, seed, index: i };
        streams.extend(scope.stream(stream, capacity, weights[i]));
    }
    let start = spec.start.unwrap_or_default();
    let think = think(spec, &mut faults);
    let Some(process) = process else { return Err(faults.or(()).expect_err("arrivals were at fault")) };
    streams.retain(|stream| stream.weight > 0.0);
    let generator = Generator {
        weight: streams.iter().map(|stream| stream.weight).sum(),
        streams,
        choice: Rng::stream(seed, "workload.streams"),
        arrivals: Arrivals::new(process, Rng::stream(seed, "workload.arrivals")),
        left,
        duration: spec.duration.map(|duration| end(start, duration)),
        start,
        think,
        with: [None; 2],
        now: Time::ZERO,
        ahead: DrawnRequests::default(),
    };
    faults.or(generator)
}

/// The end of a workload of this duration that begins after `start`.
fn end(start: Span, duration: Span) -> Span {
    Span::from_ps(start.as_ps().saturating_add(duration.as_ps()))
}

/// The pauses, which only a closed loop has.
fn think(spec: &GeneratorSpec, faults: &mut Faults) -> Option<Think> {
    let ThinkSpec { time, every } = spec.think?;
    if !matches!(spec.arrivals, ArrivalSpec::Closed { .. }) {
        let message = "has no effect: these arrivals do not wait for completions";
        faults.add("think", message, "leave it out, or write arrivals = { kind = \"closed\", depth = 1 }");
    }
    if every == 0 {
        faults.add("think.every", "a pause after every zero requests", "write at least 1");
    }
    (!time.is_zero()).then_some(Think { time, every })
}

fn arrivals(spec: &ArrivalSpec, faults: &mut Faults) -> Option<Process> {
    match *spec {
        ArrivalSpec::Closed { depth: 0 } => {
            faults.add("arrivals.depth", "a depth of zero issues no request", "write at least 1");
            None
        }
        ArrivalSpec::Closed { depth } if depth > crate::source::MOST_DEPTH => {
            let message = format!("{depth} requests outstanding at once");
            faults.add("arrivals.depth", message, format!("write 1 to {}", crate::source::MOST_DEPTH));
            None
        }
        ArrivalSpec::Closed { depth } => Some(Process::Closed { depth }),
        ArrivalSpec::Fixed { rate } => Some(Process::Fixed { gap: 1e12 / rate.per_second() }),
        ArrivalSpec::Poisson { rate } => Some(Process::Poisson { gap: 1e12 / rate.per_second() }),
        ArrivalSpec::Bursts { length, gap, rate } => {
            if !(1e-3..=1e9).contains(&length) {
                faults.add(
                    "arrivals.length",
                    format!("bursts of {length} requests"),
                    "write a number above zero, 0.001 to 1e9",
                );
                return None;
            }
            let process = Process::bursts(length, gap, rate.per_second());
            if process.is_none() {
                let most = mean_burst(length) / ((mean_burst(length) - 1.0) * gap.as_secs_f64());
                let message = format!("{rate} cannot be reached with gaps of {gap} inside bursts");
                let remedy = if most >= 0.001 {
                    format!("write less than {most:.3}/s, or shorten `gap`")
                } else {
                    "shorten `gap`, or write a smaller `length`".to_owned()
                };
                faults.add("arrivals.rate", message, remedy);
            }
            process
        }
    }
}

/// A limit that must be above zero if given.
fn positive(path: impl Into<String>, value: Option<u64>, faults: &mut Faults) -> Option<u64> {
    if value == Some(0) {
        faults.add(path, "a limit of zero requests", "write at least 1, or leave it out");
    }
    value
}

/// A limit in sectors; a share is of `whole` sectors.
fn limit(path: impl Into<String>, value: Option<Amount>, whole: u64, faults: &mut Faults) -> Option<u64> {
    let sectors = match value? {
        Amount::Bytes(bytes) => bytes.get().div_ceil(SECTOR.get()),
        Amount::Share(share) => (whole as f64 * share.get()).round() as u64,
    };
    if sectors == 0 {
        faults.add(path, "a limit of zero bytes", "write at least a sector of 512B, or leave it out");
    }
    Some(sectors)
}

/// True if the shares sum to one, within the rounding of their texts.
fn whole(sum: f64) -> bool {
    (sum - 1.0).abs() < 1e-6
}

fn percent(share: f64) -> String {
    Ratio::new(share).to_string()
}

fn weights(streams: &[StreamSpec], faults: &mut Faults) -> Vec<f64> {
    let given = streams.iter().filter(|stream| stream.share.is_some()).count();
    if given == 0 {
        return vec![1.0; streams.len()];
    }
    let weights: Vec<f64> = streams.iter().map(|stream| stream.share.map_or(0.0, Ratio::get)).collect();
    let sum: f64 = weights.iter().sum();
    if let Some(i) = streams.iter().position(|stream| stream.share.is_none()) {
        let path = format!("stream[{i}].share");
        faults.add(path, "this stream has no share and another has", "give every stream a share, or none");
    } else if !whole(sum) {
        let message = format!("the shares of the streams sum to {}", percent(sum));
        faults.add("stream[..].share", message, "make them sum to 100%");
    }
    weights
}

/// A stream and its place in the file.
struct Scope<'a> {
    path: String,
    faults: &'a mut Faults,
    seed: u64,
    index: usize,
}

impl Scope<'_> {
    fn add(&mut self, key: &str, message: impl Into<String>, remedy: impl Into<String>) {
        self.faults.add(format!("{}.{key}", self.path), message, remedy);
    }

    /// The random stream for one purpose.
    fn rng(&self, purpose: &str) -> Rng {
        Rng::stream(self.seed, &format!("workload.{purpose}.{}", self.index))
    }

    fn stream(&mut self, spec: &StreamSpec, capacity: Sectors, weight: f64) -> Option<Stream> {
        let faults = self.faults.len();
        let (reads, discards) = (spec.reads.get(), spec.discards.get());
        if reads + discards > 1.0 + 1e-9 {
            let message = format!("reads and discards sum to {}", percent(reads + discards));
            self.add("reads", message, "make them sum to at most 100%; the rest is writes");
        }
        let shares = [reads, (1.0 - reads - discards).max(0.0), discards].map(|s| if s < 1e-9 { 0.0 } else { s });
        let align = self.align(spec);
        let own = [&spec.read_sizes, &spec.write_sizes, &spec.discard_sizes];
        let keys = ["read_sizes", "write_sizes", "discard_sizes"];
        let mut sizes = [None, None, None];
        for kind in 0..3 {
            let (key, bars) = if own[kind].is_empty() { ("sizes", &spec.sizes) } else { (keys[kind], own[kind]) };
            // The histogram for all kinds is checked once, for the first kind that uses it.
            let again = key == "sizes" && (0..kind).any(|k| shares[k] > 0.0 && own[k].is_empty());
            if shares[kind] > 0.0 {
                let before = self.faults.len();
                let checked = self.sizes(key, bars, align, self.rng(keys[kind]));
                if again {
                    self.faults.truncate(before);
                }
                sizes[kind] = checked;
            }
        }
        self.flags(spec, shares[1]);
        let units = self.region(spec, capacity, align)?;
        let ends = |pick: fn(&Sizes) -> u64| sizes.iter().flatten().map(pick);
        let (smallest, largest) = (ends(Sizes::min).min(), ends(Sizes::max).max());
        let pattern = self.pattern(&spec.address, units, smallest.unwrap_or(1), largest.unwrap_or(1));
        let left = RemainingLimits {
            requests: positive(format!("{}.requests", self.path), spec.requests, self.faults),
            sectors: limit(format!("{}.total", self.path), spec.total, units.sectors(), self.faults),
        };
        let stream = Stream {
            weight,
            kinds: Kinds::new(shares, self.rng("kinds")),
            sizes,
            addresses: Addresses::new(units, pattern?, self.rng("address")),
            runs: Runs::new(self.runs(spec), self.rng("runs")),
            flushes: self.flushes(spec.flush),
            discard_first: spec.discard_first,
            placements: PlacementTurns::new(spec.placement.as_ref()),
            left,
        };
        (self.faults.len() == faults).then_some(stream)
    }

    /// The size of an address unit in sectors; one if it is faulty.
    fn align(&mut self, spec: &StreamSpec) -> u64 {
        if let Some(align) = spec.align {
            return match align.sectors() {
                Some(sectors) if !sectors.is_zero() => sectors.get(),
                _ => {
                    self.add("align", format!("{align} is not a multiple of a sector"), "write a multiple of 512B");
                    1
                }
            };
        }
        let used = [
            (spec.reads.get() > 0.0, &spec.read_sizes),
            (spec.reads.get() + spec.discards.get() < 1.0, &spec.write_sizes),
            (spec.discards.get() > 0.0, &spec.discard_sizes),
        ];
        let histograms = used.into_iter().filter(|(used, _)| *used);
        let bars = histograms.flat_map(|(_, own)| if own.is_empty() { &spec.sizes } else { own });
        bars.map(|bar| bar.size.min.get() / SECTOR.get()).filter(|s| *s > 0).min().unwrap_or(1)
    }

    fn sizes(&mut self, key: &str, specs: &[SizeSpec], align: u64, rng: Rng) -> Option<Sizes> {
        let before = self.faults.len();
        if specs.is_empty() {
            self.add(key, "no sizes", "add a list such as [{ size = \"4KiB\" }]");
            return None;
        }
        let mut bars = Vec::with_capacity(specs.len());
        for (i, spec) in specs.iter().enumerate() {
            bars.extend(self.bar(&format!("{key}[{i}]"), spec, specs.len() == 1, align));
        }
        let sum: f64 = bars.iter().map(|bar| bar.share).sum();
        if self.faults.len() > before {
            return None;
        }
        if !whole(sum) {
            self.add(key, format!("the shares sum to {}", percent(sum)), "make them sum to 100%");
            return None;
        }
        Some(Sizes::new(bars, rng))
    }

    fn bar(&mut self, key: &str, spec: &SizeSpec, only: bool, align: u64) -> Option<Bar> {
        let share = match spec.share {
            Some(share) => share.get(),
            None if only => 1.0,
            None => {
                self.add(&format!("{key}.share"), "one of the sizes has no share", "give each size a share");
                return None;
            }
        };
        let mut sectors = |size: Bytes| match size.sectors() {
            Some(sectors) if !sectors.is_zero() => Some(sectors.get()),
            _ => {
                let message = format!("{size} is zero, or not a multiple of a sector");
                self.add(&format!("{key}.size"), message, "write a multiple of 512B");
                None
            }
        };
        let min = sectors(spec.size.min)?;
        let max = if spec.size.max == spec.size.min { min } else { sectors(spec.size.max)? };
        if !(max - min).is_multiple_of(align) {
            let message = format!("the length of the range {} is not a multiple of `align`", spec.size);
            let step = Bytes::new(align * SECTOR.get());
            self.add(&format!("{key}.size"), message, format!("move an end to a step of {step}, or change `align`"));
            return None;
        }
        Some(Bar { min, count: (max - min) / align + 1, step: align, share })
    }

    fn region(&mut self, spec: &StreamSpec, capacity: Sectors, align: u64) -> Option<Units> {
        let whole = capacity.get();
        let mut sectors = |key: &str, amount: Amount| match amount {
            Amount::Share(share) => Some((whole as f64 * share.get()) as u64 / align * align),
            Amount::Bytes(bytes) => {
                let sectors = bytes.sectors().map(Sectors::get);
                if sectors.is_none() {
                    self.add(key, format!("{bytes} is not a multiple of a sector"), "write a multiple of 512B");
                }
                sectors
            }
        };
        let start = spec.region.start.map_or(Some(0), |amount| sectors("region.start", amount))?;
        let size = match spec.region.size {
            Some(amount) => sectors("region.size", amount)?,
            None => whole.saturating_sub(start),
        };
        let end = start.checked_add(size).filter(|end| *end <= whole);
        if end.is_none() || start >= whole {
            let room = Bytes::new(whole * SECTOR.get());
            let message = format!("the region ends beyond the capacity of {room}");
            let key = if spec.region.size.is_some() { "region.size" } else { "region.start" };
            self.add(key, message, "make it smaller, or leave `size` out to use everything after `start`");
            return None;
        }
        let units = Units { start, count: size / align, length: align };
        if units.count == 0 {
            let message = format!("the region of {} is smaller than `align`", Bytes::new(size * SECTOR.get()));
            self.add("region", message, format!("make it at least {}", Bytes::new(align * SECTOR.get())));
            return None;
        }
        Some(units)
    }

    fn flags(&mut self, spec: &StreamSpec, writes: f64) {
        let sequence = matches!(
            spec.address,
            AddressSpec::Sequential { .. } | AddressSpec::Shuffled {} | AddressSpec::Strided { .. }
        );
        if spec.sequential.is_some() && sequence {
            let message = "runs have no effect: this pattern fixes the order of addresses";
            self.add("sequential", message, "delete it, or choose another pattern");
        }
        match spec.sequential {
            Some(SequentialSpec::Share(p)) if p.get() > 1.0 => {
                self.add("sequential.share", format!("a probability of {p}"), "write at most 100%");
            }
            Some(SequentialSpec::Runs([min, max])) if min == 0 || min > max => {
                let message = format!("runs of {min} to {max} requests");
                self.add("sequential.runs", message, "write [shortest, longest] with at least 1 each");
            }
            _ => {}
        }
        match spec.flush {
            Some(FlushSpec::Every(0)) => self.add("flush.every", "a flush after every zero writes", "write at least 1"),
            Some(FlushSpec::Share(p)) if p.get() > 1.0 => {
                self.add("flush.share", format!("a probability of {p}"), "write at most 100%");
            }
            Some(FlushSpec::End) if spec.requests.is_none() && spec.total.is_none() => {
                self.add("flush", "the stream has no end of its own", "give it `requests` or `total`");
            }
            _ => {}
        }
        if writes <= 0.0 && (spec.flush.is_some() || spec.discard_first) {
            let key = if spec.flush.is_some() { "flush" } else { "discard_first" };
            self.add(key, "the stream has no writes", "delete it, or lower `reads` and `discards`");
        }
        if let Some(ids) = &spec.placement {
            if writes <= 0.0 {
                let message = "the stream has no writes, and other requests carry no identifier";
                self.add("placement-id", message, "delete it, or lower `reads` and `discards`");
            } else if ids.as_slice().is_empty() {
                self.add("placement-id", "the list is empty", "write an identifier such as 1, or delete the key");
            }
        }
    }

    fn runs(&self, spec: &StreamSpec) -> Continue {
        match spec.sequential {
            None => Continue::Never,
            Some(SequentialSpec::Share(p)) => Continue::Chance(p.get()),
            Some(SequentialSpec::Runs([min, max])) => Continue::Runs { min: min.max(1), max: max.max(min).max(1) },
        }
    }

    fn flushes(&self, spec: Option<FlushSpec>) -> Flushes {
        match spec {
            None => Flushes::Never,
            Some(FlushSpec::Every(every)) => Flushes::Every { every, left: every },
            Some(FlushSpec::End) => Flushes::End,
            Some(FlushSpec::Share(p)) => Flushes::Chance { p: p.get(), rng: self.rng("flushes") },
        }
    }

    fn spread(&self, scrambled: bool, units: Units) -> Option<Permutation> {
        scrambled.then(|| Permutation::new(units.count, &mut self.rng("scramble")))
    }

    fn pattern(&mut self, spec: &AddressSpec, units: Units, smallest: u64, largest: u64) -> Option<Pattern> {
        let size = |sectors: u64| Bytes::new(sectors * SECTOR.get());
        let before = self.faults.len();
        // The number of sectors that must hold a single request, and the key that sets it.
        let mut room = (units.sectors(), "region");
        let pattern = match spec {
            AddressSpec::Uniform {} => Pattern::Uniform,
            AddressSpec::Shuffled {} => {
                if smallest != largest || smallest != units.length {
                    let message = "a shuffled pattern needs requests of one size, equal to `align`";
                    self.add("address.pattern", message, "give one size and leave `align` out, or use \"uniform\"");
                }
                Pattern::shuffled(units, &mut self.rng("shuffle"))
            }
            AddressSpec::Sequential { streams: 0 } => {
                self.add("address.streams", "is 0", "write at least 1");
                return None;
            }
            AddressSpec::Sequential { streams } if *streams > MOST_SEQUENCES => {
                let message = format!("{streams} sequences");
                self.add("address.streams", message, format!("write 1 to {MOST_SEQUENCES}"));
                return None;
            }
            AddressSpec::Sequential { streams } => {
                room = (units.count / u64::from(*streams) * units.length, "address.streams");
                // Slices too small for any request are refused below; a single slice is built, not millions of them.
                Pattern::sequential(units, if largest > room.0 { 1 } else { *streams })
            }
            AddressSpec::Zipf { theta, scrambled } => {
                if !(1e-6..=100.0).contains(theta) {
                    self.add(
                        "address.theta",
                        format!("a skew of {theta}"),
                        "write a number above zero, 0.000001 to 100, e.g. 0.99",
                    );
                    return None;
                }
                Pattern::Zipf { ranks: Zipf::new(units.count, *theta), spread: self.spread(*scrambled, units) }
            }
            AddressSpec::Pareto { power, scrambled } => {
                if !(*power > 0.0 && *power < 1.0) {
                    self.add("address.power", format!("a power of {power}"), "write a number between 0 and 1");
                    return None;
                }
                Pattern::pareto(*power, self.spread(*scrambled, units))
            }
            AddressSpec::HotCold { hot_space, hot_access, scrambled } => {
                let (space, access) = (hot_space.get(), hot_access.get());
                if space > 1.0 || access > 1.0 {
                    self.add("address", "the hot share exceeds 100%", "write at most 100%");
                    return None;
                }
                let zones = [(space, access), (1.0 - space, 1.0 - access)];
                self.zones("address.hot_space", &zones, *scrambled, units)?
            }
            AddressSpec::Zoned { zones, scrambled } => {
                let zones: Vec<_> = zones.iter().map(|zone| (zone.space.get(), zone.access.get())).collect();
                self.zones("address.zones", &zones, *scrambled, units)?
            }
            AddressSpec::Strided { zone, step, bytes, order, backwards } => {
                let layout = self.layout([*zone, *step, bytes.unwrap_or(*zone)], *backwards, units)?;
                if *order == StrideOrder::Shuffled && (smallest != largest || smallest != units.length) {
                    let message = "a shuffled order needs requests of one size, equal to `align`";
                    self.add("address.order", message, "give one size and leave `align` out, or use \"uniform\"");
                }
                room = (layout.zone, "address.zone");
                Pattern::Strided(Stride::new(layout, *order, &mut self.rng("stride")))
            }
            AddressSpec::WorkingSet { size: amount, period } => {
                let sectors = match amount {
                    Amount::Bytes(bytes) => bytes.get() / SECTOR.get(),
                    Amount::Share(share) => (units.sectors() as f64 * share.get()) as u64,
                };
                let window = sectors / units.length;
                if window == 0 || window > units.count {
                    let message = format!("a window of {amount} in a region of {}", size(units.sectors()));
                    let remedy = format!("write at least {} and at most the region", size(units.length));
                    self.add("address.size", message, remedy);
                    return None;
                }
                if *period == Some(0) {
                    self.add("address.period", "a window of zero requests", "write at least 1, or leave it out");
                }
                room = (window * units.length, "address.size");
                Pattern::window(window, *period)
            }
        };
        if largest > room.0 {
            let message = format!("requests of {} do not fit into {}", size(largest), size(room.0));
            self.add(room.1, message, "make the region larger, or the requests (`size`) smaller");
        }
        (self.faults.len() == before).then_some(pattern)
    }

    /// The zones of a strided pattern: the length of each, the distance between their starts, and the bytes that each
    /// receives.
    fn layout(&mut self, [zone, step, bytes]: [Bytes; 3], backwards: bool, units: Units) -> Option<ZoneLayout> {
        let before = self.faults.len();
        let unit = units.length * SECTOR.get();
        for (key, value) in [("zone", zone), ("step", step), ("bytes", bytes)] {
            if value.get() == 0 || !value.get().is_multiple_of(unit) {
                let message = format!("{value} is zero, or not a multiple of `align`");
                self.add(&format!("address.{key}"), message, format!("write a multiple of {}", Bytes::new(unit)));
            }
        }
        let [zone, step, bytes] = [zone, step, bytes].map(|size| size.get() / SECTOR.get());
        if zone > units.sectors() {
            let room = Bytes::new(units.sectors() * SECTOR.get());
            self.add("address.zone", format!("the zone is larger than the region of {room}"), "make it smaller");
        }
        let layout = ZoneLayout { zone, step, bytes, backwards, unit: units.length, region: units.sectors() };
        (self.faults.len() == before).then_some(layout)
    }

    /// A pattern of zones by their shares of the region and of the requests.
    fn zones(&mut self, key: &str, zones: &[(f64, f64)], scrambled: bool, units: Units) -> Option<Pattern> {
        let (space, access) = zones.iter().fold((0.0, 0.0), |sum, zone| (sum.0 + zone.0, sum.1 + zone.1));
        if !whole(space) || !whole(access) {
            let message =
                format!("the zones have {} of the space and {} of the access", percent(space), percent(access));
            self.add(key, message, "make both sum to 100%");
            return None;
        }
        let (mut first, mut sum_space, mut cumulative) = (0, 0.0, 0.0);
        let mut resolved = Vec::with_capacity(zones.len());
        for (i, (space, access)) in zones.iter().enumerate() {
            sum_space += space;
            let end = (units.count as f64 * sum_space.min(1.0)).round() as u64;
            cumulative += access;
            if end == first && *access > 0.0 {
                let message = format!("zone {i} has {} of the requests, but no room for one", percent(*access));
                self.add(key, message, "give it more space, or make the region larger");
                return None;
            }
            resolved.push(AddressZone { first, count: end - first, cumulative });
            first = end;
        }
        // Zones after the last one with requests are dropped, so that rounding cannot send a request there.
        if let Some(last) = zones.iter().rposition(|(_, access)| *access > 0.0) {
            resolved.truncate(last + 1);
            resolved[last].cumulative = f64::INFINITY;
        }
        Some(Pattern::Zoned { zones: resolved, spread: self.spread(scrambled, units) })
    }
}
