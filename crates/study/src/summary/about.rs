//! The provenance of a result.

use super::Array;

/// The provenance of a result, which every result file includes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Provenance {
    /// Version of the program that did the run.
    pub version: String,
    /// Commit of the program that did the run.
    pub commit: String,
    /// Seed of all random streams.
    pub seed: u64,
    /// Name of the device in its description.
    pub device: String,
    /// Name of the workload in its description.
    pub workload: String,
    /// The cost of the device's flash, if known.
    pub cost: Option<ssd::Cost>,
    /// The flash array of the device, if known.
    pub array: Option<Array>,
    /// The resolved configuration: tables for the device, the workload and the run.
    pub config: toml::Table,
}
