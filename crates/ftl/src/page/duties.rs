//! Work beside requests: the map unit, trim pages, checkpoints, recovery, preconditioning.

use base::io::PlacementId;
use base::units::{Bytes, Lpn, Time};
use flash::backend::Cause;
use flash::nand::{Media, Stream};

use super::PageFtl;
use super::mapping::Mapping;
use super::writer::firmware::Firmware;
use crate::port::{Background, Flash, HostMemoryBuffer, Owners, PowerCycle, Preconditioning, ReclaimUnitHandles};

impl Background for PageFtl {
    fn run_due(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners) {
        self.blocks.now = flash.now;
        self.advance_map(flash, owners);
        let is_due = self.collector.take_due() | self.blocks.dead_dies.take_due();
        if self.blocks.becomes_idle(flash) || is_due {
            (0..self.blocks.groups).for_each(|pool| self.start_gc(flash, owners, pool));
        }
        if let Some(psn) = self.blocks.patrol_read(flash) {
            self.patrol(flash, psn);
        }
        let stores = self.mapping.side_pages_are_due(&self.blocks);
        self.store_trims(flash, owners);
        self.store_checkpoint(flash, owners);
        if stores {
            // The programs of these pages may have ended the turn of a block.
            self.writer.announce_room(owners);
        }
    }

    fn wake(&mut self, now: Time) {
        if let Some(pace) = &mut self.collector.pace {
            pace.wake(now);
        }
        self.blocks.wake(now);
        self.mapping.wake(now);
    }

    fn work_alone(&mut self, flash: &mut Flash<'_>, until: Time, stepped: &mut dyn FnMut(Time)) -> bool {
        self.map_works_alone(flash, until, stepped)
    }

    fn on_cpu_done(&self, flash: &mut Flash<'_>, token: u32) {
        Firmware::prepared(flash, token);
    }
}

impl HostMemoryBuffer for PageFtl {
    fn give_host_memory(&mut self, now: Time, size: Bytes) -> Time {
        self.mapping.host_memory().map_or(now, |memory| memory.give(now, size))
    }
}

impl ReclaimUnitHandles for PageFtl {
    fn note_identifier(&mut self, now: Time, id: PlacementId) {
        self.blocks.note_identifier(now, id);
    }

    fn has_handle(&self, id: PlacementId) -> bool {
        self.blocks.stream_of(id).is_some()
    }

    fn update_handle(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, set: u32, id: PlacementId) {
        self.blocks.now = flash.now;
        let Some(stream) = self.blocks.stream_of(id) else { return };
        for i in 0..self.blocks.sets[set as usize].len() {
            let pool = self.blocks.sets[set as usize][i];
            self.writer.leave_superblock(&mut self.blocks, flash, pool, stream);
            self.start_gc(flash, owners, pool);
        }
    }
}

impl PowerCycle for PageFtl {
    fn found(&self) -> u32 {
        self.mapping.found
    }

    fn is_recovering(&self) -> bool {
        self.mapping.is_rewriting()
    }

    fn stale_pages(&self) -> u32 {
        self.mapping.stale_pages()
    }

    fn recover(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners) {
        if self.blocks.parity.is_some() {
            flash.backend.media_mut().make_all_again();
        }
        for die in self.blocks.unknown_dead_dies(flash) {
            self.blocks.note_dead_die(flash, die);
        }
        self.blocks.complete_stripes(flash);
        self.move_unprotected(flash, owners);
        let sectors = self.blocks.layout.shape.sectors;
        for unit in self.mapping.stage_stale_pages(flash.backend.media_mut(), sectors) {
            self.write(flash, owners, unit);
        }
        self.end_write(flash, owners);
    }

    fn power_off(&mut self, now: Time) {
        self.mapping.flush_map(now);
        if let Some(checkpoints) = &mut self.mapping.checkpoints {
            checkpoints.want();
        }
    }
}

impl Preconditioning for PageFtl {
    fn begin(&mut self, media: &Media) {
        self.mapping.begin_preconditioning(media);
    }

    fn set_timed(&mut self, timed: bool) {
        self.writer.placer.set_timed(timed);
        self.mapping.set_timed(timed);
    }

    fn close_programs(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners) {
        self.close_programs(flash, owners);
    }

    fn gathered(&self, flash: &Flash<'_>, into: &mut Vec<Lpn>) {
        self.blocks.gathered(flash, into);
    }
}

impl PageFtl {
    /// At a mount: begins to move data that has lost its protection by parity.
    #[cold]
    pub(super) fn move_unprotected(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners) {
        for pool in 0..self.blocks.pools.len() as u32 {
            let unprotected = !self.blocks.pools[pool as usize].gc.unprotected.is_empty();
            if unprotected || self.blocks.may_rebuild(flash, pool) {
                self.start_gc(flash, owners, pool);
            }
        }
    }

    /// Stores the dirty trim pages.
    fn store_trims(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners) {
        let (planted, sectors, mut stored) = (self.blocks.planted, self.blocks.layout.shape.sectors, false);
        while let Mapping { trims: Some(trims), versions, .. } = &mut self.mapping
            && let Some(unit) = trims.stage(flash.backend.media_mut(), versions, planted, sectors)
        {
            self.write(flash, owners, unit);
            stored = true;
        }
        if stored {
            self.end_write(flash, owners);
        }
    }

    /// Begins a checkpoint, or stores its next pages.
    fn store_checkpoint(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners) {
        self.mapping.begin_due_checkpoint(&self.blocks, flash.backend.media_mut());
        let mut stored = false;
        while let Some(pages) = self.mapping.next_checkpoint_pages(&self.blocks) {
            self.writer.begin_request(&self.blocks, 0);
            for page in pages {
                let unit = self.mapping.stage_checkpoint_page(&self.blocks, flash.backend.media_mut(), page);
                if let Some(unit) = unit {
                    self.write(flash, owners, unit);
                }
            }
            // Pages of a checkpoint are sent at once, because they wait for no data of the host.
            for i in 0..self.writer.touched.len() {
                let pool = self.writer.touched[i];
                self.blocks.pools[pool as usize].queue.turn_to(Stream::HOST);
                let of_map = |command| flash.backend.command(command).cause == Cause::Map;
                if self.blocks.pools[pool as usize].queue.open.program.is_some_and(|assembly| of_map(assembly.command))
                {
                    self.writer.send(&mut self.blocks, flash, pool);
                }
            }
            stored = true;
        }
        if stored {
            self.end_write(flash, owners);
        }
    }
}
