//! The class `StudyOutcome`: the measurements of a study, and the verdicts on its claims.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyList;
use report::study_report::{Charts, page, points};
use study::execute;
use study::metric::Metric;
use study::output::Kind;

use crate::error::Failure;
use crate::outcome::{framed, typed, write};
use crate::table::Table;
use crate::value::from_json;

/// The measurements of a study: a table with a row for each run, and the verdicts on its claims.
#[pyclass(module = "flashloom", frozen)]
pub(crate) struct StudyOutcome {
    outcome: execute::StudyOutcome,
    claims: Vec<execute::Claim>,
}

impl StudyOutcome {
    /// Judges the claims of an outcome.
    pub(crate) fn new(outcome: execute::StudyOutcome) -> Self {
        let outcomes = [outcome];
        let claims = execute::claims(&outcomes);
        let [outcome] = outcomes;
        Self { outcome, claims }
    }

    fn rows(&self) -> report::table::Table {
        points(&self.outcome)
    }

    fn json(&self) -> String {
        execute::json(&flashloom::program(), std::slice::from_ref(&self.outcome), &self.claims)
    }

    fn page(&self) -> String {
        let outcomes = std::slice::from_ref(&self.outcome);
        page(&flashloom::program(), outcomes, &self.claims, Charts::Each).html()
    }
}

#[pymethods]
impl StudyOutcome {
    /// Returns one row for each run: the labels of its point, its seed and its metrics; the columns of
    /// `points.parquet`.
    fn to_arrow(&self) -> PyResult<Table> {
        Ok(Table::new(self.rows())?)
    }

    /// Returns the document that `flashloom study --json` prints.
    fn to_json(&self) -> String {
        self.json()
    }

    /// Returns the document of `to_json` as a dict.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        from_json(py, &self.json())
    }

    /// The claims with their verdicts: objects of `flashloom.results.Claim`.
    #[getter]
    fn claims<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let document = from_json(py, &self.json())?;
        let all = document.get_item("claims")?.try_iter()?.map(|claim| typed(py, "Claim", claim?));
        PyList::new(py, all.collect::<PyResult<Vec<_>>>()?)
    }

    /// Returns the values of a metric, e.g. `"read.p99"`, at each point: pairs of its labels and the mean over the
    /// seeds, in the metric's own unit of measure; `None` where a run has no value.
    fn values(&self, metric: &str) -> PyResult<Vec<(Vec<String>, Option<f64>)>> {
        let wrong = |error: study::metric::ParseMetricError| {
            Failure::argument("metric", error.to_string(), "see the reference of metrics")
        };
        let metric: Metric = metric.parse().map_err(wrong)?;
        let labels = |point| self.outcome.labels(point).iter().map(ToString::to_string).collect();
        Ok((0..self.outcome.runs.len()).map(|point| (labels(point), self.outcome.value(point, &metric))).collect())
    }

    /// The number of runs whose results came from the store.
    #[getter]
    const fn stored(&self) -> usize {
        self.outcome.stored
    }

    /// Returns the number of points.
    fn __len__(&self) -> usize {
        self.outcome.runs.len()
    }

    /// Writes the charts, the points and the claims on one HTML page. A file that Flashloom did not write is replaced
    /// only with `force`.
    #[pyo3(signature = (path, *, force=false))]
    fn report(&self, path: PathBuf, force: bool) -> PyResult<()> {
        let page = self.page();
        Ok(write("report", &path, Kind::Page, force, |out| out.write_all(page.as_bytes()))?)
    }

    fn _repr_html_(&self) -> String {
        framed(&self.page())
    }

    fn __repr__(&self) -> String {
        let name = &self.outcome.plan.spec.name;
        format!("flashloom.StudyOutcome({name}: {} points, {} claims)", self.outcome.runs.len(), self.claims.len())
    }
}
