//! Tests of the data that reads return, on new and on used drives, complete and degraded, and after power cuts.

use base::engine::Rng;
use flash::nand::Stamp;
use raid::Raid;
use ssd::{Precondition, RaidLevel};

use testkit::raid::{LEVELS, RaidHost, drive, drives, raid, redundancy};

fn host(level: RaidLevel, count: u32, spares: u32, steps: &[Precondition], seed: u64) -> RaidHost {
    let spec = raid(level, count, spares);
    RaidHost::new(Raid::<Stamp>::new(&spec, drives(&spec, &drive("", ""), steps)), seed)
}

#[test]
fn reads_return_what_was_written() {
    for (level, count) in LEVELS {
        for seed in 0..6 {
            let mut host = host(level, count, 0, &[], seed);
            host.run(600, 1 + 3 * seed as usize);
            host.read_all();
        }
    }
}

#[test]
fn what_preconditioning_left_is_recovered_too() {
    for (level, count) in LEVELS.into_iter().filter(|(level, _)| *level != RaidLevel::Raid0) {
        for seed in 0..3 {
            let mut host = host(level, count, 0, &[Precondition::Fill, Precondition::RandomOverwrite(0.3)], seed);
            if seed > 0 {
                host.run(200, 4);
            }
            // The first reads find the data of preconditioning, and reads without a drive must return the same.
            host.read_all();
            host.drive.fail(seed as u32 % count);
            host.read_all();
            host.run(200, 4);
            host.read_all();
        }
    }
}

#[test]
fn data_outlive_as_many_drives_as_the_level_allows() {
    for (level, count) in LEVELS {
        for seed in 0..6 {
            let mut host = host(level, count, 0, &[], seed);
            let mut rng = Rng::stream(seed, "failures");
            for _ in 0..redundancy(level, count) {
                host.run(200, 6);
                // The drive fails amid requests.
                host.drive.fail(rng.below(u64::from(count)) as u32);
            }
            host.run(300, 6);
            host.read_all();
        }
    }
}

#[test]
fn a_rebuilt_spare_has_all_data() {
    for (level, count) in LEVELS.into_iter().filter(|(level, _)| *level != RaidLevel::Raid0) {
        for seed in 0..4 {
            let steps: &[Precondition] = if seed % 2 == 0 { &[] } else { &[Precondition::Fill] };
            let mut host = host(level, count, 2, steps, seed);
            host.run(100, 4);
            if seed % 2 == 1 {
                host.read_all();
            }
            let mut rng = Rng::stream(seed, "failures");
            for spare in 0..2 {
                let first = if spare == 0 { rng.below(u64::from(count)) as u32 } else { count };
                host.drive.fail(first);
                host.run(150, 4);
                host.finish();
                let counted = ssd::Drive::counters(&host.drive).raid.expect("a RAID");
                assert!(counted.rebuilt_at.is_some() && counted.lost_chunks == 0, "{level:?} seed {seed}: {counted:?}");
            }
            // Both spares were rebuilt, the second also from the first; now the other drives fail.
            for _ in 0..redundancy(level, count) {
                let drive = first_alive(&host);
                host.drive.fail(drive);
            }
            host.read_all();
        }
    }
}

fn first_alive(host: &RaidHost) -> u32 {
    let counted = ssd::Drive::counters(&host.drive).raid.expect("a RAID");
    counted.drives.iter().position(|drive| !drive.has_failed).expect("one is left") as u32
}

#[test]
fn a_drive_that_fails_while_it_is_rebuilt_makes_room_for_the_next() {
    let mut host = host(RaidLevel::Raid5, 4, 3, &[], 9);
    host.run(300, 4);
    host.drive.fail(2);
    for spare in [4, 5] {
        host.run(5, 2);
        host.drive.fail(spare);
    }
    host.run(200, 4);
    host.finish();
    host.drive.fail(0);
    host.read_all();
}

#[test]
fn a_power_cut_leaves_each_sector_old_or_new_and_is_repaired() {
    for (level, count) in LEVELS {
        for seed in 0..8 {
            let mut host = host(level, count, 0, &[], seed);
            for _ in 0..4 {
                host.run(60, 8);
                host.cut_power();
                // Reads and writes continue during the repair.
                host.run(40, 4);
            }
            host.read_all();
            // After the repair any single drive may be missing.
            if redundancy(level, count) > 0 {
                host.drive.fail(seed as u32 % count);
                host.read_all();
            }
        }
    }
}

#[test]
fn a_clean_raid_is_not_repaired_after_a_power_cut() {
    let mut host = host(RaidLevel::Raid5, 3, 0, &[], 3);
    let repaired = |host: &RaidHost| ssd::Drive::counters(&host.drive).raid.expect("a RAID").repaired_sectors;
    for sector in 0..40 {
        host.submit(base::io::Io::new(
            base::io::IoKind::Write,
            base::units::Lba::new(sector * 9),
            base::units::Sectors::new(4),
        ));
    }
    host.finish();
    host.submit(base::io::Io::FLUSH);
    host.finish();
    host.cut_power();
    host.finish();
    assert_eq!(repaired(&host), 0);
    host.submit(base::io::Io::new(base::io::IoKind::Write, base::units::Lba::new(8), base::units::Sectors::new(4)));
    host.cut_power();
    host.finish();
    assert_eq!(
        repaired(&host),
        host.drive.layout().capacity().get() / 2,
        "a stripe has two chunks of data and one of parity"
    );
}
