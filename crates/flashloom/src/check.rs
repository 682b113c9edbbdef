//! `flashloom check`: summarises a device file, or lists all its errors.

mod array;
mod fdp;
mod host;
mod host_memory;
mod limits;
mod power;
mod raid;
mod slc_cache;
mod spare;
mod text;
mod translation;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write;
use std::path::PathBuf;

use flash::nand::CustomPart;
use report::table::{Table, UnitOfMeasure};
use schemars::JsonSchema;
use serde::Serialize;
use ssd::{Purpose, ResolvedDevice};
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
                let _ = write!(text, "{gap}{}", text::sheet(&device));
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
        let text = text::sheet(&device);
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
