//! The loads of random requests, in groups that are measured together.

use base::io::IoKind;
use base::units::Span;
use ssd::map_unit::FmmuSpec;
use ssd::{MapSpec, Precondition};

use crate::bare::BareLoad;
use crate::direct::Direct;
use crate::drives::{self, Writes};
use crate::runner::Run;
use floor::rounds::{FLAT, Goal, NamedLoad};

/// Lists reads and writes of a page map in RAM.
pub(crate) fn plain() -> Vec<NamedLoad> {
    let direct = || Direct::new(drives::full().1, IoKind::Read);
    let run = || {
        let (device, drive) = drives::full();
        Run::new(device, drive)
    };
    let steady = |over_provisioning, how| move || Direct::new(drives::steady(over_provisioning, how), IoKind::Write);
    let goal = Goal::share;
    // A bare loop overwrites its drive about once before it is measured, so that it collects as in steady state.
    let bare = |agenda| move || BareLoad::start(agenda, "programs", 3_000_000);
    vec![
        NamedLoad::new("4 KiB random reads", 1_000_000, goal(1.0), direct),
        NamedLoad::new("4 KiB random reads, runner and generator", 1_000_000, goal(0.9), run),
        NamedLoad::new("4 KiB random writes, buffered, 28 % spare", 500_000, goal(0.6), steady(0.28, Writes::Buffered)),
        NamedLoad::new(
            "4 KiB random writes, buffered, 15 % spare",
            500_000,
            goal(0.45),
            steady(0.15, Writes::Buffered),
        ),
        NamedLoad::new("a bare event loop that does the first of these writes", 500_000, None, bare("heap-buffered")),
        NamedLoad::new("4 KiB random writes, through, 28 % spare", 300_000, goal(0.35), steady(0.28, Writes::Through)),
        NamedLoad::new("a bare event loop that does the same writes", 500_000, None, bare("heap-writes")),
        NamedLoad::new("the same writes with rings", 500_000, None, bare("ring-writes")),
    ]
}

/// Lists one drive with different maps, which shows the cost of simulating a map unit.
pub(crate) fn maps() -> Vec<NamedLoad> {
    let reads = |map| move || Direct::new(drives::mapped(map), IoKind::Read);
    let table = MapSpec::Table { service: Span::ZERO };
    let fmmu = MapSpec::Fmmu(FmmuSpec::PUBLISHED);
    let bare = |agenda| move || BareLoad::start(agenda, "loads of translation pages", 0);
    vec![
        NamedLoad::new("4 KiB random reads, map in RAM", 500_000, None, reads(MapSpec::Ram)),
        NamedLoad::new("4 KiB random reads, table that takes no time", 500_000, None, reads(table)),
        NamedLoad::new("4 KiB random reads, FMMU", 200_000, Goal::share(0.35), reads(fmmu)),
        NamedLoad::new("a bare event loop that does the same reads", 500_000, None, bare("heap-mapped")),
        NamedLoad::new("the same reads with rings", 500_000, None, bare("ring-mapped")),
    ]
}

/// Lists the drives of the FMMU paper, full, with different maps.
///
/// For their first hundred thousand writes they collect no data, because a filled drive has free superblocks; after
/// that each write takes several times as many flash commands. So each drive has a row for each of the two phases, with
/// slices short enough to stay in it.
pub(crate) fn map_writes() -> Vec<NamedLoad> {
    let writes = |name: String, device: &str, state: Vec<Precondition>, requests, goal| {
        let device = drives::open(device, &[]);
        let load = move || Direct::new(drives::prepared(&device, state), IoKind::Write);
        NamedLoad::new(format!("4 KiB random writes, {name}"), requests, goal, load)
    };
    let drives = [("FMMU", "fmmu-16x8"), ("DFTL", "fmmu-16x8-dftl"), ("CDFTL", "fmmu-16x8-cdftl")];
    let filled = drives
        .map(|(name, device)| writes(name.to_owned(), device, vec![Precondition::Fill], 10_000, Goal::rate(200e3)));
    let collecting = drives.map(|(name, device)| {
        let state = vec![Precondition::Fill, Precondition::RandomOverwrite(0.05)];
        writes(format!("{name}, collecting"), device, state, 5_000, None)
    });
    filled.into_iter().chain(collecting).collect()
}

/// Lists FAST with all log blocks in use.
pub(crate) fn fast() -> Vec<NamedLoad> {
    let writes = |log_blocks| move || Direct::new(drives::logged("fast", "28%", log_blocks), IoKind::Write);
    let goal = Goal::rate(150e3);
    vec![
        NamedLoad::new("4 KiB random writes, FAST, 28 % spare", 100_000, goal, writes(2200)),
        NamedLoad::new("4 KiB random writes, FAST, 16 log blocks", 20_000, goal, writes(16)),
    ]
}

/// Lists BAST with all log blocks in use: the drive has 4,096 logical blocks, more than there are log blocks.
pub(crate) fn bast() -> Vec<NamedLoad> {
    let flat = Some(Goal { share: Some(FLAT), rate: Some(150e3) });
    let writes = |log_blocks: u32, goal| {
        let name = format!("4 KiB random writes, BAST, {log_blocks} log blocks");
        let load = move || Direct::new(drives::logged("bast", "50%", log_blocks), IoKind::Write);
        NamedLoad::new(name, 10_000, goal, load)
    };
    vec![writes(16, Goal::rate(150e3)), writes(500, flat), writes(4000, flat)]
}

/// Lists Hydra's prototype with more or fewer blocks in each chip.
pub(crate) fn hydra() -> Vec<NamedLoad> {
    let writes = |name: &str, blocks: u32, state: &[Precondition], requests, goal| {
        let device = drives::open("hydra-prototype", &[&format!("flash.blocks={blocks}")]);
        let (depth, state) = (device.resolved.host.queue_depth, state.to_vec());
        let load = move || Direct::at_depth(drives::prepared(&device, state), IoKind::Write, depth);
        NamedLoad::new(format!("4 KiB random writes, Hydra, {name}"), requests, goal, load)
    };
    let flat = Some(Goal { share: Some(FLAT), rate: Some(100e3) });
    vec![
        writes("new, 8 GiB", 2048, &[], 20_000, Goal::rate(100e3)),
        writes("new, 32 GiB", 8192, &[], 20_000, flat),
        writes("new, 128 GiB", 32768, &[], 20_000, flat),
        writes("full, 32 GiB", 8192, &[Precondition::Fill], 4_000, Goal::rate(100e3)),
    ]
}

/// Lists Chang's third configuration, full.
pub(crate) fn chang() -> Vec<NamedLoad> {
    let load = || {
        let drive = drives::prepared(&drives::open("chang-c3", &[]), vec![Precondition::Fill]);
        Direct::at_depth(drive, IoKind::Write, 1)
    };
    vec![NamedLoad::new("4 KiB random writes, Chang C3", 30_000, Goal::rate(150e3), load)]
}

/// Lists a new drive that works on more and more requests at once.
pub(crate) fn depth() -> Vec<NamedLoad> {
    let writes = |depth: u32| {
        let load = move || Direct::at_depth(drives::deep(depth), IoKind::Write, depth);
        let goal = if depth > 512 { Goal::share(FLAT) } else { None };
        NamedLoad::new(format!("4 KiB random writes, {depth} under way"), 100_000, goal, load)
    };
    [512, 2048, 8192, 32768].map(writes).into()
}
