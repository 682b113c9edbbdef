//! The RAM of a drive: what a real one of this description would need for its tables and its write buffer.
//!
//! Not what the simulator takes. An entry of a map is four bytes, whoever has it; code, queues and data that only
//! pass through are not counted.

use base::units::{Bytes, SECTOR};

use super::{FtlKind, Resolved};
use crate::{MapSpec, MappingSpec};

/// Bytes of a map entry.
const ENTRY: u64 = 4;

impl Resolved {
    /// RAM for the maps of the FTL, caches of them included.
    #[must_use]
    pub fn table_ram(&self) -> Bytes {
        let pages = u64::from(self.map_pages.count) * ENTRY;
        let bytes = match self.ftl.kind {
            FtlKind::Page => match &self.ftl.map {
                MapSpec::Ram | MapSpec::Table { .. } => u64::from(self.units) * ENTRY,
                // What is left is the directory of translation pages.
                MapSpec::Uncached { .. } => pages,
                MapSpec::Dftl(spec) => spec.cmt.get() + pages,
                MapSpec::Cdftl(spec) => spec.cmt.get() + spec.ctp.get() + pages,
                MapSpec::Fmmu(spec) => spec.cmt.get() + spec.ctp.get() + pages,
            },
            // The place of each superblock, and how often it was erased (Seong et al., Sec. 3.3.1).
            FtlKind::Hydra => self.hydra.as_ref().map_or(0, |hydra| u64::from(hydra.superblocks()) * 2 * ENTRY),
            // A map of blocks, and of the pages of log blocks.
            FtlKind::Bast | FtlKind::Fast => {
                let pages = u64::from(self.geometry.superblock_slots());
                let logical = u64::from(self.units).div_ceil(pages);
                (logical + u64::from(self.ftl.log.blocks) * pages) * ENTRY
            }
            FtlKind::Chang => self.chang_ram(),
        };
        Bytes::new(bytes)
    }

    /// L2P and LB, an entry for each logical and each physical block; the pages of the logical blocks in the mapping
    /// cache; of each sector in the SLC flash which it is and where (Chang, Sec. 3.5 and 5.4); and what density control
    /// counts.
    fn chang_ram(&self) -> u64 {
        let spec = self.ftl.chang.clone().unwrap_or_default();
        if spec.mapping == MappingSpec::Pages {
            // An entry for each page, the hash table, and for each sector in the SLC flash a bit for its second chance.
            let slots = self.second.as_ref().map_or(0, |second| u64::from(second.geometry.slot_count()));
            let hashed = self.second.as_ref().map_or(0, |second| u64::from(spec.entries(&second.geometry)) * 2);
            return (u64::from(self.units) + hashed) * ENTRY + slots.div_ceil(8);
        }
        let pages = u64::from(self.geometry.superblock_slots());
        let logical = u64::from(self.units).div_ceil(pages);
        let cached = logical.min(u64::from(spec.mapping_cache)) * pages;
        // A counter of two bytes, what it was at the last ranking, and a bit for the mode.
        let density = spec.density.as_ref().map_or(0, |_| logical * 4 + logical.div_ceil(8));
        let hashed = self.second.as_ref().map_or(0, |second| u64::from(spec.entries(&second.geometry)) * 2);
        (logical + u64::from(self.geometry.superblock_count()) + cached + hashed) * ENTRY + density
    }

    /// RAM for the write buffer.
    #[must_use]
    pub fn buffer_ram(&self) -> Bytes {
        let unit = SECTOR * u64::from(self.geometry.sectors);
        self.buffer.map_or(Bytes::new(0), |buffer| match buffer.superblocks {
            Some(superblocks) => SECTOR * superblocks.sectors,
            None => unit * u64::from(buffer.units),
        })
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
    fn maps_take_what_the_papers_say() {
        // Woo and Min, Sec. 5.1: 64 KiB and 1,024 KiB; and 3,482 translation pages.
        let pages = (13_926_u64 << 20).div_ceil(4096).div_ceil(1024);
        assert_eq!(ram("fmmu-16x8").0, Bytes::new((64 << 10) + (1024 << 10) + pages * 4));
        assert_eq!(ram("fmmu-16x8-ram").0, Bytes::new((13_926_u64 << 20) / 4096 * 4));
        // Seong et al., Sec. 4.1: 15 MB of sectors.
        assert_eq!(ram("hydra-prototype").1, Bytes::new(15 << 20));
        assert!(ram("hydra-prototype").0 < Bytes::new(1 << 19), "32 GB in superblocks of 1 MB");
    }

    #[test]
    fn the_hybrid_disk_has_a_table_for_each_flash() {
        // Chang, Sec. 4.2 and 5.4: 40,960 logical blocks in 43,008, and an entry for every second of 131,072 SLC pages.
        // The mapping cache is calibrated.
        let (tables, cache, hash) = ((40_960 + 43_008) * 4, 4_096 * 128 * 4, 65_536 * 8);
        assert_eq!(ram("chang-c3").0, Bytes::new(tables + cache + hash));
        assert_eq!(ram("chang-c3-noslc").0, Bytes::new(tables + cache));
    }
}
