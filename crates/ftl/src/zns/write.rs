//! Writes and appends: their admission, their way into rows, and the programs of rows.

use base::engine::Handle;
use base::units::Lpn;
use flash::backend::{Cause, Class, List, Slot};
use flash::nand::{Stream, Target};

use super::zone::{RamRow, RowState, Task};
use super::zrwa::Drain;
use super::{ListPurpose, ZnsFtl};
use crate::port::{Flash, Owners, PageWrite, Service, ZoneWrite, full_mask};
use crate::sabotage::Sabotage;
use crate::toolkit::give_unit;
use crate::zone::{ZoneAction, ZoneError, ZoneState};

impl ZnsFtl {
    /// Checks a write or an append, moves the write pointer behind it and returns its first mapping unit. A refused
    /// write changes nothing.
    pub(super) fn admit_write(&mut self, write: ZoneWrite) -> Result<Lpn, ZoneError> {
        let (zone, unit) = self.layout.split(write.first);
        let action = if write.is_append { ZoneAction::Append } else { ZoneAction::Write };
        self.states.of(zone).after(action)?;
        let of = &mut self.zones[zone as usize];
        if of.window.is_some() {
            return self.admit_to_window(write);
        }
        match (write.is_append, unit) {
            (true, 0) => {}
            (true, _) => return Err(ZoneError::InvalidField),
            (false, _) if unit != of.write_pointer => return Err(ZoneError::InvalidWrite),
            (false, _) => {}
        }
        let begin = of.write_pointer;
        if u64::from(begin) + u64::from(write.units) > u64::from(self.layout.shape.capacity) {
            return Err(ZoneError::Boundary);
        }
        self.states.act(zone, action)?;
        of.write_pointer += write.units;
        if of.write_pointer == self.layout.shape.capacity {
            self.states.enter(zone, ZoneState::Full);
        }
        let off = u32::from(write.is_append && begin > 0 && self.planted.is(Sabotage::AppendMisplaced));
        Ok(self.layout.unit(zone, begin - off))
    }

    /// Writes a mapping unit at the address that its admission has returned.
    pub(super) fn write_unit(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, unit: PageWrite) {
        let (zone, _) = self.layout.split(unit.lpn);
        if unit.owner.is_none() {
            // Preconditioning writes without an admission, so the unit is admitted here.
            if self.admit_write(ZoneWrite { first: unit.lpn, units: 1, is_append: false }).is_err() {
                return owners.write_refused(None);
            }
        }
        if matches!(self.states.of(zone), ZoneState::ReadOnly | ZoneState::Offline) {
            return owners.zone_refused(unit.owner, ZoneError::ReadOnly);
        }
        if !self.zones[zone as usize].waiting.is_empty() || !self.accept(flash, owners, zone, &unit) {
            self.zones[zone as usize].waiting.push_back(unit);
        }
    }

    /// Takes a mapping unit into the random write area or the row of its zone, and acknowledges it. Returns false if it
    /// has to wait for a die.
    fn accept(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, zone: u32, unit: &PageWrite) -> bool {
        match self.zones[zone as usize].window {
            Some(_) => self.store(flash, owners, zone, unit),
            None => self.place(flash, owners, zone, unit),
        }
    }

    /// Puts a mapping unit into the row of its zone, and acknowledges it. Returns false if the previous row waits for
    /// its die.
    fn place(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, zone: u32, unit: &PageWrite) -> bool {
        let at = self.zones[zone as usize].placed;
        let (row, inside) = self.layout.row_of(at);
        if inside == 0 && !self.open_row(flash, zone, row, Cause::Host) {
            return false;
        }
        let Some((_, RamRow { program, .. })) = self.zones[zone as usize].last() else {
            unreachable!("an open row is the last one in RAM")
        };
        // The owner gets its report now, so the program is not charged to it.
        let mask = full_mask(self.layout.geometry.sectors);
        let lpn = self.layout.unit(zone, at);
        let to = flash.backend.push_slot(
            program,
            Slot { lpn, version: unit.version, at: row as i32, mask, expected: true, ..Slot::default() },
        );
        give_unit(flash, owners, unit, to);
        let of = &mut self.zones[zone as usize];
        of.placed += 1;
        of.data = of.placed;
        owners.write_done(unit.owner, Service::NONE);
        if inside + 1 == self.layout.units_in(row) {
            self.close_row(flash, zone);
        }
        true
    }

    /// Opens the next row of a zone. Returns false if the previous row waits for its die.
    pub(super) fn open_row(&mut self, flash: &mut Flash<'_>, zone: u32, row: u32, cause: Cause) -> bool {
        if self.zones[zone as usize].last().is_some_and(|(_, row)| row.state == RowState::Ready) {
            return false;
        }
        self.begin_row(flash, zone, row, cause);
        true
    }

    /// Opens the next row of a zone, whether or not the previous row waits for its die.
    pub(super) fn begin_row(&mut self, flash: &mut Flash<'_>, zone: u32, row: u32, cause: Cause) {
        if row == 0 {
            let filled = self.blocks.fill(&self.layout, zone);
            assert!(filled, "a zone that is not offline finds free superblocks");
        }
        let place = self.layout.place_of(row);
        let target = Target { superblock: self.blocks.member(zone, place.member), offset: place.offset };
        let list = flash.backend.open_list(Class::Other, ListPurpose::Row(zone).tag());
        let program = flash.backend.add_program(list, cause, target, Stream::HOST);
        self.zones[zone as usize].push(row, RamRow { list, program, state: RowState::Assembling });
    }

    /// Completes the last row of a zone with padding, and programs it as soon as its die takes it.
    pub(super) fn close_row(&mut self, flash: &mut Flash<'_>, zone: u32) {
        let row = self.complete_row(flash, zone);
        let die = self.layout.die_of_row(zone, row).index();
        if self.dies[die].under_way < self.programs {
            self.submit_row(flash, zone, row);
        } else {
            self.zones[zone as usize].row_mut(row).expect("it is in RAM").state = RowState::Ready;
            self.dies[die].ready.push_back(zone);
        }
    }

    /// Completes the last row of a zone with padding. Returns its number.
    pub(super) fn complete_row(&mut self, flash: &mut Flash<'_>, zone: u32) -> u32 {
        let Some((row, RamRow { program, .. })) = self.zones[zone as usize].last() else {
            unreachable!("a row in RAM is closed")
        };
        let slots = self.layout.geometry.slots;
        let covered = flash.backend.command(program).count().div_ceil(slots) * slots;
        flash.backend.set_padding(program, self.layout.row_units() - covered);
        row
    }

    fn submit_row(&mut self, flash: &mut Flash<'_>, zone: u32, row: u32) {
        let die = self.layout.die_of_row(zone, row).index();
        self.dies[die].under_way += 1;
        let of = self.zones[zone as usize].row_mut(row).expect("it is in RAM");
        of.state = RowState::UnderWay;
        let list = of.list;
        flash.submit(list);
    }

    /// Handles the end of the program of a row.
    pub(super) fn row_finished(
        &mut self,
        flash: &mut Flash<'_>,
        owners: &mut dyn Owners,
        zone: u32,
        list: Handle<List>,
    ) {
        let program = flash.backend.list(list).first().expect("a program");
        let failed = flash.backend.command(program).failed;
        let (_, first) = flash.backend.slot(program, 0);
        let row = first.at as u32;
        let die = self.layout.die_of_row(zone, row).index();
        self.dies[die].under_way -= 1;
        let has_data = self.layout.padded_zone(first.lpn).is_none();
        let resets = matches!(self.zones[zone as usize].task, Some(Task::Reset { .. }));
        if failed && has_data && !resets {
            self.zones[zone as usize].row_mut(row).expect("it is in RAM").state = RowState::Parked;
        } else {
            self.zones[zone as usize].remove(row);
            flash.backend.release(list);
        }
        if failed && !resets {
            self.fail_zone(owners, zone);
        }
        self.go_on(flash, owners, zone);
        self.start_ready(flash, owners, die);
    }

    /// Makes a zone read only, because one of its programs has failed. The rows in RAM stay there.
    fn fail_zone(&mut self, owners: &mut dyn Owners, zone: u32) {
        self.states.enter(zone, ZoneState::ReadOnly);
        let of = &mut self.zones[zone as usize];
        // The data of the random write area can only be read from now on, like the rows.
        self.windows.release(of.window.as_deref_mut());
        let waiting = std::mem::take(&mut of.waiting);
        waiting.into_iter().for_each(|unit| owners.zone_refused(unit.owner, ZoneError::ReadOnly));
        if let Some(Task::Finish { owner, .. }) = self.zones[zone as usize].task.take() {
            owners.zone_refused(owner, ZoneError::ReadOnly);
        }
    }

    /// Programs the rows that wait for a die, as many as the die takes.
    fn start_ready(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, die: usize) {
        while self.dies[die].under_way < self.programs {
            let Some(zone) = self.dies[die].ready.pop_front() else { return };
            let Some((row, RamRow { state, .. })) = self.zones[zone as usize].last() else { continue };
            let is_here = self.layout.die_of_row(zone, row).index() == die;
            let is_written = self.states.of(zone) != ZoneState::ReadOnly
                && !matches!(self.zones[zone as usize].task, Some(Task::Reset { .. }));
            if state == RowState::Ready && is_here && is_written {
                self.submit_row(flash, zone, row);
                self.go_on(flash, owners, zone);
            }
        }
    }

    /// Continues the waiting work of a zone: writes, padding, or a reset.
    fn go_on(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, zone: u32) {
        let task = self.zones[zone as usize].task;
        if let Some(Task::Reset { owner, erases: 0 }) = task {
            let waits = self.zones[zone as usize].is_programming() || self.erase_zone(flash, zone, owner);
            if !waits {
                owners.zone_done(owner);
            }
        }
        if let Some(Task::Finish { .. }) = task {
            self.pad(flash, zone);
            self.end_finish(owners, zone);
        }
        self.drain(flash, zone, Drain::Dies);
        while let Some(unit) = self.zones[zone as usize].waiting.pop_front() {
            if !self.accept(flash, owners, zone, &unit) {
                self.zones[zone as usize].waiting.push_front(unit);
                return;
            }
        }
    }
}
