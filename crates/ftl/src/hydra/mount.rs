//! Power-on: reads the newest map and replays the log on it (Seong et al., Sec. 3.3.1).
//!
//! Data blocks are not read. The target of an unfinished merge is a superblock outside the map, which is erased before
//! use. Bad blocks carry their own mark.

use base::nonmax::NonMaxU32;
use base::units::Span;
use flash::nand::{Media, Spare};

use super::HydraConfig;
use super::journal::{JournalRecord, RecoveredJournal};
use super::mapping::Mapping;
use super::superblocks::Superblocks;
use crate::sabotage::{PlantedBug, Sabotage};
use crate::toolkit::Reads;

impl Mapping {
    /// Applies the recovered map, and then the records of the log.
    pub(super) fn replay(&mut self, superblocks: &mut Superblocks, found: &RecoveredJournal, planted: PlantedBug) {
        let layout = self.layout;
        if let Some(words) = &found.map {
            let (positions, rest) = words.split_at(layout.logical as usize);
            let (erases, stand_ins) = rest.split_at(layout.physical() as usize);
            let erases = if planted.is(Sabotage::WearForgotten) { &[] } else { erases };
            for (logical, word) in (0..).zip(positions) {
                let Some(position) = NonMaxU32::from_word(*word) else { continue };
                let superblock = superblocks.join(layout.superchip_of(logical), position.get());
                self.map[logical as usize] = Some(NonMaxU32::new(superblock));
            }
            (0..).zip(erases).for_each(|(superblock, erases)| superblocks.set_erases(superblock, *erases));
            for (i, word) in (0..).zip(stand_ins) {
                let Some(position) = NonMaxU32::from_word(*word) else { continue };
                superblocks.stand_in(i / layout.spares, position.get(), i % layout.spares);
            }
        }
        for record in &found.records {
            match *record {
                JournalRecord::Mapped { logical, position, erases } => {
                    let superblock = superblocks.join(layout.superchip_of(logical), position);
                    self.map[logical as usize] = Some(NonMaxU32::new(superblock));
                    superblocks.set_erases(superblock, erases);
                }
                JournalRecord::Replaced { die, position, spare } => superblocks.stand_in(die, position, spare),
            }
        }
    }

    pub(super) fn count_rows(&self, superblocks: &Superblocks, media: &Media) -> u32 {
        let mapped = self.map.iter().flatten().map(|superblock| superblock.get());
        let rows = mapped.flat_map(|superblock| (0..self.layout.rows()).map(move |row| (superblock, row)));
        rows.filter(|(superblock, row)| {
            let (chip, page) = self.layout.chip_and_page(*row);
            let psn = media.geometry().slot(superblocks.block(*superblock, chip), page);
            media.holds_data(psn)
        })
        .count() as u32
    }
}

/// The time to read the reserved areas: the first page of each block, and all programmed pages of blocks in use.
/// Dies work in parallel, and a channel transfers one page at a time.
pub(super) fn scan_time(config: &HydraConfig, media: &Media) -> Span {
    let (geometry, timing) = (media.geometry(), &config.timing);
    let mut reads = Reads::new(geometry, &timing.read);
    let areas = &config.areas;
    let journal = areas.blocks(geometry.blocks).map(|(_, block)| block);
    for block in journal.chain(areas.flush_blocks(geometry.blocks)) {
        let holds = |page: &u32| media.spare(geometry.slot(block, *page)) != Spare::Empty;
        let pages = || (0..geometry.pages).take_while(holds).count() as u32;
        let pages = media.first_rows(block).unwrap_or_else(pages).max(1);
        reads.add_first(block, pages, timing.transfer[1]);
    }
    reads.time()
}
