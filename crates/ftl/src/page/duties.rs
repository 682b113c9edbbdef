//! What the page-mapped FTL does beside requests.

use base::units::{Lpn, Time};
use flash::nand::Media;

use super::PageFtl;
use crate::port::{Background, Flash, Owners, PowerCycle, Preconditioning};

impl Background for PageFtl {
    fn run_due(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners) {
        self.now = flash.now;
        self.advance_map(flash, owners);
        self.collect_on_time(flash, owners);
        let stores = self.trims_are_due() || self.checkpoint_is_due();
        self.store_trims(flash, owners);
        self.store_checkpoint(flash, owners);
        if stores {
            // Their pages may have ended the turn of a block.
            self.announce_room(owners);
        }
    }

    fn wake(&mut self, now: Time) {
        self.wake_pools(now);
        self.wake(now);
    }

    fn work_alone(&mut self, flash: &mut Flash<'_>, until: Time, stepped: &mut dyn FnMut(Time)) -> bool {
        self.map_works_alone(flash, until, stepped)
    }

    fn on_cpu_done(&self, flash: &mut Flash<'_>, token: u32) {
        Self::prepared(flash, token);
    }
}

impl PowerCycle for PageFtl {
    fn found(&self) -> u32 {
        self.found
    }

    fn is_recovering(&self) -> bool {
        self.is_rewriting()
    }

    fn stale_pages(&self) -> u32 {
        self.stale_pages()
    }

    fn recover(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners) {
        self.rewrite(flash, owners);
    }

    fn power_off(&mut self, now: Time) {
        self.flush_map(now);
        self.want_checkpoint();
    }
}

impl Preconditioning for PageFtl {
    fn begin(&mut self, media: &Media) {
        self.begin_preconditioning(media);
    }

    fn set_timed(&mut self, timed: bool) {
        self.placer.set_timed(timed);
        self.set_timed(timed);
    }

    fn close_programs(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners) {
        self.close_programs(flash, owners);
    }

    fn gathered(&self, flash: &Flash<'_>, into: &mut Vec<Lpn>) {
        self.gathered(flash, into);
    }
}
