//! A second kind of flash in the description of a device: `[slc]`, and the FTL that has a use for it.

use base::units::{Bytes, Rate, SECTOR};
use flash::backend::{Arbitration, Config, Timing, Transfer, Units};
use flash::nand::{Geometry, Part, PartError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::resolve::{Faults, named_part};
use super::{FtlKind, Spec};
use crate::ftl::map_unit::MapSpec;

/// A small flash of another kind in front of the large one (Chang, Sec. 3.1). Its dies work one after another, and it
/// fails as often as the large one does.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SlcSpec {
    /// The NAND part, by the name of a preset (see `flashloom devices`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["dirik-2009", "K9WAG08U1A", "K9XXG08"]))]
    pub part: Option<String>,
    /// The NAND part, written out; instead of `part`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom_part: Option<Part>,
    /// Its size, from which the blocks follow; instead of `blocks`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Bytes>,
    /// Its blocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<u32>,
    /// Pages in a block; the part's if missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages: Option<u32>,
    /// Data rate of its bus; the part's if missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane_rate: Option<Rate>,
}

/// A second array that can be built.
#[derive(Clone, Debug)]
pub struct ResolvedSecond {
    /// The NAND part with the description's changes.
    pub part: Part,
    /// Its shape: a slot is a sector.
    pub geometry: Geometry,
    /// Its times.
    pub backend: Config,
}

impl ResolvedSecond {
    /// Its data bytes, all blocks counted.
    #[must_use]
    pub fn capacity(&self) -> Bytes {
        SECTOR * u64::from(self.geometry.slot_count())
    }
}

impl Spec {
    /// What the FTL of a hybrid disk does not go together with.
    pub(super) fn check_chang(&self, geometry: &Geometry, one_shot: u32, sets: usize, faults: &mut Faults) {
        let is_chang = self.ftl.kind == FtlKind::Chang;
        for (path, stands) in [("ftl.chang", self.ftl.chang.is_some()), ("slc", self.slc.is_some())] {
            if stands && !is_chang {
                faults.add(path, "this FTL does nothing with it", "leave it out, or say ftl.kind = \"chang\"");
            }
        }
        if !is_chang {
            return;
        }
        let chang = self.ftl.chang.clone().unwrap_or_default();
        faults.0.extend(chang.faults(geometry, one_shot));
        if chang.density.is_some() && self.slc.is_some() {
            let message = "stands beside slc: there is hot data in one place or in the other";
            faults.add("ftl.chang.density", message, "keep one of the two");
        }
        if self.ftl.map != MapSpec::default() {
            faults.add("ftl.map", "this FTL has its tables in RAM", "leave it out");
        }
        if self.flash.units != Units::None && self.flash.units != Units::default() {
            faults.add("flash.units", "this FTL hands in one list after another", "leave it out");
        }
        if self.flash.software_units.is_some() || self.flash.order != Arbitration::default() {
            faults.add(
                "flash",
                "under this FTL nothing waits for a unit or a bus",
                "leave software-units and order out",
            );
        }
        if self.flash.transfer != Transfer::default() {
            faults.add("flash.transfer", "this FTL hands in one list after another", "leave it out");
        }
        if sets > 1 {
            let message = "this FTL confines nobody to dies: its chains mix them";
            faults.add("host.queue", message, "leave `dies` and `channels` out of the queues");
        }
    }

    /// Mapping units that the host sees.
    pub(super) fn chang_units(&self, geometry: &Geometry, path: &str, units: u64, faults: &mut Faults) -> Option<u32> {
        let spare = self.ftl.chang.clone().unwrap_or_default().least_spare(geometry);
        let most =
            u64::from(geometry.superblock_count().saturating_sub(spare)) * u64::from(geometry.superblock_slots());
        let sectors = u64::from(geometry.sectors);
        if most == 0 {
            let message = format!(
                "{} blocks in all, of which {spare} are kept to write and to copy to: nothing is left for the host",
                geometry.superblock_count()
            );
            let density = self.ftl.chang.as_ref().is_some_and(|chang| chang.density.is_some());
            let path = if density { "ftl.chang.density.extra" } else { self.blocks_key() };
            faults.add(path, message, format!("give the array more than {spare} blocks"));
            return None;
        }
        if units == 0 || units > most || units * sectors >= 1 << 31 {
            let unit = sectors * SECTOR.get();
            let message = format!(
                "the host would see {} of {} blocks, of which {spare} are kept to write and to copy to",
                Bytes::new(units * unit),
                geometry.superblock_count(),
            );
            let most = most.min((1 << 31) / sectors - 1);
            let remedy = format!("let the host see between {} and {}", Bytes::new(unit), Bytes::new(most * unit));
            faults.add(path, message, remedy);
            return None;
        }
        u32::try_from(units).ok()
    }

    /// The second array.
    pub(super) fn second(&self, faults: &mut Faults) -> Option<ResolvedSecond> {
        let slc = self.slc.as_ref()?;
        let mut part = named_part("slc", slc.part.as_deref(), slc.custom_part.as_ref(), "K9WAG08U1A", faults)?;
        part.geometry.pages_per_block = slc.pages.unwrap_or(part.geometry.pages_per_block);
        (part.geometry.dies_per_chip, part.geometry.planes_per_die) = (1, 1);
        part.bus.rate = slc.lane_rate.unwrap_or(part.bus.rate);
        if slc.pages == Some(0) {
            faults.positive("slc.pages", 0);
            return None;
        }
        let block = part.geometry.block().get();
        if block == 0 {
            faults.add("slc.custom-part.geometry", "a block holds nothing", "give it pages, and pages a size");
            return None;
        }
        part.geometry.blocks_per_plane = match (slc.size, slc.blocks) {
            (Some(size), None) if size.get().is_multiple_of(block) && size.get() / block <= 1 << 22 => {
                (size.get() / block) as u32
            }
            (Some(size), None) => {
                let message = format!("{size} is not a whole number of blocks of {}", Bytes::new(block));
                faults.add("slc.size", message, "use a multiple of a block, at most 4194304 of them");
                return None;
            }
            (None, Some(blocks)) => blocks,
            (None, None) => {
                faults.add("slc.size", "the size of the SLC flash is missing", "give it, e.g. size = \"256MiB\"");
                return None;
            }
            (Some(_), Some(_)) => {
                faults.add("slc.size", "stands beside slc.blocks", "keep one of the two");
                return None;
            }
        };
        if part.geometry.blocks_per_plane < 2 {
            faults.add("slc.size", "the log has a head and a tail", "give it two blocks or more");
            return None;
        }
        for error in part.validate() {
            match error {
                PartError::TooLarge { pages } => {
                    let path = if slc.size.is_some() { "slc.size" } else { "slc.blocks" };
                    let message = format!("there are {pages} pages, and at most {} can be numbered", u32::MAX);
                    faults.add(path, message, "make it smaller");
                }
                error => {
                    let key = match (&slc.custom_part, error.key()) {
                        (_, "geometry.pages_per_block") if slc.pages.is_some() => "slc.pages".to_owned(),
                        (Some(_), key) => format!("slc.custom-part.{key}"),
                        (None, _) => "slc.part".to_owned(),
                    };
                    faults.add(&key, error.to_string(), "correct the part's description");
                }
            }
        }
        if part.timing.one_shot > 1 || part.geometry.page.get() > 64 * SECTOR.get() {
            let message =
                "its pages are no logs of sectors: one page is programmed at a time, and holds 64 sectors at most";
            faults.add("slc.part", message, "choose another part");
        }
        if !faults.0.is_empty() {
            return None;
        }
        let shape = &part.geometry;
        let slots = (shape.page.get() / SECTOR.get()) as u32;
        let geometry = Geometry::new(1, 1, 1, 1, 1, shape.blocks_per_plane, shape.pages_per_block, slots, 1);
        let geometry = geometry.map_err(|error| faults.add("slc", error.to_string(), "make it smaller")).ok()?;
        if geometry.slot_count() >= 1 << 31 {
            faults.add("slc.size", "it has more than 2^31 sectors", "make it smaller");
            return None;
        }
        let timing = Timing::new(&part, &geometry, part.bus.rate, false).ok()?;
        let backend = Config {
            timing,
            units: Units::None,
            transfer: Transfer::Bus,
            arbitration: Arbitration::default(),
            software: None,
        };
        Some(ResolvedSecond { part, geometry, backend })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(kind: &str, flash: &str, chang: &str, slc: &str) -> Vec<String> {
        let text = format!(
            "name = \"h\"\n[flash]\npart = \"dirik-2009\"\nchannels = 1\nchips = 1\nblocks = 32\npages = 16\nplanes = 1\n\
             {flash}\n[ftl]\nkind = \"{kind}\"\nover-provisioning = \"40%\"\n{chang}\n{slc}\n"
        );
        let spec: Spec = toml::from_str(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let faults = spec.resolve().map_or_else(|faults| faults, |_| Vec::new());
        faults.into_iter().map(|f| format!("{}: {}; {}", f.path, f.message, f.remedy)).collect()
    }

    const SLC: &str = "[slc]\npart = \"K9WAG08U1A\"\nsize = \"2MiB\"";

    #[test]
    fn a_hybrid_disk_is_sound_with_slc_flash_and_without() {
        for slc in ["", SLC, "[slc]\npart = \"K9WAG08U1A\"\nblocks = 4\npages = 8\nlane-rate = \"1GB/s\""] {
            assert_eq!(faults("chang", "", "", slc), [""; 0], "{slc}");
        }
    }

    #[test]
    fn the_faults_of_the_small_flash_are_found() {
        for (slc, wanted) in [
            ("size = \"2MiB\"", "slc.part: no NAND part is named"),
            ("part = \"none\"\nsize = \"2MiB\"", "slc.part: no part is called `none`; use one of "),
            ("part = \"K9WAG08U1A\"", "slc.size: the size of the SLC flash is missing; give it"),
            ("part = \"K9WAG08U1A\"\nsize = \"100KiB\"", "slc.size: 100KiB is not a whole number of blocks of 128KiB"),
            ("part = \"K9WAG08U1A\"\nsize = \"2MiB\"\nblocks = 4", "slc.size: stands beside slc.blocks; keep one"),
            ("part = \"K9WAG08U1A\"\nblocks = 1", "slc.size: the log has a head and a tail; give it two"),
        ] {
            let found = faults("chang", "", "", &format!("[slc]\n{slc}"));
            assert!(found.len() == 1 && found[0].starts_with(wanted), "{slc}: {found:?}");
        }
    }

    #[test]
    fn what_it_does_not_go_together_with_is_found() {
        for (kind, flash, chang, slc, wanted) in [
            ("page", "", "", SLC, "slc: this FTL does nothing with it; leave it out, or say ftl.kind"),
            ("page", "", "chang = {}", "", "ftl.chang: this FTL does nothing with it; leave it out"),
            ("chang", "units = { shared = 2 }", "", "", "flash.units: this FTL hands in one list after another"),
            ("chang", "order = { hold = true }", "", "", "flash: under this FTL nothing waits for a unit"),
            ("chang", "", "chang = { probes = 0 }", SLC, "ftl.chang.probes: is zero; there must be at least one"),
            ("chang", "", "chang = { mapping-cache = 0 }", "", "ftl.chang.mapping-cache: is zero"),
            ("chang", "", "chang = { recluster-every = 0 }", SLC, "ftl.chang.recluster-every: is zero"),
            ("chang", "", "chang = { throttle-step = 0 }", SLC, "ftl.chang.throttle-step: is zero"),
            ("chang", "", "chang = { throttle-every = 0 }", SLC, "ftl.chang.throttle-every: is zero"),
            (
                "chang",
                "",
                "chang = { mapping = \"pages\", density = { extra = \"64KiB\" } }",
                "",
                "ftl.chang.density: logical blocks are in SLC mode, and pages",
            ),
            ("chang", "", "chang.density = { extra = \"1KiB\" }", "", "ftl.chang.density.extra: 1KiB is not two"),
            ("chang", "", "chang.density = { extra = \"32KiB\" }", "", "ftl.chang.density.extra: 32KiB is not two"),
            (
                "chang",
                "",
                "chang.density = { extra = \"64KiB\", read = \"0us\" }",
                "",
                "ftl.chang.density.read: the array",
            ),
            (
                "chang",
                "",
                "chang.density = { extra = \"64KiB\", program = \"0us\" }",
                "",
                "ftl.chang.density.program: the",
            ),
            (
                "chang",
                "",
                "chang.density = { extra = \"64KiB\", rank-every = 0 }",
                "",
                "ftl.chang.density.rank-every: is",
            ),
            ("chang", "", "chang.density = { extra = \"64KiB\" }", SLC, "ftl.chang.density: stands beside slc"),
            ("chang", "", "chang = { hash-entries = 3 }", SLC, "ftl.chang.hash-entries: 3 entries; use 4 to"),
            ("chang", "", "map-unit = \"1KiB\"", "", "ftl.map-unit: a page holds 2 mapping units of 1KiB"),
            ("chang", "gang = 2", "", "", "flash.multi-plane: 2 planes or ganged chips work together"),
            ("chang", "", "map = { kind = \"table\" }", "", "ftl.map: this FTL has its tables in RAM"),
        ] {
            let found = faults(kind, flash, chang, slc);
            assert!(found.iter().any(|fault| fault.starts_with(wanted)), "{wanted}: {found:?}");
        }
        let text = "name = \"h\"\nflash = { part = \"dirik-2009\", channels = 1, chips = 1, blocks = 8, planes = 1 }\n\
                    [ftl]\nkind = \"chang\"\nover-provisioning = \"10%\"\n";
        let spec: Spec = toml::from_str(text).expect("a description");
        let fault = spec.resolve().expect_err("too little is spare").remove(0);
        assert!(fault.message.contains("of which 4 are kept to write and to copy to"), "{fault:?}");
    }
}
