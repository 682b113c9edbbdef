//! The catalogue that comes with Flashloom, and the JSON schemas of its files.

use std::fmt::Write as _;
use std::io::Write;

use flash::nand::Part;
use report::catalogue::ResultFile;
use report::table::Table;
use study::compare::Comparison;
use study::config::did_you_mean;
use study::execute::{KeyList, Studies};
use study::explanation::Explanation;
use study::plan::{self, StudySpec};
use study::repeat::Repeats;
use study::store::Key;
use study::summary::Results;
use torture::{LossSpec, TortureSpec};
use workload::ZoneWritesSpec;
use workload::generate::{GeneratorSpec, builtin};
use workload::script::ScriptSpec;
use workload::trace::TraceInfo;

use crate::args::Schema;
use crate::check::CheckOutput;
use crate::cluster::ShardResult;
use crate::exit::{Failure, print};
use crate::serve::Places;
use crate::store::StoreListing;
use crate::torture::TortureResult;

/// Prints the names of the workloads, or the text of one.
pub(crate) fn workloads(name: Option<&str>, csv: bool, results: &mut dyn Write) -> Result<(), Failure> {
    let Some(name) = name else {
        if csv {
            let all = builtin().iter().map(|(name, text)| ("workload", *name, description(text)));
            return print(results, &list(all).csv());
        }
        let names: String = builtin().iter().map(|(name, _)| format!("{name}\n")).collect();
        return print(results, &names);
    };
    let found = builtin().iter().find(|(other, _)| *other == name);
    let (_, text) = found.ok_or_else(|| unknown(name, "workload", "workloads", names(builtin())))?;
    print(results, text)
}

/// Prints the names of the devices and the NAND parts, or the text of one.
pub(crate) fn devices(name: Option<&str>, csv: bool, results: &mut dyn Write) -> Result<(), Failure> {
    let Some(name) = name else {
        if csv {
            let devices = ssd::builtin().iter().map(|(name, text)| ("device", *name, description(text)));
            let parts = Part::presets().map(|part| ("part", part.name.as_str(), about(part)));
            return print(results, &list(devices.chain(parts)).csv());
        }
        let names = ssd::builtin().iter().map(|(name, _)| *name).chain(Part::presets().map(|part| part.name.as_str()));
        let width = 2 + names.map(str::len).max().unwrap_or(0);
        let mut text = String::from("devices, for `flashloom run`:\n");
        for (name, file) in ssd::builtin() {
            let _ = writeln!(text, "  {name:<width$}{}", description(file));
        }
        text.push_str("\nNAND parts, for `part` in a device file:\n");
        for part in Part::presets() {
            let _ = writeln!(text, "  {:<width$}{}", part.name, about(part));
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
pub(crate) fn studies(name: Option<&str>, csv: bool, results: &mut dyn Write) -> Result<(), Failure> {
    let Some(name) = name else {
        if csv {
            let all = plan::builtin().iter().map(|(name, text)| ("study", *name, description(text)));
            return print(results, &list(all).csv());
        }
        let mut text = String::new();
        for (name, file) in plan::builtin() {
            let _ = writeln!(text, "{name:<26}{}", description(file));
        }
        return print(results, &text);
    };
    let found = plan::builtin().iter().find(|(other, _)| *other == name);
    let (_, text) = found.ok_or_else(|| unknown(name, "study", "studies", names(plan::builtin())))?;
    print(results, text)
}

fn description(file: &str) -> String {
    let table = file.parse::<toml::Table>().unwrap_or_default();
    table.get("description").and_then(toml::Value::as_str).unwrap_or_default().to_owned()
}

fn about(part: &Part) -> String {
    let (bits, capacity) = (part.bits_per_cell(), part.geometry.chip());
    let bits = format!("{bits} bit{} per cell", if bits == 1 { "" } else { "s" });
    format!("{bits}, pages of {}, chips of {capacity}", part.geometry.page)
}

/// A list of catalogue entries as a table for other programs.
pub(crate) fn list<'a>(all: impl Iterator<Item = (&'static str, &'a str, String)>) -> Table {
    let all: Vec<_> = all.collect();
    let mut table = Table::default();
    table.text("kind", "`device`, `part`, `workload` or `study`", all.iter().map(|(kind, ..)| *kind));
    table.text("name", "Its name", all.iter().map(|(_, name, _)| (*name).to_owned()));
    table.text("description", "Its description", all.iter().map(|(.., about)| about.clone()));
    table
}

/// Every file that Flashloom writes, and every table that it prints as CSV.
fn every_file() -> Vec<ResultFile> {
    let table = |name, about, columns| ResultFile { name, about, schema: None, columns };
    let mut all = report::catalogue::files();
    all.extend([
        table(
            "points/*/*.parquet",
            "A row: the result of a run in a store (`--store`). All files of a store are one table.",
            study::store::columns(),
        ),
        table("run --csv", "A row for each kind of request of each flow.", report::run::rows(&[]).fields()),
        table(
            "run --until worn --csv",
            "A row for each point of the curve over the drive's life.",
            report::tables::life(&[]).fields(),
        ),
        table(
            "compare --csv",
            "A row for each drive: means over the seeds. With several seeds, each number has a second column with `_half_width` \
             behind its name: half the width of its 95 % interval.",
            report::compare::fields(),
        ),
        table(
            "study --csv",
            "A row for each run: the name of the study in the column `study`, then the columns of STUDY.parquet.",
            Vec::new(),
        ),
        table("study --shard --csv", "A row for each run of the shard.", report::cluster::shard_rows(&[]).fields()),
        table(
            "study --keys --csv",
            "A row for each run whose key is written: those that are not in the store first, longest first.",
            report::cluster::keys_rows(&[]).fields(),
        ),
        table(
            "reproduce --csv",
            "A row for each expectation of each claim.",
            report::study_report::claims(&[]).fields(),
        ),
        table(
            "explain --csv",
            "A row for each part of the time, and for each cause of the waits, of the requests in a band.",
            report::explained_rows(&[]).fields(),
        ),
        table("explain --request N --csv", "A row for each leg of the request.", report::request_rows(&[]).fields()),
        table(
            "explain --what-if --csv",
            "A row for the drive as it is, and one for each change.",
            report::trial_rows(&[]).fields(),
        ),
        table("check --csv", "A row for each device.", crate::check::rows(&[]).fields()),
        table(
            "trace info --csv",
            "A row for each kind of request; the last columns are about the whole trace.",
            crate::trace::rows(&TraceInfo::default()).fields(),
        ),
        table(
            "devices --csv",
            "A row for each device and part; `workloads --csv` and `studies --csv` have the same columns.",
            list(std::iter::empty()).fields(),
        ),
    ]);
    all
}

/// Prints a JSON schema.
pub(crate) fn schema(of: Schema, results: &mut dyn Write) -> Result<(), Failure> {
    let schema = match of {
        Schema::Device => schemars::schema_for!(ssd::Spec).to_value(),
        Schema::Workload => schemars::schema_for!(GeneratorSpec).to_value(),
        Schema::Script => schemars::schema_for!(ScriptSpec).to_value(),
        Schema::ZoneWrites => schemars::schema_for!(ZoneWritesSpec).to_value(),
        Schema::Study => schemars::schema_for!(StudySpec).to_value(),
        Schema::Torture => schemars::schema_for!(TortureSpec).to_value(),
        Schema::Loss => schemars::schema_for!(LossSpec).to_value(),
        Schema::Result => study::schema::of::<Results<'_>>(),
        Schema::SeedsResult => study::schema::of::<Repeats<'_>>(),
        Schema::StudyResult => study::schema::of::<Studies<'_>>(),
        Schema::CompareResult => study::schema::of::<Comparison>(),
        Schema::ExplainResult => study::schema::of::<Explanation>(),
        Schema::CheckResult => study::schema::of::<CheckOutput>(),
        Schema::TraceInfoResult => study::schema::of::<TraceInfo>(),
        Schema::StoreResult => study::schema::of::<StoreListing>(),
        Schema::StatusResult => study::schema::of::<serve::engine::Status>(),
        Schema::ShardResult => study::schema::of::<ShardResult>(),
        Schema::KeysResult => study::schema::of::<KeyList>(),
        Schema::TortureResult => study::schema::of::<TortureResult>(),
        Schema::ServeResult => study::schema::of::<Places>(),
        Schema::Key => study::schema::of::<Key>(),
        Schema::Results => return print(results, &report::catalogue::json(every_file())),
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
        for name in printed(|out| workloads(None, false, out)).lines() {
            assert!(!printed(|out| workloads(Some(name), false, out)).is_empty());
        }
        let list = printed(|out| devices(None, false, out));
        let names: Vec<_> = list.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next()).collect();
        assert_eq!(names.len(), ssd::builtin().len() + Part::presets().count());
        for name in names {
            assert!(printed(|out| devices(Some(name), false, out)).contains(&format!("name = \"{name}\"")), "{name}");
        }
        for of in <Schema as clap::ValueEnum>::value_variants().iter().copied() {
            let text = printed(|out| schema(of, out));
            assert!(text.contains(if matches!(of, Schema::Results) { "\"columns\"" } else { "\"properties\"" }));
        }
    }

    #[test]
    fn an_unknown_name_is_refused_with_a_suggestion() {
        let failure = workloads(Some("none"), false, &mut Vec::new()).expect_err("unknown");
        assert_eq!(failure.to_string(), "error: there is no workload `none`; `flashloom workloads` lists them");
        for (failure, wanted) in [
            (devices(Some("dmeo"), false, &mut Vec::new()), "did you mean `demo`?"),
            (devices(Some("FMMU-V3"), false, &mut Vec::new()), "did you mean `FMMU-V"),
            (studies(Some("mix/trace"), false, &mut Vec::new()), "did you mean `mix/traces`?"),
        ] {
            let text = failure.expect_err("unknown").to_string();
            assert!(text.contains(wanted), "{text}");
        }
    }
}
