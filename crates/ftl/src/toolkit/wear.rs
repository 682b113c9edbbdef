//! The table `[ftl.wear]` of a description.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The keys of wear levelling.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct WearSpec {
    /// Dynamic: the least worn free superblock is taken next, not the one that was freed first. Seong et al. call this
    /// implicit (Sec. 3.5).
    pub dynamic: bool,
    /// Static: the data of the least worn superblock move when its erases lag by more than this behind those of the
    /// most worn free superblock of its pool; never if missing. Hydra's FTL does this when the drive is idle.
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
