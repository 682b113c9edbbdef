//! Tests with drives that cannot read, that take no more writes, and that fail in larger numbers than a level allows.

use base::io::{Io, IoKind};
use base::units::{Lba, Sectors, Span, Time};
use flash::nand::{FaultKind, Stamp};
use raid::Raid;
use ssd::{Drive, DriveFailure, Layer, Precondition, QueueId, RaidLevel, Request, Status};

use testkit::raid::{RaidHost, drive, drives, raid};

/// The number of failed requests, of five hundred, on drives with one uncorrectable read in a thousand; and the
/// counters of the RAID.
fn failed(level: RaidLevel, count: u32, seed: u64) -> (u64, ssd::RaidCounters) {
    let spec = raid(level, count, 0);
    let faulty = drive("faults = { uncorrectable-reads = \"0.1%\" }", "");
    let mut host = RaidHost::new(Raid::<Stamp>::new(&spec, drives(&spec, &faulty, &[])), seed);
    (host.may_lose, host.granularity) = (true, 16);
    host.run(500, 4);
    host.finish();
    (host.by_status.get("uncorrectable").copied().unwrap_or(0), *host.drive.counters().raid.expect("a RAID"))
}

#[test]
fn unreadable_sectors_are_read_from_the_other_drives_and_written_again() {
    // Data that collection of a drive cannot read is lost on that drive, and later reads of it fail. Two such losses in
    // one stripe are lost for the RAID.
    let alone: u64 = (0..10).map(|seed| failed(RaidLevel::Raid0, 3, seed).0).sum();
    for (level, count) in [(RaidLevel::Raid1, 2), (RaidLevel::Raid5, 4), (RaidLevel::Raid6, 5)] {
        let (mut lost, mut recovered, mut rewritten) = (0, 0, 0);
        for (failed, counted) in (0..10).map(|seed| failed(level, count, seed)) {
            lost += failed;
            recovered += counted.recovered_sectors;
            rewritten += counted.rewritten_sectors;
        }
        assert!(recovered > 0 && rewritten > 0, "{level:?}");
        assert!(lost * 2 < alone, "{level:?}: {lost} fail, without redundancy {alone}");
    }
}

#[test]
fn a_mirror_learns_what_is_damaged_where_it_could_not_read() {
    let spec = raid(RaidLevel::Raid1, 2, 0);
    let mut raid = Raid::<Stamp>::new(&spec, drives(&spec, &drive("", ""), &[Precondition::Fill]));
    let mut completions = Vec::new();
    // Two successive reads of the second drive fail; the first drive is idle when the second is to be read again.
    (0..2).for_each(|nth| raid.drives_mut()[1].media_mut().faults_mut().fail_soon(FaultKind::Read, nth));
    for start in [0, 800] {
        let io = Io::new(IoKind::Read, Lba::new(start), Sectors::new(4));
        raid.submit(Time::ZERO, Request { tag: start, queue: QueueId::default(), io, data: Vec::new() });
    }
    while let Some(at) = raid.next_event() {
        raid.advance(at, &mut completions);
    }
    assert!(completions.iter().all(|completion| completion.status == Status::Done), "{completions:?}");
    let counted = raid.counters().raid.expect("a RAID");
    assert_eq!(counted.drives.iter().map(|drive| drive.read_sectors).collect::<Vec<_>>(), [8, 8]);
    assert_eq!((counted.recovered_sectors, counted.rewritten_sectors, counted.drives[1].written_sectors), (4, 4, 4));
}

#[test]
fn what_is_lost_is_said() {
    let spec = raid(RaidLevel::Raid5, 3, 0);
    let mut host = RaidHost::new(Raid::<Stamp>::new(&spec, drives(&spec, &drive("", ""), &[])), 1);
    host.run(100, 4);
    host.drive.fail(0);
    host.run(50, 4);
    assert_eq!(host.by_status.keys().copied().collect::<Vec<_>>(), ["done"]);
    host.drive.fail(1);
    host.may_lose = true;
    host.run(50, 4);
    host.finish();
    assert!(host.by_status["uncorrectable"] > 20, "{:?}", host.by_status);
    let counted = host.drive.counters();
    let failed: u64 = counted.failed.iter().sum();
    assert_eq!(failed, host.by_status["uncorrectable"]);
}

#[test]
fn a_stripe_without_redundancy_loses_what_its_drive_had_and_nothing_else() {
    let spec = raid(RaidLevel::Raid0, 4, 0);
    let mut host = RaidHost::new(Raid::<Stamp>::new(&spec, drives(&spec, &drive("", ""), &[])), 2);
    host.run(300, 4);
    host.finish();
    host.drive.fail(3);
    (host.may_lose, host.granularity) = (true, 32);
    host.read_all();
    // Pieces have three chunks: three of four successive pieces touch the fourth drive.
    let (done, lost) = (host.by_status["done"] as f64, host.by_status["uncorrectable"] as f64);
    assert!(lost > 0.0 && done > lost, "{:?}", host.by_status);
}

#[test]
fn a_drive_fails_at_the_time_of_the_description_and_a_spare_is_rebuilt() {
    let failures = vec![DriveFailure { at: Span::from_ms(20), drive: 1 }];
    let spec = ssd::RaidSpec { failures, ..raid(RaidLevel::Raid5, 3, 1) };
    let mut host = RaidHost::new(Raid::<Stamp>::new(&spec, drives(&spec, &drive("", ""), &[])), 7);
    host.run(400, 4);
    host.finish();
    let counted = host.drive.counters().raid.expect("a RAID");
    assert_eq!(counted.drives.iter().map(|drive| drive.has_failed).collect::<Vec<_>>(), [false, true, false, false]);
    assert!(counted.rebuilt_at.is_some(), "{counted:?}");
    host.read_all();
}
