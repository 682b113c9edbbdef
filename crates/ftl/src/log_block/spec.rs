//! The parameters of a hybrid-mapped FTL: `[ftl.log]`.

use base::fault::Fault;
use base::units::Bytes;
use flash::nand::Geometry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Policy;

/// Log blocks of a hybrid-mapped FTL, and where its blocks go.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct LogSpec {
    /// Log blocks at once; with FAST one of them takes sequential writes, so there are at least two.
    pub blocks: u32,
    /// Which pages make a logical block.
    pub striping: Striping,
    /// On which bus or chip a block is allocated.
    pub allocation: Allocation,
    /// When a merge erases what it has read.
    pub erase: EraseWhen,
    /// Merges under way at once; each may hold one free block.
    pub parallel: u32,
}

impl Default for LogSpec {
    fn default() -> Self {
        Self {
            blocks: 8,
            striping: Striping::Block,
            allocation: Allocation::Apart,
            erase: EraseWhen::Copied,
            parallel: 1,
        }
    }
}

/// How logical pages make up logical blocks (Sung, Sec. 4.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Striping {
    /// Neighbours share a logical block, and so a physical one.
    #[default]
    Block,
    /// Neighbours are in as many different logical blocks as there are buses.
    Page,
}

/// Where data blocks, log blocks and the destinations of merges are allocated. With a unit for each channel
/// they are told apart by their buses, otherwise by their chips.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Allocation {
    /// The data blocks of one request apart from each other, a log block never beside the data block it is
    /// allocated for, the destination of a merge beside neither (Sung, Sec. 4.2 and 4.3).
    #[default]
    Apart,
    /// A log block beside the data block it is allocated for; the destination of a full merge on another bus
    /// or chip (the worst case of Sung, Fig. 11a and 12a).
    Same,
    /// In turn, whatever else is there.
    Any,
    /// As `apart`, but among all places that are allowed the one with the fewest commands waiting.
    Idle,
}

impl Allocation {
    /// All of them: what the conformance suite and the swarm are applied to.
    pub const EVERY: [Self; 4] = [Self::Apart, Self::Same, Self::Any, Self::Idle];
}

/// When a merge erases the blocks it has copied from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EraseWhen {
    /// When all copies are programmed. Nothing is lost if the power goes.
    #[default]
    Copied,
    /// When all pages are in the controllers' buffer (Sung, Fig. 11b and 12b): the erase overlaps the
    /// programs. What is in the buffer is the only copy, so a merge whose pages are being programmed is
    /// brought to its end from capacitors if the power goes.
    Read,
}

impl LogSpec {
    /// Blocks that are neither data nor log blocks: one for each merge under way, one in place of a
    /// destination that fails, and one so that there is always a next.
    pub(crate) const fn reserve(&self) -> u32 {
        self.parallel.saturating_add(2)
    }

    /// Pages that neighbours are apart in logical blocks.
    pub(crate) const fn width(&self, geometry: &Geometry) -> u32 {
        match self.striping {
            Striping::Block => 1,
            Striping::Page => geometry.channels,
        }
    }

    /// Units that the host may see at most.
    pub(crate) fn most_units(&self, geometry: &Geometry) -> u64 {
        let kept = u64::from(self.blocks) + u64::from(self.reserve());
        let blocks = u64::from(geometry.superblock_count()).saturating_sub(kept);
        let width = u64::from(self.width(geometry));
        blocks / width * width * u64::from(geometry.superblock_slots())
    }

    /// What is wrong with it for this FTL and a flash array.
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
        // The number of a log block stands in the tags of its lists, beside their kind.
        let most = u32::MAX >> 4;
        if self.blocks > most {
            let message = format!("{} log blocks", self.blocks);
            faults.push(Fault::new("ftl.log.blocks", message, format!("use {least} to {most}")));
        }
        let unit = Bytes::new(u64::from(geometry.sectors) * 512);
        if geometry.slots > 1 {
            let message = format!("a page holds {} mapping units of {unit}, and log blocks map pages", geometry.slots);
            faults.push(Fault::new("ftl.map-unit", message, "leave it out, or make it a page"));
        }
        if geometry.stripe > 1 {
            let message = format!("{} planes or ganged chips work together, and log blocks map pages", geometry.stripe);
            faults.push(Fault::new("flash.multi-plane", message, "set it to false, and flash.gang to 1"));
        }
        if one_shot > 1 {
            let message = format!("one program takes {one_shot} pages, and log blocks map pages");
            faults.push(Fault::new("flash.part", message, "choose a part that programs page by page"));
        }
        faults
    }
}
