//! The write buffer of a device file, and the resolved write buffer.

use base::units::{Bytes, Ratio, SECTOR};
use flash::nand::Geometry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Spec;
use base::fault::Faults;

/// A volatile write buffer: a write is acknowledged when it is in the buffer, and durable after a flush. The buffer
/// hands over only as much as the dies can begin soon, and absorbs newer writes of the rest.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct BufferSpec {
    /// Capacity in bytes for data of the host.
    pub size: Bytes,
    /// The high watermark: above this share of its size the buffer writes back.
    #[serde(default = "half")]
    pub high: Ratio,
    /// The low watermark: at this share of its size the buffer stops writing back. The superblock policy ignores it,
    /// and writes back until only the superblock that was written last is left.
    #[serde(default = "quarter")]
    pub low: Ratio,
    /// The mapping units that the buffer writes back together.
    #[serde(default)]
    pub policy: BufferPolicy,
    /// For the superblock policy: the size of a superblock, whose units leave together; the size of Hydra's superblocks
    /// if missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub superblock: Option<Bytes>,
    /// For the superblock policy: the buffer writes back if it holds units of more superblocks than this; 8 if
    /// missing, as in Seong et al., Sec. 4.1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_superblocks: Option<u32>,
    /// The effect of a flush of the host.
    #[serde(default)]
    pub flush: FlushPolicy,
}

impl BufferSpec {
    /// Creates a buffer of this size, with the defaults of all other keys.
    #[must_use]
    pub const fn new(size: Bytes) -> Self {
        Self {
            size,
            high: half(),
            low: quarter(),
            policy: BufferPolicy::Units,
            superblock: None,
            max_superblocks: None,
            flush: FlushPolicy::WriteBack,
        }
    }
}

/// The mapping units that the write buffer writes back together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BufferPolicy {
    /// The mapping units that have been dirty for longest, as many as a program has (FIFO: a newer write does not
    /// change their order). The size of the buffer counts mapping units.
    #[default]
    Units,
    /// All units of the superblock that has been in the buffer for longest (Seong et al., "Hydra", Sec. 3.2). The size
    /// of the buffer counts the sectors that it holds.
    Superblock,
}

/// The effect of a flush of the host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FlushPolicy {
    /// The buffer first writes back all its units.
    #[default]
    WriteBack,
    /// The buffer writes all its sectors to a reserved area of flash, one behind the other, and keeps them. Merges
    /// happen at the same times as without the flush (Seong et al., Sec. 4.2.2, Fig. 16). Only with Hydra's FTL and the
    /// superblock policy.
    Log,
    /// No effect: acknowledged writes may be lost with the power (Seong et al., Sec. 4.2.2, Fig. 14b).
    Ignore,
}

impl BufferPolicy {
    /// All policies, for the conformance suite and the swarm.
    pub const EVERY: [Self; 2] = [Self::Units, Self::Superblock];
}

/// The write buffer, in mapping units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResolvedBuffer {
    /// The size of the buffer, in mapping units.
    pub units: u32,
    /// The buffer writes back above this many dirty units.
    pub high: u32,
    /// The buffer stops writing back at this many dirty units.
    pub low: u32,
    /// The superblock policy, if whole superblocks are written back.
    pub superblocks: Option<ResolvedSuperblocks>,
    /// The effect of a flush.
    pub flush: FlushPolicy,
    /// True if the buffer remembers the request that wrote each unit, because the FTL asks for it.
    pub origins: bool,
}

/// The resolved superblock policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResolvedSuperblocks {
    /// The number of mapping units in a superblock.
    pub units: u32,
    /// The buffer writes back if it has units of more superblocks than this.
    pub most: u32,
    /// The number of sectors that the buffer can hold.
    pub sectors: u64,
    /// The buffer writes back above this many sectors.
    pub high: u64,
}

impl Spec {
    pub(super) fn resolved_buffer(
        &self,
        geometry: &Geometry,
        superblock: Option<u32>,
        faults: &mut Faults,
    ) -> Option<ResolvedBuffer> {
        let buffer = self.buffer.as_ref()?;
        let unit = u64::from(geometry.sectors) * SECTOR.get();
        let units = buffer.size.get() / unit;
        let most = u64::from(u32::MAX / 2);
        if units == 0 {
            let message = format!("{} is less than a mapping unit of {}", buffer.size, Bytes::new(unit));
            faults.add("buffer.size", message, "use a multiple of the mapping unit, or leave [buffer] out");
        } else if units > most {
            let message = format!("{} is more than {most} mapping units", buffer.size);
            faults.add("buffer.size", message, format!("use at most {}", Bytes::new(most * unit)));
        }
        let whole = buffer.policy == BufferPolicy::Superblock;
        if buffer.high.get() > 1.0 {
            faults.add("buffer.high", format!("is {} of the buffer", buffer.high), "use low <= high <= 100%");
        } else if buffer.low > buffer.high && !whole {
            let message = format!("is {}, above buffer.high of {}", buffer.low, buffer.high);
            faults.add("buffer.low", message, "use low <= high <= 100%");
        }
        if buffer.flush == FlushPolicy::Log && !(whole && superblock.is_some()) {
            let message = "is \"log\", which only Hydra's FTL has, for a buffer of superblocks";
            faults.add("buffer.flush", message, "set ftl.kind = \"hydra\" and buffer.policy = \"superblock\"");
        }
        let share = |ratio: Ratio| (units as f64 * ratio.get()).floor() as u32;
        Some(ResolvedBuffer {
            units: units as u32,
            high: share(buffer.high),
            low: share(buffer.low),
            superblocks: if whole { self.superblocks(unit, superblock, faults) } else { self.no_superblocks(faults) },
            flush: buffer.flush,
            origins: self.ftl.asks_for_requests(),
        })
    }

    /// Refuses the keys of the superblock policy under another policy.
    fn no_superblocks(&self, faults: &mut Faults) -> Option<ResolvedSuperblocks> {
        let buffer = self.buffer.as_ref()?;
        let remedy = "leave it out, or set buffer.policy = \"superblock\"";
        if buffer.superblock.is_some() {
            faults.add("buffer.superblock", "has no effect: the buffer writes back single mapping units", remedy);
        }
        if buffer.max_superblocks.is_some() {
            faults.add("buffer.max-superblocks", "has no effect: the buffer writes back single mapping units", remedy);
        }
        None
    }

    fn superblocks(&self, unit: u64, superblock: Option<u32>, faults: &mut Faults) -> Option<ResolvedSuperblocks> {
        let buffer = self.buffer.as_ref()?;
        let units = match (buffer.superblock, superblock) {
            (Some(_), Some(_)) => {
                faults.add("buffer.superblock", "conflicts with the superblock of the FTL", "leave it out");
                return None;
            }
            (Some(size), None) => size.get() / unit,
            (None, Some(units)) => u64::from(units),
            (None, None) => {
                faults.add(
                    "buffer.superblock",
                    "is missing",
                    "set the size that the buffer writes back at once, e.g. \"1MiB\"",
                );
                return None;
            }
        };
        let whole = buffer.superblock.is_none_or(|size| size.get().is_multiple_of(unit));
        if units == 0 || units > u64::from(u32::MAX) || !whole {
            let message = format!("is not a whole number of mapping units of {}", Bytes::new(unit));
            faults.add("buffer.superblock", message, "use a multiple");
        }
        faults.positive("buffer.max-superblocks", buffer.max_superblocks.unwrap_or(8));
        if self.confines() {
            let message = "writes back whole superblocks, whose units may be confined to different dies";
            faults.add("buffer.policy", message, "leave channels and dies out of [[host.queue]]");
        }
        let sectors = buffer.size.get() / SECTOR.get();
        Some(ResolvedSuperblocks {
            units: units as u32,
            most: buffer.max_superblocks.unwrap_or(8),
            sectors,
            high: (sectors as f64 * buffer.high.get()).floor() as u64,
        })
    }
}

const fn half() -> Ratio {
    Ratio::new(0.5)
}

const fn quarter() -> Ratio {
    Ratio::new(0.25)
}
