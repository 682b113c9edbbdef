//! The flash array of a device file. If the array cannot be built, the faults name the keys.

mod controllers;
mod ecc;
mod errors;
mod part;
mod slc_array;
mod suspend;

use base::units::{Bytes, LaneRate, Rate, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::backend::{Arbitration, Completion, Controllers, PlaneReadSpec, SuspendSpec, Transfer, VariationSpec};
use crate::nand::{CustomPart, FaultSpec};

pub use ecc::{DecodeSpec, EccSpec, SoftSpec};
pub use errors::ErrorSpec;
pub use slc_array::{ResolvedSlcArray, SlcSpec};

/// The flash array: part, size and wiring.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct FlashSpec {
    /// The NAND part, by the name of a preset (see `flashloom devices`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["dirik-2009", "K9WAG08U1A", "K9XXG08"]))]
    pub part: Option<String>,
    /// The NAND part, written out, instead of `part`; or its difference from `part`, or from the preset that `like`
    /// names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom_part: Option<CustomPart>,
    /// Channels: separately arbitrated buses.
    pub channels: u32,
    /// Chips on each channel, or gangs of chips.
    pub chips: u32,
    /// Chips in a gang. They share chip enable, command and data lines, and act as one chip with that many times the
    /// page (a superblock in the sense of Dirik & Jacob, Sec. 3.2).
    #[serde(default = "one")]
    pub gang: u32,
    /// Width of a channel in bits, a multiple of 8.
    #[serde(default = "eight")]
    pub width: u32,
    /// Data rate of one 8-bit lane; the part's rate if missing. `1200MT/s` is `1200MB/s`: a lane of 8 bits moves one
    /// byte a transfer, and a wider channel has several lanes.
    #[serde(default, deserialize_with = "LaneRate::optional", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<LaneRate>")]
    pub lane_rate: Option<Rate>,
    /// Raw size of the whole array, which sets the blocks in a plane; instead of `blocks`. Changes of `channels` and
    /// `chips` leave the size as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Bytes>,
    /// Blocks in a plane; the part's if missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<u32>,
    /// Pages in a block; the part's if missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages: Option<u32>,
    /// Planes in a die; the part's if missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planes: Option<u32>,
    /// Dies in a chip; the part's if missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dies: Option<u32>,
    /// Whether one command works on all planes of a die; if missing, only if the part supports multi-plane commands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub multi_plane: Option<bool>,
    /// Whether consecutive pages of one list are read and programmed in cache mode, if the part supports it.
    #[serde(default = "yes")]
    pub cache_mode: bool,
    /// Whether cache mode joins commands of different lists and blocks, too. A die then takes the data of any next
    /// program while it programs (ONFI: Page Cache Program), and reads any page while it sends another (Read Cache
    /// Random). Every program takes the additional time of its copy to the data register. A controller that executes
    /// one list at a time has few such commands; `controllers = "none"` has all.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cache_across_lists: bool,
    /// Whether a program that a power cut tears also damages the earlier pages of its word line. In a part with several
    /// bits per cell that programs page by page, a later page changes cells that hold earlier pages. The page-mapped
    /// FTL then writes each word line at once (fills it with copies or with the data of one request or buffer write,
    /// and leaves the rest erased), so that no acknowledged data shares a word line with a program in progress; every
    /// other FTL refuses the key.
    #[serde(default, skip_serializing_if = "is_default")]
    pub paired_pages: bool,
    /// Controllers, which execute one command list at a time.
    #[serde(default)]
    pub controllers: Controllers,
    /// The path of data between a chip and its controller.
    #[serde(default, skip_serializing_if = "is_default")]
    pub transfer: Transfer,
    /// Software controllers (Seong et al., Sec. 4.2.3): the time that each command takes on the one processor, except
    /// commands of host reads. If missing, the controllers are hardware and take no time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub software_controllers: Option<Span>,
    /// The way in which a controller learns that an array is done.
    #[serde(default, skip_serializing_if = "is_default")]
    pub completion: Completion,
    /// Error correction of data that is read; if missing, decoding takes no time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ecc: Option<EccSpec>,
    /// Arbitration: the order of waiting lists, commands and transfers.
    #[serde(default)]
    pub arbitration: Arbitration,
    /// Suspension of programs and erases for reads; if missing, every operation of an array works to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspend: Option<SuspendSpec>,
    /// Independent plane reads: planes of a die read at different times. If missing, a die has one operation at a time.
    /// A read of several planes stays one operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plane_reads: Option<PlaneReadSpec>,
    /// Differences of array times between blocks, and with wear; if missing, all blocks of the part take its times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variation: Option<VariationSpec>,
    /// Raw bit errors, read retry and soft decoding; if missing, every read is corrected at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errors: Option<ErrorSpec>,
    /// Injected faults; none by default.
    #[serde(default)]
    pub faults: FaultSpec,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

const fn one() -> u32 {
    1
}

const fn eight() -> u32 {
    8
}

const fn yes() -> bool {
    true
}
