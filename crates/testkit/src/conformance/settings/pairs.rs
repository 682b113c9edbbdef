//! Settings of parts whose torn programs damage the earlier pages of their word lines.

use flash::backend::Controllers;
use flash::nand::Cell;
use ssd::{Digits, GcSpec, MapSpec, PlacementSpec, Spec};

use super::{Book, buffer, set_planes};

/// Selects a part with word lines of two pages, or of three.
fn pair(spec: &mut Spec, cell: Cell) {
    let part = spec.flash.custom_part.as_mut().expect("a part of its own");
    part.cell = cell;
    if cell == Cell::Tlc {
        part.geometry.pages_per_block = 6;
    }
    spec.flash.paired_pages = true;
}

impl Book {
    pub(super) fn paired_pages(&mut self) {
        let ram = self.map == MapSpec::Ram;
        let mut add = |name: &str, cell, change: &dyn Fn(&mut Spec)| {
            self.add(format!("paired pages{name}"), |spec| {
                pair(spec, cell);
                change(spec);
            });
        };
        add("", Cell::Mlc, &|_| {});
        add(", buffered", Cell::Mlc, &|spec| spec.buffer = Some(buffer(8, 0.5, 0.25)));
        add(" in threes, buffer that fills up", Cell::Tlc, &|spec| spec.buffer = Some(buffer(8, 1.0, 1.0)));
        if !ram {
            return;
        }
        let order = Digits::default();
        for (name, placement) in [
            (", AddressStriping", PlacementSpec::AddressStriping { order }),
            (", LeastLoaded", PlacementSpec::LeastLoaded { order }),
        ] {
            add(name, Cell::Mlc, &|spec| spec.ftl.placement = placement.clone());
        }
        add(" in threes", Cell::Tlc, &|_| {});
        add(" on two planes", Cell::Mlc, &|spec| {
            set_planes(spec.flash.custom_part.as_mut().expect("a part of its own"), 2);
        });
        add(", ganged chips", Cell::Mlc, &|spec| spec.flash.gang = 2);
        add(", static wear levelling", Cell::Mlc, &|spec| spec.ftl.wear.threshold = Some(4));
        add(", a shared log", Cell::Mlc, &|spec| spec.ftl.gc = GcSpec { shared_log: true, ..GcSpec::default() });
        add(", deep queue, cache mode across lists", Cell::Mlc, &|spec| {
            (spec.host.queue_depth, spec.flash.cache_across_lists) = (32, true);
            spec.flash.controllers = Controllers::None;
        });
    }
}
