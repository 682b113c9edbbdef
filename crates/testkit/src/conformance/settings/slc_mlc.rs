//! Settings of Chang's FTL for a drive with SLC and MLC flash, and of the conventional drive without SLC flash.

use base::units::{Bytes, Ratio};
use flash::nand::Part;
use ftl::{ClusterMethod, DensitySpec, MappingSpec, ProbeSequence, SlcMlcSpec};
use ssd::{FtlKind, FtlSpec, MapSpec, SlcSpec, Spec, WearSpec};

use super::{Setting, base, buffer};

/// The device of the settings: pages of four sectors, blocks of four pages, two channels of twelve blocks, of which the
/// host sees half. The SLC flash has eight blocks of four pages of two sectors, and its hash table has sixteen entries.
fn device(slc: bool) -> Spec {
    let mut spec = base(FtlKind::Chang, MapSpec::Ram);
    let part: &mut Part = spec.flash.custom_part.as_mut().expect("a part of its own");
    part.geometry.blocks_per_plane = 12;
    let mut small = part.clone();
    small.geometry.page = Bytes::new(1024);
    spec.ftl = FtlSpec {
        kind: FtlKind::Chang,
        over_provisioning: Some(Ratio::new(0.5)),
        chang: Some(SlcMlcSpec { mapping_cache: 4, recluster_every: 16, throttle: false, ..SlcMlcSpec::default() }),
        wear: WearSpec { check_every: 2, ..WearSpec::default() },
        ..FtlSpec::default()
    };
    if slc {
        let none = SlcSpec { part: None, custom_part: None, size: None, blocks: None, pages: None, lane_rate: None };
        small.geometry.blocks_per_plane = 8;
        spec.slc = Some(SlcSpec { custom_part: Some(small.into()), ..none });
    }
    spec
}

fn chang(spec: &mut Spec) -> &mut SlcMlcSpec {
    spec.ftl.chang.as_mut().expect("its FTL")
}

/// Returns the part of the SLC flash.
fn slc(spec: &mut Spec) -> &mut Part {
    spec.slc.as_mut().expect("SLC flash").custom_part.as_mut().expect("a part of its own")
}

pub(super) fn settings() -> Vec<Setting> {
    let mut settings = Vec::new();
    let mut add = |name: &str, has_slc: bool, change: &dyn Fn(&mut Spec)| {
        let mut spec = device(has_slc);
        change(&mut spec);
        let name = if has_slc { format!("Chang, {name}") } else { format!("Chang, no SLC, {name}") };
        settings.push(Setting { name, spec });
    };
    for has_slc in [false, true] {
        add("plain", has_slc, &|_| {});
        add("the least over-provisioning", has_slc, &|spec| spec.ftl.over_provisioning = Some(Ratio::new(0.25)));
        for dynamic in [true, false] {
            add(&format!("static wear levelling, dynamic: {dynamic}"), has_slc, &|spec| {
                spec.ftl.wear = WearSpec { dynamic, threshold: Some(4), check_every: 2 };
                // Some hot data must reach the MLC flash: otherwise the wear check would find no wear there.
                (chang(spec).copy_back, chang(spec).hash_entries) = (false, Some(4));
            });
        }
        add("buffer", has_slc, &|spec| spec.buffer = Some(buffer(8, 0.5, 0.25)));
    }
    add("data blocks are looked at, one mapping", false, &|spec| {
        (chang(spec).scan_data_blocks, chang(spec).mapping_cache) = (true, 1);
    });
    for (name, extra, spare) in [("", 4, 0.5), (", the least over-provisioning", 2, 0.25)] {
        add(&format!("density control{name}"), false, &|spec| {
            spec.ftl.over_provisioning = Some(Ratio::new(spare));
            chang(spec).density = Some(density(Bytes::new(8192) * extra, 12));
        });
    }
    add("density control, static wear levelling", false, &|spec| {
        spec.ftl.wear = WearSpec { dynamic: false, threshold: Some(4), check_every: 2 };
        chang(spec).density = Some(density(Bytes::new(8192) * 3, 8));
    });
    for has_slc in [false, true] {
        add("pages", has_slc, &|spec| chang(spec).mapping = MappingSpec::Pages);
        add("pages, static wear levelling", has_slc, &|spec| {
            spec.ftl.wear = WearSpec { dynamic: has_slc, threshold: Some(4), check_every: 2 };
            (chang(spec).mapping, chang(spec).hash_entries) = (MappingSpec::Pages, Some(4));
        });
    }
    add("pages, the least over-provisioning, buffer", true, &|spec| {
        spec.ftl.over_provisioning = Some(Ratio::new(0.45));
        (chang(spec).mapping, chang(spec).fold_assistance) = (MappingSpec::Pages, false);
        spec.buffer = Some(buffer(8, 0.5, 0.25));
    });
    add("blocks of 12 pages", false, &|spec| {
        let shape = &mut spec.flash.custom_part.as_mut().expect("a part of its own").geometry;
        (shape.blocks_per_plane, shape.pages_per_block) = (8, 12);
    });
    add("chopped requests", true, &|spec| (spec.host.queue_depth, spec.host.chop) = (32, Some(Bytes::new(4096))));
    add("chopped requests, buffer", true, &|spec| {
        (spec.host.chop, spec.buffer) = (Some(Bytes::new(2048)), Some(buffer(8, 0.5, 0.25)));
    });
    add("throttled", true, &|spec| {
        let chang = chang(spec);
        (chang.throttle, chang.throttle_step, chang.throttle_every) = (true, 2, 8);
        slc(spec).endurance /= 2;
    });
    add("the smallest log", true, &|spec| slc(spec).geometry.blocks_per_plane = 2);
    add("a log that takes everything", true, &|spec| {
        slc(spec).geometry.blocks_per_plane = 24;
        (chang(spec).hash_entries, chang(spec).probes) = (Some(256), 64);
        chang(spec).threshold = ClusterMethod::Fixed;
    });
    add("four entries", true, &|spec| chang(spec).hash_entries = Some(4));
    add("a large table", true, &|spec| (chang(spec).hash_entries, chang(spec).probes) = (Some(128), 64));
    for probing in ProbeSequence::EVERY {
        add(&format!("{probing:?} probing, two probes"), true, &|spec| {
            (chang(spec).probing, chang(spec).probes) = (probing, 2);
        });
    }
    for threshold in ClusterMethod::EVERY {
        add(&format!("threshold by {threshold:?}"), true, &|spec| chang(spec).threshold = threshold);
    }
    add("nothing is copied back", true, &|spec| chang(spec).copy_back = false);
    add("no fold assistance", true, &|spec| chang(spec).fold_assistance = false);
    add("a valve that closes soon", true, &|spec| chang(spec).safety_valve = Ratio::new(1.0));
    add("SLC pages of eight sectors", true, &|spec| slc(spec).geometry.page = Bytes::new(4096));
    settings
}

/// Creates settings with SLC logs of two blocks that take most writes: nearly every write cleans the tail, many between
/// two appends of the cleaning.
pub(super) fn short_logs() -> Vec<Setting> {
    let mut settings = Vec::new();
    for (name, mapping, buffered) in [
        ("", MappingSpec::Chains, false),
        (", buffer", MappingSpec::Chains, true),
        (", pages, nothing is copied back", MappingSpec::Pages, false),
    ] {
        let mut spec = device(true);
        slc(&mut spec).geometry.blocks_per_plane = 2;
        let chang = chang(&mut spec);
        (chang.hash_entries, chang.probes, chang.mapping) = (Some(128), 64, mapping);
        chang.copy_back = mapping == MappingSpec::Chains;
        spec.buffer = buffered.then(|| buffer(8, 0.5, 0.25));
        settings.push(Setting { name: format!("Chang, a log of two blocks and a large table{name}"), spec });
    }
    settings
}

/// Density control with this extra capacity.
pub(crate) fn density(extra: Bytes, rank_every: u32) -> DensitySpec {
    let time = |text: &str| text.parse().expect("a time");
    DensitySpec { extra, read: time("20us"), program: time("120us"), rank_every }
}
