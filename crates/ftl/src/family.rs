//! What a family of FTLs knows before any drive runs: which descriptions it takes, and what they come to.

use std::fmt::{Debug, Display};

use base::fault::Faults;
use base::units::{Bytes, DieId, SECTOR, Span};
use flash::backend::{ModeTimes, Timing};
use flash::nand::{Geometry, Part};
use flash::spec::{FlashSpec, SlcSpec};

use crate::idle::Idle;
use crate::spec::FtlSpec;

/// What a family is told of the device that a file describes.
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
    /// True if a queue's writes are confined to some dies.
    pub confines: bool,
    /// The size of a write buffer whose flushes are logged; none if there is no such buffer.
    pub flush_log: Option<Bytes>,
}

impl Site<'_> {
    /// Mapping units that the host would see, and the key that says so.
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
                let share = 1.0 - self.ftl.over_provisioning.get();
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
    /// Its times, controllers and order.
    pub backend: flash::backend::Config,
    /// Chips that act as one.
    pub gang: u32,
    /// Erases that a block endures.
    pub endurance: u32,
    /// Whether its part copies pages inside a plane.
    pub copy_back: bool,
    /// Channel time of a page's spare bytes.
    pub spare_transfer: Span,
}

/// All that the configuration of an FTL is made from, beside its own keys.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The flash array.
    pub array: Array,
    /// The small one beside it, if there is one.
    pub slc_array: Option<Array>,
    /// The NVM sets: dies that somebody's writes are confined to, in ascending order. The first is the whole array.
    pub sets: Vec<Vec<DieId>>,
    /// Mapping units the host can address.
    pub units: u32,
}

/// Images in the media beside the data: pages that an FTL keeps tables in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MapImages {
    /// How many there are.
    pub count: u32,
    /// Entries of four bytes in each.
    pub entries: u32,
}

/// What an FTL is built from.
pub trait Config: Clone + Debug {
    /// Mapping units the host can address.
    fn units(&self) -> u32;

    /// Bytes of RAM that a real drive would need for its tables, caches of them included: four for each entry.
    fn table_ram(&self) -> u64;

    /// Bytes that the simulator takes for the FTL, with everything written.
    fn memory(&self) -> u64;

    /// Bytes that a mount of what has been written takes besides.
    fn memory_of_mount(&self) -> u64;

    /// Tables that are kept in the media.
    fn images(&self) -> MapImages {
        MapImages::default()
    }

    /// The keys that decide what is where on flash, and their values: a drive takes over the flash of another only if they
    /// agree.
    fn format(&self, say: &mut dyn FnMut(&'static str, &dyn Display));

    /// Mapping units that a set of dies holds at most without garbage collection running out of room; any number if the
    /// family confines nobody to dies.
    fn room(&self, _dies: &[DieId]) -> Option<u64> {
        None
    }

    /// True if its lists are carried out one after another, and no controller has a choice.
    fn is_serial(&self) -> bool {
        false
    }

    /// What else there is to know of it, each with a name.
    fn notes(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }
}

/// A family: what its keys mean and which descriptions it takes. It has no state.
pub trait Family: Sync {
    /// Tables `[ftl]` between which all its own keys have other values, the plainest first: the conformance suite, the swarm
    /// and the tests of keys and memory apply them to arrays whose mapping units are pages. None if the tests have devices
    /// made for it.
    fn samples(&self) -> Vec<FtlSpec> {
        Vec::new()
    }

    /// Faults of its own keys in the description of another family.
    fn check_absent(&self, _site: &Site<'_>, _faults: &mut Faults) {}

    /// Faults of keys, before there is an array.
    fn check(&self, _site: &Site<'_>, _faults: &mut Faults) {}

    /// Keys that have no effect under it.
    fn idle(&self, _site: &Site<'_>) -> Vec<Idle> {
        Vec::new()
    }

    /// The flash array as it sees it.
    fn geometry(&self, site: &Site<'_>, faults: &mut Faults) -> Option<Geometry>;

    /// Mapping units the host sees.
    fn units(&self, site: &Site<'_>, geometry: &Geometry, faults: &mut Faults) -> Option<u32>;

    /// Mapping units that some dies hold at most without garbage collection running out of room, where the host sees so
    /// many; any number if the family confines nobody to dies.
    fn room(&self, _ftl: &FtlSpec, _geometry: &Geometry, _units: u32, _dies: &[DieId]) -> Option<u64> {
        None
    }

    /// Faults of keys on an array with so many NVM sets.
    fn check_array(
        &self,
        _site: &Site<'_>,
        _geometry: &Geometry,
        _timing: &Timing,
        _sets: usize,
        _faults: &mut Faults,
    ) {
    }

    /// Mapping units that leave a write buffer together, if it is for the FTL to say. Such an FTL can log flushes.
    fn superblock(&self, _site: &Site<'_>, _geometry: &Geometry) -> Option<u32> {
        None
    }

    /// Time of the processor for each command of a software controller, if the FTL's keys say so.
    fn software_controllers(&self, _ftl: &FtlSpec) -> Option<Span> {
        None
    }

    /// The times of pages in SLC mode, if it uses that mode.
    fn slc_mode(&self, _ftl: &FtlSpec) -> Option<ModeTimes> {
        None
    }
}
