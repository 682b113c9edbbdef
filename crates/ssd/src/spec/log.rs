//! Log blocks in the description of a device: what they need, and what they do not go together with.

use base::units::{Bytes, SECTOR};
use flash::nand::Geometry;

use super::Spec;
use super::resolve::Faults;
use crate::ftl::hybrid::LogSpec;
use crate::ftl::map_unit::MapSpec;

impl Spec {
    /// What log blocks do not go together with.
    pub(super) fn check_log(&self, geometry: &Geometry, one_shot: u32, sets: usize, faults: &mut Faults) {
        let kind = self.ftl.kind;
        if !kind.has_log_blocks() {
            if self.ftl.log != LogSpec::default() {
                let remedy = "leave [ftl.log] out, or set ftl.kind to bast or fast";
                faults.add("ftl.log", "this family has no log blocks", remedy);
            }
            return;
        }
        faults.0.extend(self.ftl.log.faults(kind, geometry, one_shot));
        if self.ftl.map != MapSpec::default() {
            faults.add("ftl.map", "a family with log blocks has its small maps in RAM", "leave it out");
        }
        if self.ftl.wear.threshold.is_some() {
            faults.add("ftl.wear.threshold", "a family with log blocks levels no static wear", "leave it out");
        }
        if sets > 1 {
            let message = "a family with log blocks confines nobody to dies: its merges mix the data of all";
            faults.add("host.queue", message, "leave `dies` and `channels` out of the queues");
        }
    }

    /// The same where there are log blocks and a reserve beside the data blocks.
    pub(super) fn log_units(&self, geometry: &Geometry, path: &str, units: u64, faults: &mut Faults) -> Option<u32> {
        let most = self.ftl.log.most_units(geometry);
        if most == 0 {
            let (blocks, all) = (self.ftl.log.blocks, geometry.superblock_count());
            let message = format!(
                "of {all} blocks in all {blocks} are log blocks and {} are kept for merges: nothing is left for the host",
                self.ftl.log.reserve()
            );
            let path = match &self.ftl.log {
                log if *log == LogSpec::default() => self.blocks_key(),
                log if log.parallel > log.blocks => "ftl.log.parallel",
                _ => "ftl.log.blocks",
            };
            faults.add(path, message, "give the array more blocks, or the log fewer blocks or merges");
            return None;
        }
        if units == 0 || units > most {
            let unit = u64::from(geometry.sectors) * SECTOR.get();
            let message = format!(
                "the host would see {} of {} blocks, of which {} are log blocks and {} are kept for merges",
                Bytes::new(units * unit),
                geometry.superblock_count(),
                self.ftl.log.blocks,
                self.ftl.log.reserve()
            );
            let remedy = format!("let the host see between {} and {}", Bytes::new(unit), Bytes::new(most * unit));
            faults.add(path, message, remedy);
            return None;
        }
        u32::try_from(units).ok()
    }
}
