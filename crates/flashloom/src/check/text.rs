//! The summary of a device as text.

use std::fmt::Write as _;

use base::units::SECTOR;
use ssd::{Purpose, QueueArbitration, ResolvedDevice, ResolvedQueue, ResolvedQueues, ResolvedSlcArray};
use study::catalogue::Device;

use super::spare::Spare;
use super::{array, fdp, host, host_memory, limits, power, raid, slc_cache, translation};

/// A text of lines, each with a name before it. Further lines of a name have none.
#[derive(Default)]
pub(super) struct SheetText(String);

impl SheetText {
    pub(super) fn line(&mut self, name: &str, what: impl AsRef<str>) {
        let _ = writeln!(self.0, "  {name:<12}{}", what.as_ref());
    }

    pub(super) fn lines(&mut self, name: &str, texts: Vec<String>) {
        for (i, text) in texts.iter().enumerate() {
            self.line(if i == 0 { name } else { "" }, text);
        }
    }

    fn named_lines<N: AsRef<str>>(&mut self, lines: impl IntoIterator<Item = (N, String)>) {
        lines.into_iter().for_each(|(name, what)| self.line(name.as_ref(), what));
    }
}

/// The summary of a device.
pub(super) fn sheet(device: &Device) -> String {
    let whole = &device.resolved;
    let resolved = &whole.of_drive(0);
    let mut text = SheetText::default();
    text.lines("raid", raid::lines(whole));
    text.lines("translation", translation::lines(whole));
    let (raw, host) = (resolved.raw_capacity(), resolved.writable());
    text.line("capacity", format!("{host} for the host ({} bytes) of {raw} of flash", host.get()));
    text.named_lines(Spare::new(resolved).lines(resolved));
    array::add_part(&mut text, resolved);
    array::add_organization(&mut text, resolved);
    array::add_operations(&mut text, resolved);
    text.lines("FDP", fdp::lines(resolved));
    text.lines("SLC cache", slc_cache::lines(resolved));
    text.lines("host memory", host_memory::lines(resolved));
    text.lines("power", power::lines(resolved));
    array::add_channel(&mut text, resolved);
    text.lines("host", host::lines(resolved));
    text.named_lines(queues(resolved));
    text.named_lines(resolved.family.notes());
    if let Some(second) = &resolved.slc_array {
        text.line("SLC array", slc_array(second));
    }
    if let Some(buffer) = resolved.buffer {
        let policy = match buffer.superblocks {
            Some(of) => format!("; it writes back whole superblocks as soon as it has more than {}", of.most),
            None => String::new(),
        };
        let unit = SECTOR * u64::from(resolved.geometry.sectors);
        text.line("buffer", format!("{}, volatile{policy}", unit * u64::from(buffer.units)));
    }
    add_costs(&mut text, whole);
    text.lines("limits", limits::lines(resolved));
    let about = &resolved.spec.description;
    let about = if about.is_empty() { String::new() } else { format!(": {}", about.trim()) };
    format!("{}{about}\n{}", device.name, text.0)
}

/// Adds the memory of a simulation, and the price of the flash.
fn add_costs(text: &mut SheetText, whole: &ResolvedDevice) {
    let [plain, verify] =
        [false, true].map(|verify| study::run::memory(whole, Purpose { verify, precondition: true, units: None }));
    let parts: Vec<String> = plain.largest(2).iter().map(|(name, bytes)| format!("{bytes} for {name}")).collect();
    text.line("memory", format!("{} to simulate it, {} with --verify;", plain.total(), verify.total()));
    text.line("", parts.join(", "));
    let cost = whole.cost();
    let small = match cost.slc_array > 0.0 {
        true => format!(", {:.2} of them for the SLC array", cost.slc_array),
        false => String::new(),
    };
    text.line("cost", format!("{:.2} GiB of MLC flash{small}; the flash alone", cost.total()));
}

/// A count with its noun, in the singular or the plural.
pub(super) fn many(count: u32, name: &str) -> String {
    if count == 1 { format!("1 {name}") } else { format!("{count} {name}s") }
}

/// The SLC flash in front of the MLC flash.
fn slc_array(array: &ResolvedSlcArray) -> String {
    let (part, shape, timing) = (&array.part, &array.part.geometry, &array.backend.timing);
    let blocks = many(shape.blocks_per_plane, "block");
    format!(
        "{} of {}: {blocks} x {} of {}, {} cycles; read {}, program {}",
        array.capacity(),
        part.name,
        many(shape.pages_per_block, "page"),
        shape.page,
        part.endurance,
        timing.read[0],
        timing.program[0]
    )
}

/// The submission queues, if there are several or if the only one has settings of its own.
fn queues(resolved: &ResolvedDevice) -> Vec<(String, String)> {
    let ResolvedQueues { queues, arbitration, burst, sets, .. } = &resolved.host.queues;
    let plain = |queue: &ResolvedQueue| queue.depth.is_none() && queue.set == 0;
    let mut lines = Vec::new();
    if queues.len() > 1 {
        let turns = match arbitration {
            QueueArbitration::RoundRobin => "round-robin",
            QueueArbitration::Weighted => "weighted",
        };
        lines.push(("queues".into(), format!("{}, {turns}, {} at a time", queues.len(), many(*burst, "request"))));
    }
    let special = |queue: &ResolvedQueue| !plain(queue) || *arbitration == QueueArbitration::Weighted;
    for (i, queue) in queues.iter().enumerate().filter(|(_, queue)| special(queue)) {
        let class = if queue.urgent { "urgent".into() } else { format!("weight {}", queue.weight) };
        let mut parts = vec![class];
        parts.extend(queue.depth.map(|depth| format!("{} at once", many(depth, "request"))));
        if queue.set > 0 {
            let unit = SECTOR * u64::from(resolved.geometry.sectors);
            let dies = many(sets[queue.set as usize].len() as u32, "die");
            let room =
                resolved.room(queue.set).map_or(String::new(), |room| format!(", with room for {}", unit * room));
            parts.push(format!("writes on {dies}{room}"));
        }
        lines.push((format!("queue {i}"), parts.join(", ")));
    }
    lines
}
