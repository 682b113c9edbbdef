//! The flows of a comparison: a table for each flow, and one with measures of fairness.

use study::compare::{AXIS, Comparison, FlowColumn, FlowRow, FlowTable, MEANING};

use crate::grid::grid;
use crate::page::{Cell, Row, Table};

/// The width of a terminal in characters.
const WIDTH: usize = 80;

fn heading(of: &FlowTable) -> &str {
    of.flow.as_deref().unwrap_or(AXIS)
}

/// The tables as text; empty without flows.
pub(super) fn text(of: &Comparison) -> String {
    let table = |table: &FlowTable| {
        let mut left: Vec<&FlowColumn> = table.shown().collect();
        let mut text = String::new();
        // The columns are divided among as few tables as fit the terminal.
        while !left.is_empty() {
            let fits = |taken: &usize| part(table, &left[..*taken]).lines().all(|line| line.chars().count() <= WIDTH);
            let taken = (1..=left.len()).rev().find(fits).unwrap_or(1);
            text += &part(table, &left[..taken]);
            left.drain(..taken);
        }
        text
    };
    let compared = of.flows.iter().any(|table| table.flow.is_none());
    let note = if compared { format!("{MEANING}.\n\n") } else { String::new() };
    of.flows.iter().map(table).collect::<String>() + &note
}

fn part(table: &FlowTable, columns: &[&FlowColumn]) -> String {
    let header: Vec<&str> = [heading(table)].into_iter().chain(columns.iter().map(|of| of.heading)).collect();
    let rows = table.rows.iter().map(|row| {
        let cell = |column: &&FlowColumn| {
            let mark = if row.best.contains(&column.key) { "*" } else { "" };
            column.text(row).map_or_else(|| "-".into(), |text| text + mark)
        };
        [row.device.clone()].into_iter().chain(columns.iter().map(cell)).collect()
    });
    grid(&header, rows, 1)
}

pub(super) fn tables(of: &Comparison) -> Vec<Table> {
    let table = |(i, table): (usize, &FlowTable)| {
        let row = |(j, row): (usize, &FlowRow)| {
            let cell = |column: &FlowColumn| {
                let class = if row.best.contains(&column.key) { "best" } else { "" };
                let at = format!("/flows/{i}/rows/{j}/values/{}", column.key);
                let shown = column.text(row).map(|text| Cell { class, ..Cell::of(text, at) });
                shown.unwrap_or_else(|| "-".into())
            };
            let cells = [Cell::from(row.device.as_str())].into_iter().chain(table.shown().map(cell)).collect();
            Row { cells, notes: Vec::new() }
        };
        Table {
            heading: table.flow.as_ref().map_or_else(|| "Fairness".to_owned(), |flow| format!("Flow {flow}")),
            header: [AXIS].into_iter().chain(table.shown().map(|column| column.heading)).map(Into::into).collect(),
            texts: 1,
            rows: table.rows.iter().enumerate().map(row).collect(),
            ..Table::default()
        }
    };
    of.flows.iter().enumerate().map(table).collect()
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use study::compare::{Comparison, plan};
    use study::execute::{self, Program};
    use study::plan::{FlowSpec, RunSpec};

    use crate::compare::{page, table};

    #[test]
    fn each_flow_has_a_table_of_the_drives() {
        let mut run = RunSpec { limit: Some(300), name: Some("reader".into()), ..RunSpec::default() };
        run.flows.insert("writer".into(), FlowSpec { depth: Some(4), ..FlowSpec::new("random-write-4k") });
        let devices = ["compare-dirik", "compare-fmmu"].map(PathBuf::from);
        let compared = |run: &RunSpec| {
            let plan = plan(Path::new("random-read-4k"), &devices, &[1], run);
            let plan = plan.unwrap_or_else(|faults| panic!("{faults}"));
            Comparison::new(&execute::run(plan, &Program::default(), None, &|_, _| {}).expect("it runs"))
        };
        let plain = compared(&run);
        assert_eq!(plain.flows.len(), 2, "nobody ran alone");
        let text = table(&plain);
        assert!(text.contains("\nreader ") && text.contains("\nwriter ") && !text.contains("slowdown"), "{text}");
        let fair = compared(&RunSpec { fairness: true, ..run });
        let text = table(&fair);
        for wanted in ["slowdown", "fairness", "weighted speed-up", "Slowdown: mean latency beside"] {
            assert!(text.contains(wanted), "{wanted}: {text}");
        }
        for of in &fair.flows {
            // The rows of a flow are those of its runs.
            for (row, drive) in of.rows.iter().zip(&fair.rows) {
                let Some(name) = &of.flow else { continue };
                let flow = drive.runs[0].flows.iter().find(|flow| flow.name == *name).expect("it ran");
                assert_eq!(row.values.get("requests_per_s").copied(), flow.requests_per_s);
                assert!(row.values["slowdown"] >= 1.0, "{row:?}");
            }
        }
        let csv = crate::compare::rows(&fair).csv();
        let header = csv.lines().next().expect("a header");
        assert!(header.contains(",reader_read_p99_us,") && header.contains(",writer_slowdown,fairness,"), "{header}");
        let page = page(&Program::default(), &fair);
        let json: serde_json::Value = serde_json::from_str(&page.result).expect("JSON");
        let html = page.html();
        assert!(html.contains("data-of=\"/flows/2/rows/0/values/fairness\""));
        for at in html.split("data-of=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
            assert!(json.pointer(at).is_some_and(serde_json::Value::is_number), "{at}");
        }
    }
}
