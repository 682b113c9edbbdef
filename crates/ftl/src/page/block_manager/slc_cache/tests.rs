//! The SLC cache of one die: where the host's data go, folding, and power cuts.

use base::engine::Rng;
use base::units::Time;
use flash::backend::{Cause, Op};
use flash::nand::Stamp;

use super::*;
use crate::page::PageFtl;
use crate::rig::{Rig, describe};

/// A die of 24 superblocks of 12 word lines of three pages: 36 mapping units, 12 of them in SLC mode.
pub(super) fn drive(cache: &str) -> Rig<PageFtl> {
    drive_of((1, 36), cache)
}

/// A drive with an SLC cache, with the given planes and pages in a block, in mapping units of 8 KiB.
fn drive_of((planes, pages): (u32, u32), cache: &str) -> Rig<PageFtl> {
    let page = 8 * planes;
    let (config, array, _) = describe(&format!(
        r"[flash]
channels = 1
chips = 1
blocks = 24
pages = {pages}
planes = {planes}
custom-part = {{ like = 'sk-hynix-176l-tlc', geometry = {{ page = '{page}KiB' }}, features = {{ multi_plane = {}, copy_back = true }}, slc_mode = {{ read = '25us', program = '200us', endurance = 30000 }} }}
[ftl]
capacity = '4608KiB'
map-unit = '8KiB'
slc-cache = {{ {cache} }}
",
        planes > 1
    ));
    let config = config.downcast_ref::<PageConfig>().expect("a page-mapped drive").clone();
    Rig::with(config, &array)
}

/// Writes units one by one, each with its own stamp, and waits for each.
pub(super) fn write(rig: &mut Rig<PageFtl>, lpns: impl IntoIterator<Item = u32>, round: u32) {
    for lpn in lpns {
        rig.write(&[lpn], Some(stamp(lpn, round)));
        let before = rig.host.written;
        while rig.host.written == before && rig.step() {}
    }
}

pub(super) fn stamp(lpn: u32, round: u32) -> Stamp {
    Stamp((u64::from(round) << 32) | (u64::from(lpn) + 1))
}

pub(super) fn cached(rig: &Rig<PageFtl>) -> u64 {
    rig.ftl.blocks.cache_counters().expect("a cache").superblocks
}

fn units(rig: &Rig<PageFtl>, op: Op, cause: Cause) -> u64 {
    rig.backend.account(Time::MAX).of(op, cause).slots
}

#[test]
fn the_host_fills_the_cache_and_then_writes_to_full_blocks() {
    // Three superblocks of 96 KiB in SLC mode.
    let mut rig = drive("size = '288KiB'");
    write(&mut rig, 0..36, 1);
    assert_eq!((cached(&rig), rig.ftl.blocks.cache_counters().expect("one").cached), (3, 36));
    write(&mut rig, 36..75, 1);
    let counters = rig.ftl.blocks.cache_counters().expect("one");
    assert_eq!((counters.superblocks, counters.limit, counters.cached), (3, 3, 36));
    rig.run_until_idle();
    assert_eq!(rig.ftl.blocks.cache_counters().expect("one").direct, 39);
    assert_eq!(units(&rig, Op::Program, Cause::Fold), 0, "nothing is folded without need");
    for lpn in 0..75 {
        assert_eq!(rig.read(lpn), Some(stamp(lpn, 1)));
    }
}

#[test]
fn an_idle_drive_folds_its_cache_down_to_what_stays() {
    for (down_to, stays) in [("0B", 0), ("96KiB", 1)] {
        let mut rig = drive(&format!("size = '480KiB', idle = {{ after = '10ms', down-to = '{down_to}' }}"));
        write(&mut rig, 0..50, 1);
        assert_eq!(cached(&rig), 5, "four are full, and one is open");
        rig.run_until_idle();
        // The open superblock keeps its mode.
        assert_eq!(cached(&rig), stays.max(1));
        let closed = 4 - (stays.max(1) - 1);
        assert_eq!(units(&rig, Op::Program, Cause::Fold), closed * 12, "{down_to}");
        for lpn in 0..50 {
            assert_eq!(rig.read(lpn), Some(stamp(lpn, 1)));
        }
    }
}

#[test]
fn a_request_stops_folding_until_the_drive_is_idle_again() {
    let mut rig = drive("size = '768KiB', idle = { after = '10ms' }");
    write(&mut rig, 0..95, 1);
    while units(&rig, Op::Program, Cause::Fold) == 0 {
        assert!(rig.step(), "it becomes idle");
    }
    // The copies in progress end, and no others begin.
    let begun = units(&rig, Op::Program, Cause::Fold);
    while rig.ftl.blocks.pools[0].gc.copies > 0 {
        rig.with_ftl(|ftl, flash, _| ftl.blocks.note_request(flash));
        assert!(rig.step());
    }
    assert!(cached(&rig) > 5 && rig.ftl.blocks.pauses_folding(0));
    let ended = units(&rig, Op::Program, Cause::Fold) - begun;
    assert!(ended <= 2 * 6, "{ended} units of two copies in progress at most");
    rig.run_until_idle();
    assert_eq!(cached(&rig), 1, "it goes on later");
}

#[test]
fn a_write_waits_for_folding_where_the_drive_says_so() {
    let mut rig = drive("size = '192KiB', overflow = 'fold'");
    let mut rng = Rng::stream(1, "slc-cache");
    let mut latest = vec![0; rig.units() as usize];
    for round in 1..1_500 {
        let lpn = rng.below(latest.len() as u64) as u32;
        write(&mut rig, [lpn], round);
        latest[lpn as usize] = round;
        assert!(cached(&rig) <= 2);
    }
    rig.run_until_idle();
    let counters = rig.ftl.blocks.cache_counters().expect("one");
    assert_eq!((counters.direct, counters.cached), (0, 1_499), "all data pass the cache");
    assert!(units(&rig, Op::Program, Cause::Fold) > 500);
    for (lpn, round) in (0..).zip(latest).filter(|(_, round)| *round > 0) {
        assert_eq!(rig.read(lpn), Some(stamp(lpn, round)));
    }
}

#[test]
fn a_drive_folds_beside_direct_writes_and_the_cache_takes_data_again() {
    let mut rig = drive("size = '288KiB', overflow = 'fold-beside'");
    // One write at a time leaves time to fold; twenty at once do not.
    (0..200).for_each(|lpn| {
        rig.write(&[lpn], Some(stamp(lpn, 1)));
        while rig.host.written + 20 < lpn && rig.step() {}
    });
    let counters = rig.ftl.blocks.cache_counters().expect("one");
    assert!(counters.superblocks <= 3 && counters.cached > 36 && counters.direct > 36, "{counters:?}");
    assert!(units(&rig, Op::Program, Cause::Fold) >= 12);
    rig.run_until_idle();
    assert!(cached(&rig) <= 3);
    for lpn in 0..200 {
        assert_eq!(rig.read(lpn), Some(stamp(lpn, 1)));
    }
}

#[test]
fn a_cache_that_was_full_takes_data_again_once_so_much_is_free() {
    // Five superblocks of 12 mapping units; four must be free, or all that a cache that has shrunk has.
    for (points, least) in [("", 48), (", points = [{ fill = '1%', size = '192KiB' }]", 24)] {
        let mut rig = drive(&format!("size = '480KiB', overflow = 'fold-beside', reuse = '384KiB'{points}"));
        let (mut bursts, mut cached_before) = (vec![0], 0);
        for round in 1..4 {
            for lpn in 0..500 {
                write(&mut rig, [lpn], round);
                let cached = rig.ftl.blocks.cache_counters().expect("one").cached;
                match (cached - cached_before, bursts.last_mut().expect("one")) {
                    (0, 0) => {}
                    (0, _) => bursts.push(0),
                    (units, burst) => *burst += units,
                }
                cached_before = cached;
            }
        }
        // The last burst may be in progress.
        bursts.pop();
        assert!(bursts.len() > 3 && bursts.iter().all(|burst| *burst >= least), "{points}: {bursts:?}");
        assert!(units(&rig, Op::Program, Cause::Host) > cached_before);
        for lpn in 0..500 {
            assert_eq!(rig.read(lpn), Some(stamp(lpn, 3)));
        }
    }
}

#[test]
fn what_an_idle_drive_has_folded_is_free_for_the_host_at_once() {
    let mut rig = drive("size = '480KiB', overflow = 'fold-beside', reuse = '480KiB', idle = { after = '10ms' }");
    let cached = |rig: &Rig<PageFtl>| rig.ftl.blocks.cache_counters().expect("a cache").cached;
    let folded = |rig: &Rig<PageFtl>| units(rig, Op::Program, Cause::Fold);
    // Many writes at once leave no time to fold.
    (0..200).for_each(|lpn| rig.write(&[lpn], Some(stamp(lpn, 1))));
    while rig.host.written < 200 && rig.step() {}
    let before = cached(&rig);
    while folded(&rig) < 24 {
        assert!(rig.step(), "it becomes idle");
    }
    assert!(rig.ftl.blocks.cache_counters().expect("one").superblocks > 1, "it is not empty");
    // The open superblock is full within 36 mapping units.
    write(&mut rig, 200..248, 1);
    assert!(cached(&rig) > before, "what has been folded is used");
    for lpn in 0..248 {
        assert_eq!(rig.read(lpn), Some(stamp(lpn, 1)));
    }
}

/// Writes rows of four units, each row at once and with the stamp of its first unit, and waits for each.
fn write_rows(rig: &mut Rig<PageFtl>, rows: u32) {
    for row in 0..rows {
        let lpns = [0, 1, 2, 3].map(|i| 4 * row + i);
        let before = rig.host.written;
        rig.write(&lpns, Some(stamp(4 * row, 1)));
        while rig.host.written < before + 4 && rig.step() {}
    }
}

#[test]
fn whole_pages_are_folded_inside_their_planes() {
    // A one-shot program has three pages of 8 KiB on one plane, or three pages of two mapping units each on two planes.
    for (planes, pages) in [(1, 36), (2, 9)] {
        let mut rig =
            drive_of((planes, pages), "size = '768KiB', fold = 'copy-back', idle = { after = '10ms', down-to = '0B' }");
        write_rows(&mut rig, 22);
        rig.run_until_idle();
        let (inside, over) = (units(&rig, Op::CopyBack, Cause::Fold), units(&rig, Op::Program, Cause::Fold));
        assert_eq!((inside, over), (84, 0), "{planes}");
        assert_eq!(units(&rig, Op::Read, Cause::Fold), 0);
        for lpn in 0..88 {
            assert_eq!(rig.read(lpn), Some(stamp(lpn / 4 * 4, 1)));
        }
    }
}

#[test]
fn pages_with_garbage_are_folded_over_the_channel() {
    let mut rig = drive_of((2, 9), "size = '1536KiB', fold = 'copy-back', idle = { after = '10ms', down-to = '0B' }");
    write_rows(&mut rig, 24);
    // Overwrites a mapping unit of every third page.
    let newer: Vec<u32> = (0..96).step_by(6).collect();
    write(&mut rig, newer.iter().copied(), 2);
    rig.run_until_idle();
    let (inside, over) = (units(&rig, Op::CopyBack, Cause::Fold), units(&rig, Op::Program, Cause::Fold));
    // Of the 32 whole pages, those that fill programs are folded inside their planes; the other 16 mapping units are
    // not.
    assert!(
        (36..=64).contains(&inside) && inside.is_multiple_of(12),
        "{inside} inside planes, {over} over the channel"
    );
    assert!(over >= 16, "{over}");
    for lpn in 0..96 {
        let found = if newer.contains(&lpn) { stamp(lpn, 2) } else { stamp(lpn / 4 * 4, 1) };
        assert_eq!(rig.read(lpn), Some(found));
    }
}

#[test]
fn the_cache_shrinks_as_the_drive_fills() {
    let mut rig = drive("size = '960KiB', points = [{ fill = '50%', size = '192KiB' }]");
    let limit = |rig: &Rig<PageFtl>| rig.ftl.blocks.cache_counters().expect("a cache").limit;
    assert_eq!(limit(&rig), 10);
    write(&mut rig, 0..144, 1);
    assert_eq!(limit(&rig), 6);
    write(&mut rig, 144..550, 1);
    rig.run_until_idle();
    assert_eq!(limit(&rig), 2);
    assert!(cached(&rig) <= 10, "what is there stays until it is folded");
}

#[test]
fn a_full_drive_folds_because_it_needs_free_superblocks() {
    let mut rig = drive("size = '2304KiB'");
    let all = rig.units();
    write(&mut rig, 0..all, 1);
    write(&mut rig, (0..all).rev(), 2);
    rig.run_until_idle();
    assert!(units(&rig, Op::Program, Cause::Fold) > 0);
    for lpn in 0..all {
        assert_eq!(rig.read(lpn), Some(stamp(lpn, 2)));
    }
}

#[test]
fn a_power_cut_at_any_moment_of_folding_loses_nothing() {
    for (planes, cache) in [
        (1, "size = '288KiB', idle = { after = '5ms' }"),
        (1, "size = '192KiB', overflow = 'fold'"),
        (1, "size = '192KiB', overflow = 'fold-beside'"),
        (1, "size = '288KiB', overflow = 'fold-beside', reuse = '192KiB'"),
        (1, "size = '288KiB', static = '192KiB', overflow = 'fold-beside'"),
        (1, "size = '192KiB', static = '192KiB', overflow = 'fold'"),
        (1, "size = '192KiB', overflow = 'fold', fold = 'copy-back'"),
        (2, "size = '192KiB', overflow = 'fold-beside', fold = 'copy-back'"),
    ] {
        let mut rng = Rng::stream(2, "slc-cache");
        let mut rig = drive_of((planes, 36 / (planes * planes)), cache);
        let mut latest = vec![0; rig.units() as usize];
        let mut folds = 0;
        for round in 1..300 {
            for _ in 0..12 {
                let lpn = rng.below(latest.len() as u64) as u32;
                write(&mut rig, [lpn], round);
                latest[lpn as usize] = round;
            }
            // One more write, during which the power cut may come at any moment.
            let lpn = rng.below(latest.len() as u64) as u32;
            let (before, written) = (latest[lpn as usize], rig.host.written);
            rig.write(&[lpn], Some(stamp(lpn, round)));
            (0..rng.below(120)).for_each(|_| _ = rig.step());
            let acknowledged = rig.host.written > written;
            let victims = &rig.ftl.blocks.pools[0].gc.victims;
            folds += u32::from(victims.iter().any(|victim| victim.cause == Cause::Fold));
            rig.cut_power();
            rig.ftl.check(rig.backend.media());
            let found = rig.read(lpn);
            let old = if before == 0 { Stamp::default() } else { stamp(lpn, before) };
            assert!(
                found == Some(stamp(lpn, round)) || !acknowledged && found == Some(old),
                "{cache}: {lpn}: {found:?}"
            );
            latest[lpn as usize] = if found == Some(old) { before } else { round };
        }
        assert!(folds > 20, "{cache}: {folds} cuts met a fold");
        for (lpn, round) in (0..).zip(latest).filter(|(_, round)| *round > 0) {
            assert_eq!(rig.read(lpn), Some(stamp(lpn, round)), "{cache}: {lpn}");
        }
    }
}

#[cfg(feature = "sabotage")]
#[test]
fn the_check_finds_what_the_cache_forgets() {
    let small = "size = '288KiB', idle = { after = '5ms' }";
    for (bug, cache) in [
        (Sabotage::CacheOverfilled, small),
        (Sabotage::CacheNeverEmpties, small),
        (Sabotage::CacheReusedEarly, "size = '768KiB', overflow = 'fold-beside', reuse = '768KiB'"),
        (Sabotage::StaticPartLent, "size = '192KiB', static = '192KiB', overflow = 'fold'"),
    ] {
        let found = std::panic::catch_unwind(|| {
            let mut rig = drive(cache);
            rig.ftl.blocks.planted = crate::PlantedBug::bug(bug);
            write(&mut rig, 0..200, 1);
            rig.ftl.check(rig.backend.media());
            rig.run_until_idle();
        });
        found.expect_err(&format!("{bug:?} must be found"));
    }
}
