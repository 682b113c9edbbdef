//! A random device under a random workload with random faults and power cuts; one seed says it all.

use std::collections::{BTreeMap, BTreeSet};

use flash::backend::{Arbitration, BusOrder, Order, Units};
use flash::engine::Rng;
use flash::io::{Io, IoKind};
use flash::nand::{Part, Stamp};
use flash::units::{Bytes, Lba, Ratio, Sectors};
use ssd::{
    BufferSpec, Completion, Drive, FlashSpec, FtlSpec, GcSpec, HostSpec, PlacementSpec, Precondition, Request, Spec,
    Ssd, Status, VictimSpec, WearSpec,
};

use crate::Oracle;

/// What a run of the swarm may draw.
#[derive(Clone, Copy, Debug)]
pub struct Swarm {
    /// Requests submitted in a run.
    pub requests: u32,
    /// Power cuts in a run.
    pub cuts: u32,
    /// Whether programs and erases may fail.
    pub faults: bool,
}

/// What a run did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Requests completed.
    pub completed: u64,
    /// Power cuts survived.
    pub cuts: u64,
    /// Superblocks erased.
    pub erases: u64,
    /// The hash of all events.
    pub hash: u64,
}

fn pick<T: Clone>(rng: &mut Rng, from: &[T]) -> T {
    from[rng.below(from.len() as u64) as usize].clone()
}

/// A small device of any kind.
#[must_use]
pub fn draw_device(rng: &mut Rng, faults: bool) -> Spec {
    loop {
        let spec = try_device(rng, faults);
        if spec.resolve().is_ok() {
            return spec;
        }
    }
}

fn try_device(rng: &mut Rng, faults: bool) -> Spec {
    let mut part = Part::preset("dirik-2009").expect("a preset").clone();
    part.geometry.page = Bytes::new(pick(rng, &[2048, 4096, 8192]));
    part.geometry.pages_per_block = pick(rng, &[4, 6, 12]);
    part.geometry.blocks_per_plane = 8 + rng.below(12) as u32;
    part.geometry.planes_per_die = pick(rng, &[1, 1, 2, 4]);
    part.geometry.dies_per_chip = pick(rng, &[1, 1, 2]);
    part.features.multi_plane = true;
    part.features.copy_back = rng.chance(0.5);
    part.timing.one_shot = pick(rng, &[1, 1, 2, 3]);
    part.bus.command = pick(rng, &["0ns", "200ns"]).parse().expect("a time");
    part.timing.cache_program_copy = pick(rng, &["0us", "3us"]).parse().expect("a time");
    let orders =
        ["channel-chip-die-plane", "plane-die-chip-channel", "chip-channel-plane-die", "die-plane-channel-chip"];
    let order = pick(rng, &orders).parse().expect("an order");
    let placement = pick(
        rng,
        &[
            PlacementSpec::RequestRoundRobin { order },
            PlacementSpec::PageRoundRobin { order },
            PlacementSpec::BlockStriping { order },
            PlacementSpec::AddressStriping { order },
            PlacementSpec::LeastLoaded { order },
        ],
    );
    let victim = pick(
        rng,
        &[
            VictimSpec::Greedy,
            VictimSpec::CostBenefit,
            VictimSpec::Fifo,
            VictimSpec::Random,
            VictimSpec::DChoices { d: 3 },
            VictimSpec::WindowedGreedy { window: 4 },
        ],
    );
    let start = 1 + rng.below(3) as u32;
    let mut flash_faults = flash::nand::FaultSpec::default();
    if faults {
        flash_faults.program_failures = Ratio::new(pick(rng, &[0.0, 0.0005, 0.002]));
        flash_faults.erase_failures = Ratio::new(pick(rng, &[0.0, 0.002]));
        flash_faults.initial_bad_blocks = Ratio::new(pick(rng, &[0.0, 0.02]));
    }
    Spec {
        name: "swarm".into(),
        description: String::new(),
        flash: FlashSpec {
            part: None,
            channels: 1 + rng.below(3) as u32,
            chips: 1 + rng.below(2) as u32,
            gang: pick(rng, &[1, 1, 2]),
            width: 8,
            lane_rate: None,
            size: None,
            blocks: None,
            pages: None,
            planes: None,
            dies: None,
            multi_plane: Some(rng.chance(0.6)),
            cache_mode: rng.chance(0.5),
            units: pick(rng, &[Units::None, Units::PerDie, Units::PerChannel, Units::Shared(2)]),
            order: Arbitration {
                commands: pick(rng, &[Order::Fifo, Order::ReadFirst]),
                bus: pick(rng, &[BusOrder::Fifo, BusOrder::CommandFirst, BusOrder::DataFirst]),
            },
            faults: flash_faults,
            custom_part: Some(part),
        },
        host: HostSpec {
            queue_depth: 1 + rng.below(40) as u32,
            chop: rng.chance(0.3).then(|| Bytes::new(8192)),
            ..HostSpec::default()
        },
        buffer: rng.chance(0.5).then(|| BufferSpec {
            size: Bytes::new(8192 * (1 + rng.below(16))),
            high: Ratio::new(0.5),
            low: Ratio::new(0.25),
        }),
        ftl: FtlSpec {
            map_unit: Some(Bytes::new(pick(rng, &[1024, 2048, 4096]))),
            over_provisioning: Ratio::new(0.2 + rng.unit() * 0.5),
            placement,
            gc: GcSpec {
                victim,
                start,
                stop: start + 1,
                parallel: 1 + rng.below(3) as u32,
                copy_back: rng.chance(0.5),
            },
            wear: WearSpec { dynamic: rng.chance(0.5), threshold: rng.chance(0.3).then_some(4), check_every: 4 },
            ..FtlSpec::default()
        },
    }
}

struct Run {
    ssd: Ssd<Stamp>,
    oracle: Oracle,
    rng: Rng,
    next_tag: u64,
    /// Requests under way: what, a write's stamps and order, a flush's covered writes.
    under_way: BTreeMap<u64, (Io, Vec<Stamp>, u64)>,
    completed_writes: BTreeSet<u64>,
    covered: BTreeMap<u64, BTreeSet<u64>>,
    completions: Vec<Completion<Stamp>>,
    outcome: Outcome,
    faulty: bool,
    /// Too many blocks are bad: what the device holds from here on is not checked.
    worn_out: bool,
}

impl Swarm {
    /// Runs the swarm for one seed.
    ///
    /// # Panics
    /// If anything is wrong; whoever calls prints the seed.
    #[must_use]
    pub fn run(&self, seed: u64) -> Outcome {
        let mut rng = Rng::stream(seed, "swarm");
        let spec = draw_device(&mut rng, self.faults);
        let resolved = spec.resolve().expect("it was drawn to be valid");
        let mut ssd = Ssd::<Stamp>::new(&resolved, seed);
        if rng.chance(0.3) {
            ssd.precondition(Precondition::Fill, &mut |_, _| {});
        }
        let mut run = Run {
            oracle: Oracle::new(resolved.buffer.is_none(), u64::from(resolved.geometry.sectors)),
            ssd,
            next_tag: 0,
            under_way: BTreeMap::new(),
            completed_writes: BTreeSet::new(),
            covered: BTreeMap::new(),
            completions: Vec::new(),
            outcome: Outcome::default(),
            faulty: self.faults,
            worn_out: false,
            rng,
        };
        let cut_every = self.requests / (self.cuts + 1);
        for i in 0..self.requests {
            if run.worn_out {
                return run.outcome;
            }
            run.submit();
            let steps = run.rng.below(6);
            (0..steps).for_each(|_| run.step());
            if cut_every > 0 && i % cut_every == cut_every - 1 && run.outcome.cuts < u64::from(self.cuts) {
                run.cut();
            }
        }
        // Background work comes to rest once nobody asks for anything.
        let mut steps = 0;
        while run.ssd.next_event().is_some() {
            run.step();
            steps += 1;
            assert!(steps < 1_000_000, "the device never comes to rest");
        }
        assert!(run.under_way.is_empty(), "requests that never complete: {:?}", run.under_way.keys());
        run.ssd.check();
        let counters = run.ssd.counters();
        run.outcome.erases = counters.flash.op(flash::backend::Op::Erase).commands;
        run.outcome.hash = counters.event_hash;
        run.outcome
    }
}

impl Run {
    fn submit(&mut self) {
        let capacity = self.ssd.capacity().get();
        let kind = match self.rng.below(100) {
            0..30 => IoKind::Read,
            30..92 => IoKind::Write,
            92..96 => IoKind::Flush,
            _ => IoKind::Discard,
        };
        let most = if self.rng.chance(0.1) { 96 } else { 12 };
        let sectors = 1 + self.rng.below(most.min(capacity));
        // Half of everything goes to a small hot spot, so that requests overlap.
        let space = if self.rng.chance(0.5) { (capacity / 10).max(sectors) } else { capacity };
        let start = self.rng.below(space - sectors + 1);
        let io = if kind == IoKind::Flush {
            Io::FLUSH
        } else {
            Io { kind, start: Lba::new(start), sectors: Sectors::new(sectors) }
        };
        self.next_tag += 1;
        let data = if kind == IoKind::Write { self.oracle.submit_write(&io) } else { Vec::new() };
        if kind == IoKind::Flush {
            self.covered.insert(self.next_tag, self.completed_writes.clone());
        }
        self.under_way.insert(self.next_tag, (io, data.clone(), self.oracle.writes()));
        let request = Request { tag: self.next_tag, io, data };
        self.ssd.submit(self.ssd.now(), request);
    }

    fn step(&mut self) {
        let Some(at) = self.ssd.next_event() else { return };
        let mut completions = std::mem::take(&mut self.completions);
        self.ssd.advance(at, &mut completions);
        for completion in completions.drain(..) {
            self.complete(&completion);
        }
        self.completions = completions;
    }

    fn complete(&mut self, completion: &Completion<Stamp>) {
        let (io, stamps, order) = self.under_way.remove(&completion.tag).expect("completed once");
        assert_eq!(io, completion.io);
        self.outcome.completed += 1;
        if completion.status == Status::ReadOnly {
            assert!(self.faulty, "a device without faults became read-only");
            self.worn_out = true;
        }
        if self.worn_out {
            return;
        }
        assert_eq!(completion.status, Status::Done);
        match io.kind {
            IoKind::Read => self.oracle.check_read(&io, &completion.data),
            IoKind::Write => {
                self.oracle.complete_write(&io, &stamps);
                self.completed_writes.insert(order);
            }
            IoKind::Flush => {
                let covered = self.covered.remove(&completion.tag).expect("it was noted");
                self.oracle.complete_flush(|order| covered.contains(&order));
            }
            IoKind::Discard => self.oracle.complete_discard(&io),
        }
    }

    fn cut(&mut self) {
        self.outcome.cuts += 1;
        // At an event, or between two.
        if let Some(at) = self.ssd.next_event().filter(|_| self.rng.chance(0.5)) {
            let now = self.ssd.now().as_ps();
            let middle = flash::units::Time::from_ps(now + (at.as_ps() - now) / 2);
            let mut completions = std::mem::take(&mut self.completions);
            self.ssd.advance(middle, &mut completions);
            for completion in completions.drain(..) {
                self.complete(&completion);
            }
            self.completions = completions;
        }
        let lost = self.ssd.cut_power();
        assert_eq!(lost.iter().copied().collect::<BTreeSet<_>>(), self.under_way.keys().copied().collect());
        self.under_way.clear();
        self.covered.clear();
        self.completed_writes.clear();
        self.ssd.power_on(self.ssd.now());
        self.ssd.check();
        self.read_everything();
    }

    /// Reads the whole device, in order, and holds it to what it says.
    fn read_everything(&mut self) {
        let capacity = self.ssd.capacity().get();
        for start in (0..capacity).step_by(64) {
            let sectors = Sectors::new(64.min(capacity - start));
            let io = Io { kind: IoKind::Read, start: Lba::new(start), sectors };
            self.ssd.submit(self.ssd.now(), Request { tag: 0, io, data: Vec::new() });
            let mut completions = Vec::new();
            while completions.is_empty() {
                let at = self.ssd.next_event().expect("a read completes");
                self.ssd.advance(at, &mut completions);
            }
            for (sector, got) in (start..).zip(&completions[0].data) {
                self.oracle.check_recovered(sector, *got);
            }
        }
    }
}
