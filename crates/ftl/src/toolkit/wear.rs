//! The table `[ftl.wear]` of a description.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Wear levelling.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct WearSpec {
    /// Dynamic: the next superblock is the least worn free one, not the one that was freed first. Seong et al. call it
    /// implicit (Sec. 3.5).
    pub dynamic: bool,
    /// Static: the data of the least worn superblock move when it lags this many erases behind the most worn free one
    /// of its pool; never if missing. Hydra's FTL does this when the drive is idle.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold: Option<u32>,
    /// Erases of a pool, or a superchip, between two checks.
    pub check_every: u32,
}

impl Default for WearSpec {
    fn default() -> Self {
        Self { dynamic: true, threshold: None, check_every: 16 }
    }
}
