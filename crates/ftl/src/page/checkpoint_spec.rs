//! The table `[ftl.checkpoint]` of a device description.

use base::units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Checkpoints of a page-mapped FTL with its map in RAM: it writes the map, a record of all superblocks and the
/// numbers of trim pages to flash, so that a mount reads these and the superblocks written since, and not all spare
/// areas. The older checkpoint counts until the newer is complete. An orderly power-off ends with a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CheckpointSpec {
    /// Flash that is opened for writing, by the host and by garbage collection, from one checkpoint to the next; it is
    /// rounded up to whole superblocks, and must be at least twice the size of a checkpoint. A mount scans this much,
    /// at most, beside the superblocks that are open.
    pub every: Bytes,
}
