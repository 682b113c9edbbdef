//! FTLs in Python: a class with the methods of a simple FTL.
//!
//! The layer `ftl::simple` calls a [`PythonFtl`], which calls the methods. The simulator does not expect errors from an
//! FTL: an exception of a method, or a broken [rule](rule::Rule), ends the run and is raised by the function that
//! started it.

mod book;
mod conformance;
mod drive;
mod flash;
mod rule;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use flashloom::ftl::register_simple_ftl;
use flashloom::ftl::simple::{CommandEnd, SimpleCommands, SimpleDrive, SimpleFtl, SimpleSite, SimpleWrite};
use flashloom::units::{Lpn, Psn};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::policy::{deep_copy, fail, note};

use book::Book;

pub(crate) use conformance::check_ftl;
pub(crate) use drive::{Drive, Geometry};
pub(crate) use flash::{Flash, Write};

/// The classes by the names under which they are registered.
static CLASSES: Mutex<BTreeMap<String, Py<PyAny>>> = Mutex::new(BTreeMap::new());

/// Returns true if this process has registered an FTL in Python, because an apparent bug of the simulator may then be
/// one of the FTL.
pub(crate) fn are_any() -> bool {
    !CLASSES.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
}

fn class_of<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    let classes = CLASSES.lock().unwrap_or_else(PoisonError::into_inner);
    let class = classes.get(name).map(|class| class.bind(py).clone());
    class.ok_or_else(|| PyRuntimeError::new_err(format!("no FTL `{name}` is registered")))
}

/// Registers a Python class under `name`, the value of `ftl.kind`. Raises `ValueError` if the name is taken.
#[pyfunction]
pub(crate) fn register_ftl(name: &str, version: &str, class_: Py<PyAny>) -> PyResult<()> {
    register_simple_ftl::<PythonFtl>(name, version).map_err(|taken| PyValueError::new_err(taken.to_string()))?;
    CLASSES.lock().unwrap_or_else(PoisonError::into_inner).entry(name.to_owned()).or_insert(class_);
    Ok(())
}

/// The methods that are called during a run, looked up once.
#[derive(Debug)]
struct Methods {
    place: Py<PyAny>,
    write: Py<PyAny>,
    discard: Py<PyAny>,
    written: Py<PyAny>,
    copied: Py<PyAny>,
    failed: Py<PyAny>,
    erased: Py<PyAny>,
    retired: Py<PyAny>,
}

/// An FTL that calls the methods of a Python object.
#[derive(Debug)]
struct PythonFtl {
    ftl: Py<PyAny>,
    flash: Py<Flash>,
    methods: Methods,
}

impl PythonFtl {
    fn bind(ftl: &Bound<'_, PyAny>, flash: &Bound<'_, Flash>) -> PyResult<Self> {
        let method = |name: &str| ftl.getattr(name).map(Bound::unbind);
        let methods = Methods {
            place: method("place")?,
            write: method("write")?,
            discard: method("discard")?,
            written: method("written")?,
            copied: method("copied")?,
            failed: method("failed")?,
            erased: method("erased")?,
            retired: method("retired")?,
        };
        flash.get().set_place(methods.place.clone_ref(ftl.py()));
        Ok(Self { ftl: ftl.clone().unbind(), flash: flash.clone().unbind(), methods })
    }

    fn mounted(py: Python<'_>, drive: &SimpleDrive<'_>) -> PyResult<Self> {
        let book = Arc::new(Book::of(drive));
        let ftl = class_of(py, drive.name)?.call0()?;
        let seen = Bound::new(py, Drive::of(py, drive, Arc::clone(&book))?)?;
        ftl.call_method1("mount", (&seen,))?;
        let flash = Bound::new(py, Flash::new(seen.get().geometry(py), Book::clone(&book)))?;
        Self::bind(&ftl, &flash)
    }

    fn copied(&self, py: Python<'_>) -> PyResult<Self> {
        // The FTL and the flash are copied together, because the FTL's writes refer to the flash.
        let both = deep_copy(PyTuple::new(py, [self.ftl.bind(py), self.flash.bind(py).as_any()])?.as_any())?;
        Self::bind(&both.get_item(0)?, both.get_item(1)?.cast::<Flash>()?)
    }

    fn ended(&self, py: Python<'_>, done: CommandEnd) -> PyResult<()> {
        let (flash, methods) = (self.flash.bind(py), &self.methods);
        let book = || flash.get().book();
        match done {
            CommandEnd::Written { lpn, to } => {
                book().programmed(to, lpn.get());
                methods.written.bind(py).call1((flash, lpn.get(), to.get()))
            }
            CommandEnd::Copied { lpn, from, to } => {
                book().programmed(to, lpn.get());
                methods.copied.bind(py).call1((flash, lpn.get(), from.get(), to.get()))
            }
            CommandEnd::Failed { superblock, copy } => {
                book().failed(superblock);
                methods.failed.bind(py).call1((flash, superblock.get(), copy.map(Psn::get)))
            }
            CommandEnd::Erased(block) => {
                book().erased(block, false);
                methods.erased.bind(py).call1((flash, block.get()))
            }
            CommandEnd::Retired(block) => {
                book().erased(block, true);
                methods.retired.bind(py).call1((flash, block.get()))
            }
        }
        .map(drop)
    }
}

impl Clone for PythonFtl {
    fn clone(&self) -> Self {
        Python::attach(|py| self.copied(py)).unwrap_or_else(|error| fail(error))
    }
}

impl SimpleFtl for PythonFtl {
    fn mount(drive: &SimpleDrive<'_>) -> Self {
        Python::attach(|py| Self::mounted(py, drive)).unwrap_or_else(|error| fail(error))
    }

    fn place(&self, lpn: Lpn) -> Option<Psn> {
        let ask =
            |py: Python<'_>| self.flash.get().checked(lpn.get(), &self.methods.place.bind(py).call1((lpn.get(),))?);
        Python::attach(ask).unwrap_or_else(|error| fail(error))
    }

    fn write(&mut self, flash: &mut SimpleCommands<'_, '_>, write: SimpleWrite) {
        let is_partial = write.is_partial(flash.geometry());
        let call = |py: Python<'_>| -> PyResult<()> {
            let seen = self.flash.bind(py);
            self.methods.write.bind(py).call1((seen, Write::new(seen, write, is_partial)))?;
            seen.get().give(py, flash, false)
        };
        Python::attach(call).unwrap_or_else(|error| fail(error));
    }

    fn discard(&mut self, lpn: Lpn) {
        let call = |py: Python<'_>| self.methods.discard.bind(py).call1((lpn.get(),)).map(drop);
        Python::attach(call).unwrap_or_else(|error| fail(error));
    }

    fn done(&mut self, flash: &mut SimpleCommands<'_, '_>, done: CommandEnd) {
        // After a failed program the layer gives the host's write to the FTL again.
        let follows = matches!(done, CommandEnd::Failed { copy: None, .. });
        let call = |py: Python<'_>| -> PyResult<()> {
            self.ended(py, done)?;
            self.flash.get().give(py, flash, follows)
        };
        Python::attach(call).unwrap_or_else(|error| fail(error));
    }

    /// An exception is kept and raised later: the returned number is more than any drive has, so the description is
    /// refused.
    fn spare_blocks(site: &SimpleSite<'_>) -> u32 {
        let ask = |py: Python<'_>| -> PyResult<u32> {
            let class = class_of(py, site.name)?;
            class.call_method1("spare_blocks", (Geometry::of(site.geometry), site.options.clone()))?.extract()
        };
        Python::attach(ask).unwrap_or_else(|error| {
            note(error);
            u32::MAX
        })
    }
}
