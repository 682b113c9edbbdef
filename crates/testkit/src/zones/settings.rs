//! Fixed and random drives with zones for the checks.

use base::engine::Rng;
use ssd::{ResolvedDevice, Spec};

/// A small part with three bits per cell and one-shot programs. (`SLC` has one bit and programs page by page.)
const TLC: &str = "part = 'kioxia-wd-128l-tlc'";
const SLC: &str = "part = 'K9K8G08U0M'";

/// Writes the description of a drive from its tables.
fn drive(part: &str, flash: &str, ftl: &str) -> String {
    format!(
        "name = 'z'\n[flash]\n{part}\n{flash}\n[host]\nqueue-depth = 32\n[ftl]\nkind = 'zns'\nover-provisioning = '45%'\n{ftl}"
    )
}

fn resolve(name: &str, text: &str) -> ResolvedDevice {
    let spec: Spec = toml::from_str(text).unwrap_or_else(|error| panic!("{name}: {text}: {error}"));
    spec.resolve().unwrap_or_else(|faults| panic!("{name}: {text}: {faults:?}"))
}

/// Creates the drives of the suite, each with its name.
///
/// # Panics
/// If a description is not valid.
#[must_use]
pub fn settings() -> Vec<(&'static str, ResolvedDevice)> {
    let wide = "channels = 2\nchips = 2\nblocks = 12\npages = 6\nplanes = 2\n";
    let flat = "channels = 2\nchips = 2\nblocks = 12\npages = 8\nplanes = 1\n";
    let limits = "max-active = 4, max-open = 3";
    [
        ("one-shot programs over all dies", drive(TLC, wide, &format!("map-unit = '8KiB'\nzns = {{ {limits} }}"))),
        ("a zone on each die", drive(TLC, wide, &format!("map-unit = '8KiB'\nzns = {{ dies = 1, {limits} }}"))),
        (
            "two superblocks on each die",
            drive(TLC, wide, &format!("map-unit = '16KiB'\nzns = {{ dies = 2, capacity = '704KiB', {limits} }}")),
        ),
        ("a gap behind the capacity", drive(SLC, flat, &format!("zns = {{ dies = 2, capacity = '26KiB', size = '64KiB', {limits} }}"))),
        ("page by page", drive(SLC, flat, &format!("zns = {{ {limits}, programs-per-die = 1 }}\nwear = {{ dynamic = false }}"))),
        (
            "cache mode across lists, reads first",
            drive(
                TLC,
                &format!("{wide}controllers = 'none'\ncache-across-lists = true\narbitration = {{ commands = 'read-first', bus = 'command-first' }}"),
                &format!("map-unit = '4KiB'\nzns = {{ dies = 2, {limits}, programs-per-die = 3 }}"),
            ),
        ),
        (
            "random write areas, one-shot programs",
            drive(
                TLC,
                wide,
                &format!("map-unit = '8KiB'\nzns = {{ {limits}, zrwa = {{ size = '128KiB', flush-granularity = '32KiB' }} }}"),
            ),
        ),
        (
            "random write areas of two zones, page by page",
            drive(
                SLC,
                flat,
                &format!(
                    "zns = {{ dies = 2, capacity = '28KiB', size = '64KiB', {limits}, programs-per-die = 1, zrwa = {{ size = '8KiB', \
                     flush-granularity = '4KiB', zones = 2 }} }}"
                ),
            ),
        ),
        (
            "one active zone",
            drive(SLC, flat, "map-unit = '1KiB'\nzns = { dies = 4, max-active = 1 }"),
        ),
    ]
    .into_iter()
    .map(|(name, text)| (name, resolve(name, &text)))
    .collect()
}

/// Draws a random drive.
///
/// # Panics
/// If no draw gives a valid drive.
#[must_use]
pub fn draw(rng: &mut Rng) -> ResolvedDevice {
    let mut pick = |all: &[&'static str]| all[rng.below(all.len() as u64) as usize];
    for _ in 0..100 {
        let tlc = pick(&["y", "n"]) == "y";
        let (part, unit) = match tlc {
            true => (TLC, pick(&["4KiB", "8KiB", "16KiB"])),
            false => (SLC, pick(&["512B", "1KiB", "2KiB"])),
        };
        let planes = if tlc { pick(&["1", "2", "4"]) } else { pick(&["1", "2"]) };
        let pages = if tlc { pick(&["3", "6", "12"]) } else { pick(&["4", "7", "16"]) };
        let flash = format!(
            "channels = {}\nchips = {}\nblocks = {}\npages = {pages}\nplanes = {planes}\ncontrollers = '{}'\n",
            pick(&["1", "2"]),
            pick(&["1", "2", "3"]),
            pick(&["12", "17", "30"]),
            pick(&["none", "per-channel", "per-die"]),
        );
        let more =
            pick(&["", "", "multi-plane = false\n", "arbitration = { commands = 'read-first' }\n", "suspend = {}\n"]);
        let dies = pick(&["", "dies = 1, ", "dies = 2, ", "dies = 3, "]);
        let size =
            pick(&["", "", "capacity = '48KiB', ", "capacity = '96KiB', size = '160KiB', ", "capacity = '384KiB', "]);
        let limits = pick(&["max-active = 1", "max-active = 3", "max-active = 5, max-open = 2", "max-active = 6"]);
        let programs = pick(&["1", "2", "4"]);
        let zrwa = pick(&[
            "",
            "",
            ", zrwa = { size = '16KiB' }",
            ", zrwa = { size = '16KiB', flush-granularity = '16KiB' }",
            ", zrwa = { size = '32KiB', flush-granularity = '4KiB', zones = 1 }",
            ", zrwa = { size = '48KiB', flush-granularity = '2KiB' }",
        ]);
        let ftl =
            format!("map-unit = '{unit}'\nzns = {{ {dies}{size}{limits}, programs-per-die = {programs}{zrwa} }}\n");
        let spec: Result<Spec, _> = toml::from_str(&drive(part, &format!("{flash}{more}"), &ftl));
        if let Ok(resolved) = spec.expect("a description").resolve() {
            let shape = resolved.zones.expect("zones");
            if shape.zones >= 2 && shape.capacity >= 4 && u64::from(shape.zones) * u64::from(shape.size) < 1 << 20 {
                return resolved;
            }
        }
    }
    panic!("no random drive has zones")
}
