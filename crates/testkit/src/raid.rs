//! Checks of several drives as one: a host that knows what every read must return, while drives fail, spares are rebuilt and the power
//! is cut.
//!
//! Overlapping requests are carried out in the order of their submission, so what a read must return is known when it is submitted.
//! [`settings()`] has fixed RAIDs, [`draw`] makes a random one, and [`check`] runs the whole course of one.

use std::collections::BTreeMap;

use base::engine::Rng;
use base::io::{Io, IoKind};
use base::units::{Bytes, Lba, Sectors, Time};
use flash::nand::{Sector, Stamp};
use raid::Raid;
use ssd::{Completion, Drive, Precondition, QueueId, RaidLevel, RaidSpec, Request, Resolved, Spec, Ssd, Status};

/// A small page-mapped drive; `more` is the end of its table `[flash]`.
///
/// # Panics
/// If the description is not valid.
#[must_use]
pub fn drive(more: &str) -> Resolved {
    let text = format!(
        "name = \"small\"\n[flash]\npart = \"dirik-2009\"\nchannels = 2\nchips = 1\nblocks = 26\npages = 8\n{more}\n\
         [ftl]\nover-provisioning = \"40%\"\ndiscard = \"durable\"\n"
    );
    let spec: Spec = toml::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    spec.resolve().unwrap_or_else(|faults| panic!("{faults:?}"))
}

/// A RAID with chunks of 16 KiB.
#[must_use]
pub fn raid(level: RaidLevel, drives: u32, spares: u32) -> RaidSpec {
    RaidSpec { chunk: Bytes::new(16 << 10), spares, ..RaidSpec::new(level, drives) }
}

/// The drives of a RAID, each with a seed of its own. Those that are no spares are preconditioned.
#[must_use]
pub fn drives<S: Sector>(spec: &RaidSpec, resolved: &Resolved, steps: &[Precondition]) -> Vec<Ssd<S>> {
    let each = (0..spec.drives + spec.spares).map(|number| {
        let seed = |number: u32| u64::from(number) + 1;
        let mut drive = Ssd::new(resolved, seed(number)).written_as(seed(spec.first_of_mirror(number)));
        let steps = if number < spec.drives { steps } else { &[] };
        steps.iter().for_each(|step| _ = drive.precondition(*step, &mut |_, _| {}));
        drive
    });
    each.collect()
}

/// What a sector may hold.
#[derive(Clone, Debug, PartialEq)]
enum Held {
    /// One of these stamps.
    OneOf(Vec<u64>),
    /// The next read says it.
    Unknown,
}

/// A host that submits random requests and checks every read.
#[derive(Debug)]
pub struct Host {
    /// The RAID.
    pub raid: Raid<Stamp>,
    rng: Rng,
    held: Vec<Held>,
    /// What each read under way must return, or what each write brings; by tag.
    under_way: BTreeMap<u64, (Io, Vec<Held>)>,
    next_tag: u64,
    /// Addresses are multiples of this many sectors.
    pub granularity: u64,
    /// Requests that ended, by their status.
    pub by_status: BTreeMap<&'static str, u64>,
    /// Reads may be uncorrectable.
    pub may_lose: bool,
}

impl Host {
    /// A host of a RAID that only preconditioning has written.
    #[must_use]
    pub fn new(raid: Raid<Stamp>, seed: u64) -> Self {
        let sectors = Drive::capacity(&raid).get() as usize;
        let is_used = raid.drives()[0].history().is_some_and(|history| !history.versions().is_empty());
        Self {
            raid,
            rng: Rng::stream(seed, "host"),
            held: vec![if is_used { Held::Unknown } else { Held::OneOf(vec![0]) }; sectors],
            under_way: BTreeMap::new(),
            next_tag: 1,
            granularity: 1,
            by_status: BTreeMap::new(),
            may_lose: false,
        }
    }

    /// Submits a random request, within the first sectors of the RAID.
    ///
    /// # Panics
    /// If a read returns what it must not, or a request is lost.
    pub fn submit_random(&mut self, region: u64) {
        let kind = match self.rng.below(20) {
            0 => IoKind::Flush,
            1 => IoKind::Discard,
            2..=9 => IoKind::Read,
            _ => IoKind::Write,
        };
        let region = region.min(self.held.len() as u64) / self.granularity;
        let largest = if self.rng.chance(0.1) { 400 } else { 40 } / self.granularity + 1;
        let start = self.rng.below(region);
        let sectors = (1 + self.rng.below(largest)).min(region - start);
        let (start, sectors) = (start * self.granularity, sectors * self.granularity);
        let io = if kind == IoKind::Flush { Io::FLUSH } else { Io::new(kind, Lba::new(start), Sectors::new(sectors)) };
        self.submit(io);
    }

    /// Submits a request now.
    pub fn submit(&mut self, io: Io) {
        let tag = self.next_tag;
        self.next_tag += 1;
        let extent = io.start.get() as usize..io.end().get() as usize;
        let mut data = Vec::new();
        match io.kind {
            IoKind::Write => {
                data = (0..io.sectors.get()).map(|i| Stamp(tag << 24 | i)).collect();
                let before = self.held[extent.clone()].to_vec();
                data.iter().zip(&mut self.held[extent]).for_each(|(stamp, held)| *held = Held::OneOf(vec![stamp.0]));
                self.under_way.insert(tag, (io, before));
            }
            IoKind::Discard => {
                let before = self.held[extent].to_vec();
                let unit = self.raid.discard_granularity().get();
                let first = io.start.get().next_multiple_of(unit);
                let end = io.end().get() / unit * unit;
                (first..end).for_each(|sector| self.held[sector as usize] = Held::OneOf(vec![0]));
                self.under_way.insert(tag, (io, before));
            }
            _ => _ = self.under_way.insert(tag, (io, self.held[extent].to_vec())),
        }
        let now = self.now();
        self.raid.submit(now, Request { tag, queue: QueueId::default(), io, data });
    }

    /// The time advanced to.
    #[must_use]
    pub fn now(&self) -> Time {
        self.raid.counters().at
    }

    /// Lets time pass up to the next completion, and checks it. Returns false if nothing is under way.
    ///
    /// # Panics
    /// If a read returns what it must not, or a request is lost.
    pub fn step(&mut self) -> bool {
        let Some(at) = self.raid.next_event() else { return false };
        let mut completions = Vec::new();
        self.raid.advance(at, &mut completions);
        completions.into_iter().for_each(|completion| self.completed(&completion));
        true
    }

    fn completed(&mut self, completion: &Completion<Stamp>) {
        let (io, expected) = self.under_way.remove(&completion.tag).expect("a request under way");
        *self.by_status.entry(completion.status.name()).or_default() += 1;
        if completion.status != Status::Done {
            assert!(self.may_lose, "{io:?} ended with {}", completion.status.name());
            if io.kind == IoKind::Write {
                self.doubt(&io);
            }
            return;
        }
        if io.kind != IoKind::Read {
            return;
        }
        for ((sector, expected), got) in (io.start.get()..).zip(expected).zip(&completion.data) {
            match &expected {
                Held::OneOf(allowed) => assert!(
                    allowed.contains(&got.0),
                    "read {} at {} returned {:#x} for sector {sector}, allowed are {allowed:x?}",
                    completion.tag,
                    completion.end,
                    got.0,
                ),
                Held::Unknown => {}
            }
            // What it was found to be it stays, unless a later request changes it.
            let held = &mut self.held[sector as usize];
            if *held == expected {
                *held = Held::OneOf(vec![got.0]);
            }
        }
    }

    /// A write has failed: neither the sectors nor what requests under way expect of them is known.
    fn doubt(&mut self, failed: &Io) {
        let failed = failed.start.get()..failed.end().get();
        failed.clone().for_each(|sector| self.held[sector as usize] = Held::Unknown);
        for (io, expected) in self.under_way.values_mut() {
            let of_sectors = (io.start.get()..).zip(expected).filter(|(sector, _)| failed.contains(sector));
            of_sectors.for_each(|(_, expected)| *expected = Held::Unknown);
        }
    }

    /// Requests that are not complete.
    #[must_use]
    pub fn outstanding(&self) -> usize {
        self.under_way.len()
    }

    /// Cuts the power and switches it on again. What was under way may have been carried out or not, sector by sector.
    ///
    /// # Panics
    /// If a read returns what it must not, or a request is lost.
    pub fn cut_power(&mut self) {
        let mut lost = self.raid.cut_power();
        lost.sort_unstable();
        assert_eq!(lost, self.under_way.keys().copied().collect::<Vec<_>>());
        for (_, (io, before)) in std::mem::take(&mut self.under_way) {
            if io.kind == IoKind::Read {
                continue;
            }
            for (sector, before) in (io.start.get()..io.end().get()).zip(before) {
                let held = &mut self.held[sector as usize];
                *held = match (before, &held) {
                    (Held::OneOf(before), Held::OneOf(after)) => Held::OneOf([before, after.clone()].concat()),
                    _ => Held::Unknown,
                };
            }
        }
        let now = self.now();
        self.raid.power_on(now);
    }

    /// Reads every sector, in pieces.
    ///
    /// # Panics
    /// If a read returns what it must not, or a request is lost.
    pub fn read_all(&mut self) {
        for start in (0..self.held.len() as u64).step_by(96) {
            let sectors = Sectors::new(96.min(self.held.len() as u64 - start));
            self.submit(Io::new(IoKind::Read, Lba::new(start), sectors));
            while self.outstanding() > 4 {
                assert!(self.step(), "requests are lost");
            }
        }
        self.finish();
    }

    /// Lets all requests and the RAID's own work end.
    ///
    /// # Panics
    /// If a read returns what it must not, or a request is lost.
    pub fn finish(&mut self) {
        while self.step() {}
        assert_eq!(self.outstanding(), 0, "requests are lost");
        self.raid.check();
    }

    /// Random requests, several at once.
    ///
    /// # Panics
    /// If a read returns what it must not, or a request is lost.
    pub fn run(&mut self, requests: u64, depth: usize) {
        let region = self.held.len() as u64;
        for _ in 0..requests {
            self.submit_random(region);
            while self.outstanding() >= depth {
                assert!(self.step(), "requests are lost");
            }
        }
    }
}

/// Levels, each with a number of drives.
pub const LEVELS: [(RaidLevel, u32); 7] = [
    (RaidLevel::Raid0, 3),
    (RaidLevel::Raid1, 2),
    (RaidLevel::Raid1, 3),
    (RaidLevel::Raid10, 4),
    (RaidLevel::Raid5, 3),
    (RaidLevel::Raid5, 5),
    (RaidLevel::Raid6, 5),
];

/// Drives of a RAID that may fail at once, whichever they are.
#[must_use]
pub const fn redundancy(level: RaidLevel, drives: u32) -> u32 {
    match level {
        RaidLevel::Raid0 => 0,
        RaidLevel::Raid1 => drives - 1,
        RaidLevel::Raid5 | RaidLevel::Raid10 => 1,
        RaidLevel::Raid6 => 2,
    }
}

/// A RAID of the suite.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The RAID.
    pub raid: RaidSpec,
    /// One of its drives.
    pub drive: Resolved,
    /// What its drives went through before.
    pub steps: Vec<Precondition>,
}

/// The RAIDs of the suite, new and used.
#[must_use]
pub fn settings() -> Vec<Setting> {
    let each = LEVELS.into_iter().enumerate().map(|(number, (level, count))| {
        let spares = if redundancy(level, count) > 0 { 1 + number as u32 % 2 } else { 0 };
        let steps = if number % 2 == 0 { Vec::new() } else { vec![Precondition::Fill] };
        Setting { raid: raid(level, count, spares), drive: drive(""), steps }
    });
    each.collect()
}

/// A random RAID.
#[must_use]
pub fn draw(rng: &mut Rng) -> Setting {
    let level = RaidLevel::ALL[rng.below(RaidLevel::ALL.len() as u64) as usize];
    let count = match level {
        RaidLevel::Raid0 => 1 + rng.below(4) as u32,
        RaidLevel::Raid1 => 2 + rng.below(2) as u32,
        RaidLevel::Raid5 => 3 + rng.below(4) as u32,
        RaidLevel::Raid6 => 4 + rng.below(3) as u32,
        RaidLevel::Raid10 => 4 + 2 * rng.below(2) as u32,
    };
    let spares = if redundancy(level, count) > 0 { rng.below(3) as u32 } else { 0 };
    let chunk = Bytes::new(2048 << rng.below(6));
    let rebuild_rate = base::units::Rate::new(1_000_000 << rng.below(8));
    let more = ["", "planes = 1", "controllers = \"none\"", "paired-pages = true"];
    let more = more[rng.below(3) as usize];
    let steps = match rng.below(3) {
        0 => Vec::new(),
        1 => vec![Precondition::Fill],
        _ => vec![Precondition::Fill, Precondition::RandomOverwrite(0.3)],
    };
    Setting { raid: RaidSpec { chunk, rebuild_rate, ..raid(level, count, spares) }, drive: drive(more), steps }
}

/// Runs a RAID through requests, failures of as many drives as it can lose at a time, rebuilds and power cuts, and checks every read.
///
/// # Panics
/// If a read returns what it must not, or a request is lost.
pub fn check(setting: &Setting, seed: u64) {
    let Setting { raid: spec, drive, steps } = setting;
    let mut host = Host::new(Raid::new(spec, drives(spec, drive, steps)), seed);
    let mut rng = Rng::stream(seed, "raid.check");
    let depth = 1 + rng.below(10) as usize;
    let mut missing = 0;
    for _ in 0..8 {
        host.run(40 + rng.below(80), depth);
        match rng.below(4) {
            // A parity in doubt and a missing drive together lose data: the write hole.
            0 if missing == 0 => {
                host.cut_power();
                host.run(rng.below(40), depth);
                host.finish();
            }
            1 | 2 if missing < redundancy(spec.level, spec.drives) => {
                let drive = rng.below(u64::from(spec.drives + spec.spares)) as u32;
                host.raid.fail(drive);
                host.run(rng.below(60), depth);
                host.finish();
                // Every spare has been rebuilt.
                missing = host.raid.empty_places();
            }
            _ => host.read_all(),
        }
    }
    host.read_all();
    let counted = host.raid.counters().raid.expect("a RAID");
    assert_eq!(counted.lost_chunks, 0);
}
