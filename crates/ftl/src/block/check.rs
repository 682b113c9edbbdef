//! The invariants that hold between two events.

use std::collections::BTreeSet;

use base::units::SuperblockId;
use flash::nand::{Media, Spare};

use super::BlockFtl;
use super::block_manager::BlockState;

impl BlockFtl {
    /// Checks that the newest copy of every page is found, and that every block has one use. Slow: for tests.
    ///
    /// # Panics
    /// If an invariant is broken.
    pub(super) fn check(&self, media: &Media) {
        let mut used = BTreeSet::new();
        for lbn in 0..self.mapping.chains.len() as u32 {
            let blocks: Vec<SuperblockId> = self.mapping.chain(&self.blocks, lbn).collect();
            let chain = self.mapping.chains[lbn as usize];
            assert_eq!(blocks.len() as u32, chain.length, "blocks of logical block {lbn}");
            let die = &self.blocks.dies[self.blocks.home(lbn)];
            assert_eq!(die.replaced.contains(&lbn), chain.length > 1, "replacement blocks of logical block {lbn}");
            for block in &blocks {
                assert_eq!(self.blocks.geometry.die_of(*block).index(), self.blocks.home(lbn), "die of {block}");
                assert!(used.insert(*block), "{block} is in two chains");
            }
            for offset in 0..self.blocks.pages {
                let spares = blocks.iter().map(|block| media.spare(self.blocks.geometry.slot(*block, offset)));
                let versions = spares.filter_map(|spare| match spare {
                    Spare::Data { lpn, version } => {
                        assert_eq!(self.mapping.split(lpn), (lbn, offset), "{lpn} is in logical block {lbn}");
                        Some(version)
                    }
                    Spare::Empty | Spare::Torn => None,
                });
                assert!(versions.is_sorted_by(|newer, older| newer >= older), "page {offset} of logical block {lbn}");
            }
        }
        for (number, die) in self.blocks.dies.iter().enumerate() {
            used.extend(die.merge.and_then(|merge| merge.destination));
            let here = self.blocks.states().filter(|(block, _)| self.blocks.geometry.die_of(*block).index() == number);
            let of = |state| here.clone().filter(move |(_, found)| *found == state).map(|(block, _)| block);
            for block in of(BlockState::Free) {
                assert!(media.is_erased(block), "{block} is free, and not erased");
            }
            assert_eq!(of(BlockState::Free).count(), die.free.len() as usize, "free blocks of die {number}");
            let leaving = of(BlockState::Leaving).chain(of(BlockState::Erasing)).count();
            assert_eq!(leaving, die.leaving as usize, "blocks of die {number} that are given up");
            let waiting: BTreeSet<_> = die.waiting.iter().map(|waiting| waiting.lbn).collect();
            assert_eq!(waiting.len(), die.waiting.len(), "each logical block waits once");
        }
        used.extend(&self.blocks.useless);
        let in_use = self.blocks.states().filter(|(_, state)| *state == BlockState::Used).map(|(block, _)| block);
        assert_eq!(in_use.collect::<BTreeSet<_>>(), used, "blocks in use, and blocks in chains");
    }
}
