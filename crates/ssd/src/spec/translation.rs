//! The table `[translation]` of a device file: a host that writes a drive with zones as a log, for users that write anywhere.

use base::fault::Faults;
use base::units::{Bytes, Ratio, SECTOR};
use flash::nand::Geometry;
use ftl::ZoneShape;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Spec;

/// Bytes of an entry in the summary of a zone: a logical address and a version, each of four bytes.
const ENTRY: u64 = 8;

/// A translation layer in the host, above a drive with zones: users read, write and discard anywhere, and the layer keeps a map, writes
/// zones as a log and collects garbage. Each mapping unit is stored with its address and version as metadata of the logical block, and
/// the last units of a full zone are a summary of these. The host's processor takes no time.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct TranslationSpec {
    /// The share of the zones' data that users cannot address.
    pub over_provisioning: Ratio,
    /// The number of streams of user data, each with open zones of its own. A write with the placement identifier n
    /// goes to stream n, and to the last stream if n is too large.
    pub streams: u32,
    /// The number of open zones of each stream, written in turn; copies have the same number again.
    pub zones_per_stream: u32,
    /// The command that writes to zones.
    pub command: ZoneCommand,
    /// Garbage collection.
    pub gc: ZoneGcSpec,
}

/// Garbage collection over zones.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct ZoneGcSpec {
    /// The policy that chooses the full zone to collect.
    pub victim: ZoneVictim,
    /// Collection starts at this number of free zones, not counting `zones-per-stream` that only copies may use.
    pub start: u32,
    /// Collection stops at this number of free zones; more than `start`.
    pub stop: u32,
    /// The most copies under way at once.
    pub parallel: u32,
    /// The most bytes of a copy.
    pub piece: Bytes,
}

/// The command that writes to zones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ZoneCommand {
    /// Zone Append: any number at once in each zone.
    #[default]
    Append,
    /// Write at the write pointer: one at a time in each zone, as Linux allows it.
    Write,
}

/// The policy that chooses the full zone to collect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ZoneVictim {
    /// The zone with the fewest valid units.
    #[default]
    Greedy,
    /// The zone with the largest (1 - u) * age / (1 + u), with u the share of valid units and the age in zones opened
    /// since (Rosenblum and Ousterhout, SOSP 1991).
    CostBenefit,
    /// The zone that was opened first.
    Fifo,
}

/// The numbers of a translation, in mapping units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TranslationShape {
    /// The zones of the drive below.
    pub zones: ZoneShape,
    /// The number of units of data in a zone; the others hold its summary.
    pub data: u32,
    /// The number of units that users can address.
    pub units: u32,
}

impl TranslationShape {
    /// The number of units of a zone's summary.
    #[must_use]
    pub const fn summary(&self) -> u32 {
        self.zones.capacity - self.data
    }
}

impl Default for TranslationSpec {
    fn default() -> Self {
        Self {
            over_provisioning: Ratio::new(0.2),
            streams: 1,
            zones_per_stream: 1,
            command: ZoneCommand::Append,
            gc: ZoneGcSpec::default(),
        }
    }
}

impl Default for ZoneGcSpec {
    fn default() -> Self {
        Self { victim: ZoneVictim::Greedy, start: 1, stop: 2, parallel: 8, piece: Bytes::new(128 << 10) }
    }
}

impl TranslationSpec {
    /// The number of zones that are open at once, zones of copies included.
    #[must_use]
    pub const fn open_zones(&self) -> u32 {
        (self.streams + 1) * self.zones_per_stream
    }

    /// The number of zones beside those that the data fills: open zones, zones that collection keeps free, and one zone
    /// to collect.
    const fn spare_zones(&self) -> u32 {
        self.open_zones() + self.zones_per_stream + self.gc.stop + 1
    }
}

impl Spec {
    pub(super) fn check_translation(&self, faults: &mut Faults) {
        let Some(translation) = &self.translation else { return };
        if !(0.0..1.0).contains(&translation.over_provisioning.get()) {
            let message = format!("is {}", translation.over_provisioning);
            faults.add("translation.over-provisioning", message, "use a share of 0% or more, below 100%");
        }
        let ZoneGcSpec { start, stop, parallel, piece, .. } = translation.gc;
        for (path, value) in [
            ("translation.streams", translation.streams),
            ("translation.zones-per-stream", translation.zones_per_stream),
            ("translation.gc.start", start),
            ("translation.gc.parallel", parallel),
        ] {
            faults.positive(path, value);
            if value > 1024 {
                faults.within(path, value, 1..=1024);
            }
        }
        if stop <= start {
            let message = format!("is {stop}, and collection starts at {start}");
            faults.add("translation.gc.stop", message, "use more than translation.gc.start");
        } else if stop > 1024 {
            faults.within("translation.gc.stop", stop, 1..=1024);
        }
        if piece < SECTOR {
            faults.add("translation.gc.piece", format!("is {piece}"), "use a mapping unit or more, e.g. \"128KiB\"");
        }
        if self.raid.is_some() {
            let message = "the drives of a RAID have no layer between them and the RAID";
            faults.add("translation", message, "leave [translation] or [raid] out");
        }
    }

    /// The shape of the translation over these zones. Adds a fault for each reason for which the zones do not suffice.
    pub(super) fn translation_over(
        &self,
        zones: Option<ZoneShape>,
        geometry: &Geometry,
        faults: &mut Faults,
    ) -> Option<TranslationShape> {
        let translation = self.translation.as_ref()?;
        let Some(zones) = zones else {
            let message = "the drive has no zones to translate to";
            faults.add("translation", message, "set ftl.kind = \"zns\", or leave [translation] out");
            return None;
        };
        let unit = SECTOR.get() * u64::from(geometry.sectors);
        if !translation.gc.piece.get().is_multiple_of(unit) {
            let message = format!("{} is not a whole number of mapping units of {unit} B", translation.gc.piece);
            faults.add("translation.gc.piece", message, format!("use a multiple of {unit} B"));
        }
        if let Some(zrwa) = self.ftl.zns.zrwa.as_ref().filter(|_| zones.zrwa.is_some()) {
            // The key would have no effect.
            let message = format!("random write areas of {}: the translation opens zones without them", zrwa.size);
            faults.add("ftl.zns.zrwa", message, "leave it out");
        }
        let open = translation.open_zones();
        if open > zones.max_open {
            let message = format!("{open} open zones, with those of copies, and the drive has {}", zones.max_open);
            faults.add("translation.streams", message, "use fewer streams or zones-per-stream");
        }
        let capacity = u64::from(zones.capacity);
        let summary = (capacity * ENTRY).div_ceil(unit + ENTRY);
        let data = capacity.saturating_sub(summary);
        if data == 0 {
            let message = format!("a zone has room for {capacity} mapping units, and its summary takes {summary}");
            faults.add("ftl.zns.capacity", message, "use larger zones");
            return None;
        }
        let spare = translation.spare_zones();
        let usable = u64::from(zones.zones.saturating_sub(spare)) * data;
        let units = (u64::from(zones.zones) * data) as f64 * (1.0 - translation.over_provisioning.get());
        if units < 1.0 || units > usable as f64 {
            let message = format!(
                "{} of {} zones: {spare} zones must remain for open zones and collection",
                translation.over_provisioning, zones.zones
            );
            let least = f64::from(spare) / f64::from(zones.zones) * 100.0;
            let remedy = if least < 100.0 {
                format!("use {:.1}% or more, below 100%", (least * 10.0).ceil() / 10.0)
            } else {
                "use fewer streams, or a drive with more zones".to_owned()
            };
            faults.add("translation.over-provisioning", message, remedy);
            return None;
        }
        Some(TranslationShape { zones, data: data as u32, units: units as u32 })
    }
}

#[cfg(test)]
mod tests {
    use base::fault::Fault;

    use crate::{ResolvedDevice, Spec};

    fn resolved(ftl: &str, translation: &str) -> Result<ResolvedDevice, Vec<Fault>> {
        let text = format!(
            "name = 'one'\n[flash]\npart = 'K9K8G08U0M'\nchannels = 1\nchips = 1\nblocks = 64\npages = 16\n[ftl]\n{ftl}\n{translation}"
        );
        let spec: Spec = toml::from_str(&text).unwrap_or_else(|error| panic!("{error}"));
        spec.resolve()
    }

    fn text(faults: &[Fault]) -> String {
        faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }

    const ZONES: &str = "kind = 'zns'\nover-provisioning = '20%'\nzns = { max-active = 4 }";

    #[test]
    fn users_address_the_data_of_the_zones_without_the_spare_share() {
        let resolved = resolved(ZONES, "[translation]\nover-provisioning = '50%'").expect("valid");
        let shape = resolved.translation.expect("a translation");
        // 8 bytes an entry: a unit of 2 KiB holds 256 of them, and 16 or 32 units of a zone have one unit of summary.
        assert_eq!(shape.data, shape.zones.capacity - 1);
        assert_eq!(shape.units, shape.zones.zones * shape.data / 2);
        assert_eq!(resolved.capacity().get(), u64::from(shape.units) * u64::from(resolved.geometry.sectors));
        assert!(resolved.zones.is_none() && resolved.of_drive(0).zones.is_some());
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let fault = |more: &str| text(&resolved(ZONES, &format!("[translation]\n{more}")).expect_err(more));
        assert!(fault("over-provisioning = '2%'").contains("zones must remain for open zones and collection"));
        assert!(fault("streams = 4").contains("translation.streams: 5 open zones, with those of copies"));
        assert!(fault("gc = { start = 2 }").contains("translation.gc.stop: is 2, and collection starts at 2"));
        assert!(fault("gc = { piece = '3000B' }").contains("translation.gc.piece"));
        assert!(fault("streams = 0").contains("translation.streams"));
        let without = text(&resolved("over-provisioning = '20%'", "[translation]").expect_err("no zones"));
        assert!(without.contains("translation: the drive has no zones"), "{without}");
        let area = format!("{}, zrwa = {{ size = '4KiB' }} }}", &ZONES[..ZONES.len() - 2]);
        let refused = text(&resolved(&area, "[translation]").expect_err("areas"));
        assert!(refused.contains("ftl.zns.zrwa"), "{refused}");
    }
}
