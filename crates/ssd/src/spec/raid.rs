//! The table `[raid]` of a device file: several drives of the description as one.

use base::fault::Faults;
use base::units::{Bytes, Rate, SECTOR, Span};
use flash::nand::Geometry;
use ftl::{CollectionWindow, DiscardSpec, FtlKind, PaceSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{DriveKind, Spec};

/// The most drives, spares included: far more than the stripes of published RAIDs have, and few enough for a mask of 64
/// bits.
const MOST_DRIVES: u32 = 32;

/// Several drives as one. All have this description except drives with a `kind` of their own, and each has random
/// streams of its own. The model is the software RAID of a host: each drive has its own link, and the host's processor
/// takes no time.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct RaidSpec {
    /// The level: the distribution of data and parity over the drives.
    pub level: RaidLevel,
    /// The number of drives, without spares: at least 1 for raid0, 2 for raid1, 3 for raid5, 4 for raid6, and an even
    /// number from 4 on for raid10.
    pub drives: u32,
    /// Bytes on a drive before the next drive follows: a power of two of whole mapping units. 512KiB is the default of
    /// Linux.
    #[serde(default = "chunk")]
    pub chunk: Bytes,
    /// The number of drives in reserve. A spare takes the place of a drive that fails, and is rebuilt.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub spares: u32,
    /// The most bytes per second that a rebuild, or the repair of parity after a power cut, writes to one drive. Linux allows 200MB/s
    /// (`sync_speed_max`).
    #[serde(default = "rebuild_rate")]
    #[schemars(extend("examples" = ["200MB/s"]))]
    pub rebuild_rate: Rate,
    /// The size of a journal on a drive of its own. Data and parity are written to the journal before they go to their
    /// places, so that after a power cut no parity contradicts its data. For levels with parity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["64MiB"]))]
    pub journal: Option<Bytes>,
    /// Windows of time in which the drives collect garbage; without them each drive collects at any time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collection: Option<RaidCollection>,
    /// Drives that fail while the RAID runs, as a whole and at once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<DriveFailure>,
    /// Drives with another description. The RAID uses as much of each drive as the smallest one has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kind: Vec<DriveKind>,
}

/// The times at which the drives of a RAID collect garbage. A pool that can wait waits for the window of its drive
/// (`ftl.gc.pace` with the policy `window`): give pools room for that with a higher `ftl.gc.start` and `stop`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct RaidCollection {
    /// The length of a window. If drives take turns, each has one of as many windows as there are drives.
    #[schemars(extend("examples" = ["100ms"]))]
    pub window: Span,
    /// The drives that have a window together.
    #[serde(default)]
    pub turns: CollectionTurns,
    /// True if reads of the host avoid the drive that may collect, as far as other copies or parity allow.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reads_around: bool,
}

/// The drives that have a window together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CollectionTurns {
    /// One drive after the other (Rails, Skourtis et al., ATC 2014; IODA, Li et al., SOSP 2021). A spare has the turn of the drive with its
    /// number less `drives`.
    #[default]
    Each,
    /// All drives in one window (Harmonia, Kim et al., MSST 2011).
    All,
}

/// A drive that fails during the run, and the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct DriveFailure {
    /// The simulated time of the failure.
    #[schemars(extend("examples" = ["2s"]))]
    pub at: Span,
    /// The number of the drive, from 0.
    pub drive: u32,
}

/// The distribution of data and parity over the drives of a RAID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RaidLevel {
    /// Stripes: no drive may fail.
    Raid0,
    /// Mirrors: every drive has all data.
    Raid1,
    /// Stripes with a parity that moves from stripe to stripe: one drive may fail.
    Raid5,
    /// Stripes with two parities: two drives may fail.
    Raid6,
    /// Stripes over pairs of mirrors.
    Raid10,
}

impl RaidLevel {
    /// Every level, for checks and help texts.
    pub const ALL: [Self; 5] = [Self::Raid0, Self::Raid1, Self::Raid5, Self::Raid6, Self::Raid10];

    /// The level's name in a description.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Raid0 => "raid0",
            Self::Raid1 => "raid1",
            Self::Raid5 => "raid5",
            Self::Raid6 => "raid6",
            Self::Raid10 => "raid10",
        }
    }

    /// The number of parity chunks in each stripe.
    #[must_use]
    pub const fn parities(self) -> u32 {
        match self {
            Self::Raid5 => 1,
            Self::Raid6 => 2,
            Self::Raid0 | Self::Raid1 | Self::Raid10 => 0,
        }
    }

    /// The number of chunks with different data in each stripe over this many drives.
    #[must_use]
    pub const fn data_of(self, drives: u32) -> u32 {
        match self {
            Self::Raid0 => drives,
            Self::Raid1 => 1,
            Self::Raid10 => drives / 2,
            Self::Raid5 | Self::Raid6 => drives - self.parities(),
        }
    }

    const fn least_drives(self) -> u32 {
        match self {
            Self::Raid0 => 1,
            Self::Raid1 => 2,
            Self::Raid5 => 3,
            Self::Raid6 | Self::Raid10 => 4,
        }
    }
}

const fn chunk() -> Bytes {
    Bytes::new(512 << 10)
}

const fn rebuild_rate() -> Rate {
    Rate::new(200_000_000)
}

const fn is_zero(spares: &u32) -> bool {
    *spares == 0
}

impl RaidSpec {
    /// Creates a RAID without spares, with the defaults of Linux.
    #[must_use]
    pub const fn new(level: RaidLevel, drives: u32) -> Self {
        Self {
            level,
            drives,
            chunk: chunk(),
            spares: 0,
            rebuild_rate: rebuild_rate(),
            journal: None,
            collection: None,
            failures: Vec::new(),
            kind: Vec::new(),
        }
    }

    /// The number of all drives: of the stripes, the spares, and the drive of the journal.
    #[must_use]
    pub const fn all_drives(&self) -> u32 {
        self.drives.saturating_add(self.spares).saturating_add(self.journal.is_some() as u32)
    }

    /// The least size of a journal: room for some records, each of at least a whole stripe. Eight is assumed.
    const fn least_journal(&self) -> Bytes {
        Bytes::new(self.chunk.get().saturating_mul(8 * self.drives as u64))
    }

    /// The first drive of the mirror to which a drive belongs; the drive itself if it has no mirror.
    #[must_use]
    pub const fn first_of_mirror(&self, drive: u32) -> u32 {
        match self.level {
            RaidLevel::Raid1 => 0,
            RaidLevel::Raid10 => drive / 2 * 2,
            RaidLevel::Raid0 | RaidLevel::Raid5 | RaidLevel::Raid6 => drive,
        }
    }

    /// The window in which a drive collects; `None` if it may collect at any time, as the drive of the journal may.
    #[must_use]
    pub fn window_of(&self, drive: u32) -> Option<CollectionWindow> {
        let RaidCollection { window, turns, .. } = self.collection.filter(|_| drive < self.drives + self.spares)?;
        let turn = if turns == CollectionTurns::All { 0 } else { drive % self.drives };
        Some(CollectionWindow { length: window, of: self.drives, turn })
    }

    /// The number of sectors that the host can address, over drives of `of_drive` sectors: whole stripes of chunks.
    #[must_use]
    pub const fn capacity(&self, of_drive: u64) -> u64 {
        let chunk = self.chunk.get() / SECTOR.get();
        of_drive / chunk * chunk * self.level.data_of(self.drives) as u64
    }
}

impl Spec {
    pub(super) fn check_raid(&self, faults: &mut Faults) {
        let Some(raid) = &self.raid else { return };
        let (level, drives, least) = (raid.level, raid.drives, raid.level.least_drives());
        if drives < least || raid.all_drives() > MOST_DRIVES {
            let message = format!("{} of {drives} drives and {} spares", level.name(), raid.spares);
            let remedy = format!("use {least} to {MOST_DRIVES} drives, with spares and that of a journal");
            faults.add("raid.drives", message, remedy);
        } else if level == RaidLevel::Raid10 && !drives.is_multiple_of(2) {
            faults.add(
                "raid.drives",
                format!("raid10 of {drives} drives"),
                "use an even number: it has pairs of mirrors",
            );
        }
        if !raid.chunk.get().is_power_of_two() || raid.chunk < SECTOR {
            let message = format!("{} is no power of two of sectors", raid.chunk);
            faults.add("raid.chunk", message, "use e.g. 64KiB or 512KiB");
        }
        if raid.rebuild_rate.get() == 0 {
            faults.add("raid.rebuild-rate", "is zero", "use a rate above zero, e.g. 200MB/s");
        }
        self.check_turns(raid, faults);
        self.check_journal(raid, faults);
        if self.slc.is_some() {
            // The sum of programs over both arrays of each drive is not computed, and a smaller sum would show too low
            // a write amplification.
            faults.add("raid", "the drives have an SLC array in front of the other one", "use drives with one array");
        }
        if level == RaidLevel::Raid0 && raid.spares > 0 {
            faults.add("raid.spares", "raid0 cannot be rebuilt: it has no second copy", "leave it out");
        }
        if let Some(failure) = raid.failures.iter().find(|failure| failure.drive >= drives) {
            let message = format!("there is no drive {}", failure.drive);
            faults.add("raid.failures", message, format!("use 0 to {}", drives.saturating_sub(1)));
        }
    }

    fn check_journal(&self, raid: &RaidSpec, faults: &mut Faults) {
        const PATH: &str = "raid.journal";
        let Some(size) = raid.journal else { return };
        if raid.level.parities() == 0 {
            faults.add(PATH, format!("{} has no parity", raid.level.name()), "leave it out, or use raid5 or raid6");
        } else if size < raid.least_journal() {
            let message = format!("{size} has no room for eight stripes of {} chunks", raid.drives);
            faults.add(PATH, message, format!("use at least {}, or a smaller raid.chunk", raid.least_journal()));
        }
        if self.ftl.discard != DiscardSpec::Durable {
            // If one drive forgets a discard, the data of the other drives contradicts their parity.
            let message = "drives may forget discards without power, which no journal can order";
            faults.add(PATH, message, "set ftl.discard = \"durable\", or leave it out");
        }
    }

    fn check_turns(&self, raid: &RaidSpec, faults: &mut Faults) {
        let Some(RaidCollection { window, turns, reads_around }) = raid.collection else { return };
        if window.is_zero() {
            faults.add("raid.collection.window", "is zero", "use a length above zero, e.g. \"100ms\"");
        }
        const PATH: &str = "raid.collection";
        if self.ftl.kind != FtlKind::Page {
            let message = "only the page-mapped FTL collects in windows";
            faults.add(PATH, message, "leave it out, or set ftl.kind = \"page\"");
        } else if self.ftl.gc.pace != PaceSpec::Full {
            let message = "conflicts with ftl.gc.pace: it sets the pace of each drive";
            faults.add(PATH, message, "leave one of them out");
        }
        if raid.drives < 2 {
            faults.add(PATH, "there is one drive", "leave it out");
        }
        if reads_around && (raid.level == RaidLevel::Raid0 || turns == CollectionTurns::All) {
            let message =
                "no other drive can answer: raid0 has one copy, and with turns = \"all\" all drives collect at once";
            faults.add("raid.collection.reads-around", message, "leave it out");
        }
    }

    pub(super) fn check_raid_against(&self, geometry: &Geometry, units: u32, zoned: bool, faults: &mut Faults) {
        let Some(raid) = &self.raid else { return };
        let unit = SECTOR * u64::from(geometry.sectors);
        if zoned {
            faults.add(
                "raid",
                "the drives have zones, in which nothing is written in place",
                "use drives without zones",
            );
        }
        if !raid.chunk.get().is_multiple_of(unit.get()) {
            let message = format!("{} is not a multiple of the mapping unit of {unit}", raid.chunk);
            faults.add("raid.chunk", message, "use a multiple of the mapping unit");
        } else if raid.journal.is_some_and(|journal| unit * u64::from(units) < journal + unit) {
            let message = format!("is more than a drive holds, {} with the unit of its tail", unit * u64::from(units));
            faults.add("raid.journal", message, "use a smaller one");
        } else if (unit * u64::from(units)) < raid.chunk {
            let message = format!("{} is more than a drive holds, {}", raid.chunk, unit * u64::from(units));
            faults.add("raid.chunk", message, "use smaller chunks");
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Spec;

    fn faults(raid: &str) -> String {
        let text = format!(
            r#"name = "one"
[flash]
part = "K9K8G08U0M"
channels = 1
chips = 1
blocks = 32
[ftl]
over-provisioning = "40%"
[raid]
{raid}"#
        );
        let spec: Spec = toml::from_str(&text).expect("TOML");
        spec.resolve().err().unwrap_or_default().iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn each_level_has_its_least_number_of_drives() {
        for (level, least) in [("raid0", 1), ("raid1", 2), ("raid5", 3), ("raid6", 4), ("raid10", 4)] {
            assert_eq!(faults(&format!("level = \"{level}\"\ndrives = {least}\nchunk = \"64KiB\"")), "", "{level}");
            let text = faults(&format!("level = \"{level}\"\ndrives = {}\nchunk = \"64KiB\"", least - 1));
            assert!(text.contains("raid.drives") && text.contains(&format!("use {least} to 32")), "{text}");
        }
        assert!(faults("level = \"raid10\"\ndrives = 5\nchunk = \"64KiB\"").contains("an even number"));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let five = |more: &str| faults(&format!("level = \"raid5\"\ndrives = 4\n{more}"));
        assert!(five("chunk = \"96KiB\"").contains("raid.chunk: 96KiB is no power of two"));
        assert!(five("chunk = \"512B\"").contains("not a multiple of the mapping unit"));
        assert!(five("chunk = \"1TiB\"").contains("more than a drive holds"));
        let slc = "chunk = \"64KiB\"\n[slc]\npart = \"K9K8G08U0M\"\nblocks = 8\n";
        assert!(five(slc).contains("raid: the drives have an SLC array"), "{}", five(slc));
        assert!(five("failures = [{ at = \"1s\", drive = 4 }]").contains("there is no drive 4; use 0 to 3"));
        let collection = |inside: &str| five(&format!("chunk = \"64KiB\"\ncollection = {{ {inside} }}"));
        assert!(collection("window = \"0s\"").contains("raid.collection.window: is zero"));
        assert!(
            collection("window = \"1s\", turns = \"all\", reads-around = true")
                .contains("raid.collection.reads-around")
        );
        assert_eq!(collection("window = \"50ms\", reads-around = true"), "");
        let journal = |size: &str| five(&format!("chunk = \"64KiB\"\njournal = \"{size}\""));
        assert!(
            journal("1MiB").contains("raid.journal: 1MiB has no room for eight stripes of 4 chunks; use at least 2MiB")
        );
        assert!(
            journal("2MiB").contains("raid.journal: drives may forget discards without power"),
            "{}",
            journal("2MiB")
        );
        let mirror = faults("level = \"raid1\"\ndrives = 2\nchunk = \"64KiB\"\njournal = \"2MiB\"");
        assert!(mirror.contains("raid.journal: raid1 has no parity"), "{mirror}");
        assert!(faults("level = \"raid0\"\ndrives = 2\nspares = 1\nchunk = \"64KiB\"").contains("raid.spares"));
    }
}
