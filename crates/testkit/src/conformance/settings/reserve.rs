//! Settings of collection that starts when the only free superblock is the one reserved for copies.

use base::units::Ratio;
use ssd::{GcSpec, MapSpec};

use super::{Book, buffer};

impl Book {
    pub(super) fn starts_at_zero(&mut self) {
        let paged = self.map.is_paged();
        // Over-provisioning with which two blocks of each pool may fail before the drive is out of space.
        let room = |spec: &mut ssd::Spec, shared_log: bool, blocks: u32| {
            let kept = if paged { 6 } else { 4 };
            let part = spec.flash.custom_part.as_mut().expect("a part of its own");
            part.geometry.blocks_per_plane = blocks;
            spec.ftl.over_provisioning = Some(Ratio::new((f64::from(kept) + 0.5) / f64::from(blocks)));
            spec.ftl.gc = GcSpec { start: 0, stop: 1, shared_log, ..GcSpec::default() };
        };
        self.add("collects from 0 to 1, a shared log", |spec| room(spec, true, if paged { 8 } else { 6 }));
        self.add("collects from 0 to 1, a shared log, buffered, one program at a time", |spec| {
            room(spec, true, if paged { 16 } else { 10 });
            spec.ftl.gc.parallel = 1;
            spec.buffer = Some(buffer(8, 0.5, 0.25));
        });
        if self.map == MapSpec::Ram {
            self.add("collects from 0 to 1", |spec| (spec.ftl.gc.start, spec.ftl.gc.stop) = (0, 1));
        }
        self.add("collects from 0 to 2", |spec| (spec.ftl.gc.start, spec.ftl.gc.stop) = (0, 2));
        if paged {
            self.add("collects from 0 to 1, a shared log, translation pages one by one", |spec| {
                room(spec, true, 8);
                spec.ftl.map_gather = Some(1);
            });
        }
    }
}
