//! A random device under a random workload with random faults and power cuts; one seed says it all.

use flash::backend::{Arbitration, BusOrder, Op, Order, Transfer, Units};
use flash::engine::Rng;
use flash::nand::{Part, Stamp};
use flash::units::{Bytes, Ratio};
use ssd::{
    Allocation, BufferSpec, Digits, Drive, EraseWhen, FlashSpec, FtlKind, FtlSpec, GcSpec, HostSpec, LogSpec, MapSpec,
    PlacementSpec, Precondition, QueueArbitration, QueueId, QueueSpec, ResolvedQueues, Spec, Ssd, Striping, VictimSpec,
    WearSpec,
};

use crate::{Host, requests};

/// What a run of the swarm may draw.
#[derive(Clone, Copy, Debug)]
pub struct Swarm {
    /// Requests submitted in a run.
    pub requests: u32,
    /// Power cuts in a run.
    pub cuts: u32,
    /// Whether programs and erases may fail.
    pub faults: bool,
    /// Whether there may be several submission queues, confined to dies.
    pub queues: bool,
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
    let orders: Vec<_> = Digits::every().collect();
    let order = pick(rng, &orders);
    let placement = pick(rng, &PlacementSpec::every(order));
    let victim = pick(rng, &VictimSpec::EVERY);
    // From a copy of the stream: a seed means the same as when there was only one map.
    let map = pick(&mut rng.clone(), &MapSpec::EVERY);
    let start = 1 + rng.below(3) as u32;
    let mut flash_faults = flash::nand::FaultSpec::default();
    if faults {
        flash_faults.program_failures = Ratio::new(pick(rng, &[0.0, 0.0005, 0.002]));
        flash_faults.erase_failures = Ratio::new(pick(rng, &[0.0, 0.002]));
        flash_faults.initial_bad_blocks = Ratio::new(pick(rng, &[0.0, 0.02]));
    }
    let spec = Spec {
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
            units: pick(rng, &Units::EVERY),
            transfer: Transfer::default(),
            order: Arbitration { commands: pick(rng, &Order::EVERY), bus: pick(rng, &BusOrder::EVERY) },
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
            kind: draw_kind(rng),
            map,
            ..FtlSpec::default()
        },
    };
    if spec.ftl.kind.has_log_blocks() { with_log_blocks(&mut rng.clone(), spec) } else { spec }
}

/// One drive in two maps pages. One number of the stream, so that a seed that draws that means what it always did.
fn draw_kind(rng: &mut Rng) -> FtlKind {
    let mut kinds = Rng::stream(rng.bits(), "swarm.kind");
    if kinds.chance(0.5) { FtlKind::Page } else { pick(&mut kinds, &FtlKind::EVERY) }
}

/// What a family with log blocks cannot have is taken out, and what only it has is drawn.
fn with_log_blocks(rng: &mut Rng, mut spec: Spec) -> Spec {
    let part = spec.flash.custom_part.as_mut().expect("a part of its own");
    part.timing.one_shot = 1;
    spec.ftl.map_unit = Some(part.geometry.page);
    (spec.flash.multi_plane, spec.flash.gang) = (Some(false), 1);
    if spec.flash.units != Units::None {
        spec.flash.transfer = pick(rng, &Transfer::EVERY);
    }
    (spec.ftl.map, spec.ftl.wear.threshold) = (MapSpec::default(), None);
    spec.ftl.log = LogSpec {
        blocks: 1 + rng.below(8) as u32,
        striping: pick(rng, &[Striping::Block, Striping::Page]),
        allocation: pick(rng, &Allocation::EVERY),
        erase: pick(rng, &[EraseWhen::Copied, EraseWhen::Read]),
        parallel: 1 + rng.below(3) as u32,
    };
    spec
}

/// The same device with submission queues. Every queue has room for all that the host can write.
#[must_use]
pub fn draw_queues(rng: &mut Rng, device: &Spec) -> Spec {
    loop {
        let spec = try_queues(rng, device);
        let Ok(resolved) = spec.resolve() else { continue };
        let queues = &resolved.host.queues;
        let room = |set: u32| ResolvedQueues::room(&resolved.geometry, queues.sets[set as usize].len());
        if queues.queues.iter().all(|queue| room(queue.set) >= u64::from(resolved.units)) {
            return spec;
        }
    }
}

fn try_queues(rng: &mut Rng, device: &Spec) -> Spec {
    let mut spec = device.clone();
    let arbitration = pick(rng, &QueueArbitration::EVERY);
    let geometry = device.resolve().expect("it was drawn to be valid").geometry;
    let mut least = geometry.die_count();
    let mut queue = || {
        let weight = (arbitration == QueueArbitration::Weighted).then(|| 1 + rng.below(4) as u32);
        let depth = rng.chance(0.3).then(|| 1 + rng.below(8) as u32);
        let mut queue = QueueSpec { weight, depth, ..QueueSpec::default() };
        if rng.chance(0.6) {
            let mut some = |count: u32| (0..count).filter(|_| rng.chance(0.6)).collect::<Vec<_>>();
            let dies = some(geometry.die_count());
            if !dies.is_empty() {
                least = least.min(dies.len() as u32);
                queue.dies = Some(dies);
            }
        }
        queue
    };
    spec.host.queue = vec![queue(), queue(), queue()];
    spec.host.queue.truncate(1 + rng.below(3) as usize);
    (spec.host.arbitration, spec.host.burst) = (arbitration, 1 + rng.below(4) as u32);
    // What the host sees fits into the smallest set.
    let share = f64::from(least) / f64::from(geometry.die_count());
    let seen = (1.0 - spec.ftl.over_provisioning.get()) * share * 0.9;
    spec.ftl.over_provisioning = Ratio::new(1.0 - seen);
    spec
}

impl Swarm {
    /// Runs the swarm for one seed.
    ///
    /// # Panics
    /// If anything is wrong; whoever calls prints the seed.
    #[must_use]
    pub fn run(&self, seed: u64) -> Outcome {
        let mut rng = Rng::stream(seed, "swarm");
        // Streams of their own, so that a run without queues is what it was before there were any.
        let (mut own, mut choice) = (Rng::stream(seed, "swarm.queues"), Rng::stream(seed, "swarm.queue"));
        let mut spec = draw_device(&mut rng, self.faults);
        if self.queues {
            spec = draw_queues(&mut own, &spec);
        }
        let resolved = spec.resolve().expect("it was drawn to be valid");
        let mut ssd = Ssd::<Stamp>::new(&resolved, seed);
        if rng.chance(0.3) {
            ssd.precondition(Precondition::Fill, &mut |_, _| {});
        }
        let mut host = Host::new(ssd).that_may_wear_out(self.faults);
        let capacity = resolved.capacity().get();
        let cut_every = self.requests / (self.cuts + 1);
        let mut cuts = 0;
        for i in 0..self.requests {
            if host.worn_out() {
                break;
            }
            let queue = QueueId::new(choice.below(resolved.host.queues.queues.len() as u64) as u16);
            host.submit_to(queue, requests::draw(&mut rng, capacity));
            host.steps(rng.below(6));
            if cut_every > 0 && i % cut_every == cut_every - 1 && cuts < u64::from(self.cuts) {
                // At an event, or between two.
                if let Some(middle) = host.middle().filter(|_| rng.chance(0.5)) {
                    host.advance(middle);
                }
                host.cut();
                cuts += 1;
            }
        }
        if !host.worn_out() {
            // Background work comes to rest once nobody asks for anything.
            host.rest();
            host.ssd().check();
        }
        let counters = host.ssd().counters();
        Outcome {
            completed: host.requests().iter().sum(),
            cuts,
            erases: counters.flash.op(Op::Erase).commands,
            hash: counters.event_hash,
        }
    }
}
