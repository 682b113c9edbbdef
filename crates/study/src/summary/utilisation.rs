//! The busy shares of the parts of a drive, and the energy that was spent.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Busy shares of the run, between 0 and 1.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct Utilisation {
    /// The share of the host link.
    pub link: f64,
    /// The share of the RAM, for the write buffer and the look-ups of the map; missing if the RAM takes no time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ram: Option<f64>,
    /// The busy share of each channel.
    pub channels: Vec<f64>,
    /// The share of each die. While one of `P` planes reads by itself, its die counts `1 / P` of the time.
    pub dies: Vec<f64>,
    /// The share of each plane that reads by itself; missing if no planes do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub planes: Vec<f64>,
    /// The busy share of each controller.
    pub controllers: Vec<f64>,
    /// The share of each decoder of the error correction; missing without it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decoders: Vec<f64>,
    /// The share of the FTL's map unit: the mean over its cores, or the busier of CMT and CTP of an FMMU. Missing
    /// without a map unit, or if it has no processor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ftl: Option<f64>,
    /// The share of each core, or of CMT and CTP.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ftl_parts: Vec<f64>,
    /// The share of the processor of software controllers and the FTL.
    pub processor: f64,
}

/// Energy spent during the run.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct Energies {
    /// The sum over all uses, in joules.
    pub total_j: f64,
    /// The parts of the total by name, in joules.
    pub by_name_j: BTreeMap<String, f64>,
}
