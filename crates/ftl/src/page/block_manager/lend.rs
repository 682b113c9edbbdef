//! Exchange of superblocks between the pool of data of a plane group and its pool of translation pages.

use std::ops::Range;

use base::units::SuperblockId;
use flash::nand::{BlockBirth, Media, Spare, Stream};

use super::BlockManager;
use super::reserve::reserved;
use crate::page::streams::StreamCount;
use crate::sabotage::Sabotage;

impl BlockManager {
    pub(in crate::page) const fn home_of(&self, page: u32) -> u32 {
        self.groups + page % self.groups
    }

    /// Gives the pools of translation pages their superblocks: first those that hold such pages, then those whose
    /// content is unknown, then free superblocks. So each pool has at least the superblocks that it had before the
    /// power cut.
    pub(in crate::page) fn part_pools(
        &mut self,
        map_pages: Range<u32>,
        media: &Media,
        programmed: &[(BlockBirth, SuperblockId)],
    ) {
        if map_pages.is_empty() {
            return;
        }
        let holds = |superblock: SuperblockId, data: bool| {
            let slots = (0..self.layout.shape.superblock_slots()).map(|offset| self.layout.slot(superblock, offset));
            slots.map(|psn| media.spare(psn)).any(|spare| match spare {
                Spare::Data { lpn, .. } => map_pages.contains(&lpn.get()) != data,
                Spare::Empty | Spare::Torn => false,
            })
        };
        let mut chosen = Vec::new();
        let mut unknown = Vec::new();
        for (_, superblock) in programmed.iter().filter(|(_, superblock)| !self.is_set_aside(*superblock)) {
            match (holds(*superblock, true), holds(*superblock, false)) {
                (false, true) => chosen.push(*superblock),
                (false, false) => unknown.push(*superblock),
                (true, _) => {}
            }
        }
        for superblock in chosen.into_iter().chain(unknown) {
            let group = self.layout.shape.group_of(superblock);
            let pool = (self.groups + group) as usize;
            if self.pools[pool].lacks(self.layout.shape.superblock_slots()) {
                self.table.set_map(superblock, true);
                self.move_usable(superblock, group, pool as u32);
                self.pools[group as usize].usable += u32::from(self.planted.is(Sabotage::RoomCountedTwice));
            }
        }
        for group in 0..self.groups {
            while self.pools[(self.groups + group) as usize].lacks(self.layout.shape.superblock_slots()) {
                let before = self.pools[group as usize].usable;
                self.hand_over(group);
                if self.pools[group as usize].usable == before {
                    break;
                }
            }
        }
    }

    /// Moves a free superblock from the data pool to the pool of translation pages beside it.
    pub(in crate::page) fn hand_over(&mut self, group: u32) {
        let Some((superblock, erases)) = self.pools[group as usize].free.pop_with_wear() else { return };
        self.table.set_map(superblock, true);
        self.move_usable(superblock, group, self.groups + group);
        let pool = &mut self.pools[(self.groups + group) as usize];
        pool.stuck = false;
        pool.free.push(superblock, erases);
    }

    /// Moves a free superblock from the data pool to the pool of translation pages beside it, if the latter has too few
    /// and the former more than `keep` free ones. Returns true if a superblock was moved.
    pub(in crate::page) fn lend_block(&mut self, group: u32, keep: u32) -> bool {
        let Some(pool) = self.pools.get(self.groups as usize + group as usize) else { return false };
        let lacks = pool.lacks(self.layout.shape.superblock_slots()) && self.pools[group as usize].free.len() > keep;
        if lacks {
            self.hand_over(group);
        }
        lacks
    }

    /// Moves a free superblock from a pool of translation pages to the data pool beside it, which has no free one. Only
    /// done if the remaining superblocks hold the translation pages and leave one to collect into. The next superblock
    /// that the data pool can spare goes back.
    pub(in crate::page) fn take_back(&mut self, group: u32) -> bool {
        let (slots, program) = (self.layout.shape.superblock_slots(), self.program_slots());
        let Some(pages) = self.pools.get_mut((self.groups + group) as usize) else { return false };
        if pages.free.len() < 2 || pages.limit_of(pages.usable - 1, slots) < pages.live + program {
            return false;
        }
        let Some((superblock, erases)) = pages.free.pop_with_wear() else { return false };
        self.move_usable(superblock, self.groups + group, group);
        self.table.set_map(superblock, false);
        self.pools[group as usize].free.push(superblock, erases);
        true
    }

    /// Gives a plane group without a pool of translation pages such a pool, if a plane group has enough free
    /// superblocks.
    pub(in crate::page) fn found_pool_of_pages(&mut self) -> bool {
        let without = (0..self.groups).filter(|group| self.pools[(self.groups + group) as usize].quota == 0);
        let richest = without.max_by_key(|group| (self.pools[*group as usize].free.len(), std::cmp::Reverse(*group)));
        let reserved = reserved(self.gc.shared_log, StreamCount::ONE);
        let Some(group) = richest.filter(|group| self.pools[*group as usize].free.len() > reserved + 1) else {
            return false;
        };
        self.pools[(self.groups + group) as usize].quota = reserved + 1;
        (0..=reserved).for_each(|_| self.hand_over(group));
        true
    }

    /// The last resort when a translation page finds no space: its pool, or another pool, takes a superblock from data,
    /// even the superblock that data collection would copy into. Returns true if there is space now.
    pub(in crate::page) fn make_room_for_pages(&mut self, page: u32) -> bool {
        let home = self.home_of(page) - self.groups;
        [1, 0].into_iter().any(|keep| (0..self.groups).any(|i| self.lend_block((home + i) % self.groups, keep)))
            || self.found_pool_of_pages()
    }

    /// A pool whose log has room for a translation page beside the pool's own copies, if there is one; it may be a data
    /// pool. Used when no superblock is left for translation pages.
    ///
    /// Data waits for the page, so the page must not wait for data. The answers that the page brings let data
    /// collection go on, and after that the page's old superblock can be erased.
    pub(in crate::page) fn pool_for_last_page(&self) -> Option<u32> {
        let program = self.program_slots();
        let room = |pool: &u32| {
            let chosen = &self.pools[*pool as usize];
            let free = chosen.free.len();
            let Some(open) = chosen.open[Stream::HOST] else {
                return self.gc.shared_log && self.keeps_room(*pool, free);
            };
            let next = chosen.queue.open.program.map_or(open.next, |program| program.end);
            let full = next + program > self.layout.shape.superblock_slots();
            !full && (!self.gc.shared_log || self.keeps_room(*pool, free))
        };
        (self.groups..self.pools.len() as u32).chain(0..self.groups).find(room)
    }

    /// Rotates a little worn superblock out of the pool `pages`, for wear levelling. If the map unit stores little, the
    /// free and open superblocks for translation pages see no wear. A free superblock that `lags` changes places with
    /// the most worn free superblock of the data pool beside it, and an open superblock that lags is closed early.
    /// Returns true if a superblock lagged.
    pub(in crate::page) fn rotate_idle(
        &mut self,
        data: u32,
        pages: u32,
        lags: impl Fn(u32) -> bool,
        media: &Media,
    ) -> bool {
        let open = [Stream::HOST, Stream::COPIES].into_iter().find(|stream| {
            let open = self.pools[pages as usize].open[*stream];
            open.is_some_and(|open| open.next > 0 && lags(self.layout.erases(media, open.superblock)))
        });
        if self.pools[pages as usize].free.least_worn().is_some_and(&lags) {
            let rested = self.pools[pages as usize].free.pop_least_worn().expect("there is a least worn");
            let worn = self.pools[data as usize].free.pop_most_worn().expect("there is a most worn");
            for (from, pool, superblock) in [(pages, data, rested), (data, pages, worn)] {
                self.table.set_map(superblock, pool == pages);
                self.move_usable(superblock, from, pool);
                self.pools[pool as usize].free.push(superblock, self.layout.erases(media, superblock));
            }
            return true;
        }
        open.is_some_and(|stream| self.close_early(pages, stream))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::superblocks;

    #[test]
    fn a_pool_of_translation_pages_takes_a_missing_superblock_from_the_data_pool_of_its_die() {
        // Two dies with a translation page each.
        let text = r"flash = { part = 'K9K8G08U0M', channels = 1, chips = 2, blocks = 80, pages = 16, planes = 1 }
[ftl]
kind = 'page'
over-provisioning = '60%'
map = { kind = 'uncached' }";
        for (lacking, page) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let mut blocks = superblocks(text);
            assert_eq!((blocks.groups, blocks.pools.len()), (2, 4));
            (0..2).for_each(|group| while blocks.lend_block(group, 0) {});
            assert!(!blocks.make_room_for_pages(page), "both pools have their superblocks");
            let pool = 2 + lacking;
            blocks.pools[pool].usable -= 1;
            let free = blocks.pools[lacking].free.len();
            assert!(blocks.make_room_for_pages(page));
            assert_eq!(
                (blocks.pools[pool].usable, blocks.pools[lacking].free.len()),
                (blocks.pools[pool].quota, free - 1)
            );
            assert!(!blocks.make_room_for_pages(page), "and no more");
        }
    }

    #[test]
    fn what_a_data_pool_takes_back_returns_to_the_pool_of_translation_pages() {
        let text = r"flash = { part = 'K9K8G08U0M', channels = 1, chips = 1, blocks = 40, pages = 16, planes = 1 }
[ftl]
kind = 'page'
over-provisioning = '60%'
map = { kind = 'uncached' }";
        let mut blocks = superblocks(text);
        while blocks.lend_block(0, 0) {}
        let (data, pages) = (blocks.pools[0].usable, blocks.pools[1].usable);
        assert!(blocks.take_back(0), "its pages need no superblock yet");
        assert_eq!((blocks.pools[0].usable, blocks.pools[1].usable), (data + 1, pages - 1));
        assert!(blocks.lend_block(0, 0));
        assert_eq!((blocks.pools[0].usable, blocks.pools[1].usable), (data, pages));
        // The pool's reserve keeps the superblocks that its pages need.
        blocks.pools[1].live = blocks.pools[1].limit(blocks.layout.shape.superblock_slots());
        assert!(!blocks.take_back(0));
    }
}
