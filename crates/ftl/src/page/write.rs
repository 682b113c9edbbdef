//! The way of a write to its pool, and the writes that wait for space. The [writer](super::writer) then brings the
//! write to the flash.

use std::collections::VecDeque;

use super::PageFtl;
use super::block_manager::pool::Holds;
use crate::port::{Flash, Owners, PageWrite, Service};
use crate::sabotage::Sabotage;

impl PageFtl {
    /// Begins a write request of an owner in an NVM set; its mapping units follow.
    pub(crate) fn begin_write(&mut self, set: u32) {
        self.writer.begin_request(&self.blocks, set);
        self.writer.firmware.charge_request();
    }

    /// Accepts one mapping unit of the request.
    pub(crate) fn write(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, unit: PageWrite) {
        self.mapping.note_write(&unit);
        let unit = self.writer.with_stream(&mut self.blocks, &self.mapping, owners, unit);
        let set = self.writer.set_of(&self.mapping, owners, &unit);
        if set != self.writer.set_of_pages() && self.mapping.is_out_of_pages() {
            return self.mapping.refuse(&mut self.blocks, owners, &unit);
        }
        let drops = self.blocks.planted.is(Sabotage::UntimedDropped)
            && unit.version % 3 == 2
            && unit.lpn.get() < self.mapping.units;
        if drops && !flash.backend.is_timed() {
            return owners.write_done(unit.owner, Service::NONE);
        }
        if self.mapping.asks_place(&self.blocks, flash, &unit) {
            return;
        }
        self.prefetch_for_write(flash, unit.lpn);
        let unplaced = &mut self.writer.unplaced[set as usize];
        if !unplaced.is_empty() {
            self.writer.stalled = true;
            return unplaced.push_back(unit);
        }
        match self.writer.place(&self.blocks, &self.mapping, flash, owners, (set, &unit)) {
            Some(pool) => self.accept(flash, owners, pool, unit),
            None if self.writer.makes_room(&self.blocks, &self.mapping, set) => {
                self.writer.stalled = true;
                self.writer.unplaced[set as usize].push_back(unit);
            }
            None => {
                self.writer.stalled = true;
                self.writer.unplaced[set as usize].push_back(unit);
                self.place_unplaced(flash, owners);
            }
        }
    }

    /// Adds a write to the program under assembly of its pool, or lets the write wait there.
    #[inline(always)]
    #[allow(clippy::inline_always)] // One caller for new writes, and a rare one.
    fn accept(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, pool: u32, unit: PageWrite) {
        let set = owners.set(unit.owner);
        let chosen = &mut self.blocks.pools[pool as usize];
        chosen.live += 1;
        chosen.in_flight += 1;
        if !chosen.queue.waiting.is_empty()
            || !self.writer.append(&mut self.blocks, &mut self.mapping, flash, owners, pool, &unit)
        {
            self.writer.let_wait(&mut self.blocks, pool, unit);
            self.writer.stalled = true;
            if self.blocks.kind_in(pool) == Holds::Pages {
                self.writer.end_gathering(pool);
                return self.start_gc(flash, owners, pool);
            }
            // A waiting write counts as programmed, so the placement moves on and the next write goes to another pool.
            // Otherwise all writes would wait in one pool.
            self.writer.waited += 1;
            if self.writer.waited == self.blocks.program_slots() {
                self.writer.waited = 0;
                self.writer.placer.program_filled(set, false);
            }
            self.writer.waited_set = set;
            self.start_gc(flash, owners, pool);
        }
    }

    /// Places the unplaced writes again, after older copies have become garbage. Refuses a write only if no work in
    /// progress can free space.
    pub(super) fn place_unplaced(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners) {
        if self.writer.unplaced.iter().all(VecDeque::is_empty) {
            return;
        }
        // Translation pages come first, because data may wait for them.
        for set in (0..self.writer.unplaced.len() as u32).rev() {
            self.place_unplaced_of_set(flash, owners, set);
        }
        self.end_write(flash, owners);
        self.writer.announce_room(owners);
    }

    fn place_unplaced_of_set(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, set: u32) {
        let pages = set == self.writer.set_of_pages();
        while let Some(unit) = self.writer.unplaced[set as usize].front().copied() {
            if self.mapping.asks_place(&self.blocks, flash, &unit) {
                self.writer.unplaced[set as usize].pop_front();
                continue;
            }
            match self.writer.place(&self.blocks, &self.mapping, flash, owners, (set, &unit)) {
                Some(pool) => {
                    self.writer.unplaced[set as usize].pop_front();
                    self.accept(flash, owners, pool, unit);
                }
                None if self.writer.makes_room(&self.blocks, &self.mapping, set) => break,
                None if !pages && self.retry_stuck(flash, owners, Some(set)) => break,
                None if pages && self.blocks.make_room_for_pages(unit.lpn.get() - self.mapping.units) => {}
                None if pages && self.collector().will_have_pages(flash) => break,
                None if pages
                    && self.writer.store_anywhere(&mut self.blocks, &mut self.mapping, flash, owners, &unit) =>
                {
                    self.writer.unplaced[set as usize].pop_front();
                }
                None => {
                    self.writer.unplaced[set as usize].pop_front();
                    if pages {
                        self.mapping.keep_page(&mut self.blocks, flash, unit.lpn.get() - self.mapping.units);
                    } else {
                        self.mapping.refuse(&mut self.blocks, owners, &unit);
                    }
                }
            }
        }
    }

    /// Ends a write request: submits the programs under assembly, except those that wait for more data.
    pub(crate) fn end_write(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners) {
        if std::mem::take(&mut self.writer.waited) > 0 {
            self.writer.placer.program_filled(self.writer.waited_set, false);
        }
        // With time off, no program in progress makes space for a waiting write, so programs are sent at once.
        let hurries = std::mem::take(&mut self.writer.stalled) && !flash.backend.is_timed();
        // A collection that becomes due with this write goes first, too, and the write waits for it.
        let collects_first = flash.backend.is_timed() && flash.backend.collects_first();
        let mut touched = std::mem::take(&mut self.writer.touched);
        touched.retain(|pool| {
            let held = self.writer.is_held(*pool);
            if !held {
                if collects_first {
                    self.start_gc(flash, owners, *pool);
                }
                self.writer.end_lists(&mut self.blocks, flash, *pool, hurries);
                self.start_gc(flash, owners, *pool);
            }
            held
        });
        self.writer.touched = touched;
        if hurries {
            self.close_programs(flash, owners);
        }
    }

    /// Sends a pool's program that has waited until the pool's other programs ended.
    pub(super) fn end_hold(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, pool: u32) {
        if self.writer.fills_streams(flash) {
            return self.end_hold_of_streams(flash, owners, pool);
        }
        let chosen = &self.blocks.pools[pool as usize];
        let ends =
            chosen.queue.under_way == 0 && flash.backend.is_timed() && chosen.queue.each_list().any(|of| of.held);
        if ends && !self.blocks.planted.is(Sabotage::HeldForgotten) {
            self.writer.send_held(&mut self.blocks, flash, pool);
            self.start_gc(flash, owners, pool);
        }
    }

    /// Sends all programs that wait for more data.
    pub(crate) fn close_programs(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners) {
        for pool in 0..self.blocks.groups {
            if self.blocks.pools[pool as usize].queue.each_list().any(|of| of.held) {
                self.writer.send_held(&mut self.blocks, flash, pool);
                self.start_gc(flash, owners, pool);
            }
        }
    }

    /// At the end of a list of a pool: sends the programs that have waited long enough, and one more program if no list
    /// is in progress.
    pub(super) fn end_hold_of_streams(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, pool: u32) {
        if self.blocks.planted.is(Sabotage::ParkedForgotten) || pool >= self.blocks.groups {
            return;
        }
        if self.writer.send_overdue(&mut self.blocks, flash, pool) {
            self.start_gc(flash, owners, pool);
        }
        while let Some(other) = self.writer.next_with_held(&self.blocks) {
            self.writer.send_fullest(&mut self.blocks, flash, other);
            self.start_gc(flash, owners, other);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::PageFtl;
    use base::units::Lpn;

    use crate::port::{OldPlace, PageWrite};
    use crate::rig::Rig;

    #[test]
    fn unplaced_units_are_forgotten_if_no_program_is_in_flight() {
        let mut rig = Rig::new(
            r"flash = { part = 'K9K8G08U0M', channels = 1, chips = 2, blocks = 40, pages = 16, planes = 1 }
[ftl]
kind = 'page'
over-provisioning = '60%'",
        );
        let ftl = rig.ftl.downcast_mut::<PageFtl>().expect("a page map");
        assert!(!ftl.writer.forgotten(&ftl.blocks, &ftl.mapping), "none waits");
        let unit = PageWrite {
            lpn: Lpn::new(0),
            owner: None,
            at: 0,
            mask: 1,
            version: 1,
            old_place: OldPlace::Unasked,
            stream: None,
        };
        ftl.writer.unplaced[0].push_back(unit);
        assert!(ftl.writer.forgotten(&ftl.blocks, &ftl.mapping));
        ftl.blocks.pools[1].in_flight = 1;
        assert!(!ftl.writer.forgotten(&ftl.blocks, &ftl.mapping), "a program's end will place it");
    }
}
