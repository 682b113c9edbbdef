//! An SSD as it is described in a file, and what the description comes to.

mod buffer;
mod builtin;
mod cost;
mod format;
mod hydra;
mod idle;
mod limits;
mod link;
mod log;
mod queue;
mod ram;
mod resolve;
mod slc;

use base::units::{Bytes, Rate, Ratio, Span};
use flash::backend::{Arbitration, Transfer, Units};
use flash::nand::{FaultSpec, Part};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ftl::chang::ChangSpec;
use crate::ftl::hybrid::LogSpec;
use crate::ftl::map_unit::MapSpec;
use crate::ftl::placement::PlacementSpec;
use crate::ftl::victim::VictimSpec;

pub use buffer::{BufferPolicy, BufferSpec, FlushPolicy, ResolvedBuffer, ResolvedSuperblocks};
pub use builtin::builtin;
pub use cost::Cost;
pub use hydra::{HydraSpec, ProcessorSpec, ResolvedHydra};
pub use link::{Duplex, LinkSpec};
pub use queue::{QueueArbitration, QueueSpec, ResolvedQueue, ResolvedQueues};
pub use resolve::{Resolved, ResolvedHost};
pub use slc::{ResolvedSecond, SlcSpec};

/// An SSD.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Spec {
    /// What it is called in results.
    pub name: String,
    /// What it is, and where its numbers come from.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The flash array.
    pub flash: FlashSpec,
    /// A small flash of another kind in front of it; none if the table is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slc: Option<SlcSpec>,
    /// The host's side.
    #[serde(default)]
    pub host: HostSpec,
    /// The volatile write buffer; none if the table is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer: Option<BufferSpec>,
    /// The flash translation layer.
    #[serde(default)]
    pub ftl: FtlSpec,
}

/// The flash array: which part, how many, and how they are wired.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct FlashSpec {
    /// The NAND part, by the name of a preset (see `flashloom devices`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["dirik-2009", "K9WAG08U1A", "K9XXG08"]))]
    pub part: Option<String>,
    /// The NAND part, written out; instead of `part`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom_part: Option<Part>,
    /// Separately arbitrated buses.
    pub channels: u32,
    /// Chips on each channel, or gangs of chips.
    pub chips: u32,
    /// Chips in a gang: they share chip enable, command and data lines and act as one chip with so many
    /// times the page (a superblock in the sense of Dirik & Jacob, Sec. 3.2).
    #[serde(default = "one")]
    pub gang: u32,
    /// Width of a channel in bits, a multiple of 8.
    #[serde(default = "eight")]
    pub width: u32,
    /// Data rate of one 8-bit lane; the part's if missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane_rate: Option<Rate>,
    /// Raw size of the whole array, from which the blocks in a plane follow; instead of `blocks`. It stays
    /// the same however many channels and chips it is spread over.
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
    /// Whether one command works on all planes of a die; as the part can if missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub multi_plane: Option<bool>,
    /// Whether consecutive pages of one list are read and programmed in cache mode, as far as the part
    /// can.
    #[serde(default = "yes")]
    pub cache_mode: bool,
    /// The high-level units.
    #[serde(default)]
    pub units: Units,
    /// What moves data between a chip and the unit that works with it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub transfer: Transfer,
    /// Time of the one processor that each command takes that no host read is for: units are then software, as
    /// in Seong et al., Sec. 4.2.3. Hardware units, which take none, if missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub software_units: Option<Span>,
    /// What goes first.
    #[serde(default)]
    pub order: Arbitration,
    /// What fails; nothing by default.
    #[serde(default)]
    pub faults: FaultSpec,
}

/// The host's side of the device.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct HostSpec {
    /// The link: a name (`ata-133`, `sata-300`, `sata-600`, `pcie-3-x4`...), `none` for a link that costs no
    /// time, or its rate, overhead and duplex written out.
    pub link: LinkSpec,
    /// Requests the device works on at once; the others wait in their submission queues.
    pub queue_depth: u32,
    /// Submission queues, all alike; one if missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queues: Option<u32>,
    /// Whose turn it is when requests wait in several queues.
    pub arbitration: QueueArbitration,
    /// Requests taken from a queue at a time (NVM Express calls it the arbitration burst).
    pub burst: u32,
    /// Requests are cut into pieces of at most this size, aligned to it, before anything is asked for: each piece asks
    /// the map, is read, written or taken into the write buffer for itself, and the request completes with its last one
    /// (Woo and Min, FMMU, Sec. 4.1, call it the request chopper). Not at all if missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chop: Option<Bytes>,
    /// Submission queues, each described; instead of `queues`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub queue: Vec<QueueSpec>,
}

impl Default for HostSpec {
    fn default() -> Self {
        Self {
            link: LinkSpec::default(),
            queue_depth: 32,
            queues: None,
            arbitration: QueueArbitration::default(),
            burst: 1,
            chop: None,
            queue: Vec::new(),
        }
    }
}

/// The flash translation layer.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct FtlSpec {
    /// Its family.
    pub kind: FtlKind,
    /// What one entry of the map leads to: a page or an even part of one. A page if missing, but no more
    /// than 32KiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub map_unit: Option<Bytes>,
    /// Share of the flash that the host does not see.
    pub over_provisioning: Ratio,
    /// What the host sees; instead of `over-provisioning`, which then counts for nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity: Option<Bytes>,
    /// Who knows where every mapping unit is.
    pub map: MapSpec,
    /// Translation pages that the block manager puts together into one program (Woo and Min, FMMU, Sec. 4.1), from 1 to
    /// as many as it has mapping units; the rest of it is padded. They go to the plane groups in turn, and a program waits
    /// to be filled as long as another one of translation pages is under way. If missing, a page goes to a plane group of
    /// its own at once, and only pages that are stored there at the same moment share a program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub map_gather: Option<u32>,
    /// How writes are spread.
    pub placement: PlacementSpec,
    /// Garbage collection.
    pub gc: GcSpec,
    /// Wear levelling.
    pub wear: WearSpec,
    /// The block-mapped FTL of Hydra, if `kind` names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hydra: Option<HydraSpec>,
    /// The FTL of a hybrid SLC/MLC disk, if `kind` names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chang: Option<ChangSpec>,
    /// Log blocks, where the family has them.
    #[serde(skip_serializing_if = "is_default")]
    pub log: LogSpec,
}

impl Default for FtlSpec {
    fn default() -> Self {
        Self {
            kind: FtlKind::Page,
            map_unit: None,
            over_provisioning: Ratio::new(0.07),
            capacity: None,
            map: MapSpec::default(),
            map_gather: None,
            placement: PlacementSpec::default(),
            gc: GcSpec::default(),
            wear: WearSpec::default(),
            hydra: None,
            chang: None,
            log: LogSpec::default(),
        }
    }
}

/// The families of flash translation layers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FtlKind {
    /// A page-level map, in RAM or behind a map unit.
    #[default]
    Page,
    /// A map of superblocks, and merges in them (Seong et al., "Hydra").
    Hydra,
    /// Data blocks with a block-level map, each with a log block of its own while it is updated (Sung, Sec. 2.3).
    Bast,
    /// Data blocks with a block-level map, and log blocks that take the updates of all (Sung, Sec. 2.3).
    Fast,
    /// Block chains, with a small SLC flash in front of them if there is one (Chang, "A Hybrid Approach to
    /// NAND-Flash-Based Solid-State Disks").
    Chang,
}

impl FtlKind {
    /// All families: what the conformance suite and the swarm are applied to.
    pub const EVERY: [Self; 5] = {
        // A new family does not compile here until somebody has come by the line above.
        match Self::Page {
            Self::Page | Self::Hydra | Self::Bast | Self::Fast | Self::Chang => {
                [Self::Page, Self::Hydra, Self::Bast, Self::Fast, Self::Chang]
            }
        }
    };

    /// True if it has log blocks, and no map of all pages.
    #[must_use]
    pub const fn has_log_blocks(self) -> bool {
        matches!(self, Self::Bast | Self::Fast)
    }
}

/// Garbage collection.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct GcSpec {
    /// How a victim is chosen.
    pub victim: VictimSpec,
    /// Free superblocks of a pool (a die or a group of its planes) at which collection starts; at least
    /// one.
    pub start: u32,
    /// Free superblocks at which it stops; more than `start`.
    pub stop: u32,
    /// Copies of a pool under way at once.
    pub parallel: u32,
    /// Whether whole pages are copied inside their plane without crossing the channel, as far as the part
    /// can.
    pub copy_back: bool,
}

impl Default for GcSpec {
    fn default() -> Self {
        Self { victim: VictimSpec::Greedy, start: 2, stop: 3, parallel: 2, copy_back: false }
    }
}

/// Wear levelling.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct WearSpec {
    /// Dynamic: the least worn free superblock is used next, not the one that was freed first. Seong et al. call it
    /// implicit (Sec. 3.5).
    pub dynamic: bool,
    /// Static: the data of the least worn superblock is moved when it lags so many erases behind the most
    /// worn free one of its pool; never if missing. Under Hydra's FTL it is done when the drive has nothing else to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold: Option<u32>,
    /// Erases of a pool, or a superchip, between two looks.
    pub check_every: u32,
}

impl Default for WearSpec {
    fn default() -> Self {
        Self { dynamic: true, threshold: None, check_every: 16 }
    }
}

/// How long spare bytes of one page take on the channel, for recovery's scan.
fn spare_transfer(part: &Part, rate: Rate) -> Span {
    rate.time(part.geometry.spare)
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
