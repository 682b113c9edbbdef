//! Settings with superblocks in several dies, with and without parity.

use base::units::{Bytes, Rate, Ratio};
use flash::backend::Controllers;
use ftl::PaceSpec;
use ssd::{
    CopyStreamsSpec, Digits, DiscardSpec, HostStreamsSpec, MapSpec, PlacementSpec, RefreshSpec, Spec, StreamsSpec,
};

use super::errors::with_errors;
use super::{Book, buffer, set_planes, short};

/// Lets superblocks span `dies` of four dies. Parity takes space, so the host then sees less.
fn with_stripes(spec: &mut Spec, dies: u32, parity: bool) {
    (spec.flash.chips, spec.flash.controllers) = (2, Controllers::None);
    (spec.ftl.superblock_dies, spec.ftl.parity) = (dies, parity);
    let data = f64::from(dies - u32::from(parity)) / f64::from(dies);
    let seen = 1.0 - spec.ftl.over_provisioning.map_or(0.0, Ratio::get);
    spec.ftl.over_provisioning = Some(Ratio::new(1.0 - seen * data));
}

impl Book {
    /// Adds settings for every map.
    pub(super) fn stripes(&mut self) {
        self.add("superblocks in two dies", |spec| with_stripes(spec, 2, false));
        self.add("parity in four dies", |spec| with_stripes(spec, 4, true));
        self.add("parity in four dies, buffered", |spec| {
            with_stripes(spec, 4, true);
            spec.buffer = Some(buffer(8, 0.5, 0.25));
        });
        // Over-provisioning with enough space for all data in the other dies after one has failed.
        for (rate, name) in [(None, "at once"), (Some(Rate::new(1_000_000)), "at 1 MB/s")] {
            self.add(format!("parity in four dies, one to spare, moved {name}"), |spec| {
                with_stripes(spec, 4, true);
                spec.ftl.over_provisioning = Some(Ratio::new(0.85));
                spec.ftl.rebuild_rate = rate;
            });
        }
        if self.map != MapSpec::Ram {
            return;
        }
        let mut add = |name: &str, dies: u32, change: &dyn Fn(&mut Spec)| {
            self.add(format!("parity in {dies} dies, {name}"), |spec| {
                with_stripes(spec, dies, true);
                change(spec);
            });
        };
        add("mirrors", 2, &|_| {});
        add("one-shot programs on two planes, buffered", 4, &|spec| {
            let part = spec.flash.custom_part.as_mut().expect("a part of its own");
            part.timing.one_shot = 2;
            set_planes(part, 2);
            spec.buffer = Some(buffer(8, 0.5, 0.25));
        });
        add("a shared log", 4, &|spec| spec.ftl.gc.shared_log = true);
        add("collection that starts at zero", 4, &|spec| (spec.ftl.gc.start, spec.ftl.gc.stop) = (0, 1));
        add("static wear levelling", 4, &|spec| spec.ftl.wear.threshold = Some(4));
        add("durable discards", 4, &|spec| spec.ftl.discard = DiscardSpec::Durable);
        add("throttle", 4, &|spec| spec.ftl.gc.throttle = true);
        add("pace", 4, &|spec| {
            spec.ftl.gc.pace = PaceSpec::Formula { copies: "if(writes > 0, 1, parallel)".into() };
        });
        add("least loaded", 2, &|spec| spec.ftl.placement = PlacementSpec::LeastLoaded { order: Digits::default() });
        add("streams", 4, &|spec| {
            let part = spec.flash.custom_part.as_mut().expect("a part of its own");
            part.geometry.blocks_per_plane += 8;
            let host = HostStreamsSpec::every()[4].clone();
            spec.ftl.streams = StreamsSpec { host, copies: CopyStreamsSpec::EVERY[1] };
        });
        add("bit errors, refresh", 4, &|spec| {
            with_errors(&mut spec.flash, true);
            spec.ftl.refresh = Some(RefreshSpec::EVERY[1]);
        });
        add("suspension", 2, &|spec| spec.flash.suspend = Some(short()));
        add("units of a quarter of a page", 2, &|spec| spec.ftl.map_unit = Some(Bytes::new(512)));
        add("cache mode across lists", 4, &|spec| {
            (spec.flash.cache_across_lists, spec.host.queue_depth) = (true, 32);
        });
    }
}
