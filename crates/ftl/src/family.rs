//! The part of a family of FTLs that runs before any drive does: it checks descriptions and resolves them.

use std::any::Any;
use std::fmt::{Debug, Display};
use std::sync::Arc;

use base::engine::Rng;
use base::fault::Faults;
use base::units::{Bytes, DieId, Lpn, SECTOR, Span};
use flash::backend::{SlcTiming, Timing};
use flash::nand::{Geometry, Media, Part};
use flash::spec::{FlashSpec, SlcSpec};

use crate::foresight::Foresight;
use crate::idle::Idle;
use crate::port::{Ftl, Mount};
use crate::sabotage::Planted;
use crate::spec::FtlSpec;
use crate::zone::ZoneShape;

/// The description of a device, as a family sees it.
#[derive(Clone, Copy, Debug)]
pub struct Site<'a> {
    /// The table `[ftl]`.
    pub ftl: &'a FtlSpec,
    /// The table `[flash]`.
    pub flash: &'a FlashSpec,
    /// The table `[slc]`.
    pub slc: Option<&'a SlcSpec>,
    /// The NAND part with the description's changes.
    pub part: &'a Part,
    /// True if a queue may write to some dies only.
    pub confines: bool,
    /// True if there is a write buffer.
    pub buffered: bool,
    /// The size of a write buffer whose flushes are logged; none if there is no such buffer.
    pub flush_log: Option<Bytes>,
}

impl Site<'_> {
    /// Mapping units that the description asks for, and the key that asks for them.
    pub(crate) fn asked_units(&self, geometry: &Geometry, faults: &mut Faults) -> Option<(&'static str, u64)> {
        let unit = u64::from(geometry.sectors) * SECTOR.get();
        match self.ftl.capacity {
            Some(capacity) if !capacity.get().is_multiple_of(unit) => {
                let message = format!("{capacity} is not a whole number of mapping units of {}", Bytes::new(unit));
                let remedy = format!("use a multiple of {}, e.g. {}B", Bytes::new(unit), capacity.get() / unit * unit);
                faults.add("ftl.capacity", message, remedy);
                None
            }
            Some(capacity) => Some(("ftl.capacity", capacity.get() / unit)),
            None => {
                let share = 1.0 - self.ftl.over_provisioning().get();
                let units = (f64::from(geometry.slot_count()) * share.max(0.0)).floor() as u64;
                Some(("ftl.over-provisioning", units))
            }
        }
    }
}

/// A flash array that can be built.
#[derive(Clone, Debug)]
pub struct Array {
    /// Its shape.
    pub geometry: Geometry,
    /// Its times, controllers and command order.
    pub backend: flash::backend::Config,
    /// Chips of a gang, which act as one.
    pub gang: u32,
    /// Erases that a block endures.
    pub endurance: u32,
    /// True if its part copies pages inside a plane.
    pub copy_back: bool,
    /// Channel time of a page's spare bytes.
    pub spare_transfer: Span,
}

/// All parts of an FTL's configuration beside its own keys.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The flash array.
    pub array: Array,
    /// The SLC array beside it, if the device has one.
    pub slc_array: Option<Array>,
    /// The NVM sets: the dies that writes may be confined to, in ascending order. The first set is the whole array.
    pub sets: Vec<Vec<DieId>>,
    /// Mapping units the host can address.
    pub units: u32,
}

/// Images in the media beside the data: the pages in which an FTL stores tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MapImages {
    /// The number of pages.
    pub count: u32,
    /// Entries of four bytes in each.
    pub entries: u32,
    /// How many of them the map unit may have changed and not stored yet.
    pub copies: u32,
}

/// The space that garbage collection has to work with, once the drive holds all its units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkingSpace {
    /// Pools of superblocks: garbage collection works in each by itself.
    pub pools: u32,
    /// Superblocks of the smallest pool.
    pub superblocks: u32,
    /// Those that it never fills with the host's units: open ones, one to copy into, and those of tables.
    pub reserved: u32,
    /// Mapping units of all pools that hold neither what the host sees nor what is reserved.
    pub units: u64,
}

/// The configuration of an FTL.
pub trait Config: Any + Debug + Send + Sync {
    /// Builds the FTL of a device and reads its state from the media. On a new drive the media are empty.
    fn mount(&self, from: &Mount<'_>) -> Box<dyn Ftl>;

    /// The time that this reading takes.
    fn scan_time(&self, media: &Media, slc_array: Option<&Media>) -> Span;

    /// The same configuration with a foresight; `None` if the FTL makes nothing of it.
    fn with_foresight(&self, _: &Foresight) -> Option<Arc<dyn Config>> {
        None
    }

    /// Mapping units the host can address.
    fn units(&self) -> u32;

    /// The shape of its zones; `None` if the host may write anywhere.
    fn zones(&self) -> Option<ZoneShape> {
        None
    }

    /// Bytes of RAM that a real drive would need for its tables and their caches: four for each entry.
    fn table_ram(&self) -> u64;

    /// Bytes of the simulator's memory for the FTL of a full drive.
    fn memory(&self) -> u64;

    /// Further bytes of memory that a mount of a full drive takes.
    fn memory_of_mount(&self) -> u64;

    /// The most blocks that are programmed on a new drive when requests write so many mapping units; `None` if that may be
    /// all.
    fn blocks_written(&self, _units: u64) -> Option<u64> {
        None
    }

    /// Tables that the FTL stores in the media.
    fn images(&self) -> MapImages {
        MapImages::default()
    }

    /// Calls `say` with each key that decides the layout on flash, and its value. A drive takes over the flash of
    /// another only if these agree.
    fn format(&self, say: &mut dyn FnMut(&'static str, &dyn Display));

    /// The same for the layout on an SLC array, if it holds anything.
    fn slc_format(&self, _say: &mut dyn FnMut(&'static str, &dyn Display)) {}

    /// Keys and tables of a device that decide nothing of what preconditioning leaves on a new drive of this family whose
    /// flash does not fail. `only_fills` tells that it writes each mapping unit once, in the order of addresses, and no more.
    fn unseen_by_preconditioning(&self, _only_fills: bool) -> &'static [&'static str] {
        &[]
    }

    /// The most mapping units that a set of dies holds while garbage collection still has room; `None` if the family
    /// confines no writes to dies.
    fn room(&self, _dies: &[DieId]) -> Option<u64> {
        None
    }

    /// The space that garbage collection has to work with; `None` if the family has no such pools.
    fn working_space(&self) -> Option<WorkingSpace> {
        None
    }

    /// Write amplification in the steady state under uniform random writes of whole mapping units, from a closed form;
    /// `None` if none is [known](Config::no_closed_form).
    fn expected_write_amplification(&self) -> Option<f64> {
        None
    }

    /// The reason why no closed form of the write amplification is known for this drive.
    fn no_closed_form(&self) -> Option<&'static str> {
        self.no_steady_state()
    }

    /// The reason why the steady state of this FTL under uniform random writes cannot be computed; `None` if
    /// [`Config::lay_out_steady`] computes it.
    fn no_steady_state(&self) -> Option<&'static str> {
        Some("only the page-mapped FTL has a model of its steady state")
    }

    /// Programs an empty array as uniform random writes of whole mapping units would leave it. `note` receives the units
    /// and the version of each program, without the copies that are no longer valid. Returns false, and programs nothing,
    /// if so many blocks are bad that the units have no room.
    ///
    /// # Panics
    /// If there is [no model](Config::no_steady_state), or the array is not empty.
    fn lay_out_steady(
        &self,
        _media: &mut Media,
        _rng: &mut Rng,
        _planted: Planted,
        _note: &mut dyn FnMut(&[Lpn], u32),
    ) -> bool {
        unreachable!("an FTL without a model of its steady state")
    }

    /// True if its lists run one after another, so that no controller has a choice.
    fn is_serial(&self) -> bool {
        false
    }

    /// Further facts to show to the user, each with a name.
    fn notes(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }
}

impl dyn Config {
    /// The configuration, if it is a `C`.
    #[must_use]
    pub fn downcast_ref<C: Config>(&self) -> Option<&C> {
        (self as &dyn Any).downcast_ref()
    }
}

/// A family of FTLs, which interprets its keys and checks descriptions. It has no state.
pub trait Family: Send + Sync {
    /// Tables `[ftl]` that together give each of the family's own keys another value, the plainest first. The
    /// conformance suite, the swarm and the tests of keys and memory apply them to arrays whose mapping units are
    /// pages. Empty if the tests have devices made for the family.
    fn samples(&self) -> Vec<FtlSpec> {
        Vec::new()
    }

    /// Adds the faults of its own keys in the description of another family.
    fn check_absent(&self, _site: &Site<'_>, _faults: &mut Faults) {}

    /// Adds the faults of keys that need no array.
    fn check(&self, _site: &Site<'_>, _faults: &mut Faults) {}

    /// Keys that have no effect in this family.
    fn idle(&self, _site: &Site<'_>) -> Vec<Idle> {
        Vec::new()
    }

    /// True if it can record discards on flash.
    fn records_discards(&self) -> bool {
        false
    }

    /// True if it writes the pages of a word line at once, so that none that it has acknowledged shares cells with a
    /// program in progress.
    fn writes_word_lines(&self) -> bool {
        false
    }

    /// True if copies never share a block with host data, but for `ftl.gc.shared-log`. Then copies may go before host writes at the
    /// dies.
    fn separates_copies(&self) -> bool {
        false
    }

    /// True if all data that moves passes the decoders, so that reads may have errors.
    fn corrects_reads(&self) -> bool {
        false
    }

    /// The flash array as this family sees it.
    fn geometry(&self, site: &Site<'_>, faults: &mut Faults) -> Option<Geometry>;

    /// Mapping units that the host sees.
    fn units(&self, site: &Site<'_>, geometry: &Geometry, faults: &mut Faults) -> Option<u32>;

    /// The most mapping units that some dies hold while garbage collection still has room, if the host sees `units`;
    /// `None` if the family confines no writes to dies.
    fn room(&self, _site: &Site<'_>, _geometry: &Geometry, _units: u32, _dies: &[DieId]) -> Option<u64> {
        None
    }

    /// The dies of each reclaim group that a placement identifier can name, in ascending order; empty if it names none.
    fn reclaim_groups(&self, _site: &Site<'_>, _geometry: &Geometry) -> Vec<Vec<DieId>> {
        Vec::new()
    }

    /// Adds the faults of keys on an array with `sets` NVM sets.
    fn check_array(
        &self,
        _site: &Site<'_>,
        _geometry: &Geometry,
        _timing: &Timing,
        _sets: usize,
        _faults: &mut Faults,
    ) {
    }

    /// Mapping units that leave a write buffer together, if the FTL decides this. Such an FTL can log flushes.
    fn superblock(&self, _site: &Site<'_>, _geometry: &Geometry) -> Option<u32> {
        None
    }

    /// The configuration of its FTL, for a description without faults.
    fn config(&self, site: &Site<'_>, setup: Setup) -> Arc<dyn Config>;

    /// Processor time for each command of a software controller, if the FTL's keys give it.
    fn software_controllers(&self, _ftl: &FtlSpec) -> Option<Span> {
        None
    }

    /// SLC mode, if the family uses it.
    fn slc_mode(&self, _site: &Site<'_>) -> Option<SlcTiming> {
        None
    }
}
