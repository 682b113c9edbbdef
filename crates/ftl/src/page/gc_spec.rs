//! The table `[ftl.gc]` of a description.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::collector::pace::PaceSpec;
use super::victim::VictimSpec;

/// Garbage collection.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct GcSpec {
    /// The policy that chooses a victim.
    pub victim: VictimSpec,
    /// The number of free superblocks of a pool (a die or a group of its planes) at which collection starts. With zero it
    /// starts when the open superblock is full and only the one to copy into is free: it then has one or two more
    /// superblocks to choose from and copies less, and writes wait for it longer. Static wear levelling needs
    /// at least one.
    pub start: u32,
    /// The number of free superblocks at which it stops; more than `start`.
    pub stop: u32,
    /// The most copies of one pool in progress at once.
    pub parallel: u32,
    /// How many of them a pool may have at a moment.
    #[serde(skip_serializing_if = "PaceSpec::is_default")]
    pub pace: PaceSpec,
    /// Copy whole pages inside their plane without crossing the channel, if the part can.
    pub copy_back: bool,
    /// Host writes and copies share one open superblock of each pool. A pool then keeps two superblocks to itself
    /// instead of three, and a pool of translation pages can do with two in all, so planes of few blocks have room for
    /// data. In return data of different age lie in one block, so collection copies more.
    pub shared_log: bool,
}

impl Default for GcSpec {
    fn default() -> Self {
        Self {
            victim: VictimSpec::Greedy,
            start: 2,
            stop: 3,
            parallel: 2,
            pace: PaceSpec::Full,
            copy_back: false,
            shared_log: false,
        }
    }
}
