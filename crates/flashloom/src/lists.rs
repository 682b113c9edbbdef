//! The catalogue that comes with Flashloom, and the JSON schemas of its files.

use std::fmt::Write as _;
use std::io::Write;

use flash::nand::Part;
use study::compare::Comparison;
use study::config::did_you_mean;
use study::execute::Studies;
use study::explanation::Explanation;
use study::plan::{self, StudySpec};
use study::summary::Results;
use workload::generate::{GeneratorSpec, builtin};
use workload::script::ScriptSpec;
use workload::trace::TraceInfo;

use crate::check::Checked;
use crate::exit::{Failure, print};

/// Prints the names of the workloads, or the text of one.
pub(crate) fn workloads(name: Option<&str>, results: &mut dyn Write) -> Result<(), Failure> {
    let Some(name) = name else {
        let names: String = builtin().iter().map(|(name, _)| format!("{name}\n")).collect();
        return print(results, &names);
    };
    let found = builtin().iter().find(|(other, _)| *other == name);
    let (_, text) = found.ok_or_else(|| unknown(name, "workload", "workloads", names(builtin())))?;
    print(results, text)
}

/// Prints the names of the devices and the NAND parts, or the text of one.
pub(crate) fn devices(name: Option<&str>, results: &mut dyn Write) -> Result<(), Failure> {
    let Some(name) = name else {
        let mut text = String::from("devices, for `flashloom run`:\n");
        for (name, file) in ssd::builtin() {
            let about = file.parse::<toml::Table>().ok();
            let about = about.as_ref().and_then(|table| table.get("description")?.as_str()).unwrap_or_default();
            let _ = writeln!(text, "  {name:<22}{about}");
        }
        text.push_str("\nNAND parts, for `part` in a device file:\n");
        for part in Part::presets() {
            let (bits, capacity) = (part.bits_per_cell(), part.geometry.chip());
            let bits = format!("{bits} bit{} per cell", if bits == 1 { "" } else { "s" });
            let about = format!("{bits}, pages of {}, chips of {capacity}", part.geometry.page);
            let _ = writeln!(text, "  {:<22}{about}", part.name);
        }
        return print(results, &text);
    };
    if let Some((_, text)) = ssd::builtin().iter().find(|(other, _)| *other == name) {
        return print(results, text);
    }
    let all = || names(ssd::builtin()).chain(Part::presets().map(|part| part.name.as_str()));
    let part = Part::preset(name).ok_or_else(|| unknown(name, "device or part", "devices", all()))?;
    let text = toml::to_string(&part)
        .map_err(|error| Failure::Bug { message: error.to_string(), replay: format!("flashloom devices {name}") })?;
    print(results, &text)
}

/// Prints the names of the studies, or the text of one.
pub(crate) fn studies(name: Option<&str>, results: &mut dyn Write) -> Result<(), Failure> {
    let Some(name) = name else {
        let mut text = String::new();
        for (name, file) in plan::builtin() {
            let about = file.parse::<toml::Table>().ok();
            let about = about.as_ref().and_then(|table| table.get("description")?.as_str()).unwrap_or_default();
            let _ = writeln!(text, "{name:<26}{about}");
        }
        return print(results, &text);
    };
    let found = plan::builtin().iter().find(|(other, _)| *other == name);
    let (_, text) = found.ok_or_else(|| unknown(name, "study", "studies", names(plan::builtin())))?;
    print(results, text)
}

/// The kinds of JSON schemas.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum Schema {
    /// A device
    Device,
    /// A generated workload
    Workload,
    /// A workload listed request by request
    Script,
    /// A study
    Study,
    /// What `run --json` prints, and summary.json
    Result,
    /// What `study --json` and `reproduce --json` print, and study.json
    StudyResult,
    /// What `compare --json` prints
    CompareResult,
    /// What `explain --json` prints
    ExplainResult,
    /// What `check --json` prints
    CheckResult,
    /// What `trace info --json` prints
    TraceInfoResult,
}

/// Prints a JSON schema.
pub(crate) fn schema(of: Schema, results: &mut dyn Write) -> Result<(), Failure> {
    let schema = match of {
        Schema::Device => schemars::schema_for!(ssd::Spec).to_value(),
        Schema::Workload => schemars::schema_for!(GeneratorSpec).to_value(),
        Schema::Script => schemars::schema_for!(ScriptSpec).to_value(),
        Schema::Study => schemars::schema_for!(StudySpec).to_value(),
        Schema::Result => study::schema::of::<Results<'_>>(),
        Schema::StudyResult => study::schema::of::<Studies<'_>>(),
        Schema::CompareResult => study::schema::of::<Comparison>(),
        Schema::ExplainResult => study::schema::of::<Explanation>(),
        Schema::CheckResult => study::schema::of::<Checked>(),
        Schema::TraceInfoResult => study::schema::of::<TraceInfo>(),
    };
    print(results, &format!("{schema:#}\n"))
}

fn unknown<'a>(name: &str, kind: &str, command: &str, all: impl Iterator<Item = &'a str>) -> Failure {
    let meant = did_you_mean(name, all);
    Failure::Input(format!("there is no {kind} `{name}`; {meant}`flashloom {command}` lists them"))
}

fn names(all: &'static [(&'static str, &'static str)]) -> impl Iterator<Item = &'static str> {
    all.iter().map(|(name, _)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(of: impl FnOnce(&mut dyn Write) -> Result<(), Failure>) -> String {
        let mut results = Vec::new();
        of(&mut results).expect("it prints");
        String::from_utf8(results).expect("text")
    }

    #[test]
    fn every_listed_name_can_be_printed() {
        for name in printed(|out| workloads(None, out)).lines() {
            assert!(!printed(|out| workloads(Some(name), out)).is_empty());
        }
        let list = printed(|out| devices(None, out));
        let names: Vec<_> = list.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next()).collect();
        assert_eq!(names.len(), ssd::builtin().len() + Part::presets().count());
        for name in names {
            assert!(printed(|out| devices(Some(name), out)).contains(&format!("name = \"{name}\"")), "{name}");
        }
        for of in <Schema as clap::ValueEnum>::value_variants().iter().copied() {
            assert!(printed(|out| schema(of, out)).contains("\"properties\""));
        }
    }

    #[test]
    fn an_unknown_name_is_refused_with_a_suggestion() {
        let failure = workloads(Some("none"), &mut Vec::new()).expect_err("unknown");
        assert_eq!(failure.to_string(), "error: there is no workload `none`; `flashloom workloads` lists them");
        for (failure, wanted) in [
            (devices(Some("dmeo"), &mut Vec::new()), "did you mean `demo`?"),
            (devices(Some("FMMU-V3"), &mut Vec::new()), "did you mean `FMMU-V"),
            (studies(Some("mix/trace"), &mut Vec::new()), "did you mean `mix/traces`?"),
        ] {
            let text = failure.expect_err("unknown").to_string();
            assert!(text.contains(wanted), "{text}");
        }
    }
}
