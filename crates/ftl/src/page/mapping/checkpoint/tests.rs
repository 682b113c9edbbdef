//! Tests that the content of a checkpoint that the simulator derives is the content that a drive would have stored.

use std::collections::{BTreeMap, BTreeSet};

use base::engine::Rng;
use base::units::{Lpn, SuperblockId};
use flash::nand::{Spare, Stamp, Stream};

use super::mount::{self, Search};
use crate::PlantedBug;
use crate::page::{PageConfig, PageFtl};
use crate::port::{OldPlace, PageWrite, full_mask};
use crate::rig::{Rig, describe};
use crate::toolkit::recovery::{self, version_of};
use crate::toolkit::{Map, Versions};

fn small(discard: &str) -> (PageConfig, Rig<PageFtl>) {
    let (config, array, _) = describe(&format!(
        r"flash = {{ part = 'K9K8G08U0M', channels = 1, chips = 2, blocks = 24, pages = 8, planes = 1 }}
ftl = {{ capacity = '300KiB', map-unit = '512B', discard = '{discard}', checkpoint = {{ every = '64KiB' }} }}"
    ));
    let config = config.downcast_ref::<PageConfig>().expect("a page-mapped drive").clone();
    (config.clone(), Rig::with(config, &array))
}

/// The erases and the number of programmed slots of each superblock.
fn state(rig: &Rig<PageFtl>) -> Vec<(u32, usize)> {
    let (media, geometry) = (rig.backend.media(), rig.backend.geometry());
    let programmed = |sb| (0..geometry.superblock_slots()).map(move |at| media.spare(geometry.slot(sb, at)));
    let all = (0..geometry.superblock_count()).map(SuperblockId::new);
    all.map(|sb| (media.erases(sb), programmed(sb).filter(|spare| *spare != Spare::Empty).count())).collect()
}

/// All content that was handed to the flash for checkpoints, by version, and the state of the superblocks when each
/// checkpoint began.
#[derive(Default)]
struct CheckpointHistory {
    pages: BTreeMap<u32, Vec<u32>>,
    began: BTreeMap<u32, Vec<(u32, usize)>>,
}

impl CheckpointHistory {
    fn note(&mut self, rig: &Rig<PageFtl>) {
        let checkpoints = rig.ftl.mapping.checkpoints.as_ref().expect("a drive with checkpoints");
        for (version, pages) in &checkpoints.stored {
            // After a power cut a checkpoint may reuse the version of one that was cut.
            if pages.is_empty() || !self.began.contains_key(version) {
                self.began.insert(*version, state(rig));
            }
            self.pages.insert(*version, pages.clone());
        }
    }

    /// Compares the entries that a mount uses now with the stored entries. Returns the number of entries compared.
    fn compare(&self, config: &PageConfig, rig: &Rig<PageFtl>, discarded: &BTreeSet<u32>) -> usize {
        let (media, geometry) = (rig.backend.media(), rig.backend.geometry());
        let search = Search::of(config.checkpoint_pages, mount::place(config), media, PlantedBug::default());
        let now = state(rig);
        let mut compared = 0;
        if let Some(version) = search.version() {
            let vouched: Vec<_> =
                (0..geometry.superblock_count()).map(|sb| search.vouches(SuperblockId::new(sb))).collect();
            for superblock in (0..now.len()).filter(|superblock| vouched[*superblock]) {
                assert_eq!(self.began[&version][superblock], now[superblock], "SB{superblock} is vouched for");
            }
            let entries = self.pages[&version].iter().enumerate();
            let places = entries.filter_map(|(unit, entry)| Some((unit as u32, crate::map_unit::decode(*entry)?)));
            let stored: BTreeSet<_> = places.filter(|(_, psn)| vouched[geometry.locate(*psn).0.index()]).collect();
            let mut derived = BTreeSet::new();
            for superblock in (0..geometry.superblock_count()).map(SuperblockId::new).filter(|sb| vouched[sb.index()]) {
                for psn in (0..geometry.superblock_slots()).map(|at| geometry.slot(superblock, at)) {
                    let Spare::Data { lpn, .. } = media.spare(psn) else { continue };
                    if search.counts(superblock, psn) {
                        derived.insert((lpn.get(), psn));
                    }
                }
            }
            assert_eq!(derived, stored);
            compared = stored.len();
        }
        // A mount that reads everything finds the same places, except for discarded units.
        let mut programmed: Vec<_> = (0..geometry.superblock_count())
            .map(SuperblockId::new)
            .filter(|sb| !media.is_erased(*sb) && !media.is_bad(*sb))
            .map(|sb| (media.birth(sb), sb))
            .collect();
        programmed.sort_unstable();
        let opened_for = |stream| programmed.iter().filter(move |(birth, _)| birth.stream == stream).map(|(_, sb)| *sb);
        let order = opened_for(Stream::HOST).chain(opened_for(Stream::COPIES));
        let mut all = Map::new(config.units);
        recovery::find_newest(media, order, &mut all, &mut Versions::default(), PlantedBug::default());
        for unit in (0..config.units).filter(|unit| !discarded.contains(unit)) {
            let crate::page::mapping::L2p::Ram(map) = &rig.ftl.mapping.l2p else { panic!("a map in RAM") };
            let of = |map: &Map| map.get(Lpn::new(unit)).and_then(|psn| version_of(media, psn));
            assert_eq!(of(map), of(&all), "LPN{unit}");
        }
        compared
    }
}

/// Runs random writes, discards and power cuts. Returns three numbers: entries compared, cuts while a checkpoint was
/// written, and mounts from a checkpoint.
fn live(discard: &str, seed: u64) -> (usize, usize, usize) {
    let (config, mut rig) = small(discard);
    let mut rng = Rng::stream(seed, "checkpoint.tests");
    let (mut stored, mut discarded) = (CheckpointHistory::default(), BTreeSet::new());
    let (mut compared, mut torn, mut mounts) = (0, 0, 0);
    for unit in 0..config.units {
        rig.write(&[unit], None);
        stored.note(&rig);
    }
    rig.run_until_idle();
    let mut handed = rig.host.written;
    for _ in 0..60 {
        for _ in 0..rng.below(60) {
            let unit = rng.below(u64::from(config.units)) as u32;
            if rng.chance(0.1) {
                rig.run_until_idle();
                discarded.insert(unit);
                rig.with_ftl(|ftl, flash, _| ftl.mapping.discard(&mut ftl.blocks, flash.now, None, Lpn::new(unit)));
                rig.run_until_idle();
            } else {
                rig.write(&[unit], Some(Stamp(rng.bits())));
                handed += 1;
            }
            for _ in 0..rng.below(30) {
                rig.step();
                stored.note(&rig);
            }
            // One event at a time until the unit is programmed.
            while rig.host.written < handed && rig.step() {
                stored.note(&rig);
            }
        }
        if rng.chance(0.6) {
            rig.with_ftl(|ftl, _, _| ftl.mapping.checkpoints.as_mut().expect("checkpoints").want());
        }
        for _ in 0..rng.below(30) {
            rig.step();
            stored.note(&rig);
        }
        stored.note(&rig);
        torn +=
            usize::from(rig.ftl.mapping.checkpoints.as_ref().is_some_and(|checkpoints| checkpoints.writing.is_some()));
        rig.cut_power();
        rig.run_until_idle();
        handed = rig.host.written;
        let found = stored.compare(&config, &rig, &discarded);
        compared += found;
        mounts += usize::from(found > 0);
    }
    (compared, torn, mounts)
}

#[test]
fn the_derived_content_of_a_checkpoint_is_the_stored_one() {
    for discard in ["volatile", "durable"] {
        let (mut compared, mut torn, mut mounts) = (0, 0, 0);
        for seed in 0..6 {
            let (entries, cuts, found) = live(discard, seed);
            (compared, torn, mounts) = (compared + entries, torn + cuts, mounts + found);
        }
        assert!(compared > 10_000 && torn > 30 && mounts > 200, "{discard}: {compared}, {torn}, {mounts}");
    }
}

#[test]
fn a_checkpoint_that_finds_no_space_is_given_up_and_the_one_before_counts() {
    let (config, mut rig) = small("volatile");
    let valid =
        |rig: &Rig<PageFtl>| rig.ftl.mapping.checkpoints.as_ref().and_then(|of| of.valid).expect("a checkpoint");
    let one_more = |rig: &mut Rig<PageFtl>| {
        rig.with_ftl(|ftl, _, _| ftl.mapping.checkpoints.as_mut().expect("checkpoints").want())
    };
    (0..config.units).for_each(|unit| rig.write(&[unit], None));
    one_more(&mut rig);
    rig.run_until_idle();
    let before = valid(&rig);
    one_more(&mut rig);
    let writing = |rig: &Rig<PageFtl>| rig.ftl.mapping.checkpoints.as_ref().and_then(|of| of.writing);
    while writing(&rig).is_some_and(|writing| writing.stored < 2) {
        assert!(rig.step(), "it is being written");
    }
    let version = writing(&rig).expect("it is not complete").version;
    let lpn = Lpn::new(mount::place(&config).0);
    let mask = full_mask(rig.backend.geometry().sectors);
    let unit = PageWrite { lpn, owner: None, at: 0, mask, version, old_place: OldPlace::Unasked, stream: None };
    rig.with_ftl(|ftl, _, host| ftl.mapping.refuse(&mut ftl.blocks, host, &unit));
    // Pages under way end as garbage: the rig checks every count.
    rig.run_until_idle();
    assert_eq!((valid(&rig), writing(&rig).map(|writing| writing.version)), (before, None));
    rig.cut_power();
    assert_eq!(valid(&rig), before);
    one_more(&mut rig);
    rig.run_until_idle();
    assert!(valid(&rig).version > before.version && valid(&rig).generation != before.generation);
}

/// Cuts the power while a superblock is open, writes a checkpoint after the mount and cuts the power again. Returns
/// true if the checkpoint vouches for a superblock that can be continued.
fn vouches_for_an_end(planted: PlantedBug) -> bool {
    let (config, mut rig) = small("volatile");
    rig.ftl.blocks.planted = planted;
    (0..config.units / 2).for_each(|unit| rig.write(&[unit], None));
    rig.run_until_idle();
    rig.cut_power();
    rig.ftl.blocks.planted = planted;
    rig.with_ftl(|ftl, _, _| ftl.mapping.checkpoints.as_mut().expect("checkpoints").want());
    rig.run_until_idle();
    rig.cut_power();
    let media = rig.backend.media();
    let search = Search::of(config.checkpoint_pages, mount::place(&config), media, PlantedBug::default());
    assert!(search.version().is_some(), "a checkpoint counts");
    let all = (0..rig.backend.geometry().superblock_count()).map(SuperblockId::new);
    let ends: Vec<_> = all.filter(|sb| !media.is_erased(*sb) && media.unwritten_from(*sb).is_some()).collect();
    assert!(!ends.is_empty(), "a superblock that the first power cut has closed early");
    ends.into_iter().any(|superblock| search.vouches(superblock))
}

#[test]
fn a_checkpoint_does_not_vouch_for_a_superblock_that_a_rescue_may_continue() {
    assert!(!vouches_for_an_end(PlantedBug::default()));
    #[cfg(feature = "sabotage")]
    assert!(vouches_for_an_end(PlantedBug::bug(crate::Sabotage::EndVouched)));
}
