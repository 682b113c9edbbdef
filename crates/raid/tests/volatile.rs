//! Tests with volatile buffers in the drives, which may lose the RAID's own writes with the power, too.

use base::engine::Rng;
use base::io::Io;
use flash::nand::Stamp;
use raid::Raid;
use ssd::RaidLevel;
use testkit::raid::{RaidHost, drive, drives, raid};

const REDUNDANT: [(RaidLevel, u32); 4] =
    [(RaidLevel::Raid1, 3), (RaidLevel::Raid10, 4), (RaidLevel::Raid5, 4), (RaidLevel::Raid6, 5)];

fn host(level: RaidLevel, count: u32, spares: u32, seed: u64) -> RaidHost {
    let spec = raid(level, count, spares);
    RaidHost::new(Raid::<Stamp>::new(&spec, drives(&spec, &drive("", "size = \"64KiB\""), &[])), seed)
}

#[test]
fn what_was_rebuilt_outlives_a_power_cut() {
    for (level, count) in REDUNDANT {
        for seed in 0..12 {
            let mut rng = Rng::stream(seed, "cuts");
            let mut host = host(level, count, 1, seed);
            host.run(200, 6);
            host.finish();
            host.submit(Io::FLUSH);
            host.finish();
            host.drive.fail(rng.below(u64::from(count)) as u32);
            match rng.below(3) {
                0 => host.finish(),
                // The power fails amid the rebuild.
                _ => (0..rng.below(400)).for_each(|_| _ = host.step()),
            }
            host.cut_power();
            host.read_all();
        }
    }
}

#[test]
fn what_was_repaired_outlives_a_power_cut() {
    for (level, count) in REDUNDANT {
        for seed in 0..12 {
            let mut rng = Rng::stream(seed, "cuts");
            let mut host = host(level, count, 0, seed);
            host.run(200, 6);
            host.cut_power();
            match rng.below(3) {
                0 => host.finish(),
                _ => (0..rng.below(400)).for_each(|_| _ = host.step()),
            }
            host.cut_power();
            host.finish();
            host.read_all();
            host.drive.fail(rng.below(u64::from(count)) as u32);
            host.read_all();
        }
    }
}
