//! Settings with power states, power caps, and a drive that is hot after little work.

use base::units::{Power, Rate, Span, Temperature, ThermalResistance};
use flash::backend::{Controllers, Order, PowerCapSpec};
use ssd::{
    ControllerPower, DiscardSpec, FtlKind, MapSpec, OperationalState, PowerSpec, PowerState, Spec, ThermalSpec,
    ThrottleSpec, ThrottleStyle,
};

use super::{Book, Setting, buffer, samples, slc_mlc};
use crate::leave_out_idle;

/// Power states that a drive enters between the requests of a test; some requests come while an entry is in progress.
pub(crate) fn states() -> PowerSpec {
    let state = |mw: u64, after, entry, exit| {
        let [idle_after, entry, exit] = [after, entry, exit].map(Span::from_us);
        PowerState { power: Power::from_uw(mw * 1000), idle_after, entry, exit }
    };
    let controller = ControllerPower { active: Power::from_uw(2_000_000), idle: Power::from_uw(500_000) };
    PowerSpec { controller, states: vec![state(50, 60, 40, 30), state(5, 400, 100, 200)], ..PowerSpec::default() }
}

/// A drive that is hot after a millisecond of work, and cool soon after it stops.
pub(crate) fn hot(style: ThrottleStyle) -> PowerSpec {
    let throttle = ThrottleSpec {
        style,
        from: Temperature::from_celsius(60),
        to: Temperature::from_celsius(70),
        lowest_rate: Rate::new(10_000_000),
        highest_rate: (style == ThrottleStyle::Proportional).then(|| Rate::new(40_000_000)),
    };
    let thermal = ThermalSpec {
        ambient: Temperature::from_celsius(25),
        resistance: ThermalResistance::from_thousandths(25_000),
        time_constant: Span::from_us(600),
        sample: Span::from_us(100),
        throttle: Some(throttle),
    };
    PowerSpec { thermal: Some(thermal), ..states() }
}

/// A cap on the power of `programs` operations at once, each of 3.3 V x 15 mA = 49.5 mW; with `average`, in windows of
/// 700 us as a share of a die's power.
pub(crate) fn capped(programs: u64, average: bool) -> PowerSpec {
    let mw = |mw: u64| Power::from_uw(mw * 1000);
    let (average, window) = (average.then(|| mw(40)), average.then(|| Span::from_us(700)));
    let cap = PowerCapSpec { peak: Some(mw(50 * programs)), average, window };
    PowerSpec { cap: Some(cap), ..PowerSpec::default() }
}

/// Operational power states; the second is selected and allows this number of operations of 49.5 mW at once.
pub(crate) fn limited(operations: u64) -> PowerSpec {
    let power = states();
    let state = |operations: u64| OperationalState {
        power: Power::from_uw(power.controller.active.as_uw() + operations * 50_000),
        entry: Span::ZERO,
        exit: Span::ZERO,
    };
    PowerSpec { operational: vec![state(1_000), state(operations)], select: 1, ..power }
}

pub(crate) const STYLES: [ThrottleStyle; 2] = [ThrottleStyle::Proportional, ThrottleStyle::OnOff];

impl Book {
    pub(super) fn powers(&mut self) {
        let mut add = |name: &str, power: PowerSpec, change: &dyn Fn(&mut Spec)| {
            self.add(name, |spec| {
                spec.power = Some(power);
                change(spec);
            });
        };
        add("power states", states(), &|_| {});
        add("power states, buffered", states(), &|spec| spec.buffer = Some(buffer(8, 0.5, 0.25)));
        for style in STYLES {
            add(&format!("throttled by heat, {style:?}"), hot(style), &|spec| {
                spec.flash.controllers = Controllers::None
            });
        }
        if self.map != MapSpec::Ram {
            return;
        }
        let mut add = |name: &str, power: PowerSpec, change: &dyn Fn(&mut Spec)| {
            self.add(name, |spec| {
                spec.power = Some(power);
                change(spec);
            });
        };
        for (name, programs, average) in [("one program at a time", 1, false), ("average", 2, true)] {
            add(&format!("power cap, {name}"), capped(programs, average), &|spec| {
                (spec.flash.chips, spec.flash.controllers) = (2, Controllers::None);
            });
            add(&format!("power cap, {name}, reads first, buffered"), capped(programs, average), &|spec| {
                (spec.flash.arbitration.commands, spec.buffer) = (Order::ReadFirst, Some(buffer(8, 0.5, 0.25)));
            });
            add(&format!("power cap, {name}, one-shot programs"), capped(programs, average), &|spec| {
                spec.flash.custom_part.as_mut().expect("a part of its own").timing.one_shot = 2;
            });
        }
        add("operational power state, one program at a time", limited(1), &|spec| {
            (spec.flash.chips, spec.flash.controllers) = (2, Controllers::None);
        });
        add("power states, queue depth of 1", states(), &|spec| spec.host.queue_depth = 1);
        add("power states, durable discards", states(), &|spec| spec.ftl.discard = DiscardSpec::Durable);
        add("throttled by heat, queues", hot(ThrottleStyle::OnOff), &|spec| {
            (spec.host.queues, spec.host.queue_depth) = (Some(3), 32);
        });
    }
}

/// Creates one setting of each other family.
pub(super) fn of_families() -> Vec<Setting> {
    let of = |kind: FtlKind| match kind {
        FtlKind::Page => None,
        FtlKind::Bast | FtlKind::Fast => Some(slc_mlc(kind)),
        FtlKind::Hydra => super::hydra::settings().into_iter().next().map(|setting| setting.spec),
        FtlKind::Chang => super::slc_mlc::settings().into_iter().next().map(|setting| setting.spec),
        _ => samples::first(kind),
    };
    let mut settings = Vec::new();
    for kind in FtlKind::UNZONED {
        let Some(mut spec) = of(kind) else { continue };
        spec.power = Some(hot(ThrottleStyle::Proportional));
        leave_out_idle(&mut spec);
        if spec.resolve().is_ok() {
            settings.push(Setting { name: format!("{}, power states and heat", kind.name()), spec });
        }
    }
    settings
}
