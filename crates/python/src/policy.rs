//! Victim and stream policies in Python.
//!
//! The simulator does not expect errors from a policy: an exception ends the run like a bug does, and is raised instead
//! of the bug.

mod stream;
mod victim;

use std::panic::resume_unwind;
use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;

pub(crate) use stream::{register_stream, stream_values};
pub(crate) use victim::register_victim;

/// Exceptions of policies and FTLs that have ended a run and are not raised yet.
static RAISED: Mutex<Vec<PyErr>> = Mutex::new(Vec::new());

/// Takes the first exception of a policy or an FTL that has ended a run; `None` if there is none. All others are
/// dropped.
pub(crate) fn raised() -> Option<PyErr> {
    std::mem::take(&mut *RAISED.lock().unwrap_or_else(PoisonError::into_inner)).into_iter().next()
}

/// Keeps an exception until [`raised`] takes it.
pub(crate) fn note(error: PyErr) {
    RAISED.lock().unwrap_or_else(PoisonError::into_inner).push(error);
}

/// Keeps an exception and ends the run.
pub(crate) fn fail(error: PyErr) -> ! {
    note(error);
    resume_unwind(Box::new("a function in Python has raised an exception"))
}

/// Makes a deep copy of a tuple of objects, in which shared objects stay shared.
pub(crate) fn deep_copy<'py>(of: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    of.py().import("copy")?.call_method1("deepcopy", (of,))
}

/// Does work in a thread that Python knows until the work ends, without the interpreter's lock. Otherwise each call
/// into Python would register and unregister the thread, which takes longer than a small function.
pub(crate) fn known<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    Python::attach(|py| py.detach(work))
}
