//! Zone random write areas (ZRWA, TP 4076): the window behind a zone's write pointer, in which the host writes in any
//! order.
//!
//! The host opens an empty zone with such an area. From then on:
//!
//! * A write goes to any place of [write pointer, write pointer + size), and may replace the data of an earlier write
//!   there.
//! * A write that ends behind the window, by at most its size, first moves the write pointer in whole granules, until
//!   the write fits (implicit flush).
//! * The host moves the write pointer, too (explicit flush). Only such a flush reaches the zone's capacity, because an
//!   implicit one leaves a window behind the write pointer.
//!
//! Units that the write pointer passes leave the window for rows, as far as the dies take programs. Units that were
//! never written are programmed as zeros. The window holds units from the first one without a row on, so writes wait
//! when the dies are behind.
//!
//! A window is in the RAM that capacitors protect (ASSUMED, like the RAM of the rows: the standard asks that
//! acknowledged writes survive as all others do, and does not say where they are). So an acknowledged write is durable.
//! A zone that is closed keeps its window. After a power cycle a zone with a window is closed and has its window again,
//! unless nothing was written: then the zone is empty. A finish programs the content of the window (ASSUMED: no source
//! says so, but the data were acknowledged).

use base::units::Lpn;
use flash::backend::{Cause, Slot};

use super::ZnsFtl;
use super::zone::{RamRow, RowState, Task};
use crate::port::{Flash, Owners, PageWrite, Service, ZoneWrite, full_mask};
use crate::sabotage::Sabotage;
use crate::toolkit::give_unit;
use crate::zone::{ZoneAction, ZoneError, ZoneState};

/// The limit up to which units leave a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Drain {
    /// As many units as the dies take programs for.
    Dies,
    /// The power fails: capacitors carry the programs of all units that the write pointer has passed.
    Capacitors,
}

impl ZnsFtl {
    /// Opens an empty zone with a random write area.
    pub(super) fn open_window(&mut self, flash: &mut Flash<'_>, zone: u32) -> Result<(), ZoneError> {
        if self.windows.shape().is_none() {
            return Err(ZoneError::InvalidOperation);
        }
        self.states.after(zone, ZoneAction::OpenZrwa)?;
        if !self.windows.is_free() {
            return Err(ZoneError::ZrwaUnavailable);
        }
        self.states.act(zone, ZoneAction::OpenZrwa)?;
        self.zones[zone as usize].window = Some(self.windows.lend(flash, &self.layout, 0));
        Ok(())
    }

    /// Checks a write to a zone with a window, moves the write pointer if the write ends behind the window, and returns
    /// its first mapping unit. A refused write changes nothing.
    pub(super) fn admit_to_window(&mut self, write: ZoneWrite) -> Result<Lpn, ZoneError> {
        let (zone, unit) = self.layout.split(write.first);
        if write.is_append {
            return Err(ZoneError::InvalidOperation);
        }
        let shape = self.windows.shape().expect("a drive with random write areas");
        let pointer = self.zones[zone as usize].write_pointer;
        let end = u64::from(unit) + u64::from(write.units);
        if unit < pointer || end > u64::from(pointer) + 2 * u64::from(shape.size) {
            return Err(ZoneError::InvalidWrite);
        }
        if end > u64::from(self.layout.shape.capacity) {
            return Err(ZoneError::Boundary);
        }
        self.states.act(zone, ZoneAction::Write)?;
        let after = shape.pointer_after(pointer, end as u32);
        if after > pointer {
            let off = if self.planted.is(Sabotage::ImplicitFlushTooFar) { shape.granularity } else { 0 };
            self.zones[zone as usize].write_pointer = after + off;
            self.count().implicit_flushes += 1;
        }
        Ok(write.first)
    }

    /// Moves the write pointer of a zone with a window behind a unit of the window.
    pub(super) fn flush_window(&mut self, flash: &mut Flash<'_>, zone: u32, last: u32) -> Result<(), ZoneError> {
        self.states.of(zone).after(ZoneAction::FlushZrwa)?;
        let of = &self.zones[zone as usize];
        let (Some(shape), Some(_)) = (self.windows.shape(), &of.window) else {
            return Err(ZoneError::InvalidOperation);
        };
        let end = last + 1;
        let is_within =
            last >= of.write_pointer && end <= (of.write_pointer + shape.size).min(self.layout.shape.capacity);
        if !is_within || !(end - of.write_pointer).is_multiple_of(shape.granularity) {
            return Err(ZoneError::InvalidOperation);
        }
        self.states.act(zone, ZoneAction::FlushZrwa)?;
        self.count().explicit_flushes += 1;
        let of = &mut self.zones[zone as usize];
        assert!(of.waiting.is_empty(), "the device lets no flush overlap a write");
        of.write_pointer = end;
        let window = of.window.as_deref_mut().expect("a zone with a window");
        window.commit(end);
        if end == self.layout.shape.capacity {
            self.states.enter(zone, ZoneState::Full);
            self.windows.release(Some(window));
        }
        self.drain(flash, zone, Drain::Dies);
        Ok(())
    }

    /// Puts a mapping unit into the window of its zone, and acknowledges it. Returns false if the window is full of
    /// units that wait for their dies.
    pub(super) fn store(
        &mut self,
        flash: &mut Flash<'_>,
        owners: &mut dyn Owners,
        zone: u32,
        unit: &PageWrite,
    ) -> bool {
        // A read that is not reported yet may have found another unit in the slot.
        self.report_ram_reads(flash, owners);
        let (_, at) = self.layout.split(unit.lpn);
        let shape = self.windows.shape().expect("a drive with random write areas");
        let window = self.window(zone);
        window.commit(shape.pointer_after(window.committed(), at + 1));
        self.drain(flash, zone, Drain::Dies);
        let placed = self.zones[zone as usize].placed;
        let window = self.window(zone);
        if !window.is_within(placed, at) {
            return false;
        }
        let replaced = window.write(at, unit.version).is_some();
        let to = window.slot(flash.backend, at);
        if replaced {
            self.count().overwritten += 1;
            owners.write_absorbed();
        }
        if !(replaced && self.planted.is(Sabotage::ZrwaOverwriteLost)) {
            give_unit(flash, owners, unit, to);
        }
        owners.write_done(unit.owner, Service::NONE);
        true
    }

    /// Moves units that the write pointer has passed from the window of a zone into rows. A window whose area has ended
    /// is given back when it is empty.
    pub(super) fn drain(&mut self, flash: &mut Flash<'_>, zone: u32, how: Drain) {
        let of = &self.zones[zone as usize];
        let stays = of.window.is_none()
            || self.states.of(zone) == ZoneState::ReadOnly
            || how == Drain::Dies && matches!(of.task, Some(Task::Reset { .. }));
        if stays {
            return;
        }
        while self.zones[zone as usize].placed < self.window(zone).committed() {
            if !self.drain_unit(flash, zone, how) {
                return;
            }
        }
        if !self.window(zone).is_held {
            self.windows.take_back(&mut self.zones[zone as usize].window);
        }
    }

    /// Moves the first unit of a window into the row of its zone. Returns false if the previous row waits for its die.
    fn drain_unit(&mut self, flash: &mut Flash<'_>, zone: u32, how: Drain) -> bool {
        let at = self.zones[zone as usize].placed;
        let (row, inside) = self.layout.row_of(at);
        if inside == 0 {
            match how {
                Drain::Dies if !self.open_row(flash, zone, row, Cause::Host) => return false,
                Drain::Dies => {}
                Drain::Capacitors => self.begin_row(flash, zone, row, Cause::Host),
            }
        }
        let Some((_, RamRow { program, .. })) = self.zones[zone as usize].last() else {
            unreachable!("an open row is the last one in RAM")
        };
        let taken = self.window(zone).take(flash.backend, at);
        let version = taken.map_or_else(|| self.versions.latest(), |(_, version)| version);
        let (lpn, mask) = (self.layout.unit(zone, at), full_mask(self.layout.geometry.sectors));
        let slot = Slot { lpn, version, at: row as i32, mask, expected: true, ..Slot::default() };
        let to = flash.backend.push_slot(program, slot);
        match taken {
            Some((from, _)) => flash.backend.copy_payload(from, to, mask),
            None => self.count().unwritten += 1,
        }
        let of = &mut self.zones[zone as usize];
        of.placed += 1;
        of.data = of.placed;
        if inside + 1 == self.layout.units_in(row) {
            match how {
                Drain::Dies => self.close_row(flash, zone),
                Drain::Capacitors => self.close_for_capacitors(flash, zone),
            }
        }
        true
    }

    /// Completes the last row of a zone, which capacitors program.
    fn close_for_capacitors(&mut self, flash: &mut Flash<'_>, zone: u32) {
        let row = self.complete_row(flash, zone);
        self.zones[zone as usize].row_mut(row).expect("it is in RAM").state = RowState::Ready;
    }

    /// At a power failure: moves all units that the write pointer has passed into rows. A finish of a zone that had a
    /// window pads at least one row, by which the next mount recognizes the finish.
    pub(super) fn drain_by_capacitors(&mut self, flash: &mut Flash<'_>, zone: u32) {
        let of = &mut self.zones[zone as usize];
        if let (Some(Task::Reset { .. }), Some(window)) = (of.task, &of.window) {
            // The reset has erased nothing yet, and is forgotten.
            (of.placed, of.data) = (window.placed, window.placed);
        }
        self.drain(flash, zone, Drain::Capacitors);
        let of = &self.zones[zone as usize];
        let finishes = matches!(of.task, Some(Task::Finish { of_window: true, .. }));
        let is_padded = of.placed > of.data || of.placed == self.layout.shape.capacity;
        if !finishes || is_padded || self.states.of(zone) == ZoneState::ReadOnly {
            return;
        }
        let (row, inside) = self.layout.row_of(of.placed);
        if inside == 0 {
            self.begin_row(flash, zone, row, Cause::Pad);
            self.push_padding(flash, zone, row);
        }
        self.close_for_capacitors(flash, zone);
    }

    fn window(&mut self, zone: u32) -> &mut super::window::Window {
        self.zones[zone as usize].window.as_deref_mut().expect("a zone with a window")
    }

    fn count(&mut self) -> &mut super::ZrwaCounters {
        self.counters.zrwa.as_mut().expect("a drive with random write areas")
    }
}
