//! Reads of single planes, as a device describes them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ReadScope;

/// Independent plane reads (AIPR): planes of a die read at different times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct PlaneReadSpec {
    /// Planes of a die that read at the same time; all planes if missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_once: Option<u32>,
    /// The reads that use single planes. Other reads use the whole die.
    pub reads: ReadScope,
}
