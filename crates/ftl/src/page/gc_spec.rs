//! The table `[ftl.gc]` of a description.

use base::units::Span;
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
    /// The number of free superblocks of a pool (a die or a group of its planes) at which collection starts. With zero
    /// it starts when the open superblock is full and only the superblock to copy into is free. Collection then has one
    /// or two more superblocks to choose from and copies less, and writes wait for it longer. Static wear levelling
    /// needs at least one.
    pub start: u32,
    /// The number of free superblocks at which collection stops; more than `start`.
    pub stop: u32,
    /// The most copies of one pool in progress at once.
    pub parallel: u32,
    /// How many of the `parallel` copies a pool may have in progress at a time.
    #[serde(skip_serializing_if = "PaceSpec::is_default")]
    pub pace: PaceSpec,
    /// Host writes pay with copies: each mapping unit that goes to a pool with `start` free superblocks or fewer waits until
    /// collection has copied in proportion, the more the fewer superblocks are free; and collection copies no more than the
    /// writes have paid for, unless a write waits. So the rate of writes falls smoothly instead of stopping.
    #[serde(skip_serializing_if = "is_default")]
    pub throttle: bool,
    /// Collection of an idle drive; if missing, a pool collects only when it has few free superblocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle: Option<IdleGcSpec>,
    /// Copy whole pages inside their plane without crossing the channel, if the part can.
    pub copy_back: bool,
    /// Host writes and copies share one open superblock of each pool. A pool then keeps two superblocks to itself
    /// instead of three, and a pool of translation pages can do with two in all, so planes of few blocks have room for
    /// data. In return data of different age lie in one block, so collection copies more.
    pub shared_log: bool,
}

/// Collection of a drive whose host is idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct IdleGcSpec {
    /// Time since the latest read, write or discard reached the FTL. A new request stops this collection, except that
    /// victims already begun are finished.
    #[schemars(extend("examples" = ["10ms", "1s"]))]
    pub after: Span,
    /// The number of free superblocks of a pool at which this collection stops; more than `stop`.
    pub free: u32,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Default for GcSpec {
    fn default() -> Self {
        Self {
            victim: VictimSpec::Greedy,
            start: 2,
            stop: 3,
            parallel: 2,
            pace: PaceSpec::Full,
            throttle: false,
            idle: None,
            copy_back: false,
            shared_log: false,
        }
    }
}
