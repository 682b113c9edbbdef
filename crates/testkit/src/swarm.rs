//! A random device under a random workload with random faults and power cuts; one seed determines everything.

mod extras;
mod page_mapped;
mod policies;

use base::engine::Rng;
use base::units::{Bytes, DieId, Rate, Ratio, Span};
use flash::backend::{Arbitration, Controllers, Op, Order, Transfer};
use flash::nand::{Cell, Stamp};
use ftl::{
    Allocation, ClusterMethod, EraseTiming, FirmwareSpec, HydraSpec, LogSpec, MappingSpec, ProbeSequence,
    ProcessorSpec, SlcMlcSpec, Striping,
};
use ssd::{
    BufferPolicy, CheckpointSpec, DiscardSpec, Drive, FlushPolicy, FtlKind, FtlSpec, LinkSpec, MapSpec, Precondition,
    QueueArbitration, QueueId, QueueSpec, RamSpec, ReadTransfer, SlcSpec, Spec, Ssd, UnmappedReads,
};

use crate::conformance::density;
use crate::{Host, leave_out_idle, requests};
use extras::{with_features, with_throttle};
use page_mapped::page_mapped;
use policies::with_policies;

/// Limits of what a run of the swarm draws.
#[derive(Clone, Copy, Debug)]
pub struct Swarm {
    /// The number of requests submitted in a run.
    pub requests: u32,
    /// The number of power cuts in a run.
    pub cuts: u32,
    /// True if programs and erases may fail.
    pub faults: bool,
    /// True if the drive may have several submission queues, confined to dies.
    pub queues: bool,
}

/// The counts of a run, and its hash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunCounts {
    /// The number of requests completed.
    pub completed: u64,
    /// The number of power cuts survived.
    pub cuts: u64,
    /// The number of superblocks erased.
    pub erases: u64,
    /// Hash of all events.
    pub hash: u64,
}

fn pick<T: Clone>(rng: &mut Rng, from: &[T]) -> T {
    from[rng.below(from.len() as u64) as usize].clone()
}

/// Draws a small device of any kind.
#[must_use]
pub fn draw_device(rng: &mut Rng, faults: bool) -> Spec {
    loop {
        let mut spec = page_mapped(rng, faults);
        // Features that were added later draw from streams of their own, so that a seed still draws the same for
        // everything else.
        let mut later = Rng::stream(rng.clone().bits(), "swarm.hydra");
        spec = or_superblocks(or_log_blocks(or_hydra(spec, &mut later), &mut later), &mut later);
        spec = or_two_arrays(spec, &mut Rng::stream(rng.clone().bits(), "swarm.chang"));
        spec = or_sample(spec, &mut Rng::stream(rng.clone().bits(), "swarm.samples"));
        // Other families refuse paired pages and collection before host writes.
        spec.flash.paired_pages &= spec.ftl.kind == FtlKind::Page;
        let separate = spec.ftl.kind == FtlKind::Page && !spec.ftl.gc.shared_log;
        if separate && Rng::stream(rng.clone().bits(), "swarm.collection").chance(0.25) {
            spec.flash.arbitration.commands = Order::CollectionFirst;
        }
        if let Some(part) = spec.flash.custom_part.as_mut().filter(|_| spec.flash.paired_pages) {
            part.cell = Cell::Mlc;
        }
        if spec.ftl.kind == FtlKind::Page && Rng::stream(rng.clone().bits(), "swarm.discards").chance(0.3) {
            spec.ftl.discard = DiscardSpec::Durable;
        }
        if spec.ftl.kind == FtlKind::Page && Rng::stream(rng.clone().bits(), "swarm.unmapped").chance(0.3) {
            spec.ftl.unmapped_reads = UnmappedReads::FlashRead;
        }
        let in_ram = spec.ftl.kind == FtlKind::Page && spec.ftl.map == MapSpec::Ram;
        let mut checkpoints = Rng::stream(rng.clone().bits(), "swarm.checkpoints");
        if in_ram && checkpoints.chance(0.3) {
            let every = pick(&mut checkpoints, &[64 << 10, 256 << 10, 1 << 20]);
            spec.ftl.checkpoint = Some(CheckpointSpec { every: Bytes::new(every) });
        }
        let levels = spec.ftl.wear.threshold.is_some();
        let mut reserve = Rng::stream(rng.clone().bits(), "swarm.reserve");
        if spec.ftl.kind == FtlKind::Page && !levels && reserve.chance(0.35) {
            (spec.ftl.gc.start, spec.ftl.gc.stop) = (0, 1);
        }
        with_throttle(&mut spec, &mut Rng::stream(rng.clone().bits(), "swarm.throttle"));
        with_policies(&mut spec, &mut Rng::stream(rng.clone().bits(), "swarm.policies"));
        with_times(&mut spec, &mut Rng::stream(rng.clone().bits(), "swarm.times"));
        leave_out_idle(&mut spec);
        if spec.resolve().is_ok() {
            return with_features(spec, faults, rng);
        }
    }
}

/// Adds times of the firmware, the RAM and the link to some of the devices that can have them.
fn with_times(spec: &mut Spec, rng: &mut Rng) {
    let in_ram = spec.ftl.map == MapSpec::Ram;
    let [firmware, ram, link] = [(); 3].map(|()| rng.chance(0.15));
    if firmware && in_ram && spec.ftl.kind == FtlKind::Page {
        spec.ftl.firmware = Some(FirmwareSpec { request: Span::from_us(20), unit: Span::from_us(7) });
    }
    if ram && spec.buffer.is_some() {
        let look_up = in_ram.then(|| Bytes::new(64));
        spec.ram = Some(RamSpec { rate: Rate::new(5_000_000), look_up });
    }
    if link && spec.host.link.rate.is_none() {
        let latency = Span::from_us(7);
        let link = LinkSpec { rate: Some(Rate::new(40_000_000)), ..LinkSpec::default() };
        spec.host.link = LinkSpec { read_latency: latency, write_latency: latency, ..link };
        spec.host.read_transfer = ReadTransfer::CutThrough;
    }
}

/// Replaces the device by one with Hydra's FTL and buffer in a fifth of the cases.
fn or_hydra(mut spec: Spec, rng: &mut Rng) -> Spec {
    if !rng.chance(0.2) {
        return spec;
    }
    let part = spec.flash.custom_part.as_mut().expect("a part of its own");
    part.geometry.planes_per_die = 1;
    part.geometry.page = Bytes::new(pick(rng, &[512, 1024, 2048]));
    part.geometry.blocks_per_plane = 18 + rng.below(24) as u32;
    (part.features.copy_back, part.features.multi_plane) = (true, false);
    part.timing.one_shot = 1;
    let chips = 1 + rng.below(2) as u32;
    spec.flash.gang = 1 + rng.below(4) as u32;
    (spec.flash.width, spec.flash.multi_plane) = (8 * spec.flash.gang, None);
    spec.flash.chips = chips * (1 + rng.below(2) as u32);
    let processor = ProcessorSpec { mhz: 10, synthesizer: rng.chance(0.5), ..ProcessorSpec::default() };
    let hydra = HydraSpec {
        chips,
        spare_blocks: rng.chance(0.5).then_some(3),
        replicate: rng.chance(0.5),
        processor: rng.chance(0.3).then_some(processor),
    };
    spec.host.chop = None;
    spec.ftl = FtlSpec {
        kind: FtlKind::Hydra,
        hydra: Some(hydra),
        wear: spec.ftl.wear,
        over_provisioning: spec.ftl.over_provisioning,
        ..FtlSpec::default()
    };
    spec
}

/// Gives the device a log-block FTL in a part of the cases: removes the keys that such an FTL refuses, and draws its
/// own keys.
fn or_log_blocks(mut spec: Spec, rng: &mut Rng) -> Spec {
    if spec.ftl.kind != FtlKind::Page || !rng.chance(0.25) {
        return spec;
    }
    let part = spec.flash.custom_part.as_mut().expect("a part of its own");
    part.timing.one_shot = 1;
    spec.ftl.map_unit = Some(part.geometry.page);
    (spec.flash.multi_plane, spec.flash.gang) = (Some(false), 1);
    if !matches!(spec.flash.controllers, Controllers::None | Controllers::Background(_)) && !spec.flash.arbitration.hold
    {
        spec.flash.transfer = pick(rng, &Transfer::EVERY);
    }
    (spec.ftl.kind, spec.ftl.map) = (pick(rng, &[FtlKind::Bast, FtlKind::Fast]), MapSpec::default());
    spec.ftl.wear.threshold = None;
    spec.ftl.log = LogSpec {
        blocks: 1 + rng.below(8) as u32,
        striping: pick(rng, &[Striping::Block, Striping::Page]),
        allocation: pick(rng, &Allocation::EVERY),
        erase: pick(rng, &[EraseTiming::Copied, EraseTiming::Read]),
        parallel: 1 + rng.below(3) as u32,
    };
    spec
}

/// Replaces the device by a drive under Chang's FTL in some cases, mostly with an SLC array.
fn or_two_arrays(mut spec: Spec, rng: &mut Rng) -> Spec {
    if spec.ftl.kind != FtlKind::Page || !rng.chance(0.2) {
        return spec;
    }
    let part = spec.flash.custom_part.as_mut().expect("a part of its own");
    part.timing.one_shot = 1;
    spec.ftl.map_unit = Some(part.geometry.page);
    let mut small = part.clone();
    small.geometry.page = Bytes::new(pick(rng, &[512, 1024, 2048]));
    small.endurance = part.endurance * pick(rng, &[1, 10]);
    let flash = &mut spec.flash;
    (flash.multi_plane, flash.gang, flash.controllers, flash.software_controllers) =
        (Some(false), 1, Controllers::default(), None);
    flash.arbitration = Arbitration::default();
    (spec.ftl.kind, spec.ftl.map) = (FtlKind::Chang, MapSpec::default());
    spec.ftl.chang = Some(SlcMlcSpec {
        mapping: MappingSpec::Chains,
        mapping_cache: 1 + rng.below(4) as u32,
        scan_data_blocks: rng.chance(0.3),
        threshold: pick(rng, &ClusterMethod::EVERY),
        recluster_every: 1 + rng.below(40) as u32,
        hash_entries: rng.chance(0.5).then_some(4 << rng.below(6)),
        probing: pick(rng, &ProbeSequence::EVERY),
        probes: 1 + rng.below(12) as u32,
        throttle: rng.chance(0.5),
        throttle_step: 1 + rng.below(3) as u32,
        throttle_every: 1 + rng.below(20) as u32,
        copy_back: rng.chance(0.8),
        fold_assistance: rng.chance(0.8),
        safety_valve: Ratio::new(0.8),
        density: None,
    });
    spec.slc = rng.chance(0.8).then(|| {
        small.geometry.blocks_per_plane = 2 + rng.below(12) as u32;
        SlcSpec { part: None, custom_part: Some(small), size: None, blocks: None, pages: None, lane_rate: None }
    });
    let chang = spec.ftl.chang.as_mut().expect("just said");
    if rng.chance(0.4) {
        chang.mapping = MappingSpec::Pages;
    } else if spec.slc.is_none() && rng.chance(0.5) {
        let block = spec.flash.custom_part.as_ref().expect("a part of its own").geometry.block();
        let rank_every = 1 + rng.below(40) as u32;
        chang.density = Some(density(block * (2 + rng.below(4)), rank_every));
    }
    spec
}

/// In a part of the cases, gives the device a sample of an FTL family that lists samples of its own.
fn or_sample(mut spec: Spec, rng: &mut Rng) -> Spec {
    let samples: Vec<FtlSpec> = FtlKind::UNZONED.into_iter().flat_map(FtlKind::samples).collect();
    if spec.ftl.kind != FtlKind::Page || samples.is_empty() || !rng.chance(0.15) {
        return spec;
    }
    let part = spec.flash.custom_part.as_mut().expect("a part of its own");
    part.timing.one_shot = 1;
    (spec.flash.multi_plane, spec.flash.gang) = (Some(false), 1);
    let over_provisioning = spec.ftl.over_provisioning;
    spec.ftl = FtlSpec { over_provisioning, ..pick(rng, &samples) };
    spec
}

/// Gives the device a buffer that writes back superblocks in a part of the cases.
fn or_superblocks(mut spec: Spec, rng: &mut Rng) -> Spec {
    if let Some(buffer) = spec.buffer.as_mut().filter(|_| rng.chance(0.3)) {
        buffer.policy = BufferPolicy::Superblock;
        buffer.max_superblocks = Some(1 + rng.below(8) as u32);
        buffer.superblock = (spec.ftl.kind != FtlKind::Hydra).then(|| Bytes::new(8192 << rng.below(3)));
        if spec.ftl.kind == FtlKind::Hydra && rng.chance(0.4) {
            buffer.flush = FlushPolicy::Log;
        }
    }
    spec
}

/// Draws submission queues for the device. The dies of every queue have room for the whole capacity.
#[must_use]
pub fn draw_queues(rng: &mut Rng, device: &Spec) -> Spec {
    loop {
        let mut spec = try_queues(rng, device);
        leave_out_idle(&mut spec);
        let Ok(resolved) = spec.resolve() else { continue };
        let queues = &resolved.host.queues;
        // Only a page-mapped FTL confines a queue to dies.
        let fits = |set: u32| resolved.room(set).is_none_or(|room| room >= u64::from(resolved.units));
        if queues.queues.iter().all(|queue| fits(queue.set)) {
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
    let mut patient = Rng::stream(rng.clone().bits(), "swarm.suspend.queues");
    for queue in spec.host.queue.iter_mut().filter(|_| device.flash.suspend.is_some()) {
        queue.suspend = patient.chance(0.4).then_some(false);
    }
    let mut urgent = Rng::stream(rng.clone().bits(), "swarm.urgent.queues");
    for queue in spec.host.queue.iter_mut().filter(|_| arbitration == QueueArbitration::Weighted) {
        queue.urgent = urgent.chance(0.25);
        queue.weight = queue.weight.filter(|_| !queue.urgent);
    }
    (spec.host.arbitration, spec.host.burst) = (arbitration, 1 + rng.below(4) as u32);
    // The capacity must fit into the smallest set of dies.
    let share = f64::from(least) / f64::from(geometry.die_count());
    let seen = (1.0 - spec.ftl.over_provisioning().get()) * share * 0.9;
    spec.ftl.over_provisioning = Some(Ratio::new(1.0 - seen));
    spec
}

/// Returns true if parity rebuilds all data of a failed die, because no page of another die is lost.
fn loses_no_other_page(spec: &Spec) -> bool {
    spec.ftl.parity && spec.flash.faults.program_failures.get() == 0.0 && spec.flash.errors.is_none()
}

impl Swarm {
    /// Draws the drive of a seed. Returns the stream from which its requests are drawn next.
    fn draw(&self, seed: u64) -> (Spec, Rng) {
        let mut rng = Rng::stream(seed, "swarm");
        let mut spec = draw_device(&mut rng, self.faults);
        if self.queues {
            // Queues draw from streams of their own, so that a run without queues did not change when queues were
            // added.
            spec = draw_queues(&mut Rng::stream(seed, "swarm.queues"), &spec);
        }
        (spec, rng)
    }

    /// Draws the drive that [`Self::run`] makes for a seed.
    #[must_use]
    pub fn device(&self, seed: u64) -> Spec {
        self.draw(seed).0
    }

    /// Runs the swarm for one seed.
    ///
    /// # Panics
    /// If a check fails; the caller prints the seed.
    #[must_use]
    pub fn run(&self, seed: u64) -> RunCounts {
        let (spec, mut rng) = self.draw(seed);
        let mut choice = Rng::stream(seed, "swarm.queue");
        let resolved = spec.resolve().expect("it was drawn to be valid");
        let mut ssd = Ssd::<Stamp>::new(&resolved, seed);
        let mut worn_out = false;
        if rng.chance(0.3) {
            // The second step was added later, so it draws from a stream of its own.
            let mut later = Rng::stream(seed, "swarm.precondition");
            let more = [None, Some(Precondition::RandomOverwrite(0.5)), Some(Precondition::Steady)];
            let steps = [Some(Precondition::Fill), if later.chance(0.5) { pick(&mut later, &more) } else { None }];
            let mut refuses = |step: Precondition| ssd.precondition(step, &mut |_, _| {}).refused > 0;
            worn_out = steps.into_iter().flatten().any(&mut refuses);
        }
        assert!(self.faults || !worn_out, "a device without faults became read-only");
        let mut host = Host::new(ssd).that_may_wear_out(self.faults);
        if worn_out {
            host.audit();
            return RunCounts { completed: 0, cuts: 0, erases: 0, hash: host.ssd().counters().event_hash };
        }
        let capacity = resolved.capacity().get();
        let cut_every = self.requests / (self.cuts + 1);
        let mut cuts = 0;
        // A die fails only after the last power cut, because a cut would lose the parity of the open stripes.
        let mut dies = Rng::stream(seed, "swarm.dies");
        let loses_die = self.faults && loses_no_other_page(&spec) && dies.chance(0.5);
        let failure = loses_die.then(|| self.requests - 1 - dies.below(u64::from(cut_every / 2) + 1) as u32);
        for i in 0..self.requests {
            if Some(i) == failure {
                let die = DieId::new(dies.below(u64::from(resolved.geometry.die_count())) as u32);
                host.ssd_mut().media_mut().fail_die(die);
            }
            let queue = QueueId::new(choice.below(resolved.host.queues.queues.len() as u64) as u16);
            host.submit_to(queue, requests::draw(&mut rng, capacity));
            host.steps(rng.below(6));
            if cut_every > 0 && i % cut_every == cut_every - 1 && cuts < u64::from(self.cuts) {
                // The power fails at an event, or half-way between two.
                if let Some(middle) = host.middle().filter(|_| rng.chance(0.5)) {
                    host.advance(middle);
                }
                host.cut();
                cuts += 1;
            }
        }
        // Background work ends once no requests come.
        host.run_until_idle();
        host.ssd().check();
        let counters = host.ssd().counters();
        if host.worn_out() {
            host.audit();
        }
        RunCounts {
            completed: host.requests().iter().sum(),
            cuts,
            erases: counters.flash.op(Op::Erase).commands,
            hash: counters.event_hash,
        }
    }
}
