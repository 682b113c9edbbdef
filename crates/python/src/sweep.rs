//! The class `Sweep`, a study whose runs other processes do, and the functions that do the runs there.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use study::execute::{self, PointError, Task};
use study::plan::Label;
use study::store::{Digest, PathsByDigest};
use study::summary::Summary;

use crate::detached::polled;
use crate::error::Failure;
use crate::outcome::typed;
use crate::study_outcome::StudyOutcome;
use crate::value::from_json;

/// A study whose runs other processes do; `flashloom._cluster` uses it.
#[pyclass(module = "flashloom._native")]
pub(crate) struct Sweep {
    /// The sweep; `None` after its outcome was taken.
    sweep: Option<execute::Sweep>,
}

impl Sweep {
    pub(crate) const fn new(sweep: execute::Sweep) -> Self {
        Self { sweep: Some(sweep) }
    }

    fn get(&self) -> Result<&execute::Sweep, Failure> {
        self.sweep.as_ref().ok_or_else(|| Failure::Run("the outcome of the sweep was taken".to_owned()))
    }

    /// Takes the outcome of a sweep that has all results.
    pub(crate) fn taken(&mut self) -> Result<execute::StudyOutcome, Failure> {
        let sweep = self.sweep.take().ok_or_else(|| Failure::Run("the outcome of the sweep was taken".to_owned()))?;
        sweep.outcome().ok_or_else(|| Failure::Run("runs of the sweep have no result".to_owned()))
    }
}

/// Converts the labels of a point to texts.
fn texts(labels: &[Label]) -> Vec<String> {
    labels.iter().map(ToString::to_string).collect()
}

#[pymethods]
impl Sweep {
    /// Name of the study in its description.
    #[getter]
    fn name(&self) -> PyResult<String> {
        Ok(self.get()?.name().to_owned())
    }

    /// The number of runs: each point with each seed.
    #[getter]
    fn runs(&self) -> PyResult<usize> {
        Ok(self.get()?.runs())
    }

    /// The number of runs that have their results.
    #[getter]
    fn done(&self) -> PyResult<usize> {
        Ok(self.get()?.done())
    }

    /// Returns the list of the study's results: its path in a store, and its text.
    #[getter]
    fn study_file(&self) -> PyResult<(PathBuf, String)> {
        Ok(self.get()?.study().file())
    }

    /// Returns the numbers of the runs that have no result yet.
    fn left(&self) -> PyResult<Vec<usize>> {
        Ok(self.get()?.left())
    }

    /// Describes a run: its digest, place, labels, seed, device, memory, requests and predicted seconds.
    fn due<'py>(&self, py: Python<'py>, number: usize) -> PyResult<Bound<'py, PyDict>> {
        let due = self.get()?.due(number);
        let dict = PyDict::new(py);
        dict.set_item("digest", due.digest.to_string())?;
        dict.set_item("place", due.place)?;
        dict.set_item("labels", texts(&due.labels))?;
        dict.set_item("seed", due.seed)?;
        dict.set_item("device", due.device)?;
        dict.set_item("memory", due.memory.get())?;
        dict.set_item("requests", due.requests)?;
        dict.set_item("seconds", due.seconds)?;
        Ok(dict)
    }

    /// Returns the paths of the study's traces and snapshots, by their digests.
    #[getter]
    fn files(&self) -> PyResult<BTreeMap<String, PathBuf>> {
        Ok(self.get()?.files().into_iter().map(|(digest, path)| (digest.to_string(), path)).collect())
    }

    /// Returns a run for a worker as JSON, and the digests of its traces and its snapshot.
    fn task(&self, number: usize) -> PyResult<(String, Vec<String>)> {
        let task = self.get()?.task(number).map_err(Failure::from)?;
        Ok((task.json(), task.files().map(|digest| digest.to_string()).collect()))
    }

    /// Returns the labels of a run's point, and its summary; `None` if the run has no result yet.
    fn result<'py>(&self, py: Python<'py>, number: usize) -> PyResult<Option<(Vec<String>, Bound<'py, PyAny>)>> {
        let Some((labels, summary)) = self.get()?.result(number) else { return Ok(None) };
        let text = Summary::json(std::slice::from_ref(summary));
        Ok(Some((texts(labels), typed(py, "Summary", from_json(py, &text)?)?)))
    }

    /// Takes the bytes of the result of a run, which took `seconds`, or `None` if the result is from another store.
    /// Returns the numbers of the runs that have their result now.
    fn take(&mut self, py: Python<'_>, number: usize, result: Vec<u8>, seconds: Option<f64>) -> PyResult<Vec<usize>> {
        let sweep = self.sweep.as_mut().ok_or_else(|| Failure::Run("the outcome of the sweep was taken".to_owned()))?;
        let took = seconds.map(|seconds| Duration::try_from_secs_f64(seconds).unwrap_or_default());
        Ok(py.detach(|| sweep.take(number, result, took)).map_err(Failure::from)?)
    }

    /// Takes the outcome, after all runs have their results.
    fn outcome(&mut self) -> PyResult<StudyOutcome> {
        Ok(StudyOutcome::new(self.taken()?))
    }

    fn __repr__(&self) -> PyResult<String> {
        let sweep = self.get()?;
        Ok(format!("flashloom.Sweep({}: {} of {} runs)", sweep.name(), sweep.done(), sweep.runs()))
    }
}

/// The result of a run: its bytes, and the seconds that the run took.
type RunOutput = (Vec<u8>, f64);

/// Does the runs of some tasks, one after another. `files` has the paths of traces and snapshots, by their digests. An
/// exception of `poll`, which is called again and again, ends the run. Returns the results, each with its seconds, and
/// the exception of the first run that failed.
#[pyfunction]
pub(crate) fn run_tasks<'py>(
    py: Python<'py>,
    tasks: Vec<String>,
    files: Vec<(String, PathBuf)>,
    poll: Option<Py<PyAny>>,
) -> PyResult<(Bound<'py, PyList>, Option<Bound<'py, PyAny>>)> {
    let file = |(digest, path): (String, PathBuf)| -> Result<_, Failure> {
        let digest = digest.parse::<Digest>();
        Ok((digest.map_err(|error| Failure::argument("files", error.to_string(), "pass digests"))?, path))
    };
    let located: PathsByDigest = files.into_iter().map(file).collect::<Result<_, _>>()?;
    let mut ran: Vec<RunOutput> = Vec::new();
    let program = flashloom::program();
    let (all, done) = (&tasks, &mut ran);
    let failed = polled(
        py,
        move |interrupt, _: std::sync::mpsc::Sender<()>| {
            let one = |text: &String| -> Result<RunOutput, PointError> {
                let task = Task::parse(text).map_err(PointError::Key)?;
                #[allow(clippy::disallowed_methods)] // No result depends on how long a run takes.
                let start = Instant::now();
                let bytes = task.run(&located, &program, interrupt)?;
                Ok((bytes, start.elapsed().as_secs_f64()))
            };
            for task in all {
                match one(task) {
                    Ok(result) => done.push(result),
                    Err(error) => return Ok(Some(Failure::from(error))),
                }
            }
            Ok(None)
        },
        |_, ()| Ok(()),
        |py| {
            py.check_signals()?;
            poll.as_ref().map_or(Ok(()), |poll| poll.call0(py).map(drop))
        },
    )?;
    let results = ran.iter().map(|(bytes, seconds)| (PyBytes::new(py, bytes), *seconds));
    let failed = failed.map(|failure| PyErr::from(failure).into_value(py).into_bound(py).into_any());
    Ok((PyList::new(py, results)?, failed))
}

/// Returns the digest of a trace or a snapshot, as used in the store's keys.
#[pyfunction]
pub(crate) fn file_digest(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    Ok(py.detach(|| study::store::file_digest(&path)).map_err(Failure::from)?.to_string())
}

/// Returns the files of a trace: one file, or a file for each CPU of a recording.
#[pyfunction]
pub(crate) fn file_parts(path: PathBuf) -> Vec<PathBuf> {
    workload::trace::files(&path)
}
