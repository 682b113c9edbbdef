//! Victim and stream policies in Python.
//!
//! A policy cannot fail in the simulator: an exception ends its run like a bug does, and is raised in place of the bug.

mod stream;
mod victim;

use std::panic::resume_unwind;
use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;

pub(crate) use stream::{register_stream, stream_values};
pub(crate) use victim::register_victim;

/// Exceptions of policies and FTLs that have ended a run and are not raised yet.
static RAISED: Mutex<Vec<PyErr>> = Mutex::new(Vec::new());

/// The exception of a policy or an FTL, if one has ended a run. Of several runs at the same time, that of the first.
pub(crate) fn raised() -> Option<PyErr> {
    std::mem::take(&mut *RAISED.lock().unwrap_or_else(PoisonError::into_inner)).into_iter().next()
}

/// Keeps an exception until [`raised`] takes it.
pub(crate) fn note(error: PyErr) {
    RAISED.lock().unwrap_or_else(PoisonError::into_inner).push(error);
}

/// Ends the run with an exception.
pub(crate) fn fail(error: PyErr) -> ! {
    note(error);
    resume_unwind(Box::new("a function in Python has raised an exception"))
}

/// A deep copy of some objects, which keeps what they share.
pub(crate) fn deep_copy<'py>(of: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    of.py().import("copy")?.call_method1("deepcopy", (of,))
}

/// Does work in a thread that Python knows from then on, without the interpreter's lock. A call into Python would make the
/// thread known and forget it again, which takes longer than a small function.
pub(crate) fn known<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    Python::attach(|py| py.detach(work))
}
