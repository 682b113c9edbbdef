//! Power off and power loss: rows in RAM that are not complete, and random write areas, are saved to superblocks of no
//! zone, and come back at the next mount.
//!
//! A saved row keeps the names and the versions of its mapping units; mapping units of random write areas have names of
//! their own. The stream in which a superblock was opened tells these superblocks from those of zones. The mount puts
//! the rows into RAM again and erases these superblocks, before the drive takes a request.

use std::collections::BTreeSet;

use base::engine::Handle;
use base::units::{Lpn, Psn, SuperblockId};
use flash::backend::{Cause, Class, Command, List, Slot, SlotRef};
use flash::nand::{Stream, Target};

use super::zone::{RamRow, RowState};
use super::{ListPurpose, ZnsFtl};
use crate::port::{Flash, Owners, PowerCycle, full_mask};
use crate::zone::ZoneState;

/// A row that a mount has found in a superblock of no zone.
#[derive(Clone, Copy, Debug)]
pub(super) struct SavedRow {
    pub(super) zone: u32,
    pub(super) row: u32,
    pub(super) target: Target,
    pub(super) units: u32,
}

/// A mapping unit of a random write area that a mount has found in a superblock of no zone.
#[derive(Clone, Copy, Debug)]
pub(super) struct SavedUnit {
    pub(super) lpn: Lpn,
    pub(super) version: u32,
    /// The slot of the saved mapping unit.
    pub(super) psn: Psn,
}

/// Rows and random write areas that are saved outside their zones.
#[derive(Clone, Debug, Default)]
pub(super) struct SavedAreas {
    /// True if the power is about to go off in order, so that the rows in RAM are to be saved.
    pub(super) is_due: bool,
    /// The superblock that takes the next saved row, and that row's number there.
    open: Option<(SuperblockId, u32)>,
    /// Programs of saved rows under way.
    saving: Vec<Handle<List>>,
    /// Rows that the mount has found.
    pub(super) rows: Vec<SavedRow>,
    /// Zones with random write areas that the mount has found, and the saved mapping units of the areas.
    pub(super) windows: BTreeSet<u32>,
    pub(super) units: Vec<SavedUnit>,
    /// Superblocks without data of a zone that the mount has found, to be erased.
    pub(super) useless: Vec<SuperblockId>,
    /// Erases of such superblocks under way.
    erasing: Vec<Handle<List>>,
}

impl ZnsFtl {
    /// The lists that write the rows in RAM that hold data to superblocks of no zone. None of these rows is being
    /// programmed.
    fn build_saves(&mut self, flash: &mut Flash<'_>) -> Vec<Handle<List>> {
        let mut lists = Vec::new();
        for zone in 0..self.zones.len() {
            let rows: Vec<(u32, RamRow)> = self.zones[zone].rows().collect();
            for (number, row) in rows {
                let (_, first) = flash.backend.slot(row.program, 0);
                if self.layout.padded_zone(first.lpn).is_none() {
                    lists.extend(self.build_save(flash, number, &row));
                }
            }
        }
        self.build_window_saves(flash, &mut lists);
        lists
    }

    /// Appends the lists that write random write areas to superblocks of no zone: for each zone with an area its name,
    /// then the mapping units that are written in the area.
    fn build_window_saves(&mut self, flash: &mut Flash<'_>, lists: &mut Vec<Handle<List>>) {
        let (row, mask) = (self.layout.row_units(), full_mask(self.layout.geometry.sectors));
        let mut open: Option<Handle<Command>> = None;
        for zone in 0..self.layout.shape.zones {
            for (lpn, from, version) in self.saved_window(flash, zone) {
                let program = match open.filter(|program| flash.backend.command(*program).count() < row) {
                    Some(program) => program,
                    None => {
                        let Some((list, program)) = self.open_save(flash) else { return };
                        lists.push(list);
                        *open.insert(program)
                    }
                };
                let slot = Slot { lpn, version, mask, expected: true, ..Slot::default() };
                let to = flash.backend.push_slot(program, slot);
                if let Some(from) = from {
                    flash.backend.copy_payload(from, to, mask);
                }
            }
        }
    }

    /// The name, the content and the version of each slot that saves the random write area of a zone; none if the zone has no area,
    /// or nothing was written since its reset.
    fn saved_window(&self, flash: &Flash<'_>, zone: u32) -> Vec<(Lpn, Option<SlotRef>, u32)> {
        let of = &self.zones[zone as usize];
        let Some(window) = &of.window else { return Vec::new() };
        let units = window.written(flash.backend, of.placed);
        if units.is_empty() && of.placed == 0 {
            return Vec::new();
        }
        let mut slots = vec![(self.layout.window_of(zone), None, self.versions.latest())];
        let name = |unit| self.layout.window_unit(self.layout.unit(zone, unit));
        slots.extend(units.into_iter().map(|(unit, from, version)| (name(unit), Some(from), version)));
        slots
    }

    /// A list with an empty program to a superblock of no zone; `None` if no superblock is free.
    fn open_save(&mut self, flash: &mut Flash<'_>) -> Option<(Handle<List>, Handle<Command>)> {
        let rows = self.layout.superblock_rows();
        let (superblock, at) = match self.saved.open.filter(|(_, next)| *next < rows) {
            Some(open) => open,
            None => (self.blocks.take_any()?, 0),
        };
        self.saved.open = Some((superblock, at + 1));
        let list = flash.backend.open_list(Class::Other, ListPurpose::Save.tag());
        let target = Target { superblock, offset: at * self.layout.row_units() };
        Some((list, flash.backend.add_program(list, Cause::Recovery, target, Stream::COPIES)))
    }

    /// The list that writes a row to a superblock of no zone; `None` if no superblock is free, so that the row is lost.
    fn build_save(&mut self, flash: &mut Flash<'_>, number: u32, row: &RamRow) -> Option<Handle<List>> {
        let (list, program) = self.open_save(flash)?;
        let mask = full_mask(self.layout.geometry.sectors);
        for i in 0..flash.backend.command(row.program).count() {
            let (from, Slot { lpn, version, .. }) = flash.backend.slot(row.program, i);
            let slot = Slot { lpn, version, at: number as i32, mask, expected: true, ..Slot::default() };
            let to = flash.backend.push_slot(program, slot);
            flash.backend.copy_payload(from, to, mask);
        }
        Some(list)
    }

    /// Saves the rows in RAM before the power goes off in order.
    pub(super) fn save_rows(&mut self, flash: &mut Flash<'_>) {
        self.saved.is_due = false;
        for list in self.build_saves(flash) {
            self.saved.saving.push(list);
            flash.submit(list);
        }
    }

    /// Handles the end of the program of a saved row. If it has failed, all rows go to another superblock.
    pub(super) fn save_finished(&mut self, flash: &mut Flash<'_>, list: Handle<List>) {
        let program = flash.backend.list(list).first().expect("a program");
        if flash.backend.command(program).failed {
            (self.saved.is_due, self.saved.open) = (true, None);
        }
        self.saved.saving.retain(|other| *other != list);
        flash.backend.release(list);
    }

    /// Handles the end of the erase of a superblock of no zone.
    pub(super) fn unsave_finished(&mut self, flash: &mut Flash<'_>, list: Handle<List>) {
        let command = flash.backend.command(flash.backend.list(list).first().expect("an erase"));
        let (superblock, failed) = (command.target.superblock, command.failed);
        self.saved.erasing.retain(|other| *other != list);
        flash.backend.release(list);
        if failed {
            self.blocks.retire(&self.layout, flash.backend.media_mut(), superblock);
            self.close_short_group(self.layout.group_of_die(self.layout.geometry.die_of(superblock)));
        } else {
            self.blocks.free(&self.layout, superblock, flash.backend.media().erases(superblock));
        }
    }

    /// Puts a saved row into RAM again.
    fn restore(&mut self, flash: &mut Flash<'_>, saved: &SavedRow) {
        let SavedRow { zone, row, target, units } = *saved;
        let is_written = self.states.of(zone) == ZoneState::Closed;
        if is_written {
            self.open_row(flash, zone, row, Cause::Host);
        } else {
            // This program is never submitted: its slots are the RAM of the row.
            let list = flash.backend.open_list(Class::Other, ListPurpose::Row(zone).tag());
            let program = flash.backend.add_program(list, Cause::Host, target, Stream::HOST);
            self.zones[zone as usize].push(row, RamRow { list, program, state: RowState::Parked });
        }
        let Some((_, RamRow { program, .. })) = self.zones[zone as usize].last() else { return };
        for i in 0..units {
            let psn = self.layout.geometry.slot(target.superblock, target.offset + i);
            let to = flash.backend.push_slot(program, Slot { at: row as i32, ..Slot::default() });
            flash.backend.recall(psn, to);
        }
    }
}

impl ZnsFtl {
    /// Gives zones their saved random write areas back.
    fn restore_windows(&mut self, flash: &mut Flash<'_>) {
        for zone in std::mem::take(&mut self.saved.windows) {
            let state = self.states.of(zone);
            if !matches!(state, ZoneState::Closed | ZoneState::ReadOnly) {
                continue;
            }
            let pointer = self.zones[zone as usize].placed;
            let mut window = self.windows.lend(flash, &self.layout, pointer);
            if state == ZoneState::ReadOnly {
                self.windows.release(Some(&mut *window));
            }
            self.zones[zone as usize].window = Some(window);
        }
        for SavedUnit { lpn, version, psn } in std::mem::take(&mut self.saved.units) {
            let (zone, unit) = self.layout.split(lpn);
            let of = &mut self.zones[zone as usize];
            let Some(window) = of.window.as_mut().filter(|window| window.is_within(of.placed, unit)) else { continue };
            window.write(unit, version);
            let to = window.slot(flash.backend, unit);
            flash.backend.recall(psn, to);
        }
    }
}

impl PowerCycle for ZnsFtl {
    fn found(&self) -> u32 {
        self.found
    }

    fn is_recovering(&self) -> bool {
        !self.saved.rows.is_empty() || !self.saved.useless.is_empty() || !self.saved.erasing.is_empty()
    }

    fn recover(&mut self, flash: &mut Flash<'_>, _: &mut dyn Owners) {
        for saved in std::mem::take(&mut self.saved.rows) {
            self.restore(flash, &saved);
        }
        self.restore_windows(flash);
        for superblock in std::mem::take(&mut self.saved.useless) {
            if flash.backend.media().is_failing(superblock) {
                self.blocks.retire(&self.layout, flash.backend.media_mut(), superblock);
                continue;
            }
            let list = flash.backend.open_list(Class::Other, ListPurpose::Unsave.tag());
            flash.backend.add_erase(list, Cause::Recovery, superblock);
            self.saved.erasing.push(list);
            flash.submit(list);
        }
        (0..self.layout.groups()).for_each(|group| self.close_short_group(group));
    }

    fn power_off(&mut self, _: base::units::Time) {
        self.saved.is_due = true;
    }

    fn power_fails(&mut self, flash: &mut Flash<'_>) {
        let zones = 0..self.zones.len();
        (0..self.layout.shape.zones).for_each(|zone| self.drain_by_capacitors(flash, zone));
        let programmed = |row: &RamRow| matches!(row.state, RowState::UnderWay | RowState::Ready);
        let mut lists = Vec::new();
        for zone in zones.clone().filter(|zone| self.states.of(*zone as u32) != ZoneState::ReadOnly) {
            lists.extend(self.zones[zone].rows().filter(|(_, row)| programmed(row)).map(|(_, row)| row.list));
        }
        lists.extend(self.erasing.iter().chain(&self.saved.erasing).chain(&self.saved.saving));
        flash.backend.save(flash.now, &lists);
        for zone in zones {
            let rows: Vec<(u32, RamRow)> = self.zones[zone].rows().collect();
            for (number, row) in rows {
                if lists.contains(&row.list) && !flash.backend.command(row.program).failed {
                    self.zones[zone].remove(number);
                }
            }
        }
        for list in std::mem::take(&mut self.saved.erasing) {
            let erase = flash.backend.list(list).first().expect("an erase");
            let superblock = flash.backend.command(erase).target.superblock;
            self.blocks.free(&self.layout, superblock, flash.backend.media().erases(superblock));
        }
        self.saved.open = None;
        let saves = self.build_saves(flash);
        flash.backend.save(flash.now, &saves);
    }
}
