//! Settings with an SLC cache, on parts of two or three bits per cell.

use base::units::{Bytes, Ratio, Span};
use flash::backend::Controllers;
use flash::nand::{Cell, SlcMode};
use ssd::{
    CheckpointSpec, Digits, DiscardSpec, FoldPath, HostStreamsSpec, MapSpec, PlacementSpec, SlcCacheSpec, Spec,
    StreamsSpec,
};

use super::{Book, buffer, set_planes, with_errors};

/// Adds an SLC mode to the part, in which superblocks have two rows, and a cache to the drive.
fn with_cache(spec: &mut Spec, cell: Cell, cache: SlcCacheSpec) {
    let part = spec.flash.custom_part.as_mut().expect("a part of its own");
    let paged = spec.ftl.map.is_paged();
    part.cell = cell;
    part.geometry.pages_per_block = 2 * cell.bits();
    let set_aside = if cache.set_aside.is_zero() { 0 } else { 4 };
    part.geometry.blocks_per_plane = set_aside + if paged { 18 } else { 12 };
    part.slc_mode =
        Some(SlcMode { read: Span::from_us(10), program: Span::from_us(60), endurance: 10 * part.endurance });
    let over_provisioning = if paged { 0.72 } else { 0.62 };
    spec.ftl.over_provisioning = Some(Ratio::new(over_provisioning + 0.02 * f64::from(set_aside)));
    spec.ftl.slc_cache = Some(cache);
}

/// The kinds of caches, of which a superblock holds 4 KiB of data.
fn every() -> [SlcCacheSpec; 7] {
    SlcCacheSpec::every(Bytes::new(4096))
}

impl Book {
    pub(super) fn slc_caches(&mut self) {
        let [direct, fold, shrinks, beside, reuse, static_part, all_static] = every();
        let caches = [
            ("direct", &direct),
            ("fold", &fold),
            ("shrinks", &shrinks),
            ("beside", &beside),
            ("reuse", &reuse),
            ("static part", &static_part),
        ];
        let mut add = |name: &str, cell, cache: &SlcCacheSpec, change: &dyn Fn(&mut Spec)| {
            self.add(format!("SLC cache, {name}"), |spec| {
                with_cache(spec, cell, cache.clone());
                change(spec);
            });
        };
        for (name, cache) in caches {
            add(name, Cell::Tlc, cache, &|_| {});
            add(&format!("{name}, one-shot programs, buffered"), Cell::Tlc, cache, &|spec| {
                spec.flash.custom_part.as_mut().expect("a part of its own").timing.one_shot = 3;
                spec.buffer = Some(buffer(8, 0.5, 0.25));
            });
        }
        add("all static", Cell::Tlc, &all_static, &|_| {});
        add("two bits, buffer that fills up", Cell::Mlc, &direct, &|spec| spec.buffer = Some(buffer(8, 1.0, 1.0)));
        if self.map != MapSpec::Ram {
            return;
        }
        let mut add = |name: &str, change: &dyn Fn(&mut Spec)| {
            for (of, cache) in caches {
                self.add(format!("SLC cache, {of}, {name}"), |spec| {
                    with_cache(spec, Cell::Tlc, cache.clone());
                    change(spec);
                });
            }
        };
        add("one-shot programs on two planes", &|spec| {
            let part = spec.flash.custom_part.as_mut().expect("a part of its own");
            part.timing.one_shot = 3;
            set_planes(part, 2);
        });
        add("ganged chips", &|spec| spec.flash.gang = 2);
        add("paired pages", &|spec| spec.flash.paired_pages = true);
        add("copy-back", &|spec| (spec.ftl.gc.copy_back, spec.ftl.map_unit) = (true, Some(Bytes::new(2048))));
        add("durable discards", &|spec| spec.ftl.discard = DiscardSpec::Durable);
        add("checkpoints", &|spec| spec.ftl.checkpoint = Some(CheckpointSpec { every: Bytes::new(32 << 10) }));
        add("static wear levelling", &|spec| spec.ftl.wear.threshold = Some(4));
        add("queue depth of 32", &|spec| spec.host.queue_depth = 32);
        add("small requests alone", &|spec| {
            let part = spec.flash.custom_part.as_mut().expect("a part of its own");
            part.geometry.blocks_per_plane += 4;
            spec.ftl.over_provisioning = Some(Ratio::new(spec.ftl.over_provisioning().get() + 0.08));
            let host = HostStreamsSpec::Size { limits: vec![Bytes::new(2048)] };
            spec.ftl.streams = StreamsSpec { host, ..StreamsSpec::default() };
            spec.ftl.slc_cache.as_mut().expect("a cache").streams = Some(1);
        });
        add("bit errors", &|spec| {
            spec.flash.controllers = Controllers::None;
            with_errors(&mut spec.flash, true);
        });
        add("least loaded pools", &|spec| {
            spec.ftl.placement = PlacementSpec::LeastLoaded { order: Digits::default() };
        });
    }

    /// Adds settings of caches that are folded inside the planes.
    pub(super) fn folds_in_planes(&mut self) {
        for (name, mut cache) in
            ["direct", "fold", "shrinks", "beside", "reuse", "static part"].into_iter().zip(every())
        {
            cache.fold = FoldPath::CopyBack;
            self.add(format!("SLC cache, {name}, folds inside planes"), |spec| {
                with_cache(spec, Cell::Tlc, cache.clone());
                spec.ftl.map_unit = Some(Bytes::new(2048));
            });
            // Three superblocks in SLC mode fill a superblock of one-shot programs.
            cache.size = Bytes::new(3 * cache.size.get());
            cache.reuse = cache.reuse.map(|reuse| Bytes::new(3 * reuse.get()));
            cache.set_aside = Bytes::new(3 * cache.set_aside.get());
            self.add(format!("SLC cache, {name}, one-shot folds inside planes"), |spec| {
                with_cache(spec, Cell::Tlc, cache);
                let part = spec.flash.custom_part.as_mut().expect("a part of its own");
                part.geometry.pages_per_block = 9;
                part.timing.one_shot = 3;
                set_planes(part, 2);
                spec.ftl.map_unit = Some(Bytes::new(2048));
                spec.buffer = Some(buffer(16, 0.5, 0.25));
            });
        }
    }
}
