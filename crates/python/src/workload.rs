//! The classes `Workload` and `Flow`, a workload that runs at the same time as the first.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::units::Span;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping, PyString};
use study::catalogue::{self, WorkloadFile};
use study::config::Document;
use toml::Table;
use workload::script::ScriptSpec;
use workload::trace::TraceFile;

use crate::argument::Arguments;
use crate::error::Failure;
use crate::requests::requests;
use crate::value::{from_table, to_table};

/// The kinds of workloads in a pickle.
const TRACE: &str = "trace";
const JOBS: &str = "jobs";
const DESCRIBED: &str = "described";
const LISTED: &str = "listed";

/// The content of a pickled workload: its kind, its path, its content, its name, and the rules for reading a trace.
type Parts<'py> = (String, PathBuf, Bound<'py, PyAny>, String, Bound<'py, PyDict>);

/// The content of a pickled flow: its workload, its name, its queue, its depth, whether it is open, and its placement
/// identifier.
type FlowParts = (Workload, String, u16, Option<u32>, bool, u16);

/// A workload: a trace, a generator, a script or an fio job file, a built-in workload, a dict with the keys of a
/// generator, any iterable of `(time, op, offset, size)`, or an Arrow table with such columns.
///
/// The time of an item is that of its arrival since the start, in seconds, as a text (`"25us"`) or as a `timedelta`;
/// `op` is `read`, `write`, `flush` or `discard`; `offset` and `size` are bytes. A table (anything with
/// `__arrow_c_stream__`) has the columns `time`, `time_s`, `time_ms`, `time_us`, `time_ns` or `time_ps`; `op`; `offset`
/// and `size`; or those of `Outcome.requests`. The rows of a table are sorted by arrival, while the items of an
/// iterable must be in that order. Both are read at once, so that a workload can run again.
///
/// The other arguments are for traces: `format`, `columns`, the units `time_unit`, `size_unit` and `address_unit`,
/// `volume`, `volumes`, `event`, `tolerance` and `gap_limit` (times), `skip` (requests), `repeat` (the number of times
/// that the trace is played), `extent` (the rule for addresses beyond the drive: `error`, `wrap` or `compact`) and
/// `strict` (a doubt about units, columns or the format is an error). They mean what the options of `flashloom run`
/// mean.
#[pyclass(module = "flashloom", frozen, from_py_object)]
#[derive(Clone)]
pub(crate) struct Workload {
    pub(crate) file: WorkloadFile,
    /// Name of the workload in results.
    pub(crate) name: String,
    /// Rules for reading a trace: keys of the table `run`.
    pub(crate) reading: Table,
}

impl Workload {
    /// Converts an argument: a `Workload`, or a source of one.
    pub(crate) fn of(value: &Bound<'_, PyAny>) -> PyResult<Self> {
        value.extract::<Self>().map_or_else(|_| Ok(Self::found(value, None, Table::new())?), Ok)
    }

    fn found(source: &Bound<'_, PyAny>, name: Option<String>, reading: Table) -> Result<Self, Failure> {
        let (file, own) = if source.is_instance_of::<PyString>() || source.hasattr("__fspath__")? {
            let path: PathBuf = source.extract()?;
            let stem = path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
            (catalogue::workload(&path)?, stem)
        } else if let Ok(mapping) = source.cast::<PyMapping>() {
            let document = Document::of(Path::new("workload"), to_table(mapping)?);
            let own = document.table().get("name").and_then(toml::Value::as_str).unwrap_or("workload").to_owned();
            (WorkloadFile::Described(document), own)
        } else {
            let own = name.clone().unwrap_or_else(|| "requests".to_owned());
            let spec = ScriptSpec {
                name: own.clone(),
                description: String::new(),
                depth: None,
                repeat: 1,
                every: Span::ZERO,
                requests: requests(source)?,
            };
            (WorkloadFile::Listed(Arc::new(spec)), own)
        };
        if !file.is_trace()
            && let Some(key) = reading.keys().next()
        {
            let message = "has no effect here: the workload is not a trace";
            return Err(Failure::argument(key, message, "leave it out, or pass a trace"));
        }
        Ok(Self { file, name: name.unwrap_or(own), reading })
    }
}

#[pymethods]
impl Workload {
    /// Reads a workload from a file, or takes a built-in one by its name, a dict, an iterable or an Arrow table.
    #[new]
    #[pyo3(signature = (
        source, *, name=None, format=None, columns=None, time_unit=None, size_unit=None, address_unit=None, volume=None,
        volumes=None, event=None, tolerance=None, gap_limit=None, skip=None, repeat=None, extent=None, strict=None
    ))]
    #[allow(clippy::too_many_arguments)] // Python passes them by name.
    fn new(
        source: &Bound<'_, PyAny>,
        name: Option<String>,
        format: Option<&Bound<'_, PyAny>>,
        columns: Option<&Bound<'_, PyAny>>,
        time_unit: Option<&Bound<'_, PyAny>>,
        size_unit: Option<&Bound<'_, PyAny>>,
        address_unit: Option<&Bound<'_, PyAny>>,
        volume: Option<&Bound<'_, PyAny>>,
        volumes: Option<&Bound<'_, PyAny>>,
        event: Option<&Bound<'_, PyAny>>,
        tolerance: Option<&Bound<'_, PyAny>>,
        gap_limit: Option<&Bound<'_, PyAny>>,
        skip: Option<&Bound<'_, PyAny>>,
        repeat: Option<&Bound<'_, PyAny>>,
        extent: Option<&Bound<'_, PyAny>>,
        strict: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let mut reading = Arguments::default();
        for (key, value) in [
            ("format", format),
            ("columns", columns),
            ("time-unit", time_unit),
            ("size-unit", size_unit),
            ("address-unit", address_unit),
            ("volume", volume),
            ("volumes", volumes),
            ("event", event),
            ("tolerance", tolerance),
            ("gap-limit", gap_limit),
            ("skip", skip),
            ("repeat", repeat),
            ("extent", extent),
            ("strict", strict),
        ] {
            reading.take(key, value)?;
        }
        Ok(Self::found(source, name, reading.into_table())?)
    }

    /// Parses the TOML text of a generator or a script. Faults name the file `workload`, with their lines.
    #[staticmethod]
    fn parse(text: String) -> PyResult<Self> {
        let file = WorkloadFile::parse(text).map_err(Failure::from)?;
        let name = file.name().unwrap_or_else(|| "workload".to_owned());
        Ok(Self { file, name, reading: Table::new() })
    }

    /// Name of the workload in results.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// Returns the resolved description for a drive of `capacity` bytes: a dict of a workload that does the same; for a
    /// trace, the rules for reading it.
    fn config<'py>(&self, py: Python<'py>, capacity: u64) -> PyResult<Bound<'py, PyDict>> {
        let sectors = base::units::Bytes::new(capacity).sectors().ok_or_else(|| {
            Failure::argument("capacity", format!("{capacity} bytes are no whole sectors"), "use a multiple of 512")
        })?;
        from_table(py, &self.file.resolved(sectors).map_err(Failure::from)?)
    }

    /// Pickles a file's path or a description with all its requests, and the rules for reading a trace.
    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Parts<'py>)> {
        let (py, workload) = (this.py(), this.get());
        let absolute = |path: &Path| std::path::absolute(path);
        let (kind, path, content) = match &workload.file {
            WorkloadFile::Trace(file) => (TRACE, absolute(file.path())?, py.None().into_bound(py)),
            WorkloadFile::Jobs(path, text) => (JOBS, absolute(path)?, PyString::new(py, text).into_any()),
            WorkloadFile::Described(document) => {
                (DESCRIBED, document.path().to_owned(), from_table(py, document.table())?.into_any())
            }
            WorkloadFile::Listed(spec) => {
                let text = serde_json::to_string(&**spec).map_err(|error| Failure::Bug(error.to_string()))?;
                (LISTED, PathBuf::new(), PyString::new(py, &text).into_any())
            }
        };
        let reading = from_table(py, &workload.reading)?;
        Ok((this.get_type().getattr("_of")?, (kind.to_owned(), path, content, workload.name.clone(), reading)))
    }

    /// Makes a pickled workload again.
    #[staticmethod]
    fn _of(
        kind: &str,
        path: PathBuf,
        content: &Bound<'_, PyAny>,
        name: String,
        reading: &Bound<'_, PyMapping>,
    ) -> PyResult<Self> {
        let file = match kind {
            TRACE => WorkloadFile::Trace(TraceFile::at(&path)),
            JOBS => WorkloadFile::Jobs(path, content.extract()?),
            DESCRIBED => WorkloadFile::Described(Document::of(&path, to_table(content.cast::<PyMapping>()?)?)),
            LISTED => {
                let spec = serde_json::from_str(&content.extract::<String>()?);
                WorkloadFile::Listed(Arc::new(spec.map_err(|error| Failure::Run(error.to_string()))?))
            }
            other => return Err(Failure::Run(format!("there is no workload of the kind {other}")).into()),
        };
        Ok(Self { file, name, reading: to_table(reading)? })
    }

    fn __repr__(&self) -> String {
        format!("flashloom.Workload({:?})", self.name)
    }
}

/// A workload that runs at the same time as the first, with a queue, a pacing and results of its own.
///
/// `queue` is the submission queue of the drive, from zero; `depth` keeps so many requests outstanding; `open` issues
/// them at their times of arrival; `placement_id` is the placement identifier of the writes that have none of their
/// own.
#[pyclass(module = "flashloom", frozen, from_py_object)]
#[derive(Clone)]
pub(crate) struct Flow {
    pub(crate) workload: Workload,
    pub(crate) name: String,
    pub(crate) queue: u16,
    pub(crate) depth: Option<u32>,
    pub(crate) open: bool,
    pub(crate) placement_id: u16,
}

impl Flow {
    /// Converts an argument: a `Flow`, or a workload.
    pub(crate) fn of(value: &Bound<'_, PyAny>) -> PyResult<Self> {
        value.extract::<Self>().map_or_else(|_| Self::new(value, None, 0, None, false, 0), Ok)
    }
}

#[pymethods]
impl Flow {
    /// Creates a flow of a workload, or of a source from which `Workload` makes one.
    #[new]
    #[pyo3(signature = (workload, *, name=None, queue=0, depth=None, open=false, placement_id=0))]
    fn new(
        workload: &Bound<'_, PyAny>,
        name: Option<String>,
        queue: u16,
        depth: Option<u32>,
        open: bool,
        placement_id: u16,
    ) -> PyResult<Self> {
        let workload = Workload::of(workload)?;
        let name = name.unwrap_or_else(|| workload.name.clone());
        Ok(Self { workload, name, queue, depth, open, placement_id })
    }

    /// Name of the flow in results.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// Pickles the workload with the settings of the flow.
    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, FlowParts)> {
        let Self { workload, name, queue, depth, open, placement_id } = this.get().clone();
        Ok((this.get_type().getattr("_of")?, (workload, name, queue, depth, open, placement_id)))
    }

    /// Makes a pickled flow again.
    #[staticmethod]
    #[pyo3(signature = (workload, name, queue, depth, open, placement_id=0))]
    fn _of(workload: Workload, name: String, queue: u16, depth: Option<u32>, open: bool, placement_id: u16) -> Self {
        Self { workload, name, queue, depth, open, placement_id }
    }

    fn __repr__(&self) -> String {
        format!("flashloom.Flow({:?})", self.name)
    }
}
