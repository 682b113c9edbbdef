//! Victim policies: a function gives each candidate a score.
//!
//! `flashloom.policy` makes a function that takes the columns of all candidates and returns the position of the victim;
//! it is called once for each victim.

use base::engine::Rng;
use flashloom::ftl::{Candidate, Candidates, VictimPolicy, register_victim_policy};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::fail;

/// A victim policy that calls a Python function.
struct PythonPolicy {
    choose: Py<PyAny>,
}

impl PythonPolicy {
    fn ask(&self, py: Python<'_>, all: &[Candidate<'_>], free: u32) -> PyResult<usize> {
        let valid = column(py, all, |candidate| candidate.valid().to_ne_bytes());
        let age = column(py, all, |candidate| candidate.age().to_ne_bytes());
        let seconds = column(py, all, |candidate| candidate.time().as_secs_f64().to_ne_bytes());
        let erases = column(py, all, |candidate| candidate.erases().to_ne_bytes());
        let chosen = self.choose.bind(py).call1((valid, age, seconds, erases, all[0].units(), free))?;
        let place: usize = chosen.extract()?;
        if place < all.len() { Ok(place) } else { Err(PyIndexError::new_err("no such candidate")) }
    }
}

/// Creates the bytes of a column: one number for each candidate.
fn column<'py, const N: usize>(
    py: Python<'py>,
    all: &[Candidate<'_>],
    of: impl Fn(&Candidate<'_>) -> [u8; N],
) -> Bound<'py, PyBytes> {
    PyBytes::new(py, &all.iter().flat_map(of).collect::<Vec<u8>>())
}

impl VictimPolicy for PythonPolicy {
    fn choose<'c>(&self, candidates: &'c Candidates<'_>, _: &mut Rng) -> Option<Candidate<'c>> {
        let all: Vec<Candidate<'c>> = candidates.by_age().collect();
        if all.is_empty() {
            return None;
        }
        let place = Python::attach(|py| self.ask(py, &all, candidates.free())).unwrap_or_else(|error| fail(error));
        Some(all[place])
    }
}

/// Registers a function that gets the columns of the candidates and returns the position of the victim among them.
#[pyfunction]
pub(crate) fn register_victim(name: &str, version: &str, choose: Py<PyAny>) -> PyResult<()> {
    register_victim_policy(name, version, PythonPolicy { choose })
        .map_err(|taken| PyValueError::new_err(taken.to_string()))
}
