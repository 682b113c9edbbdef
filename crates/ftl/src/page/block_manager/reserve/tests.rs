//! Pools with as much live data as they may ever hold, written at random.

use base::engine::Rng;
use base::units::{DieId, SuperblockId};

use crate::page::PageFtl;
use crate::page::block_manager::table::SuperblockState;
use crate::page::{MapPages, PageConfig};
use crate::rig::{Rig, describe};

/// A drive of pools of superblocks of 16 slots, and the host's writes to it.
struct Full {
    rig: Rig<PageFtl>,
    rng: Rng,
    /// The number of writes that a power cut ended, and the number of all writes.
    cut: u32,
    sent: u32,
}

impl Full {
    fn config(chips: u32, blocks: u32, ftl: &str, units: u32) -> (PageConfig, crate::Array) {
        let (config, array, _) = describe(&format!(
            "flash = {{ part = 'dirik-2009', channels = 1, chips = {chips}, blocks = {blocks}, pages = 4, planes = 1 }}\n\
             [ftl]\nkind = 'page'\nmap-unit = '512B'\ncapacity = '{}B'\n{ftl}\n",
            512 * units
        ));
        let config = config.downcast_ref::<PageConfig>().expect("a page-mapped drive").clone();
        (config, array)
    }

    /// A drive whose host can address every unit that the bound allows, without the units of `lost` superblocks. All
    /// units are written once.
    fn new(chips: u32, blocks: u32, ftl: &str, lost: u32) -> Self {
        let (config, _) = Self::config(chips, blocks, ftl, 16);
        let geometry = &config.geometry;
        let dies: Vec<DieId> = (0..chips).map(DieId::new).collect();
        let fits = |units: &u32| {
            let count = if config.map_pages.entries > 0 { units.div_ceil(config.map_pages.entries) } else { 0 };
            let room = MapPages { count, ..config.map_pages }.room(geometry, &dies);
            u64::from(*units) <= room
        };
        let most = (1..geometry.slot_count()).rev().find(fits).expect("room");
        let (config, array) = Self::config(chips, blocks, ftl, most - lost * geometry.superblock_slots());
        let rig: Rig<PageFtl> = Rig::with(config, &array);
        let mut full = Self { rig, rng: Rng::stream(1, "reserve"), cut: 0, sent: 0 };
        (0..full.rig.units()).for_each(|lpn| full.write(lpn));
        full.rig.run_until_idle();
        full
    }

    /// Writes one unit, as a host with a queue of eight.
    fn write(&mut self, lpn: u32) {
        self.rig.write(&[lpn], None);
        self.sent += 1;
        let mut steps = 0;
        while self.under_way() >= 8 {
            steps += 1;
            // A collection takes at most some hundred steps.
            assert!(self.rig.step() && steps < 100_000, "{} writes wait for ever", self.under_way());
        }
    }

    fn under_way(&self) -> u32 {
        self.sent - self.cut - self.rig.host.written - self.rig.host.refused
    }

    fn overwrite(&mut self) {
        let lpn = self.rng.below(self.rig.units().into()) as u32;
        self.write(lpn);
    }

    /// Ends the run, in which every write must have been served.
    fn finish(mut self, name: &str) {
        self.rig.run_until_idle();
        assert_eq!((self.under_way(), self.rig.host.refused), (0, 0), "{name}: writes under way and refused");
    }
}

const MAPS: [&str; 6] = ["ram", "table", "uncached", "dftl", "cdftl", "fmmu"];

/// Calls `test` with each way to keep superblocks back, with each map.
fn each(mut test: impl FnMut(&str, &str)) {
    for map in MAPS {
        for shared in [true, false] {
            for [start, stop] in [[0, 1], [0, 2], [1, 2]] {
                let gc = format!("gc = {{ start = {start}, stop = {stop}, shared-log = {shared} }}");
                let ftl = format!("map = {{ kind = '{map}' }}\n{gc}");
                test(&format!("{map}, {gc}"), &ftl);
            }
        }
    }
}

#[test]
fn full_pools_make_progress() {
    each(|name, ftl| {
        for chips in [1, 3] {
            let mut full = Full::new(chips, 12, ftl, 0);
            (0..4 * full.rig.units()).for_each(|_| full.overwrite());
            full.finish(name);
        }
    });
}

#[test]
fn full_pools_make_progress_where_each_superblock_has_little_garbage() {
    // The three superblocks kept back hold less than a program's worth of garbage for each of forty superblocks.
    each(|name, ftl| {
        let mut full = Full::new(1, 40, ftl, 0);
        (0..4 * full.rig.units()).for_each(|_| full.overwrite());
        full.finish(name);
    });
}

#[test]
fn full_pools_make_progress_after_power_cuts_at_any_moment() {
    each(|name, ftl| {
        let mut full = Full::new(2, 9, ftl, 0);
        for _ in 0..60 {
            for _ in 0..full.rng.below(24) {
                full.overwrite();
            }
            for _ in 0..full.rng.below(40) {
                full.rig.step();
            }
            full.cut += full.under_way();
            full.rig.cut_power();
            full.rig.with_ftl(|ftl, flash, host| crate::PowerCycle::recover(ftl, flash, host));
            while crate::PowerCycle::is_recovering(&*full.rig.ftl) {
                assert!(full.rig.step(), "{name}: translation pages are stale for ever");
            }
            assert_eq!(full.rig.host.refused, 0, "{name}");
        }
        full.finish(name);
    });
}

#[test]
fn pools_without_the_superblocks_that_have_failed_make_progress_with_what_is_left() {
    each(|name, ftl| {
        for nth in 0..12 {
            // Each failure costs a superblock, in whatever pool.
            let mut full = Full::new(3, 10, ftl, 2);
            let faults = full.rig.backend.media_mut().faults_mut();
            faults.fail_erase(3 * nth);
            faults.fail_program(20 * nth + 7);
            (0..3 * full.rig.units()).for_each(|_| full.overwrite());
            assert_eq!(full.rig.backend.media().bad_blocks(), 2, "{name}, {nth}");
            full.finish(&format!("{name}, {nth}"));
        }
    });
}

/// Calls `test` with several streams, the host's streams chosen by address, with maps of each kind and with collection
/// that starts late or early.
fn each_streams(mut test: impl FnMut(&str, &str)) {
    let hosts = [
        "{ policy = 'one' }",
        "{ policy = 'lru', levels = [4, 8, 16] }",
        "{ policy = 'interval', limits = ['4KiB', '12KiB'], memory = '1KiB' }",
        "{ policy = 'bloom-filters', bits = 64, decay = 16 }",
    ];
    for (i, host) in hosts.into_iter().enumerate() {
        for copies in ["{ policy = 'one' }", "{ policy = 'same' }", "{ policy = 'generations', streams = 3 }"] {
            if i == 0 && !copies.contains("generations") {
                continue;
            }
            for map in ["ram", "uncached", "fmmu"] {
                for [start, stop] in [[1, 2], [2, 3]] {
                    let streams = format!("streams = {{ host = {host}, copies = {copies} }}");
                    let gc = format!("gc = {{ start = {start}, stop = {stop} }}");
                    let ftl = format!("map = {{ kind = '{map}' }}\n{gc}\n{streams}");
                    test(&format!("{map}, {gc}, {streams}"), &ftl);
                }
            }
        }
    }
}

/// A random unit: a fifth of the units get most of the writes.
fn skewed(full: &mut Full) -> u32 {
    let units = full.rig.units();
    let range = if full.rng.chance(0.8) { units / 5 } else { units };
    full.rng.below(range.max(1).into()) as u32
}

#[test]
fn full_pools_with_several_streams_make_progress() {
    each_streams(|name, ftl| {
        for (chips, blocks) in [(1, 16), (2, 16), (1, 40)] {
            let mut full = Full::new(chips, blocks, ftl, 0);
            for _ in 0..4 * full.rig.units() {
                let lpn = skewed(&mut full);
                full.write(lpn);
            }
            full.finish(name);
        }
    });
}

#[test]
fn full_pools_with_several_streams_make_progress_after_power_cuts_at_any_moment() {
    each_streams(|name, ftl| {
        let mut full = Full::new(2, 16, ftl, 0);
        for _ in 0..60 {
            for _ in 0..full.rng.below(48) {
                let lpn = skewed(&mut full);
                full.write(lpn);
            }
            for _ in 0..full.rng.below(40) {
                full.rig.step();
            }
            full.cut += full.under_way();
            full.rig.cut_power();
            full.rig.with_ftl(|ftl, flash, host| crate::PowerCycle::recover(ftl, flash, host));
            while crate::PowerCycle::is_recovering(&*full.rig.ftl) {
                assert!(full.rig.step(), "{name}: translation pages are stale for ever");
            }
            assert_eq!(full.rig.host.refused, 0, "{name}");
        }
        full.finish(name);
    });
}

#[test]
fn pools_with_several_streams_and_failed_superblocks_make_progress_with_what_is_left() {
    each_streams(|name, ftl| {
        for nth in 0..6 {
            let mut full = Full::new(3, 18, ftl, 2);
            let faults = full.rig.backend.media_mut().faults_mut();
            faults.fail_erase(3 * nth);
            faults.fail_program(20 * nth + 7);
            for _ in 0..3 * full.rig.units() {
                let lpn = skewed(&mut full);
                full.write(lpn);
            }
            assert_eq!(full.rig.backend.media().bad_blocks(), 2, "{name}, {nth}");
            full.finish(&format!("{name}, {nth}"));
        }
    });
}

/// The numbers of superblocks among which the first victim of each collection was chosen, over a long run.
fn choices(gc: &str) -> Vec<u32> {
    let mut full = Full::new(2, 12, gc, 0);
    let (mut choices, mut before) = (Vec::new(), [0; 2]);
    let state = |full: &Full, pool: u32| {
        let blocks = &full.rig.ftl.blocks;
        let each = (0..24).map(SuperblockId::new).filter(|superblock| blocks.pool_of(*superblock) == pool);
        let states: Vec<SuperblockState> = each.map(|superblock| blocks.table.state(superblock)).collect();
        let count = |state| states.iter().filter(|found| **found == state).count() as u32;
        // The superblock that was filled last may still be programmed.
        (count(SuperblockState::Closed) + count(SuperblockState::Full), count(SuperblockState::Victim))
    };
    for _ in 0..4 * full.rig.units() {
        let lpn = full.rng.below(full.rig.units().into()) as u32;
        full.rig.write(&[lpn], None);
        loop {
            for pool in 0..2 {
                let (closed, victims) = state(&full, pool);
                if before[pool as usize] == 0 && victims == 1 {
                    choices.push(closed + victims);
                }
                before[pool as usize] = victims;
            }
            if !full.rig.step() {
                break;
            }
        }
    }
    choices
}

#[test]
fn collection_that_starts_at_zero_has_all_superblocks_but_one_to_choose_from() {
    // Of twelve superblocks one is free. With a shared log the eleven others are full.
    let last = choices("gc = { start = 0, stop = 1, shared-log = true }");
    assert!(last.len() > 50 && last.iter().all(|closed| *closed == 11), "{last:?}");
    // With two logs, the superblock for copies is open, or full as well.
    let last = choices("gc = { start = 0, stop = 1 }");
    assert!(last.len() > 50 && last.iter().all(|closed| *closed >= 10), "{last:?}");
}
