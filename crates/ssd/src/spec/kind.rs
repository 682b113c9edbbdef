//! Drives of a RAID with a description of their own.

use schemars::{JsonSchema, Schema, json_schema};
use serde::{Deserialize, Serialize};

use super::Spec;

/// Drives of a RAID with a description of their own: another device, or this device with changes.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct DriveKind {
    /// The numbers of the drives, from 0: first the drives of the stripes, then the spares, then the drive of the
    /// journal.
    pub drives: Vec<u32>,
    /// The device: a built-in one, or a file. If missing, the device of this file, without its RAID.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["demo"]))]
    pub device: Option<String>,
    /// Changed keys of the device, each as `--set` takes it, e.g. `flash.channels=4`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set: Vec<String>,
    /// The whole description, instead of `device` and `set`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "any_table")]
    pub spec: Option<Box<Spec>>,
}

/// Leaves the keys of a nested description out of the schema, which lists them already: a description has a RAID, and
/// the RAID has descriptions.
fn any_table(_: &mut schemars::SchemaGenerator) -> Schema {
    json_schema!({ "type": "object", "additionalProperties": {} })
}
