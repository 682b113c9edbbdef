//! Tests that the moments at which a caller stops time do not matter: equal requests at equal times cause equal events.

use base::engine::Rng;
use base::io::{Io, IoKind};
use base::units::{Lba, Sectors, Span, Time};
use raid::Raid;
use ssd::{Completion, Drive, QueueId, Request};
use testkit::raid::{LEVELS, drive, drives, raid};

/// A request, and the time at which it arrived.
type TimedIo = (Time, Io);

fn submit(raid: &mut Raid<()>, tag: u64, (at, io): TimedIo) {
    let data = vec![(); if io.kind == IoKind::Write { io.sectors.get() as usize } else { 0 }];
    raid.submit(at, Request { tag, queue: QueueId::default(), io, data });
}

fn ends(mut completions: Vec<Completion<()>>) -> Vec<(u64, Time)> {
    completions.sort_by_key(|completion| completion.tag);
    completions.into_iter().map(|completion| (completion.tag, completion.end)).collect()
}

/// Runs requests at the moments of completions, and at other moments; time stops at each event. Two requests at one
/// time have no event between them.
fn with_stops(raid: &mut Raid<()>, seed: u64) -> (Vec<TimedIo>, Vec<(u64, Time)>) {
    let mut rng = Rng::stream(seed, "raid.stops");
    let capacity = raid.capacity().get();
    let (mut rows, mut completions, mut last) = (Vec::new(), Vec::new(), (Time::ZERO, 0));
    for _ in 0..600 {
        let under_way = rows.len() - completions.len();
        match raid.next_event() {
            _ if rng.below(3) > 0 && under_way < 12 => {
                let start = rng.below(capacity);
                let sectors = (1 + rng.below(9)).min(capacity - start);
                let kind = [IoKind::Read, IoKind::Write, IoKind::Discard, IoKind::Flush][rng.below(4) as usize];
                let io = if kind == IoKind::Flush {
                    Io::FLUSH
                } else {
                    Io::new(kind, Lba::new(start), Sectors::new(sectors))
                };
                let has_moved = last.0 == raid.now() && last.1 != raid.steps();
                let row = (raid.now() + Span::from_ps(u64::from(has_moved)), io);
                while raid.now() < row.0 {
                    raid.advance(row.0, &mut completions);
                }
                submit(raid, rows.len() as u64, row);
                rows.push(row);
                last = (raid.now(), raid.steps());
            }
            Some(at) if rng.below(8) > 0 => _ = raid.advance(at, &mut completions),
            _ => _ = raid.advance(raid.now() + Span::from_ps(rng.below(300_000_000)), &mut completions),
        }
    }
    while completions.len() < rows.len() {
        raid.advance(Time::MAX, &mut completions);
    }
    (rows, ends(completions))
}

#[test]
fn stops_between_requests_change_no_event() {
    for (level, count) in LEVELS {
        for seed in 0..6 {
            let spec = raid(level, count, 1);
            let new = || Raid::<()>::new(&spec, drives(&spec, &drive("", ""), &[]));
            let (mut stopped, mut straight) = (new(), new());
            let (rows, ended) = with_stops(&mut stopped, seed);
            let mut completions = Vec::new();
            for (tag, row) in (0..).zip(&rows) {
                while straight.now() < row.0 {
                    straight.advance(row.0, &mut completions);
                }
                submit(&mut straight, tag, *row);
            }
            while completions.len() < rows.len() {
                straight.advance(Time::MAX, &mut completions);
            }
            let what = format!("seed {seed}, {level:?} of {count}");
            let straight_ends = ends(completions);
            if let Some(at) = (0..rows.len()).find(|at| ended[*at] != straight_ends[*at]) {
                panic!("{what}: request {at} {:?}: {:?} and {:?}", rows[at], ended[at], straight_ends[at]);
            }
            assert_eq!(stopped.counters().event_hash, straight.counters().event_hash, "{what}");
        }
    }
}
