//! Settings of the FTL families that list their own samples.

use base::units::Bytes;
use flash::backend::{BusOrder, Controllers, Order, ReadScope, StopPoint, SuspendSpec, Transfer};
use ssd::{FtlKind, FtlSpec, MapSpec, Spec};

use super::{Setting, base, buffer};
use crate::leave_out_idle;

/// The device of the settings: two channels with two dies each, eight blocks of four pages of one mapping unit of two
/// sectors.
fn device(ftl: &FtlSpec) -> Spec {
    let mut spec = base(ftl.kind, MapSpec::Ram);
    let part = spec.flash.custom_part.as_mut().expect("a part of its own");
    part.geometry.page = Bytes::new(1024);
    part.geometry.blocks_per_plane = 8;
    spec.flash.chips = 2;
    spec.ftl = ftl.clone();
    spec
}

/// Returns the first sample of a family on that device; `None` if the family lists none.
pub(super) fn first(kind: FtlKind) -> Option<Spec> {
    kind.samples().first().map(device)
}

/// Creates a setting of the first sample of a family on that device, with suspension.
pub(super) fn suspending(kind: FtlKind, rules: SuspendSpec) -> Vec<Setting> {
    let Some(sample) = kind.samples().into_iter().next() else { return Vec::new() };
    let of = |(controllers, stop)| {
        let mut spec = device(&sample);
        spec.flash.controllers = controllers;
        spec.flash.suspend = Some(SuspendSpec { stop, reads: ReadScope::All, ..rules });
        Setting { name: format!("{}, suspension, controllers {controllers:?}, {stop:?}", kind.name()), spec }
    };
    [(Controllers::None, StopPoint::AnyTime), (Controllers::Shared(3), StopPoint::Cancel)].map(of).into()
}

/// Creates settings of an FTL whose mapping units are pages: with each of these tables `[ftl]` on a small device, and
/// with the first one on other devices, if the FTL accepts them. Choose `over-provisioning` so that on each of them two
/// blocks may fail before the drive is out of space: a drive that becomes read-only earlier fails the checks of
/// failures.
#[must_use]
pub fn settings_of(samples: &[FtlSpec]) -> Vec<Setting> {
    let mut settings = Vec::new();
    let mut add = |sample: usize, name: &str, change: &dyn Fn(&mut Spec)| {
        let mut spec = device(&samples[sample]);
        change(&mut spec);
        leave_out_idle(&mut spec);
        if spec.resolve().is_ok() {
            let kind = spec.ftl.kind.name();
            settings.push(Setting { name: format!("{kind}, sample {sample}, {name}"), spec });
        }
    };
    for sample in 0..samples.len() {
        add(sample, "plain", &|_| {});
        add(sample, "buffered", &|spec| spec.buffer = Some(buffer(8, 0.5, 0.25)));
        add(sample, "queue depth of 32, chopped requests", &|spec| {
            (spec.host.queue_depth, spec.host.chop) = (32, Some(Bytes::new(4096)));
        });
    }
    if samples.is_empty() {
        return settings;
    }
    for controllers in Controllers::EVERY {
        for commands in Order::EVERY {
            add(0, &format!("controllers {controllers:?}, {commands:?}"), &|spec| {
                (spec.flash.controllers, spec.flash.arbitration.commands) = (controllers, commands);
            });
        }
    }
    for transfer in Transfer::EVERY {
        add(0, &format!("shared controllers, transfer by {transfer:?}"), &|spec| {
            (spec.flash.controllers, spec.flash.transfer) = (Controllers::Shared(3), transfer);
        });
    }
    for bus in BusOrder::EVERY {
        add(0, &format!("bus {bus:?}"), &|spec| {
            (spec.flash.arbitration.bus, spec.flash.controllers) = (bus, Controllers::None)
        });
    }
    add(0, "held channels", &|spec| {
        (spec.flash.arbitration.hold, spec.flash.controllers) = (true, Controllers::Background(2))
    });
    add(0, "no cache mode", &|spec| spec.flash.cache_mode = false);
    add(0, "blocks of 12 pages", &|spec| {
        let part = spec.flash.custom_part.as_mut().expect("a part of its own");
        part.geometry.pages_per_block = 12;
    });
    add(0, "one die", &|spec| (spec.flash.channels, spec.flash.chips) = (1, 1));
    add(0, "buffer that fills up", &|spec| spec.buffer = Some(buffer(8, 1.0, 1.0)));
    add(0, "queue depth of 1", &|spec| spec.host.queue_depth = 1);
    settings
}
