//! The division of the map: mapping units into blocks of a cache, blocks into translation pages. Also the effect of a
//! question on the entries of a block.

use base::units::Lpn;

use super::entry::{decode, encode};
use super::{Answer, Ask, SPAN};

/// The sizes of the map and its parts, in entries of four bytes (one for each mapping unit).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Entries in the whole map.
    pub units: u32,
    /// Entries in a translation page.
    pub page: u32,
    /// Entries in a block of the cached mapping table (CMT); divides `page`.
    pub block: u32,
}

impl Layout {
    /// Translation pages.
    pub(super) fn pages(&self) -> u32 {
        self.units.div_ceil(self.page)
    }

    /// Blocks in a translation page.
    pub(super) fn blocks(&self) -> u32 {
        self.page / self.block
    }

    /// The block with all mapping units of a question.
    ///
    /// # Panics
    /// If they are in several blocks, or beyond the end of the map.
    pub(super) fn block_of(&self, ask: &Ask) -> u32 {
        let (first, count) = range(ask);
        assert!(count > 0 && count <= SPAN && first.get() + count <= self.units, "a question about units of the map");
        let block = first.get() / self.block;
        assert_eq!(block, (first.get() + count - 1) / self.block, "a question is about one block");
        block
    }

    /// The offset of a question's first mapping unit in its block.
    pub(super) fn offset(&self, ask: &Ask) -> usize {
        (range(ask).0.get() % self.block) as usize
    }

    /// The first block of a translation page.
    pub(super) fn first_block(&self, tvpn: u32) -> u32 {
        tvpn * self.blocks()
    }

    /// The translation page of a block, and the block's offset in it.
    pub(super) fn page_of(&self, block: u32) -> (u32, usize) {
        (block / self.blocks(), (block % self.blocks() * self.block) as usize)
    }
}

pub(super) fn range(ask: &Ask) -> (Lpn, u32) {
    match *ask {
        Ask::Lookup { first, count } => (first, count),
        Ask::Update { lpn, .. } | Ask::CondUpdate { lpn, .. } => (lpn, 1),
    }
}

/// Answers a question from the entries of its mapping units, from the first on. Also returns true if it changed them.
pub(super) fn serve(ask: &Ask, entries: &mut [u32]) -> (Answer, bool) {
    match *ask {
        Ask::Lookup { count, .. } => {
            let mut places = [None; SPAN as usize];
            places.iter_mut().zip(&entries[..count as usize]).for_each(|(place, entry)| *place = decode(*entry));
            (Answer::Places(places), false)
        }
        Ask::Update { to, .. } => (Answer::Updated(decode(std::mem::replace(&mut entries[0], encode(to)))), true),
        // The host may have written the mapping unit again during its copy (Sec. 4.1): then the copy is garbage.
        Ask::CondUpdate { from, to, .. } => {
            let holds = decode(entries[0]) == Some(from);
            if holds {
                entries[0] = encode(Some(to));
            }
            (Answer::Condition(holds), holds)
        }
    }
}
