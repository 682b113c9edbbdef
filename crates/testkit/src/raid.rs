//! Checks of RAIDs in which drives fail, spares are rebuilt and the power is cut.
//!
//! [`settings()`] has fixed RAIDs, [`draw`] makes a random one, and [`check`] runs the whole course of one.

use base::engine::Rng;
use base::units::{Bytes, Time};
use flash::nand::{Sector, Stamp};
use raid::Raid;
use ssd::{Drive, DriveKind, Precondition, RaidLevel, RaidSpec, ResolvedDevice, Spec, Ssd, Tag};

use crate::block_host::Layer;

/// Resolves a small page-mapped drive. `flash` is the end of its table `[flash]`; `buffer` is its table `[buffer]`,
/// empty for a drive without a buffer.
///
/// # Panics
/// If the description is not valid.
#[must_use]
pub fn drive(flash: &str, buffer: &str) -> ResolvedDevice {
    let buffer = if buffer.is_empty() { String::new() } else { format!("[buffer]\n{buffer}\n") };
    let text = format!(
        "name = \"small\"\n[flash]\npart = \"dirik-2009\"\nchannels = 2\nchips = 1\nblocks = 26\npages = 8\n{flash}\n\
         {buffer}[ftl]\nover-provisioning = \"40%\"\ndiscard = \"durable\"\n"
    );
    let spec: Spec = toml::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    spec.resolve().unwrap_or_else(|faults| panic!("{faults:?}"))
}

/// Describes a RAID with chunks of 16 KiB.
#[must_use]
pub fn raid(level: RaidLevel, drives: u32, spares: u32) -> RaidSpec {
    RaidSpec { chunk: Bytes::new(16 << 10), spares, ..RaidSpec::new(level, drives) }
}

/// Describes drives with less room than the others, and with a buffer.
#[must_use]
pub fn small(drives: &[u32]) -> DriveKind {
    let mut spec = drive("", "size = \"32KiB\"").spec;
    spec.ftl.over_provisioning = Some("50%".parse().expect("a share"));
    DriveKind { drives: drives.to_vec(), spec: Some(Box::new(spec)), ..DriveKind::default() }
}

/// Creates the drives of a RAID, each with a seed of its own; all but the spares are preconditioned.
#[must_use]
pub fn drives<S: Sector>(spec: &RaidSpec, resolved: &ResolvedDevice, steps: &[Precondition]) -> Vec<Ssd<S>> {
    let each = (0..spec.all_drives()).map(|number| {
        let seed = |number: u32| u64::from(number) + 1;
        let kind = spec.kind.iter().find(|kind| kind.drives.contains(&number)).and_then(|kind| kind.spec.as_ref());
        let kind = kind.map(|spec| spec.resolve().unwrap_or_else(|faults| panic!("{faults:?}")));
        let mut drive =
            Ssd::new(kind.as_ref().unwrap_or(resolved), seed(number)).written_as(seed(spec.first_of_mirror(number)));
        let steps = if number < spec.drives { steps } else { &[] };
        steps.iter().for_each(|step| _ = drive.precondition(*step, &mut |_, _| {}));
        drive
    });
    each.collect()
}

/// A host that checks a RAID.
pub type RaidHost = crate::block_host::BlockHost<Raid<Stamp>>;

impl Layer for Raid<Stamp> {
    // The drives of the suite do not forget discards at a power cut.
    const FORGETS_DISCARDS: bool = false;

    fn is_volatile(&self) -> bool {
        self.drives().iter().any(|drive| drive.resolved().buffer.is_some())
    }

    fn is_used(&self) -> bool {
        self.drives().iter().any(|drive| drive.history().is_some_and(|history| !history.versions().is_empty()))
    }

    fn cut_power(&mut self) -> Vec<Tag> {
        self.cut_power()
    }

    fn power_on(&mut self, now: Time) {
        self.power_on(now);
    }

    fn check(&self) {
        self.check();
    }
}

/// Levels, each with a number of drives.
pub const LEVELS: [(RaidLevel, u32); 7] = [
    (RaidLevel::Raid0, 3),
    (RaidLevel::Raid1, 2),
    (RaidLevel::Raid1, 3),
    (RaidLevel::Raid10, 4),
    (RaidLevel::Raid5, 3),
    (RaidLevel::Raid5, 5),
    (RaidLevel::Raid6, 5),
];

/// The number of drives of a RAID that may fail at once, whichever they are.
#[must_use]
pub const fn redundancy(level: RaidLevel, drives: u32) -> u32 {
    match level {
        RaidLevel::Raid0 => 0,
        RaidLevel::Raid1 => drives - 1,
        RaidLevel::Raid5 | RaidLevel::Raid10 => 1,
        RaidLevel::Raid6 => 2,
    }
}

/// A RAID of the suite with its drives.
#[derive(Clone, Debug)]
pub struct RaidSetting {
    /// Description of the RAID.
    pub raid: RaidSpec,
    /// Description of a drive.
    pub drive: ResolvedDevice,
    /// Preconditioning steps of the drives.
    pub steps: Vec<Precondition>,
}

/// Creates the RAIDs of the suite, with new and with used drives.
#[must_use]
pub fn settings() -> Vec<RaidSetting> {
    let each = LEVELS.into_iter().enumerate().map(|(number, (level, count))| {
        let spares = if redundancy(level, count) > 0 { 1 + number as u32 % 2 } else { 0 };
        let steps = if number % 2 == 0 { Vec::new() } else { vec![Precondition::Fill] };
        let kind = if number % 2 == 0 { Vec::new() } else { vec![small(&[number as u32 % count])] };
        RaidSetting {
            raid: RaidSpec { kind, ..raid(level, count, spares) },
            drive: drive("", ["", "size = \"64KiB\""][number / 2 % 2]),
            steps,
        }
    });
    let journaled = [(RaidLevel::Raid5, 3, ""), (RaidLevel::Raid6, 5, "size = \"64KiB\"")];
    let journaled = journaled.map(|(level, count, buffer)| {
        let chunk = Bytes::new(4 << 10);
        let journal = Some(chunk * u64::from(8 * count));
        RaidSetting {
            raid: RaidSpec { chunk, journal, ..raid(level, count, 1) },
            drive: drive("", buffer),
            steps: Vec::new(),
        }
    });
    each.chain(journaled).collect()
}

/// Draws a random RAID.
#[must_use]
pub fn draw(rng: &mut Rng) -> RaidSetting {
    let level = RaidLevel::ALL[rng.below(RaidLevel::ALL.len() as u64) as usize];
    let count = match level {
        RaidLevel::Raid0 => 1 + rng.below(4) as u32,
        RaidLevel::Raid1 => 2 + rng.below(2) as u32,
        RaidLevel::Raid5 => 3 + rng.below(4) as u32,
        RaidLevel::Raid6 => 4 + rng.below(3) as u32,
        RaidLevel::Raid10 => 4 + 2 * rng.below(2) as u32,
    };
    let spares = if redundancy(level, count) > 0 { rng.below(3) as u32 } else { 0 };
    let chunk = Bytes::new(2048 << rng.below(6));
    let rebuild_rate = base::units::Rate::new(1_000_000 << rng.below(8));
    let more = ["", "planes = 1", "controllers = \"none\""][rng.below(3) as usize];
    let buffer = ["", "size = \"64KiB\""][rng.below(2) as usize];
    let has_journal = level.parities() > 0 && rng.chance(0.5) && chunk.get() <= 8 << 10;
    let journal = has_journal.then(|| chunk * u64::from(8 * count) * (1 + rng.below(2)));
    // The journal must fit the small drive.
    let journal = journal.map(|journal| journal.min(Bytes::new(384 << 10)));
    let kind = if rng.chance(0.3) { vec![small(&[rng.below(count.into()) as u32])] } else { Vec::new() };
    let steps = match rng.below(3) {
        0 => Vec::new(),
        1 => vec![Precondition::Fill],
        _ => vec![Precondition::Fill, Precondition::RandomOverwrite(0.3)],
    };
    RaidSetting {
        raid: RaidSpec { chunk, rebuild_rate, journal, kind, ..raid(level, count, spares) },
        drive: drive(more, buffer),
        steps,
    }
}

/// Runs a RAID through requests, drive failures within its redundancy, rebuilds and power cuts, and checks every read.
///
/// # Panics
/// If a read returns illegal content, or a request is lost.
pub fn check(setting: &RaidSetting, seed: u64) {
    let RaidSetting { raid: spec, drive, steps } = setting;
    let mut host = RaidHost::new(Raid::new(spec, drives(spec, drive, steps)), seed);
    let mut rng = Rng::stream(seed, "raid.check");
    let depth = 1 + rng.below(10) as usize;
    let mut missing = 0;
    for _ in 0..8 {
        host.run(40 + rng.below(80), depth);
        match rng.below(4) {
            // Without a journal, a parity in doubt and a missing drive together lose data: the write hole.
            0 if missing == 0 || spec.journal.is_some() => {
                host.cut_power();
                host.run(rng.below(40), depth);
                host.finish();
            }
            1 | 2 if missing < redundancy(spec.level, spec.drives) => {
                let drive = rng.below(u64::from(spec.drives + spec.spares)) as u32;
                host.drive.fail(drive);
                host.run(rng.below(60), depth);
                host.finish();
                // Every spare has been rebuilt.
                missing = host.drive.empty_places();
            }
            _ => host.read_all(),
        }
    }
    host.read_all();
    let counted = host.drive.counters().raid.expect("a RAID");
    assert_eq!(counted.lost_chunks, 0);
}
