//! Conversion of Python values to TOML, and of results to Python values.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDelta, PyDict, PyFloat, PyList, PyMapping, PyString, PyTuple};
use toml::{Table, Value};

/// Converts a value of a description. Paths become texts, and a `timedelta` becomes a time.
pub(crate) fn to_toml(value: &Bound<'_, PyAny>) -> PyResult<Value> {
    if let Ok(value) = value.cast::<PyBool>() {
        return Ok(Value::Boolean(value.is_true()));
    }
    if let Ok(value) = value.cast::<PyString>() {
        return Ok(Value::String(value.to_str()?.to_owned()));
    }
    if let Ok(value) = value.cast::<PyFloat>() {
        return Ok(Value::Float(value.value()));
    }
    if let Ok(value) = value.cast::<PyMapping>() {
        return to_table(value).map(Value::Table);
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        return value.try_iter()?.map(|item| to_toml(&item?)).collect::<PyResult<Vec<_>>>().map(Value::Array);
    }
    if value.is_instance_of::<PyDelta>() {
        return Ok(Value::String(format!("{}us", microseconds(value)?)));
    }
    if value.hasattr("__index__")? {
        return value.extract().map(Value::Integer);
    }
    if value.hasattr("__fspath__")? {
        return Ok(Value::String(value.call_method0("__fspath__")?.extract()?));
    }
    if value.hasattr("__float__")? {
        return value.extract().map(Value::Float);
    }
    let of = value.get_type().name()?;
    Err(PyTypeError::new_err(format!(
        "a value of type {of} has no place in a description; use a text, a number, a bool, a timedelta, a list or a dict"
    )))
}

/// Returns the microseconds of a `timedelta`.
pub(crate) fn microseconds(value: &Bound<'_, PyAny>) -> PyResult<i64> {
    let [days, seconds, micros] = ["days", "seconds", "microseconds"].map(|part| value.getattr(part)?.extract::<i64>());
    Ok((days? * 86_400 + seconds?) * 1_000_000 + micros?)
}

/// Converts a dict to a table of a description.
pub(crate) fn to_table(mapping: &Bound<'_, PyMapping>) -> PyResult<Table> {
    let mut table = Table::new();
    for item in mapping.items()?.iter() {
        let (key, value): (String, Bound<'_, PyAny>) = item.extract()?;
        table.insert(key, to_toml(&value)?);
    }
    Ok(table)
}

/// Converts a value of a description to Python.
pub(crate) fn from_toml<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::String(text) => PyString::new(py, text).into_any(),
        Value::Integer(number) => number.into_pyobject(py)?.into_any(),
        Value::Float(number) => PyFloat::new(py, *number).into_any(),
        Value::Boolean(yes) => PyBool::new(py, *yes).to_owned().into_any(),
        Value::Datetime(time) => PyString::new(py, &time.to_string()).into_any(),
        Value::Array(items) => {
            let items = items.iter().map(|item| from_toml(py, item)).collect::<PyResult<Vec<_>>>()?;
            PyList::new(py, items)?.into_any()
        }
        Value::Table(table) => from_table(py, table)?.into_any(),
    })
}

/// Converts a table of a description to Python.
pub(crate) fn from_table<'py>(py: Python<'py>, table: &Table) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    table.iter().try_for_each(|(key, value)| dict.set_item(key, from_toml(py, value)?))?;
    Ok(dict)
}

pub(crate) fn from_json<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("json")?.call_method1("loads", (text,))
}
