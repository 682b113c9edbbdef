//! The table `[ftl.firmware]` of a device description.

use base::units::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Firmware time of a page-mapped FTL with its map in RAM, on one processor (`flash.software-controllers` shares it).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct FirmwareSpec {
    /// Time for each read or write that reaches flash: of the host (of each of its pieces, if `host.chop` cuts it), or of
    /// a write buffer.
    pub request: Span,
    /// Time for each mapping unit that is read, written or copied.
    pub unit: Span,
}
