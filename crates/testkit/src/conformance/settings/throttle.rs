//! Settings of collection that throttles host writes, and of collection while the drive is idle.

use base::units::{Ratio, Span};
use flash::backend::Controllers;
use ftl::IdleGcSpec;
use ssd::{DiscardSpec, GcSpec, MapSpec, Spec};

use super::{Book, buffer};

impl Book {
    pub(super) fn throttles(&mut self) {
        let gc = GcSpec { start: 3, stop: 4, throttle: true, ..GcSpec::default() };
        let idle = Some(IdleGcSpec { after: Span::from_us(300), free: 5 });
        let (ram, paged) = (self.map == MapSpec::Ram, self.map.is_paged());
        let mut add = |name: &str, gc: GcSpec, change: &dyn Fn(&mut Spec)| {
            self.add(name, |spec| {
                let part = spec.flash.custom_part.as_mut().expect("a part of its own");
                part.geometry.blocks_per_plane = if paged { 18 } else { 12 };
                spec.ftl.over_provisioning = Some(Ratio::new(if paged { 0.7 } else { 0.6 }));
                spec.ftl.gc = gc.clone();
                change(spec);
            });
        };
        add("throttle", gc.clone(), &|_| {});
        add("throttle, buffered", gc.clone(), &|spec| spec.buffer = Some(buffer(8, 0.5, 0.25)));
        add("idle collection", GcSpec { idle, ..GcSpec::default() }, &|_| {});
        add("throttle, idle collection, buffered", GcSpec { idle, ..gc.clone() }, &|spec| {
            spec.buffer = Some(buffer(8, 0.5, 0.25));
        });
        if !ram {
            return;
        }
        add("throttle, queue depth of 32", gc.clone(), &|spec| {
            (spec.host.queue_depth, spec.flash.controllers) = (32, Controllers::None);
        });
        add("throttle, one copy at a time", GcSpec { parallel: 1, ..gc.clone() }, &|_| {});
        add("throttle, one-shot programs", gc.clone(), &|spec| {
            spec.flash.custom_part.as_mut().expect("a part of its own").timing.one_shot = 2;
        });
        add("throttle, durable discards", gc.clone(), &|spec| spec.ftl.discard = DiscardSpec::Durable);
        add("throttle, static wear levelling", gc, &|spec| spec.ftl.wear.threshold = Some(4));
    }
}
