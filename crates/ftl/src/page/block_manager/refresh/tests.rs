//! Refresh on one die: what becomes due, patrol reads, and power cuts.

use base::engine::Rng;
use base::units::{Age, Temperature};
use flash::backend::{Cause, Op};
use flash::nand::Stamp;

use super::*;
use crate::page::PageFtl;
use crate::rig::{Rig, describe};

/// A die of 16 superblocks of 18 mapping units, with new cells: reads of new data need no retry.
fn drive(refresh: &str) -> Rig<PageFtl> {
    worn(0, refresh)
}

/// A die as [`drive`] gives it, after `cycles` program and erase cycles.
fn worn(cycles: u32, refresh: &str) -> Rig<PageFtl> {
    let (config, array, _) = describe(&format!(
        r"[flash]
channels = 1
chips = 1
blocks = 16
pages = 18
planes = 1
custom-part = {{ like = 'tlc-72l', geometry = {{ page = '8KiB' }}, timing = {{ one_shot = 1 }} }}
errors = {{ temperature = '30C', cycles = {cycles} }}
ecc = {{ decode = {{ rate = '2GB/s' }}, hard-limit = 500 }}
[ftl]
map-unit = '8KiB'
capacity = '1152KiB'
refresh = {{ {refresh} }}
"
    ));
    let config = config.downcast_ref::<PageConfig>().expect("a page-mapped drive").clone();
    Rig::with(config, &array)
}

fn stamp(lpn: u32, round: u32) -> Stamp {
    Stamp((u64::from(round) << 32) | (u64::from(lpn) + 1))
}

/// Writes units one by one, and waits for each.
fn write(rig: &mut Rig<PageFtl>, lpns: impl IntoIterator<Item = u32>, round: u32) {
    for lpn in lpns {
        rig.write(&[lpn], Some(stamp(lpn, round)));
        let before = rig.host.written;
        while rig.host.written == before && rig.step() {}
    }
}

fn counters(rig: &Rig<PageFtl>) -> RefreshCounters {
    rig.ftl.blocks.refresh_counters().expect("refresh")
}

fn moved(rig: &Rig<PageFtl>) -> u64 {
    rig.backend.account(Time::MAX).of(Op::Program, Cause::Refresh).slots
}

fn closed(rig: &Rig<PageFtl>) -> u64 {
    let blocks = &rig.ftl.blocks;
    let all = (0..blocks.layout.shape.superblock_count()).map(SuperblockId::new);
    all.filter(|superblock| blocks.table.state(*superblock) == SuperblockState::Closed).count() as u64
}

#[test]
fn a_block_is_reclaimed_after_so_many_reads() {
    let mut rig = drive("reads = 20");
    write(&mut rig, 0..40, 1);
    rig.run_until_idle();
    for read in 1..=60_u64 {
        assert_eq!(rig.read(3), Some(stamp(3, 1)));
        rig.run_until_idle();
        // The copies read the superblock again, but it is erased then.
        let wanted = read / 21;
        assert!((wanted..=wanted + 1).contains(&counters(&rig).superblocks), "read {read}: {:?}", counters(&rig));
        rig.ftl.check(rig.backend.media());
    }
    let RefreshCounters { by_age, by_reads, by_errors, superblocks, patrol_reads } = counters(&rig);
    assert!(by_reads == superblocks && (1..=3).contains(&superblocks), "{:?}", counters(&rig));
    assert_eq!((by_age, by_errors, patrol_reads), (0, 0, 0));
    assert_eq!(moved(&rig), 18 * superblocks);
}

#[test]
fn a_patrol_visits_each_superblock_once_after_the_last_request() {
    let mut rig = drive("reads = 1000, patrol = '10ms'");
    write(&mut rig, 0..100, 1);
    let before = counters(&rig).patrol_reads;
    assert_eq!(closed(&rig), 5);
    rig.run_until_idle();
    assert_eq!(counters(&rig).patrol_reads - before, 5);
    assert_eq!(counters(&rig).superblocks, 0);
    let reads = rig.backend.account(Time::MAX).of(Op::Read, Cause::Refresh);
    assert_eq!(reads.commands, counters(&rig).patrol_reads);
}

#[test]
fn a_patrol_finds_the_data_of_a_drive_that_was_off_for_long() {
    let mut rig = drive("age = '30d', patrol = '1ms'");
    write(&mut rig, 0..100, 1);
    rig.run_until_idle();
    assert_eq!(counters(&rig).by_age, 0);
    // After ten days at 30 degrees no data needs a refresh. At 55 degrees the ten days count as more than a hundred.
    for (temperature, refreshed) in [(30, 0), (55, 5)] {
        rig.backend.media_mut().age(Age::from_secs(10 * 86_400), Temperature::from_celsius(temperature));
        assert_eq!(rig.read(99), Some(stamp(99, 1)));
        rig.run_until_idle();
        rig.ftl.check(rig.backend.media());
        assert_eq!((counters(&rig).by_age, counters(&rig).superblocks), (refreshed, refreshed));
    }
    assert_eq!(moved(&rig), 5 * 18);
    (0..100).for_each(|lpn| assert_eq!(rig.read(lpn), Some(stamp(lpn, 1))));
}

#[test]
fn errors_near_the_limit_of_the_decoder_are_a_reason() {
    let share = |rig: &Rig<PageFtl>| {
        let (table, layout) = (&rig.ftl.blocks.table, &rig.ftl.blocks.layout);
        let is_closed = |psn: Psn| table.state(layout.locate(psn).0) == SuperblockState::Closed;
        let slots = (0..layout.array.slot_count()).map(Psn::new);
        let valid = slots.filter(|psn| table.is_valid(*psn) && is_closed(*psn));
        let of = |psn| rig.backend.media().page_errors(psn).expect("errors").share_of_limit;
        valid.map(of).fold(0.0, f64::max)
    };
    let mut rig = worn(1000, "errors = '90%', patrol = '1ms'");
    write(&mut rig, 0..100, 1);
    rig.run_until_idle();
    assert!(share(&rig) < 0.9 && counters(&rig).by_errors == 0, "{}", share(&rig));
    rig.backend.media_mut().age(Age::from_secs(10 * 86_400), Temperature::from_celsius(30));
    // The first read sets the clock.
    for lpn in 0..100 {
        _ = rig.read(lpn);
        rig.run_until_idle();
    }
    assert!(counters(&rig).by_errors > 0, "{:?}", counters(&rig));
    let worst = share(&rig);
    assert!(worst < 0.9, "{worst} of the limit is left in a closed superblock");
}

#[test]
fn a_power_cut_at_any_moment_of_a_refresh_loses_nothing() {
    let mut rng = Rng::stream(3, "refresh");
    let mut rig = drive("age = '1d', patrol = '100us'");
    let mut latest = vec![0; rig.units() as usize];
    let mut met = 0;
    for round in 1..200 {
        for _ in 0..6 {
            let lpn = rng.below(latest.len() as u64) as u32;
            write(&mut rig, [lpn], round);
            latest[lpn as usize] = round;
        }
        rig.backend.media_mut().age(Age::from_secs(rng.below(4) * 86_400), Temperature::from_celsius(30));
        let lpn = rng.below(latest.len() as u64) as u32;
        write(&mut rig, [lpn], round);
        latest[lpn as usize] = round;
        (0..rng.below(400)).for_each(|_| _ = rig.step());
        met += u32::from(rig.ftl.blocks.pools[0].gc.victims.iter().any(|victim| victim.cause == Cause::Refresh));
        rig.cut_power();
        rig.ftl.check(rig.backend.media());
    }
    assert!(met > 20, "{met} cuts met a refresh");
    for (lpn, round) in (0..).zip(latest).filter(|(_, round)| *round > 0) {
        assert_eq!(rig.read(lpn), Some(stamp(lpn, round)));
    }
}

#[cfg(feature = "sabotage")]
#[test]
fn the_check_finds_a_refresh_that_is_forgotten() {
    let found = std::panic::catch_unwind(|| {
        let mut rig = drive("reads = 5");
        rig.ftl.blocks.planted = crate::PlantedBug::bug(Sabotage::RefreshForgotten);
        write(&mut rig, 0..40, 1);
        for _ in 0..20 {
            _ = rig.read(3);
            rig.run_until_idle();
        }
        rig.ftl.check(rig.backend.media());
    });
    found.expect_err("it must be found");
}
