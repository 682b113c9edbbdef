//! The status of the verification of a served drive.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The verification of a served drive.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq, Serialize)]
pub struct VerifyStatus {
    /// Reads compared.
    pub reads: u64,
    /// Sectors compared.
    pub sectors: u64,
    /// Sectors whose content nobody knew, so that the first read was believed.
    pub adopted: u64,
    /// Sectors whose last read failed, and which were not written since: the drive says that it has lost them. A read of
    /// several sectors fails as a whole.
    pub unreadable: u64,
    /// Sectors that were read with a content that they cannot hold, and durable ones that the write pointer of their zone leaves out.
    pub violations: u64,
    /// The first violations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub first_violations: Vec<String>,
    /// Bytes of memory that it takes.
    pub memory_bytes: u64,
}
