//! Measurements side by side: each slice of work follows a slice of the bare event loop.
//!
//! A shared machine is faster at one moment than at the next. Two slices in a row run at about the same speed, so
//! the ratios are steadier than the rates.

use floor::clock::{Cost, timed};

use crate::bare::Bare;
use crate::report::{Row, Spread};

/// Work on requests that runs in slices.
pub(crate) trait Load {
    /// Serves at least `requests` requests and returns their number.
    fn slice(&mut self, requests: u64) -> u64;

    /// A note on the load for the report.
    fn note(&self) -> String;
}

/// The goal of a load.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target {
    /// Share of the bare loop's rate.
    pub(crate) ratio: f64,
    /// Requests per second.
    pub(crate) rate: f64,
}

/// A load with its name, its target and its samples.
pub(crate) struct Contestant {
    pub(crate) name: &'static str,
    pub(crate) load: Box<dyn Load>,
    pub(crate) target: Option<Target>,
    pub(crate) requests: u64,
    rates: Vec<f64>,
    walls: Vec<f64>,
    ratios: Vec<f64>,
}

impl Contestant {
    pub(crate) fn new(name: &'static str, requests: u64, target: Option<Target>, load: impl Load + 'static) -> Self {
        let load = Box::new(load);
        Self { name, load, target, requests, rates: Vec::new(), walls: Vec::new(), ratios: Vec::new() }
    }

    fn row(&self) -> Row {
        let (value, ratio) = (Spread::of(&self.rates), Spread::of(&self.ratios));
        let wanted = |Target { ratio: share, rate }| match (share > 0.0, rate > 0.0) {
            (true, true) => format!(">= {share} of the loop, >= {} M/s", rate / 1e6),
            (false, true) => format!(">= {} M/s", rate / 1e6),
            (_, false) => format!(">= {share} of the loop"),
        };
        Row {
            name: self.name.to_owned(),
            unit: "requests/CPU s",
            met: self.target.map(|target| ratio.median >= target.ratio && value.median >= target.rate),
            value,
            wall: Some(Spread::of(&self.walls).median),
            ratio: Some(ratio),
            target: self.target.map(wanted),
            note: self.load.note(),
        }
    }
}

/// Slices of the bare loop are this long.
const LIMIT_REQUESTS: u64 = 2_000_000;

/// Runs all contestants slice by slice, after one slice each to warm up.
pub(crate) fn run(contestants: &mut [Contestant], rounds: u32) -> Vec<Row> {
    let (mut heap, mut rings) = (Bare::start("heap"), Bare::start("rings"));
    let (mut rates, mut walls) = (Vec::new(), Vec::new());
    let mut floors = Vec::new();
    for round in 0..=rounds {
        for contestant in &mut *contestants {
            let bare = heap.run(LIMIT_REQUESTS);
            let floor = rings.run(LIMIT_REQUESTS);
            let (done, cost) = timed(|| contestant.load.slice(contestant.requests));
            if round == 0 {
                continue;
            }
            let per = |requests: u64, cost: Cost| (requests as f64 / cost.cpu, requests as f64 / cost.wall);
            let ((bare_cpu, bare_wall), (cpu, wall)) = (per(LIMIT_REQUESTS, bare), per(done, cost));
            rates.push(bare_cpu);
            walls.push(bare_wall);
            floors.push((LIMIT_REQUESTS as f64 / floor.cpu, LIMIT_REQUESTS as f64 / floor.wall));
            contestant.rates.push(cpu);
            contestant.walls.push(wall);
            contestant.ratios.push(cpu / bare_cpu);
        }
    }
    let bare = Row {
        name: "bare event loop, 4 KiB random reads".to_owned(),
        unit: "requests/CPU s",
        value: Spread::of(&rates),
        wall: Some(Spread::of(&walls).median),
        ratio: None,
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
        target: None,
        met: None,
        note: format!("{:.0} thousand requests per simulated second", rings.simulated_rate / 1e3),
    };
    [bare, rings].into_iter().chain(contestants.iter().map(Contestant::row)).collect()
}
