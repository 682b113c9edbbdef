//! The static part of the SLC cache: superblocks that are never in full mode.
//!
//! Each pool sets aside its first superblocks by number, so that a mount knows them. The pool counts them neither as
//! usable nor as free. Nothing but host data goes there, and only folding, refresh and the move out of a failing
//! superblock empty them.
//!
//! Emptying such a superblock takes space from the pool and frees no full superblock. So the pool keeps one more
//! superblock free, and folds one of the static part only if the data of the cheapest victim would still find a place
//! afterwards.

use base::units::SuperblockId;
use flash::nand::{Geometry, Media, Mode, Stream};

use super::bytes_in_slc_mode;
use crate::page::PageConfig;
use crate::page::block_manager::BlockManager;
use crate::page::block_manager::pool::Holds;
use crate::page::block_manager::table::SuperblockState;
use crate::page::slc_cache_spec::SlcCacheSpec;
use crate::port::Flash;
use crate::sabotage::Sabotage;
use crate::toolkit::FreeList;

#[derive(Clone, Debug)]
pub(in crate::page) struct SlcReserve {
    /// Number of superblocks that each pool sets aside, including bad superblocks.
    each: u32,
    /// The free superblocks among those set aside, for each pool.
    free: Vec<FreeList>,
    /// The number of these superblocks that are not bad, for each pool.
    usable: Vec<u32>,
}

/// The number of superblocks that each pool sets aside, if a cell holds `bits` bits in full mode.
pub(in crate::page) fn each(spec: &SlcCacheSpec, geometry: &Geometry, bits: u32) -> u32 {
    let pools = u64::from(geometry.die_count()) * u64::from(geometry.groups());
    (spec.set_aside.get() / (bytes_in_slc_mode(geometry, bits).get() * pools).max(1)) as u32
}

impl SlcReserve {
    pub(super) fn new(config: &PageConfig) -> Option<Self> {
        let each = config.map_pages.set_aside;
        let pools = (config.geometry.die_count() * config.geometry.groups()) as usize;
        (each > 0).then(|| Self { each, free: vec![FreeList::new(true, each); pools], usable: vec![0; pools] })
    }

    pub(super) fn memory(config: &PageConfig) -> u64 {
        let pools = u64::from(config.geometry.die_count()) * u64::from(config.geometry.groups());
        let lists = size_of::<FreeList>() as u64 + FreeList::memory(u64::from(config.map_pages.set_aside));
        if config.map_pages.set_aside > 0 { pools * (lists + size_of::<u32>() as u64) } else { 0 }
    }

    /// The number of a pool's superblocks set aside that are bad.
    pub(super) fn lost(&self, pool: u32) -> u32 {
        self.each - self.usable[pool as usize]
    }
}

impl BlockManager {
    fn set_aside(&self) -> Option<&SlcReserve> {
        self.slc_cache.as_ref()?.set_aside.as_ref()
    }

    fn set_aside_mut(&mut self) -> Option<&mut SlcReserve> {
        self.slc_cache.as_mut()?.set_aside.as_mut()
    }

    #[inline]
    pub(in crate::page) fn is_set_aside(&self, superblock: SuperblockId) -> bool {
        self.set_aside().is_some_and(|of| superblock.get() % self.layout.shape.blocks < of.each)
    }

    /// The number of a pool's superblocks that are set aside and free.
    fn free_set_aside(&self, pool: u32) -> u32 {
        self.set_aside().and_then(|of| of.free.get(pool as usize)).map_or(0, FreeList::len)
    }

    /// Free superblocks of all pools that are set aside.
    pub(in crate::page) fn all_free_set_aside(&self) -> u64 {
        self.set_aside().map_or(0, |of| of.free.iter().map(|list| u64::from(list.len())).sum())
    }

    /// True if the next superblock that the host opens for a stream is one set aside: the host then needs no other free
    /// superblock.
    pub(in crate::page) fn opens_set_aside(&self, flash: &Flash<'_>, pool: u32, stream: Stream) -> bool {
        self.free_set_aside(pool) > 0
            && flash.backend.is_timed()
            && self
                .slc_cache
                .as_ref()
                .is_some_and(|cache| stream.number() < cache.streams && self.cache_has_room(cache, pool))
    }

    /// Takes a free superblock for data in a mode. SLC mode prefers superblocks set aside. Otherwise the least worn
    /// superblock of the pool is taken, or the most worn if `worn`.
    pub(in crate::page) fn take_free(&mut self, mode: Mode, pool: u32, worn: bool) -> Option<SuperblockId> {
        let set_aside = self.set_aside_mut().filter(|_| mode == Mode::Slc);
        if let Some(superblock) = set_aside.and_then(|of| of.free[pool as usize].pop()) {
            return Some(superblock);
        }
        let free = &mut self.pools[pool as usize].free;
        if worn { free.pop_most_worn() } else { free.pop() }
    }

    /// Adds a free superblock to its pool's free list, or to the pool's list of superblocks set aside.
    pub(in crate::page) fn give_free(&mut self, pool: u32, superblock: SuperblockId, erases: u32) {
        let is_set_aside = self.is_set_aside(superblock) && !self.planted.is(Sabotage::StaticPartLent);
        match self.set_aside_mut().filter(|_| is_set_aside) {
            Some(of) => of.free[pool as usize].push(superblock, erases),
            None => self.pools[pool as usize].free.push(superblock, erases),
        }
    }

    /// The count of usable superblocks in which a superblock counts: of its pool, or of the superblocks set aside.
    pub(in crate::page) fn usable_with(&mut self, pool: u32, superblock: SuperblockId) -> &mut u32 {
        if !self.is_set_aside(superblock) {
            return &mut self.pools[pool as usize].usable;
        }
        &mut self.set_aside_mut().expect("it is set aside").usable[pool as usize]
    }

    /// True if the valid mapping units of a superblock find a place in free superblocks, behind the copies of all
    /// victims.
    pub(in crate::page) fn finds_place(&self, pool: u32, superblock: SuperblockId) -> bool {
        let free = self.pools[pool as usize].free.len();
        let kept = if self.is_set_aside(superblock) {
            let cheapest = self.victims[Holds::Data].cheapest(pool);
            cheapest.map_or(0, |victim| self.table.valid(victim)).next_multiple_of(self.program_slots())
        } else {
            0
        };
        self.copies_fit(pool, free, self.table.valid(superblock) + kept)
    }

    /// Checks that the superblocks set aside are free or in SLC mode, and counted.
    pub(super) fn check_set_aside(&self, media: &Media) {
        let Some(of) = self.set_aside() else { return };
        let (mut usable, mut free) = (vec![0; of.usable.len()], 0);
        for superblock in (0..self.layout.shape.superblock_count()).map(SuperblockId::new) {
            if !self.is_set_aside(superblock) {
                continue;
            }
            let (state, mode, pool) =
                (self.table.state(superblock), self.table.mode(superblock), self.pool_of(superblock));
            usable[pool as usize] += u32::from(state != SuperblockState::Bad);
            free += u64::from(state == SuperblockState::Free);
            let is_empty = matches!(state, SuperblockState::Free | SuperblockState::Erasing | SuperblockState::Bad)
                || self.layout.is_erased(media, superblock);
            assert!(is_empty || mode == Mode::Slc, "{superblock} is set aside, and {state:?} in {mode:?} mode");
        }
        assert_eq!(of.usable, usable, "superblocks that are set aside and not bad");
        assert_eq!(self.all_free_set_aside(), free, "free superblocks that are set aside");
        for (erases, superblock) in of.free.iter().flat_map(FreeList::entries) {
            assert_eq!(self.table.state(superblock), SuperblockState::Free, "state of {superblock}, which is free");
            assert!(self.layout.is_erased(media, superblock), "{superblock} is free, and not erased");
            assert_eq!(erases, self.layout.erases(media, superblock), "erases of {superblock}, which is free");
        }
    }
}

#[cfg(test)]
mod tests {
    use base::engine::Rng;
    use flash::nand::Stamp;

    use super::super::tests::{cached, drive, stamp, write};
    use super::*;
    use crate::page::PageFtl;
    use crate::rig::Rig;

    const FIRST: SuperblockId = SuperblockId::new(0);

    fn state(rig: &Rig<PageFtl>, superblock: SuperblockId) -> (SuperblockState, Mode) {
        (rig.ftl.blocks.table.state(superblock), rig.ftl.blocks.table.mode(superblock))
    }

    #[test]
    fn the_host_fills_what_is_set_aside_first() {
        let mut rig = drive("size = '480KiB', static = '192KiB', idle = { after = '10ms' }");
        let blocks = &rig.ftl.blocks;
        assert_eq!((blocks.pools[0].usable, blocks.pools[0].free.len(), blocks.free_set_aside(0)), (22, 22, 2));
        write(&mut rig, 0..25, 1);
        let closed = (SuperblockState::Closed, Mode::Slc);
        assert_eq!([FIRST, SuperblockId::new(1)].map(|superblock| state(&rig, superblock)), [closed; 2]);
        let blocks = &rig.ftl.blocks;
        assert_eq!((cached(&rig), blocks.pools[0].free.len(), blocks.free_set_aside(0)), (3, 21, 0));
        rig.run_until_idle();
        assert_eq!(rig.ftl.blocks.free_set_aside(0), 2, "folding gives both back");
    }

    #[test]
    fn nothing_but_folding_empties_it_and_nothing_but_host_data_fills_it() {
        for cache in [
            "size = '192KiB', static = '192KiB', overflow = 'fold'",
            "size = '288KiB', static = '96KiB', overflow = 'fold-beside'",
            "size = '192KiB', static = '192KiB', overflow = 'fold-beside', reuse = '192KiB'",
            "size = '480KiB', static = '288KiB', idle = { after = '2ms' }",
        ] {
            let mut rig = drive(cache);
            let mut rng = Rng::stream(3, "set-aside");
            let mut latest = vec![0; rig.units() as usize];
            for round in 1..120 {
                for _ in 0..40 {
                    let lpn = rng.below(latest.len() as u64) as u32;
                    write(&mut rig, [lpn], round);
                    latest[lpn as usize] = round;
                }
                rig.ftl.check(rig.backend.media());
                if round % 8 == 0 {
                    rig.run_until_idle();
                }
            }
            assert!(rig.backend.media().erases(FIRST) > 20, "{cache}: it goes on being used");
            for (lpn, round) in (0..).zip(latest) {
                let expected = if round == 0 { Stamp::default() } else { stamp(lpn, round) };
                assert_eq!(rig.read(lpn).unwrap_or_default(), expected, "{cache}: {lpn}");
            }
        }
    }

    #[test]
    fn the_cache_shrinks_by_a_superblock_that_fails() {
        let mut rig = drive("size = '192KiB', static = '192KiB', overflow = 'fold'");
        rig.backend.media_mut().faults_mut().fail_program(3);
        write(&mut rig, 0..100, 1);
        rig.run_until_idle();
        rig.ftl.check(rig.backend.media());
        let counters = rig.ftl.blocks.cache_counters().expect("a cache");
        assert_eq!((state(&rig, FIRST).0, counters.limit), (SuperblockState::Bad, 1));
        for lpn in 0..100 {
            assert_eq!(rig.read(lpn), Some(stamp(lpn, 1)));
        }
    }
}
