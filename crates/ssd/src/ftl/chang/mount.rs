//! All tables from nothing but the spare areas.
//!
//! In the MLC flash the highest version of a page counts, and of equal ones that in the older block: so the target of a
//! fold that was interrupted holds nothing. In the SLC flash the highest version of a sector counts, and of equal ones the
//! one nearer to the head. A sector of the SLC flash counts if its version is not below that of its page in the MLC flash:
//! a page there has taken along every sector that was older, and those with its own version have its content, or were
//! written to the SLC flash after it.

use flash::nand::{BlockBirth, Media, Mode, Sector, Spare};
use flash::units::{Psn, Span, SuperblockId};

use super::cache::MapCache;
use super::chains::{Block, Chains, NONE};
use super::density::Density;
use super::log::CircularLog;
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
        let mut ftl = Self {
            pages,
            units,
            endurance: resolved.part.endurance,
            map: vec![NONE; units as usize],
            chains: Chains::new(logical, blocks, pages, wear.dynamic),
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
            fold: None,
            clean: None,
            spare_vectors: (Vec::new(), Vec::new()),
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
        ftl.find_chains(media);
        if let (Some(resolved), Some(second)) = (&resolved.second, second) {
            ftl.find_log(resolved.part.endurance, media, second);
        }
        ftl.counts.mlc = ArrayShape::new(media.geometry(), &resolved.backend.timing);
        ftl.counts.table_bytes = 2 * u64::from(logical + blocks);
        if let (Some(slc), Some(resolved)) = (&ftl.slc, &resolved.second) {
            ftl.counts.slc = Some(ArrayShape::new(&resolved.geometry, &resolved.backend.timing));
            ftl.counts.table_bytes += 5 * slc.table.count();
        }
        let there = (0..units).filter(|lpn| ftl.map[*lpn as usize] != NONE || ftl.holds_sectors(*lpn));
        ftl.found = there.count() as u32;
        ftl
    }

    /// Maps the pages of the MLC flash and chains their blocks.
    fn find_chains<S: Sector>(&mut self, media: &Media<S>) {
        let mut programmed: Vec<(BlockBirth, u32)> = Vec::new();
        for block in 0..self.geometry.superblock_count() {
            let superblock = SuperblockId::new(block);
            if media.is_bad(superblock) {
                continue;
            }
            if media.is_erased(superblock) {
                self.chains.put(block, media.erases(superblock));
            } else {
                programmed.push((media.birth(superblock), block));
            }
        }
        programmed.sort_unstable();
        let older = self.planted.is(Sabotage::OlderRecovered);
        for (_, block) in &programmed {
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
            let found = self.chains.block_mut(*block);
            (found.programmed, found.in_order) = (next, in_order);
            found.slc = media.mode(SuperblockId::new(*block)) == Mode::Slc;
            if found.slc && self.density.is_none() {
                // A snapshot of a disk that had the mode: nothing more is written there.
                found.programmed = self.pages;
            }
        }
        // The block in which each page is at its own offset is the data block; of several, and without one, the oldest. In
        // SLC mode there is another for the other half.
        for data in [true, false] {
            for (_, block) in &programmed {
                let found = *self.chains.block(*block);
                if found.valid == 0 || found.lba != NONE {
                    continue;
                }
                let lba = self.lba_of(media, *block);
                let first = self.chains.chain(lba).next().is_none();
                if data {
                    let Some(base) = self.base_of(media, *block) else { continue };
                    self.chains.block_mut(*block).base = base;
                    if first {
                        self.chains.append(lba, *block);
                    } else if found.slc && self.chains.lacks_half(lba, base) {
                        self.chains.append_second(lba, *block);
                    }
                    continue;
                }
                if first {
                    // Nothing is written to it at a page's own offset.
                    self.chains.block_mut(*block).programmed = self.pages;
                }
                self.chains.append(lba, *block);
            }
        }
        if let Some(density) = &mut self.density {
            for (_, block) in &programmed {
                let Block { lba, slc, .. } = *self.chains.block(*block);
                if slc && lba != NONE && !self.chains.is_slc(lba) {
                    self.chains.set_slc(lba, true);
                    density.count += 1;
                }
            }
        }
        let useless = programmed.into_iter().map(|(_, block)| block);
        self.useless = useless.filter(|block| self.chains.block(*block).lba == NONE).collect();
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
        let possible = base == 0 || self.chains.block(block).slc && base == half;
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
        if let Some(head) = blocks.clone().filter(written).max_by_key(|block| media.birth(SuperblockId::new(*block))) {
            let slots = geometry.superblock_slots();
            let used = |offset: &u32| media.spare(geometry.slot(SuperblockId::new(head), *offset)) != Spare::Empty;
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
            if page != NONE && version < version_of(mlc, page) {
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
