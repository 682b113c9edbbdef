//! The table `[ftl.gc]` of a description.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::victim::VictimSpec;

/// Garbage collection.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct GcSpec {
    /// How a victim is chosen.
    pub victim: VictimSpec,
    /// Free superblocks of a pool (a die or a group of its planes) at which collection starts; at least
    /// one.
    pub start: u32,
    /// Free superblocks at which it stops; more than `start`.
    pub stop: u32,
    /// Copies of a pool under way at once.
    pub parallel: u32,
    /// Whether whole pages are copied inside their plane without crossing the channel, as far as the part
    /// can.
    pub copy_back: bool,
}

impl Default for GcSpec {
    fn default() -> Self {
        Self { victim: VictimSpec::Greedy, start: 2, stop: 3, parallel: 2, copy_back: false }
    }
}
