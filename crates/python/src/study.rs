//! The class `Study`: many runs along axes, with claims about their results.

use std::path::{Path, PathBuf};

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping, PyType};
use study::catalogue;
use study::config::Document;
use study::execute::{self, Follow, ResultStore, at_once};
use study::memory;
use study::plan::Plan;
use study::store::{Digest, Store};
use study::summary::Summary;

use crate::detached::followed;
use crate::error::Failure;
use crate::outcome::typed;
use crate::policy::known;
use crate::run::{given_memory, jobs_of};
use crate::study_outcome::StudyOutcome;
use crate::sweep::Sweep;
use crate::value::{from_json, from_table, to_table, to_toml};

/// A message of a running study.
enum News {
    /// The number of finished runs, and the number of all runs.
    Progress(u64, u64),
    /// A result: the labels of its point, and its summary.
    Point(Vec<String>, Box<Summary>),
    /// The digest of a run whose result is now in the store.
    Kept(Digest),
    /// A sentence for the user.
    Warning(String),
}

/// The state of a pickled study: the function that makes the study again, and its arguments, a path and a description.
type PickledStudy<'py> = (Bound<'py, PyAny>, (PathBuf, Bound<'py, PyDict>));

/// A study: the description of a TOML file, a built-in one, or a dict with the keys of such a file.
#[pyclass(module = "flashloom", subclass)]
pub(crate) struct Study {
    document: Document,
}

#[pymethods]
impl Study {
    /// Reads a study from a file, takes a built-in one by its name, or takes a dict. Files that a dict names are looked
    /// up from the current folder.
    #[new]
    fn new(source: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(mapping) = source.cast::<PyMapping>() {
            return Ok(Self { document: Document::of(Path::new("study"), to_table(mapping)?) });
        }
        let path: PathBuf = source.extract()?;
        Ok(Self { document: catalogue::study(&path).map_err(Failure::from)? })
    }

    /// Sets one key, e.g. `study.set("run.verify", True)`, and returns the study itself.
    fn set<'py>(mut this: PyRefMut<'py, Self>, key: &str, value: &Bound<'py, PyAny>) -> PyResult<PyRefMut<'py, Self>> {
        let value = to_toml(value)?;
        this.document.set(&format!("{key}={value}")).map_err(Failure::from)?;
        Ok(this)
    }

    /// Adds an axis and returns the study itself. Either `key` (`device.flash.channels`, `workload.requests`,
    /// `run.depth`) takes each of `values`; or each of `points` is a dict with `at`, its label, and the changes at that
    /// point: `device`, `workload` or `set`.
    #[pyo3(signature = (name, key=None, values=None, *, points=None))]
    fn axis<'py>(
        mut this: PyRefMut<'py, Self>,
        name: &str,
        key: Option<&str>,
        values: Option<&Bound<'py, PyAny>>,
        points: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<PyRefMut<'py, Self>> {
        let mut table = toml::Table::from_iter([("name".to_owned(), name.into())]);
        table.extend(key.map(|key| ("key".to_owned(), key.into())));
        for (name, given) in [("values", values), ("point", points)] {
            if let Some(given) = given {
                let items = given.try_iter()?.map(|item| to_toml(&item?)).collect::<PyResult<Vec<_>>>()?;
                table.insert(name.to_owned(), items.into());
            }
        }
        this.document.push("axis", table).map_err(Failure::from)?;
        Ok(this)
    }

    /// Raises `DescriptionError` with all faults of the study and of its points, if it has any.
    fn check(&self) -> PyResult<()> {
        self.plan()?;
        Ok(())
    }

    /// Name of the study in its description.
    #[getter]
    fn name(&self) -> PyResult<String> {
        Ok(self.plan()?.spec.name)
    }

    /// The axes: the labels of each, by name.
    #[getter]
    fn axes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (name, labels) in &self.plan()?.axes {
            dict.set_item(name, labels.iter().map(ToString::to_string).collect::<Vec<_>>())?;
        }
        Ok(dict)
    }

    /// Returns the unresolved description, with its changes.
    #[getter]
    fn config<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        from_table(py, self.document.table())
    }

    /// Returns the number of points: one for each combination of the axes' labels.
    fn __len__(&self) -> PyResult<usize> {
        Ok(self.plan()?.points.len())
    }

    /// Runs the study; `flashloom.Study.run` calls this method. `progress(done, all)` and `on_point(labels, summary)`
    /// are called in this thread, `kept(digest)` as soon as the store has a result, `warn(text)` with a sentence for
    /// the user.
    #[allow(clippy::too_many_arguments)] // Python passes them by name.
    fn _run(
        &self,
        py: Python<'_>,
        jobs: Option<usize>,
        store: Option<PathBuf>,
        memory: Option<&str>,
        progress: Option<Py<PyAny>>,
        on_point: Option<Py<PyAny>>,
        kept: Option<Py<PyAny>>,
        warn: Py<PyAny>,
    ) -> PyResult<StudyOutcome> {
        let plan = self.plan()?;
        let jobs = jobs_of(jobs)?;
        let limit = memory.map_or_else(|| Ok(flashloom::memory_limit()), given_memory)?;
        if let Some(limit) = limit {
            memory::check(execute::needs(&plan), at_once(jobs), &limit).map_err(Failure::from)?;
        }
        execute::check_snapshots(&plan).map_err(Failure::from)?;
        let store = store.map(|folder| Store::open(&folder)).transpose().map_err(Failure::from)?;
        let labels: Vec<Vec<String>> =
            plan.points.iter().map(|point| point.labels.iter().map(ToString::to_string).collect()).collect();
        let (has_point, has_kept) = (on_point.is_some(), kept.is_some());
        let outcome = followed(
            py,
            |interrupt, sender| {
                // The receiver is gone after an interruption.
                let say = |news| drop(sender.send(news));
                let said = |text: &dyn std::fmt::Display| say(News::Warning(text.to_string()));
                let finished = |point: usize, run: &Summary| {
                    if has_point {
                        say(News::Point(labels[point].clone(), Box::new(run.clone())));
                    }
                };
                let put = |digest| {
                    if has_kept {
                        say(News::Kept(digest));
                    }
                };
                let follow = Follow {
                    progress: &|done, all| say(News::Progress(done, all)),
                    finished: &finished,
                    kept: &put,
                    interrupt: Some(interrupt),
                    wrapper: &|run| known(run),
                };
                let result_store = store.as_ref().map(|store| ResultStore::new(store, &said));
                Ok(execute::run_followed(plan, &flashloom::program(), jobs, result_store.as_ref(), follow)?)
            },
            |py, news| {
                match news {
                    News::Progress(done, all) => progress.as_ref().map(|progress| progress.call1(py, (done, all))),
                    News::Point(labels, run) => {
                        let run = typed(py, "Summary", from_json(py, &Summary::json(&[*run]))?)?;
                        on_point.as_ref().map(|on_point| on_point.call1(py, (labels, run)))
                    }
                    News::Kept(digest) => kept.as_ref().map(|kept| kept.call1(py, (digest.to_string(),))),
                    News::Warning(text) => Some(warn.call1(py, (text,))),
                }
                .transpose()
                .map(drop)
            },
        )?;
        Ok(StudyOutcome::new(outcome))
    }

    /// Prepares the study as a sweep whose runs other processes do; `store` takes their results, `warn(text)` is called
    /// with a sentence for the user.
    fn _sweep(&self, py: Python<'_>, store: Option<PathBuf>, warn: Py<PyAny>) -> PyResult<Sweep> {
        let plan = self.plan()?;
        let store = store.map(|folder| Store::open(&folder)).transpose().map_err(Failure::from)?;
        let said = move |text: &dyn std::fmt::Display| {
            // An exception of `warn` is printed, because no caller can take it.
            Python::attach(|py| warn.call1(py, (text.to_string(),)).map_or_else(|error| error.print(py), drop));
        };
        let sweep = py.detach(|| execute::Sweep::new(plan, store, None, Box::new(said))).map_err(Failure::from)?;
        Ok(Sweep::new(sweep))
    }

    /// Pickles the unresolved description, with its changes. Files that it names are looked up from the same folder.
    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<PickledStudy<'py>> {
        let study = this.borrow();
        let path = std::path::absolute(study.document.path())?;
        let table = from_table(this.py(), study.document.table())?;
        Ok((this.get_type().getattr("_of")?, (path, table)))
    }

    /// Makes a pickled study again.
    #[classmethod]
    fn _of<'py>(
        class: &Bound<'py, PyType>,
        path: PathBuf,
        table: &Bound<'py, PyMapping>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let document = Document::of(&path, to_table(table)?);
        let study = class.call1((PyDict::new(class.py()),))?;
        study.cast::<Self>()?.borrow_mut().document = document;
        Ok(study)
    }

    fn __repr__(&self) -> String {
        format!("flashloom.Study({:?})", self.document.path().display().to_string())
    }
}

impl Study {
    fn plan(&self) -> Result<Plan, Failure> {
        let plan = Plan::new(&self.document)?;
        let idle = plan.idle(&self.document);
        if idle.0.is_empty() { Ok(plan) } else { Err(idle.into()) }
    }
}
