//! The flows of a comparison: a table for each, and one about their fairness.

use study::compare::{AXIS, Comparison, FlowColumn, FlowRow, FlowTable, MEANING};

use crate::grid::grid;
use crate::page::{Cell, Row, Table};

fn heading(of: &FlowTable) -> &str {
    of.flow.as_deref().unwrap_or(AXIS)
}

/// The tables as text; empty without flows.
pub(super) fn text(of: &Comparison) -> String {
    let table = |table: &FlowTable| {
        let header: Vec<&str> = [heading(table)].into_iter().chain(table.shown().map(|of| of.heading)).collect();
        let rows = table.rows.iter().map(|row| {
            let cell = |column: &FlowColumn| {
                let mark = if row.best.contains(&column.key) { "*" } else { "" };
                row.values.get(column.key).map_or_else(|| "-".into(), |value| (column.show)(*value) + mark)
            };
            [row.device.clone()].into_iter().chain(table.shown().map(cell)).collect()
        });
        grid(&header, rows, 1)
    };
    let compared = of.flows.iter().any(|table| table.flow.is_none());
    let note = if compared { format!("{MEANING}.\n\n") } else { String::new() };
    of.flows.iter().map(table).collect::<String>() + &note
}

/// The tables of a page.
pub(super) fn tables(of: &Comparison) -> Vec<Table> {
    let table = |(i, table): (usize, &FlowTable)| {
        let row = |(j, row): (usize, &FlowRow)| {
            let cell = |column: &FlowColumn| {
                let class = if row.best.contains(&column.key) { "best" } else { "" };
                let at = format!("/flows/{i}/rows/{j}/values/{}", column.key);
                let shown =
                    row.values.get(column.key).map(|value| Cell { class, ..Cell::of((column.show)(*value), at) });
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
