//! The lines of `flashloom check` on the flash array.

use base::units::{Bytes, SECTOR, Span};
use flash::backend::{Controllers, Cycles, ReadScope, StopPoint, SuspendSpec, SuspensionTarget};
use flash::nand::CustomPart;
use ssd::ResolvedDevice;

use super::spare;
use super::text::{SheetText, many};

/// Adds the part, and what it has from its preset.
pub(super) fn add_part(text: &mut SheetText, resolved: &ResolvedDevice) {
    let part = &resolved.part;
    let bits = many(part.bits_per_cell(), "bit");
    text.line("part", format!("{}, {bits} per cell, {} cycles", part.name, part.endurance));
    let own = resolved.spec.flash.custom_part.as_ref();
    for (name, keys) in own.into_iter().flat_map(inheritance) {
        text.lines(name, spare::folded(&keys));
    }
}

/// The keys that a part inherits from its preset, and the keys that it changes.
fn inheritance(own: &CustomPart) -> Vec<(&'static str, String)> {
    let Some(like) = own.like() else { return Vec::new() };
    vec![("changed", own.changed().join(", ")), ("inherited", format!("from {like}: {}", own.inherited().join(", ")))]
}

/// Adds chips, dies, superblocks, mapping units and controllers.
pub(super) fn add_organization(text: &mut SheetText, resolved: &ResolvedDevice) {
    let geometry = &resolved.geometry;
    let unit = unit(resolved);
    let chips = match resolved.gang {
        1 => many(geometry.chips, "chip"),
        gang => format!("{} of {gang} chips", many(geometry.chips, "gang")),
    };
    let (channels, dies) = (many(geometry.channels, "channel"), many(geometry.dies, "die"));
    text.line("array", format!("{channels} x {chips} x {dies} = {}", many(geometry.die_count(), "die")));
    let (planes, blocks) = (many(geometry.planes, "plane"), many(geometry.blocks, "block"));
    let (pages, page) = (many(geometry.pages, "page"), unit * u64::from(geometry.slots));
    text.line("die", format!("{planes} x {blocks} x {pages} of {page}"));
    text.line("superblock", superblock(resolved));
    let rows = unit * u64::from(geometry.row_slots() * resolved.backend.timing.one_shot);
    let row = unit * u64::from(geometry.row_slots());
    text.line("map", format!("mapping units of {unit}; a read moves up to {row}, a program {rows}"));
    text.line("controllers", controllers(resolved));
}

/// The size of a mapping unit.
fn unit(resolved: &ResolvedDevice) -> Bytes {
    SECTOR * u64::from(resolved.geometry.sectors)
}

fn superblock(resolved: &ResolvedDevice) -> String {
    let (geometry, dies) = (&resolved.geometry, resolved.ftl.superblock_dies);
    let members = if dies > 1 { format!(" in {dies} dies") } else { String::new() };
    format!(
        "{}: {}{members}, erased together; {} in all{}",
        unit(resolved) * u64::from(geometry.superblock_slots() * dies),
        many(geometry.stripe * dies, "block"),
        geometry.superblock_count() / dies,
        if resolved.ftl.parity { format!("; one die of {dies} holds parity") } else { String::new() }
    )
}

fn controllers(resolved: &ResolvedDevice) -> String {
    let controllers = match resolved.backend.controllers {
        _ if resolved.family.is_serial() => "none: the FTL runs one command list at a time".to_owned(),
        Controllers::None => "none: every command goes to its die".to_owned(),
        Controllers::PerDie => "one for each die".to_owned(),
        Controllers::PerChannel => "one for each channel".to_owned(),
        Controllers::Shared(count) => format!("{count}, each for any die"),
        Controllers::Background(count) => format!("one for host reads, {count} for everything else, each for any die"),
    };
    match resolved.backend.software {
        Some(time) => format!("{controllers}; in software, {time} for each command except those of host reads"),
        None => controllers,
    }
}

/// Adds the times of array operations, the reads of single planes, suspension and bit errors.
pub(super) fn add_operations(text: &mut SheetText, resolved: &ResolvedDevice) {
    let (planes, timing) = (resolved.geometry.planes, &resolved.backend.timing);
    let times = |spans: &[Span]| spans.iter().map(Span::to_string).collect::<Vec<_>>().join("/");
    text.line(
        "times",
        format!("read {}, program {}, erase {}", times(&timing.read), times(&timing.program), timing.erase),
    );
    if let Some(spec) = resolved.backend.plane_reads {
        let (at_once, reads) = (spec.at_once.unwrap_or(planes), name_of(spec.reads));
        text.line("planes", format!("{at_once} of {planes} of a die read by themselves, for {reads}"));
    }
    if let Some(rules) = &resolved.backend.suspend {
        text.lines("suspension", suspension(rules));
    }
    if let Some(errors) = &resolved.backend.errors {
        let decoding = errors.decoding();
        let rate = f64::from(decoding.limit) / f64::from(decoding.bits);
        let (limit, bits) = (decoding.limit, decoding.bits);
        text.line("bit errors", format!("{limit} of the {bits} bits of a codeword are corrected ({rate:.1e})"));
        text.line("", format!("{} steps of read retry", errors.last_step()));
        if let Some(soft) = decoding.soft {
            text.line("", format!("then soft decoding of up to {} bits from {} reads", soft.limit, soft.sensings));
        }
    }
}

/// Adds the width of a channel, and the times on it.
pub(super) fn add_channel(text: &mut SheetText, resolved: &ResolvedDevice) {
    let timing = &resolved.backend.timing;
    let [unit, page] = [1, resolved.geometry.slots as usize].map(|slots| timing.transfer[slots]);
    let (width, command) = (resolved.spec.flash.width, timing.command);
    text.line(
        "channel",
        format!("{width} bits; {unit} for a mapping unit, {page} for a page, {command} for a command"),
    );
    let Cycles { page_in, page_out, turnaround, .. } = timing.cycles;
    if !(page_in + page_out + turnaround).is_zero() {
        text.line("cycles", format!("{} more for a page sent, {page_in} for one received", page_out + turnaround));
    }
}

const fn name_of(reads: ReadScope) -> &'static str {
    match reads {
        ReadScope::Host => "host reads",
        ReadScope::All => "all reads",
    }
}

/// The rule of suspension, in lines.
fn suspension(rules: &SuspendSpec) -> Vec<String> {
    let &SuspendSpec { program_steps, erase_steps, program_time, erase_time, program_resume, erase_resume, .. } = rules;
    let both = |programs: String, erases: String| match rules.operations {
        SuspensionTarget::Both => format!("{programs} and {erases}"),
        SuspensionTarget::Programs => programs,
        SuspensionTarget::Erases => erases,
    };
    let steps = both(format!("{program_steps} of a program"), format!("{erase_steps} of an erase"));
    let reads = name_of(rules.reads);
    let writes = if rules.writes { ", erases for host writes, too" } else { "" };
    let stop = match rules.stop {
        StopPoint::AnyTime => "at any time".to_owned(),
        StopPoint::Steps => format!("at the end of a step ({steps})"),
        StopPoint::Cancel => format!("at any time, and the step under way ({steps}) is lost"),
    };
    let operations = both("programs".into(), "erases".into());
    let times = |program: Span, erase: Span| both(format!("a program {program}"), format!("an erase {erase}"));
    let mut lines = vec![
        format!("{operations} for {reads}{writes}"),
        stop,
        format!("to stop takes {}, to go on {}", times(program_time, erase_time), times(program_resume, erase_resume)),
    ];
    let limit = rules.limit.map(|limit| format!("{limit} suspensions of an operation"));
    let longest = rules.longest.map(|longest| format!("{longest} of standing still"));
    let most: Vec<String> = limit.into_iter().chain(longest).collect();
    if !most.is_empty() {
        lines.push(format!("at most {}", most.join(" and ")));
    }
    let least = [("work between two suspensions", rules.progress), ("work left", rules.threshold)];
    let least: Vec<String> =
        least.iter().filter(|(_, span)| !span.is_zero()).map(|(what, span)| format!("{span} of {what}")).collect();
    if !least.is_empty() {
        lines.push(format!("at least {}", least.join(" and ")));
    }
    lines
}
