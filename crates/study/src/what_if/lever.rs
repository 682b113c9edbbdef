//! The keys that act on a part of the time of requests.

use flash::backend::Cause;
use toml::{Table, Value};

use super::Culprit;
use crate::watch::journey::JourneyPart;

#[derive(Clone, Copy, Debug)]
enum KeyChange {
    /// Sets the key to this value, as TOML.
    Be(&'static str),
    /// Sets the key to this value if the key or its table is missing.
    Add(&'static str),
    /// The present value times this factor.
    Times(f64),
}

/// The time on which a key acts.
#[derive(Clone, Copy, Debug, PartialEq)]
enum LeverScope {
    /// A part of the time, whatever the cause.
    Part(JourneyPart),
    /// Waits during which the flash worked for this cause.
    Wait(Cause),
}

/// A key, its new value, and the time on which it acts.
struct Lever(&'static str, KeyChange, &'static [LeverScope]);

use KeyChange::{Add, Be, Times};
use LeverScope::{Part, Wait};

const DIE: LeverScope = Part(JourneyPart::Die);
const CONTROLLER: LeverScope = Part(JourneyPart::Controller);
const CHANNEL: LeverScope = Part(JourneyPart::Channel);

/// The levers for all families. A key of another family, or one without effect on a device, is refused by the check of
/// the description.
const LEVERS: [Lever; 32] = [
    Lever("flash.arbitration.commands", Be("read-first"), &[DIE, CONTROLLER]),
    Lever("flash.arbitration.bus", Be("read-first"), &[CHANNEL]),
    Lever("flash.arbitration.bus", Be("data-first"), &[CHANNEL]),
    Lever("flash.arbitration.between-pages", Be("true"), &[CHANNEL]),
    Lever("flash.controllers", Be("none"), &[CONTROLLER]),
    Lever("flash.multi-plane", Be("false"), &[DIE, CONTROLLER]),
    Lever("flash.multi-plane", Be("true"), &[Part(JourneyPart::Array)]),
    Lever("flash.cache-across-lists", Be("true"), &[DIE, Part(JourneyPart::Array)]),
    Lever("flash.width", Times(2.0), &[CHANNEL, Part(JourneyPart::Transfer)]),
    Lever("flash.chips", Times(2.0), &[DIE, CONTROLLER]),
    Lever("flash.ecc.decoders", Be("per-controller"), &[Part(JourneyPart::Decode)]),
    Lever("host.queue-depth", Times(2.0), &[Part(JourneyPart::Queue)]),
    Lever("host.read-transfer", Be("cut-through"), &[Part(JourneyPart::Link)]),
    Lever("buffer.size", Times(2.0), &[Part(JourneyPart::Buffer), Wait(Cause::Pad), Wait(Cause::Merge)]),
    Lever("buffer.size", Add("8MiB"), &[Part(JourneyPart::Array), Wait(Cause::Pad), Wait(Cause::Merge)]),
    Lever("buffer.max-superblocks", Times(2.0), &[Part(JourneyPart::Buffer), Wait(Cause::Merge)]),
    Lever("buffer.flush", Be("log"), &[Wait(Cause::Flush), Wait(Cause::Pad), Wait(Cause::Merge)]),
    Lever("ftl.over-provisioning", Times(2.0), &[Wait(Cause::Gc), Wait(Cause::Merge)]),
    Lever("ftl.capacity", Times(0.9), &[Wait(Cause::Gc), Wait(Cause::Merge)]),
    Lever("ftl.gc.victim", Be("{ policy = \"greedy\" }"), &[Wait(Cause::Gc)]),
    Lever("ftl.gc.copy-back", Be("true"), &[Wait(Cause::Gc), CHANNEL]),
    Lever("ftl.gc.parallel", Times(2.0), &[Wait(Cause::Gc)]),
    Lever("ftl.placement.policy", Be("least-loaded"), &[DIE, CONTROLLER]),
    Lever("ftl.map-unit", Times(0.5), &[Part(JourneyPart::Overlap), Wait(Cause::Pad)]),
    Lever("ftl.log.blocks", Times(2.0), &[Wait(Cause::Merge)]),
    Lever("ftl.log.parallel", Times(2.0), &[Wait(Cause::Merge)]),
    Lever("ftl.hydra.chips", Times(2.0), &[Wait(Cause::Merge)]),
    Lever("ftl.wear.threshold", Times(2.0), &[Wait(Cause::Wear)]),
    Lever("ftl.map.cmt", Times(4.0), &[Part(JourneyPart::Ftl), Wait(Cause::Map)]),
    Lever("ftl.map.ctp", Times(4.0), &[Part(JourneyPart::Ftl), Wait(Cause::Map)]),
    Lever("ftl.map.cores", Times(2.0), &[Part(JourneyPart::Ftl)]),
    Lever("ftl.map", Be("{ kind = \"ram\" }"), &[Part(JourneyPart::Ftl), Wait(Cause::Map)]),
];

/// A cause is acted upon if it has at least this share of a culprit's wait.
const MUCH: f64 = 0.25;

impl Lever {
    fn acts_on(&self, culprit: &Culprit) -> bool {
        let behind = |cause: Cause| culprit.causes.iter().any(|(other, share)| *other == cause && *share >= MUCH);
        self.2.iter().any(|on| match on {
            LeverScope::Part(part) => *part == culprit.part,
            LeverScope::Wait(cause) => behind(*cause),
        })
    }

    /// The key and its new value in this configuration, as `--set` takes them; `None` if the value would not change.
    fn setting(&self, config: &Table) -> Option<String> {
        let Self(key, to, _) = self;
        let mut steps = key.split('.');
        let first = steps.next().and_then(|step| config.get(step));
        let now = steps.try_fold(first, |value, step| Some(value?.get(step))).flatten();
        match (to, now) {
            (Be(value), _) | (Add(value), None) => Some(format!("{key}={value}")),
            (Times(factor), Some(now)) => Some(format!("{key}={}", times(now, *factor)?)),
            (Add(_), Some(_)) | (Times(_), None) => None,
        }
    }
}

/// A number, or a number with its unit, times a factor.
fn times(value: &Value, factor: f64) -> Option<String> {
    match value {
        Value::Integer(number) => Some(format!("{}", (*number as f64 * factor).floor())),
        Value::Float(number) => Some(format!("{}", number * factor)),
        Value::String(text) => {
            let unit = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
            let (number, unit) = text.split_at(unit);
            Some(format!("{}{unit}", number.parse::<f64>().ok()? * factor))
        }
        _ => None,
    }
}

/// The settings that act on a culprit, for a device with this configuration.
pub(super) fn settings(config: &Table, culprit: &Culprit) -> Vec<String> {
    LEVERS.iter().filter(|lever| lever.acts_on(culprit)).filter_map(|lever| lever.setting(config)).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::catalogue::{device, device_from};

    #[test]
    fn every_lever_moves_a_device_that_comes_with_flashloom() {
        let mut stuck = Vec::new();
        for lever in &LEVERS {
            let moves = |(name, set): (&str, &str)| {
                let mut document = device(Path::new(name)).expect("built in");
                document.set(set).expect("a key");
                let base = device_from(&document).expect("sound");
                let Some(set) = lever.setting(&base.config()) else { return false };
                let changed = document.set(&set).and_then(|()| device_from(&document));
                changed.is_ok_and(|changed| changed.resolved.spec != base.resolved.spec)
            };
            // No built-in drive has these keys with another value than the lever's.
            let more = [("dirik-4x4", "flash.ecc={decode={rate='2GB/s'}}"), ("demo", "ftl.gc.victim.policy=random")];
            let drives = ssd::builtin().iter().map(|(name, _)| (*name, "description=''"));
            if !drives.chain(more).any(moves) {
                stuck.push(lever.0);
            }
        }
        assert_eq!(stuck, [""; 0]);
    }

    #[test]
    fn quantities_keep_their_unit() {
        let text = |text: &str| Value::String(text.into());
        assert_eq!(times(&text("64KiB"), 2.0).as_deref(), Some("128KiB"));
        assert_eq!(times(&text("7%"), 2.0).as_deref(), Some("14%"));
        assert_eq!(times(&text("32KiB"), 0.5).as_deref(), Some("16KiB"));
        assert_eq!(times(&Value::Integer(3), 2.0).as_deref(), Some("6"));
        assert_eq!(times(&text("greedy"), 2.0), None);
        assert_eq!(times(&Value::Boolean(true), 2.0), None);
    }
}
