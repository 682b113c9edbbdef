//! The reference pages other than keys: metrics, columns, exit codes, trace formats.

use std::fmt::Write as _;

use flash::backend::{Cause, Op};
use report::catalogue::tables;
use report::table::UnitOfMeasure;
use study::metric::{Metric, catalogue, meaning_of_cause, meaning_of_op};
use workload::fio;
use workload::trace::Format;

/// A line of a table.
fn row(text: &mut String, cells: &[&str]) {
    let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|").replace('<', "&lt;")).collect();
    let _ = writeln!(text, "| {} |", cells.join(" | "));
}

/// The head of a table.
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

/// Every metric.
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

/// Every column.
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
            // A long meaning goes on below itself.
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

/// Every option of fio.
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
