//! Static wear levelling: moves cold data to worn superblocks, so that fresh ones take part in writes.

use base::units::SuperblockId;
use flash::backend::{Cause, Observer};
use flash::nand::{Media, Sector, Stream};

use super::PageFtl;
use super::blocks::State;
use super::pool::Holds;
use crate::port::Flash;
use crate::sabotage::Sabotage;

impl PageFtl {
    /// Checks, every `check_every` erases, whether the least worn superblock with data lags too far behind the most
    /// worn free one. If so, moves its data there.
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
        let with_pages = self.pools_for(Holds::Pages).find(|other| *other == self.groups + pool);
        let pages = with_pages.and_then(coldest);
        let data = coldest(pool);
        // Translation pages that are never stored again cause no wear: their superblocks take part like the others.
        if with_pages
            .is_some_and(|pages| self.rotate_idle(pool, pages, |erases| worn - erases.min(worn) > threshold, media))
        {
            return;
        }
        let lags = |least: &(u32, SuperblockId)| worn - least.0.min(worn) > threshold;
        if let (Some(other), Some((_, coldest))) = (with_pages, pages.filter(lags))
            && data.is_none_or(|data| pages.is_some_and(|pages| pages < data))
        {
            if self.pools[other as usize].gc.victims.is_empty() {
                self.take_victim(other, coldest, Cause::Wear);
            } else {
                // The pool is collecting: the check is postponed, not given up.
                self.pools[pool as usize].gc.since_check = self.wear.check_every;
            }
            return;
        }
        let Some((_, coldest)) = data.filter(lags) else { return };
        // Copies get a superblock of their own, the most worn. The one open for copies is closed early.
        self.close_early(pool, self.copies());
        self.pools[pool as usize].gc.want_worn = true;
        self.take_victim(pool, coldest, Cause::Wear);
    }

    /// Rotates an idle superblock of `pages`. If the map unit stores little, the free and open superblocks for
    /// translation pages see no wear either: a free one that lags changes places with the most worn free one of the
    /// data pool beside it, and an open one is closed early. Returns true if there was one.
    fn rotate_idle<S: Sector>(&mut self, data: u32, pages: u32, lags: impl Fn(u32) -> bool, media: &Media<S>) -> bool {
        let open = [Stream::Host, Stream::Copies].into_iter().find(|stream| {
            let open = self.pools[pages as usize].open[*stream];
            open.is_some_and(|open| open.next > 0 && lags(media.erases(open.superblock)))
        });
        if self.pools[pages as usize].free.least_worn().is_some_and(&lags) {
            let rested = self.pools[pages as usize].free.pop_least_worn().expect("there is a least worn");
            let worn = self.pools[data as usize].free.pop_most_worn().expect("there is a most worn");
            for (pool, superblock) in [(data, rested), (pages, worn)] {
                self.blocks.set_map(superblock, pool == pages);
                self.pools[pool as usize].free.push(superblock, media.erases(superblock));
            }
            return true;
        }
        open.is_some_and(|stream| self.close_early(pages, stream))
    }

    /// Closes an open superblock before it is full. Returns false if there is none, or a program of it is under
    /// assembly.
    fn close_early(&mut self, pool: u32, stream: Stream) -> bool {
        if stream == Stream::Host && self.pools[pool as usize].program.is_some() {
            return false;
        }
        let Some(open) = self.pools[pool as usize].open(stream).take() else { return false };
        self.blocks.set_state(open.superblock, State::Full);
        if !self.blocks.has_programs(open.superblock) {
            self.close(open.superblock);
        }
        true
    }
}
