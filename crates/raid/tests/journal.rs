//! Tests of the journal: acknowledged and incomplete writes at a power cut, with all drives and without one.

use std::panic::{AssertUnwindSafe, catch_unwind};

use base::engine::Rng;
use base::io::{Io, IoKind};
use base::units::{Bytes, Lba, Sectors};
use flash::nand::Stamp;
use raid::Raid;
use ssd::{Drive, RaidJournalCounters, RaidLevel, RaidSpec};
use testkit::raid::{RaidHost, drive, drives, raid};

fn spec(level: RaidLevel, count: u32, spares: u32) -> RaidSpec {
    let chunk = Bytes::new(4 << 10);
    RaidSpec { chunk, journal: Some(chunk * u64::from(8 * count)), ..raid(level, count, spares) }
}

fn host(spec: &RaidSpec, buffer: &str, seed: u64) -> RaidHost {
    RaidHost::new(Raid::<Stamp>::new(spec, drives(spec, &drive("", buffer), &[])), seed)
}

fn counted(host: &RaidHost) -> RaidJournalCounters {
    host.drive.counters().raid.expect("a RAID").journal.expect("a journal")
}

/// Cuts the power of a degraded RAID amid writes, twice, and reads everything.
fn cut_without_a_drive(spec: &RaidSpec, buffer: &str, seed: u64) -> RaidHost {
    let mut rng = Rng::stream(seed, "cuts");
    let mut host = host(spec, buffer, seed);
    host.run(60, 6);
    host.drive.fail(rng.below(u64::from(spec.drives)) as u32);
    for _ in 0..2 {
        host.run(60 + rng.below(60), 8);
        host.cut_power();
        // The next cut may come amid the replay.
        (0..rng.below(60)).for_each(|_| _ = host.step());
        if rng.chance(0.5) {
            host.cut_power();
        }
    }
    host.read_all();
    host
}

#[test]
fn the_write_hole_is_there_without_a_journal_and_not_with_one() {
    for (level, count) in [(RaidLevel::Raid5, 4), (RaidLevel::Raid6, 5)] {
        for buffer in ["", "size = \"64KiB\""] {
            let mut replayed = 0;
            for seed in 0..12 {
                let host = cut_without_a_drive(&spec(level, count, 0), buffer, seed);
                replayed += counted(&host).replayed;
            }
            assert!(replayed > 0, "{level:?}: no record was replayed");
        }
    }
    let is_lost = |seed| {
        let open = RaidSpec { journal: None, ..spec(RaidLevel::Raid5, 4, 0) };
        catch_unwind(AssertUnwindSafe(|| cut_without_a_drive(&open, "", seed))).is_err()
    };
    assert!((0..12).any(is_lost), "without a journal a sector that nobody wrote is wrong");
}

#[test]
fn a_rebuild_and_a_replay_do_not_disturb_each_other() {
    for seed in 0..12 {
        let mut host = cut_without_a_drive(&spec(RaidLevel::Raid5, 4, 1), "size = \"64KiB\"", seed);
        assert!(host.drive.counters().raid.expect("a RAID").rebuilt_at.is_some(), "seed {seed}");
        host.drive.fail(0);
        host.read_all();
    }
}

#[test]
fn after_a_power_cut_nothing_is_repaired() {
    let mut host = host(&spec(RaidLevel::Raid5, 4, 0), "", 1);
    host.run(100, 6);
    host.cut_power();
    host.finish();
    assert_eq!(host.drive.counters().raid.expect("a RAID").repaired_sectors, 0);
    assert!(counted(&host).replayed > 0);
}

#[test]
fn every_written_sector_is_in_the_journal_first_and_checkpoints_make_room() {
    let of_test = spec(RaidLevel::Raid5, 4, 0);
    let mut host = host(&of_test, "", 1);
    let stripe = of_test.chunk.get() / 512 * 3;
    for number in 0..24 {
        host.submit(Io::new(IoKind::Write, Lba::new(number % 8 * stripe), Sectors::new(stripe)));
        host.finish();
    }
    let RaidJournalCounters { records, sectors, checkpoints, waits, .. } = counted(&host);
    let unit = host.drive.drives()[0].discard_granularity().get();
    // A record has a unit for its header, data and parity; the tail is a unit.
    assert_eq!((records, waits), (24, 0));
    assert_eq!(sectors, 24 * (unit + stripe / 3 * 4) + checkpoints * unit);
    // The ring has less than eight stripes, and a checkpoint begins when half of it is in use.
    assert!((5..=8).contains(&checkpoints), "{checkpoints}");
    let written = host.drive.counters().raid.expect("a RAID").drives[4].written_sectors;
    assert_eq!(written, sectors, "the fifth drive is that of the journal");
}

#[test]
fn writes_at_once_wait_for_room() {
    let of_test = spec(RaidLevel::Raid5, 3, 0);
    let mut host = host(&of_test, "", 3);
    let stripe = of_test.chunk.get() / 512 * 2;
    for number in 0..16 {
        host.submit(Io::new(IoKind::Write, Lba::new(number * stripe), Sectors::new(stripe)));
    }
    host.finish();
    assert!(counted(&host).waits > 0);
    host.read_all();
}

#[test]
fn a_write_of_many_stripes_takes_several_records() {
    let of_test = spec(RaidLevel::Raid6, 4, 0);
    let mut host = host(&of_test, "", 4);
    let stripe = of_test.chunk.get() / 512 * 2;
    host.submit(Io::new(IoKind::Write, Lba::new(5), Sectors::new(6 * stripe)));
    host.finish();
    assert!(counted(&host).records > 3, "{:?}", counted(&host));
    host.read_all();
}

#[test]
fn without_its_journal_a_raid_can_be_read_and_not_written() {
    let mut host = host(&spec(RaidLevel::Raid5, 4, 0), "", 5);
    host.run(100, 4);
    host.may_lose = true;
    host.run(20, 6);
    host.drive.fail(4);
    host.finish();
    assert!(host.by_status.contains_key("read_only"), "{:?}", host.by_status);
    host.by_status.clear();
    host.read_all();
    assert_eq!(host.by_status.keys().copied().collect::<Vec<_>>(), ["done"]);
    // A power cut leaves parity in doubt, as without a journal.
    host.cut_power();
    host.finish();
    assert!(host.drive.counters().raid.expect("a RAID").repaired_sectors > 0);
    host.read_all();
}
