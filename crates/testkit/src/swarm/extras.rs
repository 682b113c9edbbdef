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

/// Adds suspension in a quarter of the cases, if the device accepts it.
pub(super) fn or_suspending(spec: Spec, rng: &mut Rng) -> Spec {
    if !rng.chance(0.25) {
        return spec;
    }
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
    let mut suspending = spec.clone();
    suspending.flash.suspend = Some(rules);
    leave_out_idle(&mut suspending);
    if suspending.resolve().is_ok() { suspending } else { spec }
}

/// Adds bit errors in a quarter of the cases, if the device accepts them.
pub(super) fn or_errors(spec: Spec, rng: &mut Rng) -> Spec {
    if !rng.chance(0.25) || spec.flash.custom_part.is_none() {
        return spec;
    }
    let mut errors = spec.clone();
    errors.ftl.gc.copy_back = false;
    with_errors(&mut errors.flash, rng.chance(0.6));
    let refresh = pick(rng, &RefreshSpec::EVERY);
    errors.ftl.refresh = (errors.ftl.kind == FtlKind::Page && rng.chance(0.5)).then_some(refresh);
    leave_out_idle(&mut errors);
    if errors.resolve().is_ok() { errors } else { spec }
}

/// Adds planes that read independently in a fifth of the cases, if the device accepts them.
pub(super) fn or_plane_reads(spec: Spec, rng: &mut Rng) -> Spec {
    if !rng.chance(0.2) {
        return spec;
    }
    let reads = pick(rng, &[ReadScope::Host, ReadScope::All]);
    let at_once = rng.chance(0.3).then_some(2);
    let mut reading = spec.clone();
    reading.flash.plane_reads = Some(PlaneReadSpec { at_once, reads });
    leave_out_idle(&mut reading);
    if reading.resolve().is_ok() { reading } else { spec }
}

/// Adds differences between blocks in a fifth of the cases, if the device accepts them.
pub(super) fn or_varied(spec: Spec, rng: &mut Rng) -> Spec {
    if !rng.chance(0.2) {
        return spec;
    }
    let mut varies = spec.clone();
    varies.flash.variation = Some(varied());
    if varies.resolve().is_ok() { varies } else { spec }
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

/// Adds, in a fifth of the cases, power states, a drive that gets hot, a power cap, or an operational power state that
/// limits the arrays, if the device accepts it.
pub(super) fn or_power(spec: Spec, rng: &mut Rng) -> Spec {
    if !rng.chance(0.2) {
        return spec;
    }
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
    let powered = Spec { power: Some(power), ..spec.clone() };
    if powered.resolve().is_ok() { powered } else { spec }
}

/// Adds an SLC cache and blocks for it in a fifth of the cases, if the device accepts it.
pub(super) fn or_slc_cache(spec: Spec, rng: &mut Rng) -> Spec {
    if !rng.chance(0.2) {
        return spec;
    }
    let mut caches = spec.clone();
    let Some(part) = &mut caches.flash.custom_part else { return spec };
    if part.cell == Cell::Slc {
        part.cell = pick(rng, &[Cell::Mlc, Cell::Tlc]);
    }
    let bits = part.cell.bits();
    part.geometry.pages_per_block = part.geometry.pages_per_block.next_multiple_of(bits);
    part.geometry.blocks_per_plane += 6;
    part.slc_mode =
        Some(SlcMode { read: Span::from_us(8), program: Span::from_us(50), endurance: 10 * part.endurance });
    let superblock = part.geometry.page.get() * u64::from(part.geometry.pages_per_block / bits);
    caches.ftl.over_provisioning = Some(Ratio::new(0.6 + rng.unit() * 0.2));
    // This size is enough for a superblock or two of each pool on most drives; the others refuse it.
    let every = SlcCacheSpec::every(Bytes::new(superblock * (2 << rng.below(3))));
    let mut cache = pick(rng, &every);
    if rng.chance(0.3) {
        cache.fold = FoldPath::CopyBack;
        part.features.copy_back = true;
    }
    caches.ftl.slc_cache = Some(cache);
    leave_out_idle(&mut caches);
    if caches.resolve().is_ok() { caches } else { spec }
}

/// Adds superblocks in several dies, with or without parity, in a quarter of the cases, if the device accepts them.
pub(super) fn or_stripes(spec: Spec, rng: &mut Rng) -> Spec {
    if !rng.chance(0.25) {
        return spec;
    }
    let mut striped = spec.clone();
    striped.ftl.superblock_dies = pick(rng, &[2, 3, 4]);
    striped.ftl.parity = rng.chance(0.7);
    let data = 1.0 - if striped.ftl.parity { 1.0 / f64::from(striped.ftl.superblock_dies) } else { 0.0 };
    let seen = 1.0 - striped.ftl.over_provisioning().get();
    striped.ftl.capacity = None;
    striped.ftl.over_provisioning = Some(Ratio::new(1.0 - seen * data));
    striped.ftl.gc.copy_back = false;
    striped.flash.controllers = Controllers::None;
    leave_out_idle(&mut striped);
    if striped.resolve().is_ok() { striped } else { spec }
}

/// Adds several write streams and blocks for them in a quarter of the cases, if the device accepts them.
pub(super) fn or_streams(spec: Spec, rng: &mut Rng) -> Spec {
    if !rng.chance(0.25) {
        return spec;
    }
    let mut streams = spec.clone();
    let host = pick(rng, &HostStreamsSpec::every());
    if rng.chance(0.25) {
        streams.ftl.fdp = Some(pick(rng, &FdpSpec::EVERY));
    } else {
        streams.ftl.streams = StreamsSpec { host, copies: pick(rng, &CopyStreamsSpec::EVERY) };
    }
    (streams.ftl.gc.start, streams.ftl.gc.stop) = (spec.ftl.gc.start.max(1), spec.ftl.gc.stop.max(2));
    streams.ftl.gc.shared_log = false;
    if let Some(part) = &mut streams.flash.custom_part {
        part.geometry.blocks_per_plane += 8;
        streams.ftl.over_provisioning = Some(Ratio::new(0.6 + rng.unit() * 0.2));
    }
    leave_out_idle(&mut streams);
    if streams.resolve().is_ok() { streams } else { spec }
}

/// Adds the host memory buffer to a device with a cached map in two fifths of the cases: the caches become smaller, and
/// the host takes the memory back now and then.
pub(super) fn or_host_memory(spec: Spec, rng: &mut Rng) -> Spec {
    let Some(map) = in_host_memory(spec.ftl.map).filter(|_| spec.ftl.kind == FtlKind::Page && rng.chance(0.4)) else {
        return spec;
    };
    let mut cached = spec.clone();
    (cached.ftl.map, cached.host.hmb) = (map, rng.chance(0.7).then(changing));
    if cached.resolve().is_ok() { cached } else { spec }
}

/// Makes blocks wear out in a sixth of the cases with faults, each after its own number of erases.
pub(super) fn or_wear_out(spec: Spec, faults: bool, rng: &mut Rng) -> Spec {
    if !faults || !rng.chance(0.17) {
        return spec;
    }
    let mut wears = spec.clone();
    let Some(part) = &mut wears.flash.custom_part else { return spec };
    (part.endurance, part.endurance_spread) = (4 + rng.below(20) as u32, Ratio::new(pick(rng, &[0.0, 0.2, 0.5])));
    wears.flash.faults.wear_out = true;
    if wears.resolve().is_ok() { wears } else { spec }
}
