//! Static wear levelling: cold data is moved onto worn superblocks, so that fresh ones come into play.

use flash::backend::{Cause, Observer};
use flash::nand::{Sector, Stream};

use super::PageFtl;
use super::blocks::State;
use crate::ftl::Flash;
use crate::sabotage::Sabotage;

impl PageFtl {
    /// Looks now and then whether the least worn superblock that holds data lags too far behind the most
    /// worn free one; if so its data goes there.
    pub(super) fn level_wear<S: Sector, O: Observer>(&mut self, flash: &mut Flash<'_, S, O>, pool: u32) {
        let Some(threshold) = self.wear.threshold.filter(|_| !self.planted.is(Sabotage::NeverLevels)) else { return };
        let chosen = &mut self.pools[pool as usize];
        chosen.gc.since_check += 1;
        if chosen.gc.since_check < self.wear.check_every || !chosen.gc.victims.is_empty() || chosen.free.len() < 2 {
            return;
        }
        chosen.gc.since_check = 0;
        let media = flash.backend.media();
        let Some(worn) = chosen.free.most_worn() else { return };
        let coldest = |pool| {
            let closed = self.victims[self.kind_in(pool)].closed(pool);
            closed.map(|superblock| (media.erases(superblock), superblock)).min()
        };
        let pages = self.pools_for(1).find(|other| *other == self.groups + pool).and_then(coldest);
        let Some((least, coldest)) = coldest(pool) else { return };
        if let Some((least, coldest)) = pages.filter(|(pages, _)| *pages < least) {
            // Translation pages that are never stored again wear nothing. Theirs goes round like the others.
            let pool = self.groups + pool;
            if worn - least.min(worn) > threshold && self.pools[pool as usize].gc.victims.is_empty() {
                self.take_victim(pool, coldest, Cause::Wear);
            }
            return;
        }
        if worn - least.min(worn) <= threshold {
            return;
        }
        // Copies get a superblock of their own: the most worn. What was open for copies is closed early.
        if let Some(open) = self.pools[pool as usize].open(Stream::Copies).take() {
            self.blocks.set_state(open.superblock, State::Full);
            if !self.blocks.has_programs(open.superblock) {
                self.close(open.superblock);
            }
        }
        self.pools[pool as usize].gc.want_worn = true;
        self.take_victim(pool, coldest, Cause::Wear);
    }
}
