//! An SSD as it is described in a file, and what the description comes to.

mod buffer;
mod builtin;
mod cost;
mod format;
mod idle;
mod limits;
mod link;
mod queue;
mod ram;
mod resolve;
#[cfg(test)]
mod tests;

use base::units::Bytes;
use flash::spec::{FlashSpec, SlcSpec};
use ftl::FtlSpec;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use buffer::{BufferPolicy, BufferSpec, FlushPolicy, ResolvedBuffer, ResolvedSuperblocks};
pub use builtin::builtin;
pub use cost::Cost;
pub use link::{Duplex, LinkSpec};
pub use queue::{QueueArbitration, QueueSpec, ResolvedQueue, ResolvedQueues};
pub use resolve::{Resolved, ResolvedHost};

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
