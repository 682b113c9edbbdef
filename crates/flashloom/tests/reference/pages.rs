//! The reference pages other than keys: metrics, columns, exit codes, trace formats.

use std::fmt::Write as _;

use flash::backend::{Cause, Op};
use report::catalogue::tables;
use report::table::UnitOfMeasure;
use ssd::{Status, ZoneAction, ZoneError, ZoneState};
use study::metric::{Metric, catalogue, meaning_of_cause, meaning_of_op};
use workload::fio;
use workload::trace::Format;

/// A line of a table.
fn row(text: &mut String, cells: &[&str]) {
    let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|").replace('<', "&lt;")).collect();
    let _ = writeln!(text, "| {} |", cells.join(" | "));
}

fn head(text: &mut String, cells: &[&str]) {
    let _ = write!(text, "\n| {} |\n|{}\n", cells.join(" | "), " --- |".repeat(cells.len()));
}

/// The dimension of a metric, with the unit of measure in a study.
fn dimension(metric: &Metric) -> String {
    let name = serde_json::to_value(metric.dimension()).expect("a name");
    match name.as_str().expect("a name") {
        "time" => "time in us",
        "rate" => "bytes per second",
        "per-second" => "requests per second",
        "energy" => "joules",
        "share" => "share of one",
        "count" => "count",
        "plain" => "number",
        other => panic!("{other}: how is it called on the page of metrics?"),
    }
    .to_owned()
}

/// The transition table of a zone, and the statuses with which a drive refuses commands to zones.
pub(crate) fn zone_transitions() -> String {
    let mut text = String::from(
        "# Transitions of zones\n\nA drive of `ftl.kind = \"zns\"` follows the zone state machine of the NVM Express Zoned Namespace \
         Command Set. The table has the state after a command that succeeds, or the status of one that the state refuses. Terms are \
         in the [glossary](../glossary.md), and [Zones](../zones.md) uses them.\n\nBeside the table:\n\n* A write or an append that \
         reaches the zone's capacity makes the zone full.\n* A zone that becomes open or closed needs a place among the active \
         zones, and one that becomes open a place among the open ones. If no place is left among the open ones, the drive closes the \
         zone that was implicitly opened first.\n* A program that fails makes its zone read only. An empty zone is offline if its dies \
         have lost too many blocks.\n* When the power comes on, a zone that was open is closed, or empty if it has no data.\n* A zone that is \
         opened with a zone random write area (`zone_open_zrwa`) needs a place among those that may have one. It keeps the area until it \
         is full or empty. Such a zone refuses appends (*Invalid Zone Operation Request*), and a write may begin at any place of the area. \
         A flush of the area (`zrwa_flush`) of a zone without one is refused with the same status, and so is a range that does not end in \
         the area at a multiple of the flush granularity.\n\n\
         ## Transitions\n",
    );
    head(&mut text, &[&["State"], &ZoneAction::ALL.map(ZoneAction::name)[..]].concat());
    for state in ZoneState::ALL {
        let after = ZoneAction::ALL.map(|action| match state.after(action) {
            Ok(after) => after.name().to_owned(),
            Err(error) => format!("*{error}*"),
        });
        let name = format!("`{}`", state.name());
        let cells: Vec<&str> = std::iter::once(&*name).chain(after.iter().map(String::as_str)).collect();
        row(&mut text, &cells);
    }
    text += "\n## Statuses\n\nThe command-specific ones have status type 1.\n";
    head(&mut text, &["Status in results", "In the standard", "Code"]);
    for error in ZoneError::ALL {
        let name = format!("`{}`", Status::from(error).name());
        row(&mut text, &[&name, error.name(), &format!("{:02X}h", error.code())]);
    }
    text
}

pub(crate) fn metrics() -> String {
    let mut text = String::from(
        "# Metrics\n\nA study names metrics in `metrics` and in its expectations; `A / B` is the quotient of two, e.g. \
         `write.service / read.service`. Terms are in the [glossary](../glossary.md).\n",
    );
    for group in catalogue() {
        let _ = write!(text, "\n## {}\n\nIn the results of {}.\n", group.title, group.runs);
        head(&mut text, &["Metric", "Meaning", "Value"]);
        for entry in group.entries {
            let name = format!("`{}`", entry.name);
            row(&mut text, &[&name, entry.meaning, &dimension(&entry.metric())]);
        }
    }
    text += "\n## Operations\n\nThey stand for `OP`.\n";
    head(&mut text, &["OP", "Meaning"]);
    for op in Op::ALL {
        row(&mut text, &[&format!("`{}`", op.name()), meaning_of_op(op)]);
    }
    text += "\n## Causes\n\nThey stand for `CAUSE`.\n";
    head(&mut text, &["CAUSE", "Meaning"]);
    for cause in Cause::ALL {
        row(&mut text, &[&format!("`{}`", cause.name()), meaning_of_cause(cause)]);
    }
    text
}

pub(crate) fn columns() -> String {
    let mut text = String::from(
        "# Columns\n\nThe Parquet files that Flashloom writes; `flashloom schema results` prints this page as JSON. Each file \
         has in its metadata the version (`flashloom.version`), the commit, the seed and the resolved configuration, and \
         for each column its meaning and its unit of measure: as Arrow's field metadata `description` and `unit` (pyarrow: \
         `pq.read_schema(FILE).field(NAME).metadata`), and under the key `flashloom.column.NAME` (DuckDB: \
         `parquet_kv_metadata`). Shares lie between 0 and 1.\n",
    );
    for file in tables() {
        let name = if file.name.contains(['.', '-']) { format!("`{}`", file.name) } else { file.name.to_owned() };
        let _ = write!(text, "\n## {name}\n\n{}\n", file.about);
        head(&mut text, &["Column", "Meaning", "Value", "Unit"]);
        for column in file.columns {
            let unit = if column.unit == UnitOfMeasure::Share { "share" } else { column.unit.symbol() };
            row(&mut text, &[&format!("`{}`", column.name), &column.meaning, column.values.name(), unit]);
        }
    }
    text
}

/// Every exit code, from the help text of the command.
pub(crate) fn exit_codes(help: &str) -> String {
    let mut text = String::from(
        "# Exit codes\n\nA result goes to the standard output, messages go to the standard error. The exit code says \
         why a command ended.\n",
    );
    head(&mut text, &["Code", "Meaning"]);
    let (_, listed) = help.split_once("Exit codes:\n").expect("the help lists the exit codes");
    let mut codes: Vec<(&str, String)> = Vec::new();
    for line in listed.lines().take_while(|line| line.starts_with("  ")) {
        match codes.last_mut() {
            // The further lines of a long meaning are indented.
            Some((_, meaning)) if line.starts_with("   ") => *meaning += &format!(" {}", line.trim()),
            _ => {
                let (code, meaning) = line.trim().split_once(' ').expect("a code and its meaning");
                codes.push((code, meaning.trim().to_owned()));
            }
        }
    }
    for (code, meaning) in codes {
        row(&mut text, &[&format!("`{code}`"), &meaning]);
    }
    text
}

/// Every trace format.
pub(crate) fn formats() -> String {
    let mut text = String::from(
        "# Trace formats\n\nFlashloom detects most formats from the first bytes of a file; `--format NAME` names one. \
         `--time-unit`, `--address-unit` and `--size-unit` replace the units of a format that has them by convention.\n",
    );
    head(&mut text, &["Format", "Layout", "Time, address, size", "For example"]);
    for format in Format::ALL {
        let units = format.units().map_or_else(
            || "in the file".to_owned(),
            |units| format!("{}, {}, {}", units.time, units.address, units.size),
        );
        let sample = format.sample().and_then(|sample| String::from_utf8(sample).ok());
        // The line with the most numbers is a request; others are headings and totals.
        let numbers = |line: &&str| line.split(|c: char| !c.is_ascii_digit()).filter(|run| !run.is_empty()).count();
        let sample = sample.filter(|text| !text.contains('\0'));
        let line = sample.as_ref().and_then(|text| text.lines().max_by_key(numbers));
        let line = line.map_or_else(|| "binary".to_owned(), |line| format!("`{}`", line.replace('`', "'")));
        row(&mut text, &[&format!("`{}`", format.name()), format.about(), &units, &line]);
    }
    text
}

pub(crate) fn fio_options() -> String {
    let mut text = String::from(
        "# Options of fio\n\nWhat becomes of each option of an [fio job file](../feed-it.md#an-fio-job). An option that decides \
         which requests are made is honoured as fio does it, or refused with the reason. Every other option is ignored, and \
         named in a note. A value that turns an option off (`0`, `none`) is always accepted.\n",
    );
    let all = fio::option_rows();
    for (treatment, title, column) in [
        ("honoured", "Honoured", "What it decides"),
        ("refused", "Refused", "Why, and what to do"),
        ("noted", "Ignored, with a note", "Why"),
    ] {
        let _ = write!(text, "\n## {title}\n");
        head(&mut text, &["Option", column]);
        for option in all.iter().filter(|option| option.treatment == treatment) {
            let names: Vec<String> = option.names.iter().map(|name| format!("`{name}`")).collect();
            row(&mut text, &[&names.join(", "), &option.text]);
        }
    }
    text
}
