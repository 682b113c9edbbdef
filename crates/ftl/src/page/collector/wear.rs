//! Static wear levelling: moves cold data to worn superblocks, so that little worn superblocks take part in writes.
//!
//! A move wears the drive itself. It erases a superblock, and if the map is on flash, each unit that it moves may store
//! a translation page. A small pool of translation pages erases a superblock for each store, so moves would call for
//! more moves for ever. So between two mapping units that the host writes, a pool moves at most as many superblocks as
//! it has.

use base::units::SuperblockId;
use flash::backend::Cause;
use flash::nand::Media;

use super::Collector;
use crate::page::block_manager::pool::Holds;
use crate::port::Flash;
use crate::sabotage::Sabotage;

impl Collector<'_> {
    /// Checks, every `check_every` erases, whether the least worn superblock with data lags too far behind the most
    /// worn free one. If so, moves its data to that free superblock.
    pub(in crate::page) fn level_wear(&mut self, flash: &mut Flash<'_>, pool: u32) {
        if let Some(threshold) = self.state.wear.threshold.filter(|_| !self.blocks.planted.is(Sabotage::NeverLevels)) {
            self.level(flash, pool, threshold);
            self.writer.store_parity(self.blocks, flash);
        }
    }

    fn level(&mut self, flash: &Flash<'_>, pool: u32, threshold: u32) {
        let media = flash.backend.media();
        match self.next_check(pool) {
            WearCheck::Later => return,
            WearCheck::AfterVictims => return self.pad_if_any_lags(media, pool, threshold),
            WearCheck::Now => {}
        }
        let chosen = &mut self.blocks.pools[pool as usize];
        (chosen.gc.levelling.since_check, chosen.gc.levelling.pads) = (0, false);
        let Some(worn) = chosen.free.most_worn() else { return };
        let lags = |erases: u32| worn - erases.min(worn) > threshold;
        let layout = &self.blocks.layout;
        let victims = chosen.gc.victims.iter_mut();
        for victim in victims.filter(|victim| lags(layout.erases(media, victim.superblock))) {
            victim.cause = Cause::Wear;
        }
        let with_pages = self.blocks.pools_for(Holds::Pages).find(|other| *other == self.blocks.groups + pool);
        if self.moves_idle(media, pool, with_pages, lags) {
            self.blocks.pools[pool as usize].gc.levelling.moves += 1;
            return;
        }
        let pages = with_pages.and_then(|other| self.coldest(media, other));
        let data = self.coldest(media, pool);
        let lags = |coldest: &(u32, SuperblockId)| lags(coldest.0);
        if let (Some(other), Some((_, coldest))) = (with_pages, pages.filter(lags))
            && data.is_none_or(|data| pages.is_some_and(|pages| pages < data))
        {
            self.move_pages(pool, other, coldest);
        } else if let Some((_, coldest)) = data.filter(lags) {
            self.move_data(pool, coldest);
        }
    }

    /// Counts a superblock, and returns the time of the pool's next check.
    fn next_check(&mut self, pool: u32) -> WearCheck {
        let chosen = &mut self.blocks.pools[pool as usize];
        chosen.gc.levelling.since_check += 1;
        let end = self.blocks.layout.shape.superblock_slots();
        let gathers = chosen.gc.victims.iter().any(|victim| victim.cursor < end);
        if chosen.gc.levelling.since_check < self.state.wear.check_every || gathers || chosen.free.len() < 2 {
            return WearCheck::Later;
        }
        if chosen.gc.levelling.checked_at != self.state.programmed {
            (chosen.gc.levelling.checked_at, chosen.gc.levelling.moves) = (self.state.programmed, 0);
        }
        if chosen.gc.levelling.moves >= chosen.usable {
            return WearCheck::Later;
        }
        // With several streams of copies, victims may wait for ever until their copies fill a program. The check does
        // not wait for such victims.
        let waits = chosen.gc.sorted.is_empty() && !chosen.gc.victims.is_empty();
        if waits { WearCheck::AfterVictims } else { WearCheck::Now }
    }

    /// Lets the last copies of a pool's victims be padded if a superblock lags. The check waits for the victims, whose last
    /// copies may not fill a program, and each further victim may leave such copies as well.
    fn pad_if_any_lags(&mut self, media: &Media, pool: u32, threshold: u32) {
        let worn = self.blocks.pools[pool as usize].free.most_worn();
        let lags = worn.zip(self.coldest(media, pool)).is_some_and(|(worn, (least, _))| worn > least + threshold);
        self.blocks.pools[pool as usize].gc.levelling.pads = lags;
    }

    /// The closed superblock of a pool with the fewest erases, and their number.
    fn coldest(&self, media: &Media, pool: u32) -> Option<(u32, SuperblockId)> {
        let closed = self.blocks.victims[self.blocks.kind_in(pool)].closed(pool);
        closed.map(|superblock| (self.blocks.layout.erases(media, superblock), superblock)).min()
    }

    /// Brings a superblock that sees no wear back into use, if one lags: one with translation pages that are never stored
    /// again, or the open superblock of a stream that is not written. Returns false if there is none.
    fn moves_idle(
        &mut self,
        media: &Media,
        pool: u32,
        with_pages: Option<u32>,
        lags: impl Fn(u32) -> bool + Copy,
    ) -> bool {
        if with_pages.is_some_and(|pages| self.blocks.rotate_idle(pool, pages, lags, media)) {
            return true;
        }
        let Some(stream) = self.writer.lagging_stream(self.blocks, pool, lags, media) else { return false };
        self.blocks.close_early(pool, stream);
        true
    }

    /// Collects the coldest superblock with translation pages of a pool. `other` is the pool of the translation pages.
    fn move_pages(&mut self, pool: u32, other: u32, coldest: SuperblockId) {
        if self.blocks.pools[other as usize].gc.victims.is_empty() {
            self.blocks.pools[pool as usize].gc.levelling.moves += 1;
            self.take_victim(other, coldest, Cause::Wear);
        } else {
            // The pool is collecting: the check is postponed, not given up.
            self.blocks.pools[pool as usize].gc.levelling.since_check = self.state.wear.check_every;
        }
    }

    /// Collects the coldest superblock with data of a pool. The copies get the most worn free superblock for themselves, so
    /// the superblock that is open for copies is closed early.
    fn move_data(&mut self, pool: u32, coldest: SuperblockId) {
        let chosen = &self.blocks.pools[pool as usize];
        let (apart, free) = (!chosen.gc.sorted.is_empty(), chosen.free.len() - 1);
        if apart && !self.blocks.copies_fit(pool, free, self.blocks.table.valid(coldest)) {
            // The check is postponed until the waiting copies have gone.
            self.blocks.pools[pool as usize].gc.levelling.since_check = self.state.wear.check_every;
            return;
        }
        let copies = self.writer.stream_of_copies(self.blocks, pool, coldest);
        self.blocks.close_early(pool, copies);
        let gc = &mut self.blocks.pools[pool as usize].gc;
        (gc.levelling.want_worn, gc.levelling.moves) = (true, gc.levelling.moves + 1);
        self.take_victim(pool, coldest, Cause::Wear);
    }
}

/// The time of a pool's next check of wear.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WearCheck {
    Now,
    /// When the victims that the pool collects have gone.
    AfterVictims,
    Later,
}

#[cfg(test)]
mod tests {
    use base::units::Time;
    use flash::backend::{Cause, Op};

    use crate::rig::Rig;

    /// The number of events until the drive is idle after the writes; none if it never is.
    fn events_until_idle(rig: &mut Rig) -> Option<u32> {
        (0..200_000).find(|_| !rig.step())
    }

    #[test]
    fn levelling_ends_where_each_move_wears_more_than_it_levels() {
        // The translation page has two superblocks of two word lines: each store copies the page and erases one of
        // them. A move of a data superblock stores the page up to 32 times.
        let mut rig = Rig::new(
            r"flash = { part = 'FMMU-V2', channels = 1, chips = 1, blocks = 19, pages = 4, planes = 2 }
[ftl]
kind = 'page'
map-unit = '4KiB'
capacity = '640KiB'
map = { kind = 'uncached' }
gc = { shared-log = true }
wear = { threshold = 4, check-every = 4 }",
        );
        let units = rig.units();
        rig.write(&(0..units).collect::<Vec<_>>(), None);
        assert!(events_until_idle(&mut rig).is_some());
        // Each write fills a word line, so that each superblock is moved whole.
        let hot: Vec<u32> = (units - 16..units).collect();
        for i in 0..100 {
            rig.write(&hot, None);
            assert!(events_until_idle(&mut rig).is_some(), "the drive levels wear for ever after {i} writes");
        }
        let wear = rig.backend.account(Time::ZERO).at(Op::Erase, Cause::Wear).commands;
        assert!(wear >= 4, "{wear} superblocks were moved");
        assert_eq!((rig.host.written, rig.host.refused), (units + 1_600, 0));
    }
}
