//! The RAM that a real drive of this description needs for its tables and its write buffer.
//!
//! The memory of the simulator is another matter. Every entry of a map counts four bytes; code, queues and data in
//! transit are not counted.

use base::fault::Faults;
use base::units::{Bytes, Rate, SECTOR};
use ftl::MapSpec;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ResolvedBuffer;
use super::{ResolvedDevice, Spec};

/// The speed of the RAM. All transfers are served first come, first served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct RamSpec {
    /// Bytes per second, in both directions together: writes into the buffer, reads from it, and data that leaves the
    /// buffer for flash.
    #[schemars(extend("examples" = ["1.6GB/s", "200MB/s"]))]
    pub rate: Rate,
    /// Bytes that the RAM moves to look up a mapping unit that the host reads: an entry of the map, or the burst that
    /// brings it. Look-ups take no time if missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub look_up: Option<Bytes>,
}

impl Spec {
    pub(super) fn check_ram(&self, faults: &mut Faults) {
        let Some(ram) = self.ram else { return };
        if ram.look_up.is_some_and(Bytes::is_zero) {
            faults.add("ram.look-up", "moves nothing", "leave it out for look-ups that take no time");
        }
        if ram.look_up.is_some() && self.ftl.map != MapSpec::Ram {
            let message = "conflicts with ftl.map: a map unit has times of its own";
            faults.add("ram.look-up", message, "leave it out, or set ftl.map = { kind = \"ram\" }");
        }
        if self.buffer.is_none() && ram.look_up.is_none() {
            let message = "there is no write buffer, and look-ups move nothing";
            faults.add("ram", message, "add [buffer], or give ram.look-up, e.g. \"64B\"");
        }
    }
}

impl ResolvedDevice {
    /// RAM for the maps of the FTL and their caches.
    #[must_use]
    pub fn table_ram(&self) -> Bytes {
        let each = self.groups().map(|(group, drives)| group.family.table_ram() * u64::from(drives));
        Bytes::new(each.sum())
    }

    /// RAM for the write buffer.
    #[must_use]
    pub fn buffer_ram(&self) -> Bytes {
        let unit = SECTOR * u64::from(self.geometry.sectors);
        let of_drive = |buffer: ResolvedBuffer| match buffer.superblocks {
            Some(superblocks) => SECTOR * superblocks.sectors,
            None => unit * u64::from(buffer.units),
        };
        let each = self
            .groups()
            .map(|(group, drives)| group.buffer.map_or(0, |buffer| of_drive(buffer).get()) * u64::from(drives));
        Bytes::new(each.sum())
    }
}

#[cfg(test)]
mod tests {
    use base::units::Bytes;

    fn ram(device: &str) -> (Bytes, Bytes) {
        let (_, text) = crate::builtin().iter().find(|(name, _)| *name == device).expect("a device");
        let spec: crate::Spec = toml::from_str(text).expect("TOML");
        let resolved = spec.resolve().expect("valid");
        (resolved.table_ram(), resolved.buffer_ram())
    }

    #[test]
    fn maps_take_the_memory_of_the_papers() {
        // Woo and Min, Sec. 5.1: 64 KiB and 1,024 KiB; and 3,482 translation pages.
        let pages = (13_926_u64 << 20).div_ceil(4096).div_ceil(1024);
        assert_eq!(ram("fmmu-16x8").0, Bytes::new((64 << 10) + (1024 << 10) + pages * 4));
        assert_eq!(ram("fmmu-16x8-ram").0, Bytes::new((13_926_u64 << 20) / 4096 * 4));
        // Seong et al., Sec. 4.1: 15 MB of sectors.
        assert_eq!(ram("hydra-prototype").1, Bytes::new(15 << 20));
        assert!(ram("hydra-prototype").0 < Bytes::new(1 << 19), "32 GB in superblocks of 1 MB");
    }

    #[test]
    fn the_slc_mlc_drive_has_a_table_for_each_array() {
        // Chang, Sec. 4.2 and 5.4: 40,960 logical blocks in 43,008, and an entry for every second of 131,072 SLC pages.
        // The mapping cache is calibrated.
        let (tables, cache, hash) = ((40_960 + 43_008) * 4, 4_096 * 128 * 4, 65_536 * 8);
        assert_eq!(ram("chang-c3").0, Bytes::new(tables + cache + hash));
        assert_eq!(ram("chang-c3-noslc").0, Bytes::new(tables + cache));
    }

    #[test]
    fn a_page_map_behind_an_slc_log_has_a_bit_for_each_log_sector() {
        // 614 blocks of 64 pages of four sectors, and an entry for every second page.
        let (pages, sectors) = (614 * 64, 614 * 64 * 4);
        let map = (6_u64 << 30) / 4096 * 4;
        assert_eq!(ram("mix-slc-log-page").0, Bytes::new(map + pages / 2 * 8 + sectors / 8));
    }
}
