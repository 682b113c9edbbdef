//! Recovery: rebuilds the FTL's state from the media alone, after a power cut and on a new drive.
//!
//! Of several copies of a mapping unit [the newest counts](recovery), and of equal ones the original, so that the
//! target of an interrupted collection holds nothing and can be erased. The FTL does not continue open superblocks: the
//! slots behind a torn page wait for the next erase. It empties and retires a superblock with a failed program, as it
//! would have without the power cut.
//!
//! Recovery finds translation pages like data, but the spare areas are the truth: a page whose content disagrees with
//! them is stale, and is written again before the map unit starts.

use std::ops::Range;

use base::units::Lpn;
use flash::nand::{Media, Stream};

use super::block_manager::table::State;
use super::checkpoint::{self, mount::Search};
use super::map_client::MapClient;
use super::mapping::Mapping;
use super::{PageConfig, PageFtl};
use crate::map_unit::{AnyMapUnit, decode, encode};
use crate::sabotage::Sabotage;
use crate::toolkit::Map;
use crate::toolkit::recovery::{self, Found};

/// The state of the places that recovery finds is prefetched this many mapping units ahead.
const AHEAD: usize = 8;

impl PageFtl {
    pub(super) fn recover(&mut self, config: &PageConfig, media: &Media) {
        let mut programmed = Vec::new();
        for (superblock, found) in recovery::survey(media, self.blocks.planted) {
            let pool = &mut self.blocks.pools[self.blocks.geometry.group_of(superblock) as usize];
            match found {
                Found::Bad => self.blocks.table.set_state(superblock, State::Bad),
                Found::Erased(erases) => pool.free.push(superblock, erases),
                Found::Programmed(birth) => programmed.push((birth, superblock)),
            }
            pool.usable += u32::from(found != Found::Bad);
        }
        // Oldest first, so that ages keep their meaning.
        programmed.sort_unstable();
        // Trim pages lie among data.
        let map_pages = self.units..self.units + config.map_pages.count;
        self.blocks.part_pools(map_pages, media, &programmed);
        // Copies go to superblocks opened for copies, one after another in each stream. The original is in an earlier one of
        // the same stream, in a stream of copies with a lower number, or in a superblock opened for the host.
        let last = programmed.iter().map(|(birth, _)| birth.stream.number()).max().unwrap_or(0);
        let copies = (0..=last).map(Stream::copies);
        let of_host = programmed.iter().filter(|(birth, _)| birth.stream.is_host());
        let of_copies = copies.flat_map(|stream| programmed.iter().filter(move |(birth, _)| birth.stream == stream));
        let originals_first = of_host.chain(of_copies).map(|(_, superblock)| *superblock);
        let (pages, trims, checkpoints) = (config.map_pages.count, config.trim_pages, config.checkpoint_pages);
        let mut found = Map::new(self.units + pages + trims.count + checkpoints.count());
        let end = if checkpoints.count() == 0 {
            recovery::find_newest(media, originals_first, &mut found, &mut self.versions, self.blocks.planted)
        } else {
            let search = Search::of(checkpoints, checkpoint::mount::place(config), media, self.blocks.planted);
            search.version().into_iter().for_each(|version| self.versions.note(version));
            let slots = recovery::slots(media, originals_first);
            let believed = slots.filter(|psn| search.counts(self.blocks.geometry.locate(*psn).0, *psn));
            let end = recovery::find_newest_of(media, believed, &mut found, &mut self.versions, self.blocks.planted);
            self.checkpoints = self.recover_checkpoints(config, &search, media, &mut found);
            end
        };
        self.trims = self.recover_trims(trims, pages, media, &mut found);
        for (lpn, psn) in found.first(end) {
            if let Some(later) = found.peek(lpn.index() + AHEAD) {
                self.blocks.table.fetch(later, self.blocks.geometry.locate(later).0);
            }
            self.found += u32::from(lpn.get() < self.units);
            self.blocks.table.mark_valid(psn);
            let pool = self.blocks.pool_at(psn);
            self.blocks.pools[pool as usize].live += 1;
        }
        for (birth, superblock) in programmed {
            self.blocks.table.set_stream(superblock, birth.stream);
            let forgets = self.blocks.planted.is(Sabotage::StreamForgotten) && birth.stream.number() > 0;
            if forgets && media.unwritten_from(superblock).is_some() {
                continue;
            }
            if media.is_failing(superblock) {
                self.blocks.table.set_failing(superblock);
            }
            self.blocks.close(superblock);
        }
        found.truncate(self.units + pages);
        self.mapping = self.start_map(config, media, found);
    }

    /// Builds the map of the device: the recovered table itself, or a map unit that answers the same.
    fn start_map(&self, config: &PageConfig, media: &Media, found: Map) -> Mapping {
        let pages = config.map_pages;
        let unit = AnyMapUnit::start(
            &config.map,
            found.entries(0..self.units as usize),
            pages.entries,
            (&config.geometry, &config.options),
        );
        let Some(unit) = unit else { return Mapping::Ram(found) };
        let mut directory = Map::new(pages.count);
        for page in 0..pages.count {
            directory.set(Lpn::new(page), found.peek((self.units + page) as usize));
        }
        let mut map_client = MapClient::new(unit, self.units, directory, pages.entries);
        // A translation page may extend beyond the last mapping unit.
        let truth = |map_client: &MapClient, page: u32| {
            let Range { start, end } = map_client.range(page);
            let units = self.units as usize;
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
                // A version without an image is foreign.
                None => {
                    map_client.pages[page as usize].durable.is_none()
                        && truth(&map_client, page).all(|entry| decode(entry).is_none())
                }
            };
            if !current && !self.blocks.planted.is(Sabotage::StaleTrusted) {
                map_client.stale.insert(page);
            }
        }
        if !map_client.stale.is_empty() {
            map_client.recovered = Some((0..pages.count).flat_map(|page| truth(&map_client, page)).collect());
        }
        Mapping::MapUnit(Box::new(map_client))
    }
}

#[cfg(test)]
mod tests {
    use base::units::{Psn, SuperblockId};
    use flash::nand::Spare;

    use super::*;
    use crate::rig::{Rig, describe};

    #[test]
    fn a_superblock_that_failed_before_a_power_cut_is_emptied_and_retired_after_it() {
        let (config, array, _) = describe(
            "flash = { part = 'K9K8G08U0M', channels = 1, chips = 1, blocks = 16, pages = 8, planes = 1 }\n\
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
        assert_eq!((rig.backend.media().bad_blocks(), rig.ftl.blocks.table.state(failing)), (1, State::Bad));
    }

    #[test]
    fn superblocks_are_closed_in_the_order_of_their_ages_after_a_power_cut() {
        let (config, array, _) = describe(
            "flash = { part = 'K9K8G08U0M', channels = 1, chips = 2, blocks = 24, pages = 8, planes = 1 }\n\
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
            "flash = { part = 'K9K8G08U0M', channels = 1, chips = 1, blocks = 16, pages = 8, planes = 1 }\n\
             ftl = { capacity = '176KiB', gc = { parallel = 1 } }",
        );
        let config = config.downcast_ref::<PageConfig>().expect("a page-mapped drive").clone();
        let mut rig: Rig<PageFtl> = Rig::with(config, &array);
        let units = rig.units();
        (0..units).for_each(|lpn| rig.write(&[lpn], None));
        rig.run_until_idle();
        // A superblock with copies whose originals are all there.
        let copied = |rig: &Rig<PageFtl>| {
            let (ftl, media) = (&rig.ftl, rig.backend.media());
            let open =
                ftl.blocks.pools[0].open[Stream::COPIES].filter(|open| ftl.blocks.table.valid(open.superblock) > 0)?;
            let spare = |psn: u32| media.spare(Psn::new(psn));
            let twice =
                |held: Spare| (0..ftl.blocks.geometry.slot_count()).filter(|psn| spare(*psn) == held).count() == 2;
            let written = (0..open.next).map(|offset| media.spare(ftl.blocks.geometry.slot(open.superblock, offset)));
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
