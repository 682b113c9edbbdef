//! The table `[ftl.hydra]` of a device description.

use base::units::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The block-mapped FTL of Seong et al., "Hydra" (IEEE Trans. Computers 59(7), 2010). A gang of chips on `gang` buses
/// is one die here, and a row of their pages is the mapping unit.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct HydraSpec {
    /// Interleaved dies (gangs) of one channel: the degree of chip interleaving (Sec. 3.1). Together they are a
    /// superchip.
    pub chips: u32,
    /// Spare blocks of each die, which replace failing blocks (Sec. 3.3.1). If missing, a fiftieth of the die, and at
    /// least two.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spare_blocks: Option<u32>,
    /// Whether the drive writes the block map and its log twice, to different dies (Sec. 4.2, Fig. 19).
    pub replicate: bool,
    /// Processor time of the FTL; none if missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processor: Option<ProcessorSpec>,
}

impl Default for HydraSpec {
    fn default() -> Self {
        Self { chips: 2, spare_blocks: None, replicate: false, processor: None }
    }
}

/// The FTL processor and its work. The paper gives clocks (Sec. 4.1: 200 MHz; Fig. 17: 10 to 160 MHz) and no cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct ProcessorSpec {
    /// The processor's clock in MHz.
    pub mhz: u32,
    /// Whether hardware turns a host's read into flash commands without the processor: the foreground request
    /// synthesizer (Sec. 3, Fig. 18).
    pub synthesizer: bool,
    /// Cycles for a read request without the synthesizer. Assumed.
    pub read_cycles: u32,
    /// Cycles to prepare a merge: the choice of the superblock and the list of descriptors. Assumed.
    pub merge_cycles: u32,
    /// Cycles for each command of a background controller in software (Fig. 17). If missing, the controllers are
    /// hardware. `flash.software-controllers` gives this cost as a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit_cycles: Option<u32>,
}

impl Default for ProcessorSpec {
    fn default() -> Self {
        Self { mhz: 200, synthesizer: true, read_cycles: 1000, merge_cycles: 20_000, unit_cycles: None }
    }
}

impl ProcessorSpec {
    pub(super) fn time(&self, cycles: u32) -> Span {
        Span::from_ps(u64::from(cycles) * 1_000_000 / u64::from(self.mhz))
    }
}
