//! Settings with mapping units that span several planes of a die.

use base::units::{Bytes, Span};
use flash::backend::Controllers;
use flash::nand::Cell;
use ssd::{CheckpointSpec, DiscardSpec, Spec};

use super::{Book, buffer, set_planes, with_errors};

/// Sets the number of planes, the page size, and the number of planes that a unit spans.
fn with_units(spec: &mut Spec, (planes, page): (u32, u64), planes_per_unit: u64) {
    let part = spec.flash.custom_part.as_mut().expect("a part of its own");
    part.geometry.page = Bytes::new(page);
    set_planes(part, planes);
    spec.ftl.map_unit = Some(Bytes::new(page * planes_per_unit));
}

impl Book {
    /// Adds settings of a page map in RAM.
    pub(super) fn large_units(&mut self) {
        let mut add = |name: &str, shape: (u32, u64), planes_per_unit, change: &dyn Fn(&mut Spec)| {
            self.add(format!("units of several planes, {name}"), |spec| {
                with_units(spec, shape, planes_per_unit);
                change(spec);
            });
        };
        add("all of two", (2, 512), 2, &|_| {});
        add("two of four", (4, 512), 2, &|_| {});
        add("two of four, buffered", (4, 512), 2, &|spec| spec.buffer = Some(buffer(8, 0.5, 0.25)));
        add("128 sectors on four", (4, 16 << 10), 4, &|_| {});
        add("one-shot programs, buffered", (2, 512), 2, &|spec| {
            spec.flash.custom_part.as_mut().expect("a part of its own").timing.one_shot = 2;
            spec.buffer = Some(buffer(8, 0.5, 0.25));
        });
        add("copy-back", (2, 512), 2, &|spec| spec.ftl.gc.copy_back = true);
        add("durable discards", (2, 512), 2, &|spec| spec.ftl.discard = DiscardSpec::Durable);
        add("checkpoints", (2, 512), 2, &|spec| {
            spec.ftl.checkpoint = Some(CheckpointSpec { every: Bytes::new(32 << 10) });
        });
        add("bit errors", (2, 512), 2, &|spec| {
            spec.flash.controllers = Controllers::None;
            with_errors(&mut spec.flash, true);
        });
        add("paired pages", (2, 512), 2, &|spec| {
            let part = spec.flash.custom_part.as_mut().expect("a part of its own");
            part.cell = Cell::Mlc;
            let program = part.timing.program[0];
            part.timing.program = vec![program, program + Span::from_us(40)];
            spec.flash.paired_pages = true;
        });
    }
}
