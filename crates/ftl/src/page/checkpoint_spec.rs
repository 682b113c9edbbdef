//! The table `[ftl.checkpoint]` of a device description.

use base::units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Checkpoints of a page-mapped FTL with its map in RAM. A checkpoint on flash has the map, a record of all superblocks
/// and the places of trim pages. A mount then reads the checkpoint and the superblocks written since, and not all spare
/// areas. The older checkpoint counts until the newer is complete. An orderly power-off ends with a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CheckpointSpec {
    /// Flash that is opened for writing, by the host and by garbage collection, from one checkpoint to the next. The
    /// value is rounded up to whole superblocks, and must be at least twice the size of a checkpoint. The next
    /// checkpoint waits for the end of this one. A mount scans at most this much flash, the flash that is opened while
    /// a checkpoint is written, and the superblocks that were open when it began.
    pub every: Bytes,
}
