//! Arguments of Python functions, each a key of the table `run` of a study.

use std::path::Path;

use pyo3::prelude::*;
use study::config::Document;
use toml::{Table, Value};

use crate::value::to_toml;

/// The arguments that are given.
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

    /// Notes an amount. A plain number counts requests, which a file writes as a text.
    pub(crate) fn take_amount(&mut self, key: &str, value: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let Some(value) = value else { return Ok(()) };
        let value = match to_toml(value)? {
            Value::Integer(number) => Value::String(number.to_string()),
            other => other,
        };
        self.put(key, value);
        Ok(())
    }

    /// Notes a list. A text is a list, too, with commas in it.
    pub(crate) fn take_list(&mut self, key: &str, value: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let Some(value) = value else { return Ok(()) };
        let value = match to_toml(value)? {
            Value::String(text) => Value::Array(text.split(',').map(|part| part.trim().to_owned().into()).collect()),
            other => other,
        };
        self.put(key, value);
        Ok(())
    }

    /// Notes a value.
    pub(crate) fn put(&mut self, key: &str, value: impl Into<Value>) {
        self.0.insert(key.to_owned(), value.into());
    }

    /// Notes many values.
    pub(crate) fn extend(&mut self, table: Table) {
        self.0.extend(table);
    }

    /// The document of them, whose faults name the file `argument`.
    pub(crate) fn document(self) -> Document {
        Document::of(Path::new("argument"), self.0)
    }

    /// The values.
    pub(crate) fn into_table(self) -> Table {
        self.0
    }
}
