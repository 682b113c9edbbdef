//! The block map on flash (Seong et al., Sec. 3.3.1), in two reserved areas: the log gets a record for every superblock
//! that has a new place, and the map area gets, now and then, the whole map with the erase counts.
//!
//! Records that arrive during the write of a log page share the next page. A full log block triggers a write of the
//! map, which makes the older log obsolete. Recovery reads the newest complete map, and then the log after it. With
//! replication there are two copies of each area, on different dies, and a page is durable when both copies hold it.

use std::collections::VecDeque;

use base::engine::Handle;
use base::units::SuperblockId;
use flash::backend::List;
use flash::nand::Media;

use super::address::Layout;
use super::area::{Area, AreaPage};
use crate::port::Flash;

/// Blocks of a log area beside those that may fail: the block being filled, and the full ones before it until the map
/// is written.
const LOG_BLOCKS: u32 = 4;
/// Room for logged flushes, in multiples of the buffer's capacity: rows that do not fill a page leave gaps, and a row
/// flushed again leaves its older copy behind.
const FLUSHES: u32 = 2;
/// Blocks of an area that may fail before the drive becomes read-only.
const FAILING: u32 = 2;
/// Words of a record.
const RECORD: u32 = 4;

/// A change of the map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JournalRecord {
    /// The position of a logical superblock in its superchip, and the erase count of that position.
    Mapped { logical: u32, position: u32, erases: u32 },
    /// A spare has replaced the block at a position of a die.
    Replaced { die: u32, position: u32, spare: u32 },
}

impl JournalRecord {
    const fn words(self) -> [u32; RECORD as usize] {
        match self {
            Self::Mapped { logical, position, erases } => [0, logical, position, erases],
            Self::Replaced { die, position, spare } => [1 + die, position, spare, 0],
        }
    }

    const fn of(words: [u32; RECORD as usize]) -> Self {
        match words {
            [0, logical, position, erases] => Self::Mapped { logical, position, erases },
            [die, position, spare, _] => Self::Replaced { die: die - 1, position, spare },
        }
    }
}

/// The places of the reserved areas: for each replica a log and a map.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Areas {
    pub(super) map_pages: u32,
    /// Die, first block and number of blocks of each area: the logs of all replicas, then their maps.
    pub(super) places: Vec<(u32, u32, u32)>,
    /// Die, first block and number of blocks of each strip of the flush log, which has a strip on each die of one
    /// superchip.
    pub(super) strips: Vec<(u32, u32, u32)>,
}

impl Areas {
    /// The areas of a layout, before the number of its data superblocks is known. `flushes` is the buffer's capacity in
    /// rows, if flushes are logged.
    pub(crate) fn new(layout: &Layout, replicate: bool, flushes: Option<u32>) -> Self {
        let words = 2 * layout.physical() + layout.dies() * layout.spares;
        let map_pages = words.div_ceil(layout.sectors * 128);
        let replicas = 1 + u32::from(replicate);
        let logs = (0..replicas).map(|i| (2 * i, LOG_BLOCKS + FAILING));
        // Room for the durable map and for the next one; neither need start at a block boundary.
        let maps = (0..replicas).map(|i| (2 * i + 1, 2 * map_pages.div_ceil(layout.pages) + 1 + FAILING));
        let places = logs.chain(maps).map(|(die, blocks)| (die % layout.dies(), 0, blocks)).collect();
        // The strips are in the last superchip, which has other areas only if there are few superchips.
        let strips = (0..layout.chips).filter_map(|chip| {
            let blocks = FLUSHES.saturating_mul(flushes?.div_ceil(layout.rows())).saturating_add(1 + FAILING);
            Some((layout.die(layout.superchips - 1, chip), 0, blocks))
        });
        Self { map_pages, places, strips: strips.collect() }
    }

    /// The most blocks that the areas take of one die.
    pub(crate) fn most_blocks(&self) -> u32 {
        let all = || self.places.iter().chain(&self.strips);
        let of_die =
            |die: u32| all().filter(|place| place.0 == die).fold(0, |sum: u32, place| sum.saturating_add(place.2));
        all().map(|place| of_die(place.0)).max().unwrap_or(0)
    }

    /// The number of the flush log's first image in the media.
    pub(super) fn images(&self, layout: &Layout) -> u32 {
        self.map_pages + self.places[0].2 * layout.pages
    }

    /// Places the areas after the data blocks and their spares.
    pub(crate) fn of(mut self, layout: &Layout) -> Self {
        for i in 0..self.places.len() {
            let before = self.places[..i].iter().filter(|place| place.0 == self.places[i].0).map(|place| place.2);
            self.places[i].1 = layout.first_reserved() + before.sum::<u32>();
        }
        for strip in &mut self.strips {
            let before = self.places.iter().filter(|place| place.0 == strip.0).map(|place| place.2);
            strip.1 = layout.first_reserved() + before.sum::<u32>();
        }
        self
    }

    pub(super) fn flush_blocks(&self, blocks_of_die: u32) -> impl Iterator<Item = SuperblockId> + '_ {
        let blocks =
            self.strips.iter().flat_map(|(die, first, count)| (*first..first + count).map(|block| (*die, block)));
        blocks.map(move |(die, block)| SuperblockId::new(die * blocks_of_die + block))
    }

    /// The blocks of the logs and maps, each with its area.
    pub(super) fn blocks(&self, blocks_of_die: u32) -> impl Iterator<Item = (usize, SuperblockId)> + '_ {
        let areas = self.places.iter().enumerate();
        areas.flat_map(move |(area, (die, first, count))| {
            (*first..first + count).map(move |block| (area, SuperblockId::new(die * blocks_of_die + block)))
        })
    }
}

/// The map and the log that recovery has read.
#[derive(Clone, Debug, Default)]
pub(super) struct RecoveredJournal {
    /// The words of the newest complete map, if a map was ever written.
    pub(super) map: Option<Vec<u32>>,
    /// The records after the map, oldest first.
    pub(super) records: Vec<JournalRecord>,
    /// The newest version in any area.
    pub(super) version: u32,
}

#[derive(Clone, Debug)]
pub(super) struct Journal {
    areas: Vec<Area>,
    replicas: usize,
    map_pages: u32,
    /// The version of the latest page at each number of a log page. Log pages use the numbers after those of the map in
    /// rotation. There are as many numbers as pages in the area, so a page that waits for room may have the number of a
    /// page that still counts.
    latest: Vec<Option<u32>>,
    records_in_page: usize,
    waiting: VecDeque<JournalRecord>,
    /// The log page being written, its records, and the replicas that have not finished.
    page: AreaPage,
    writing: Vec<JournalRecord>,
    left: usize,
    /// The version of the map being written, and its pages that are not on flash yet.
    storing: Option<(u32, usize)>,
    /// The version of the newest complete map.
    durable: Option<u32>,
    words: Vec<u32>,
    /// Log pages and maps whose writes have begun since power-on.
    written: (u64, u64),
}

impl Journal {
    /// Recovers the journal from the media. `tag(area)` is the tag of an area's lists.
    pub(super) fn mount(
        layout: &Layout,
        areas: &Areas,
        media: &Media,
        tag: impl Fn(u32) -> u32,
    ) -> (Self, RecoveredJournal) {
        let replicas = areas.places.len() / 2;
        let area = |i: usize| Area::new(layout.first_number(), layout.pages, layout.sectors, tag(i as u32));
        let mut journal = Self {
            areas: (0..areas.places.len()).map(area).collect(),
            replicas,
            map_pages: areas.map_pages,
            latest: vec![None; (areas.places[0].2 * layout.pages) as usize],
            records_in_page: ((layout.sectors * 128 / RECORD) as usize).max(1),
            waiting: VecDeque::new(),
            page: AreaPage { number: areas.map_pages, version: 0 },
            writing: Vec::new(),
            left: 0,
            storing: None,
            durable: None,
            words: Vec::new(),
            written: (0, 0),
        };
        let found = journal.recover(areas, media);
        (journal, found)
    }

    fn recover(&mut self, areas: &Areas, media: &Media) -> RecoveredJournal {
        let blocks: Vec<_> = areas.blocks(media.geometry().blocks).collect();
        let scanned: Vec<(usize, SuperblockId, Vec<AreaPage>)> = blocks
            .into_iter()
            .map(|(area, block)| (area, block, self.areas[area].scan(media, block).collect()))
            .collect();
        let replicas = self.replicas;
        let all = |logs: bool| {
            let wanted = scanned.iter().filter(move |(area, ..)| (*area < replicas) == logs);
            wanted.flat_map(|(.., pages)| pages.iter().copied())
        };
        let version = all(true).chain(all(false)).map(|page| page.version).max().unwrap_or(0);
        // The newest complete map.
        let mut maps: Vec<u32> = all(false).map(|page| page.version).collect();
        maps.sort_unstable();
        maps.dedup();
        let whole = |version: &u32| {
            let all = &all;
            let has = |number| all(false).any(|page| page == AreaPage { number, version: *version });
            (0..self.map_pages).all(|number| has(number) && media.image(number, *version).is_some())
        };
        let durable = maps.into_iter().rev().find(whole);
        let map = durable.map(|version| {
            let images = (0..self.map_pages).filter_map(|number| media.image(number, version));
            images.flat_map(|image| image.iter().copied()).collect()
        });
        let mut log: Vec<AreaPage> = all(true).filter(|page| Some(page.version) > durable).collect();
        log.sort_unstable_by_key(|page| page.version);
        log.dedup();
        let mut records = Vec::new();
        for page in &log {
            let image = media.image(page.number, page.version).expect("a page of the log that counts has its content");
            records.extend(
                image.chunks_exact(RECORD as usize).map(|words| JournalRecord::of(words.try_into().expect("four"))),
            );
        }
        if let Some(last) = log.last() {
            self.page.number = self.after(last.number);
        }
        for page in &log {
            self.latest[(page.number - self.map_pages) as usize] = Some(page.version);
        }
        self.durable = durable;
        for (area, block, pages) in scanned {
            let newest = pages.iter().map(|page| page.version).max();
            let needed = if area < self.replicas {
                newest > durable
            } else {
                pages.iter().any(|page| Some(page.version) == durable)
            };
            self.areas[area].found(media, block, newest.filter(|_| needed));
        }
        RecoveredJournal { map, records, version }
    }

    /// The number of the log page after the page `number`.
    const fn after(&self, number: u32) -> u32 {
        self.map_pages + (number - self.map_pages + 1) % self.latest.len() as u32
    }

    /// Queues a record for the log.
    pub(super) fn push(&mut self, record: JournalRecord) {
        self.waiting.push_back(record);
    }

    pub(super) fn has(&self, area: u32) -> bool {
        (area as usize) < self.areas.len()
    }

    /// True if the map is due: a log block is full.
    pub(super) fn wants_map(&self) -> bool {
        self.storing.is_none() && self.areas[..self.replicas].iter().any(|log| log.full() > 0)
    }

    /// Starts to write the map. `fill` appends its words; the first words are the positions of the logical superblocks.
    pub(super) fn store_map(&mut self, flash: &mut Flash<'_>, version: u32, fill: impl FnOnce(&mut Vec<u32>)) {
        self.words.clear();
        fill(&mut self.words);
        // After this map, recovery no longer reads the older log. So the map includes the records that have not reached
        // the log yet.
        for record in self.writing.iter().chain(&self.waiting) {
            if let JournalRecord::Mapped { logical, position, .. } = *record {
                self.words[logical as usize] = position;
            }
        }
        let in_page = self.words.len().div_ceil(self.map_pages as usize);
        for number in 0..self.map_pages {
            let from = (number as usize * in_page).min(self.words.len());
            let to = (from + in_page).min(self.words.len());
            let image = &self.words[from..to];
            flash.backend.media_mut().stage_image(number, self.durable, version, image);
            self.areas[self.replicas..].iter_mut().for_each(|area| area.push(AreaPage { number, version }));
        }
        self.storing = Some((version, self.map_pages as usize * self.replicas));
        self.written.1 += 1;
    }

    /// Writes the waiting records and pages. `version` gives a new log page its version.
    pub(super) fn advance(&mut self, flash: &mut Flash<'_>, version: impl FnOnce() -> u32) {
        if self.left == 0 && !self.waiting.is_empty() {
            let count = self.waiting.len().min(self.records_in_page);
            self.writing.extend(self.waiting.drain(..count));
            self.page.version = version();
            self.words.clear();
            self.words.extend(self.writing.iter().flat_map(|record| record.words()));
            let AreaPage { number, version } = self.page;
            let latest = self.latest[(number - self.map_pages) as usize].replace(version);
            flash.backend.media_mut().stage_image(number, latest, version, &self.words);
            self.left = self.replicas;
            self.areas[..self.replicas].iter_mut().for_each(|area| area.push(self.page));
            self.written.0 += 1;
        }
        self.areas.iter_mut().for_each(|area| area.advance(flash));
    }

    /// A list of an area has finished. Appends the records that are now durable to `done`.
    pub(super) fn finished(
        &mut self,
        flash: &mut Flash<'_>,
        area: u32,
        list: Handle<List>,
        done: &mut Vec<JournalRecord>,
    ) {
        let is_log = (area as usize) < self.replicas;
        let (left, storing) = (&mut self.left, &mut self.storing);
        self.areas[area as usize].finished(flash, list, |_| match storing {
            _ if is_log => *left -= 1,
            Some((_, left)) => *left -= 1,
            None => unreachable!("a page of no map was written"),
        });
        if is_log && self.left == 0 && !self.writing.is_empty() {
            done.append(&mut self.writing);
            self.page.number = self.after(self.page.number);
        }
        if let Some((version, 0)) = self.storing {
            self.storing = None;
            self.durable = Some(version);
            (0..self.map_pages).for_each(|number| flash.backend.media_mut().keep_image(number, version));
            self.areas.iter_mut().for_each(|area| area.release(flash.backend.media(), version));
        }
    }

    /// Log pages and maps whose writes have begun since power-on.
    pub(super) const fn written(&self) -> (u64, u64) {
        self.written
    }

    /// True if records wait for ever, because too many reserved blocks have failed for the log to get another block.
    pub(super) fn is_stuck(&self) -> bool {
        let (logs, maps) = self.areas.split_at(self.replicas);
        let helped = match self.storing {
            Some(_) => !maps.iter().any(Area::is_out_of_blocks),
            None => self.wants_map(),
        };
        logs.iter().any(Area::is_out_of_blocks) && !helped
    }

    /// True if all records and pages are on flash.
    pub(super) fn is_idle(&self) -> bool {
        self.left == 0 && self.waiting.is_empty() && self.areas.iter().all(Area::is_idle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_record_decodes_to_what_was_encoded() {
        for record in [
            JournalRecord::Mapped { logical: 7, position: 3, erases: 9 },
            JournalRecord::Mapped { logical: 0, position: 0, erases: 0 },
            JournalRecord::Replaced { die: 0, position: 5, spare: 1 },
            JournalRecord::Replaced { die: 7, position: 0, spare: 0 },
        ] {
            assert_eq!(JournalRecord::of(record.words()), record);
        }
    }

    #[test]
    fn each_area_has_its_own_blocks() {
        let layout = Layout {
            buses: 4,
            chips: 2,
            superchips: 4,
            sectors: 16,
            pages: 64,
            superblocks: 8000,
            spares: 160,
            logical: 30_000,
        };
        let areas = Areas::new(&layout, true, None).of(&layout);
        // The prototype's map takes 8 bytes for each superblock, and 8 bytes for each spare.
        assert_eq!(areas.map_pages, (2 * 32_000_u32 + 8 * 160).div_ceil(2048));
        assert_eq!(areas.places.iter().map(|place| place.0).collect::<Vec<_>>(), [0, 2, 1, 3]);
        assert_eq!((areas.most_blocks(), areas.places[0].1), (6, 8160));
        // On a single die the areas follow one another.
        let single = Layout { chips: 1, superchips: 1, ..layout };
        let areas = Areas::new(&single, true, Some(1920)).of(&single);
        let mut blocks: Vec<_> = areas.blocks(9000).map(|(_, block)| block).chain(areas.flush_blocks(9000)).collect();
        let count = blocks.len() as u32;
        blocks.dedup();
        assert_eq!((blocks.len() as u32, areas.most_blocks()), (count, count));
        assert!(blocks.is_sorted());
    }
}
