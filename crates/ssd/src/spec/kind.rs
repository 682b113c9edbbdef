//! Drives of a RAID that are not of its description.

use schemars::{JsonSchema, Schema, json_schema};
use serde::{Deserialize, Serialize};

use super::Spec;

/// Drives of a RAID with a description of their own: another device, or this one with changes.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct DriveKind {
    /// The numbers of the drives, from 0, in the order of those of the stripes, the spares, and that of the journal.
    pub drives: Vec<u32>,
    /// The device: a built-in one, or a file. This one, without its RAID, if missing.
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

/// A description has a RAID, and that has descriptions: their keys are listed once.
fn any_table(_: &mut schemars::SchemaGenerator) -> Schema {
    json_schema!({ "type": "object", "additionalProperties": {} })
}
