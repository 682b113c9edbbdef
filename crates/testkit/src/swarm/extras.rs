//! Features that a drawn device may have in addition to its family: each in some of the cases, and only if the device
//! accepts it.

use base::engine::Rng;
use base::units::{Bytes, Ratio, Span};
use flash::backend::{Controllers, PlaneReadSpec, ReadScope, StopPoint, SuspendSpec, SuspensionTarget};
use flash::nand::{Cell, SlcMode};
use ftl::IdleGcSpec;
use ssd::{CopyStreamsSpec, FdpSpec, FoldPath, FtlKind, HostStreamsSpec, RefreshSpec, SlcCacheSpec, Spec, StreamsSpec};

use super::pick;
use crate::conformance::{STYLES, capped, changing, hot, in_host_memory, limited, short, states, varied, with_errors};
use crate::leave_out_idle;

/// A feature that a drawn device may have.
struct Feature {
    /// The name of the random stream of the feature.
    stream: &'static str,
    /// The share of the devices that get the feature if they accept it.
    share: f64,
    /// Adds the feature. Returns false if the device cannot have it.
    add: fn(&mut Spec, &mut Rng) -> bool,
}

/// The features, in the order in which they are added.
const FEATURES: [Feature; 10] = [
    Feature { stream: "swarm.suspend", share: 0.25, add: suspend },
    Feature { stream: "swarm.plane-reads", share: 0.2, add: plane_reads },
    Feature { stream: "swarm.variation", share: 0.2, add: variation },
    Feature { stream: "swarm.streams", share: 0.25, add: streams },
    Feature { stream: "swarm.slc-cache", share: 0.2, add: slc_cache },
    Feature { stream: "swarm.errors", share: 0.25, add: errors },
    Feature { stream: "swarm.stripes", share: 0.25, add: stripes },
    Feature { stream: "swarm.power", share: 0.2, add: power },
    Feature { stream: "swarm.host-memory", share: 0.4, add: host_memory },
    Feature { stream: "swarm.wear-out", share: 0.17, add: wear_out },
];

/// Adds the features to a device that the random streams after `rng` draw and the device accepts. Blocks wear out only
/// in runs with faults.
pub(super) fn with_features(mut spec: Spec, faults: bool, rng: &Rng) -> Spec {
    for Feature { stream, share, add } in FEATURES.iter().filter(|feature| faults || feature.stream != "swarm.wear-out")
    {
        let mut own = Rng::stream(rng.clone().bits(), stream);
        let mut changed = spec.clone();
        if own.chance(*share) && add(&mut changed, &mut own) {
            leave_out_idle(&mut changed);
            if changed.resolve().is_ok() {
                spec = changed;
            }
        }
    }
    spec
}

/// Adds suspension of programs and erases by reads.
fn suspend(spec: &mut Spec, rng: &mut Rng) -> bool {
    let some = |rng: &mut Rng, us: u64| rng.chance(0.3).then(|| Span::from_us(1 + rng.below(us)));
    let rules = SuspendSpec {
        operations: pick(rng, &[SuspensionTarget::Both, SuspensionTarget::Erases, SuspensionTarget::Programs]),
        reads: pick(rng, &[ReadScope::Host, ReadScope::All]),
        writes: rng.chance(0.3),
        stop: pick(rng, &[StopPoint::AnyTime, StopPoint::Steps, StopPoint::Cancel]),
        limit: rng.chance(0.3).then(|| 1 + rng.below(3) as u32),
        progress: some(rng, 100).unwrap_or_default(),
        longest: some(rng, 1000),
        threshold: some(rng, 100).unwrap_or_default(),
        ..short()
    };
    spec.flash.suspend = Some(rules);
    true
}

/// Adds bit errors, and the refresh of data that they threaten.
fn errors(spec: &mut Spec, rng: &mut Rng) -> bool {
    if spec.flash.custom_part.is_none() {
        return false;
    }
    spec.ftl.gc.copy_back = false;
    with_errors(&mut spec.flash, rng.chance(0.6));
    let refresh = pick(rng, &RefreshSpec::EVERY);
    spec.ftl.refresh = (spec.ftl.kind == FtlKind::Page && rng.chance(0.5)).then_some(refresh);
    true
}

/// Adds planes that read independently.
fn plane_reads(spec: &mut Spec, rng: &mut Rng) -> bool {
    let reads = pick(rng, &[ReadScope::Host, ReadScope::All]);
    let at_once = rng.chance(0.3).then_some(2);
    spec.flash.plane_reads = Some(PlaneReadSpec { at_once, reads });
    true
}

/// Adds differences between blocks.
fn variation(spec: &mut Spec, _: &mut Rng) -> bool {
    spec.flash.variation = Some(varied());
    true
}

/// Adds power states, a drive that gets hot, a power cap, or an operational power state that limits the arrays.
fn power(spec: &mut Spec, rng: &mut Rng) -> bool {
    let power = match rng.below(3) {
        0 => states(),
        1 => hot(pick(rng, &STYLES)),
        _ => {
            let gang = u64::from(spec.flash.gang);
            capped(gang * (1 + rng.below(3)), rng.chance(0.5))
        }
    };
    let mut operational = Rng::stream(rng.clone().bits(), "swarm.power.operational");
    let power = match power.cap.and_then(|cap| cap.peak) {
        Some(peak) if operational.chance(0.3) => limited(peak.as_uw() / 50_000),
        _ => power,
    };
    spec.power = Some(power);
    true
}

/// Adds an SLC cache and blocks for it.
fn slc_cache(spec: &mut Spec, rng: &mut Rng) -> bool {
    let Some(part) = &mut spec.flash.custom_part else { return false };
    if part.cell == Cell::Slc {
        part.cell = pick(rng, &[Cell::Mlc, Cell::Tlc]);
    }
    let bits = part.cell.bits();
    part.geometry.pages_per_block = part.geometry.pages_per_block.next_multiple_of(bits);
    part.geometry.blocks_per_plane += 6;
    part.slc_mode =
        Some(SlcMode { read: Span::from_us(8), program: Span::from_us(50), endurance: 10 * part.endurance });
    let superblock = part.geometry.page.get() * u64::from(part.geometry.pages_per_block / bits);
    spec.ftl.over_provisioning = Some(Ratio::new(0.6 + rng.unit() * 0.2));
    // This size is enough for a superblock or two of each pool on most drives; the others refuse it.
    let every = SlcCacheSpec::every(Bytes::new(superblock * (2 << rng.below(3))));
    let mut cache = pick(rng, &every);
    if rng.chance(0.3) {
        cache.fold = FoldPath::CopyBack;
        part.features.copy_back = true;
    }
    spec.ftl.slc_cache = Some(cache);
    true
}

/// Adds superblocks in several dies, with or without parity.
fn stripes(spec: &mut Spec, rng: &mut Rng) -> bool {
    spec.ftl.superblock_dies = pick(rng, &[2, 3, 4]);
    spec.ftl.parity = rng.chance(0.7);
    let data = 1.0 - if spec.ftl.parity { 1.0 / f64::from(spec.ftl.superblock_dies) } else { 0.0 };
    let seen = 1.0 - spec.ftl.over_provisioning().get();
    spec.ftl.capacity = None;
    spec.ftl.over_provisioning = Some(Ratio::new(1.0 - seen * data));
    spec.ftl.gc.copy_back = false;
    spec.flash.controllers = Controllers::None;
    true
}

/// Adds several write streams and blocks for them.
fn streams(spec: &mut Spec, rng: &mut Rng) -> bool {
    let host = pick(rng, &HostStreamsSpec::every());
    if rng.chance(0.25) {
        spec.ftl.fdp = Some(pick(rng, &FdpSpec::EVERY));
    } else {
        spec.ftl.streams = StreamsSpec { host, copies: pick(rng, &CopyStreamsSpec::EVERY) };
    }
    (spec.ftl.gc.start, spec.ftl.gc.stop) = (spec.ftl.gc.start.max(1), spec.ftl.gc.stop.max(2));
    spec.ftl.gc.shared_log = false;
    if let Some(part) = &mut spec.flash.custom_part {
        part.geometry.blocks_per_plane += 8;
        spec.ftl.over_provisioning = Some(Ratio::new(0.6 + rng.unit() * 0.2));
    }
    true
}

/// Adds the host memory buffer to a device with a cached map: the caches become smaller, and the host takes the
/// memory back now and then.
fn host_memory(spec: &mut Spec, rng: &mut Rng) -> bool {
    let Some(map) = in_host_memory(spec.ftl.map).filter(|_| spec.ftl.kind == FtlKind::Page) else { return false };
    (spec.ftl.map, spec.host.hmb) = (map, rng.chance(0.7).then(changing));
    true
}

/// Makes blocks wear out, each after its own number of erases.
fn wear_out(spec: &mut Spec, rng: &mut Rng) -> bool {
    let Some(part) = &mut spec.flash.custom_part else { return false };
    (part.endurance, part.endurance_spread) = (4 + rng.below(20) as u32, Ratio::new(pick(rng, &[0.0, 0.2, 0.5])));
    spec.flash.faults.wear_out = true;
    true
}

/// Adds throttled host writes in a fifth of the cases, and collection while the drive is idle in a fifth.
pub(super) fn with_throttle(spec: &mut Spec, rng: &mut Rng) {
    let (throttle, idle) = (rng.chance(0.2), rng.chance(0.2));
    let gc = &mut spec.ftl.gc;
    if spec.ftl.kind != FtlKind::Page {
        return;
    }
    gc.throttle = throttle && !gc.shared_log && gc.start > 0;
    gc.idle = idle.then(|| IdleGcSpec { after: Span::from_us(200), free: gc.stop + 1 + rng.below(2) as u32 });
}
