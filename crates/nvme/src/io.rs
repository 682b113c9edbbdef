//! I/O commands: their fields, checked against the namespace, and the data that answer some of them.

mod command;
mod decode;
mod placement;
mod zones;

pub use command::{BlockRange, Directive, IoCommand, IoRequest, ZoneAction, ZoneSelection};
pub use placement::{HandleStatus, handle_status};
pub use zones::{ZoneAttributes, ZoneDescriptor, ZoneFilter, ZoneReport, ZoneState, zone_report};

pub(crate) use decode::{Scope, decode};

use crate::connection::Config;
use crate::description::{Description, Namespace};

/// The most source ranges of a Copy command.
pub(crate) const COPY_RANGES: usize = 16;

/// The most ranges of a Dataset Management command: one less than its field of one byte can count, so that the limit
/// fits into a byte.
pub(crate) const DEALLOCATE_RANGES: usize = 255;

/// The most blocks of a source range of a Copy command (MSSRL).
pub(crate) fn copy_range_blocks(namespace: &Namespace, config: &Config) -> u16 {
    (u64::from(config.transfer()) >> namespace.block_shift).clamp(1, u16::MAX.into()) as u16
}

/// The limit of Zone Append of all namespaces as a power of two of 4 KiB (ZASL): no more than MDTS.
pub(crate) fn append_limit(description: &Description, config: &Config) -> u8 {
    let limits = description.namespaces.iter().filter_map(|namespace| namespace.zones).map(|zones| zones.append_limit);
    limits.filter(|limit| *limit > 0).chain([config.mdts]).min().unwrap_or(0)
}
