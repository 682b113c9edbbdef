//! The parameters of a log-block FTL: `[ftl.log]`.

use base::fault::Fault;
use flash::nand::Geometry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Policy;

/// The log blocks of a log-block FTL, and the places of its blocks.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct LogSpec {
    /// Log blocks at once. FAST needs at least two: one takes sequential writes.
    pub blocks: u32,
    /// The pages that make up a logical block.
    pub striping: Striping,
    /// The bus or chip on which a block is allocated.
    pub allocation: Allocation,
    /// The time at which a merge erases its sources.
    pub erase: EraseTiming,
    /// Merges under way at once; each may hold one free block.
    pub parallel: u32,
}

impl Default for LogSpec {
    fn default() -> Self {
        Self {
            blocks: 8,
            striping: Striping::Block,
            allocation: Allocation::Apart,
            erase: EraseTiming::Copied,
            parallel: 1,
        }
    }
}

/// The assignment of pages to logical blocks (Sung, Sec. 4.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Striping {
    /// Neighbouring pages share a logical block, and so a physical one.
    #[default]
    Block,
    /// Neighbouring pages are in different logical blocks, as many as there are buses.
    Page,
}

/// The places of data blocks, log blocks and the destinations of merges. With a controller for each channel the method
/// tells buses apart, otherwise chips.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Allocation {
    /// The data blocks of one request go to different places, a log block never beside the data block it is allocated
    /// for, and the destination of a merge beside neither (Sung, Sec. 4.2 and 4.3).
    #[default]
    Apart,
    /// A log block goes beside the data block it is allocated for; the destination of a full merge goes to another bus
    /// or chip (the worst case of Sung, Fig. 11a and 12a).
    Same,
    /// In rotation, without regard to other blocks.
    Any,
    /// As `apart`, but of the allowed places the place with the fewest waiting commands.
    Idle,
}

impl Allocation {
    /// All methods, for the conformance suite and the swarm.
    pub const EVERY: [Self; 4] = [Self::Apart, Self::Same, Self::Any, Self::Idle];
}

/// The time at which a merge erases the blocks it has copied from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename = "EraseWhen", rename_all = "kebab-case")]
pub enum EraseTiming {
    /// After all programs. A power cut loses nothing.
    #[default]
    Copied,
    /// After all reads, when the pages are in the controllers' buffer (Sung, Fig. 11b and 12b): the erase overlaps the
    /// programs. The buffer then holds the only copy, so when the power fails capacitors finish the programs under way.
    Read,
}

impl LogSpec {
    /// Blocks that are neither data nor log blocks: one for each merge under way, one to replace a failing destination,
    /// and one so that there is always a next.
    pub(crate) const fn reserve(&self) -> u32 {
        self.parallel.saturating_add(2)
    }

    /// Logical blocks over which neighbouring pages rotate: 1, or the number of buses.
    pub(crate) const fn width(&self, geometry: &Geometry) -> u32 {
        match self.striping {
            Striping::Block => 1,
            Striping::Page => geometry.channels,
        }
    }

    /// Mapping units that the host may see, at most.
    pub(crate) fn most_units(&self, geometry: &Geometry) -> u64 {
        let kept = u64::from(self.blocks) + u64::from(self.reserve());
        let blocks = u64::from(geometry.superblock_count()).saturating_sub(kept);
        let width = u64::from(self.width(geometry));
        blocks / width * width * u64::from(geometry.superblock_slots())
    }

    /// The faults of these parameters for a policy and a flash array.
    pub(crate) fn faults(&self, policy: Policy, geometry: &Geometry, one_shot: u32) -> Vec<Fault> {
        let mut faults = Vec::new();
        let least = if policy == Policy::Fast { 2 } else { 1 };
        if self.blocks < least {
            let message = format!("{} log blocks", self.blocks);
            let remedy = match policy {
                Policy::Fast => "there must be at least 2: FAST keeps one for sequential writes",
                _ => "there must be at least 1",
            };
            faults.push(Fault::new("ftl.log.blocks", message, remedy));
        }
        if self.parallel == 0 {
            faults.push(Fault::new("ftl.log.parallel", "is zero", "there must be at least one"));
        }
        // The tag of a list holds the number of the log block above the list's kind.
        let most = u32::MAX >> 4;
        if self.blocks > most {
            let message = format!("{} log blocks", self.blocks);
            faults.push(Fault::new("ftl.log.blocks", message, format!("use {least} to {most}")));
        }
        faults.extend(crate::toolkit::single_page_faults(geometry, one_shot, "log blocks map"));
        faults
    }
}
