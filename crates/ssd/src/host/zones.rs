//! Requests to zones: their extents, their admission, and the actions on whole zones.
//!
//! An append and an action have a whole zone as their extent, so the device carries them out in order with all other requests that
//! change the zone. Appends to one zone need no order among themselves.

use base::engine::Handle;
use base::io::{Io, IoKind};
use base::units::{Lba, Lpn};
use flash::nand::Sector;
use ftl::{ZoneAction, ZoneError, ZoneReport, ZoneShape, ZoneWrite, Zones};

use super::clients::{Active, Clients};
use super::overlap::Extent;
use super::request::Status;
use super::serve::LAST_VERSION;
use crate::Ssd;

impl<S: Sector> Ssd<S> {
    /// The state and the write pointer of the zone of a sector; `None` if the drive has no zones.
    #[must_use]
    pub fn zone_report(&self, sector: Lba) -> Option<ZoneReport> {
        self.ftl.zone_report(Lpn::new(self.resolved.geometry.unit_of(sector.get()) as u32))
    }

    /// The mapping units of a request.
    #[inline]
    pub(super) fn extent_of(&self, io: &Io) -> Extent {
        let geometry = &self.resolved.geometry;
        let first = geometry.unit_of(io.start.get()) as u32;
        match self.resolved.zones {
            Some(shape) if io.kind.is_of_zones() => {
                let first = first / shape.size * shape.size;
                Extent::new(io.kind, first, first + shape.size)
            }
            _ => {
                let end = if io.sectors.is_zero() { first } else { geometry.unit_of(io.end().get() - 1) as u32 + 1 };
                Extent::new(io.kind, first, end)
            }
        }
    }

    /// The status with which a drive with zones refuses a request before it works on it, or one without zones a command of zones.
    #[inline(never)]
    pub(super) fn refusal_of_zones(&mut self, io: &Io) -> Option<Status> {
        if self.resolved.zones.is_none() || io.kind == IoKind::Discard {
            return Some(Status::InvalidOpcode);
        }
        if io.start.get() >= self.resolved.capacity().get() && io.kind.is_of_zones() {
            return Some(Status::OutOfRange);
        }
        if io.kind != IoKind::Read {
            return None;
        }
        let Extent { first, end, .. } = self.extent_of(io);
        self.zones().check_read(Lpn::new(first), Lpn::new(end)).err().map(Status::from)
    }

    fn zones(&mut self) -> &mut dyn Zones {
        self.ftl.zones().expect("the FTL of a drive with zones has zones")
    }

    /// The mapping units that a write or an append has to write, if the drive admits it; otherwise the request ends here.
    #[inline]
    pub(super) fn admitted(&mut self, handle: Handle<Active<S>>) -> Option<Extent> {
        match self.resolved.zones {
            None => Some(self.clients.requests[handle].extent),
            Some(shape) => self.admit_to_zone(handle, shape),
        }
    }

    /// Asks the FTL to admit a write. An append gets its address here.
    fn admit_to_zone(&mut self, handle: Handle<Active<S>>, shape: ZoneShape) -> Option<Extent> {
        let io = self.clients.requests[handle].io;
        let sectors = u64::from(self.resolved.geometry.sectors);
        let first = self.resolved.geometry.unit_of(io.start.get()) as u32;
        let units = io.sectors.get().div_ceil(sectors);
        let is_whole = io.start.get().is_multiple_of(sectors) && io.sectors.get().is_multiple_of(sectors);
        let fits = units <= u64::from(shape.capacity);
        let admitted = match (is_whole, fits) {
            _ if self.ftl.latest_version() >= LAST_VERSION => Err(Status::ReadOnly),
            (false, _) => Err(Status::InvalidField),
            (true, false) => Err(Status::ZoneBoundary),
            (true, true) => {
                let is_append = io.kind == IoKind::Append;
                let write = ZoneWrite { first: Lpn::new(first), units: units as u32, is_append };
                self.zones().admit(write).map_err(Status::from)
            }
        };
        match admitted {
            Ok(first) => {
                self.clients.requests[handle].io.start = Lba::new(u64::from(first.get()) * sectors);
                Some(Extent::new(io.kind, first.get(), first.get() + units as u32))
            }
            Err(status) => {
                self.counts.host_slots += units;
                self.counts.refused_slots += units;
                self.clients.requests[handle].status = status;
                self.served(handle);
                None
            }
        }
    }

    /// Carries out an action on a zone.
    pub(super) fn manage_zone(&mut self, handle: Handle<Active<S>>, action: ZoneAction) {
        let io = self.clients.requests[handle].io;
        let sectors = u64::from(self.resolved.geometry.sectors);
        let first = Lpn::new(self.resolved.geometry.unit_of(io.start.get()) as u32);
        let zone = (Clients::request_owner(handle), first);
        let mut flash = Self::flash(self.now, &mut self.backend, &mut self.slc_array, &mut self.events);
        let zones = self.ftl.zones().expect("the FTL of a drive with zones has zones");
        let waits = match io.start.get().is_multiple_of(sectors) {
            true => zones.manage(&mut flash, zone, action),
            false => Err(ZoneError::InvalidField),
        };
        match waits {
            // No list finishes while it is submitted.
            Ok(true) => self.clients.requests[handle].pending = 1,
            Ok(false) => _ = self.served(handle),
            Err(error) => {
                self.clients.requests[handle].status = error.into();
                self.served(handle);
            }
        }
    }
}
