//! Settings with checkpoints of a map in RAM, so frequent that most power cuts come during one or soon after one.

use base::units::Bytes;
use flash::nand::Cell;
use ssd::{CheckpointSpec, Digits, DiscardSpec, GcSpec, PlacementSpec, Spec};

use super::{Book, buffer, set_planes};

impl Book {
    pub(super) fn checkpoints(&mut self) {
        let mut add = |name: &str, change: &dyn Fn(&mut Spec)| {
            self.add(format!("checkpoints{name}"), |spec| {
                spec.ftl.checkpoint = Some(CheckpointSpec { every: Bytes::new(16 << 10) });
                change(spec);
            });
        };
        add("", &|_| {});
        add(", seldom", &|spec| spec.ftl.checkpoint = Some(CheckpointSpec { every: Bytes::new(128 << 10) }));
        add(", pages of 16 entries", &|spec| {
            // The map then takes five pages, and a checkpoint's record three.
            (spec.ftl.map_unit, spec.flash.custom_part.as_mut().expect("a part of its own").geometry.page) =
                (Some(Bytes::new(512)), Bytes::new(512));
        });
        add(", durable discards", &|spec| spec.ftl.discard = DiscardSpec::Durable);
        add(", buffered", &|spec| spec.buffer = Some(buffer(8, 0.5, 0.25)));
        add(", a shared log", &|spec| spec.ftl.gc = GcSpec { shared_log: true, ..GcSpec::default() });
        add(", copy-back", &|spec| spec.ftl.gc.copy_back = true);
        add(", static wear levelling", &|spec| spec.ftl.wear.threshold = Some(4));
        for placement in PlacementSpec::every(Digits::default()) {
            add(&format!(", {}", super::called(&placement, Digits::default())), &|spec| {
                (spec.ftl.placement, spec.host.queue_depth) = (placement.clone(), 32);
            });
        }
        add(", one-shot programs", &|spec| {
            spec.flash.custom_part.as_mut().expect("a part of its own").timing.one_shot = 2;
        });
        add(", paired pages on two planes", &|spec| {
            let part = spec.flash.custom_part.as_mut().expect("a part of its own");
            part.cell = Cell::Mlc;
            set_planes(part, 2);
            spec.flash.paired_pages = true;
        });
    }
}
