//! Zone management: open, close, finish, reset. [`zrwa`](super::zrwa) has the actions on random write areas.
//!
//! Open and close only change states. A finish fills the rest of the zone with padding, so that all word lines of its superblocks
//! are programmed: it takes as long as writing the rest would. A reset erases the superblocks of the zone and gives them back.

use base::engine::Handle;
use base::units::Lpn;
use flash::backend::{Cause, Class, List, Slot};

use super::zone::{RamRow, Task};
use super::zrwa::Drain;
use super::{ListPurpose, ZnsFtl};
use crate::port::{Flash, Owner, Owners};
use crate::sabotage::Sabotage;
use crate::zone::{ZoneAction, ZoneError, ZoneState};

impl ZnsFtl {
    /// Carries out an action on the zone that begins at a mapping unit. Returns true if [`Owners::zone_done`] or
    /// [`Owners::zone_refused`] will report its end.
    pub(super) fn manage_zone(
        &mut self,
        flash: &mut Flash<'_>,
        (owner, first): (Owner, Lpn),
        action: ZoneAction,
    ) -> Result<bool, ZoneError> {
        let (zone, unit) = self.layout.split(first);
        if action == ZoneAction::FlushZrwa {
            return self.flush_window(flash, zone, unit).map(|()| false);
        }
        if unit != 0 {
            return Err(ZoneError::InvalidField);
        }
        if action == ZoneAction::OpenZrwa {
            return self.open_window(flash, zone).map(|()| false);
        }
        let before = self.states.of(zone);
        self.states.act(zone, action)?;
        Ok(match action {
            ZoneAction::Finish if before != ZoneState::Full => self.finish(flash, zone, owner),
            ZoneAction::Reset if before != ZoneState::Empty => self.reset(flash, zone, owner),
            _ => false,
        })
    }

    fn finish(&mut self, flash: &mut Flash<'_>, zone: u32, owner: Owner) -> bool {
        self.counters.finishes += 1;
        let of = &mut self.zones[zone as usize];
        let of_window = of.window.is_some();
        if let Some(window) = of.window.as_deref_mut() {
            window.commit_all(of.placed);
            self.windows.release(Some(window));
        }
        of.write_pointer = self.layout.shape.capacity;
        of.task = Some(Task::Finish { owner, of_window });
        self.pad(flash, zone);
        true
    }

    /// Pads a zone behind the data of its random write area, as far as the dies take programs.
    pub(super) fn pad(&mut self, flash: &mut Flash<'_>, zone: u32) {
        self.drain(flash, zone, Drain::Dies);
        if self.zones[zone as usize].window.is_some() {
            return;
        }
        loop {
            let placed = self.zones[zone as usize].placed;
            if placed == self.layout.shape.capacity {
                return;
            }
            let (row, inside) = self.layout.row_of(placed);
            if inside == 0 {
                if !self.open_row(flash, zone, row, Cause::Pad) {
                    return;
                }
                self.push_padding(flash, zone, row);
            }
            self.zones[zone as usize].placed = row * self.layout.row_units() + self.layout.units_in(row);
            self.counters.padded += u64::from(self.zones[zone as usize].placed - placed);
            self.close_row(flash, zone);
        }
    }

    /// Names the rest of a zone's last row as padding in its spare area.
    pub(super) fn push_padding(&mut self, flash: &mut Flash<'_>, zone: u32, row: u32) {
        let Some((_, RamRow { program, .. })) = self.zones[zone as usize].last() else { return };
        let (lpn, version) = (self.layout.padding_of(zone), self.versions.latest());
        flash.backend.push_slot(program, Slot { lpn, version, at: row as i32, expected: true, ..Slot::default() });
    }

    /// Ends a finish whose last program has ended.
    pub(super) fn end_finish(&mut self, owners: &mut dyn Owners, zone: u32) {
        let of = &mut self.zones[zone as usize];
        let Some(Task::Finish { owner, .. }) = of.task else { return };
        if of.placed == self.layout.shape.capacity && of.is_in_flash() {
            of.task = None;
            owners.zone_done(owner);
        }
    }

    fn reset(&mut self, flash: &mut Flash<'_>, zone: u32, owner: Owner) -> bool {
        self.counters.resets += 1;
        let of = &mut self.zones[zone as usize];
        if let Some(window) = &mut of.window {
            window.placed = of.placed;
        }
        of.write_pointer = 0;
        of.placed = 0;
        let kept = if self.planted.is(Sabotage::ResetKeepsData) { of.data } else { 0 };
        of.data = kept.min(self.layout.row_units());
        of.task = Some(Task::Reset { owner, erases: 0 });
        self.zones[zone as usize].is_programming() || self.erase_zone(flash, zone, owner)
    }

    /// Erases the superblocks of a zone. Returns true if an erase is under way.
    pub(super) fn erase_zone(&mut self, flash: &mut Flash<'_>, zone: u32, owner: Owner) -> bool {
        // Until this point a power cut would have kept all data of the zone, including those in RAM.
        self.windows.take_back(&mut self.zones[zone as usize].window);
        let rows: Vec<(u32, RamRow)> = self.zones[zone as usize].rows().collect();
        for (number, row) in rows {
            self.zones[zone as usize].remove(number);
            flash.backend.release(row.list);
        }
        let mut lists: Vec<Handle<List>> = Vec::new();
        for member in 0..self.layout.members() as usize {
            let Some(superblock) = self.blocks.of_zone_mut(zone)[member].take() else { continue };
            if flash.backend.media().is_failing(superblock) {
                self.blocks.retire(&self.layout, flash.backend.media_mut(), superblock);
            } else if flash.backend.media().is_erased(superblock) {
                self.blocks.free(&self.layout, superblock, flash.backend.media().erases(superblock));
            } else {
                let list = flash.backend.open_list(Class::Other, ListPurpose::Erase(zone).tag());
                flash.backend.add_erase(list, Cause::Host, superblock);
                lists.push(list);
            }
        }
        let erases = lists.len() as u32;
        if erases == 0 {
            self.zones[zone as usize].task = None;
            self.close_short_group(self.layout.group_of(zone));
            return false;
        }
        self.zones[zone as usize].task = Some(Task::Reset { owner, erases });
        for list in lists {
            self.erasing.push(list);
            flash.submit(list);
        }
        true
    }

    /// Handles the end of the erase of a superblock.
    pub(super) fn erase_finished(
        &mut self,
        flash: &mut Flash<'_>,
        owners: &mut dyn Owners,
        zone: u32,
        list: Handle<List>,
    ) {
        let command = flash.backend.command(flash.backend.list(list).first().expect("an erase"));
        let (superblock, failed) = (command.target.superblock, command.failed);
        self.erasing.retain(|other| *other != list);
        flash.backend.release(list);
        if failed {
            self.blocks.retire(&self.layout, flash.backend.media_mut(), superblock);
        } else {
            self.blocks.free(&self.layout, superblock, flash.backend.media().erases(superblock));
        }
        let Some(Task::Reset { owner, erases }) = self.zones[zone as usize].task else {
            unreachable!("an erase belongs to a reset")
        };
        if erases > 1 {
            self.zones[zone as usize].task = Some(Task::Reset { owner, erases: erases - 1 });
            return;
        }
        self.zones[zone as usize].task = None;
        owners.zone_done(owner);
        self.close_short_group(self.layout.group_of(zone));
    }

    /// Takes empty zones offline if their dies have lost too many superblocks, the zones with the highest numbers
    /// first. Each remaining zone finds superblocks at its first write.
    pub(super) fn close_short_group(&mut self, group: u32) {
        let held = self.blocks.zones_held(&self.layout, group, self.reserve) as usize;
        let mut online =
            self.layout.zones_of_group(group).filter(|zone| self.states.of(*zone) != ZoneState::Offline).count();
        for zone in self.layout.zones_of_group(group).rev() {
            if online <= held {
                return;
            }
            let is_unused = self.zones[zone as usize].task.is_none() && self.zones[zone as usize].placed == 0;
            if self.states.of(zone) == ZoneState::Empty && is_unused {
                self.states.enter(zone, ZoneState::Offline);
                online -= 1;
            }
        }
    }
}
