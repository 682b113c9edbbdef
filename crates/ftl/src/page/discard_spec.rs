//! The key `ftl.discard` of a description.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The fate of a discard in a power cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DiscardSpec {
    /// A discard costs no flash command. After a power cut older data may reappear, until the next write: ATA calls
    /// this a non-deterministic TRIM.
    #[default]
    Volatile,
    /// A discard is acknowledged after a record of it has been programmed, and what was discarded reads as zeros after
    /// a power cut, too. The page-mapped FTL keeps a bit for each mapping unit in trim pages, which half of a mapping
    /// unit's bytes hold; discards that come while a trim page is programmed share its next program.
    Durable,
}
