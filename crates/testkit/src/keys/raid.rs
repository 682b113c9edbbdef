//! A load on several drives as one, and the device whose keys describe them.

use base::engine::Rng;
use base::io::{Io, IoKind};
use base::units::{Lba, Sectors, Time};
use raid::Raid;
use ssd::{Completion, Drive, Precondition, QueueId, RaidSpec, Request, Resolved, Ssd};

use super::loads::{Load, Ran};

/// The tables of the device.
pub(super) fn tables() -> String {
    "[raid]\nlevel = \"raid6\"\ndrives = 4\nchunk = \"8KiB\"\nspares = 1\nrebuild-rate = \"4MB/s\"\n\
     collection = { window = \"5ms\" }\nfailures = [{ at = \"30ms\", drive = 1 }]\n\
     [host]\nqueue-depth = 12\n[ftl]\nover-provisioning = \"45%\"\ngc = { start = 3, stop = 4, parallel = 3 }\n"
        .to_owned()
}

/// Runs a load on full drives.
pub(super) fn run(device: &Resolved, spec: &RaidSpec, load: Load) -> Ran {
    let drives = (0..device.drives()).map(|number| {
        let mut drive = Ssd::<()>::new(&device.of_drive(number), u64::from(number));
        if number < spec.drives {
            drive.precondition(Precondition::Fill, &mut |_, _| {});
        }
        drive
    });
    let mut raid = Raid::new(spec, drives.collect());
    let mut rng = Rng::stream(11, "keys.raid");
    let (count, region) = match load {
        Load::Mixed => (200, 1),
        Load::Bursts => (150, 2),
        Load::Hot => (1500, 8),
        Load::Shift => (300, 4),
    };
    let region = raid.capacity().get() / region;
    let mut completions: Vec<Completion<()>> = Vec::new();
    for tag in 0..count {
        let kind = match rng.below(10) {
            0 => IoKind::Discard,
            1..=4 => IoKind::Read,
            _ => IoKind::Write,
        };
        let start = rng.below(region - 64);
        let largest = if kind == IoKind::Discard || rng.chance(0.1) { 64 } else { 8 };
        let io = Io::new(kind, Lba::new(start), Sectors::new(1 + rng.below(largest)));
        let data = vec![(); if kind == IoKind::Write { io.sectors.get() as usize } else { 0 }];
        while tag as usize - completions.len() >= 64 {
            let at = raid.next_event().expect("a request is under way");
            raid.advance(at, &mut completions);
        }
        let queue = QueueId::new(rng.below(raid.queues() as u64) as u16);
        let now: Time = raid.counters().at;
        raid.submit(now, Request { tag, queue, io, data });
    }
    while let Some(at) = raid.next_event() {
        raid.advance(at, &mut completions);
    }
    let counters = raid.counters();
    let erases = raid.drives().iter().flat_map(Ssd::erase_counts).collect();
    Ran { hash: counters.event_hash, erases, failed: counters.failed }
}
