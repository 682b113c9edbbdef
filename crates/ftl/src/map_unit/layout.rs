//! The division of the map: mapping units into blocks of a cache, and blocks into translation pages. The module also
//! applies a question to the entries of a block.

use base::units::{Divisor, Lpn};

use super::entry::{decode, encode};
use super::{Answer, Ask, SPAN};

/// The sizes of the map and its parts, in entries of four bytes (one for each mapping unit).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MapLayout {
    /// Entries in the whole map.
    pub units: u32,
    /// Entries in a translation page.
    pub page: u32,
    /// Entries in a block of the cached mapping table (CMT); divides `page`.
    pub block: u32,
    by_page: Divisor,
    by_block: Divisor,
    /// Blocks in a translation page.
    by_blocks: Divisor,
}

impl MapLayout {
    /// A map of `units` entries in translation pages of `page` entries, and in blocks of `block`.
    #[must_use]
    pub const fn new(units: u32, page: u32, block: u32) -> Self {
        let blocks = if page < block { 1 } else { page / block };
        Self {
            units,
            page,
            block,
            by_page: Divisor::new(page),
            by_block: Divisor::new(block),
            by_blocks: Divisor::new(blocks),
        }
    }

    pub(super) fn pages(&self) -> u32 {
        self.units.div_ceil(self.page)
    }

    /// Blocks in a translation page.
    pub(super) const fn blocks(&self) -> u32 {
        self.by_blocks.get()
    }

    /// The translation page of a block, and the block's number in it.
    #[inline]
    pub(super) const fn split(&self, block: u32) -> (u32, u32) {
        self.by_blocks.split(block)
    }

    /// The translation page of a mapping unit.
    #[inline]
    pub(super) fn tvpn_of(&self, ask: &Ask) -> u32 {
        self.by_page.quotient(range(ask).0.get())
    }

    /// The block with all mapping units of a question.
    ///
    /// # Panics
    ///
    /// If the mapping units are in several blocks, or beyond the end of the map.
    pub(super) fn checked_block_of(&self, ask: &Ask) -> u32 {
        let (first, count) = range(ask);
        assert!(count > 0 && count <= SPAN && first.get() + count <= self.units, "a question about units of the map");
        let block = self.block_of(ask);
        let last = self.by_block.quotient(first.get() + count - 1);
        assert_eq!(block, last, "a question is about one block");
        block
    }

    /// The block of a question that [`Self::checked_block_of`] has checked.
    #[inline]
    pub(super) fn block_of(&self, ask: &Ask) -> u32 {
        self.block_at(range(ask).0)
    }

    /// The block of a mapping unit.
    #[inline]
    pub(super) fn block_at(&self, lpn: Lpn) -> u32 {
        self.by_block.quotient(lpn.get())
    }

    /// The offset of a question's first mapping unit in its block.
    #[inline]
    pub(super) fn offset(&self, ask: &Ask) -> usize {
        self.by_block.split(range(ask).0.get()).1 as usize
    }

    /// The translation page of a block, and the block's offset in it.
    #[inline]
    pub(super) fn page_of(&self, block: u32) -> (u32, usize) {
        let (tvpn, number) = self.split(block);
        (tvpn, (number * self.block) as usize)
    }
}

#[inline]
pub(super) const fn range(ask: &Ask) -> (Lpn, u32) {
    match *ask {
        Ask::Lookup { first, count } => (first, count),
        Ask::Update { lpn, .. } | Ask::CondUpdate { lpn, .. } => (lpn, 1),
    }
}

/// The answer to a lookup of `count` mapping units, whose entries are the first of `entries`.
pub(super) fn look_up(count: u32, entries: &[u32]) -> Answer {
    let mut places = [None; SPAN as usize];
    places.iter_mut().zip(&entries[..count as usize]).for_each(|(place, entry)| *place = decode(*entry));
    Answer::Places(places)
}

/// Answers a question about the mapping units whose entries are the first of `entries`. Also returns true if the
/// question changed an entry.
pub(super) fn serve(ask: &Ask, entries: &mut [u32]) -> (Answer, bool) {
    match *ask {
        Ask::Lookup { count, .. } => (look_up(count, entries), false),
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
