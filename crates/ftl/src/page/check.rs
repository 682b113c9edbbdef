//! The invariants that hold between two events, with any map.

use base::units::{Lpn, Psn, SuperblockId};
use flash::nand::{Media, Spare, Stream};

use super::PageFtl;
use super::blocks::State;
use super::map_client::SettledMap;
use super::mapping::Mapping;
use crate::port::Ftl;

impl PageFtl {
    /// Checks that every mapping unit is where the map points to, and that exactly those slots count as valid that the
    /// map points to or still owes an answer for. Slow: for tests.
    ///
    /// # Panics
    /// If an invariant is broken.
    pub(crate) fn check(&self, media: &Media) {
        let SettledMap { mut places, passing } = match &self.mapping {
            Mapping::Ram(map) => {
                SettledMap { places: (0..map.len()).map(|lpn| map.get(Lpn::new(lpn))).collect(), passing: Vec::new() }
            }
            Mapping::MapUnit(map_client) => map_client.settled(media),
        };
        if let Mapping::MapUnit(map_client) = &self.mapping {
            places.extend((0..map_client.directory.len()).map(|page| map_client.directory.get(Lpn::new(page))));
        }
        places.extend(self.trim_places());
        places.extend(self.checkpoint_places());
        let mut valid = vec![0u32; self.geometry.superblock_count() as usize];
        let mut expected = vec![false; self.geometry.slot_count() as usize];
        let mut expect = |psn: Psn| {
            valid[self.geometry.locate(psn).0.index()] += 1;
            !std::mem::replace(&mut expected[psn.index()], true)
        };
        for (lpn, place) in (0..).map(Lpn::new).zip(places) {
            let Some(psn) = place else { continue };
            assert!(expect(psn), "{lpn} maps to {psn}, and so does another");
            assert!(self.blocks.is_valid(psn), "{lpn} maps to {psn}, but it is not marked valid");
            match media.spare(psn) {
                Spare::Data { lpn: found, .. } => {
                    assert_eq!(found, lpn, "{lpn} maps to {psn}, which holds {found}");
                }
                other => panic!("{lpn} maps to {psn}, which holds {other:?}"),
            }
        }
        for psn in passing {
            assert!(expect(psn), "{psn} is given up and is still needed");
            assert!(self.blocks.is_valid(psn), "{psn} is given up soon, but it is not marked valid");
        }
        for (i, count) in valid.iter().enumerate() {
            let superblock = SuperblockId::new(i as u32);
            assert_eq!(self.blocks.valid(superblock), *count, "valid count of {superblock}");
        }
        let mut live = vec![0; self.pools.len()];
        for (i, count) in valid.iter().enumerate() {
            live[self.pool_of(SuperblockId::new(i as u32)) as usize] += count;
        }
        for (i, pool) in self.pools.iter().enumerate() {
            assert_eq!(pool.live - pool.in_flight, live[i], "live units of pool {i}");
        }
        self.check_superblocks(media);
    }

    /// Checks that every superblock has one use, and that a failing one waits only to be emptied.
    fn check_superblocks(&self, media: &Media) {
        let mut usable = vec![0; self.pools.len()];
        let mut free = 0;
        for superblock in (0..self.geometry.superblock_count()).map(SuperblockId::new) {
            let (state, pool) = (self.blocks.state(superblock), self.pool_of(superblock));
            let known = self.victims[self.kind_in(pool)].valid(superblock);
            let expected = (state == State::Closed).then(|| self.blocks.valid(superblock));
            assert_eq!(known, expected, "valid units of {superblock}, as the choice of victims knows them");
            usable[pool as usize] += u32::from(state != State::Bad);
            free += u64::from(state == State::Free);
            if self.blocks.is_failing(superblock) {
                let takes_data = matches!(state, State::Free | State::Open | State::Erasing);
                assert!(!takes_data, "a program failed in {superblock}, and it is {state:?}");
                let waits = self.pools[pool as usize].gc.failing.contains(&superblock);
                assert!(state != State::Closed || waits, "a program failed in {superblock}, which nobody empties");
            }
        }
        for (i, pool) in self.pools.iter().enumerate() {
            assert_eq!(pool.usable, usable[i], "superblocks of pool {i} that are not bad");
            for (erases, superblock) in pool.free.entries() {
                assert_eq!(self.blocks.state(superblock), State::Free, "state of {superblock}, which is free");
                assert!(media.is_erased(superblock), "{superblock} is free, and not erased");
                assert_eq!(erases, media.erases(superblock), "how often {superblock}, which is free, was erased");
            }
            for open in pool.open.each().flatten() {
                let state = self.blocks.state(open.superblock);
                assert_eq!(state, State::Open, "state of {}, which pool {i} writes to", open.superblock);
            }
            let copies = (0..pool.copies.number() + 1).map(Stream::copies).filter(|_| !pool.copies.is_host());
            for stream in (0..pool.parked.len() as u8).map(Stream::host).chain(copies) {
                let open = pool.open[stream].map_or(stream, |open| self.blocks.stream(open.superblock));
                assert_eq!(open, stream, "the stream of a superblock that is open for {stream:?} in pool {i}");
            }
        }
        assert_eq!(Ftl::free_blocks(self), free, "free superblocks");
    }
}
