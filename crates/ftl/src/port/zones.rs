//! The commands of a drive with zones, beside reads and the writes that have been admitted.

use base::units::Lpn;

use super::{Flash, Owner};
use crate::zone::{ZoneAction, ZoneError, ZoneState};

/// A write or an append that asks for admission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneWrite {
    /// The first mapping unit of a write; the first of the zone for an append.
    pub first: Lpn,
    /// Its mapping units.
    pub units: u32,
    /// True for an append: the drive chooses the address.
    pub is_append: bool,
}

/// A zone, as the drive reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneReport {
    /// The state.
    pub state: ZoneState,
    /// The write pointer; that of a full zone is behind its capacity.
    pub write_pointer: Lpn,
}

/// The zones of an FTL that has them.
pub trait Zones {
    /// Admits a write or an append: checks it against the state and the write pointer of its zone, and moves the write pointer.
    /// Returns the first mapping unit to write. [`Ftl::write`](super::Ftl::write) with each of them follows, in the order of
    /// admission.
    ///
    /// # Errors
    /// The status with which the drive refuses the write. Nothing has changed then.
    fn admit(&mut self, write: ZoneWrite) -> Result<Lpn, ZoneError>;

    /// Checks that the zones of a read can be read.
    ///
    /// # Errors
    /// The status with which the drive refuses the read.
    fn check_read(&self, first: Lpn, end: Lpn) -> Result<(), ZoneError>;

    /// Carries out a management action of an owner on the zone that begins at a mapping unit; a flush of a random write area names
    /// the last mapping unit of the range instead. True if its end follows by
    /// [`Owners::zone_done`](super::Owners::zone_done) or [`Owners::zone_refused`](super::Owners::zone_refused).
    ///
    /// # Errors
    /// The status with which the drive refuses the action. Nothing has changed then.
    fn manage(&mut self, flash: &mut Flash<'_>, zone: (Owner, Lpn), action: ZoneAction) -> Result<bool, ZoneError>;
}
