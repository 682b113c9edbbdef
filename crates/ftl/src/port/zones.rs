//! The commands of a drive with zones, except reads and the writes that have been admitted.

use base::units::Lpn;

use super::{Flash, Owner};
use crate::zone::{ZoneAction, ZoneError, ZoneState};

/// A write or an append that asks for admission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneWrite {
    /// The first mapping unit of a write; the first of the zone for an append.
    pub first: Lpn,
    /// The number of mapping units of the zone.
    pub units: u32,
    /// True for an append: the drive chooses the address.
    pub is_append: bool,
}

/// A zone's state and write pointer, as the drive reports them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneReport {
    /// The state of the zone state machine.
    pub state: ZoneState,
    /// The write pointer; behind the capacity in a full zone.
    pub write_pointer: Lpn,
}

/// The zones of an FTL.
pub trait Zones {
    /// Admits a write or an append: checks it against the state and the write pointer of its zone, and moves the write
    /// pointer. Returns the first mapping unit to write. The device then calls [`Ftl::write`](super::Ftl::write) with
    /// each mapping unit, in the order of admission.
    ///
    /// # Errors
    ///
    /// The status with which the drive refuses the write. Nothing has changed then.
    fn admit(&mut self, write: ZoneWrite) -> Result<Lpn, ZoneError>;

    /// Checks that the zones of a read are readable.
    ///
    /// # Errors
    ///
    /// The status with which the drive refuses the read.
    fn check_read(&self, first: Lpn, end: Lpn) -> Result<(), ZoneError>;

    /// Carries out a management action of an owner on the zone that begins at a mapping unit. A flush of a random write
    /// area names the last mapping unit of the range instead. Returns true if
    /// [`Owners::zone_done`](super::Owners::zone_done) or [`Owners::zone_refused`](super::Owners::zone_refused) will
    /// report its end.
    ///
    /// # Errors
    ///
    /// The status with which the drive refuses the action. Nothing has changed then.
    fn manage(&mut self, flash: &mut Flash<'_>, zone: (Owner, Lpn), action: ZoneAction) -> Result<bool, ZoneError>;
}
