//! The map from logical to physical superblocks, and the discarded rows.

use base::nonmax::NonMaxU32;
use base::units::{Lpn, Psn};
use flash::nand::Media;

use super::HydraConfig;
use super::address::Layout;
use super::superblocks::Superblocks;
use crate::toolkit::Versions;
use crate::toolkit::recovery::version_of;

#[derive(Clone, Copy, Debug)]
pub(super) struct RowPlace {
    pub(super) superblock: u32,
    pub(super) chip: u32,
    pub(super) psn: Psn,
}

#[derive(Clone, Debug)]
pub(super) struct Mapping {
    pub(super) layout: Layout,
    /// Rows the host can address.
    pub(super) units: u32,
    /// The physical superblock of each logical one.
    pub(super) map: Vec<Option<NonMaxU32>>,
    /// Discarded rows that the mapped superblock still holds: one bit a row, for superblocks that have any. Empty until
    /// the first discard.
    forgotten: Vec<Option<Box<[u64]>>>,
    pub(super) versions: Versions,
    /// Rows with data that recovery found.
    pub(super) found: u32,
}

impl Mapping {
    /// The map of a device without data. The next write gets the version after `version`.
    pub(super) fn new(config: &HydraConfig, version: u32) -> Self {
        Self {
            units: config.units,
            map: vec![None; config.layout.logical as usize],
            forgotten: Vec::new(),
            versions: Versions::after(version),
            found: 0,
            layout: config.layout,
        }
    }

    /// The physical superblock of a logical one.
    #[inline]
    pub(super) fn place_of(&self, logical: u32) -> Option<u32> {
        self.map[logical as usize].map(NonMaxU32::get)
    }

    /// The place of a row; none if it holds no data.
    #[inline]
    pub(super) fn place_of_row(&self, superblocks: &Superblocks, lpn: Lpn, media: &Media) -> Option<RowPlace> {
        let (logical, row) = self.layout.split(lpn);
        let superblock = self.place_of(logical)?;
        if self.is_forgotten(logical, row) {
            return None;
        }
        let (chip, page) = self.layout.chip_and_page(row);
        let block = superblocks.block(superblock, chip);
        let psn = media.geometry().slot(block, page);
        // A real drive would have to read an erased page to know that it is empty; here that takes no time.
        media.holds_data(psn).then_some(RowPlace { superblock, chip, psn })
    }

    pub(super) fn row_version(&self, superblocks: &Superblocks, media: &Media, lpn: Lpn) -> Option<u32> {
        let (logical, row) = self.layout.split(lpn);
        let superblock = self.place_of(logical)?;
        let (chip, page) = self.layout.chip_and_page(row);
        version_of(media, media.geometry().slot(superblocks.block(superblock, chip), page))
    }

    /// Discards a row: the row reads as zeros, and merges no longer copy it. A power cut may undo the discard.
    pub(super) fn forget(&mut self, lpn: Lpn) {
        let (logical, row) = self.layout.split(lpn);
        let words = self.layout.rows().div_ceil(64) as usize;
        if self.map[logical as usize].is_some() {
            if self.forgotten.is_empty() {
                self.forgotten.resize(self.map.len(), None);
            }
            let rows = self.forgotten[logical as usize].get_or_insert_with(|| vec![0; words].into());
            rows[row as usize / 64] |= 1 << (row % 64);
        }
    }

    /// True if some row of a logical superblock has been discarded and not written since.
    #[inline]
    pub(super) fn forgets(&self, logical: u32) -> bool {
        self.forgotten.get(logical as usize).is_some_and(Option::is_some)
    }

    pub(super) fn is_forgotten(&self, logical: u32, row: u32) -> bool {
        self.forgotten
            .get(logical as usize)
            .and_then(Option::as_ref)
            .is_some_and(|rows| rows[row as usize / 64] >> (row % 64) & 1 != 0)
    }

    /// Clears the discard of a row that has been written again.
    pub(super) fn remember(&mut self, lpn: Lpn) {
        let (logical, row) = self.layout.split(lpn);
        if let Some(Some(rows)) = self.forgotten.get_mut(logical as usize) {
            rows[row as usize / 64] &= !(1 << (row % 64));
        }
    }

    /// Appends the map as it is stored on flash: the position of each logical superblock in its superchip.
    pub(super) fn store(&self, superblocks: &Superblocks, words: &mut Vec<u32>) {
        // A logical superblock stays in its superchip, so its position needs no division.
        let superchips = self.layout.superchips as usize;
        let before = words.len();
        words.resize(before + self.map.len(), u32::MAX);
        let rows = words[before..].chunks_mut(superchips).zip(self.map.chunks(superchips));
        for ((word, at), superchip) in rows.flat_map(|(words, row)| words.iter_mut().zip(row).zip(0..)) {
            *word = at.map_or(u32::MAX, |at| at.get() - superblocks.join(superchip, 0));
        }
    }
}
