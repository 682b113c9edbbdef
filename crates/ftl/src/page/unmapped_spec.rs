//! The key `ftl.unmapped-reads` of a description.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Handling of a read whose address was never written, or was discarded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UnmappedReads {
    /// The FTL answers from the map, with zeros: no flash command runs.
    #[default]
    NoFlashRead,
    /// The FTL reads a page all the same, as the simulator MQSim does: from the slot that a static placement would give
    /// the address. The read takes the time of the array, of the channel and of the decoder, and returns zeros.
    FlashRead,
}
