//! The shape of the flash and the drive, as an FTL in Python sees them when it is mounted.

use std::collections::BTreeMap;
use std::sync::Arc;

use flash::nand::Spare;
use flashloom::ftl::simple::SimpleDrive;
use flashloom::units::Psn;
use pyo3::prelude::*;

use super::book::Book;
use super::rule::Rule;

/// The shape of the flash.
///
/// Blocks and pages are numbered from 0 on: block `b` has the pages `b * pages` to `(b + 1) * pages - 1`, and die `d`
/// has the blocks `d * die_blocks` to `(d + 1) * die_blocks - 1`.
#[pyclass(module = "flashloom.ftl", frozen, get_all)]
#[derive(Debug)]
pub(crate) struct Geometry {
    /// The number of pages of a block.
    pages: u32,
    /// The number of blocks of the flash, broken ones included.
    blocks: u32,
    /// The number of dies, over all channels.
    dies: u32,
    /// The number of blocks of each die, broken blocks included.
    die_blocks: u32,
    /// The number of bytes of a page, which is a mapping unit.
    page_bytes: u64,
}

impl Geometry {
    pub(super) fn of(geometry: &flash::nand::Geometry) -> Self {
        let (blocks, dies) = (geometry.superblock_count(), geometry.die_count());
        let page_bytes = u64::from(geometry.sectors) * base::units::SECTOR.get();
        Self { pages: geometry.superblock_slots(), blocks, dies, die_blocks: blocks / dies, page_bytes }
    }
}

#[pymethods]
impl Geometry {
    fn __copy__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __deepcopy__(this: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        this
    }

    fn __repr__(&self) -> String {
        let Self { pages, blocks, dies, page_bytes, .. } = self;
        format!("flashloom.ftl.Geometry({dies} dies, {blocks} blocks of {pages} pages of {page_bytes} bytes)")
    }
}

/// A drive that an FTL mounts, after its flash is read.
#[pyclass(module = "flashloom.ftl", frozen)]
#[derive(Debug)]
pub(crate) struct Drive {
    /// The number of mapping units that the host can address.
    #[pyo3(get)]
    units: u32,
    /// The shape of the flash.
    #[pyo3(get)]
    geometry: Py<Geometry>,
    /// The numbers of `ftl.options` in the description.
    #[pyo3(get)]
    options: BTreeMap<String, f64>,
    book: Arc<Book>,
    newest: Vec<Option<u32>>,
    versions: Vec<u32>,
}

impl Drive {
    pub(super) fn of(py: Python<'_>, drive: &SimpleDrive<'_>, book: Arc<Book>) -> PyResult<Self> {
        let version = |psn| match drive.spare(psn) {
            Spare::Data { version, .. } => version,
            _ => 0,
        };
        Ok(Self {
            units: drive.units,
            geometry: Py::new(py, Geometry::of(drive.geometry))?,
            options: drive.options.clone(),
            newest: drive.newest().into_iter().map(|psn| psn.map(Psn::get)).collect(),
            versions: (0..drive.geometry.slot_count()).map(Psn::new).map(version).collect(),
            book,
        })
    }

    pub(super) fn geometry(&self, py: Python<'_>) -> Py<Geometry> {
        self.geometry.clone_ref(py)
    }
}

#[pymethods]
impl Drive {
    /// Returns the blocks of the flash that are not broken.
    fn blocks(&self) -> Vec<u32> {
        self.book.blocks().collect()
    }

    /// Returns true if no page of a block has been programmed since its erase.
    fn is_erased(&self, block: u32) -> Result<bool, Rule> {
        self.book.is_erased(block)
    }

    /// Returns the first page behind all programmed pages of a block, counted in the block; `None` if the block takes
    /// no more.
    fn next_page(&self, block: u32) -> Result<Option<u32>, Rule> {
        self.book.next_page(block)
    }

    /// Returns the number of program/erase cycles of a block.
    fn erases(&self, block: u32) -> Result<u32, Rule> {
        self.book.erases(block)
    }

    /// Returns the mapping unit that a page holds, and the version of its write; `None` if the page holds no data.
    fn spare(&self, page: u32) -> Result<Option<(u32, u32)>, Rule> {
        Ok(self.book.unit(page)?.map(|unit| (unit, self.versions[page as usize])))
    }

    /// Returns the page with the newest copy of each mapping unit, `None` for one that is not on flash: the page map as
    /// it was before the power went off.
    fn newest(&self) -> Vec<Option<u32>> {
        self.newest.clone()
    }

    /// Returns a number of `ftl.options`, or a default.
    fn option(&self, name: &str, default: f64) -> f64 {
        self.options.get(name).copied().unwrap_or(default)
    }

    fn __repr__(&self) -> String {
        format!("flashloom.ftl.Drive({} units)", self.units)
    }
}
