//! Measurements in rounds: each load runs a slice of its work in each round, and the median slice counts.
//!
//! The speed of a shared machine changes, for tenths of a second or for minutes. So loads that are compared run on one
//! core and alternate: the slice of a load is cut into pieces of a tenth of a second, each next to a piece of the load
//! that it is compared with. The speed of the bare loop depends on the build, too: to compare two builds, compare their
//! rates (`make bench-compare`).

use crate::clock::{Cost, timed};
use crate::compare::READY;
use crate::core::confine;
use crate::report::{Row, Spread};

/// A measured load of requests, which runs in slices.
pub trait Load {
    /// Serves at least `requests` requests and returns their number.
    fn slice(&mut self, requests: u64) -> u64;

    /// Runs a slice and measures its cost.
    fn measured(&mut self, requests: u64) -> (u64, Cost) {
        timed(|| self.slice(requests))
    }

    /// A remark on the load, for the report.
    fn note(&self) -> String;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RatioBase {
    /// The bare event loop.
    Loop,
    /// The first load of the group.
    First,
}

/// The goal of a load: a share or a rate.
#[derive(Clone, Copy, Debug)]
pub struct Goal {
    /// Least share of the rate of the bare loop or of the first load.
    pub share: Option<f64>,
    /// Least number of requests per second of processor time.
    pub rate: Option<f64>,
}

/// The rate of the bare loop, in requests per second, on the machine on which goals were set as rates. The report
/// converts such a goal to reads of the loop with it; whether a goal is met depends on the rate alone.
const LOOP_RATE: f64 = 4.7e6;

impl Goal {
    /// Creates a goal as a share of the rate of the bare loop or of the first load.
    #[must_use]
    pub const fn share(share: f64) -> Option<Self> {
        Some(Self { share: Some(share), rate: None })
    }

    /// Creates a goal in requests per second of processor time.
    #[must_use]
    pub const fn rate(rate: f64) -> Option<Self> {
        Some(Self { share: None, rate: Some(rate) })
    }

    fn text(self, of: RatioBase) -> String {
        let of = if of == RatioBase::Loop { "the loop" } else { "the first" };
        let share = self.share.map(|share| format!(">= {share} of {of}"));
        let rate = self.rate.map(|rate| format!(">= {} k/s ({:.0} loop reads)", rate / 1e3, LOOP_RATE / rate));
        share.into_iter().chain(rate).collect::<Vec<_>>().join(", ")
    }
}

/// Share of the first row's rate for a drive that must cost no more when something grows.
pub const FLAT: f64 = 0.75;

/// A load with its name and its target.
pub struct NamedLoad {
    name: String,
    requests: u64,
    target: Option<Goal>,
    start: Box<dyn FnOnce() -> Box<dyn Load>>,
}

impl NamedLoad {
    /// Creates a load whose slices have `requests` requests. `start` prepares it only if it is measured.
    pub fn new<L: Load + 'static>(
        name: impl Into<String>,
        requests: u64,
        target: Option<Goal>,
        start: impl FnOnce() -> L + 'static,
    ) -> Self {
        Self { name: name.into(), requests, target, start: Box::new(|| Box::new(start())) }
    }
}

/// The number of slices, and the choice of rows to measure.
#[derive(Clone, Copy, Debug)]
pub struct Plan<'a> {
    /// The number of slices that count; one before them warms up.
    pub rounds: u32,
    /// Text that the names of measured rows contain.
    pub row: &'a str,
    /// True if each slice waits for a slice of another bench, and is a single piece.
    pub in_step: bool,
}

impl Plan<'_> {
    /// Waits until the next slice may begin, if the bench runs in step.
    fn wait(self) {
        if self.in_step {
            eprintln!("{READY}");
            // After the end of standard input the slices run without waiting.
            _ = std::io::stdin().read_line(&mut String::new());
        }
    }

    fn start(self, entries: Vec<NamedLoad>) -> Vec<Contestant> {
        entries.into_iter().filter(|entry| entry.name.contains(self.row)).map(Contestant::start).collect()
    }

    /// The number of pieces of a slice of this many seconds.
    fn pieces(self, seconds: f64) -> u64 {
        if self.in_step { 1 } else { ((seconds / PIECE) as u64).clamp(1, MOST_PIECES) }
    }
}

/// Seconds that a piece should take: far longer than it takes to fill the caches again after the previous piece. In
/// pieces of 0.025 s the runner, which begins a session for each, was a quarter slower.
const PIECE: f64 = 0.1;
const MOST_PIECES: u64 = 16;

/// The requests and the cost of the pieces of one slice.
#[derive(Clone, Copy, Debug, Default)]
struct Slice {
    requests: u64,
    cpu: f64,
    wall: f64,
}

impl Slice {
    fn add(&mut self, (requests, Cost { cpu, wall }): (u64, Cost)) {
        self.requests += requests;
        self.cpu += cpu;
        self.wall += wall;
    }

    /// Requests per second of processor time.
    fn rate(self) -> f64 {
        self.requests as f64 / self.cpu
    }

    /// Requests per second on the wall clock.
    fn wall_rate(self) -> f64 {
        self.requests as f64 / self.wall
    }
}

/// A load and its samples.
struct Contestant {
    name: String,
    load: Box<dyn Load>,
    target: Option<Goal>,
    requests: u64,
    /// Processor time in seconds of the first slice, which warms up and does not count; `None` before it.
    first: Option<f64>,
    rates: Vec<f64>,
    walls: Vec<f64>,
    ratios: Vec<f64>,
    /// Cost of a request in each slice, in reads of the bare loop.
    reads: Vec<f64>,
}

impl Contestant {
    fn start(NamedLoad { name, requests, target, start }: NamedLoad) -> Self {
        Self {
            name,
            load: start(),
            target,
            requests,
            first: None,
            rates: Vec::new(),
            walls: Vec::new(),
            ratios: Vec::new(),
            reads: Vec::new(),
        }
    }

    /// Creates a contestant from a load that others are compared with.
    fn reference(name: &str, load: Box<dyn Load>) -> Self {
        Self::start(NamedLoad { name: name.to_owned(), requests: LOOP_PIECE, target: None, start: Box::new(|| load) })
    }

    fn has_rate(&self) -> bool {
        self.target.is_some_and(|target| target.rate.is_some())
    }

    fn pieces(&self, plan: Plan<'_>) -> u64 {
        self.first.map_or(1, |seconds| plan.pieces(seconds))
    }

    /// Runs one of `pieces` pieces of a slice.
    fn piece(&mut self, pieces: u64) -> (u64, Cost) {
        self.load.measured(self.requests / pieces)
    }

    /// Records a slice. Returns false for the first slice, which does not count.
    fn take(&mut self, slice: Slice) -> bool {
        if self.first.is_none() {
            self.first = Some(slice.cpu);
            return false;
        }
        self.rates.push(slice.rate());
        self.walls.push(slice.wall_rate());
        true
    }

    fn row(&self, of: RatioBase) -> Row {
        let value = Spread::of(&self.rates);
        let ratio = (!self.ratios.is_empty()).then(|| Spread::of(&self.ratios));
        let reads = (!self.reads.is_empty()).then(|| Spread::of(&self.reads));
        let is_met = |Goal { share, rate }: Goal| {
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

/// The number of requests in a piece of the bare loop: a tenth of a second, like the pieces beside it.
const LOOP_PIECE: u64 = 400_000;

/// Measures all loads, whose pieces alternate. Shares refer to the first load. The bare loop runs beside each load
/// whose goal is a rate.
pub fn run(entries: Vec<NamedLoad>, plan: Plan<'_>, bare: impl FnOnce() -> Box<dyn Load>) -> Vec<Row> {
    let _core = confine();
    let mut contestants = plan.start(entries);
    let needs_loop = contestants.iter().any(Contestant::has_rate);
    let mut bare = needs_loop.then(|| Contestant::reference("", bare()));
    for _ in 0..=plan.rounds {
        let pieces = contestants.iter().map(|contestant| contestant.pieces(plan)).min().unwrap_or(1);
        let mut slices = vec![(Slice::default(), Slice::default()); contestants.len()];
        for _ in 0..pieces {
            for (contestant, (own, loops)) in contestants.iter_mut().zip(&mut slices) {
                if let Some(bare) = bare.as_mut().filter(|_| contestant.has_rate()) {
                    loops.add(bare.piece(1));
                }
                plan.wait();
                own.add(contestant.piece(pieces));
            }
        }
        let first = slices.first().map(|(first, _)| first.rate());
        for (i, (contestant, (own, loops))) in contestants.iter_mut().zip(slices).enumerate() {
            if !contestant.take(own) {
                continue;
            }
            contestant.reads.extend((loops.requests > 0).then(|| loops.rate() / own.rate()));
            contestant.ratios.extend(first.filter(|_| i > 0).map(|first| own.rate() / first));
        }
    }
    contestants.iter().map(|contestant| contestant.row(RatioBase::First)).collect()
}

/// Measures all loads, whose pieces alternate with pieces of both bare loops, one with a heap and one with rings.
/// Shares refer to the loop with a heap.
pub fn run_beside_loops(
    entries: Vec<NamedLoad>,
    plan: Plan<'_>,
    loops: impl FnOnce() -> [Box<dyn Load>; 2],
) -> Vec<Row> {
    let _core = confine();
    let mut contestants = plan.start(entries);
    if contestants.is_empty() {
        return Vec::new();
    }
    let [heap, rings] = loops();
    let mut heap = Contestant::reference("bare event loop, 4 KiB random reads", heap);
    let mut rings = Contestant::reference("the same with rings instead of a heap", rings);
    for _ in 0..=plan.rounds {
        for contestant in &mut contestants {
            let pieces = contestant.pieces(plan);
            let [mut own, mut bare, mut floor] = [Slice::default(); 3];
            for _ in 0..pieces {
                bare.add(heap.piece(1));
                floor.add(rings.piece(1));
                plan.wait();
                own.add(contestant.piece(pieces));
            }
            if !contestant.take(own) {
                continue;
            }
            contestant.ratios.push(own.rate() / bare.rate());
            contestant.reads.push(bare.rate() / own.rate());
            heap.rates.push(bare.rate());
            heap.walls.push(bare.wall_rate());
            rings.rates.push(floor.rate());
            rings.walls.push(floor.wall_rate());
            rings.ratios.push(floor.rate() / bare.rate());
        }
    }
    [heap, rings].into_iter().chain(contestants).map(|contestant| contestant.row(RatioBase::Loop)).collect()
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use super::*;

    /// A simulated machine, and the names of the loads in the order of their pieces.
    #[derive(Default)]
    struct Machine {
        /// True if the speed of the machine changes with time.
        changes: bool,
        seconds: f64,
        ran: Vec<(&'static str, u64)>,
    }

    impl Machine {
        /// Runs some work. A machine that changes its speed has full speed for a second, then half for a second.
        fn run(&mut self, work: f64) -> Cost {
            let is_slow = self.changes && self.seconds as u64 % 2 == 1;
            let cpu = if is_slow { 2.0 * work } else { work };
            self.seconds += cpu;
            Cost { cpu, wall: cpu }
        }
    }

    /// A load whose requests take a fixed time on a machine at full speed.
    struct FixedLoad {
        name: &'static str,
        seconds: f64,
        machine: Rc<RefCell<Machine>>,
    }

    impl Load for FixedLoad {
        fn slice(&mut self, requests: u64) -> u64 {
            self.measured(requests).0
        }

        fn measured(&mut self, requests: u64) -> (u64, Cost) {
            let mut machine = self.machine.borrow_mut();
            machine.ran.push((self.name, requests));
            (requests, machine.run(self.seconds * requests as f64))
        }

        fn note(&self) -> String {
            format!("a note on {}", self.name)
        }
    }

    fn plan(row: &str) -> Plan<'_> {
        Plan { rounds: 5, row, in_step: false }
    }

    /// Creates a machine, and a function that creates loads on it.
    fn machine() -> (Rc<RefCell<Machine>>, impl Fn(&'static str, f64) -> FixedLoad + Clone + 'static) {
        let machine = Rc::new(RefCell::new(Machine::default()));
        let of = machine.clone();
        (machine, move |name, seconds| FixedLoad { name, seconds, machine: of.clone() })
    }

    fn entry(
        load: &(impl Fn(&'static str, f64) -> FixedLoad + Clone + 'static),
        name: &'static str,
        seconds: f64,
        target: Option<Goal>,
    ) -> NamedLoad {
        let load = load.clone();
        NamedLoad::new(name, 1_000_000, target, move || load(name, seconds))
    }

    #[test]
    fn ratios_are_true_on_a_machine_that_changes_its_speed() {
        let (machine, load) = machine();
        machine.borrow_mut().changes = true;
        let entries = vec![
            entry(&load, "half as fast", 5e-7, Goal::share(0.45)),
            entry(&load, "a quarter", 10e-7, Goal::share(0.2)),
            entry(&load, "too slow", 10e-7, Goal::share(0.3)),
        ];
        let loops = || [Box::new(load("heap", 2.5e-7)) as Box<dyn Load>, Box::new(load("rings", 1.25e-7))];
        let rows = run_beside_loops(entries, plan(""), loops);
        let ratio = |row: &Row| row.ratio.expect("a ratio to the loop").median;
        for (row, expected) in rows[1..].iter().zip([2.0, 0.5, 0.25, 0.25]) {
            assert!((ratio(row) / expected - 1.0).abs() < 0.1, "{}: {} of {expected}", row.name, ratio(row));
            let Spread { min, max, .. } = row.ratio.expect("a ratio to the loop");
            assert!(max < 1.35 * min, "{}: rounds of {min} to {max}", row.name);
        }
        assert_eq!(
            rows.iter().map(|row| row.met).collect::<Vec<_>>(),
            [None, None, Some(true), Some(true), Some(false)]
        );
        assert_eq!(rows[2].target.as_deref(), Some(">= 0.45 of the loop"));
        assert_eq!(rows[2].note, "a note on half as fast");
        assert_eq!(rows[0].ratio.map(|ratio| ratio.median), None, "the loop has no ratio to itself");
    }

    #[test]
    fn loads_of_a_group_take_turns_after_the_first_slice() {
        let (machine, load) = machine();
        let rate = Goal::rate(1e6);
        let flat = Some(Goal { share: Some(FLAT), rate: Some(1e6) });
        // Slices of 0.4 and 0.35 s have three pieces, the number of the shorter one.
        let entries = vec![entry(&load, "first", 4e-7, rate), entry(&load, "second", 3.5e-7, flat)];
        let rows = run(entries, Plan { rounds: 1, ..plan("") }, || Box::new(load("loop", 8e-7)));
        let ran = machine.borrow().ran.clone();
        let [warm_up, turns] = [&ran[..4], &ran[4..]];
        assert_eq!(warm_up.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["loop", "first", "loop", "second"]);
        assert_eq!(warm_up[1], ("first", 1_000_000));
        let piece = ["loop", "first", "loop", "second"];
        assert_eq!(turns.iter().map(|(name, _)| *name).collect::<Vec<_>>(), piece.repeat(3));
        let requests = |name: &str| if name == "loop" { LOOP_PIECE } else { 333_333 };
        assert!(turns.iter().all(|(name, asked)| *asked == requests(name)));
        assert!(rows[0].ratio.is_none() && rows[1].ratio.is_some());
        let reads = rows[0].reads.expect("its goal is a rate").median;
        assert!((reads - 0.5).abs() < 1e-9, "a request of half the time of a read of the loop: {reads}");
        assert_eq!(rows[0].target.as_deref(), Some(">= 1000 k/s (5 loop reads)"));
    }

    #[test]
    fn one_row_is_measured_alone_and_a_slice_in_step_is_one_piece() {
        let (machine, load) = machine();
        let entries = vec![entry(&load, "reads", 2e-6, None), entry(&load, "writes", 2e-6, None)];
        let no_loop = || -> Box<dyn Load> { panic!("no goal is a rate") };
        let rows = run(entries, plan("writes"), no_loop);
        assert_eq!(rows.iter().map(|row| row.name.as_str()).collect::<Vec<_>>(), ["writes"]);
        assert!(machine.borrow().ran.iter().all(|(name, _)| *name == "writes"));
        assert_eq!(machine.borrow().ran.len(), 1 + 5 * 16, "a slice of two seconds has the most pieces");
        assert_eq!(Plan { in_step: true, ..plan("") }.pieces(2.0), 1);
        let loops = || -> [Box<dyn Load>; 2] { panic!("nothing to measure") };
        assert!(run_beside_loops(vec![entry(&load, "reads", 1e-6, None)], plan("other"), loops).is_empty());
    }
}
