//! Mount: rebuilds all tables from the spare areas alone.
//!
//! * In the MLC flash the highest version of a page counts, and of equal ones the copy in the older block: so the
//!   target of an interrupted fold holds no valid page.
//! * In the SLC flash the highest version of a sector counts, and of equal ones the copy nearer to the head.
//! * A sector in the SLC flash counts if its version is not below that of its page in the MLC flash. That page has
//!   taken along all older sectors. Sectors with the page's own version have its content, because a page with some
//!   sectors of a write has all of them.

use base::units::{Span, SuperblockId};
use flash::backend::Op;
use flash::nand::{BlockBirth, Media, Mode, Spare};

use super::blocks::{Blocks, PhysicalBlock};
use super::cache::MapCache;
use super::chains::Chains;
use super::counters::{ArrayShape, SlcMlcCounters};
use super::density::Density;
use super::disk::Disk;
use super::due::Vectors;
use super::free_list::FreeOrder;
use super::log::CircularLog;
use super::mapping::{MappingSpec, SlcMlcMapping};
use super::mlc::Mlc;
use super::page_map::PageMap;
use super::place::block_bytes;
use super::requests::Requests;
use super::slc::Slc;
use super::spec::SlcMlcSpec;
use super::task::Tasks;
use super::wear::DualPool;
use super::{SlcMlcConfig, SlcMlcFtl};
use crate::port::Mount;
use crate::sabotage::{PlantedBug, Sabotage};
use crate::toolkit::recovery::{self, MountState};
use crate::toolkit::{Map, Versions};

impl SlcMlcFtl {
    /// Recovers the FTL from the media. A new drive has empty media.
    pub(super) fn mount(config: &SlcMlcConfig, from: &Mount<'_>) -> Self {
        let (spec, media) = (config.spec.clone(), from.media);
        let mut versions = Versions::default();
        let mut mlc = Mlc::new(config, media);
        let programmed = mlc.find_pages(media, &mut versions, from.planted);
        match mlc.mapping {
            SlcMlcMapping::Chains(_) => mlc.find_chains(media, &programmed),
            SlcMlcMapping::Pages(_) => mlc.close_all(&programmed),
        }
        let mut counts =
            SlcMlcCounters { mlc: ArrayShape::new(media.geometry(), &config.timing), ..SlcMlcCounters::default() };
        counts.table_bytes = match mlc.mapping {
            SlcMlcMapping::Chains(_) => {
                2 * u64::from(mlc.units().div_ceil(mlc.pages) + mlc.geometry.superblock_count())
            }
            SlcMlcMapping::Pages(_) => 4 * u64::from(mlc.units()),
        };
        let mut slc = None;
        if let (Some(array), Some(slc_array)) = (&config.slc_array, from.slc_array) {
            slc =
                find_log(&spec, array.endurance, (&mlc, media), slc_array, (&mut versions, from.planted)).map(Box::new);
            if let Some(slc) = &slc {
                counts.slc = Some(ArrayShape::new(&array.geometry, &array.backend.timing));
                counts.table_bytes += 5 * slc.table.count();
            }
        }
        let disk = Disk {
            spec,
            mlc,
            slc,
            counts,
            vectors: Vectors::default(),
            interrupted: Vec::new(),
            planted: from.planted,
        };
        let found = disk.mlc.mapping.valid_pages() + slc_only(&disk, from.slc_array);
        Self { disk, requests: Requests::default(), tasks: Tasks::default(), versions, found }
    }
}

/// The number of mapping units of which only the SLC flash has sectors.
fn slc_only(disk: &Disk, slc_array: Option<&Media>) -> u32 {
    if slc_array.is_none_or(Media::is_new) {
        return 0;
    }
    let is_only = |lpn: &u32| disk.holds_sectors(*lpn) && disk.mlc.psn_of(*lpn).is_none();
    (0..disk.mlc.units()).filter(is_only).count() as u32
}

/// A copy of a sector in the SLC flash. The greatest copy of a sector, in this order, counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct SectorCopy {
    sector: u32,
    version: u32,
    birth: BlockBirth,
    place: u32,
}

/// The copy of each sector that counts, by sector.
fn newest_of_each(copies: &mut [SectorCopy]) -> impl Iterator<Item = SectorCopy> {
    copies.sort_unstable();
    copies.chunk_by(|a, b| a.sector == b.sector).filter_map(|copies| copies.last().copied())
}

impl Mlc {
    /// The MLC flash before recovery, with no page mapped.
    fn new(config: &SlcMlcConfig, media: &Media) -> Self {
        let spec = &config.spec;
        let geometry = media.geometry().clone();
        let (pages, blocks) = (geometry.superblock_slots(), geometry.superblock_count());
        let logical = config.units.div_ceil(pages);
        let wear = &config.wear;
        let order = if wear.dynamic { FreeOrder::Wear } else { FreeOrder::Age };
        let mapping = match spec.mapping {
            MappingSpec::Chains => SlcMlcMapping::Chains(Chains::new(logical, pages, Blocks::new(blocks, 1, order))),
            MappingSpec::Pages => {
                let dies = geometry.die_count();
                SlcMlcMapping::Pages(PageMap::new(pages, dies, Blocks::new(blocks, dies, order)))
            }
        };
        let usable = (0..blocks).map(|block| (block, SuperblockId::new(block)));
        let usable = usable.filter(|(_, superblock)| !media.is_bad(*superblock));
        let counts = usable.map(|(block, superblock)| (block, media.erases(superblock)));
        Self {
            pages,
            endurance: config.endurance,
            map: Map::new(config.units),
            mapping,
            cache: MapCache::new(logical, spec.mapping_cache),
            spare_scans: Vec::new(),
            levelling: wear.threshold.map(|threshold| DualPool::new(threshold, wear.check_every, blocks, counts)),
            density: spec.density.as_ref().map(|density| Density::new(density, logical, block_bytes(&geometry))),
            erases: media.all_erases().map(u64::from).sum(),
            useless: Vec::new(),
            worn_out: false,
            geometry,
        }
    }

    /// Maps the pages of the MLC flash. Returns the programmed blocks, oldest first.
    fn find_pages(&mut self, media: &Media, versions: &mut Versions, planted: PlantedBug) -> Vec<u32> {
        let mut programmed = Vec::new();
        for (superblock, found) in recovery::survey(media, planted) {
            match found {
                MountState::Bad => {}
                MountState::Erased(erases) => self.mapping.put(superblock.get(), erases),
                MountState::Programmed(birth) => programmed.push((birth, superblock)),
            }
        }
        programmed.sort_unstable();
        let superblocks = programmed.iter().map(|(_, superblock)| *superblock);
        recovery::find_newest(media, superblocks.clone(), &mut self.map, versions, planted);
        let programmed: Vec<u32> = superblocks.map(SuperblockId::get).collect();
        for block in &programmed {
            let (mut next, mut in_order, mut valid) = (0, true, 0);
            for page in 0..self.pages {
                let psn = self.slot(*block, page);
                let spare = media.spare(psn);
                if spare != Spare::Empty {
                    in_order &= next == page;
                    next = page + 1;
                }
                if let Spare::Data { lpn, .. } = spare {
                    in_order &= lpn.get() % self.pages == page;
                    valid += u32::from(self.map.leads(lpn, psn));
                }
            }
            self.mapping.found(*block, valid);
            let found = &mut self.mapping.blocks_mut()[*block];
            (found.programmed, found.in_order) = (next, in_order);
            found.mode = media.mode(SuperblockId::new(*block));
            found.failing = media.is_failing(SuperblockId::new(*block));
            if found.mode == Mode::Slc && self.density.is_none() {
                // The block comes from a snapshot of a disk with density control, and takes no more pages.
                found.programmed = self.pages;
            }
        }
        programmed
    }

    /// Closes the blocks that were open before the power cut, so that garbage collection can take them.
    fn close_all(&mut self, programmed: &[u32]) {
        let SlcMlcMapping::Pages(pages) = &mut self.mapping else { return };
        for block in programmed {
            if pages.blocks[*block].valid > 0 {
                pages.close(*block);
            } else {
                self.useless.push(*block);
            }
        }
    }

    /// Builds the chains of the programmed blocks.
    fn find_chains(&mut self, media: &Media, programmed: &[u32]) {
        // The data block of a chain is a block whose pages all have their own offset: the oldest if there are several.
        // If there is none, the oldest block of all is the data block. SLC mode has another data block for the other
        // half.
        for data in [true, false] {
            for block in programmed {
                let found = self.mapping.blocks()[*block];
                if found.valid == 0 || found.lba.is_some() {
                    continue;
                }
                let lba = self.lba_of(media, *block);
                let first = self.mapping.chains().chain(lba).next().is_none();
                if data {
                    let Some(base) = self.base_of(media, *block) else { continue };
                    self.mapping.blocks_mut()[*block].base = base;
                    if first {
                        self.mapping.chains_mut().append(lba, *block);
                    } else if found.mode == Mode::Slc && self.mapping.chains().lacks_half(lba, base) {
                        self.mapping.chains_mut().append_slc(lba, *block);
                    }
                    continue;
                }
                if first {
                    // This data block takes no page at its own offset any more.
                    self.mapping.blocks_mut()[*block].programmed = self.pages;
                }
                self.mapping.chains_mut().append(lba, *block);
            }
        }
        if let Some(density) = &mut self.density {
            let chains = self.mapping.chains_mut();
            for block in programmed {
                let PhysicalBlock { lba, mode, .. } = chains.blocks[*block];
                if let (Some(lba), Mode::Slc) = (lba, mode)
                    && !chains.is_slc(lba.get())
                {
                    chains.set_mode(lba.get(), Mode::Slc);
                    density.count += 1;
                }
            }
        }
        let blocks = self.mapping.blocks();
        self.useless = programmed.iter().copied().filter(|block| blocks[*block].lba.is_none()).collect();
    }

    /// The logical block to which the pages of a programmed block belong.
    fn lba_of(&self, media: &Media, block: u32) -> u32 {
        let of = |page| match media.spare(self.slot(block, page)) {
            Spare::Data { lpn, .. } => Some(lpn.get() / self.pages),
            Spare::Empty | Spare::Torn => None,
        };
        (0..self.pages).find_map(of).expect("a valid page")
    }

    /// The offset in the logical block of a block's first page; `None` unless the block has its pages in the order of a
    /// data block.
    fn base_of(&self, media: &Media, block: u32) -> Option<u32> {
        let mut bases = (0..self.pages).filter_map(|page| match media.spare(self.slot(block, page)) {
            Spare::Data { lpn, .. } => Some((lpn.get() % self.pages).checked_sub(page)),
            Spare::Empty | Spare::Torn => None,
        });
        let base = bases.next()??;
        let half = Mode::Slc.pages(self.pages, 2);
        let possible = base == 0 || self.mapping.blocks()[block].mode == Mode::Slc && base == half;
        (possible && bases.all(|other| other == Some(base))).then_some(base)
    }
}

/// Rebuilds the head, the tail and the table of the SLC log. `None` if all its blocks are bad.
fn find_log(
    spec: &SlcMlcSpec,
    endurance: u32,
    (mlc, pages): (&Mlc, &Media),
    media: &Media,
    (versions, planted): (&mut Versions, PlantedBug),
) -> Option<Slc> {
    let geometry = media.geometry().clone();
    let blocks = 0..geometry.superblock_count();
    let bad = blocks.clone().map(|block| media.is_bad(SuperblockId::new(block))).collect();
    let mut log = CircularLog::new(bad, geometry.pages)?;
    let written = |block: &u32| {
        let superblock = SuperblockId::new(*block);
        !media.is_bad(superblock) && !media.is_erased(superblock)
    };
    let last = planted.is(Sabotage::HeadByNumber);
    let birth = |block: &u32| if last { BlockBirth::default() } else { media.birth(SuperblockId::new(*block)) };
    if let Some(head) = blocks.clone().filter(written).max_by_key(birth) {
        let slots = geometry.superblock_slots();
        let unseen = if planted.is(Sabotage::TornPageForgotten) { Spare::Torn } else { Spare::Empty };
        let spare = |offset: &u32| media.spare(geometry.slot(SuperblockId::new(head), *offset));
        let used = |offset: &u32| ![Spare::Empty, unseen].contains(&spare(offset));
        let next = (0..slots).rev().find(used).map_or(0, |offset| offset / geometry.slots + 1);
        let mut tail = log.after(head);
        while tail != head && !written(&tail) {
            tail = log.after(tail);
        }
        log.resume(head, next, tail);
        if media.is_failing(SuperblockId::new(head)) {
            log.head_failed();
        }
    }
    let erases = media.all_erases().map(u64::from).sum();
    let mut slc = Slc::new(spec, geometry, endurance, mlc.units(), erases, log);
    let mut copies: Vec<SectorCopy> = Vec::new();
    for block in blocks.filter(written) {
        let superblock = SuperblockId::new(block);
        let birth = media.birth(superblock);
        for offset in 0..slc.geometry.superblock_slots() {
            let psn = slc.geometry.slot(superblock, offset);
            let Spare::Data { lpn, version } = media.spare(psn) else { continue };
            versions.note(version);
            copies.push(SectorCopy { sector: lpn.get(), version, birth, place: psn.get() });
        }
    }
    for SectorCopy { sector, version, place, .. } in newest_of_each(&mut copies) {
        let lpn = sector / mlc.geometry.sectors;
        let page = mlc.psn_of(lpn).and_then(|page| recovery::version_of(pages, page));
        if page.is_some_and(|page| version < page) {
            continue;
        }
        if slc.table.set(sector, place).is_some() {
            slc.held[lpn as usize] += 1;
        } else {
            slc.take_unplaced(sector, lpn, place);
        }
    }
    Some(slc)
}

impl SlcMlcFtl {
    /// The time to scan every page, one after another: a spare area takes as long as its page (Sec. 4.1, footnote 2).
    pub(super) fn scan_time(config: &SlcMlcConfig, media: &Media, slc_array: Option<&Media>) -> Span {
        let mut time = programmed_pages(media) * &config.timing;
        if let (Some(array), Some(slc_array)) = (&config.slc_array, slc_array) {
            time += programmed_pages(slc_array) * &array.backend.timing;
        }
        time
    }
}

/// The number of programmed pages, and the number of slots of a page.
struct ProgrammedPages(u64, u32);

impl std::ops::Mul<&flash::backend::Timing> for ProgrammedPages {
    type Output = Span;
    fn mul(self, timing: &flash::backend::Timing) -> Span {
        let cycles = timing.commands(Op::Read, 1) + timing.cycles.busy + timing.around_data_out(1);
        (timing.read[0] + cycles + timing.transfer[self.1 as usize]) * self.0
    }
}

fn programmed_pages(media: &Media) -> ProgrammedPages {
    let geometry = media.geometry();
    let holds = |block, page| media.spare(geometry.slot(block, page * geometry.slots)) != Spare::Empty;
    let counted = |block| (0..geometry.pages).filter(|page| holds(block, *page)).count() as u32;
    let blocks = (0..geometry.superblock_count()).map(SuperblockId::new);
    let pages = blocks.map(|block| u64::from(media.first_rows(block).unwrap_or_else(|| counted(block)))).sum();
    ProgrammedPages(pages, geometry.slots)
}

#[cfg(test)]
mod tests {
    use base::engine::Rng;

    use super::*;
    use crate::rig::Rig;

    #[test]
    fn chains_are_in_the_order_of_their_last_log_blocks_after_a_power_cut() {
        let mut rig = Rig::new(
            r"flash = { part = 'K9K8G08U0M', channels = 1, chips = 1, blocks = 40, pages = 8, planes = 1 }
[ftl]
kind = 'chang'
over-provisioning = '60%'",
        );
        let mut rng = Rng::stream(4, "mount");
        let units = u64::from(rig.units());
        (0..units as u32).for_each(|lpn| rig.write(&[lpn], None));
        for _ in 0..600 {
            rig.write(&[rng.below(units) as u32], None);
            rig.run_until_idle();
        }
        rig.cut_power();
        let ftl = rig.ftl.downcast_ref::<SlcMlcFtl>().expect("Chang's FTL");
        let chains = ftl.disk.mlc.mapping.chains();
        let last: Vec<_> = chains.by_age().map(|lba| chains.logs(lba).last().expect("a log block")).collect();
        assert!(last.len() > 5 && !last.is_sorted(), "their numbers say nothing of their ages: {last:?}");
        let birth = |block: &u32| rig.backend.media().birth(SuperblockId::new(*block));
        assert!(last.is_sorted_by_key(birth), "{last:?}");
    }
}
