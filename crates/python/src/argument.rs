//! Arguments of Python functions, each of which sets a key of the table `run` of a study.

use std::path::Path;

use pyo3::prelude::*;
use study::config::Document;
use toml::{Table, Value};

use crate::value::to_toml;

/// The arguments that the caller has given, by key.
#[derive(Default)]
pub(crate) struct Arguments(Table);

impl Arguments {
    /// Notes an argument unless it is `None`.
    pub(crate) fn take(&mut self, key: &str, value: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        if let Some(value) = value {
            self.0.insert(key.to_owned(), to_toml(value)?);
        }
        Ok(())
    }

    /// Notes an amount as text, as a file has it. A number without a unit counts requests.
    pub(crate) fn take_amount(&mut self, key: &str, value: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let Some(value) = value else { return Ok(()) };
        let value = match to_toml(value)? {
            Value::Integer(number) => Value::String(number.to_string()),
            other => other,
        };
        self.put(key, value);
        Ok(())
    }

    /// Notes a list. A text with commas counts as a list, too.
    pub(crate) fn take_list(&mut self, key: &str, value: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let Some(value) = value else { return Ok(()) };
        let value = match to_toml(value)? {
            Value::String(text) => Value::Array(text.split(',').map(|part| part.trim().to_owned().into()).collect()),
            other => other,
        };
        self.put(key, value);
        Ok(())
    }

    /// Notes a value under a key.
    pub(crate) fn put(&mut self, key: &str, value: impl Into<Value>) {
        self.0.insert(key.to_owned(), value.into());
    }

    /// Notes all values of a table.
    pub(crate) fn extend(&mut self, table: Table) {
        self.0.extend(table);
    }

    /// Returns a document of the arguments, whose faults name the file `argument`.
    pub(crate) fn document(self) -> Document {
        Document::of(Path::new("argument"), self.0)
    }

    /// Returns the noted values.
    pub(crate) fn into_table(self) -> Table {
        self.0
    }
}
