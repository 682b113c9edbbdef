//! A load on a layer above drives (a RAID or a translation over zones), and devices that use every key of these layers.

use std::ops::ControlFlow;

use base::engine::Rng;
use base::io::{Io, IoKind, PlacementId};
use base::units::{Lba, Sectors, Time};
use raid::Raid;
use ssd::{Completion, Drive, DriveKind, Precondition, QueueId, RaidSpec, Request, ResolvedDevice, Spec, Ssd};
use translation::{Translation, UsedZones};

use super::loads::{Load, RunResults};

pub(super) fn raid_tables() -> String {
    r#"[raid]
level = "raid6"
drives = 4
chunk = "4KiB"
spares = 1
journal = "256KiB"
rebuild-rate = "4MB/s"
collection = { window = "5ms" }
failures = [{ at = "30ms", drive = 1 }]
[host]
queue-depth = 12
[ftl]
over-provisioning = "45%"
discard = "durable"
gc = { start = 3, stop = 4, parallel = 3 }
"#
    .to_owned()
}

/// Adds a kind of drive with less room to the RAID of a device.
pub(super) fn with_kind(mut spec: Spec) -> Spec {
    let mut own = Spec { raid: None, ..spec.clone() };
    own.ftl.over_provisioning = Some("55%".parse().expect("a share"));
    let raid = spec.raid.as_mut().expect("a RAID");
    raid.kind = vec![DriveKind { drives: vec![2], spec: Some(Box::new(own)), ..DriveKind::default() }];
    spec
}

/// The tables of a translation over zones.
pub(super) fn translation_tables() -> String {
    r#"[translation]
over-provisioning = "50%"
streams = 2
zones-per-stream = 1
command = "append"
gc = { victim = "greedy", start = 2, stop = 4, parallel = 2, piece = "2KiB" }
[host]
queue-depth = 12
[ftl]
kind = "zns"
over-provisioning = "40%"
zns = { dies = 1, max-active = 8 }
"#
    .to_owned()
}

/// Runs a load on a RAID of full drives.
pub(super) fn run_on_raid(device: &ResolvedDevice, spec: &RaidSpec, load: Load) -> RunResults {
    let drives = (0..device.drives()).map(|number| {
        let mut drive = Ssd::<()>::new(&device.of_drive(number), u64::from(number));
        if number < spec.drives {
            drive.precondition(Precondition::Fill, &mut |_, _| {});
        }
        drive
    });
    let mut raid = Raid::new(spec, drives.collect());
    let (hash, failed) = play(&mut raid, load);
    RunResults { hash, erases: raid.drives().iter().flat_map(Ssd::erase_counts).collect(), failed }
}

/// Runs a load on a translation whose zones are full.
pub(super) fn run_on_translation(device: &ResolvedDevice, load: Load) -> RunResults {
    let go_on = &mut |_, _| ControlFlow::Continue(());
    let mut used = UsedZones::new(device, 7);
    for step in [Precondition::Fill, Precondition::RandomOverwrite(1.0)] {
        used.precondition(step, go_on);
    }
    let drive = Ssd::<()>::new(&device.of_drive(0), 7);
    let (mut translation, _) = Translation::over(device, drive, used, go_on).expect("nobody breaks off");
    let (hash, failed) = play(&mut translation, load);
    RunResults { hash, erases: translation.drive().erase_counts(), failed }
}

fn play(drive: &mut impl Drive<()>, load: Load) -> (u64, [u64; IoKind::COUNT]) {
    let mut rng = Rng::stream(11, "keys.raid");
    let (count, region) = match load {
        Load::Mixed => (200, 1),
        Load::Bursts => (150, 2),
        Load::Hot => (1500, 8),
        Load::Shift => (300, 4),
    };
    let region = (drive.capacity().get() / region).max(128);
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
        // The placement identifier tells the translation which half of the addresses is overwritten together.
        let io = Io { placement: PlacementId::new(u16::from(start.is_multiple_of(2))), ..io };
        let data = vec![(); if kind == IoKind::Write { io.sectors.get() as usize } else { 0 }];
        while tag as usize - completions.len() >= 64 {
            let at = drive.next_event().expect("a request is under way");
            drive.advance(at, &mut completions);
        }
        let queue = QueueId::new(rng.below(drive.queues() as u64) as u16);
        let now: Time = drive.counters().at;
        drive.submit(now, Request { tag, queue, io, data });
    }
    while let Some(at) = drive.next_event() {
        drive.advance(at, &mut completions);
    }
    let counters = drive.counters();
    (counters.event_hash, counters.failed)
}
