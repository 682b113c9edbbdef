//! Tests of times and counts: the requests to drives that a RAID makes, and the equality of equal runs.

use base::io::{Io, IoKind};
use base::units::{Lba, Rate, Sectors, Time};
use raid::Raid;
use ssd::{Completion, Drive, Precondition, QueueId, RaidLevel, RaidSpec, Request};

use testkit::raid::{drive, drives, raid};

fn full(spec: &RaidSpec) -> Raid<()> {
    Raid::new(spec, drives(spec, &drive("", ""), &[Precondition::Fill]))
}

/// Runs one request alone. Returns its completion.
fn alone(raid: &mut Raid<()>, kind: IoKind, start: u64, sectors: u64) -> Completion<()> {
    let io = Io::new(kind, Lba::new(start), Sectors::new(sectors));
    let data = vec![(); if kind == IoKind::Write { sectors as usize } else { 0 }];
    raid.submit(raid.counters().at, Request { tag: 0, queue: QueueId::default(), io, data });
    let mut completions = Vec::new();
    while let Some(at) = raid.next_event() {
        raid.advance(at, &mut completions);
    }
    completions.pop().expect("it completes")
}

/// The number of requests to all drives, and of sectors read and written, for one request of the host.
fn asked(level: RaidLevel, count: u32, kind: IoKind, start: u64, sectors: u64) -> (u64, u64, u64) {
    let mut raid = full(&raid(level, count, 0));
    alone(&mut raid, kind, start, sectors);
    let counted = raid.counters().raid.expect("a RAID");
    let sum = |of: fn(&ssd::RaidDriveCounters) -> u64| counted.drives.iter().map(of).sum();
    (sum(|drive| drive.requests), sum(|drive| drive.read_sectors), sum(|drive| drive.written_sectors))
}

#[test]
fn a_request_becomes_the_textbook_requests() {
    use IoKind::{Read, Write};
    // Chunks have 32 sectors.
    assert_eq!(asked(RaidLevel::Raid0, 4, Read, 0, 8), (1, 8, 0));
    assert_eq!(asked(RaidLevel::Raid0, 4, Read, 0, 256), (4, 256, 0), "two stripes: each drive is asked once");
    assert_eq!(asked(RaidLevel::Raid1, 2, Write, 0, 8), (2, 0, 16));
    assert_eq!(asked(RaidLevel::Raid10, 4, Write, 0, 64), (4, 0, 128));
    // A small write needs two reads and two writes; with two parities three and three.
    assert_eq!(asked(RaidLevel::Raid5, 5, Write, 0, 8), (4, 16, 16));
    assert_eq!(asked(RaidLevel::Raid6, 7, Write, 0, 8), (6, 24, 24));
    // A whole stripe reads nothing.
    assert_eq!(asked(RaidLevel::Raid5, 5, Write, 0, 128), (5, 0, 160));
    assert_eq!(asked(RaidLevel::Raid6, 6, Write, 0, 128), (6, 0, 192));
    assert_eq!(asked(RaidLevel::Raid5, 5, Read, 0, 128), (4, 128, 0));
}

#[test]
fn a_small_write_takes_a_read_and_a_write_of_a_drive() {
    let mut raid = full(&raid(RaidLevel::Raid5, 5, 0));
    let written = alone(&mut raid, IoKind::Write, 0, 4);
    let mut one =
        drives::<()>(&testkit::raid::raid(RaidLevel::Raid0, 1, 0), &drive("", ""), &[Precondition::Fill]).remove(0);
    let mut time = |kind| {
        let io = Io::new(kind, Lba::new(0), Sectors::new(4));
        let data = vec![(); if kind == IoKind::Write { 4 } else { 0 }];
        one.submit(one.now(), Request { tag: 0, queue: QueueId::default(), io, data });
        let mut completions = Vec::new();
        one.drain(&mut completions);
        completions[0].latency()
    };
    assert_eq!(written.latency(), time(IoKind::Read) + time(IoKind::Write));
}

#[test]
fn requests_in_one_row_keep_their_order_and_others_do_not_wait() {
    let mut raid = full(&raid(RaidLevel::Raid5, 5, 0));
    // Two writes of different chunks at one place of a stripe share its parity; the third is in another stripe.
    for (tag, start) in [(1, 0), (2, 32), (3, 128)] {
        let io = Io::new(IoKind::Write, Lba::new(start), Sectors::new(4));
        raid.submit(Time::ZERO, Request { tag, queue: QueueId::default(), io, data: vec![(); 4] });
    }
    let mut completions = Vec::new();
    while let Some(at) = raid.next_event() {
        raid.advance(at, &mut completions);
    }
    let of = |tag| completions.iter().find(|completion| completion.tag == tag).expect("it completes");
    assert_eq!(of(2).start, of(1).end);
    assert_eq!(of(3).start, Time::ZERO);
}

#[test]
fn a_rebuild_takes_as_long_as_its_rate_says() {
    let spec = RaidSpec { rebuild_rate: Rate::new(1_000_000), ..raid(RaidLevel::Raid5, 3, 1) };
    let mut raid = full(&spec);
    raid.fail(0);
    let mut completions = Vec::new();
    while let Some(at) = raid.next_event() {
        raid.advance(at, &mut completions);
    }
    let counted = raid.counters().raid.expect("a RAID");
    let bytes = raid.layout().capacity().bytes().get() / 2;
    assert_eq!(counted.rebuilt_sectors * 512, bytes);
    let took = (counted.rebuilt_at.expect("it was rebuilt") - Time::ZERO).as_secs_f64();
    // The last window begins when all others have had their time.
    let most = bytes as f64 / 1e6;
    assert!(took <= most + 0.1 && took >= most - 1.1, "{took} s for {bytes} bytes");
}

#[test]
fn equal_runs_have_equal_hashes() {
    let run = |seed: u64| {
        let mut raid: Raid<()> = full(&raid(RaidLevel::Raid6, 5, 1));
        let mut rng = base::engine::Rng::stream(seed, "requests");
        let mut completions = Vec::new();
        for tag in 0..300 {
            if tag == 100 {
                raid.fail(3);
            }
            let kind = if rng.chance(0.5) { IoKind::Read } else { IoKind::Write };
            let io = Io::new(kind, Lba::new(rng.below(1500)), Sectors::new(1 + rng.below(60)));
            let data = vec![(); if kind == IoKind::Write { io.sectors.get() as usize } else { 0 }];
            raid.submit(raid.counters().at, Request { tag, queue: QueueId::default(), io, data });
            if let Some(at) = raid.next_event() {
                raid.advance(at, &mut completions);
            }
        }
        let counted = raid.counters();
        (counted.event_hash, counted.events, completions.len())
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1).0, run(2).0);
}
