//! The description of an SSD in a device file, and the resolved device.

mod buffer;
mod builtin;
mod cost;
mod format;
mod host_memory;
mod idle;
mod kind;
mod limits;
mod link;
mod mixed;
mod power;
mod queue;
mod raid;
mod ram;
mod resolve;
#[cfg(test)]
mod tests;
mod translation;

use base::units::Bytes;
use flash::spec::{FlashSpec, SlcSpec};
use ftl::FtlSpec;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use buffer::{BufferPolicy, BufferSpec, FlushPolicy, ResolvedBuffer, ResolvedSuperblocks};
pub use builtin::builtin;
pub use cost::Cost;
pub use format::UNSEEN_KEYS;
pub use host_memory::{HostMemoryChange, HostMemorySpec};
pub use kind::DriveKind;
pub use link::{Duplex, LinkSpec};
pub use power::{ControllerPower, OperationalState, PowerSpec, PowerState, ThermalSpec, ThrottleSpec, ThrottleStyle};
pub use queue::{QueueArbitration, QueueSpec, ResolvedQueue, ResolvedQueues};
pub use raid::{CollectionTurns, DriveFailure, RaidCollection, RaidLevel, RaidSpec};
pub use ram::RamSpec;
pub use resolve::{ResolvedDevice, ResolvedHost};
pub use translation::{TranslationShape, TranslationSpec, ZoneCommand, ZoneGcSpec, ZoneVictim};

/// Groups of alternative keys: a file gives one key of each group.
pub const ALTERNATIVES: [&[&str]; 12] = [
    &["ftl.over-provisioning", "ftl.capacity"],
    &["flash.part", "flash.custom-part.like"],
    &["flash.lane-rate", "flash.custom-part.bus.rate"],
    &["flash.size", "flash.blocks", "flash.custom-part.geometry.blocks_per_plane"],
    &["flash.pages", "flash.custom-part.geometry.pages_per_block"],
    &["flash.planes", "flash.custom-part.geometry.planes_per_die"],
    &["flash.dies", "flash.custom-part.geometry.dies_per_chip"],
    &["slc.part", "slc.custom-part.like"],
    &["slc.lane-rate", "slc.custom-part.bus.rate"],
    &["slc.size", "slc.blocks", "slc.custom-part.geometry.blocks_per_plane"],
    &["slc.pages", "slc.custom-part.geometry.pages_per_block"],
    &["host.queues", "host.queue"],
];

/// A device file: the description of an SSD.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Spec {
    /// The name of the device in results.
    pub name: String,
    /// The device that the file models, and the sources of its numbers.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The flash array: part, channels, chips and controllers.
    pub flash: FlashSpec,
    /// An SLC array in front of the main array; none if the table is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slc: Option<SlcSpec>,
    /// The host link and the submission queues.
    #[serde(default)]
    pub host: HostSpec,
    /// The speed of the drive's RAM; if missing, RAM takes no time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ram: Option<RamSpec>,
    /// Power states, temperature and the power of the controller; not modelled if missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power: Option<PowerSpec>,
    /// The volatile write buffer; none if the table is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer: Option<BufferSpec>,
    /// The flash translation layer.
    #[serde(default)]
    pub ftl: FtlSpec,
    /// Several such drives as one; a single drive if missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raid: Option<RaidSpec>,
    /// A translation layer in the host above a drive with zones; the zones are the user's if missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub translation: Option<TranslationSpec>,
}

/// The host side of the device: link and submission queues.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct HostSpec {
    /// The host link: a name (`ata-133`, `sata-300`, `sata-600`, `pcie-3-x4`...), `none` for a link that takes no
    /// time, or its rate, overhead and duplex written out.
    pub link: LinkSpec,
    /// The most requests that the device works on at once; further requests wait in their submission queues.
    pub queue_depth: u32,
    /// The number of submission queues, all alike; one if missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queues: Option<u32>,
    /// Arbitration: the queue that has the turn if requests wait in several queues.
    pub arbitration: QueueArbitration,
    /// The number of requests taken from a queue per turn (the arbitration burst of NVM Express).
    pub burst: u32,
    /// Cuts requests into pieces of at most this size, aligned to it (the request chopper of Woo and Min, FMMU, Sec.
    /// 4.1). Each piece asks the map, is read, written or taken into the write buffer on its own, and the request
    /// completes with its last piece. Requests stay whole if missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chop: Option<Bytes>,
    /// The time at which the data of a read crosses the link to the host.
    #[serde(skip_serializing_if = "is_complete")]
    pub read_transfer: ReadTransfer,
    /// The memory that the host gives to a drive with `ftl.map.hmb`; as much as the drive prefers if missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hmb: Option<HostMemorySpec>,
    /// Submission queues, each with its own keys; instead of `queues`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub queue: Vec<QueueSpec>,
}

/// The time at which the data of a read crosses the link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReadTransfer {
    /// The data goes when all of it is in the drive.
    #[default]
    Complete,
    /// The data goes as it comes from flash: when a command list has read its part, this part goes at once, in any
    /// order. The overhead of the command goes with the last part.
    CutThrough,
}

fn is_complete(transfer: &ReadTransfer) -> bool {
    *transfer == ReadTransfer::Complete
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
            read_transfer: ReadTransfer::default(),
            hmb: None,
            queue: Vec::new(),
        }
    }
}
