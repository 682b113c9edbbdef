//! Stream policies: a function chooses the stream of each mapping unit that the host writes.
//!
//! The function is called for every write, so the call is as direct as the stable ABI allows: `flashloom.policy`
//! determines once which values the parameters name, and a call makes a tuple of these values and no other object.

use std::sync::Arc;

use flashloom::ftl::{HostWrite, StreamPolicy, register_stream_policy};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyTuple};

use super::{deep_copy, fail};

/// A value of a write that a function may take as a parameter.
#[derive(Clone, Copy, Debug)]
enum Value {
    Lpn,
    Size,
    Queue,
    Placement,
    Set,
    Partial,
    Written,
}

impl Value {
    /// The values with the names of their parameters.
    const ALL: [(&'static str, Self); 7] = [
        ("lpn", Self::Lpn),
        ("size", Self::Size),
        ("queue", Self::Queue),
        ("placement", Self::Placement),
        ("nvm_set", Self::Set),
        ("partial", Self::Partial),
        ("written", Self::Written),
    ];

    fn named(name: &str) -> PyResult<Self> {
        let found = Self::ALL.into_iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| value).ok_or_else(|| PyValueError::new_err(format!("no value `{name}` of a write")))
    }

    fn of<'py>(self, py: Python<'py>, write: &HostWrite) -> Bound<'py, PyAny> {
        let number = match self {
            Self::Lpn => u64::from(write.lpn.get()),
            Self::Size => write.request.bytes().get(),
            Self::Queue => u64::from(write.queue),
            Self::Placement => u64::from(write.placement.get()),
            Self::Set => u64::from(write.set),
            Self::Written => write.written,
            Self::Partial => return PyBool::new(py, write.is_partial).to_owned().into_any(),
        };
        let Ok(number) = number.into_pyobject(py);
        number.into_any()
    }
}

/// A stream policy that calls a Python function.
#[derive(Debug)]
struct PythonStream {
    choose: Py<PyAny>,
    values: Arc<[Value]>,
}

impl PythonStream {
    fn ask(&self, py: Python<'_>, write: &HostWrite) -> PyResult<u8> {
        let arguments = PyTuple::new(py, self.values.iter().map(|value| value.of(py, write)))?;
        let number = self.choose.bind(py).call1(arguments)?;
        match number.extract::<i64>() {
            Ok(number) if number >= 0 => Ok(u8::try_from(number).unwrap_or(u8::MAX)),
            Ok(number) => {
                Err(PyValueError::new_err(format!("a stream policy returned {number}; streams count from 0")))
            }
            Err(_) => {
                let text = format!("a stream policy returns the number of a stream, not {}", number.repr()?);
                Err(PyTypeError::new_err(text))
            }
        }
    }
}

impl Clone for PythonStream {
    /// Copies the object, so that each mount and each copy of a drive has an object of its own.
    fn clone(&self) -> Self {
        Python::attach(|py| {
            let choose = deep_copy(self.choose.bind(py)).unwrap_or_else(|error| fail(error)).unbind();
            Self { choose, values: Arc::clone(&self.values) }
        })
    }
}

impl StreamPolicy for PythonStream {
    #[inline]
    fn stream(&mut self, write: &HostWrite) -> u8 {
        Python::attach(|py| self.ask(py, write)).unwrap_or_else(|error| fail(error))
    }
}

/// Registers a function that gets the values of a write named in `values`, in that order, and returns the number of a
/// stream.
#[pyfunction]
pub(crate) fn register_stream(name: &str, version: &str, choose: Py<PyAny>, values: Vec<String>) -> PyResult<()> {
    let values = values.iter().map(|name| Value::named(name)).collect::<PyResult<_>>()?;
    register_stream_policy(name, version, PythonStream { choose, values })
        .map_err(|taken| PyValueError::new_err(taken.to_string()))
}

/// Returns the names of the values of a write that a stream policy can take.
#[pyfunction]
pub(crate) fn stream_values() -> Vec<&'static str> {
    Value::ALL.map(|(name, _)| name).to_vec()
}
