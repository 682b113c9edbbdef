//! The MLC flash mapped by pages: open blocks on all dies, and greedy garbage collection.
//!
//! There are two frontiers: one for pages of the host and of the SLC log, one for copies. A frontier has a lane for
//! every die, with an open block. Pages go to the lanes in rotation, so that the pages of a request spread over all
//! dies. A lane takes a spare block of its own die if there is one, otherwise of any die.

use base::nonmax::NonMaxU32;

use super::blocks::Blocks;
use super::place::{PagePlace, RESERVE};
use crate::toolkit::Minima;

/// The source of the pages that a frontier takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Frontier {
    Host,
    Copies,
}

#[derive(Clone, Debug)]
struct Lanes {
    /// The open block of each lane.
    open: Vec<Option<NonMaxU32>>,
    turn: usize,
}

#[derive(Clone, Debug)]
struct Frontiers {
    host: Lanes,
    copies: Lanes,
}

impl Frontiers {
    const fn lanes(&mut self, frontier: Frontier) -> &mut Lanes {
        match frontier {
            Frontier::Host => &mut self.host,
            Frontier::Copies => &mut self.copies,
        }
    }
}

/// The role of a block that is neither spare nor being collected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// The block is open: it takes pages.
    Open,
    /// The block takes no more pages, and becomes a candidate at the next choice of a victim.
    Filled,
    /// The block is a candidate for collection, with this number of valid pages.
    Closed { valid: u32 },
}

/// The open and closed blocks of the MLC flash.
#[derive(Clone, Debug)]
pub(super) struct PageMap {
    pub(super) blocks: Blocks,
    pages: u32,
    frontiers: Frontiers,
    /// Blocks that have become full since the last choice of a victim.
    filled: Vec<u32>,
    /// The closed blocks, by their valid pages.
    closed: Minima,
    /// True if collection can gain nothing, and the spare blocks that keep all lanes busy are used up.
    scarce: bool,
}

impl PageMap {
    pub(super) fn new(pages: u32, dies: u32, blocks: Blocks) -> Self {
        let lanes = Lanes { open: vec![None; dies as usize], turn: 0 };
        let frontiers = Frontiers { host: lanes.clone(), copies: lanes };
        let closed = Minima::new(1, blocks.count());
        Self { blocks, pages, frontiers, filled: Vec::new(), closed, scarce: false }
    }

    /// The least number of blocks that the host never sees: the open blocks of both frontiers, as many blocks to open
    /// next, the reserve, and one for garbage.
    pub(super) const fn least_spare(dies: u32) -> u32 {
        3 * dies + RESERVE + 1
    }

    /// Finds and takes a place for a page. The host waits until each lane can have a block, so that all dies keep
    /// working. Copies use the lanes that have blocks, and as a last resort any block.
    pub(super) fn place(&mut self, frontier: Frontier) -> PagePlace {
        let dies = self.frontiers.host.open.len();
        let kept = match frontier {
            Frontier::Host if !self.scarce => RESERVE + dies as u32,
            Frontier::Host | Frontier::Copies => RESERVE,
        };
        for _ in 0..dies {
            let lane = self.frontiers.lanes(frontier).turn;
            if !self.is_open(frontier, lane) && self.blocks.spare() > kept {
                self.open(frontier, lane);
            }
            if self.is_open(frontier, lane) {
                return self.take(frontier, lane);
            }
            if frontier == Frontier::Host && !self.scarce {
                return PagePlace::NoBlock;
            }
            self.frontiers.lanes(frontier).turn = (lane + 1) % dies;
        }
        if frontier == Frontier::Copies && self.blocks.spare() > 0 {
            let lane = self.frontiers.lanes(frontier).turn;
            self.open(frontier, lane);
            return self.take(frontier, lane);
        }
        PagePlace::NoBlock
    }

    /// True if a lane has a block that takes pages. A block with a failed program takes none.
    fn is_open(&mut self, frontier: Frontier, lane: usize) -> bool {
        let open = &mut self.frontiers.lanes(frontier).open[lane];
        self.filled.extend(open.take_if(|open| self.blocks[open.get()].failing).map(NonMaxU32::get));
        open.is_some()
    }

    fn open(&mut self, frontier: Frontier, lane: usize) {
        let block = self.blocks.take_on(lane as u32).or_else(|| self.blocks.take());
        self.frontiers.lanes(frontier).open[lane] = Some(NonMaxU32::new(block.expect("a spare block")));
    }

    fn take(&mut self, frontier: Frontier, lane: usize) -> PagePlace {
        let lanes = self.frontiers.lanes(frontier);
        lanes.turn = (lane + 1) % lanes.open.len();
        let block = lanes.open[lane].expect("an open block").get();
        let page = self.blocks[block].programmed;
        self.blocks[block].programmed += 1;
        if page + 1 == self.pages {
            lanes.open[lane] = None;
            self.filled.push(block);
        }
        PagePlace::At(block, page)
    }

    /// Closes a block that holds data: it takes no more pages.
    pub(super) fn close(&mut self, block: u32) {
        self.filled.push(block);
    }

    /// Counts a page of a block that has become valid or invalid. No page of a closed block becomes valid.
    pub(super) fn counted(&mut self, block: u32, valid: bool) {
        if self.closed.valid(block).is_some() {
            assert!(!valid, "a page of block {block}, which is closed, became valid");
            self.closed.decrement(block);
        }
    }

    pub(super) const fn has_room_again(&mut self) {
        self.scarce = false;
    }

    /// Removes and returns the closed block with the fewest valid pages; `None` if no block has garbage. No program may
    /// be under way.
    pub(super) fn victim(&mut self) -> Option<u32> {
        self.close_filled();
        let least = self.closed.least(0, self.blocks.count()).filter(|(_, valid)| *valid < self.pages);
        let (block, _) = least?;
        self.closed.remove(block);
        Some(block)
    }

    /// Lets the host's lanes work without new blocks, because no block is worth collecting. Returns false if they
    /// already do.
    pub(super) const fn make_do(&mut self) -> bool {
        !std::mem::replace(&mut self.scarce, true)
    }

    /// Removes a block from the closed blocks. Returns false if it is not closed.
    pub(super) fn take_closed(&mut self, block: u32) -> bool {
        self.close_filled();
        let is_closed = self.closed.valid(block).is_some();
        if is_closed {
            self.closed.remove(block);
        }
        is_closed
    }

    fn close_filled(&mut self) {
        for block in self.filled.drain(..) {
            self.closed.insert(block, self.blocks[block].valid);
        }
    }

    /// The blocks that are open, full or closed, with their roles.
    pub(super) fn roles(&self) -> impl Iterator<Item = (u32, Role)> + '_ {
        let Frontiers { host, copies } = &self.frontiers;
        let open = host.open.iter().chain(&copies.open).flatten().map(|block| (block.get(), Role::Open));
        let filled = self.filled.iter().map(|block| (*block, Role::Filled));
        let role = |block| Some((block, Role::Closed { valid: self.closed.valid(block)? }));
        open.chain(filled).chain((0..self.blocks.count()).filter_map(role))
    }
}

#[cfg(test)]
mod tests {
    use super::super::free_list::FreeOrder;
    use super::*;

    /// Two dies of eight blocks of four pages.
    fn page_map() -> PageMap {
        let mut map = PageMap::new(4, 2, Blocks::new(16, 2, FreeOrder::Age));
        (0..16).for_each(|block| map.blocks.put(block, 0));
        map
    }

    fn place(map: &mut PageMap, frontier: Frontier) -> (u32, u32) {
        let PagePlace::At(block, page) = map.place(frontier) else { panic!("a place") };
        map.blocks[block].valid += 1;
        (block, page)
    }

    #[test]
    fn pages_go_to_the_dies_round_robin() {
        let mut map = page_map();
        let places: Vec<_> = (0..4).map(|_| place(&mut map, Frontier::Host)).collect();
        assert_eq!(places, [(0, 0), (8, 0), (0, 1), (8, 1)]);
        assert_eq!(place(&mut map, Frontier::Copies), (1, 0));
    }

    #[test]
    fn copies_use_the_reserve_and_the_host_waits() {
        let mut map = page_map();
        // Ten blocks are filled and one is open. Five stay spare: the reserve, and one for each lane.
        for _ in 0..41 {
            place(&mut map, Frontier::Host);
        }
        assert_eq!((map.place(Frontier::Host), map.blocks.spare()), (PagePlace::NoBlock, 5));
        // The two lanes of copies leave the reserve alone at first, and use it when their blocks are full.
        for _ in 0..8 {
            place(&mut map, Frontier::Copies);
        }
        assert_eq!(map.blocks.spare(), 3);
        for _ in 0..12 {
            place(&mut map, Frontier::Copies);
        }
        assert_eq!((map.place(Frontier::Copies), map.blocks.spare()), (PagePlace::NoBlock, 0));
    }

    #[test]
    fn the_block_with_the_fewest_valid_pages_is_the_victim() {
        let mut map = page_map();
        for _ in 0..16 {
            place(&mut map, Frontier::Host);
        }
        for (block, garbage) in [(0, 1), (9, 3), (1, 2)] {
            map.blocks[block].valid -= garbage;
        }
        assert_eq!(map.victim(), Some(9));
        map.blocks[0].valid -= 3;
        (0..3).for_each(|_| map.counted(0, false));
        assert_eq!((map.victim(), map.victim()), (Some(0), Some(1)));
        assert_eq!(map.victim(), None, "the last has no garbage");
        assert!(map.take_closed(8) && !map.take_closed(8));
    }

    #[test]
    fn a_block_in_which_a_program_failed_takes_no_more() {
        let mut map = page_map();
        place(&mut map, Frontier::Host);
        map.blocks[0].failing = true;
        place(&mut map, Frontier::Host);
        assert_eq!(place(&mut map, Frontier::Host), (1, 0));
        assert_eq!(map.victim(), Some(0));
    }
}
