//! The class `Outcome`: the measurements of a run.

use std::ffi::CString;
use std::io::Write;
use std::path::{Path, PathBuf};

use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use report::run::page;
use report::{explained_rows, tables, write_timeline};
use study::output::{Kind, Outputs, publish};
use study::repeat::RepeatedRuns;
use study::run::{Record, RunResult};
use study::session::{self, Measurement};
use study::summary::Summary;
use study::text::percent_above_zero;

use crate::error::Failure;
use crate::table::Table;
use crate::value::{from_json, from_table};

/// The runs with each seed, in order.
pub(crate) struct SeedRuns {
    pub(crate) runs: Vec<session::Outcome>,
    pub(crate) records: Option<Vec<Record>>,
}

/// The measurements of a run.
///
/// `summary` has the numbers; `latency`, `series`, `erases`, `life`, `explain` and `requests` are tables that pandas,
/// polars, pyarrow and DuckDB take; and `report` writes the page of charts. In a notebook an outcome shows that page.
/// The outcome of several seeds has `runs`, an outcome for each, and `metrics`, their means with 95 % intervals.
#[pyclass(module = "flashloom", frozen)]
pub(crate) struct Outcome {
    done: SeedRuns,
}

impl Outcome {
    pub(crate) const fn new(done: SeedRuns) -> Self {
        Self { done }
    }

    /// Returns the run of a single seed, or a failure if there are several.
    fn run(&self) -> Result<&session::Outcome, Failure> {
        match &self.done.runs[..] {
            [one] => Ok(one),
            several => {
                let message = format!("the outcome holds {} runs", several.len());
                Err(Failure::argument("seeds", message, "choose one of them, e.g. outcome.runs[0]"))
            }
        }
    }

    /// Returns the measurement of the first stage.
    fn first(&self) -> Result<&Measurement, Failure> {
        Ok(self.run()?.first())
    }

    fn table(&self, of: fn(&RunResult) -> report::table::Table) -> PyResult<Table> {
        Ok(Table::new(of(&self.first()?.result))?)
    }

    /// Creates the page of the run as HTML.
    fn page(&self) -> Result<String, Failure> {
        let run = self.run()?;
        let summaries = run.summaries();
        Ok(page(&run.reports().into_iter().zip(&summaries).collect::<Vec<_>>()).html())
    }

    /// Issues a Python warning if more requests failed than the run's numbers may leave out.
    pub(crate) fn warn_of_failures(&self, py: Python<'_>) -> PyResult<()> {
        let mut runs = self.done.runs.iter().flat_map(session::Outcome::summaries);
        let Some(run) = runs.find(Summary::fails_too_often) else { return Ok(()) };
        let said = run.validity.warnings.first().map_or("requests failed", String::as_str);
        let text = CString::new(format!("{} under {}: {said}", run.device, run.workload)).unwrap_or_default();
        PyErr::warn(py, &py.get_type::<PyUserWarning>(), &text, 1)
    }

    fn repeated(&self) -> Vec<RepeatedRuns> {
        RepeatedRuns::stages(self.done.runs.iter().map(session::Outcome::summaries).collect())
    }
}

/// Writes a file completely, or not at all. A file that Flashloom did not write is replaced only with `force`.
pub(crate) fn write(
    option: &str,
    path: &Path,
    kind: Kind,
    force: bool,
    fill: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> Result<(), Failure> {
    let mut file = Outputs::new([""; 0], force).file(option, path, kind)?;
    file.fill(|mut out| fill(&mut out))?;
    publish(vec![file], None)?;
    Ok(())
}

/// Creates a record of `flashloom.results` with these values.
pub(crate) fn typed<'py>(py: Python<'py>, class: &str, values: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    py.import("flashloom.results")?.getattr(class)?.call1((values,))
}

/// Creates an `<iframe>` that shows a page in isolation.
pub(crate) fn framed(page: &str) -> String {
    let text = page.replace('&', "&amp;").replace('"', "&quot;");
    format!(
        "<iframe srcdoc=\"{text}\" sandbox=\"allow-scripts\" style=\"width: 100%; height: 40em; border: 0\"></iframe>"
    )
}

#[pymethods]
impl Outcome {
    /// The numbers of the run: an object of `flashloom.results.Summary`. For a workload with several stages, the
    /// numbers of the first stage; `stages` has all.
    #[getter]
    fn summary<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let text = Summary::json(&[self.first()?.summary()]);
        typed(py, "Summary", from_json(py, &text)?)
    }

    /// The numbers of every stage of the workload.
    #[getter]
    fn stages<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let summaries = self.run()?.summaries();
        let one =
            |summary: &Summary| typed(py, "Summary", from_json(py, &Summary::json(std::slice::from_ref(summary)))?);
        PyList::new(py, summaries.iter().map(one).collect::<PyResult<Vec<_>>>()?)
    }

    /// Every metric over the seeds, by name: an object of `flashloom.results.Spread` for each, with the mean and its 95
    /// % interval.
    #[getter]
    fn metrics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        if let Some(first) = self.repeated().first() {
            for (name, spread) in &first.metrics {
                let text = serde_json::to_string(spread).map_err(|error| Failure::Bug(error.to_string()))?;
                dict.set_item(name, typed(py, "Spread", from_json(py, &text)?)?)?;
            }
        }
        Ok(dict)
    }

    /// An outcome for each seed.
    #[getter]
    fn runs(&self) -> Vec<Self> {
        let one = |run: &session::Outcome| Self {
            done: SeedRuns { runs: vec![run.clone()], records: self.done.records.clone() },
        };
        self.done.runs.iter().map(one).collect()
    }

    /// Returns the document that `flashloom run --json` prints: of one run, of its stages, or of several seeds.
    fn to_json(&self) -> String {
        match &self.done.runs[..] {
            [one] => Summary::json(&one.summaries()),
            _ => RepeatedRuns::json(&self.repeated()),
        }
    }

    /// Returns the document of `to_json` as a dict; a list of dicts for a workload with several stages.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        from_json(py, &self.to_json())
    }

    /// The distributions of response times, one row for each bin that is not empty.
    #[getter]
    fn latency(&self) -> PyResult<Table> {
        self.table(tables::latencies)
    }

    /// The course of the run, one row for each interval; with percentiles if the run has `series`.
    #[getter]
    fn series(&self) -> PyResult<Table> {
        let measured = self.first()?;
        Ok(Table::new(tables::series(&measured.result, measured.power_draw.as_ref()))?)
    }

    /// The busy share of each channel and die, one row for each of them and each interval.
    #[getter]
    fn busy(&self) -> PyResult<Table> {
        self.table(tables::busy)
    }

    /// The course of each flow, for a run with several flows and `series`.
    #[getter]
    fn flow_series(&self) -> PyResult<Table> {
        self.table(tables::flow_series)
    }

    /// The number of program/erase cycles of every block.
    #[getter]
    fn erases(&self) -> PyResult<Table> {
        Ok(Table::new(tables::erases(&self.first()?.erase_counts))?)
    }

    /// The curve over the drive's life, for a run with `until="worn"`.
    #[getter]
    fn life(&self) -> PyResult<Table> {
        let life = self.first()?.life.as_ref();
        Ok(Table::new(tables::life(life.map_or(&[], |life| &life.curve)))?)
    }

    /// The parts of the requests' time, by band of percentiles, for a run with `explain`.
    #[getter]
    fn explain(&self) -> PyResult<Table> {
        let explained = &self.first()?.explained;
        if explained.is_empty() {
            return Err(Failure::argument("explain", "the run attributed no time", "run with explain=True").into());
        }
        Ok(Table::new(explained_rows(explained))?)
    }

    /// One row for each request, in the order of completion, for a run with `requests`.
    #[getter]
    fn requests(&self) -> PyResult<Table> {
        self.run()?;
        let wanted = || Failure::argument("requests", "the run kept no requests", "run with requests=True");
        Ok(Table::new(tables::requests(self.done.records.as_ref().ok_or_else(wanted)?))?)
    }

    /// The resolved configuration: tables for the device, the workload and the run.
    #[getter]
    fn config<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        from_table(py, &self.first()?.about.config)
    }

    /// The hash of all events: equal runs have equal hashes, on every machine.
    #[getter]
    fn event_hash(&self) -> PyResult<String> {
        Ok(self.first()?.summary().event_hash)
    }

    /// Writes the charts and the numbers on one HTML page that needs no other file. A file that Flashloom did not write
    /// is replaced only with `force`.
    #[pyo3(signature = (path, *, force=false))]
    fn report(&self, path: PathBuf, force: bool) -> PyResult<()> {
        let page = self.page()?;
        Ok(write("report", &path, Kind::Page, force, |out| out.write_all(page.as_bytes()))?)
    }

    /// Writes the timeline of a run with `timeline` for Perfetto (ui.perfetto.dev).
    #[pyo3(signature = (path, *, force=false))]
    fn timeline(&self, path: PathBuf, force: bool) -> PyResult<()> {
        let run = self.run()?;
        let wanted = || Failure::argument("timeline", "the run recorded no timeline", "run with timeline=True");
        let timeline = run.timeline().ok_or_else(wanted)?;
        Ok(write("timeline", &path, Kind::Timeline, force, |mut out| write_timeline(timeline, &mut out))?)
    }

    fn _repr_html_(&self) -> PyResult<Option<String>> {
        if self.done.runs.len() > 1 {
            return Ok(None);
        }
        Ok(Some(framed(&self.page()?)))
    }

    fn __repr__(&self) -> String {
        let first = self.done.runs[0].first().summary();
        let seeds = if self.done.runs.len() > 1 { format!(", {} seeds", self.done.runs.len()) } else { String::new() };
        let failed = self
            .done
            .runs
            .iter()
            .flat_map(session::Outcome::summaries)
            .map(|run| run.validity.failed)
            .fold(0.0, f64::max);
        let failed = if failed > 0.0 { format!(", {} failed", percent_above_zero(failed)) } else { String::new() };
        let Summary { device, workload, requests, .. } = &first;
        format!("flashloom.Outcome({device} under {workload}: {requests} requests{failed}{seeds})")
    }
}
