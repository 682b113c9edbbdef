//! The class `Device`: a drive's description.

use std::path::{Path, PathBuf};

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping};
use study::catalogue;
use study::config::Document;

use crate::error::Failure;
use crate::value::{from_table, to_table, to_toml};

/// A drive: the device of a TOML file, a built-in one, or a dict with the keys of such a file.
///
/// `flashloom.devices()` names the built-in devices, and `flashloom schema device` has every key. Values with a unit of
/// measure are texts: `"4KiB"`, `"25us"`, `"667MB/s"`, `"7%"`.
#[pyclass(module = "flashloom", from_py_object)]
#[derive(Clone)]
pub(crate) struct Device {
    document: Document,
}

impl Device {
    /// Converts an argument: a `Device`, or a source of one.
    pub(crate) fn of(value: &Bound<'_, PyAny>) -> PyResult<Self> {
        value.extract::<Self>().map_or_else(|_| Self::new(value), Ok)
    }

    /// Resolves the description, or returns all its faults.
    pub(crate) fn found(&self) -> Result<catalogue::Device, Failure> {
        Ok(catalogue::device_from(&self.document)?)
    }
}

#[pymethods]
impl Device {
    /// Reads a device from a file, takes a built-in one by its name, or takes a dict.
    #[new]
    fn new(source: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(mapping) = source.cast::<PyMapping>() {
            return Ok(Self { document: Document::of(Path::new("device"), to_table(mapping)?) });
        }
        let path: PathBuf = source.extract()?;
        Ok(Self { document: catalogue::device(&path).map_err(Failure::from)? })
    }

    /// Parses the TOML text of a device. Faults name the file `device`, with their lines.
    #[staticmethod]
    fn parse(text: String) -> PyResult<Self> {
        Ok(Self { document: Document::parse(Path::new("device"), text).map_err(Failure::from)? })
    }

    /// Sets one key, e.g. `device.set("flash.channels", 8)`, and returns the device itself. Values are checked only by
    /// `check` or a run.
    fn set<'py>(mut this: PyRefMut<'py, Self>, key: &str, value: &Bound<'py, PyAny>) -> PyResult<PyRefMut<'py, Self>> {
        let value = to_toml(value)?;
        this.document.set(&format!("{key}={value}")).map_err(Failure::from)?;
        Ok(this)
    }

    /// Raises `DescriptionError` with all faults of the description, if it has any.
    fn check(&self) -> PyResult<()> {
        self.found()?;
        Ok(())
    }

    /// Name of the device in its description.
    #[getter]
    fn name(&self) -> PyResult<String> {
        Ok(self.found()?.name)
    }

    /// The number of bytes that the host can address.
    #[getter]
    fn capacity(&self) -> PyResult<u64> {
        Ok(self.found()?.capacity().bytes().get())
    }

    /// Returns the description with all defaults and changes filled in, which describes the same drive.
    #[getter]
    fn config<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        from_table(py, &self.found()?.config())
    }

    /// Returns the resolved description as the text of a device file.
    fn to_toml(&self) -> PyResult<String> {
        Ok(self.found()?.config().to_string())
    }

    fn __copy__(&self) -> Self {
        self.clone()
    }

    fn __deepcopy__(&self, _memo: &Bound<'_, PyAny>) -> Self {
        self.clone()
    }

    /// Copies the device, e.g. to set other keys in the copy.
    fn copy(&self) -> Self {
        self.clone()
    }

    /// Pickles the unresolved description, with its changes.
    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyDict>,))> {
        let table = from_table(this.py(), this.borrow().document.table())?;
        Ok((this.get_type().into_any(), (table,)))
    }

    fn __repr__(&self) -> String {
        format!("flashloom.Device({:?})", self.document.path().display().to_string())
    }
}
