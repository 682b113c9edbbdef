//! Settings with several write streams, in pools with enough blocks for every stream to have one open.

use base::units::{Bytes, Ratio};
use flash::nand::Cell;
use ssd::{
    CheckpointSpec, CopyStreamsSpec, Digits, DiscardSpec, FdpSpec, HostStreamsSpec, MapSpec, PlacementSpec, Spec,
    StreamsSpec,
};

use super::{Book, buffer, set_planes};

/// Sets the streams, and the number of blocks that each pool needs for them when two have failed.
fn with_streams(spec: &mut Spec, host: HostStreamsSpec, copies: CopyStreamsSpec) {
    let part = spec.flash.custom_part.as_mut().expect("a part of its own");
    let (blocks, kept) = if spec.ftl.map.is_paged() { (24, 17.5) } else { (16, 10.5) };
    part.geometry.blocks_per_plane = blocks;
    spec.ftl.over_provisioning = Some(Ratio::new(kept / f64::from(blocks)));
    spec.ftl.streams = StreamsSpec { host, copies };
}

/// Sets the reclaim unit handles, and the number of blocks that each pool needs for them.
fn with_fdp(spec: &mut Spec, fdp: FdpSpec) {
    with_streams(spec, HostStreamsSpec::One, CopyStreamsSpec::One);
    spec.ftl.fdp = Some(fdp);
}

impl Book {
    pub(super) fn streams(&mut self) {
        let every = HostStreamsSpec::every();
        let [size, _, _, interval, lists, ..] = every.clone();
        if self.map != MapSpec::Ram {
            // A map unit sees streams only through the order of programs, so one setting is enough for each map.
            self.add("streams, lists, same", |spec| with_streams(spec, lists.clone(), CopyStreamsSpec::Same));
            self.add("streams, lists, generations, buffered", |spec| {
                with_streams(spec, lists, CopyStreamsSpec::Generations { streams: 3 });
                spec.buffer = Some(buffer(8, 0.5, 0.25));
            });
            return;
        }
        let name = |host: &HostStreamsSpec| format!("{host:?}").split(' ').next().unwrap_or_default().to_owned();
        for host in every {
            for copies in CopyStreamsSpec::EVERY {
                let of = format!("{copies:?}").split(' ').next().unwrap_or_default().to_owned();
                self.add(format!("streams, {}, {of}", name(&host)), |spec| with_streams(spec, host.clone(), copies));
            }
        }
        let generations = CopyStreamsSpec::Generations { streams: 4 };
        for fdp in FdpSpec::EVERY {
            let FdpSpec { handles, isolation, reclaim_groups } = fdp;
            let groups = if reclaim_groups > 1 { format!(", {reclaim_groups} reclaim groups") } else { String::new() };
            let name = format!("FDP, {handles} handles, {isolation:?}{groups}");
            self.add(name.clone(), |spec| with_fdp(spec, fdp));
            self.add(format!("{name}, buffered"), |spec| {
                with_fdp(spec, fdp);
                spec.buffer = Some(buffer(8, 0.5, 0.25));
            });
        }
        self.add("streams, One, Generations", |spec| with_streams(spec, HostStreamsSpec::One, generations));
        let mut add = |name: &str, change: &dyn Fn(&mut Spec)| {
            self.add(format!("streams, {name}"), |spec| {
                with_streams(spec, lists.clone(), CopyStreamsSpec::Same);
                change(spec);
            });
        };
        add("buffered", &|spec| spec.buffer = Some(buffer(8, 0.5, 0.25)));
        add("buffered, by size", &|spec| {
            (spec.buffer, spec.ftl.streams.host) = (Some(buffer(8, 1.0, 1.0)), size.clone());
        });
        add("one-shot programs", &|spec| {
            spec.flash.custom_part.as_mut().expect("a part of its own").timing.one_shot = 2;
        });
        add("one-shot programs, buffered, by interval", &|spec| {
            spec.flash.custom_part.as_mut().expect("a part of its own").timing.one_shot = 2;
            (spec.buffer, spec.ftl.streams.host) = (Some(buffer(8, 0.5, 0.25)), interval.clone());
        });
        add("paired pages on two planes", &|spec| {
            let part = spec.flash.custom_part.as_mut().expect("a part of its own");
            part.cell = Cell::Mlc;
            set_planes(part, 2);
            spec.flash.paired_pages = true;
        });
        add("static wear levelling", &|spec| spec.ftl.wear.threshold = Some(4));
        add("copy-back", &|spec| (spec.ftl.gc.copy_back, spec.ftl.map_unit) = (true, Some(Bytes::new(2048))));
        add("durable discards", &|spec| spec.ftl.discard = DiscardSpec::Durable);
        add("checkpoints", &|spec| spec.ftl.checkpoint = Some(CheckpointSpec { every: Bytes::new(32 << 10) }));
        add("queue depth of 32, chopped requests", &|spec| {
            (spec.host.queue_depth, spec.host.chop) = (32, Some(Bytes::new(2048)));
        });
        for placement in PlacementSpec::every(Digits::default()) {
            add(&super::called(&placement, Digits::default()), &|spec| spec.ftl.placement = placement.clone());
        }
    }
}
