//! Recovery: rebuilds the FTL's state from the media alone, after a power cut and on a new drive.
//!
//! * Of several copies of a mapping unit [the newest counts](recovery), and of equal ones the original, so that the
//!   target of an interrupted collection holds nothing valid and can be erased.
//! * The FTL does not continue open superblocks: the slots behind a torn page wait for the next erase.
//! * A superblock with a failed program is emptied and retired, as it would have been without the power cut.
//! * Recovery finds translation pages like data, but trusts the spare areas alone: a page whose content disagrees with
//!   them is stale, and is written again before the map unit starts.

use std::ops::Range;

use base::units::{Bytes, Lpn, SuperblockId};
use flash::nand::{Media, Stream};

use super::checkpoint::Checkpoints;
use super::checkpoint::{self, mount::Search};
use super::map_client::MapClient;
use super::trim::Trims;
use crate::map_unit::{AnyMapUnit, ENTRY, HostMemory, decode, encode};
use crate::page::PageConfig;
use crate::page::block_manager::BlockManager;
use crate::page::block_manager::table::SuperblockState;
use crate::page::mapping::{L2p, Mapping};
use crate::sabotage::{PlantedBug, Sabotage};
use crate::toolkit::recovery::{self, MountState};
use crate::toolkit::{Map, Versions};

/// The number of mapping units by which the prefetch of a place's state runs ahead of the search.
const AHEAD: usize = 8;

impl Mapping {
    /// Finds the state of all superblocks, and the map.
    pub(in crate::page) fn recover(blocks: &mut BlockManager, config: &PageConfig, media: &Media) -> Self {
        let (planted, units) = (blocks.planted, config.units);
        let mut programmed = Vec::new();
        for superblock in (0..blocks.layout.shape.superblock_count()).map(SuperblockId::new) {
            let found = blocks.layout.state_of(media, superblock, planted);
            let pool = blocks.layout.shape.group_of(superblock);
            match found {
                MountState::Bad => blocks.table.set_state(superblock, SuperblockState::Bad),
                MountState::Erased(erases) => blocks.give_free(pool, superblock, erases),
                MountState::Programmed(birth) => programmed.push((birth, superblock)),
            }
            *blocks.usable_with(pool, superblock) += u32::from(found != MountState::Bad);
        }
        blocks.recall_missing(media);
        // The oldest superblock comes first, so that the order of ages survives the mount.
        programmed.sort_unstable();
        let (pages, trim_pages, shape) = (config.map_pages.count, config.trim_pages, config.checkpoint_pages);
        // Trim pages are in the pools of data.
        blocks.part_pools(units..units + pages, media, &programmed);
        // Copies go to superblocks opened for copies, one after another in each stream. The original is in an earlier one of
        // the same stream, in a stream of copies with a lower number, or in a superblock opened for the host.
        let last = programmed.iter().map(|(birth, _)| birth.stream.number()).max().unwrap_or(0);
        let copies = (0..=last).map(Stream::copies);
        let of_host = programmed.iter().filter(|(birth, _)| birth.stream.is_host());
        let of_copies = copies.flat_map(|stream| programmed.iter().filter(move |(birth, _)| birth.stream == stream));
        let originals_first =
            of_host.chain(of_copies).flat_map(|(_, superblock)| blocks.layout.believed(media, *superblock, planted));
        let mut found = Map::new(units + pages + trim_pages.count + shape.count());
        let (mut versions, mut checkpoints) = (Versions::default(), None);
        let end = if blocks.parity.is_some() {
            // A slot that could not be read does not count here: the mount programs it again from parity.
            let slots = recovery::slots(media, originals_first).filter(|psn| !media.is_tentative(*psn));
            recovery::find_newest_of(media, slots, &mut found, &mut versions, planted)
        } else if shape.count() == 0 {
            recovery::find_newest(media, originals_first, &mut found, &mut versions, planted)
        } else {
            let search = Search::of(shape, checkpoint::mount::place(config), media, planted);
            search.version().into_iter().for_each(|version| versions.note(version));
            let slots = recovery::slots(media, originals_first);
            let believed = slots.filter(|psn| search.counts(blocks.layout.member_at(*psn), *psn));
            let end = recovery::find_newest_of(media, believed, &mut found, &mut versions, planted);
            let window = blocks.layout.array.channels * blocks.program_slots();
            checkpoints = Some(Checkpoints::recover(config, &search, media, window, &mut found));
            end
        };
        let trims = Trims::recover(trim_pages, (units, pages), versions.latest(), media, &mut found);
        let mut found_units = 0;
        for (lpn, psn) in found.first(end) {
            if let Some(later) = found.peek(lpn.index() + AHEAD) {
                blocks.table.prefetch(later, blocks.layout.locate(later).0);
            }
            found_units += u32::from(lpn.get() < units);
            blocks.table.mark_valid(psn);
            let pool = blocks.pool_at(psn);
            blocks.pools[pool as usize].live += 1;
        }
        for (birth, superblock) in programmed {
            blocks.table.set_stream(superblock, birth.stream);
            blocks.recall_mode(superblock, blocks.layout.mode(media, superblock));
            let forgets = planted.is(Sabotage::StreamForgotten) && birth.stream.number() > 0;
            let unwritten = |member| media.unwritten_from(member).is_some();
            if forgets && blocks.layout.present(media, superblock).all(unwritten) {
                continue;
            }
            if blocks.layout.is_failing(media, superblock) {
                blocks.table.set_failing(superblock, true);
            }
            blocks.close(superblock);
        }
        found.truncate(units + pages);
        let l2p = L2p::start(config, media, found, planted);
        Self { l2p, units, found: found_units, versions, trims, checkpoints }
    }
}

impl L2p {
    /// The map of a device: the recovered table itself, or a map unit with the recovered entries.
    fn start(config: &PageConfig, media: &Media, found: Map, planted: PlantedBug) -> Self {
        let (pages, first_page) = (config.map_pages, config.units);
        let units = first_page as usize;
        let entries = found.entries(0..units);
        let unit = AnyMapUnit::start(&config.map, entries, pages.entries, (&config.geometry, &config.options));
        let Some(unit) = unit else { return Self::Ram(found) };
        let mut directory = Map::new(pages.count);
        for page in 0..pages.count {
            directory.set(Lpn::new(page), found.peek((first_page + page) as usize));
        }
        let mut map_client = MapClient::new(unit, first_page, directory, pages.entries);
        map_client.host_memory = config.map.hmb().map(|spec| {
            let page = Bytes::new(u64::from(pages.entries) * ENTRY);
            Box::new(HostMemory::new(*spec, page, pages.count, planted.is(Sabotage::HostMemoryOutlives)))
        });
        // The last translation page may extend beyond the last mapping unit.
        let truth = |map_client: &MapClient, page: u32| {
            let Range { start, end } = map_client.range(page);
            found.entries(start..end.min(units)).chain(std::iter::repeat_n(encode(None), end.saturating_sub(units)))
        };
        for page in 0..pages.count {
            let image = map_client.directory.get(Lpn::new(page)).and_then(|psn| {
                let version = recovery::version_of(media, psn)?;
                map_client.pages[page as usize].durable = Some(version);
                media.image(page, version)
            });
            let current = match image {
                Some(image) => image.iter().copied().eq(truth(&map_client, page)),
                // A page with a version but without an image comes from another map and is stale.
                None => {
                    map_client.pages[page as usize].durable.is_none()
                        && truth(&map_client, page).all(|entry| decode(entry).is_none())
                }
            };
            if !current && !planted.is(Sabotage::StaleTrusted) {
                map_client.stale.insert(page);
            }
        }
        if !map_client.stale.is_empty() {
            map_client.recovered = Some((0..pages.count).flat_map(|page| truth(&map_client, page)).collect());
        }
        Self::MapUnit(Box::new(map_client))
    }
}

#[cfg(test)]
mod tests {
    use base::units::{Psn, SuperblockId};
    use flash::nand::Spare;

    use super::*;
    use crate::PageFtl;
    use crate::rig::{Rig, describe};

    #[test]
    fn a_superblock_that_failed_before_a_power_cut_is_emptied_and_retired_after_it() {
        let (config, array, _) = describe(
            r"flash = { part = 'K9K8G08U0M', channels = 1, chips = 1, blocks = 16, pages = 8, planes = 1 }
ftl = { capacity = '128KiB' }",
        );
        let config = config.downcast_ref::<PageConfig>().expect("a page-mapped drive").clone();
        let mut rig: Rig<PageFtl> = Rig::with(config, &array);
        rig.backend.media_mut().faults_mut().fail_program(2);
        rig.write(&[0, 1, 2], None);
        let failing = SuperblockId::new(0);
        while !rig.ftl.blocks.table.is_failing(failing) {
            assert!(rig.step(), "its third program fails");
        }
        assert_eq!(rig.backend.media().bad_blocks(), 0, "it still holds the pages programmed before");
        rig.cut_power();
        rig.ftl.check(rig.backend.media());
        rig.write(&[3], None);
        rig.run_until_idle();
        assert!(rig.backend.media().is_bad(failing));
        assert_eq!((rig.backend.media().bad_blocks(), rig.ftl.blocks.table.state(failing)), (1, SuperblockState::Bad));
    }

    #[test]
    fn superblocks_are_closed_in_the_order_of_their_ages_after_a_power_cut() {
        let (config, array, _) = describe(
            r"flash = { part = 'K9K8G08U0M', channels = 1, chips = 2, blocks = 24, pages = 8, planes = 1 }
ftl = { over-provisioning = '40%', gc = { victim = { policy = 'fifo' } } }",
        );
        let config = config.downcast_ref::<PageConfig>().expect("a page-mapped drive").clone();
        let mut rig: Rig<PageFtl> = Rig::with(config, &array);
        let mut rng = base::engine::Rng::stream(2, "mount");
        let units = rig.units();
        (0..units).for_each(|lpn| rig.write(&[lpn], None));
        for _ in 0..2_000 {
            rig.write(&[rng.below(units.into()) as u32], None);
            rig.run_until_idle();
        }
        rig.cut_power();
        for pool in 0..2 {
            let closed: Vec<_> = rig.ftl.blocks.victims[rig.ftl.blocks.kind_in(pool)].closed(pool).collect();
            assert!(closed.len() > 10 && !closed.is_sorted(), "their numbers say nothing of their ages: {closed:?}");
            assert!(closed.is_sorted_by_key(|superblock| rig.backend.media().birth(*superblock)), "{closed:?}");
        }
    }

    #[test]
    fn a_power_cut_in_a_collection_leaves_its_target_without_valid_units() {
        let (config, array, _) = describe(
            r"flash = { part = 'K9K8G08U0M', channels = 1, chips = 1, blocks = 16, pages = 8, planes = 1 }
ftl = { capacity = '176KiB', gc = { parallel = 1 } }",
        );
        let config = config.downcast_ref::<PageConfig>().expect("a page-mapped drive").clone();
        let mut rig: Rig<PageFtl> = Rig::with(config, &array);
        let units = rig.units();
        (0..units).for_each(|lpn| rig.write(&[lpn], None));
        rig.run_until_idle();
        // Waits for a superblock of copies whose originals are all still there.
        let copied = |rig: &Rig<PageFtl>| {
            let (ftl, media) = (&rig.ftl, rig.backend.media());
            let open =
                ftl.blocks.pools[0].open[Stream::COPIES].filter(|open| ftl.blocks.table.valid(open.superblock) > 0)?;
            let spare = |psn: u32| media.spare(Psn::new(psn));
            let twice =
                |held: Spare| (0..ftl.blocks.layout.array.slot_count()).filter(|psn| spare(*psn) == held).count() == 2;
            let written = (0..open.next).map(|offset| media.spare(ftl.blocks.layout.slot(open.superblock, offset)));
            let mut data = written.filter(|spare| matches!(spare, Spare::Data { .. }));
            data.all(twice).then_some(open.superblock)
        };
        let mut targets = 0;
        let mut rng = base::engine::Rng::stream(1, "mount");
        for _ in 0..400 {
            rig.write(&[rng.below(units.into()) as u32], None);
            while copied(&rig).is_none() && rig.step() {}
            if let Some(target) = copied(&rig) {
                rig.cut_power();
                assert_eq!(rig.ftl.blocks.table.valid(target), 0, "the originals count");
                targets += 1;
            }
        }
        assert!(targets > 3, "{targets} collections were cut");
    }
}
