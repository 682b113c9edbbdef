//! The block-mapped FTL of Hydra in a device file, and what it comes to.

use base::units::{SECTOR, Span};
use flash::nand::{Geometry, Part};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::resolve::Faults;
use super::{FlushPolicy, FtlKind, FtlSpec, Spec};
use crate::MapSpec;
use crate::ftl::hydra::{Areas, Layout};

/// The block-mapped FTL of Seong et al., "Hydra" (IEEE Trans. Computers 59(7), 2010). A gang of chips on `gang` buses
/// is a die here, and a row of their pages is the mapping unit.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct HydraSpec {
    /// Dies (gangs) of one channel that are interleaved: the degree of chip interleaving (Sec. 3.1). With the gang
    /// they are a superchip.
    pub chips: u32,
    /// Blocks of each die that stand in for failing ones (Sec. 3.3.1); a fiftieth of the die, and at least two, if
    /// missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spare_blocks: Option<u32>,
    /// Whether the block map and its log are written twice, to different dies (Sec. 4.2, Fig. 19).
    pub replicate: bool,
    /// What the FTL's own work takes of the processor; nothing if missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processor: Option<ProcessorSpec>,
}

impl Default for HydraSpec {
    fn default() -> Self {
        Self { chips: 2, spare_blocks: None, replicate: false, processor: None }
    }
}

/// The FTL processor and its work. The paper gives clocks (Sec. 4.1: 200 MHz; Fig. 17: 10 to 160 MHz) and no cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct ProcessorSpec {
    /// Its clock in MHz.
    pub mhz: u32,
    /// Whether hardware turns a host's read into flash commands without the processor: the foreground request
    /// synthesizer (Sec. 3, Fig. 18).
    pub synthesizer: bool,
    /// Cycles for a read request without the synthesizer. Assumed.
    pub read_cycles: u32,
    /// Cycles to prepare a merge: choice of the superblock and the list of descriptors. Assumed.
    pub merge_cycles: u32,
    /// Cycles that a command of a background unit takes if the units are software (Fig. 17); hardware units if
    /// missing. `flash.software-units` says the same as a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit_cycles: Option<u32>,
}

impl Default for ProcessorSpec {
    fn default() -> Self {
        Self { mhz: 200, synthesizer: true, read_cycles: 1000, merge_cycles: 20_000, unit_cycles: None }
    }
}

impl ProcessorSpec {
    fn time(&self, cycles: u32) -> Span {
        Span::from_ps(u64::from(cycles) * 1_000_000 / u64::from(self.mhz))
    }
}

/// Hydra's FTL on a device that can be built.
#[derive(Clone, Debug)]
pub struct ResolvedHydra {
    /// Its shape.
    pub(crate) layout: Layout,
    /// The reserved areas.
    pub(crate) areas: Areas,
    /// Merges that the units work on at once.
    pub(crate) at_once: u32,
    /// Processor time of a read request, and of a merge.
    pub(crate) think: [Span; 2],
}

impl ResolvedHydra {
    /// Physical superblocks of all superchips.
    #[must_use]
    pub const fn superblocks(&self) -> u32 {
        self.layout.physical()
    }

    /// Blocks of each die, from the first on, that hold data. The others stand in for failing ones, or hold the map.
    #[must_use]
    pub const fn data_blocks(&self) -> u32 {
        self.layout.superblocks
    }

    /// Superchips.
    #[must_use]
    pub const fn superchips(&self) -> u32 {
        self.layout.superchips
    }

    /// Dies in a superchip.
    #[must_use]
    pub const fn chips(&self) -> u32 {
        self.layout.chips
    }

    /// Rows in a superblock, each a mapping unit.
    #[must_use]
    pub const fn rows(&self) -> u32 {
        self.layout.rows()
    }
}

impl Spec {
    /// Faults of the keys that belong to one family and stand in the file of another.
    pub(super) fn check_family(&self, part: &Part, faults: &mut Faults) {
        let ftl = &self.ftl;
        if ftl.kind != FtlKind::Hydra {
            if ftl.hydra.is_some() {
                faults.add("ftl.hydra", "stands in a page-mapped FTL", "leave it out, or say ftl.kind = \"hydra\"");
            }
            return;
        }
        let plain = FtlSpec::default();
        let strange = [
            ("ftl.map", ftl.map != MapSpec::Ram, "the block map is in RAM"),
            ("ftl.map-unit", ftl.map_unit.is_some(), "the mapping unit is a row of the gang"),
            ("ftl.placement", ftl.placement != plain.placement, "a logical superblock has its superchip"),
            ("ftl.gc", ftl.gc != plain.gc, "merges leave no garbage"),
        ];
        for (path, is, why) in strange {
            if is {
                faults.add(path, format!("has no meaning under Hydra's FTL: {why}"), "leave it out");
            }
        }
        let shape = &part.geometry;
        if shape.planes_per_die != 1 {
            let message = format!("{} planes in a die, where Hydra's copy-back knows one", shape.planes_per_die);
            faults.add("flash.planes", message, "use planes = 1");
        }
        if part.timing.one_shot != 1 {
            faults.add("flash.part", "programs several pages at once", "use a part with one_shot = 1");
        }
        if !part.features.copy_back {
            faults.add("flash.part", "has no copy-back, which merges are made of", "use another part, e.g. K9K8G08U0M");
        }
        if self.flash.width / 8 != self.flash.gang {
            let message = format!("{} bits for a gang of {}: each chip has a bus", self.flash.width, self.flash.gang);
            faults.add("flash.width", message, format!("use {}", self.flash.gang.saturating_mul(8)));
        }
        let hydra = ftl.hydra.clone().unwrap_or_default();
        faults.positive("ftl.hydra.chips", hydra.chips);
        let on_channel = u64::from(self.flash.chips) * u64::from(shape.dies_per_chip);
        if hydra.chips > 0 && !on_channel.is_multiple_of(u64::from(hydra.chips)) {
            let message = format!("{} dies of a channel cannot be interleaved {} at a time", on_channel, hydra.chips);
            faults.add("ftl.hydra.chips", message, "use a divisor");
        }
        if hydra.processor.is_some_and(|processor| processor.mhz == 0) {
            faults.add("ftl.hydra.processor.mhz", "is zero: nothing would ever be done", "use e.g. 200");
        }
        if let Some(cycles) = hydra.processor.and_then(|processor| processor.unit_cycles) {
            let path = "ftl.hydra.processor.unit-cycles";
            if cycles == 0 {
                faults.add(path, "is zero", "leave it out: the units are then hardware, which takes no time");
            }
            if self.flash.software_units.is_some() {
                faults.add(path, "stands beside flash.software-units, which says the same", "leave one of them out");
            }
        }
        if self.confines() {
            faults.add(
                "host.queue",
                "confines writes to dies, which a block map cannot",
                "leave channels and dies out",
            );
        }
    }

    /// Time of the processor for each command of a background unit, if the units are software.
    pub(super) fn software(&self) -> Option<Span> {
        let processor = self.ftl.hydra.as_ref().and_then(|hydra| hydra.processor);
        let cycles = processor.and_then(|processor| Some(processor.time(processor.unit_cycles?)));
        self.flash.software_units.or(cycles)
    }

    /// True if a queue's writes are confined to some dies.
    pub(super) fn confines(&self) -> bool {
        self.host.queue.iter().any(|queue| queue.channels.is_some() || queue.dies.is_some())
    }

    /// The shape of Hydra's FTL, with the number of units (rows) the host sees.
    pub(super) fn hydra(&self, geometry: &Geometry, faults: &mut Faults) -> Option<(ResolvedHydra, u32)> {
        let hydra = self.ftl.hydra.clone().unwrap_or_default();
        let spares = hydra.spare_blocks.unwrap_or_else(|| (geometry.blocks / 50).max(2));
        if spares >= geometry.blocks {
            let message = format!("{spares} of the {} blocks of a die are spare", geometry.blocks);
            faults.add("ftl.hydra.spare-blocks", message, format!("use at most {}", geometry.blocks / 2));
            return None;
        }
        let mut layout = Layout {
            buses: self.flash.gang,
            chips: hydra.chips,
            superchips: geometry.die_count() / hydra.chips,
            sectors: geometry.sectors,
            pages: geometry.pages,
            superblocks: geometry.blocks,
            spares,
            logical: 0,
        };
        let flushes = self.buffer.as_ref().filter(|buffer| buffer.flush == FlushPolicy::Log);
        let row = u64::from(geometry.sectors) * SECTOR.get();
        let rows = flushes.map(|buffer| u32::try_from(buffer.size.get() / row).unwrap_or(u32::MAX));
        let areas = Areas::new(&layout, hydra.replicate, rows);
        let reserved = spares.saturating_add(areas.most_blocks());
        // One superblock of each superchip is free to merge into.
        if geometry.blocks < reserved.saturating_add(2) {
            let message = format!(
                "{} blocks in a die: {spares} are spare, {} hold the map and its log, and two hold data",
                geometry.blocks,
                areas.most_blocks()
            );
            faults.add("flash.blocks", message, format!("use at least {}", reserved.saturating_add(2)));
            return None;
        }
        layout.superblocks = geometry.blocks - reserved;
        let units = self.hydra_units(geometry, &layout, faults)?;
        layout.logical = units.div_ceil(layout.rows());
        let processor = hydra.processor.filter(|processor| processor.mhz > 0);
        let think = processor.map_or([Span::ZERO; 2], |processor| {
            let read = if processor.synthesizer { Span::ZERO } else { processor.time(processor.read_cycles) };
            [read, processor.time(processor.merge_cycles)]
        });
        let at_once = match self.flash.units {
            flash::backend::Units::Shared(count) | flash::backend::Units::Background(count) => count,
            _ => layout.superchips,
        };
        Some((ResolvedHydra { layout, areas: areas.of(&layout), at_once, think }, units))
    }

    /// Rows the host sees: whole superblocks if a share is asked for.
    fn hydra_units(&self, geometry: &Geometry, layout: &Layout, faults: &mut Faults) -> Option<u32> {
        let row = u64::from(geometry.sectors) * SECTOR.get();
        let rows = u64::from(layout.rows());
        let (path, units) = match self.ftl.capacity {
            Some(capacity) => ("ftl.capacity", capacity.get() / row),
            None => {
                let share = 1.0 - self.ftl.over_provisioning.get();
                let units = (f64::from(geometry.slot_count()) * share.max(0.0)).floor() as u64;
                ("ftl.over-provisioning", units / rows * rows)
            }
        };
        if self.ftl.capacity.is_some_and(|capacity| !capacity.get().is_multiple_of(row)) {
            faults.add(path, format!("is not a whole number of rows of {row}B"), format!("use a multiple of {row}B"));
            return None;
        }
        if units == 0 {
            faults.add(path, "nothing is left for the host", "leave it at least one superblock");
            return None;
        }
        let most = u64::from(layout.superchips) * u64::from(layout.superblocks - 1) * rows;
        if units > most {
            let seen = base::units::Bytes::new(units * row);
            let message = format!(
                "the host would see {seen}, but each superchip has {} superblocks and keeps one to merge into",
                layout.superblocks
            );
            let raw = f64::from(geometry.slot_count());
            let share = (1.0 - most as f64 / raw) * 100.0 + 0.005;
            let remedy = format!(
                "let it see at most {}, i.e. over-provision at least {share:.2}%",
                base::units::Bytes::new(most * row)
            );
            faults.add(path, message, remedy);
            return None;
        }
        u32::try_from(units).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::fault::Fault;

    fn resolve(flash: &str, ftl: &str, rest: &str) -> Result<crate::Resolved, Vec<Fault>> {
        let text = format!(
            "name = \"h\"\n[flash]\npart = \"K9K8G08U0M\"\nchannels = 1\nblocks = 64\n{flash}\n\
             [ftl]\nkind = \"hydra\"\n{ftl}\n{rest}"
        );
        let spec: Spec = toml::from_str(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
        spec.resolve()
    }

    const FLASH: &str = "chips = 8\ngang = 4\nwidth = 32";
    const FTL: &str = "over-provisioning = \"40%\"";

    #[test]
    fn the_prototype_is_what_section_4_1_says() {
        let text = crate::builtin().iter().find(|(name, _)| *name == "hydra-prototype").expect("it comes along").1;
        let spec: Spec = toml::from_str(text).expect("a device");
        let resolved = spec.resolve().expect("sound");
        let hydra = resolved.hydra.expect("its FTL");
        assert_eq!((hydra.superchips(), hydra.chips(), hydra.layout.buses), (4, 2, 4));
        // 1,024 KB are 2,048 sectors in 128 rows.
        assert_eq!((hydra.rows() * resolved.geometry.sectors, resolved.geometry.sectors), (2048, 16));
        assert_eq!(u64::from(resolved.geometry.slot_count()) * 8192, 32 << 30);
        let superblocks = resolved.buffer.and_then(|buffer| buffer.superblocks).expect("a buffer of superblocks");
        // hydra.md D9: 30,720 sectors, 10.5 MB used.
        assert_eq!((superblocks.sectors, superblocks.high * 512), (30_720, 10_752 << 10));
        assert_eq!((superblocks.units, superblocks.most), (128, 8));
        assert!(hydra.data_blocks() * 4 * 128 > resolved.units);
    }

    #[test]
    fn the_processor_takes_its_cycles() {
        let table = "[ftl.hydra.processor]\nmhz = 40\nmerge-cycles = 4000";
        let think = |more: &str| {
            let resolved = resolve(FLASH, FTL, &format!("{table}\n{more}")).expect("sound");
            resolved.hydra.expect("its FTL").think
        };
        assert_eq!(think(""), [Span::ZERO, Span::from_us(100)]);
        assert_eq!(think("synthesizer = false\nread-cycles = 100"), [Span::from_ns(2500), Span::from_us(100)]);
    }

    #[test]
    fn faults_are_found() {
        let buffer = "[buffer]\nsize = \"1MiB\"\n";
        for (flash, ftl, rest, wanted) in [
            (
                "chips = 8\ngang = 4",
                FTL,
                String::new(),
                "flash.width: 8 bits for a gang of 4: each chip has a bus; use 32",
            ),
            ("chips = 3\ngang = 4\nwidth = 32", FTL, String::new(), "ftl.hydra.chips: 3 dies of a channel cannot"),
            (FLASH, FTL, "[ftl.hydra]\nchips = 0".into(), "ftl.hydra.chips: is zero"),
            (FLASH, FTL, "[ftl.hydra]\nspare-blocks = 60".into(), "flash.blocks: 64 blocks in a die: 60 are spare"),
            (FLASH, FTL, "[ftl.hydra.processor]\nmhz = 0".into(), "ftl.hydra.processor.mhz: is zero"),
            (FLASH, FTL, "[ftl.hydra.processor]\nunit-cycles = 0".into(), "ftl.hydra.processor.unit-cycles: is zero"),
            (
                "chips = 8\ngang = 4\nwidth = 32\nsoftware-units = \"5us\"",
                FTL,
                "[ftl.hydra.processor]\nunit-cycles = 9".into(),
                "ftl.hydra.processor.unit-cycles: stands beside",
            ),
            (FLASH, FTL, format!("{buffer}flush = \"log\""), "buffer.flush: is \"log\", which only Hydra's FTL has"),
            (FLASH, "over-provisioning = \"1%\"", String::new(), "ftl.over-provisioning: the host would see"),
            (FLASH, "capacity = \"1000KiB\"", "[ftl.map]\nkind = \"table\"".into(), "ftl.map: has no meaning"),
            (FLASH, "capacity = \"1004KiB\"", String::new(), "ftl.capacity: is not a whole number of rows of 8192B"),
            (FLASH, "map-unit = \"4KiB\"", String::new(), "ftl.map-unit: has no meaning"),
            (FLASH, "over-provisioning = \"100%\"", String::new(), "ftl.over-provisioning: nothing is left"),
            (FLASH, FTL, "[ftl.gc]\nstart = 1".into(), "ftl.gc: has no meaning"),
            (FLASH, FTL, "[[host.queue]]\ndies = [0]".into(), "host.queue: confines writes to dies"),
            (FLASH, FTL, format!("{buffer}superblock = \"1MiB\""), "buffer.superblock: has no meaning"),
            (FLASH, FTL, format!("{buffer}max-superblocks = 3"), "buffer.max-superblocks: has no meaning"),
            (
                FLASH,
                FTL,
                format!("{buffer}policy = \"superblock\"\nsuperblock = \"1MiB\""),
                "buffer.superblock: stands beside the superblock of the FTL",
            ),
            (
                FLASH,
                FTL,
                format!("{buffer}policy = \"superblock\"\nmax-superblocks = 0"),
                "buffer.max-superblocks: is zero",
            ),
        ] {
            let faults = resolve(flash, ftl, &rest).expect_err(wanted).into_iter();
            let faults: Vec<_> = faults.map(|f| format!("{}: {}; {}", f.path, f.message, f.remedy)).collect();
            assert!(faults.iter().any(|fault| fault.starts_with(wanted)), "{wanted}: {faults:?}");
        }
    }

    #[test]
    fn its_keys_have_no_meaning_under_a_page_map() {
        let text = "name = \"h\"\n[flash]\npart = \"dirik-2009\"\nchannels = 1\nchips = 1\n[ftl.hydra]\n";
        let spec: Spec = toml::from_str(text).expect("a device");
        let faults = spec.resolve().expect_err("a fault");
        assert_eq!((faults.len(), faults[0].path.as_str()), (1, "ftl.hydra"));
    }
}
