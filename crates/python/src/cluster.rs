//! `study --on` of the command line, whose runs the workers of a Dask cluster do.

use flashloom::{ClusterError, ClusterSettings, ProgressCallback};
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::PyCFunction;
use study::execute::{self, StudyOutcome};

use crate::error::BugError;
use crate::sweep::Sweep;

/// A cluster of Dask workers, reached through `flashloom._cluster`.
pub(crate) struct Dask;

impl flashloom::Cluster for Dask {
    fn run(
        &self,
        sweep: execute::Sweep,
        on: &ClusterSettings,
        progress: ProgressCallback,
    ) -> Result<StudyOutcome, ClusterError> {
        Python::attach(|py| {
            let ran = || -> PyResult<StudyOutcome> {
                let sweep = Bound::new(py, Sweep::new(sweep))?;
                let step = PyCFunction::new_closure(py, None, None, move |arguments, _| -> PyResult<()> {
                    let (done, all) = arguments.extract()?;
                    progress(done, all);
                    Ok(())
                })?;
                let (address, jobs, memory, store) = (on.address.to_string(), on.jobs, on.memory, &on.store);
                py.import("flashloom._cluster")?
                    .call_method1("hand_over", (&sweep, address, jobs, memory, store, step))?;
                Ok(sweep.borrow_mut().taken()?)
            };
            ran().map_err(|error| {
                let text = error.value(py).to_string();
                match error.is_instance_of::<BugError>(py) {
                    true => ClusterError::Bug(text),
                    false if error.is_instance_of::<PyException>(py) => ClusterError::Input(text),
                    false => ClusterError::Input("interrupted".to_owned()),
                }
            })
        })
    }
}
