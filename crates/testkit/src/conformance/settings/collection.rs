//! Settings in which collection goes before the commands of the host.

use base::units::Bytes;
use flash::backend::{Controllers, Order};
use ssd::{CheckpointSpec, MapSpec};

use super::{Book, buffer};

impl Book {
    pub(super) fn collection_first(&mut self) {
        let every = [Controllers::None, Controllers::PerDie, Controllers::Shared(2), Controllers::Background(2)];
        let controllers = if self.map == MapSpec::Ram { &every[..] } else { &every[..2] };
        for controllers in controllers.iter().copied() {
            self.add(format!("collection first, controllers {controllers:?}"), |spec| {
                spec.flash.arbitration.commands = Order::CollectionFirst;
                spec.flash.controllers = controllers;
                (spec.flash.channels, spec.flash.chips) = (1, 2);
            });
        }
        self.add("collection first, buffered, copy-back", |spec| {
            spec.flash.arbitration.commands = Order::CollectionFirst;
            spec.ftl.gc.copy_back = true;
            spec.buffer = Some(buffer(8, 0.5, 0.25));
        });
        if self.map == MapSpec::Ram {
            // Pages of checkpoints lie among host data.
            self.add("collection first, checkpoints", |spec| {
                spec.flash.arbitration.commands = Order::CollectionFirst;
                spec.flash.controllers = Controllers::None;
                spec.ftl.checkpoint = Some(CheckpointSpec { every: Bytes::new(16 << 10) });
            });
        }
    }
}
