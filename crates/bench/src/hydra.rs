//! Measurements of Hydra's prototype of 32 GB: a million requests of 4 to 64 KiB over a whole new drive, half of them
//! reads, and the memory of the drive after a fill.

use base::engine::Rng;
use base::io::{Io, IoKind};
use base::units::{Lba, Sectors, Time};
use ssd::{Drive, Precondition, QueueId, Request, Ssd};
use study::catalogue::Device;

use crate::{drives, memory};
use floor::clock::timed;
use floor::report::{Row, Spread};

const REQUESTS: u64 = 1_000_000;
/// The number of outstanding requests.
const DEPTH: u64 = 8;
/// Goal: the most seconds of processor time for all requests.
const SECONDS: f64 = 20.0;
/// Goal: the most bytes of state for each physical page of 2 KiB.
const BYTES_PER_PAGE: f64 = 2.0;
const PAGE: u64 = 2048;

fn device() -> Device {
    let prototype = ssd::builtin().iter().find(|(name, _)| *name == "hydra-prototype");
    drives::device(&toml::from_str(prototype.expect("it comes with Flashloom").1).expect("a built-in device is sound"))
}

/// Runs the requests in a closed loop.
fn run(drive: &mut Ssd<()>) {
    let mut rng = Rng::stream(1, "bench.hydra");
    let mut completions = Vec::new();
    let (mut submitted, mut done) = (0, 0);
    while done < REQUESTS {
        while submitted < REQUESTS && submitted < done + DEPTH {
            let sectors = 8 << rng.below(5);
            let start = rng.below((drive.capacity().get() - sectors) / 8) * 8;
            let kind = if rng.chance(0.5) { IoKind::Read } else { IoKind::Write };
            let io = Io::new(kind, Lba::new(start), Sectors::new(sectors));
            let data = vec![(); if kind == IoKind::Write { sectors as usize } else { 0 }];
            drive.submit(drive.now(), Request { tag: submitted, queue: QueueId::default(), io, data });
            submitted += 1;
        }
        drive.advance(Time::MAX, &mut completions);
        assert!(!completions.is_empty(), "nothing completes any more");
        done += completions.drain(..).len() as u64;
    }
}

pub(crate) fn measure() -> Vec<Row> {
    let before = memory::allocated();
    let full = drives::prepared(&device(), vec![Precondition::Fill]);
    let after = memory::allocated();
    let raw = u64::from(full.resolved().geometry.slot_count()) * u64::from(full.resolved().geometry.sectors) * 512;
    drop(full);
    let mut new = drives::prepared(&device(), Vec::new());
    let ((), cost) = timed(|| run(&mut new));
    let counters = new.counters();
    let merges = counters.merges.map_or(0, |merges| merges.merges);
    let mut rows = vec![Row {
        name: "Hydra's prototype, 1 M requests of 4 to 64 KiB".to_owned(),
        unit: "CPU s",
        value: Spread::one(cost.cpu),
        wall: Some(cost.wall),
        ratio: None,
        reads: None,
        target: Some(format!("< {SECONDS} s")),
        met: Some(cost.cpu < SECONDS),
        note: format!("{merges} merges, {:.1} M events", counters.events as f64 / 1e6),
    }];
    let (Some(before), Some(after)) = (before, after) else { return rows };
    let state = after.saturating_sub(before) as f64 / (raw / PAGE) as f64;
    rows.push(Row {
        name: "its state for each page of 2 KiB, full".to_owned(),
        unit: "bytes",
        value: Spread::one(state),
        wall: None,
        ratio: None,
        reads: None,
        target: Some(format!("<= {BYTES_PER_PAGE} bytes")),
        met: Some(state <= BYTES_PER_PAGE),
        note: format!(
            "{:.1} MB allocated for {:.1} Mi pages",
            after.saturating_sub(before) as f64 / 1e6,
            (raw / PAGE) as f64 / f64::from(1 << 20)
        ),
    });
    rows
}
