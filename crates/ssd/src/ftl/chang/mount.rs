//! All tables from nothing but the spare areas.
//!
//! In the MLC flash the highest version of a page counts, and of equal ones that in the older block: so the target of a
//! fold that was interrupted holds nothing. In the SLC flash the highest version of a sector counts, and of equal ones the
//! one nearer to the head. A sector of the SLC flash counts if its version is not below that of its page in the MLC flash:
//! a page there has taken along every sector that was older, and those with its own version have its content, or were
//! written to the SLC flash after it.

use base::units::{Psn, Span, SuperblockId};
use flash::nand::{BlockBirth, Media, Mode, Sector, Spare};

use super::blocks::{Block, Blocks, NONE};
use super::cache::MapCache;
use super::chains::Chains;
use super::density::Density;
use super::log::CircularLog;
use super::mapping::{Mapping, MappingSpec};
use super::page_map::PageMap;
use super::slc::Slc;
use super::wear::DualPool;
use super::{ArrayShape, ChangFtl, HybridCounters, Step, Work};
use crate::Resolved;
use crate::sabotage::Sabotage;

impl ChangFtl {
    /// The FTL of a device: a new drive is one where nothing is found.
    pub(crate) fn mount<S: Sector>(resolved: &Resolved, media: &Media<S>, second: Option<&Media<S>>) -> Self {
        let geometry = media.geometry().clone();
        let pages = geometry.superblock_slots();
        let blocks = geometry.superblock_count();
        let units = resolved.units;
        let spec = resolved.ftl.chang.clone().unwrap_or_default();
        let logical = units.div_ceil(pages);
        let wear = &resolved.ftl.wear;
        let usable = (0..blocks).map(|block| (block, SuperblockId::new(block)));
        let usable = usable.filter(|(_, superblock)| !media.is_bad(*superblock));
        let counts = usable.map(|(block, superblock)| (block, media.erases(superblock)));
        let dies = if spec.mapping == MappingSpec::Pages { geometry.die_count() } else { 1 };
        let all = Blocks::new(blocks, dies, wear.dynamic);
        let mapping = match spec.mapping {
            MappingSpec::Chains => Mapping::Chains(Chains::new(logical, pages, all)),
            MappingSpec::Pages => Mapping::Pages(PageMap::new(pages, dies, all)),
        };
        let mut ftl = Self {
            pages,
            units,
            endurance: resolved.part.endurance,
            map: vec![NONE; units as usize],
            mapping,
            cache: MapCache::new(logical, spec.mapping_cache),
            wear: wear.threshold.map(|threshold| DualPool::new(threshold, wear.check_every, blocks, counts)),
            density: spec.density.as_ref().map(|density| Density::new(density, logical, super::spec::block(&geometry))),
            erases: media.all_erases().map(u64::from).sum(),
            slc: None,
            queue: std::collections::VecDeque::new(),
            wanted: std::collections::VecDeque::new(),
            incoming: std::collections::VecDeque::new(),
            open_reads: 0,
            open_writes: 0,
            step: Step::None,
            work: Work::None,
            waited: Span::ZERO,
            reads_now: Vec::new(),
            units_now: Vec::new(),
            smalls: Vec::new(),
            small_done: 0,
            due: std::collections::VecDeque::new(),
            batch: Vec::new(),
            looks: Vec::new(),
            gathered: None,
            is_gathered: false,
            fetched: None,
            is_fetched: false,
            fold: None,
            collection: None,
            clean: None,
            spare_vectors: (Vec::new(), Vec::new()),
            spare_moves: (Vec::new(), Vec::new()),
            useless: Vec::new(),
            worn_out: false,
            stuck: false,
            counts: HybridCounters::default(),
            version: 0,
            found: 0,
            planted: resolved.planted,
            spec,
            geometry,
        };
        let programmed = ftl.find_pages(media);
        match ftl.mapping {
            Mapping::Chains(_) => ftl.find_chains(media, &programmed),
            Mapping::Pages(_) => ftl.close_all(&programmed),
        }
        if let (Some(resolved), Some(second)) = (&resolved.second, second) {
            ftl.find_log(resolved.part.endurance, media, second);
        }
        ftl.counts.mlc = ArrayShape::new(media.geometry(), &resolved.backend.timing);
        ftl.counts.table_bytes = match ftl.mapping {
            Mapping::Chains(_) => 2 * u64::from(logical + blocks),
            Mapping::Pages(_) => 4 * u64::from(units),
        };
        if let (Some(slc), Some(resolved)) = (&ftl.slc, &resolved.second) {
            ftl.counts.slc = Some(ArrayShape::new(&resolved.geometry, &resolved.backend.timing));
            ftl.counts.table_bytes += 5 * slc.table.count();
        }
        let there = (0..units).filter(|lpn| ftl.map[*lpn as usize] != NONE || ftl.holds_sectors(*lpn));
        ftl.found = there.count() as u32;
        ftl
    }

    /// Maps the pages of the MLC flash, and returns the blocks that hold something from the oldest on.
    fn find_pages<S: Sector>(&mut self, media: &Media<S>) -> Vec<u32> {
        let mut programmed: Vec<(BlockBirth, u32)> = Vec::new();
        for block in 0..self.geometry.superblock_count() {
            let superblock = SuperblockId::new(block);
            if media.is_bad(superblock) {
                continue;
            }
            if media.is_erased(superblock) {
                let wear = if self.planted.is(Sabotage::WearForgotten) { 0 } else { media.erases(superblock) };
                self.mapping.put(block, wear);
            } else {
                programmed.push((media.birth(superblock), block));
            }
        }
        programmed.sort_unstable();
        let programmed: Vec<u32> = programmed.into_iter().map(|(_, block)| block).collect();
        let older = self.planted.is(Sabotage::OlderRecovered);
        for block in &programmed {
            let (mut next, mut in_order) = (0, true);
            for page in 0..self.pages {
                let psn = self.slot(*block, page);
                let spare = media.spare(psn);
                if spare != Spare::Empty {
                    in_order &= next == page;
                    next = page + 1;
                }
                let Spare::Data { lpn, version } = spare else { continue };
                in_order &= lpn.get() % self.pages == page;
                self.version = self.version.max(version);
                let known = match self.map[lpn.index()] {
                    NONE => None,
                    psn => Some(version_of(media, psn)),
                };
                if known.is_none_or(|known| if older { version < known } else { version > known }) {
                    self.set_map(lpn.get(), psn.get());
                }
            }
            let found = &mut self.mapping.blocks_mut()[*block];
            (found.programmed, found.in_order) = (next, in_order);
            found.slc = media.mode(SuperblockId::new(*block)) == Mode::Slc;
            if found.slc && self.density.is_none() {
                // A snapshot of a disk that had the mode: nothing more is written there.
                found.programmed = self.pages;
            }
        }
        programmed
    }

    /// Nothing more is written to a block that was begun before the power went: the next collection finds it.
    fn close_all(&mut self, programmed: &[u32]) {
        let Mapping::Pages(pages) = &mut self.mapping else { return };
        for block in programmed {
            if pages.blocks[*block].valid > 0 {
                pages.close(*block);
            } else {
                self.useless.push(*block);
            }
        }
    }

    /// Chains the blocks that hold something.
    fn find_chains<S: Sector>(&mut self, media: &Media<S>, programmed: &[u32]) {
        // The block in which each page is at its own offset is the data block; of several, and without one, the oldest. In
        // SLC mode there is another for the other half.
        for data in [true, false] {
            for block in programmed {
                let found = self.mapping.blocks()[*block];
                if found.valid == 0 || found.lba != NONE {
                    continue;
                }
                let lba = self.lba_of(media, *block);
                let first = self.mapping.chains().chain(lba).next().is_none();
                if data {
                    let Some(base) = self.base_of(media, *block) else { continue };
                    self.mapping.blocks_mut()[*block].base = base;
                    if first {
                        self.mapping.chains_mut().append(lba, *block);
                    } else if found.slc && self.mapping.chains().lacks_half(lba, base) {
                        self.mapping.chains_mut().append_second(lba, *block);
                    }
                    continue;
                }
                if first {
                    // Nothing is written to it at a page's own offset.
                    self.mapping.blocks_mut()[*block].programmed = self.pages;
                }
                self.mapping.chains_mut().append(lba, *block);
            }
        }
        if let Some(density) = &mut self.density {
            let chains = self.mapping.chains_mut();
            for block in programmed {
                let Block { lba, slc, .. } = chains.blocks[*block];
                if slc && lba != NONE && !chains.is_slc(lba) {
                    chains.set_slc(lba, true);
                    density.count += 1;
                }
            }
        }
        let blocks = self.mapping.blocks();
        self.useless = programmed.iter().copied().filter(|block| blocks[*block].lba == NONE).collect();
    }

    /// The logical block that a block belongs to.
    fn lba_of<S: Sector>(&self, media: &Media<S>, block: u32) -> u32 {
        let of = |page| match media.spare(self.slot(block, page)) {
            Spare::Data { lpn, .. } => Some(lpn.get() / self.pages),
            Spare::Empty | Spare::Torn => None,
        };
        (0..self.pages).find_map(of).expect("a valid page")
    }

    /// The page of the logical block that the first of this block is for, if each is where it is in a data block.
    fn base_of<S: Sector>(&self, media: &Media<S>, block: u32) -> Option<u32> {
        let mut bases = (0..self.pages).filter_map(|page| match media.spare(self.slot(block, page)) {
            Spare::Data { lpn, .. } => Some((lpn.get() % self.pages).checked_sub(page)),
            Spare::Empty | Spare::Torn => None,
        });
        let base = bases.next()??;
        let half = Mode::Slc.pages(self.pages);
        let possible = base == 0 || self.mapping.blocks()[block].slc && base == half;
        (possible && bases.all(|other| other == Some(base))).then_some(base)
    }

    /// Finds head, tail and sectors of the SLC log.
    fn find_log<S: Sector>(&mut self, endurance: u32, mlc: &Media<S>, media: &Media<S>) {
        let geometry = media.geometry().clone();
        let blocks = 0..geometry.superblock_count();
        let bad = blocks.clone().map(|block| media.is_bad(SuperblockId::new(block))).collect();
        let Some(mut log) = CircularLog::new(bad, geometry.pages) else { return };
        let written = |block: &u32| {
            let superblock = SuperblockId::new(*block);
            !media.is_bad(superblock) && !media.is_erased(superblock)
        };
        let last = self.planted.is(Sabotage::HeadByNumber);
        let birth = |block: &u32| if last { BlockBirth::default() } else { media.birth(SuperblockId::new(*block)) };
        if let Some(head) = blocks.clone().filter(written).max_by_key(birth) {
            let slots = geometry.superblock_slots();
            let unseen = if self.planted.is(Sabotage::TornPageForgotten) { Spare::Torn } else { Spare::Empty };
            let spare = |offset: &u32| media.spare(geometry.slot(SuperblockId::new(head), *offset));
            let used = |offset: &u32| ![Spare::Empty, unseen].contains(&spare(offset));
            let next = (0..slots).rev().find(used).map_or(0, |offset| offset / geometry.slots + 1);
            let mut tail = log.after(head);
            while tail != head && !written(&tail) {
                tail = log.after(tail);
            }
            log.resume(head, next, tail);
        }
        let erases = media.all_erases().map(u64::from).sum();
        let mut slc = Slc::new(&self.spec, geometry, endurance, self.units, erases, log);
        let mut newest: Vec<(u32, u32, BlockBirth, u32)> = Vec::new();
        for block in blocks.filter(written) {
            let superblock = SuperblockId::new(block);
            for offset in 0..slc.geometry.superblock_slots() {
                let psn = slc.geometry.slot(superblock, offset);
                let Spare::Data { lpn, version } = media.spare(psn) else { continue };
                self.version = self.version.max(version);
                newest.push((lpn.get(), version, media.birth(superblock), psn.get()));
            }
        }
        newest.sort_unstable();
        for (i, (sector, version, _, place)) in newest.iter().copied().enumerate() {
            if newest.get(i + 1).is_some_and(|(next, ..)| *next == sector) {
                continue;
            }
            let lpn = sector / self.geometry.sectors;
            let page = self.map[lpn as usize];
            let equal = u32::from(self.planted.is(Sabotage::SectorOutdone));
            if page != NONE && version < version_of(mlc, page) + equal {
                continue;
            }
            if slc.table.set(sector, place) {
                slc.held[lpn as usize] += 1;
            } else {
                slc.take_homeless(sector, lpn, place);
            }
        }
        self.slc = Some(Box::new(slc));
    }

    /// The time that looking at every page takes, one after another: a spare area takes as long as its page (Sec. 4.1,
    /// footnote 2).
    pub(crate) fn scan_time<S: Sector>(resolved: &Resolved, media: &Media<S>, second: Option<&Media<S>>) -> Span {
        let mut time = programmed_pages(media) * &resolved.backend.timing;
        if let (Some(resolved), Some(second)) = (&resolved.second, second) {
            time += programmed_pages(second) * &resolved.backend.timing;
        }
        time
    }
}

/// Pages that hold something.
struct Programmed(u64, u32);

impl std::ops::Mul<&flash::backend::Timing> for Programmed {
    type Output = Span;
    fn mul(self, timing: &flash::backend::Timing) -> Span {
        (timing.read[0] + timing.command + timing.transfer[self.1 as usize]) * self.0
    }
}

fn programmed_pages<S: Sector>(media: &Media<S>) -> Programmed {
    let geometry = media.geometry();
    let mut pages = 0;
    for block in (0..geometry.superblock_count()).map(SuperblockId::new).filter(|block| !media.is_erased(*block)) {
        let holds = |page: &u32| media.spare(geometry.slot(block, page * geometry.slots)) != Spare::Empty;
        pages += (0..geometry.pages).filter(holds).count() as u64;
    }
    Programmed(pages, geometry.slots)
}

/// The version of what is in a slot.
pub(super) fn version_of<S: Sector>(media: &Media<S>, psn: u32) -> u32 {
    match media.spare(Psn::new(psn)) {
        Spare::Data { version, .. } => version,
        Spare::Empty | Spare::Torn => 0,
    }
}
