//! Aligns tables as text, and wraps columns that are too wide.

use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};

/// Writes a table. The first `text_columns` columns are text, the others numbers.
pub(crate) fn grid(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>, text_columns: usize) -> String {
    spaced(header, rows, text_columns, 1)
}

/// Writes a table as [`grid`] does, with narrower gaps if it is wider than `width`.
pub(crate) fn fitted(header: &[&str], rows: Vec<Vec<String>>, text_columns: usize, width: usize) -> String {
    let wide = spaced(header, rows.clone(), text_columns, 1);
    let fits = wide.lines().all(|line| line.chars().count() <= width);
    if fits { wide } else { spaced(header, rows, text_columns, 0) }
}

/// Writes a table with `blanks` more blanks between columns than the least number.
fn spaced(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>, text_columns: usize, blanks: u16) -> String {
    let mut table = Table::new();
    table.load_style(style()).set_header(header.to_vec());
    table.add_rows(rows);
    for (i, column) in table.column_iter_mut().enumerate() {
        column.set_padding((u16::from(i > 0) * blanks, 1));
        column.set_cell_alignment(if i < text_columns { CellAlignment::Left } else { CellAlignment::Right });
    }
    table.lines().map(|line| line.trim_end().to_owned() + "\n").chain(["\n".to_owned()]).collect()
}

/// The width of tables in columns of a terminal.
pub(crate) const WIDTH: usize = 110;

/// A table of texts whose long lines are wrapped.
pub(crate) fn wrapped(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(style()).set_header(header.to_vec()).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(WIDTH as u16).add_rows(rows);
    for (i, column) in table.column_iter_mut().enumerate() {
        column.set_padding((u16::from(i > 0), 1));
    }
    table.lines().map(|line| line.trim_end().to_owned() + "\n").chain(["\n".to_owned()]).collect()
}

/// A paragraph in lines of at most this width, each with a newline.
pub(crate) fn folded(text: &str, width: usize) -> String {
    let (mut lines, mut line) = (String::new(), String::new());
    for word in text.split_whitespace() {
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > width {
            lines += &line;
            lines.push('\n');
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line += word;
    }
    lines + &line + "\n"
}

/// The style of all tables: a line under the heading and no others.
fn style() -> TableStyle {
    TableStyle::new().header_separator(LineStyle::none().fill('\u{2500}').junction('\u{2500}'))
}
