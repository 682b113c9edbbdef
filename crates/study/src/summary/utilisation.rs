//! How busy the parts of a drive were, and the energy that they took.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Busy shares of the run, between 0 and 1.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct Utilisation {
    /// The host link.
    pub link: f64,
    /// The RAM, for the write buffer and the look-ups of the map; missing if it takes no time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ram: Option<f64>,
    /// Each channel.
    pub channels: Vec<f64>,
    /// Each die. While one of `P` planes reads by itself, its die is busy by `1 / P`.
    pub dies: Vec<f64>,
    /// Each plane that reads by itself; missing if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub planes: Vec<f64>,
    /// Each controller.
    pub controllers: Vec<f64>,
    /// Each decoder of the error correction; missing without it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decoders: Vec<f64>,
    /// The time-consuming part of the FTL, its map unit: the mean over its cores, or the busier of CMT and CTP of an
    /// FMMU. Missing without a map unit or if that has no processor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ftl: Option<f64>,
    /// Each core, or CMT and CTP.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ftl_parts: Vec<f64>,
    /// The processor of software controllers and the FTL.
    pub processor: f64,
}

/// Energy spent during the run.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct Energies {
    /// The total, in joules.
    pub total_j: f64,
    /// By name, in joules.
    pub by_name_j: BTreeMap<String, f64>,
}
