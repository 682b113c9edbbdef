//! Measurements in rounds: each load runs a slice of its work in each round, and the median slice counts.
//!
//! A shared machine is faster at one moment than at the next. Slices that follow each other run at about the same
//! speed, so the ratios are steadier than the rates. The speed of the bare loop depends on the build, too: to compare
//! two builds, compare their rates (`make bench-compare`).

use floor::clock::{Cost, timed};
use floor::compare::READY;

use crate::bare::Bare;
use crate::report::{Row, Spread};

/// Work on requests that runs in slices.
pub(crate) trait Load {
    /// Serves at least `requests` requests and returns their number.
    fn slice(&mut self, requests: u64) -> u64;

    /// The same, with its cost.
    fn measured(&mut self, requests: u64) -> (u64, Cost) {
        timed(|| self.slice(requests))
    }

    /// A note on the load for the report.
    fn note(&self) -> String;
}

/// What a ratio is a ratio to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Of {
    /// The bare event loop.
    Loop,
    /// The first load of the group.
    First,
}

/// The goal of a load.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target {
    /// Share of the rate of the bare loop or of the first load.
    pub(crate) share: Option<f64>,
    /// Requests per second.
    pub(crate) rate: Option<f64>,
}

/// The rate of the bare loop, in requests per second, on the machine on which goals were set as rates. It says how many reads
/// of the loop such a goal is worth; the verdict is by the rate.
const LOOP_RATE: f64 = 4.7e6;

impl Target {
    /// A share of the bare loop or of the first load.
    pub(crate) const fn share(share: f64) -> Option<Self> {
        Some(Self { share: Some(share), rate: None })
    }

    /// Requests per second.
    pub(crate) const fn rate(rate: f64) -> Option<Self> {
        Some(Self { share: None, rate: Some(rate) })
    }

    fn text(self, of: Of) -> String {
        let of = if of == Of::Loop { "the loop" } else { "the first" };
        let share = self.share.map(|share| format!(">= {share} of {of}"));
        let rate = self.rate.map(|rate| format!(">= {} k/s ({:.0} loop reads)", rate / 1e3, LOOP_RATE / rate));
        share.into_iter().chain(rate).collect::<Vec<_>>().join(", ")
    }
}

/// The rates of a drive that costs no more when something grows lie within a quarter of the first.
pub(crate) const FLAT: f64 = 0.75;

/// A load with its name and its target.
pub(crate) struct Entry {
    name: String,
    requests: u64,
    target: Option<Target>,
    start: Box<dyn FnOnce() -> Box<dyn Load>>,
}

impl Entry {
    /// A load of slices of this many requests. Only a measurement prepares it.
    pub(crate) fn new<L: Load + 'static>(
        name: impl Into<String>,
        requests: u64,
        target: Option<Target>,
        start: impl FnOnce() -> L + 'static,
    ) -> Self {
        Self { name: name.into(), requests, target, start: Box::new(|| Box::new(start())) }
    }
}

/// The number of slices, and the rows to measure.
#[derive(Clone, Copy)]
pub(crate) struct Plan<'a> {
    pub(crate) rounds: u32,
    /// Only those whose names contain this.
    pub(crate) row: &'a str,
    /// Each slice waits for that of another bench.
    pub(crate) in_step: bool,
}

impl Plan<'_> {
    /// Waits until the next slice may begin.
    fn wait(self) {
        if self.in_step {
            eprintln!("{READY}");
            // At the end of the input nobody is in step any more.
            _ = std::io::stdin().read_line(&mut String::new());
        }
    }

    fn start(self, entries: Vec<Entry>) -> Vec<Contestant> {
        entries.into_iter().filter(|entry| entry.name.contains(self.row)).map(Contestant::start).collect()
    }
}

/// A load and its samples.
struct Contestant {
    name: String,
    load: Box<dyn Load>,
    target: Option<Target>,
    requests: u64,
    rates: Vec<f64>,
    walls: Vec<f64>,
    ratios: Vec<f64>,
    /// What a request costs, in reads of the bare loop.
    reads: Vec<f64>,
}

impl Contestant {
    fn start(Entry { name, requests, target, start }: Entry) -> Self {
        Self {
            name,
            load: start(),
            target,
            requests,
            rates: Vec::new(),
            walls: Vec::new(),
            ratios: Vec::new(),
            reads: Vec::new(),
        }
    }

    /// Runs a slice. The first is not counted, because it warms up.
    fn measure(&mut self, counts: bool, plan: Plan<'_>) -> Option<f64> {
        plan.wait();
        let (done, cost) = self.load.measured(self.requests);
        let (cpu, wall) = per(done, cost);
        if counts {
            self.rates.push(cpu);
            self.walls.push(wall);
        }
        counts.then_some(cpu)
    }

    fn row(&self, of: Of) -> Row {
        let value = Spread::of(&self.rates);
        let ratio = (!self.ratios.is_empty()).then(|| Spread::of(&self.ratios));
        let reads = (!self.reads.is_empty()).then(|| Spread::of(&self.reads));
        let is_met = |Target { share, rate }: Target| {
            let reaches = |got: Option<Spread>, goal: Option<f64>| {
                goal.is_none_or(|goal| got.is_some_and(|got| got.median >= goal))
            };
            reaches(ratio, share) && reaches(Some(value), rate)
        };
        Row {
            name: self.name.clone(),
            unit: "requests/CPU s",
            met: self.target.map(is_met),
            value,
            wall: Some(Spread::of(&self.walls).median),
            ratio,
            reads,
            target: self.target.map(|target| target.text(of)),
            note: self.load.note(),
        }
    }
}

/// Requests for each second of processor time and of the wall clock.
fn per(requests: u64, cost: Cost) -> (f64, f64) {
    (requests as f64 / cost.cpu, requests as f64 / cost.wall)
}

/// Runs all contestants slice by slice. Their shares are of the first of them. One whose goal is a rate follows a slice of
/// the bare loop.
pub(crate) fn run(entries: Vec<Entry>, plan: Plan<'_>) -> Vec<Row> {
    let mut contestants = plan.start(entries);
    let has_rate = |contestant: &Contestant| contestant.target.is_some_and(|target| target.rate.is_some());
    let mut heap = contestants.iter().any(has_rate).then(|| Bare::start("heap"));
    for round in 0..=plan.rounds {
        let mut first = None;
        for contestant in &mut contestants {
            let heap = heap.as_mut().filter(|_| has_rate(contestant));
            let bare = heap.map(|heap| per(LIMIT_REQUESTS, heap.run(LIMIT_REQUESTS)).0);
            let Some(rate) = contestant.measure(round > 0, plan) else { continue };
            contestant.reads.extend(bare.map(|bare| bare / rate));
            if let Some(first) = first {
                contestant.ratios.push(rate / first);
            }
            first = first.or(Some(rate));
        }
    }
    contestants.iter().map(|contestant| contestant.row(Of::First)).collect()
}

/// Slices of the bare loop are this long.
const LIMIT_REQUESTS: u64 = 1_000_000;

/// Runs all contestants, each slice after a slice of both bare loops. Their shares are of the loop with a heap.
pub(crate) fn run_beside_loops(entries: Vec<Entry>, plan: Plan<'_>) -> Vec<Row> {
    let mut contestants = plan.start(entries);
    if contestants.is_empty() {
        return Vec::new();
    }
    let (mut heap, mut rings) = (Bare::start("heap"), Bare::start("rings"));
    let (mut rates, mut walls) = (Vec::new(), Vec::new());
    let mut floors = Vec::new();
    for round in 0..=plan.rounds {
        for contestant in &mut contestants {
            let bare = per(LIMIT_REQUESTS, heap.run(LIMIT_REQUESTS));
            let floor = per(LIMIT_REQUESTS, rings.run(LIMIT_REQUESTS));
            let Some(rate) = contestant.measure(round > 0, plan) else { continue };
            rates.push(bare.0);
            walls.push(bare.1);
            floors.push(floor);
            contestant.ratios.push(rate / bare.0);
            contestant.reads.push(bare.0 / rate);
        }
    }
    let bare = Row {
        name: "bare event loop, 4 KiB random reads".to_owned(),
        unit: "requests/CPU s",
        value: Spread::of(&rates),
        wall: Some(Spread::of(&walls).median),
        ratio: None,
        reads: None,
        target: None,
        met: None,
        note: format!("{:.0} thousand requests per simulated second", heap.simulated_rate / 1e3),
    };
    let ratios: Vec<_> = floors.iter().zip(&rates).map(|((floor, _), bare)| floor / bare).collect();
    let rings = Row {
        name: "the same with rings instead of a heap".to_owned(),
        unit: "requests/CPU s",
        value: Spread::of(&floors.iter().map(|(cpu, _)| *cpu).collect::<Vec<_>>()),
        wall: Some(Spread::of(&floors.iter().map(|(_, wall)| *wall).collect::<Vec<_>>()).median),
        ratio: Some(Spread::of(&ratios)),
        reads: None,
        target: None,
        met: None,
        note: format!("{:.0} thousand requests per simulated second", rings.simulated_rate / 1e3),
    };
    [bare, rings].into_iter().chain(contestants.iter().map(|contestant| contestant.row(Of::Loop))).collect()
}
