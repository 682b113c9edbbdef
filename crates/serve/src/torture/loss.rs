//! The file that reproduces one loss.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cut::Cut;
use super::replay::Honesty;

/// One cut of a recorded run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct LossSpec {
    /// The journal: a file beside this one, or its path.
    pub journal: PathBuf,
    /// Whether the drive does what it promises.
    #[serde(default)]
    pub drive: Honesty,
    /// The check that failed, if it was the user's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
    /// The moment.
    pub cut: Cut,
}
