//! The module `flashloom._native`, on which the Python package `flashloom` is built.
//!
//! This crate has no simulation code. A run is a [session](::study::session::Session), a study is a
//! [plan](::study::plan::Plan), and the texts of errors are those of the command line. Every run releases the
//! interpreter's lock (`detached`).

mod argument;
mod cluster;
mod columns;
mod detached;
mod device;
mod error;
mod ftl;
mod outcome;
mod policy;
mod requests;
mod run;
mod ssd;
mod study;
mod study_outcome;
mod sweep;
mod table;
mod value;
mod workload;

use pyo3::prelude::*;

/// The simulator and the command line of Flashloom.
#[pymodule]
mod _native {
    #[pymodule_export]
    use crate::device::Device;
    #[pymodule_export]
    use crate::ftl::{Drive, Flash, Geometry, Write, check_ftl, register_ftl};
    #[pymodule_export]
    use crate::outcome::Outcome;
    #[pymodule_export]
    use crate::policy::{register_stream, register_victim, stream_values};
    #[pymodule_export]
    use crate::run::run;
    #[pymodule_export]
    use crate::ssd::{Completion, Recovery, Ssd};
    #[pymodule_export]
    use crate::study::Study;
    #[pymodule_export]
    use crate::study_outcome::StudyOutcome;
    #[pymodule_export]
    use crate::sweep::{Sweep, file_digest, file_parts, run_tasks};
    #[pymodule_export]
    use crate::table::Table;
    #[pymodule_export]
    use crate::workload::{Flow, Workload};

    use pyo3::prelude::*;

    /// Runs the command line; returns its exit code.
    #[pyfunction]
    fn command(py: Python<'_>, arguments: Vec<std::ffi::OsString>) -> u8 {
        py.detach(|| flashloom::command_with(arguments, Some(&crate::cluster::Dask)))
    }

    /// Returns the names of the built-in devices.
    #[pyfunction]
    fn devices() -> Vec<&'static str> {
        ::ssd::builtin().iter().map(|(name, _)| *name).collect()
    }

    /// Returns the names of the built-in workloads.
    #[pyfunction]
    fn workloads() -> Vec<&'static str> {
        ::workload::generate::builtin().iter().map(|(name, _)| *name).collect()
    }

    /// Returns the names of the built-in studies.
    #[pyfunction]
    fn studies() -> Vec<&'static str> {
        ::study::plan::builtin().iter().map(|(name, _)| *name).collect()
    }

    /// Returns the folder in which the command line keeps the results of studies; `None` if the user has turned it off.
    #[pyfunction]
    fn default_store() -> Option<std::path::PathBuf> {
        flashloom::default_store()
    }

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        let program = flashloom::program();
        module.add("__version__", program.version)?;
        module.add("__commit__", program.commit)
    }
}
