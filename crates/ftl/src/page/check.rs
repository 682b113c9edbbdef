//! The invariants that hold between two events, with any map.

use base::units::{Lpn, Psn, SuperblockId};
use flash::nand::{Media, Spare};

use super::PageFtl;
use super::mapping::L2p;
use super::mapping::map_client::SettledMap;

impl PageFtl {
    /// Checks that every mapping unit is where the map points to. Checks also that a slot counts as valid exactly if
    /// the map points to it, or still owes an answer for it. Slow: for tests.
    ///
    /// # Panics
    ///
    /// If an invariant is broken.
    pub(crate) fn check(&self, media: &Media) {
        let SettledMap { mut places, passing } = match &self.mapping.l2p {
            L2p::Ram(map) => {
                SettledMap { places: (0..map.len()).map(|lpn| map.get(Lpn::new(lpn))).collect(), passing: Vec::new() }
            }
            L2p::MapUnit(map_client) => map_client.settled(media),
        };
        if let L2p::MapUnit(map_client) = &self.mapping.l2p {
            places.extend((0..map_client.directory.len()).map(|page| map_client.directory.get(Lpn::new(page))));
        }
        places.extend(self.mapping.side_places());
        let mut valid = vec![0u32; self.blocks.layout.shape.superblock_count() as usize];
        let mut expected = vec![false; self.blocks.layout.array.slot_count() as usize];
        let mut expect = |psn: Psn| {
            valid[self.blocks.layout.locate(psn).0.index()] += 1;
            !std::mem::replace(&mut expected[psn.index()], true)
        };
        for (lpn, place) in (0..).map(Lpn::new).zip(places) {
            let Some(psn) = place else { continue };
            assert!(expect(psn), "{lpn} maps to {psn}, and so does another");
            assert!(self.blocks.table.is_valid(psn), "{lpn} maps to {psn}, but it is not marked valid");
            match media.spare(psn) {
                Spare::Data { lpn: found, .. } => {
                    assert_eq!(found, lpn, "{lpn} maps to {psn}, which holds {found}");
                }
                other => panic!("{lpn} maps to {psn}, which holds {other:?}"),
            }
        }
        for psn in passing {
            assert!(expect(psn), "{psn} is given up and is still needed");
            assert!(self.blocks.table.is_valid(psn), "{psn} is given up soon, but it is not marked valid");
        }
        for (i, count) in valid.iter().enumerate() {
            let superblock = SuperblockId::new(i as u32);
            assert_eq!(self.blocks.table.valid(superblock), *count, "valid count of {superblock}");
        }
        let mut live = vec![0; self.blocks.pools.len()];
        for (i, count) in valid.iter().enumerate() {
            live[self.blocks.pool_of(SuperblockId::new(i as u32)) as usize] += count;
        }
        for (i, pool) in self.blocks.pools.iter().enumerate() {
            assert_eq!(pool.live - pool.in_flight, live[i], "live units of pool {i}");
        }
        self.blocks.check_superblocks(media);
        if !self.mapping.is_rewriting() {
            self.blocks.check_refresh();
        }
    }
}
