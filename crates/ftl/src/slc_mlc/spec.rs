//! The parameters of Chang's FTL: `[ftl.chang]`.

use base::fault::Fault;
use base::units::Ratio;
use flash::nand::Geometry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::density::DensitySpec;
use super::filter::ClusterMethod;
use super::mapping::MappingSpec;
use super::page_map::PageMap;
use super::place::{RESERVE, block_bytes};
use super::table::ProbeSequence;

/// The FTL of Chang, "A Hybrid Approach to NAND-Flash-Based Solid-State Disks" (IEEE Trans. Computers 59(10), 2010). In
/// a device without a table `[slc]` the drive is the paper's conventional SSD, and parameters of the SLC flash have no
/// effect.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct SlcMlcSpec {
    /// The mapping of the MLC flash.
    pub mapping: MappingSpec,
    /// Logical blocks in the mapping cache (Sec. 3.5). The paper gives no number.
    pub mapping_cache: u32,
    /// Whether the scan for a logical block's pages includes the data block. A data block is in order, and the paper's
    /// mean of 48 pages (Table 3, n3) is less than one block.
    pub scan_data_blocks: bool,
    /// The method that finds the size of a small write.
    pub threshold: ClusterMethod,
    /// Write requests between two computations of the threshold.
    pub recluster_every: u32,
    /// Entries of the hash table; half the pages of the SLC flash if missing (Sec. 5.4).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash_entries: Option<u32>,
    /// The search for another entry when a sector's entry is taken.
    pub probing: ProbeSequence,
    /// Entries that a search may examine.
    pub probes: u32,
    /// Whether the throttle keeps the SLC flash from wearing out first (Sec. 3.4).
    pub throttle: bool,
    /// Blocks by which the throttle shortens and lengthens the SLC log.
    pub throttle_step: u32,
    /// Requests between two steps of the throttle.
    pub throttle_every: u32,
    /// Whether sectors in the tail go back to the head if their logical block has no log block (Sec. 3.6). If not, all
    /// sectors go to the MLC flash.
    pub copy_back: bool,
    /// Whether a fold takes along the sectors of its pages in the SLC flash.
    pub fold_assistance: bool,
    /// The safety valve stops copies to the head when the share of updates falls below this part of its running mean.
    /// The paper says only "notably".
    pub safety_valve: Ratio,
    /// Dynamic density control, which the paper compares with: without SLC flash, frequently accessed data is in SLC
    /// mode in the MLC flash (Sec. 5.1). None if missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub density: Option<DensitySpec>,
}

impl Default for SlcMlcSpec {
    fn default() -> Self {
        Self {
            mapping: MappingSpec::Chains,
            mapping_cache: 1_024,
            scan_data_blocks: false,
            threshold: ClusterMethod::Partition,
            recluster_every: 1_000,
            hash_entries: None,
            probing: ProbeSequence::Linear,
            probes: 8,
            throttle: true,
            throttle_step: 100,
            throttle_every: 1_000,
            copy_back: true,
            fold_assistance: true,
            safety_valve: Ratio::new(0.8),
            density: None,
        }
    }
}

/// The most probes of a search, each of which costs time.
const MOST_PROBES: u32 = 1024;

impl SlcMlcSpec {
    /// The least number of blocks that the host never sees: a log block, the reserve, and the extra capacity for SLC
    /// mode.
    pub(crate) fn least_spare(&self, geometry: &Geometry) -> u32 {
        if self.mapping == MappingSpec::Pages {
            return PageMap::least_spare(geometry.die_count());
        }
        let extra = self.density.as_ref().map_or(0, |density| density.blocks(block_bytes(geometry)));
        extra.saturating_add(RESERVE + 1)
    }

    /// Entries of the hash table for an SLC flash.
    pub(crate) fn entries(&self, slc: &Geometry) -> u32 {
        self.hash_entries.unwrap_or((slc.superblock_count() * slc.pages / 2).max(4))
    }

    /// The faults of these parameters on a flash array.
    pub(crate) fn faults(&self, geometry: &Geometry, one_shot: u32) -> Vec<Fault> {
        let mut faults = Vec::new();
        for (path, value) in [
            ("mapping-cache", self.mapping_cache),
            ("recluster-every", self.recluster_every),
            ("probes", self.probes),
            ("throttle-step", self.throttle_step),
            ("throttle-every", self.throttle_every),
        ] {
            if value == 0 {
                faults.push(Fault::new(format!("ftl.chang.{path}"), "is zero", "there must be at least one"));
            }
        }
        if self.hash_entries.is_some_and(|entries| !(4..1 << 26).contains(&entries)) {
            let message = format!("{} entries", self.hash_entries.unwrap_or_default());
            faults.push(Fault::new("ftl.chang.hash-entries", message, "use 4 to 67108863, or leave it out"));
        }
        if self.probes > MOST_PROBES {
            let message = format!("is {}", self.probes);
            faults.push(Fault::new("ftl.chang.probes", message, format!("use 1 to {MOST_PROBES}")));
        }
        if self.density.is_some() && self.mapping == MappingSpec::Pages {
            let message = "SLC mode applies to logical blocks, and mapping = \"pages\" has none";
            faults.push(Fault::new("ftl.chang.density", message, "leave it out, or set mapping = \"chains\""));
        }
        faults.extend(self.density.iter().flat_map(|density| density.faults(geometry)));
        faults.extend(crate::toolkit::single_page_faults(geometry, one_shot, "this FTL maps"));
        faults
    }
}
