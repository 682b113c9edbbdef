//! `flashloom check`: summarises a device file, or lists all its errors.

mod fdp;
mod host;
mod host_memory;
mod limits;
mod power;
mod raid;
mod slc_cache;
mod spare;
mod translation;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write;
use std::path::PathBuf;

use base::units::{SECTOR, Span};
use flash::backend::{Controllers, Cycles, ReadScope, StopPoint, SuspendSpec, SuspensionTarget};
use flash::nand::CustomPart;
use report::table::{Table, UnitOfMeasure};
use schemars::JsonSchema;
use serde::Serialize;
use ssd::{Purpose, QueueArbitration, ResolvedDevice, ResolvedQueue, ResolvedQueues, ResolvedSlcArray};
use study::catalogue::Device;

use crate::args::Form;
use crate::device::{device_or_stdin, one_stdin};
use crate::exit::{Failure, print};

use spare::Spare;

/// Reads every file and prints a summary of each device; the errors of faulty files come last.
pub(crate) fn check(paths: &[PathBuf], set: &[String], form: Form, results: &mut dyn Write) -> Result<(), Failure> {
    one_stdin(paths)?;
    let (mut text, mut all) = (String::new(), Vec::new());
    let mut faults = Vec::new();
    for path in paths {
        match device_or_stdin(path, set) {
            Ok(device) if form != Form::Text => all.push(Sheet::new(&device)),
            Ok(device) => {
                let gap = if text.is_empty() { "" } else { "\n" };
                let _ = write!(text, "{gap}{}", sheet(&device));
            }
            Err(Failure::Input(message)) => faults.push(message),
            Err(bug) => return Err(bug),
        }
    }
    match form {
        Form::Text => {}
        Form::Json => text = serde_json::to_string_pretty(&CheckOutput(all)).expect("numbers and texts") + "\n",
        Form::Csv => text = rows(&all).csv(),
    }
    print(results, &text)?;
    if faults.is_empty() { Ok(()) } else { Err(Failure::Input(faults.join("\n"))) }
}

/// Version of the keys; it is raised when a key changes its meaning or disappears.
const SCHEMA: &str = "flashloom-check-1";

/// Output of `flashloom check --json`: a summary of each device without errors.
#[derive(JsonSchema, Serialize)]
#[schemars(title = SCHEMA)]
pub(crate) struct CheckOutput(Vec<Sheet>);

/// The summary of a device.
#[derive(JsonSchema, Serialize)]
pub(crate) struct Sheet {
    /// Version of these keys.
    #[schemars(extend("const" = SCHEMA))]
    schema: &'static str,
    /// The device's name.
    name: String,
    /// Bytes that the host sees.
    capacity_bytes: u64,
    /// Bytes of the device's flash.
    raw_bytes: u64,
    /// Mapping units of the host's capacity.
    mapping_units: u64,
    /// The NAND part.
    part: PartSheet,
    /// The spare space, and the write amplification to expect.
    spare: Spare,
    /// Memory that a simulation of the device needs.
    memory: Needs,
}

/// The NAND part, and the origin of its values.
#[derive(JsonSchema, Serialize)]
struct PartSheet {
    /// The part's name.
    name: String,
    /// The preset from which the part inherits values; missing without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    like: Option<String>,
    /// The keys of values that the description changes.
    changed: Vec<String>,
    /// The keys whose values the part inherits from the preset.
    inherited: Vec<String>,
}

impl PartSheet {
    fn new(resolved: &ResolvedDevice) -> Self {
        let own = resolved.spec.flash.custom_part.as_ref();
        Self {
            name: resolved.part.name.clone(),
            like: own.and_then(|own| Some(own.like()?.to_owned())),
            changed: own.map_or_else(Vec::new, |own| own.changed().to_vec()),
            inherited: own.map_or_else(Vec::new, CustomPart::inherited),
        }
    }
}

/// Memory that a simulation needs.
#[derive(JsonSchema, Serialize)]
struct Needs {
    /// Memory of a run without `--verify`.
    plain: Parts,
    /// Memory of a run with `--verify`.
    verify: Parts,
}

/// Memory, in all and by its use.
#[derive(JsonSchema, Serialize)]
struct Parts {
    /// Bytes of all parts.
    bytes: u64,
    /// Bytes of each part, by the name of the part.
    parts: BTreeMap<&'static str, u64>,
}

/// The summaries as a table for other programs: a row for each device.
pub(crate) fn rows(all: &[Sheet]) -> Table {
    let mut table = Table::default();
    table.text("device", "The device's name", all.iter().map(|sheet| sheet.name.clone()));
    table.count(
        "capacity_bytes",
        UnitOfMeasure::Bytes,
        "Bytes that the host sees",
        all.iter().map(|sheet| sheet.capacity_bytes),
    );
    table.count(
        "raw_bytes",
        UnitOfMeasure::Bytes,
        "Bytes of the device's flash",
        all.iter().map(|sheet| sheet.raw_bytes),
    );
    let units = "Mapping units of the host's capacity";
    table.count("mapping_units", UnitOfMeasure::None, units, all.iter().map(|sheet| sheet.mapping_units));
    let nominal = "Share of the flash that the host does not see";
    table.number("spare", UnitOfMeasure::Share, nominal, all.iter().map(|sheet| Some(sheet.spare.nominal)));
    let effective = "Share of the flash that is left to garbage collection";
    table.number("effective_spare", UnitOfMeasure::Share, effective, all.iter().map(|sheet| sheet.spare.effective));
    let waf = "Write amplification to expect in steady state under uniform random writes of whole mapping units";
    let expected = all.iter().map(|sheet| sheet.spare.expected_write_amplification);
    table.number("expected_write_amplification", UnitOfMeasure::None, waf, expected);
    let memory = "Memory that a simulation of the device needs";
    table.count("memory_bytes", UnitOfMeasure::Bytes, memory, all.iter().map(|sheet| sheet.memory.plain.bytes));
    let verify = "The same with `--verify`";
    table.count("memory_verify_bytes", UnitOfMeasure::Bytes, verify, all.iter().map(|sheet| sheet.memory.verify.bytes));
    table
}

impl Sheet {
    fn new(device: &Device) -> Self {
        let resolved = &device.resolved;
        let memory = |verify| {
            let memory = study::run::memory(resolved, Purpose { verify, precondition: true, units: None });
            Parts {
                bytes: memory.total().get(),
                parts: memory.parts.iter().map(|(name, bytes)| (*name, bytes.get())).collect(),
            }
        };
        Self {
            schema: SCHEMA,
            name: device.name.clone(),
            capacity_bytes: resolved.capacity().bytes().get(),
            raw_bytes: resolved.raw_capacity().get(),
            mapping_units: resolved.units.into(),
            part: PartSheet::new(resolved),
            spare: Spare::new(resolved),
            memory: Needs { plain: memory(false), verify: memory(true) },
        }
    }
}

/// A count with its noun, in the singular or the plural.
fn many(count: u32, name: &str) -> String {
    if count == 1 { format!("1 {name}") } else { format!("{count} {name}s") }
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

/// The summary of a device as text.
fn sheet(device: &Device) -> String {
    let whole = &device.resolved;
    let resolved = &whole.of_drive(0);
    let (geometry, timing, part) = (&resolved.geometry, &resolved.backend.timing, &resolved.part);
    let unit = SECTOR * u64::from(geometry.sectors);
    let (raw, host) = (resolved.raw_capacity(), resolved.writable());
    let mut text = String::new();
    let mut line = |name: &str, what: String| {
        let _ = writeln!(text, "  {name:<12}{what}");
    };
    for (i, text) in raid::lines(whole).into_iter().enumerate() {
        line(if i == 0 { "raid" } else { "" }, text);
    }
    for (i, text) in translation::lines(whole).into_iter().enumerate() {
        line(if i == 0 { "translation" } else { "" }, text);
    }
    line("capacity", format!("{host} for the host ({} bytes) of {raw} of flash", host.get()));
    for (name, what) in Spare::new(resolved).lines(resolved) {
        line(name, what);
    }
    let bits = many(part.bits_per_cell(), "bit");
    line("part", format!("{}, {bits} per cell, {} cycles", part.name, part.endurance));
    let own = resolved.spec.flash.custom_part.as_ref();
    for (name, keys) in own.into_iter().flat_map(inheritance) {
        let lines = spare::folded(&keys);
        lines.into_iter().enumerate().for_each(|(i, keys)| line(if i == 0 { name } else { "" }, keys));
    }
    let chips = match resolved.gang {
        1 => many(geometry.chips, "chip"),
        gang => format!("{} of {gang} chips", many(geometry.chips, "gang")),
    };
    line(
        "array",
        format!(
            "{} x {chips} x {} = {}",
            many(geometry.channels, "channel"),
            many(geometry.dies, "die"),
            many(geometry.die_count(), "die")
        ),
    );
    let page = unit * u64::from(geometry.slots);
    line(
        "die",
        format!(
            "{} x {} x {} of {page}",
            many(geometry.planes, "plane"),
            many(geometry.blocks, "block"),
            many(geometry.pages, "page")
        ),
    );
    let (dies, parity) = (resolved.ftl.superblock_dies, resolved.ftl.parity);
    let members = if dies > 1 { format!(" in {dies} dies") } else { String::new() };
    line(
        "superblock",
        format!(
            "{}: {}{members}, erased together; {} in all{}",
            unit * u64::from(geometry.superblock_slots() * dies),
            many(geometry.stripe * dies, "block"),
            geometry.superblock_count() / dies,
            if parity { format!("; one die of {dies} holds parity") } else { String::new() }
        ),
    );
    let rows = unit * u64::from(geometry.row_slots() * timing.one_shot);
    line(
        "map",
        format!(
            "mapping units of {unit}; a read moves up to {}, a program \
                 {rows}",
            unit * u64::from(geometry.row_slots())
        ),
    );
    let controllers = match resolved.backend.controllers {
        _ if resolved.family.is_serial() => "none: the FTL runs one command list at a time".to_owned(),
        Controllers::None => "none: every command goes to its die".to_owned(),
        Controllers::PerDie => "one for each die".to_owned(),
        Controllers::PerChannel => "one for each channel".to_owned(),
        Controllers::Shared(count) => format!("{count}, each for any die"),
        Controllers::Background(count) => format!("one for host reads, {count} for everything else, each for any die"),
    };
    let controllers = match resolved.backend.software {
        Some(time) => format!("{controllers}; in software, {time} for each command except those of host reads"),
        None => controllers,
    };
    line("controllers", controllers);
    let times = |spans: &[Span]| spans.iter().map(Span::to_string).collect::<Vec<_>>().join("/");
    line("times", format!("read {}, program {}, erase {}", times(&timing.read), times(&timing.program), timing.erase));
    if let Some(spec) = resolved.backend.plane_reads {
        let (at_once, reads) = (spec.at_once.unwrap_or(geometry.planes), name_of(spec.reads));
        line("planes", format!("{at_once} of {} of a die read by themselves, for {reads}", geometry.planes));
    }
    if let Some(rules) = &resolved.backend.suspend {
        suspension(rules)
            .into_iter()
            .enumerate()
            .for_each(|(i, text)| line(if i == 0 { "suspension" } else { "" }, text));
    }
    if let Some(errors) = &resolved.backend.errors {
        let decoding = errors.decoding();
        let rate = f64::from(decoding.limit) / f64::from(decoding.bits);
        line(
            "bit errors",
            format!("{} of the {} bits of a codeword are corrected ({rate:.1e})", decoding.limit, decoding.bits),
        );
        line("", format!("{} steps of read retry", errors.last_step()));
        if let Some(soft) = decoding.soft {
            line("", format!("then soft decoding of up to {} bits from {} reads", soft.limit, soft.sensings));
        }
    }
    let sheets = [
        ("FDP", fdp::lines(resolved)),
        ("SLC cache", slc_cache::lines(resolved)),
        ("host memory", host_memory::lines(resolved)),
        ("power", power::lines(resolved)),
    ];
    for (name, texts) in sheets {
        texts.into_iter().enumerate().for_each(|(i, text)| line(if i == 0 { name } else { "" }, text));
    }
    let Cycles { page_in, page_out, turnaround, .. } = timing.cycles;
    let channel = format!(
        "{} bits; {} for a mapping unit, {} for a page, {} for a command",
        resolved.spec.flash.width, timing.transfer[1], timing.transfer[geometry.slots as usize], timing.command
    );
    line("channel", channel);
    if !(page_in + page_out + turnaround).is_zero() {
        line("cycles", format!("{} more for a page sent, {page_in} for one received", page_out + turnaround));
    }
    host::lines(resolved).into_iter().enumerate().for_each(|(i, text)| line(if i == 0 { "host" } else { "" }, text));
    for (name, what) in queues(resolved) {
        line(&name, what);
    }
    for (name, what) in resolved.family.notes() {
        line(name, what);
    }
    if let Some(second) = &resolved.slc_array {
        line("SLC array", slc_array(second));
    }
    if let Some(buffer) = resolved.buffer {
        let policy = match buffer.superblocks {
            Some(of) => format!("; it writes back whole superblocks as soon as it has more than {}", of.most),
            None => String::new(),
        };
        line("buffer", format!("{}, volatile{policy}", unit * u64::from(buffer.units)));
    }
    let [plain, verify] =
        [false, true].map(|verify| study::run::memory(whole, Purpose { verify, precondition: true, units: None }));
    let parts: Vec<String> = plain.largest(2).iter().map(|(name, bytes)| format!("{bytes} for {name}")).collect();
    line("memory", format!("{} to simulate it, {} with --verify;", plain.total(), verify.total()));
    line("", parts.join(", "));
    let cost = whole.cost();
    let small = if cost.slc_array > 0.0 {
        format!(
            ", {:.2} of them for the SLC \
                                                   array",
            cost.slc_array
        )
    } else {
        String::new()
    };
    line("cost", format!("{:.2} GiB of MLC flash{small}; the flash alone", cost.total()));
    limits::lines(resolved)
        .into_iter()
        .enumerate()
        .for_each(|(i, text)| line(if i == 0 { "limits" } else { "" }, text));
    let about = &resolved.spec.description;
    let about = if about.is_empty() { String::new() } else { format!(": {}", about.trim()) };
    format!("{}{about}\n{text}", device.name)
}

/// The keys that a part inherits from its preset, and the keys that it changes.
fn inheritance(own: &CustomPart) -> Vec<(&'static str, String)> {
    let Some(like) = own.like() else { return Vec::new() };
    vec![("changed", own.changed().join(", ")), ("inherited", format!("from {like}: {}", own.inherited().join(", ")))]
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::device::device;

    fn checked(names: &[&str]) -> (Result<(), Failure>, String) {
        let (paths, mut results) = (names.iter().map(PathBuf::from).collect::<Vec<_>>(), Vec::new());
        let outcome = check(&paths, &[], Form::Text, &mut results);
        (outcome, String::from_utf8(results).expect("text"))
    }

    #[test]
    fn check_says_what_a_part_inherits() {
        let device = device("demo".as_ref(), &["flash.custom-part.timing.erase=9ms".to_owned()]).expect("sound");
        let text = sheet(&device);
        for wanted in ["  changed     timing.erase\n", "  inherited   from sk-hynix-176l-tlc: ", "timing.read"] {
            assert!(text.contains(wanted), "{text}");
        }
        let of_part =
            text.lines().skip_while(|line| !line.starts_with("  part")).take_while(|line| !line.starts_with("  array"));
        assert!(of_part.clone().count() > 3 && of_part.clone().all(|line| line.chars().count() <= 80), "{text}");
        let json = serde_json::to_value(Sheet::new(&device)).expect("JSON");
        assert_eq!(
            (&json["part"]["like"], &json["part"]["changed"][0]),
            (&"sk-hynix-176l-tlc".into(), &"timing.erase".into())
        );
    }

    #[test]
    fn every_builtin_device_passes_the_check() {
        let names: Vec<&str> = ssd::builtin().iter().map(|(name, _)| *name).collect();
        let (outcome, text) = checked(&names);
        outcome.expect("they are sound");
        assert_eq!(text.matches("  limits ").count(), names.len());
        assert!(text.lines().all(|line| line.len() <= 110), "{text}");
    }

    #[test]
    fn every_file_of_the_devices_folder_is_a_builtin_device() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../devices");
        let entries = |path: &Path| -> Vec<PathBuf> {
            std::fs::read_dir(path).expect("a folder").map(|entry| entry.expect("an entry").path()).collect()
        };
        let stem = |path: &Path| path.file_stem().expect("a name").to_string_lossy().into_owned();
        let (folders, mut files): (Vec<_>, Vec<_>) =
            entries(folder.as_ref()).into_iter().partition(|path| path.is_dir());
        let mut stems: Vec<String> = files.drain(..).map(|path| stem(&path)).collect();
        // A device in a folder is named FOLDER-FILE.
        let inside = folders.iter().flat_map(|folder| entries(folder).into_iter().map(move |path| (folder, path)));
        stems.extend(inside.map(|(folder, path)| format!("{}-{}", stem(folder), stem(&path))));
        stems.sort();
        let names: Vec<&str> = ssd::builtin().iter().map(|(name, _)| *name).collect();
        assert_eq!(stems, names);
    }

    #[test]
    fn check_prints_the_slc_array_of_an_slc_mlc_drive() {
        let (_, text) = checked(&["chang-c3", "chang-c3-noslc"]);
        let front: Vec<&str> = text.lines().filter(|line| line.contains("  SLC array  ")).collect();
        let wanted = "256MiB of K9WAG08U1A: 2048 blocks x 64 pages of 2KiB, 100000 cycles; read 25us, program 200us";
        assert!(front.len() == 1 && front[0].ends_with(wanted), "{front:?}");
        assert_eq!(text.matches("none: the FTL runs one command list at a time").count(), 2);
    }

    #[test]
    fn check_reports_all_faults_of_all_files_and_checks_the_valid_ones() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("d.toml");
        let text = "name = \"d\"\n[flash]\npart = \"dirik-2009\"\nchannels = 0\nchips = 4\nwidth = 12\n";
        std::fs::write(&path, text).expect("written");
        let (outcome, text) = checked(&["demo", &path.to_string_lossy(), "none"]);
        assert!(text.starts_with("demo: "));
        let text = outcome.expect_err("two are faulty").to_string();
        for wanted in ["d.toml:4: flash.channels: ", "d.toml:6: flash.width: ", "none: is neither a file nor"] {
            assert!(text.contains(wanted), "{text}");
        }
    }
}
