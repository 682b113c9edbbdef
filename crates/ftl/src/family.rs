//! The checks and the resolution of descriptions, which a family of FTLs does before a drive exists.

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
use crate::sabotage::PlantedBug;
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
    /// True if a host queue may write to some dies only.
    pub confines: bool,
    /// True if the drive has a write buffer.
    pub buffered: bool,
    /// The size of a write buffer whose flushes are logged; none if the drive has no such buffer.
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

/// A flash array whose description has no faults.
#[derive(Clone, Debug)]
pub struct Array {
    /// The numbers of dies, planes, blocks, pages and slots.
    pub geometry: Geometry,
    /// The array's times, controllers and command order.
    pub backend: flash::backend::Config,
    /// Chips of a gang, which act as one.
    pub gang: u32,
    /// Erases that a block endures before it may fail.
    pub endurance: u32,
    /// True if the NAND part copies pages inside a plane.
    pub copy_back: bool,
    /// Channel time of a page's spare bytes.
    pub spare_transfer: Span,
}

/// The parts of an FTL's configuration that do not come from its own keys.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The array that holds the host's data.
    pub array: Array,
    /// The SLC array beside `array`, if the device has one.
    pub slc_array: Option<Array>,
    /// The NVM sets: the dies that writes may be confined to, in ascending order. The first set is the whole array.
    pub sets: Vec<Vec<DieId>>,
    /// Mapping units the host can address.
    pub units: u32,
}

/// Pages of tables that an FTL stores in the media beside the host's data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MapImages {
    /// The number of table pages.
    pub count: u32,
    /// Entries in a table page, of four bytes each.
    pub entries: u32,
    /// Table pages that the map unit may have changed and not stored yet, at most.
    pub copies: u32,
}

/// The space in which garbage collection works once the host has written all mapping units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkingSpace {
    /// Pools of superblocks: garbage collection works in each pool separately.
    pub pools: u32,
    /// Superblocks of the smallest pool.
    pub superblocks: u32,
    /// Superblocks of the smallest pool that never fill with the host's units: the open superblocks, one to copy into,
    /// and the superblocks of tables.
    pub reserved: u32,
    /// Room for mapping units in all pools beyond the host's units and the reserved superblocks.
    pub units: u64,
}

/// The configuration of an FTL: everything that the FTL of a drive needs before it is mounted.
pub trait Config: Any + Debug + Send + Sync {
    /// Builds the FTL of a device and reads its state from the media. On a new drive the media are empty.
    fn mount(&self, from: &Mount<'_>) -> Box<dyn Ftl>;

    /// Simulated time for which a mount reads the media.
    fn scan_time(&self, media: &Media, slc_array: Option<&Media>) -> Span;

    /// Returns the configuration with a foresight; `None` if the FTL cannot use a foresight.
    fn with_foresight(&self, _: &Foresight) -> Option<Arc<dyn Config>> {
        None
    }

    /// Mapping units the host can address.
    fn units(&self) -> u32;

    /// The shape of the drive's zones; `None` if the host may write anywhere.
    fn zones(&self) -> Option<ZoneShape> {
        None
    }

    /// Bytes of RAM that a real drive would need for the FTL's tables and their caches: four for each entry.
    fn table_ram(&self) -> u64;

    /// Bytes of the simulator's memory for the FTL of a full drive.
    fn memory(&self) -> u64;

    /// Further bytes of memory that a mount of a full drive takes.
    fn memory_of_mount(&self) -> u64;

    /// The most blocks that are programmed on a new drive when requests write `units` mapping units; `None` if all
    /// blocks may be programmed.
    fn blocks_written(&self, _units: u64) -> Option<u64> {
        None
    }

    /// Tables that the FTL stores in the media.
    fn images(&self) -> MapImages {
        MapImages::default()
    }

    /// Calls `say` with each key that decides the layout on flash, and its value. A drive takes over the flash of
    /// another drive only if these keys and values agree.
    fn format(&self, say: &mut dyn FnMut(&'static str, &dyn Display));

    /// Calls `say` as [`Config::format`] does, for the layout on an SLC array. A family that keeps nothing there says
    /// nothing.
    fn slc_format(&self, _say: &mut dyn FnMut(&'static str, &dyn Display)) {}

    /// Keys and tables of a device that do not change the state in which preconditioning leaves a new drive of this
    /// family whose flash does not fail. `only_fills` is true if the preconditioning writes each mapping unit once, in
    /// the order of addresses, and nothing else.
    fn unseen_by_preconditioning(&self, _only_fills: bool) -> &'static [&'static str] {
        &[]
    }

    /// The most mapping units that a set of dies can hold while garbage collection still has room; `None` if the family
    /// confines no writes to dies.
    fn room(&self, _dies: &[DieId]) -> Option<u64> {
        None
    }

    /// The space in which garbage collection works; `None` if the family has no pools of superblocks.
    fn working_space(&self) -> Option<WorkingSpace> {
        None
    }

    /// Write amplification in the steady state under uniform random writes of whole mapping units, from a closed form;
    /// `None` if no closed form is [known](Config::no_closed_form).
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
        _planted: PlantedBug,
        _note: &mut dyn FnMut(&[Lpn], u32),
    ) -> bool {
        unreachable!("an FTL without a model of its steady state")
    }

    /// True if the FTL's command lists run one after another, so that no controller has a choice.
    fn is_serial(&self) -> bool {
        false
    }

    /// Further facts to show to the user, each with a name.
    fn notes(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }
}

impl dyn Config {
    /// The configuration as a `C`; `None` if it has another type.
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

    /// Adds the faults of this family's keys in the description of another family, where they have no effect.
    fn check_absent(&self, _site: &Site<'_>, _faults: &mut Faults) {}

    /// Adds the faults of keys that need no array.
    fn check(&self, _site: &Site<'_>, _faults: &mut Faults) {}

    /// Keys that have no effect in this family.
    fn idle(&self, _site: &Site<'_>) -> Vec<Idle> {
        Vec::new()
    }

    /// True if the family can record discards on flash.
    fn records_discards(&self) -> bool {
        false
    }

    /// True if the family writes the pages of a word line at once, so that no acknowledged page shares cells with a
    /// program in progress.
    fn writes_word_lines(&self) -> bool {
        false
    }

    /// True if copies share no block with host data, unless `ftl.gc.shared-log` is set. Copies may then go before host
    /// writes at the dies.
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

    /// The most mapping units that `dies` can hold while garbage collection still has room, if the host sees `units`;
    /// `None` if the family confines no writes to dies.
    fn room(&self, _site: &Site<'_>, _geometry: &Geometry, _units: u32, _dies: &[DieId]) -> Option<u64> {
        None
    }

    /// The dies of each reclaim group that a placement identifier can name, in ascending order; empty if placement
    /// identifiers name no reclaim groups.
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

    /// Mapping units that leave a write buffer together; `None` if the FTL does not decide this. An FTL that decides it
    /// can log flushes.
    fn superblock(&self, _site: &Site<'_>, _geometry: &Geometry) -> Option<u32> {
        None
    }

    /// The configuration of the family's FTL, for a description without faults.
    fn config(&self, site: &Site<'_>, setup: Setup) -> Arc<dyn Config>;

    /// Processor time for each command of a software controller, if the FTL's keys give it.
    fn software_controllers(&self, _ftl: &FtlSpec) -> Option<Span> {
        None
    }

    /// The times of SLC mode, if the family programs blocks in SLC mode.
    fn slc_mode(&self, _site: &Site<'_>) -> Option<SlcTiming> {
        None
    }
}
