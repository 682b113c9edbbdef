//! Tables for other programs: columns with name, unit and meaning, from which both CSV and Parquet are written.

use std::borrow::Cow;

pub use workload::field::{Field, UnitOfMeasure, Values};

/// The values of one column.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Unsigned whole numbers.
    Count(Vec<u64>),
    /// Numbers, of which some may be missing.
    Number(Vec<Option<f64>>),
    /// Texts, which may be borrowed from the program.
    Text(Vec<Cow<'static, str>>),
}

impl Column {
    /// The type of the column's values.
    #[must_use]
    pub const fn values(&self) -> Values {
        match self {
            Self::Count(_) => Values::Count,
            Self::Number(_) => Values::Number,
            Self::Text(_) => Values::Text,
        }
    }

    /// The number of the column's values.
    #[must_use]
    pub const fn len(&self) -> usize {
        match self {
            Self::Count(values) => values.len(),
            Self::Number(values) => values.len(),
            Self::Text(values) => values.len(),
        }
    }

    /// True if the table has no rows.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A value in CSV: plain, without separators of thousands; empty if it is missing.
    fn cell(&self, row: usize) -> Cow<'_, str> {
        match self {
            Self::Count(values) => values[row].to_string().into(),
            Self::Number(values) => {
                values[row].filter(|value| value.is_finite()).map_or_else(String::new, |value| value.to_string()).into()
            }
            Self::Text(values) => quoted(&values[row]),
        }
    }
}

/// A text in CSV (RFC 4180): in quotes if it has a comma, a quote or the end of a line.
fn quoted(text: &str) -> Cow<'_, str> {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\"")).into()
    } else {
        text.into()
    }
}

/// A table: columns of equal length, each with its definition.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    columns: Vec<(Field, Column)>,
}

impl Table {
    /// Adds a column.
    ///
    /// # Panics
    ///
    /// If the type of its values differs from its definition, or its length from the columns before.
    pub fn push(&mut self, field: Field, column: Column) {
        assert_eq!(field.values, column.values(), "the column {} has other values", field.name);
        if let Some((first, values)) = self.columns.first() {
            assert_eq!(column.len(), values.len(), "{} and {} are of different length", field.name, first.name);
        }
        self.columns.push((field, column));
    }

    /// Adds a column of texts.
    pub fn text<T: Into<Cow<'static, str>>>(
        &mut self,
        name: &'static str,
        meaning: &'static str,
        values: impl IntoIterator<Item = T>,
    ) {
        let values = values.into_iter().map(Into::into).collect();
        self.push(Field::new(name, Values::Text, UnitOfMeasure::None, meaning), Column::Text(values));
    }

    /// Adds a column of whole numbers.
    pub fn count(
        &mut self,
        name: &'static str,
        unit: UnitOfMeasure,
        meaning: &'static str,
        values: impl IntoIterator<Item = u64>,
    ) {
        let values = values.into_iter().collect();
        self.push(Field::new(name, Values::Count, unit, meaning), Column::Count(values));
    }

    /// Adds a column of numbers.
    pub fn number(
        &mut self,
        name: &'static str,
        unit: UnitOfMeasure,
        meaning: &'static str,
        values: impl IntoIterator<Item = Option<f64>>,
    ) {
        let values = values.into_iter().collect();
        self.push(Field::new(name, Values::Number, unit, meaning), Column::Number(values));
    }

    /// True if a column has this name.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.columns.iter().any(|(field, _)| field.name == name)
    }

    /// The definitions of the columns.
    #[must_use]
    pub fn fields(&self) -> Vec<Field> {
        self.columns.iter().map(|(field, _)| field.clone()).collect()
    }

    /// The columns without their descriptions.
    pub fn columns(&self) -> impl Iterator<Item = &Column> {
        self.columns.iter().map(|(_, column)| column)
    }

    /// The columns with their definitions.
    pub fn into_columns(self) -> impl Iterator<Item = (Field, Column)> {
        self.columns.into_iter()
    }

    /// The number of rows, which all columns have; 0 without columns.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |(_, column)| column.len())
    }

    /// Puts the rows of all tables into one table, one table after another. A column that a table does not have is
    /// empty in its rows.
    #[must_use]
    pub fn stacked(tables: &[Self]) -> Self {
        let mut all = Self::default();
        for (field, _) in tables.iter().flat_map(|table| &table.columns) {
            if all.has(&field.name) {
                continue;
            }
            let of = |table: &Self| {
                table.columns.iter().find(|(other, _)| other.name == field.name).map(|(_, column)| column.clone())
            };
            let parts: Vec<(Option<Column>, usize)> = tables.iter().map(|table| (of(table), table.rows())).collect();
            let column = joined(parts);
            all.push(Field { values: column.values(), ..field.clone() }, column);
        }
        all
    }

    /// The table as CSV (RFC 4180, lines end with a line feed): a header of names, which state the unit of measure, and
    /// plain numbers.
    #[must_use]
    pub fn csv(&self) -> String {
        let line = |cells: &mut dyn Iterator<Item = Cow<'_, str>>| cells.collect::<Vec<_>>().join(",") + "\n";
        let mut text = line(&mut self.columns.iter().map(|(field, _)| quoted(&field.name)));
        for row in 0..self.rows() {
            text.push_str(&line(&mut self.columns().map(|column| column.cell(row))));
        }
        text
    }
}

/// Joins a column from its parts in several tables; a missing part gives that many empty cells. Whole numbers with
/// empty cells become floating-point numbers, because only these may be missing; different types become texts.
fn joined(parts: Vec<(Option<Column>, usize)>) -> Column {
    let is_whole = parts.iter().all(|(part, rows)| part.is_some() || *rows == 0);
    let all = |of: Values| parts.iter().filter_map(|(part, _)| part.as_ref()).all(|part| part.values() == of);
    let texts = || {
        let cell = |part: &Option<Column>, row: usize| {
            part.as_ref().map_or(Cow::Borrowed(""), |part| match part {
                Column::Text(values) => values[row].clone(),
                other => other.cell(row).into_owned().into(),
            })
        };
        parts.iter().flat_map(|(part, rows)| (0..*rows).map(move |row| cell(part, row))).collect()
    };
    if all(Values::Count) && is_whole {
        let counts = parts.iter().flat_map(|(part, _)| match part {
            Some(Column::Count(values)) => values.clone(),
            _ => Vec::new(),
        });
        return Column::Count(counts.collect());
    }
    if parts.iter().any(|(part, _)| matches!(part, Some(Column::Text(_)))) {
        return Column::Text(texts());
    }
    let numbers = parts.iter().flat_map(|(part, rows)| match part {
        Some(Column::Count(values)) => values.iter().map(|value| Some(*value as f64)).collect(),
        Some(Column::Number(values)) => values.clone(),
        _ => vec![None; *rows],
    });
    Column::Number(numbers.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads CSV by RFC 4180.
    fn read(text: &str) -> Vec<Vec<String>> {
        let (mut rows, mut row, mut cell, mut inside) = (Vec::new(), Vec::new(), String::new(), false);
        let mut letters = text.chars().peekable();
        while let Some(letter) = letters.next() {
            match letter {
                '"' if inside && letters.peek() == Some(&'"') => {
                    letters.next();
                    cell.push('"');
                }
                '"' => inside = !inside,
                ',' if !inside => row.push(std::mem::take(&mut cell)),
                '\n' if !inside => {
                    row.push(std::mem::take(&mut cell));
                    rows.push(std::mem::take(&mut row));
                }
                other => cell.push(other),
            }
        }
        assert!(!inside && cell.is_empty() && row.is_empty(), "the last line ends");
        rows
    }

    fn table() -> Table {
        let mut table = Table::default();
        table.text("name", "a name", ["plain", "a, b", "says \"no\"", "two\nlines"]);
        table.count("size_bytes", UnitOfMeasure::Bytes, "a size", [0, 1, 18_446_744_073_709_551_615, 3]);
        table.number(
            "read_p99_us",
            UnitOfMeasure::Microseconds,
            "a time",
            [Some(0.1), None, Some(1e21), Some(f64::NAN)],
        );
        table
    }

    #[test]
    fn csv_reads_back() {
        let text = table().csv();
        let rows = read(&text);
        assert_eq!(rows[0], ["name", "size_bytes", "read_p99_us"]);
        assert_eq!(rows[1], ["plain", "0", "0.1"]);
        assert_eq!(rows[2], ["a, b", "1", ""]);
        assert_eq!(rows[3], ["says \"no\"", "18446744073709551615", "1000000000000000000000"]);
        assert_eq!(rows[4], ["two\nlines", "3", ""], "no number is no cell");
        assert_eq!(rows.len(), 5);
    }

    #[test]
    fn tables_with_other_columns_are_stacked() {
        let mut other = Table::default();
        other.count("name", UnitOfMeasure::None, "a number here", [7]);
        other.number("waf", UnitOfMeasure::None, "a quotient", [Some(1.5)]);
        let all = Table::stacked(&[table(), other]);
        let rows = read(&all.csv());
        assert_eq!(rows[0], ["name", "size_bytes", "read_p99_us", "waf"]);
        assert_eq!((&rows[1][3], &rows[5]), (&String::new(), &["7", "", "", "1.5"].map(String::from).to_vec()));
        assert_eq!(all.rows(), 5);
        let twice = Table::stacked(&[table(), table()]);
        assert_eq!(twice.columns().nth(1).map(Column::values), Some(Values::Count));
    }

    #[test]
    #[should_panic(expected = "of different length")]
    fn a_column_of_another_length_is_a_bug() {
        table().count("more", UnitOfMeasure::None, "", [1]);
    }
}
