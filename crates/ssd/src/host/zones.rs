//! Requests to zones: their extents, their admission, and the actions on whole zones.
//!
//! An action has the whole zone as its extent. The extent of a write or an append goes from the write pointer to the
//! end of the zone. So the device keeps actions in order with all other requests to the zone, and writes in order with
//! actions and with reads behind the write pointer. Writes do not wait for each other: they reach the FTL in the order
//! of their submission.

use base::engine::Handle;
use base::io::{Io, IoKind};
use base::units::{Lba, Lpn};
use flash::nand::Sector;
use ftl::{ZoneAction, ZoneError, ZoneReport, ZoneShape, ZoneWrite, Zones};

use super::active::Active;
use super::overlap::Extent;
use super::request::Status;
use super::serve::LAST_VERSION;
use super::side::HostSide;
use crate::Ssd;

impl<S: Sector> Ssd<S> {
    /// The state and the write pointer of the zone of a sector; `None` if the drive has no zones.
    #[must_use]
    pub fn zone_report(&self, sector: Lba) -> Option<ZoneReport> {
        self.ftl.zone_report(Lpn::new(self.resolved.geometry.unit_of(sector.get()) as u32))
    }

    /// The mapping units of a request.
    #[inline(always)]
    #[allow(clippy::inline_always)] // One caller.
    pub(super) fn extent_of(&self, io: &Io) -> Extent {
        let geometry = &self.resolved.geometry;
        let first = geometry.unit_of(io.start.get()) as u32;
        match self.resolved.zones {
            Some(shape) if io.kind.is_of_zones() || io.kind == IoKind::Write => self.extent_in_zone(io, first, shape),
            _ => {
                let end = if io.sectors.is_zero() { first } else { geometry.unit_of(io.end().get() - 1) as u32 + 1 };
                Extent::new(io.kind, first, end)
            }
        }
    }

    /// The mapping units of a write, an append or an action on the zone of a mapping unit.
    #[inline(never)]
    fn extent_in_zone(&self, io: &Io, unit: u32, shape: ZoneShape) -> Extent {
        let begin = unit / shape.size * shape.size;
        let end = begin + shape.size;
        if !io.kind.brings_data() {
            return Extent::new(io.kind, begin, end);
        }
        let report = self.ftl.zone_report(Lpn::new(begin)).expect("the FTL of a drive with zones has zones");
        // At least one unit, so that a write to a full zone waits for its reset.
        let first = report.write_pointer.get().min(end - 1);
        let extent = Extent { fills_zone: true, ..Extent::new(io.kind, first, end) };
        // Behind a reset that has not ended, the write goes to the beginning of the zone.
        let HostSide { requests, overlaps, .. } = &self.host;
        let mut is_reset = false;
        overlaps.conflicting(&extent, |other| is_reset |= requests[other].io.kind == IoKind::ZoneReset);
        if is_reset { Extent { first: begin, ..extent } } else { extent }
    }

    /// The status with which the device refuses a request before it works on it: a drive with zones for many reasons, a
    /// drive without zones only for a command that not all drives know.
    #[inline(never)]
    pub(super) fn refusal_of_zones(&mut self, io: &Io) -> Option<Status> {
        if io.kind == IoKind::HandleUpdate {
            return self.refusal_of_update(io);
        }
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

    /// The mapping units of a write or an append, if the drive admits it; otherwise the request ends here.
    #[inline]
    pub(super) fn admitted(&mut self, handle: Handle<Active<S>>) -> Option<Extent> {
        match self.resolved.zones {
            None => Some(self.host.requests[handle].extent),
            Some(shape) => self.admit_to_zone(handle, shape),
        }
    }

    /// Asks the FTL to admit a write or an append to a zone. An append gets its address here.
    fn admit_to_zone(&mut self, handle: Handle<Active<S>>, shape: ZoneShape) -> Option<Extent> {
        let io = self.host.requests[handle].io;
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
                self.host.requests[handle].io.start = Lba::new(u64::from(first.get()) * sectors);
                Some(Extent::new(io.kind, first.get(), first.get() + units as u32))
            }
            Err(status) => {
                self.host.counts.host_slots += units;
                self.host.counts.refused_slots += units;
                self.host.requests[handle].status = status;
                self.respond(handle);
                None
            }
        }
    }

    pub(super) fn manage_zone(&mut self, handle: Handle<Active<S>>, action: ZoneAction) {
        let io = self.host.requests[handle].io;
        let sectors = u64::from(self.resolved.geometry.sectors);
        let first = Lpn::new(self.resolved.geometry.unit_of(io.start.get()) as u32);
        let zone = (HostSide::request_owner(handle), first);
        let mut flash = Self::flash(self.now, &mut self.backend, &mut self.slc_array, &mut self.events);
        let zones = self.ftl.zones().expect("the FTL of a drive with zones has zones");
        let is_aligned = action == ZoneAction::FlushZrwa || io.start.get().is_multiple_of(sectors);
        let waits = match is_aligned {
            true => zones.manage(&mut flash, zone, action),
            false => Err(ZoneError::InvalidField),
        };
        self.host.in_order |= action == ZoneAction::OpenZrwa && waits.is_ok();
        match waits {
            // No list finishes while it is submitted.
            Ok(true) => self.host.requests[handle].pending = 1,
            Ok(false) => _ = self.respond(handle),
            Err(error) => {
                self.host.requests[handle].status = error.into();
                self.respond(handle);
            }
        }
    }

    /// Sorts the newly unblocked requests, from index `first` on, into the order of their arrival. Writes to a zone
    /// must keep the order of their submission; their tags have this order, where several arrive at the same moment.
    pub(super) fn order_unblocked(&mut self, first: usize) {
        let requests = &self.host.requests;
        let is_zoned = self.resolved.zones.is_some();
        self.host.unblocked[first..].sort_unstable_by_key(|(start, handle)| {
            (*start, if is_zoned { requests[*handle].tag } else { u64::from(handle.number().get()) })
        });
    }
}
