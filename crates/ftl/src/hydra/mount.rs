//! Power-on: reads the newest map and replays the log on it (Seong et al., Sec. 3.3.1).
//!
//! Nothing else is read. The target of an unfinished merge is a superblock outside the map, which is erased before use.
//! Bad blocks carry their own mark.

use base::nonmax::NonMaxU32;
use base::units::Span;
use flash::nand::{Media, Spare};

use super::counters::MergeCounters;
use super::flush_log::FlushLog;
use super::journal::{Areas, Found, Journal, Record};
use super::superblocks::Superblocks;
use super::{HydraConfig, HydraFtl, Kind};
use crate::port::Mount;
use crate::sabotage::{Planted, Sabotage};
use crate::toolkit::{Reads, Versions};

impl HydraFtl {
    /// Recovers the FTL from the media. A new drive has empty media.
    pub(super) fn mount(hydra: &HydraConfig, from: &Mount<'_>) -> Self {
        let media = from.media;
        let layout = hydra.layout;
        let (journal, mut found) = Journal::mount(&layout, &hydra.areas, media, |area| Kind::Area.tag(area));
        let mut ftl = Self {
            units: hydra.units,
            superblocks: Superblocks::new(layout, media.geometry(), hydra.wear.dynamic),
            map: vec![None; layout.logical as usize],
            forgotten: Vec::new(),
            journal,
            flush_log: None,
            saved: Vec::new(),
            versions: Versions::after(found.version),
            merges: Vec::new(),
            idle: Vec::new(),
            waiting: std::collections::VecDeque::new(),
            working: 0,
            at_once: hydra.at_once,
            gathering: Vec::new(),
            reading: None,
            read_chain: vec![None; layout.chips as usize],
            chain: Vec::new(),
            blocks: Vec::new(),
            logged: Vec::new(),
            cpu_time: hydra.cpu_time,
            wear: hydra.wear.clone(),
            wear_checks: vec![super::wear::WearCheck::default(); layout.superchips as usize],
            read_only: false,
            found: 0,
            counts: MergeCounters::default(),
            layout,
        };
        if from.planted.is(Sabotage::LogUnread) {
            found.records.clear();
        }
        if from.planted.is(Sabotage::JournalShort) {
            found.records.pop();
        }
        if from.planted.is(Sabotage::ReplacementForgotten) {
            found.records.retain(|record| matches!(record, Record::Mapped { .. }));
        }
        ftl.replay(&found, from.planted);
        ftl.superblocks.take_stock(media, ftl.map.iter().flatten().map(|superblock| superblock.get()));
        ftl.log_replacements();
        ftl.mount_flush_log(&hydra.areas, media, from.planted.is(Sabotage::FlushesUnversioned));
        ftl.counts = MergeCounters::default();
        ftl.found = ftl.count_rows(media);
        ftl
    }

    fn mount_flush_log(&mut self, areas: &Areas, media: &Media, log_unseen: bool) {
        if areas.strips.is_empty() {
            return;
        }
        let first = areas.places.len() as u32;
        let merged = |lpn| self.row_version(media, lpn);
        let (log, saved, newest) = FlushLog::mount(&self.layout, areas, media, first, merged);
        if !log_unseen {
            self.versions.note(newest);
        }
        (self.flush_log, self.saved) = (Some(log), saved);
    }

    /// Applies the recovered map, and then the records of the log.
    fn replay(&mut self, found: &Found, planted: Planted) {
        let layout = self.layout;
        if let Some(words) = &found.map {
            let (positions, rest) = words.split_at(layout.logical as usize);
            let (erases, stand_ins) = rest.split_at(layout.physical() as usize);
            let erases = if planted.is(Sabotage::WearForgotten) { &[] } else { erases };
            for (logical, word) in (0..).zip(positions) {
                let Some(position) = NonMaxU32::from_word(*word) else { continue };
                let superblock = self.superblocks.join(layout.superchip_of(logical), position.get());
                self.map[logical as usize] = Some(NonMaxU32::new(superblock));
            }
            (0..).zip(erases).for_each(|(superblock, erases)| self.superblocks.set_erases(superblock, *erases));
            for (i, word) in (0..).zip(stand_ins) {
                let Some(position) = NonMaxU32::from_word(*word) else { continue };
                self.superblocks.stand_in(i / layout.spares, position.get(), i % layout.spares);
            }
        }
        for record in &found.records {
            match *record {
                Record::Mapped { logical, position, erases } => {
                    let superblock = self.superblocks.join(layout.superchip_of(logical), position);
                    self.map[logical as usize] = Some(NonMaxU32::new(superblock));
                    self.superblocks.set_erases(superblock, erases);
                }
                Record::Replaced { die, position, spare } => self.superblocks.stand_in(die, position, spare),
            }
        }
    }

    fn count_rows(&self, media: &Media) -> u32 {
        let mapped = self.map.iter().flatten().map(|superblock| superblock.get());
        let rows = mapped.flat_map(|superblock| (0..self.layout.rows()).map(move |row| (superblock, row)));
        rows.filter(|(superblock, row)| {
            let (chip, page) = self.layout.chip_and_page(*row);
            let psn = media.geometry().slot(self.superblocks.block(*superblock, chip), page);
            media.holds_data(psn)
        })
        .count() as u32
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
}
