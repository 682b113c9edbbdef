//! The commands that an FTL in Python gives.
//!
//! A reference to the simulator's flash cannot outlive a call, and an object in Python can. So [`Flash`] keeps the commands that a
//! method gives until the method returns, and a [`Book`] that answers its questions meanwhile.

use std::mem::take;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use flashloom::ftl::simple::{SimpleCommands, SimpleWrite};
use flashloom::units::{Psn, SuperblockId};
use pyo3::exceptions::PyRuntimeError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::book::Book;
use super::drive::Geometry;
use super::rule::Rule;

/// A command that the FTL gives during a method call, and that the drive gets when the method has returned.
#[derive(Clone, Debug)]
enum FlashCommand {
    Program { write: SimpleWrite, page: Psn, old: Option<Psn> },
    Copy { unit: u32, source: Psn, page: Psn },
    Erase(SuperblockId),
    Refuse(SimpleWrite),
}

/// Counts of the writes that an FTL has got and not used.
#[derive(Debug, Default)]
pub(super) struct WriteTally {
    /// The number of writes that are neither programmed nor refused yet.
    kept: AtomicU32,
    /// The number of writes that were deleted without a program or a refusal.
    forgotten: AtomicU32,
}

/// The flash of the drive, with methods to program, copy and erase.
#[pyclass(module = "flashloom.ftl", frozen)]
#[derive(Debug)]
pub(crate) struct Flash {
    /// The shape of the flash.
    #[pyo3(get)]
    geometry: Py<Geometry>,
    book: Mutex<Book>,
    commands: Mutex<Vec<FlashCommand>>,
    tally: Arc<WriteTally>,
    /// The method `place` of the FTL; `None` until the FTL is mounted.
    place: Mutex<Option<Py<PyAny>>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Flash {
    pub(super) fn new(geometry: Py<Geometry>, book: Book) -> Self {
        Self {
            geometry,
            book: Mutex::new(book),
            commands: Mutex::default(),
            tally: Arc::default(),
            place: Mutex::default(),
        }
    }

    pub(super) fn set_place(&self, place: Py<PyAny>) {
        *locked(&self.place) = Some(place);
    }

    pub(super) fn book(&self) -> MutexGuard<'_, Book> {
        locked(&self.book)
    }

    /// Asks the FTL for the place of a mapping unit, and checks the answer.
    pub(super) fn ask(&self, py: Python<'_>, unit: u32) -> PyResult<Option<Psn>> {
        let place = locked(&self.place).as_ref().map(|place| place.clone_ref(py));
        let place = place.ok_or_else(|| PyRuntimeError::new_err("the FTL is not mounted"))?;
        self.checked(unit, &place.bind(py).call1((unit,))?)
    }

    /// Checks the place that the FTL has returned for a mapping unit.
    pub(super) fn checked(&self, unit: u32, returned: &Bound<'_, PyAny>) -> PyResult<Option<Psn>> {
        if returned.is_none() {
            return Ok(None);
        }
        let Ok(page) = returned.extract::<u32>() else {
            let returned = returned.repr()?.to_string();
            return Err(Rule::NoPlace { unit, returned }.into());
        };
        self.book().check_place(unit, page)?;
        Ok(Some(Psn::new(page)))
    }

    /// Gives the commands of a method that has returned. `follows` is true if the layer will give a failed write to the
    /// FTL again.
    pub(super) fn give(&self, py: Python<'_>, flash: &mut SimpleCommands<'_, '_>, follows: bool) -> PyResult<()> {
        let writes = self.tally.forgotten.load(Ordering::Relaxed);
        if writes > 0 {
            return Err(Rule::Forgotten { writes }.into());
        }
        let writes = self.tally.kept.load(Ordering::Relaxed);
        if writes > 0 && !follows && self.book().under_way() == 0 {
            return Err(Rule::Stuck { writes }.into());
        }
        let mut commands = take(&mut *locked(&self.commands));
        for command in commands.drain(..) {
            match command {
                FlashCommand::Program { write, page, old } => {
                    // The map must still have the old place. This call checks it, even if nobody asks for the mapping
                    // unit before the program ends.
                    self.ask(py, write.lpn().get())?;
                    flash.program(write, page, old);
                }
                FlashCommand::Copy { unit, source, page } => {
                    self.ask(py, unit)?;
                    flash.copy(source, page);
                }
                FlashCommand::Erase(block) => flash.erase(block),
                FlashCommand::Refuse(write) => flash.refuse(write),
            }
        }
        // The empty vector is put back, so that its memory is reused.
        *locked(&self.commands) = commands;
        Ok(())
    }
}

#[pymethods]
impl Flash {
    /// Programs a write of the host into a page of an erased or open block; a call of `written` follows. For a partial
    /// write the layer reads the other sectors from `place(write.unit)`.
    fn program(&self, py: Python<'_>, write: &Bound<'_, Write>, page: u32) -> PyResult<()> {
        let write = write.get();
        // No lock is held while `place` runs, because it may call methods of this object.
        let Some(unused) = locked(&write.write).clone() else { return Err(Rule::Used { unit: write.unit }.into()) };
        let old = if unused.is_partial { self.ask(py, write.unit)? } else { None };
        self.book().program(page)?;
        let Some(UnusedWrite { write, .. }) = locked(&write.write).take() else { return Ok(()) };
        self.tally.kept.fetch_sub(1, Ordering::Relaxed);
        locked(&self.commands).push(FlashCommand::Program { write, page: Psn::new(page), old });
        Ok(())
    }

    /// Copies a page to a page of an erased or open block; a call of `copied` follows.
    fn copy(&self, source: u32, page: u32) -> PyResult<()> {
        let mut book = self.book();
        let Some(unit) = book.unit(source)? else { return Err(Rule::Empty { page: source }.into()) };
        book.program(page)?;
        locked(&self.commands).push(FlashCommand::Copy { unit, source: Psn::new(source), page: Psn::new(page) });
        Ok(())
    }

    /// Erases a block without needed data, as soon as no read of the block is in progress; a call of `erased` or
    /// `retired` follows.
    fn erase(&self, py: Python<'_>, block: u32) -> PyResult<()> {
        self.book().check_erase(block)?;
        let held = self.book().held(block)?;
        for (page, unit) in held {
            let place = locked(&self.place).as_ref().map(|place| place.clone_ref(py));
            let place = place.map(|place| place.bind(py).call1((unit,))).transpose()?;
            if place.is_some_and(|place| place.extract::<u32>().is_ok_and(|place| place == page)) {
                return Err(Rule::Lost { block, page, unit }.into());
            }
        }
        self.book().erase(block);
        locked(&self.commands).push(FlashCommand::Erase(SuperblockId::new(block)));
        Ok(())
    }

    /// Refuses a write, because the drive has no room left.
    fn refuse(&self, write: &Bound<'_, Write>) -> PyResult<()> {
        let write = write.get();
        let Some(UnusedWrite { write, .. }) = locked(&write.write).take() else {
            return Err(Rule::Used { unit: write.unit }.into());
        };
        self.tally.kept.fetch_sub(1, Ordering::Relaxed);
        locked(&self.commands).push(FlashCommand::Refuse(write));
        Ok(())
    }

    /// The number of programs and erases that have not ended, of all blocks.
    #[getter]
    fn under_way(&self) -> u32 {
        self.book().under_way()
    }

    /// Returns the number of programs of a block that have not ended. The block can be erased only when it is 0.
    fn programs(&self, block: u32) -> Result<u32, Rule> {
        self.book().programs(block)
    }

    /// Returns the number of program/erase cycles of a block.
    fn erases(&self, block: u32) -> Result<u32, Rule> {
        self.book().erases(block)
    }

    /// Returns the first page behind all programmed pages of a block, counted in the block; `None` if the block takes
    /// no more.
    fn next_page(&self, block: u32) -> Result<Option<u32>, Rule> {
        self.book().next_page(block)
    }

    /// Returns the mapping unit that a page holds; `None` if the page holds no data, or its program has not ended.
    fn unit(&self, page: u32) -> Result<Option<u32>, Rule> {
        self.book().unit(page)
    }

    /// Returns the pages of a block to which a map points, in order: `map[unit]` is the page of a mapping unit, or
    /// `None`.
    fn valid_pages(&self, block: u32, map: &Bound<'_, PyAny>) -> PyResult<Vec<u32>> {
        let held = self.book().held(block)?;
        let is_valid = |(page, unit): (u32, u32)| -> PyResult<Option<u32>> {
            let place = map.get_item(unit)?;
            Ok(Some(page).filter(|page| place.extract::<u32>().is_ok_and(|place| place == *page)))
        };
        held.into_iter().map(is_valid).filter_map(Result::transpose).collect()
    }

    /// Copies the flash for a copy of the drive; its FTL is bound later.
    fn __deepcopy__(&self, py: Python<'_>, _memo: &Bound<'_, PyDict>) -> Self {
        Self {
            geometry: self.geometry.clone_ref(py),
            book: Mutex::new(self.book().clone()),
            commands: Mutex::new(locked(&self.commands).clone()),
            tally: Arc::default(),
            place: Mutex::default(),
        }
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.place.try_lock().map_or(Ok(()), |place| place.as_ref().map_or(Ok(()), |place| visit.call(place)))
    }

    fn __clear__(&self) {
        locked(&self.place).take();
    }

    fn __repr__(&self) -> String {
        format!("flashloom.ftl.Flash({} commands under way)", self.under_way())
    }
}

/// A write that is neither programmed nor refused yet.
#[derive(Clone, Debug)]
struct UnusedWrite {
    write: SimpleWrite,
    is_partial: bool,
}

/// A mapping unit that the host writes, or sectors of it. An FTL programs or refuses each write once.
#[pyclass(module = "flashloom.ftl", frozen)]
#[derive(Debug)]
pub(crate) struct Write {
    /// Number of the mapping unit.
    #[pyo3(get)]
    unit: u32,
    write: Mutex<Option<UnusedWrite>>,
    flash: Mutex<Option<Py<Flash>>>,
    tally: Arc<WriteTally>,
}

impl Write {
    /// Creates a write for the FTL of this flash.
    pub(super) fn new(flash: &Bound<'_, Flash>, write: SimpleWrite, is_partial: bool) -> Self {
        let unused = UnusedWrite { write, is_partial };
        Self::of(flash, unused.write.lpn().get(), Some(unused))
    }

    fn of(flash: &Bound<'_, Flash>, unit: u32, unused: Option<UnusedWrite>) -> Self {
        let tally = Arc::clone(&flash.get().tally);
        tally.kept.fetch_add(u32::from(unused.is_some()), Ordering::Relaxed);
        Self { unit, write: Mutex::new(unused), flash: Mutex::new(Some(flash.clone().unbind())), tally }
    }
}

impl Drop for Write {
    fn drop(&mut self) {
        if locked(&self.write).is_some() {
            self.tally.kept.fetch_sub(1, Ordering::Relaxed);
            self.tally.forgotten.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[pymethods]
impl Write {
    /// True if the write leaves out sectors of the mapping unit.
    #[getter]
    fn partial(&self) -> bool {
        locked(&self.write).as_ref().is_some_and(|write| write.is_partial)
    }

    /// Returns the write for a copy of the drive.
    fn __deepcopy__(&self, py: Python<'_>, memo: &Bound<'_, PyDict>) -> PyResult<Self> {
        let flash = locked(&self.flash).as_ref().map(|flash| flash.clone_ref(py));
        let flash = flash.ok_or_else(|| PyRuntimeError::new_err("the write is no drive's any more"))?;
        let copy = py.import("copy")?.call_method1("deepcopy", (flash, memo))?;
        Ok(Self::of(copy.cast::<Flash>()?, self.unit, locked(&self.write).clone()))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.flash.try_lock().map_or(Ok(()), |flash| flash.as_ref().map_or(Ok(()), |flash| visit.call(flash)))
    }

    fn __clear__(&self) {
        locked(&self.flash).take();
    }

    fn __repr__(&self) -> String {
        format!("flashloom.ftl.Write(unit {})", self.unit)
    }
}
